"""Task document: one JSON object, parsed strictly and immutable afterwards.

`Task.parse` refuses a document that is not strict JSON (`vault.canonical`), does not keep to `schemas/task.json`, or
contradicts itself: a fault or a server without a listed tool, two faults for one call, a `{{name}}` that `free` does
not explain, a free choice that could be taken for another or for something else in the document. Checks beyond that
(does the tool exist, is the predicate valid) are made by the packages that know servers and predicates. The canonical
bytes are fixed at that moment; they are what is committed to and sealed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Self

from vault.canonical import canonical, json_path, parse_object
from vault.errors import Malformed
from vault.schema import Schema
from vault.task.variant import LEAST_BITS, PLACEHOLDER, filled, first, traceable, words

SPEC_VERSION = "1.0.0"
"""The version of docs/SPEC.md that tasks made here name."""

SCHEMA: Mapping[str, Any] = json.loads(files("vault").joinpath("schemas/task.json").read_bytes())

WIRE_NAME = 64  # model interfaces accept [A-Za-z0-9_-]{1,64}, and `server.tool` becomes `server__tool`
_TASK_SCHEMA = Schema(SCHEMA)
_BETWEEN = re.compile(r"\{\{[a-z][a-z0-9_]{0,31}\}\}")


@dataclass(frozen=True, slots=True)
class ScheduledFault:
    """A scheduled fault: the error that the gateway returns for the `call`-th call (from 1) of `tool`."""

    tool: str
    call: int
    error: str = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A parsed task; its repr shows the id and the server, and nothing else ever shows more.

    Attributes:
        id: `t-` and 16 characters, random.
        server: the namespace that it is counted under.
        category: `single-tool`, `composition` or `recovery`.
        difficulty: `easy`, `medium` or `hard`.
        max_steps: how many tool calls are allowed.
        goal: what the agent is told.
        initial_state: one part a server.
        available_tools: 12 to 18 names `server.tool`, in the document's order.
        faults: the scheduled errors.
        free: parameter -> the values that it may have.
        language: BCP 47 tag of the goal's language; a document that names none is in English.
        variant_key: SHA-256 (hex) of the key that says which values each submitter is shown; None where all are
            served the first of each (`vault.task.variant`).
        success_predicate: the predicate's document.
        spec: the version of the rules.
    """

    id: str
    server: str
    category: str = field(repr=False)
    difficulty: str = field(repr=False)
    max_steps: int = field(repr=False)
    goal: str = field(repr=False)
    initial_state: Mapping[str, Mapping[str, Any]] = field(repr=False)
    available_tools: tuple[str, ...] = field(repr=False)
    faults: tuple[ScheduledFault, ...] = field(repr=False)
    free: Mapping[str, tuple[str, ...]] = field(repr=False)
    success_predicate: Mapping[str, Any] = field(repr=False)
    spec: str = field(repr=False)
    language: str = field(repr=False)
    variant_key: str | None = field(repr=False)
    _canonical: bytes = field(repr=False)

    @classmethod
    def parse(cls, data: bytes | Mapping[str, Any], what: str = "the task") -> Self:
        """Read a task from JSON bytes or from the plain values of one.

        Raises:
            Malformed: the message names the place and quotes nothing but key names.
        """
        raw = canonical(dict(data) if isinstance(data, Mapping) else parse_object(data, what), what)
        plain = parse_object(raw, what)  # here 12.0 has become 12, and nobody else holds these values
        _TASK_SCHEMA.require(plain, what)
        for place, sentence in _contradictions(plain):
            raise Malformed(f"{what} is malformed at {place}: {sentence}.")
        return cls._of(plain, raw)

    @classmethod
    def trusted(cls, raw: bytes, what: str = "the task") -> Self:
        """Take canonical bytes that `parse` has seen before and that something authenticates, such as a commitment.

        The rules may have grown since, so they are not applied to an old promise again.
        """
        return cls._of(parse_object(raw, what), raw)

    @classmethod
    def _of(cls, plain: Mapping[str, Any], raw: bytes) -> Self:
        return cls(
            **{name: plain[name] for name in _PLAIN},
            available_tools=tuple(plain["available_tools"]),
            faults=tuple(ScheduledFault(**fault) for fault in plain.get("faults", [])),
            free={name: tuple(choice["from"]) for name, choice in plain.get("free", {}).items()},
            language=plain.get("language", "en"),
            variant_key=plain.get("variant_key"),
            _canonical=raw,
        )

    @property
    def document(self) -> dict[str, Any]:
        """A fresh copy of the document as plain JSON values."""
        return parse_object(self._canonical)

    @property
    def servers(self) -> tuple[str, ...]:
        """The namespaces of the listed tools, sorted: every one of them runs and is seeded."""
        return tuple(sorted({_namespace(tool) for tool in self.available_tools}))

    def canonical(self) -> bytes:
        """Return the RFC 8785 bytes that are committed to, and hashed when the task is published."""
        return self._canonical

    def filled(self, values: Mapping[str, str]) -> Task:
        """Return the variant that one submitter is served: each `{{name}}` replaced, and nothing free any more.

        Raises:
            Malformed: a free parameter has no value here, or one that the task does not list.
        """
        for name, allowed in self.free.items():
            if values.get(name) not in allowed:
                raise Malformed(f"Task {self.id} needs a value for {name!r} out of the {len(allowed)} that it lists.")
        document = self.document
        document.pop("free", None)
        document.pop("variant_key", None)
        return Task.parse(filled(document, values), f"the variant of task {self.id}")

    def base(self) -> Task:
        """Return the variant of first choices, which identifies no submitter."""
        return self.filled(first(self.free)) if self.free else self

    def in_base(self, value: Any) -> Any:
        """Return a JSON value that belongs to the task, such as a solution, with the first choices filled in."""
        return filled(value, first(self.free))

    def keyed(self, digest: str) -> Task:
        """Return the same task, bound to the variant key that has this SHA-256.

        Raises:
            Malformed: it is bound to a key already, or it has too few variants for one.
        """
        if self.variant_key is not None:
            raise Malformed(f"Task {self.id} names a variant key already: the vault gives it, nobody else.")
        return Task.parse(self.document | {"variant_key": digest}, f"task {self.id}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Task) and self._canonical == other._canonical

    def __hash__(self) -> int:
        return hash(self._canonical)


_PLAIN = ["id", "server", "category", "difficulty", "max_steps", "goal", "initial_state", "success_predicate", "spec"]


def _namespace(tool: str) -> str:
    return tool.partition(".")[0]


def _contradictions(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Find what the schema cannot say: the place and a sentence each."""
    tools = document["available_tools"]
    listed = {_namespace(tool) for tool in tools}
    for index, tool in enumerate(tools):
        if len(tool) + 1 > WIRE_NAME:
            yield f"$.available_tools[{index}]", f"its name on the wire would be longer than {WIRE_NAME} characters"
    if document["server"] not in listed:
        yield "$.server", "no listed tool belongs to this server"
    for namespace in document["initial_state"]:
        if namespace not in listed:
            yield json_path(["initial_state", namespace]), "no listed tool belongs to this server, so it never runs"
    yield from _fault_contradictions(document, tools)
    yield from _free_contradictions(document)


def _fault_contradictions(document: Mapping[str, Any], tools: list[str]) -> Iterator[tuple[str, str]]:
    seen = set()
    for index, fault in enumerate(document.get("faults", [])):
        place = f"$.faults[{index}]"
        if fault["tool"] not in tools:
            yield f"{place}.tool", "the tool is not listed in available_tools"
        if fault["call"] > document["max_steps"]:
            yield f"{place}.call", "it is beyond max_steps, so no agent would meet it"
        if (fault["tool"], fault["call"]) in seen:
            yield place, "another fault already stands for that call of that tool"
        seen.add((fault["tool"], fault["call"]))


def _free_contradictions(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    free = document.get("free", {})
    used: set[str] = set()
    for place, text in texts({name: part for name, part in document.items() if name != "free"}, ()):
        names = set(PLACEHOLDER.findall(text))
        for name in sorted(names - free.keys()):
            yield json_path(place), f"{{{{{name}}}}} is not explained in $.free"
        used |= names
    for name, choice in free.items():
        if name not in used:
            yield json_path(["free", name]), f"{{{{{name}}}}} stands nowhere in the task"
        if any("{{" in value for value in choice["from"]):
            yield json_path(["free", name, "from"]), "a value must not hold a parameter itself"
    if "variant_key" in document and not traceable({name: choice["from"] for name, choice in free.items()}):
        yield "$.variant_key", f"with fewer than 2^{LEAST_BITS} variants there is no key"
    yield from _collisions(document, free)


def _collisions(document: Mapping[str, Any], free: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Find choices that could be mistaken for another, or for what stands in the document anyway.

    They are compared as a leaked text is read: case and what stands between words do not count.
    """
    if not free:
        return
    rest = fixed_words(document)
    plain = {name: [tuple(words(phrase)) for phrase in choice["from"]] for name, choice in free.items()}
    sizes = {len(phrase) for choices in plain.values() for phrase in choices}
    held = set(_runs(rest, sizes))
    among = Counter(run for choices in plain.values() for phrase in choices for run in _runs(phrase, sizes))
    for name, choices in plain.items():
        if not all(choices):
            yield json_path(["free", name, "from"]), "a choice needs a letter or a digit"
        elif not held.isdisjoint(choices):
            yield json_path(["free", name, "from"]), "a choice stands elsewhere in the document too"
        elif any(among[phrase] > 1 for phrase in choices):
            yield json_path(["free", name, "from"]), "a choice is another one, or a part of one"


def fixed_words(document: Mapping[str, Any]) -> list[str]:
    """Return the words of a document in which no choice of a free parameter may stand, with "" where a text ends."""
    fixed = {name: part for name, part in document.items() if name not in {"free", "id", "schema", "spec"}}
    pieces = (piece for _, text in texts(fixed) for piece in _BETWEEN.split(text))
    return [word for piece in pieces for word in (*words(piece), "")]


def _runs(phrase: Sequence[str], sizes: Collection[int]) -> Iterator[tuple[str, ...]]:
    """Return all runs of so many words."""
    return (tuple(phrase[at : at + size]) for size in sizes for at in range(len(phrase) - size + 1))


def texts(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Walk over all text in a document, keys too, each with its place."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield (*place, key), key
            yield from texts(part, (*place, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from texts(part, (*place, index))
