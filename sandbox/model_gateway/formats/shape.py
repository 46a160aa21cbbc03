"""Schemas that rebuild a document: only what a shape names is copied, so no document is edited into safety.

One engine, two directions. A *request* comes from a hostile agent and is rebuilt strictly: whatever its shape does not
list is refused, by name. An *answer* comes from an upstream and is rebuilt leniently: whatever its shape does not list
is left out. In both, nothing is in the result that the shape does not name, whatever was sent.

A field has one of these rules:

    needed     passed on, and refused where it is missing
    passed     passed on, if it is of its shape
    ours       taken and replaced by our own value
    left out   taken and not passed on: official clients send it back because our own answers, or theirs, hold it
    refused    refused with a reason of its own; what no table names is refused as unknown

`null` stands for a missing field in a request, and for itself in an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from vault.canonical import json_path

Rule = Literal["needed", "passed", "ours", "left out", "refused"]
Path = tuple[str | int, ...]

MAX_ITEMS = 4096
MAX_MEDIA = 768 * 1024
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")  # of every draft of JSON Schema
MEDIA = ("image/png", "image/jpeg", "image/gif", "image/webp")


class Unfit(Exception):
    """A value does not fit its shape; the message names the place and the reason, and quotes no value.

    Attributes:
        path: the place.
        why: the reason, as the end of a sentence that begins with the place.
    """

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{json_path(path)} {why}")
        self.path, self.why = path, why


class Shape(Protocol):
    """Schema of a value."""

    def build(self, value: Any, path: Path, *, strict: bool) -> Any:
        """Build the value anew.

        Raises:
            Unfit: it is not of this shape.
        """
        ...

    def places(self, path: str) -> Iterator[tuple[str, Field]]:
        """Walk over the fields below a place, with their own places, for the documentation."""
        ...


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an object."""

    rule: Rule
    shape: Shape
    why: str = ""


class _Leaf:
    """A shape with no fields in it."""

    def places(self, path: str) -> Iterator[tuple[str, Field]]:
        """Return nothing."""
        del path
        return iter(())


@dataclass(frozen=True, slots=True)
class Text(_Leaf):
    """Text, all of it of a pattern where there is one."""

    pattern: str = ""

    def build(self, value: Any, path: Path, *, strict: bool) -> str:
        """Return the text."""
        del strict
        if not isinstance(value, str):
            raise Unfit(path, "must be text")
        if self.pattern and not re.fullmatch(self.pattern, value):
            raise Unfit(path, f"must be of the form {self.pattern}")
        return value


@dataclass(frozen=True, slots=True)
class Number(_Leaf):
    """A number within bounds; a whole one where `whole`."""

    low: float = -1e9
    high: float = 1e9
    whole: bool = False

    def build(self, value: Any, path: Path, *, strict: bool) -> int | float:
        """Return the number."""
        del strict
        kinds = int if self.whole else int | float
        if isinstance(value, bool) or not isinstance(value, kinds) or not self.low <= value <= self.high:
            raise Unfit(path, f"must be a {'whole ' * self.whole}number from {self.low:g} to {self.high:g}")
        return value


@dataclass(frozen=True, slots=True)
class OneOf(_Leaf):
    """One of a few values."""

    values: tuple[str | bool | int, ...]

    def build(self, value: Any, path: Path, *, strict: bool) -> Any:
        """Return the value."""
        del strict
        if not any(type(value) is type(known) and value == known for known in self.values):
            raise Unfit(path, f"must be {' or '.join(repr(known) for known in self.values)}")
        return value


@dataclass(frozen=True, slots=True)
class Json(_Leaf):
    """Any JSON object: a tool's arguments, or the schema of them. A `$ref` stays inside its own document."""

    def build(self, value: Any, path: Path, *, strict: bool) -> dict[str, Any]:
        """Return the object."""
        if not isinstance(value, dict):
            raise Unfit(path, "must be an object")
        if strict:
            _require_local(value, path)
        return value


@dataclass(frozen=True, slots=True)
class Media(_Leaf):
    """An image within the request itself: a `data:` URL, or with `bare` its base64 alone."""

    bare: bool = False

    def build(self, value: Any, path: Path, *, strict: bool) -> str:
        """Return the text."""
        del strict
        kinds = "|".join(MEDIA)
        head = "" if self.bare else f"data:(?:{kinds});base64,"
        if not isinstance(value, str) or not re.fullmatch(head + "[A-Za-z0-9+/]+={0,2}", value):
            raise Unfit(
                path, "must be base64" if self.bare else f"must be a data: URL of {kinds}; no other URL is passed"
            )
        if len(value) > MAX_MEDIA:
            raise Unfit(path, f"must be at most {MAX_MEDIA} bytes long")
        return value


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list; in an answer, items of another shape are left out."""

    item: Shape

    def build(self, value: Any, path: Path, *, strict: bool) -> list[Any]:
        """Return the list."""
        if not isinstance(value, list) or len(value) > MAX_ITEMS:
            raise Unfit(path, f"must be a list of at most {MAX_ITEMS}")
        built = []
        for place, item in enumerate(value):
            try:
                built.append(self.item.build(item, (*path, place), strict=strict))
            except Unfit:
                if strict:
                    raise
        return built

    def places(self, path: str) -> Iterator[tuple[str, Field]]:
        """Walk over the item's fields."""
        return self.item.places(f"{path}[]")


@dataclass(frozen=True, slots=True)
class ByKind:
    """One shape for each kind of JSON value: text, a list, an object."""

    text: Shape | None = None
    many: Shape | None = None
    one: Shape | None = None

    def build(self, value: Any, path: Path, *, strict: bool) -> Any:
        """Return the value, by the shape of its kind."""
        kinds = ((str, "text", self.text), (list, "a list", self.many), (dict, "an object", self.one))
        for kind, _, shape in kinds:
            if shape is not None and isinstance(value, kind):
                return shape.build(value, path, strict=strict)
        raise Unfit(path, f"must be {' or '.join(name for _, name, shape in kinds if shape is not None)}")

    def places(self, path: str) -> Iterator[tuple[str, Field]]:
        """Walk over the fields of each."""
        for shape in (self.text, self.many, self.one):
            yield from shape.places(path) if shape is not None else ()


@dataclass(frozen=True, slots=True)
class Object:
    """An object with these fields and no others."""

    fields: Mapping[str, Field] = field(default_factory=dict)

    def build(self, value: Any, path: Path, *, strict: bool) -> dict[str, Any]:
        """Return the object, its fields in the order of the shape."""
        if not isinstance(value, dict):
            raise Unfit(path, "must be an object")
        if strict:
            self._require_known(value, path)
        built = {}
        for name, known in self.fields.items():
            if name in value and known.rule in ("needed", "passed"):
                present, content = _content(known, value[name], (*path, name), strict=strict)
                if present:
                    built[name] = content
            if known.rule == "needed" and name not in built:
                raise Unfit((*path, name), "is missing")
        return built

    def _require_known(self, value: Mapping[str, Any], path: Path) -> None:
        for name, sent in value.items():
            known = self.fields.get(name)
            if known is None:
                raise Unfit((*path, name), "is not passed on: it is not in the list of fields that are")
            if known.rule == "refused" and sent is not None:
                raise Unfit((*path, name), f"is not passed on: {known.why}")
            if known.rule == "ours" and sent is not None:
                known.shape.build(sent, (*path, name), strict=True)

    def places(self, path: str) -> Iterator[tuple[str, Field]]:
        """Walk over the fields and what is in them."""
        for name, known in self.fields.items():
            place = f"{path}.{name}" if path else name
            yield place, known
            if known.rule in ("needed", "passed"):
                yield from known.shape.places(place)


@dataclass(frozen=True, slots=True)
class Tagged:
    """An object whose `tag` says which of several shapes it has."""

    tag: str
    cases: Mapping[str, Object]
    default: str | None = None

    def build(self, value: Any, path: Path, *, strict: bool) -> dict[str, Any]:
        """Return the object by its case, the tag first."""
        if not isinstance(value, dict):
            raise Unfit(path, "must be an object")
        tag = value.get(self.tag, self.default)
        if not isinstance(tag, str) or tag not in self.cases:
            raise Unfit((*path, self.tag), f"must be one of {', '.join(self.cases)}; no other is passed on")
        rest = {name: content for name, content in value.items() if name != self.tag}
        given = {self.tag: tag} if self.tag in value or not strict else {}
        return given | self.cases[tag].build(rest, path, strict=strict)

    def places(self, path: str) -> Iterator[tuple[str, Field]]:
        """Walk over each case's fields."""
        for name, case in self.cases.items():
            place = f"{path}<{name}>"
            yield place, Field("passed", case)
            yield from case.places(place)


@dataclass(frozen=True, slots=True)
class Anything(_Leaf):
    """Whatever was sent; only for what is not passed on."""

    def build(self, value: Any, path: Path, *, strict: bool) -> Any:
        """Return it."""
        del path, strict
        return value


TEXT, FLAG, WHOLE, NUMBER, JSON = Text(), OneOf((True, False)), Number(0, whole=True), Number(), Json()
NAME = Text(r"[A-Za-z0-9_.:-]{1,128}")


def needed(shape: Shape) -> Field:
    """Make a field that must be there."""
    return Field("needed", shape)


def passed(shape: Shape, why: str = "") -> Field:
    """Make a field that is passed on."""
    return Field("passed", shape, why)


def ours(why: str, shape: Shape = Anything()) -> Field:
    """Make a field that we fill in; what an agent sends there must be of the shape."""
    return Field("ours", shape, why)


def left_out(why: str = "answers hold it, and clients send it back") -> Field:
    """Make a field that is taken and not passed on."""
    return Field("left out", Anything(), why)


def refused(why: str) -> Field:
    """Make a field that is refused with a reason."""
    return Field("refused", Anything(), why)


def _content(known: Field, value: Any, path: Path, *, strict: bool) -> tuple[bool, Any]:
    """Return whether there is something for a field, and what."""
    if value is None:
        return not strict, None
    try:
        return True, known.shape.build(value, path, strict=strict)
    except Unfit:
        if strict:
            raise
        return False, None


def _require_local(value: Any, path: Path) -> None:
    if isinstance(value, dict):
        for name in REFERENCES:
            reference = value.get(name)
            if isinstance(reference, str) and not reference.startswith("#"):
                raise Unfit((*path, name), "must begin with #: no schema is fetched from anywhere")
    if isinstance(value, dict | list):
        for step, item in value.items() if isinstance(value, dict) else enumerate(value):
            _require_local(item, (*path, step))
