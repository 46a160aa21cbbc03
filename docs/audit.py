#!/usr/bin/env python3
"""Audit a release of a Quarterturn benchmark: `python3 audit.py Historical-YYYY-MM --key log.vkey`.

One file, made from the modules of vault/ledger by vault/ledger/audit/single_file.py; each function below is one module.
It needs Python 3.11 and uses the package `cryptography` where it is installed.
"""

from __future__ import annotations

from types import SimpleNamespace

from bisect import bisect_left
from collections import Counter
from collections import OrderedDict
from collections import defaultdict
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Container
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from heapq import merge
from itertools import groupby
from itertools import zip_longest
from json.encoder import encode_basestring
from pathlib import Path
from types import MappingProxyType
from typing import Any
from typing import ClassVar
from typing import Literal
from typing import NamedTuple
from typing import Protocol
from typing import Self
from typing import runtime_checkable
import argparse
import base64
import binascii
import hashlib
import hmac
import json
import math
import os
import re
import stat
import sys
import time



def vault_errors():
    """Exception classes of the vault: each message names the thing, the reason and the next step.

`kind` is what the command line turns into an exit code; nothing below it prints or exits. `evidence` is what disagrees,
whole: the auditor, the monitor of a log and the plumbing verbs show it beside the message.
"""



    Kind = Literal["no", "malformed", "not-found", "not-allowed", "quota", "unavailable", "locked", "refused"]

    _SHOWN = 200  # characters of a value that a line of text shows


    @runtime_checkable
    class ErrorWithKind(Protocol):
        """Protocol of each package's root error: an exception with a `kind`."""

        kind: ClassVar[Kind]


    def kind_of(error: BaseException) -> Kind | None:
        """Give the `kind` of one of our own errors, whichever package raised it; None for any other exception."""
        return error.kind if isinstance(error, ErrorWithKind) else None


    @dataclass(frozen=True, slots=True)
    class Disagreement:
        """Evidence of an error: the expected value, the value that was found, and the place of the latter.

    Values are JSON values that may hold byte strings; None stands for nothing. Both are whole, however long they are,
    and neither is ever a part of a private task.

    Attributes:
        where: the file, the leaf or the field, from the outside in: `leaf 7: $.predicate.previous`.
        expected: the value that the message calls right; None also where there is nothing to compare with.
        found: the value that stands in its place.
    """

        where: str | None = None
        expected: Any = None
        found: Any = None

        def as_json(self) -> dict[str, Any]:
            """Give it as JSON values, whole; byte strings are in lower-case hex."""
            return {"where": self.where, "expected": _as_json(self.expected), "found": _as_json(self.found)}

        def lines(self) -> Iterator[str]:
            """Write it as text, line by line; a long value is shortened, and its length is stated."""
            if self.expected is not None or self.found is not None:
                yield f"expected {_as_text(self.expected)}"
                yield f"found {_as_text(self.found)}"
            if self.where is not None:
                yield f"at {_as_text(self.where)}"


    class VaultError(Exception):
        """Base class of all errors of the vault.

    Args:
        message: a sentence for people.
        where: see `Disagreement`, as for the next two.
        expected: the value that should stand there.
        found: the value that stands there.

    Attributes:
        evidence: what disagrees, or None where the error carries its message alone.
    """

        kind: ClassVar[Kind] = "malformed"

        def __init__(self, message: str = "", *, where: str | None = None, expected: Any = None, found: Any = None) -> None:
            super().__init__(message)
            known = where is not None or expected is not None or found is not None
            self.evidence = Disagreement(where, expected, found) if known else None

        def with_message(self, message: str, where: str | None = None) -> Self:
            """Give an error of the same class and evidence under another message.

        Args:
            message: the new sentence.
            where: the place that surrounds the one that the evidence names, if there is one.
        """
            inner = self.evidence or Disagreement()
            places = [place for place in (where, inner.where) if place]
            return type(self)(message, where=": ".join(places) or None, expected=inner.expected, found=inner.found)


    class Malformed(VaultError):
        """A document or file that cannot be understood; the message says where."""

        kind: ClassVar[Kind] = "malformed"


    class NotFound(VaultError):
        """Nothing is stored under that name."""

        kind: ClassVar[Kind] = "not-found"


    class NotAllowed(VaultError):
        """The caller may not take this step, or not in the current state."""

        kind: ClassVar[Kind] = "not-allowed"


    class Locked(VaultError):
        """A key is missing, locked, or opened with the wrong passphrase."""

        kind: ClassVar[Kind] = "locked"


    class Refused(VaultError):
        """The step would break a rule or a promise, or overwrite something that exists; nothing was done."""

        kind: ClassVar[Kind] = "refused"


    class Broken(VaultError):
        """A signature, hash or chain does not verify."""

        kind: ClassVar[Kind] = "no"


    class Unavailable(VaultError):
        """The database cannot be reached, or was busy for too long."""

        kind: ClassVar[Kind] = "unavailable"


    def _as_json(value: Any) -> Any:
        if isinstance(value, bytes):
            return value.hex()
        if isinstance(value, Mapping):
            return {str(key): _as_json(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [_as_json(item) for item in value]
        return value


    def _as_text(value: Any) -> str:
        """Write a value on one line; a release may be hostile, so control characters are escaped."""
        if value is None:
            return "nothing"
        plain = _as_json(value)
        text = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False, sort_keys=True)
        shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:_SHOWN])
        return shown if len(text) <= _SHOWN else f"{shown}\u2026 ({len(text)} characters)"

    return SimpleNamespace(**locals())


vault_errors = vault_errors()


def vault_ledger_statements_jcs():
    """Canonical JSON (RFC 8785) with the standard library alone: the auditor's twin of `vault.canonical`.

`canonical` sorts keys by UTF-16 code units (section 3.2.3), writes numbers as ECMAScript does (section 3.2.2.3) and
strings with the shortest escapes (3.2.2.2). `parse` refuses what two readers could read differently: duplicate keys,
NaN and Infinity, lone surrogates, whole numbers of 2^53 or more, more than `MAX_DEPTH` levels. `parse_canonical` also
refuses bytes that are not exactly the canonical form of what they say. Messages give places and never quote values.
"""

    Malformed = vault_errors.Malformed



    MAX_DEPTH = 64
    MAX_INTEGER = 2**53 - 1
    _SHORT = 15  # digits of a whole number that is below it for certain
    _POINT_AFTER, _POINT_BEFORE = 21, -6  # ECMAScript writes an exponent outside of these (Number::toString, steps 6 to 10)

    _SHARED = 32  # characters of a text that others may have, too; a hash has twice as many
    _SIMPLE = frozenset({str, bool, type(None)})  # always plain
    _ASTRAL = re.compile(rb"[\xf0-\xff]")  # begins a character above U+FFFF in UTF-8
    _UNSURE = object()
    _plain = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), check_circular=False).encode


    def canonical(value: Any) -> bytes:
        """Write a value as canonical JSON.

    Raises:
        Malformed: it holds something that canonical JSON has no form for.
    """
        text = _plain(value) if _is_plain(value, 0) else _write(value)
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            raise Malformed("the value has no canonical JSON: a text in it holds a lone surrogate") from error


    def parse(data: bytes, what: str = "the document") -> Any:
        """Read one JSON value from UTF-8 bytes.

    Raises:
        Malformed: it is not JSON, or two readers could read it differently.
    """
        try:
            text = data.decode()
            value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer)
            _is_plain(value, 0)
            if "\\u" in text:
                canonical(value)  # only an escape can smuggle a lone surrogate in
        except Malformed as error:
            raise Malformed(f"{what} is refused: {error}", where=what) from None
        except UnicodeDecodeError as error:
            raise Malformed(f"{what} is not UTF-8 at byte {error.start}", where=f"{what}: byte {error.start}") from None
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            raise Malformed(f"{what} is not JSON: {place}: {error.msg}", where=f"{what}: {place}") from None
        except RecursionError:
            raise Malformed(f"{what} is nested deeper than {MAX_DEPTH} levels", where=what) from None
        return value


    def parse_canonical(data: bytes, what: str = "the document") -> Any:
        """Read one JSON value and refuse bytes that are not its canonical form.

    Raises:
        Malformed: as `parse`, or the bytes differ from the canonical ones; the message says from which byte on.
    """
        if (value := _surely_canonical(data)) is not _UNSURE:
            return value
        value = parse(data, what)
        expected = canonical(value)
        if expected != data:
            at = next((i for i, (a, b) in enumerate(zip(data, expected, strict=False)) if a != b), len(expected))
            raise Malformed(
                f"{what} is not canonical JSON (RFC 8785): it differs from byte {at} on", where=f"{what}: byte {at}"
            )
        return value


    def shared(value: Any) -> Any:
        """Share equal keys and short texts in a value that is kept: thousands of lines repeat them."""
        if type(value) is dict:
            return {sys.intern(key): shared(item) for key, item in value.items()}
        if type(value) is list:
            return [shared(item) for item in value]
        return sys.intern(value) if type(value) is str and len(value) < _SHARED else value


    def _surely_canonical(data: bytes) -> Any:
        """Parse text that is provably canonical by the standard library alone, or give _UNSURE.

    1. what it reads and writes again to the very same bytes has no key twice, and its own order, spacing and escapes
    2. these are the canonical ones, and so are its numbers, where there is no fraction, no exponent, no number of more
       than 15 digits and no character above U+FFFF (up to there, UTF-16 sorts keys as code points do)
    3. with at most MAX_DEPTH brackets in all, it is nested no deeper
    """
        if data.count(b"{") + data.count(b"[") > MAX_DEPTH or not (data.isascii() or _ASTRAL.search(data) is None):
            return _UNSURE
        try:
            text = data.decode()
            value = _read(text)
        except ValueError:
            return _UNSURE
        return value if _plain(value) == text else _UNSURE


    def _is_plain(value: Any, depth: int) -> bool:
        """Refuse a value without canonical form; tell whether the standard encoder already writes it canonically.

    It does where there is no float and every key is ASCII. Every item is looked at, even after the answer is known.
    """
        kind = type(value)
        if kind in _SIMPLE:
            return True
        if kind is int:
            return _require_exact(value)
        if kind is float:
            return _require_finite(value)
        if depth >= MAX_DEPTH:
            raise Malformed(f"it is nested deeper than {MAX_DEPTH} levels")
        plain = True
        if kind is dict:
            plain = _require_texts(value)
            value = value.values()
        elif kind is not list and kind is not tuple:
            raise Malformed(f"JSON has no form for {kind.__name__}")
        for item in value:
            if type(item) not in _SIMPLE:  # a call an item would take most of the time
                plain &= _is_plain(item, depth + 1)
        return plain


    def _require_exact(number: int) -> bool:
        if abs(number) > MAX_INTEGER:
            raise Malformed("a whole number is beyond 2^53 - 1; write it as text")
        return True


    def _require_finite(number: float) -> bool:
        if not math.isfinite(number):
            raise Malformed("a number is not finite")
        return False


    def _require_texts(keys: Mapping[Any, Any]) -> bool:
        """Refuse keys that are not text; tell whether all are ASCII."""
        if strange := [key for key in keys if type(key) is not str]:
            raise Malformed(f"a key is {type(strange[0]).__name__} and not text")
        return "".join(keys).isascii()


    def _write(value: Any) -> str:
        if type(value) is float:
            return number(value)
        if type(value) is str:
            return encode_basestring(value)
        if type(value) is dict:
            keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
            return "{" + ",".join(f"{encode_basestring(key)}:{_write(value[key])}" for key in keys) + "}"
        if type(value) is list or type(value) is tuple:
            return "[" + ",".join(map(_write, value)) + "]"
        return _plain(value)


    def number(value: float) -> str:
        """Write a finite double as ECMAScript does (ECMA-262, Number::toString): the shortest digits that come back."""
        if value == 0:
            return "0"
        sign = "-" if value < 0 else ""
        mantissa, _, exponent = repr(abs(value)).partition("e")  # repr gives the same shortest digits, set differently
        integer, _, fraction = mantissa.partition(".")
        fraction = "" if fraction == "0" else fraction
        digits = (integer + fraction).lstrip("0")
        point = len(integer) + int(exponent or 0) - (len(integer + fraction) - len(digits))
        digits = digits.rstrip("0")
        return sign + _place(digits, point)


    def _place(digits: str, point: int) -> str:
        count = len(digits)
        if count <= point <= _POINT_AFTER:
            return digits + "0" * (point - count)
        if 0 < point <= _POINT_AFTER:
            return f"{digits[:point]}.{digits[point:]}"
        if _POINT_BEFORE < point <= 0:
            return "0." + "0" * -point + digits
        tail = f".{digits[1:]}" if count > 1 else ""
        return f"{digits[0]}{tail}e{point - 1:+d}"


    def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            raise Malformed("an object has the same key twice")
        return members


    def _constant(name: str) -> Any:
        raise Malformed(f"{name} is no JSON number")


    def _refuse(number: str) -> Any:
        raise ValueError(number)


    def _short(digits: str) -> int:
        return int(digits) if len(digits) <= _SHORT else _refuse(digits)


    _read = json.JSONDecoder(parse_int=_short, parse_float=_refuse, parse_constant=_refuse).decode


    def _integer(digits: str) -> int:
        if len(digits) > len(str(MAX_INTEGER)) + 1:
            raise Malformed("a whole number is beyond 2^53 - 1; write it as text")
        return int(digits)

    return SimpleNamespace(**locals())


vault_ledger_statements_jcs = vault_ledger_statements_jcs()


def vault_ledger_statements_shape():
    """Composable shape checks for ledger documents; an error names the JSON path of what is wrong.

A shape is called with `(value, path)`: it raises `Malformed` with the JSON path of what is wrong, and returns nothing
when all is well. It also carries its JSON Schema (draft 2020-12). Objects are closed: a missing key
and an unknown key are both refused. The statements, the manifest and every line of a bundle are described with them, so
that what a parser lets through needs no second look.

Most shapes also carry a byte pattern, composed from the patterns of their parts: every match is canonical JSON
(RFC 8785) of the shape. Its keys are in canonical order, its texts are ASCII without escapes, its whole numbers have at
most 15 digits. A release has a line for each result, all of one shape, and a match costs a fraction of serializing a
value again and walking through it. Bytes that do not match may still be valid and take the slow path; only the slow
path refuses.
"""

    Malformed = vault_errors.Malformed
    parse_canonical = vault_ledger_statements_jcs.parse_canonical



    MAX_TEXT = 1024
    _PLAIN = r"[ !#-\[\]-~]"  # ASCII that JSON writes as it is: no control character, no quotation mark, no backslash
    _DIGITS = 15  # any whole number of so many is exact
    _read = json.JSONDecoder().raw_decode


    @dataclass(frozen=True)
    class DocumentShape:
        """A schema check: the form that a value must have.

    Attributes:
        check: raises `Malformed` with the path where a value is not that; an empty path is not spelled out.
        schema: the same as JSON Schema.
        written: a pattern of which every match is canonical JSON of the shape; None where there is none.
    """

        check: Callable[[Any, str], None]
        schema: Mapping[str, Any]
        written: str | None = None

        def __call__(self, value: Any, path: str) -> None:
            """Check a value; paths are spelled out only where something is wrong."""
            try:
                self.check(value, "")
            except Malformed:
                self.check(value, path)
                raise

        def parse(self, data: bytes, what: str) -> Any:
            """Read canonical JSON of the shape.

        Raises:
            Malformed: it is not that; the message says where.
        """
            if self._surely is not None and self._surely.fullmatch(data):
                return _read(data.decode())[0]  # a match is one value, with nothing before or behind it
            value = parse_canonical(data, what)
            self(value, what)
            return value

        @cached_property
        def _surely(self) -> re.Pattern[bytes] | None:
            return re.compile(self.written.encode()) if self.written is not None else None


    def matching(pattern: str, words: str) -> DocumentShape:
        """Text that fully matches a pattern; `words` says in English what that is."""
        compiled = re.compile(pattern, re.ASCII)

        def check(value: Any, path: str) -> None:
            if not isinstance(value, str) or not compiled.fullmatch(value):
                raise Malformed(f"{path} must be {words}", where=path)

        # a class of what is left out could match a quotation mark, and go on beyond the end of the text
        written = None if "[^" in pattern else f'"(?:{pattern})"'
        return DocumentShape(check, {"type": "string", "pattern": f"^(?:{pattern})$", "description": words}, written)


    def _plain(is_right: Callable[[Any], bool], words: str, written: str | None, **schema: Any) -> DocumentShape:
        def check(value: Any, path: str) -> None:
            if not is_right(value):
                raise Malformed(f"{path} must be {words}", where=path)

        return DocumentShape(check, schema, written)


    text = _plain(
        lambda value: isinstance(value, str) and 1 <= len(value) <= MAX_TEXT,
        f"text of 1 to {MAX_TEXT} characters",
        f'"{_PLAIN}{{1,{MAX_TEXT}}}"',
        type="string",
        minLength=1,
        maxLength=MAX_TEXT,
    )
    boolean = _plain(lambda value: isinstance(value, bool), "true or false", "(?:true|false)", type="boolean")
    natural = _plain(
        lambda value: type(value) is int and value >= 0,
        "a whole number, zero or more",
        f"(?:0|[1-9][0-9]{{0,{_DIGITS - 1}}})",
        type="integer",
        minimum=0,
    )
    positive = _plain(
        lambda value: type(value) is int and value >= 1,
        "a whole number, one or more",
        f"[1-9][0-9]{{0,{_DIGITS - 1}}}",
        type="integer",
        minimum=1,
    )
    anything = _plain(
        lambda value: isinstance(value, (dict, Mapping)), "an object", None, type="object"
    )  # somebody else's format


    def optional(shape: DocumentShape) -> DocumentShape:
        """Null, or the shape."""

        def check(value: Any, path: str) -> None:
            if value is not None:
                shape.check(value, path)

        written = "null" if shape.written is None else f"(?:null|{shape.written})"
        return DocumentShape(check, {"anyOf": [shape.schema, {"type": "null"}]}, written)


    def list_of(shape: DocumentShape) -> DocumentShape:
        """A list, each item of the shape."""

        def check(value: Any, path: str) -> None:
            if not isinstance(value, list):
                raise Malformed(f"{path} must be a list", where=path)
            for index, item in enumerate(value):
                shape.check(item, path and f"{path}[{index}]")

        item = shape.written
        return DocumentShape(check, {"type": "array", "items": shape.schema}, item and rf"\[(?:{item}(?:,{item})*)?\]")


    def single(shape: DocumentShape) -> DocumentShape:
        """A list of exactly one item of the shape."""

        def check(value: Any, path: str) -> None:
            if not isinstance(value, list) or len(value) != 1:
                raise Malformed(f"{path} must be a list of exactly one item", where=path)
            shape.check(value[0], path and f"{path}[0]")

        schema = {"type": "array", "items": shape.schema, "minItems": 1, "maxItems": 1}
        return DocumentShape(check, schema, shape.written and rf"\[{shape.written}\]")


    def mapping_of(key: DocumentShape, shape: DocumentShape) -> DocumentShape:
        """An object with free keys: each key of one shape, each value of another."""

        def check(value: Any, path: str) -> None:
            if not isinstance(value, (dict, Mapping)):
                raise Malformed(f"{path} must be an object", where=path)
            for name, item in value.items():
                key.check(name, path and f"a key of {path}")
                shape.check(item, path and f"{path}.{name}")

        return DocumentShape(check, {"type": "object", "propertyNames": key.schema, "additionalProperties": shape.schema})


    def record(optional: Mapping[str, DocumentShape] = MappingProxyType({}), /, **fields: DocumentShape) -> DocumentShape:
        """A closed object: exactly these keys, and optionally those in `optional`."""
        known = {**fields, **optional}

        def check(value: Any, path: str) -> None:
            if not isinstance(value, (dict, Mapping)):
                raise Malformed(f"{path} must be an object", where=path)
            if value.keys() != fields.keys():
                if missing := sorted(fields.keys() - value.keys()):
                    raise Malformed(f"{path}.{missing[0]} is missing", where=f"{path}.{missing[0]}")
                if unknown := sorted(map(str, value.keys() - known.keys())):
                    raise Malformed(f"{path}: {unknown[0][:60]!r} is not a key of this format", where=path)
            for name, item in value.items():
                known[name].check(item, path and f"{path}.{name}")

        properties = {name: shape.schema for name, shape in known.items()}
        schema = {"type": "object", "properties": properties, "required": sorted(fields), "additionalProperties": False}
        return DocumentShape(check, schema, _written(fields, optional))


    def _written(fields: Mapping[str, DocumentShape], optional: Mapping[str, DocumentShape]) -> str | None:
        """Give a closed object's pattern: its keys in order, a comma before each but the first, which must be there."""
        if any(shape.written is None for shape in fields.values()) or min(fields) > min(optional, default="~"):
            return None
        pattern = ""
        for name, shape in sorted({**fields, **optional}.items()):
            member = f'{pattern and ","}"{re.escape(name)}":{shape.written}'
            if name in fields:
                pattern += member
            elif shape.written is not None:
                pattern += f"(?:{member})?"
        return rf"\{{{pattern}\}}"


    def one_of(*values: str) -> DocumentShape:
        """One of these words."""

        def check(value: Any, path: str) -> None:
            if not isinstance(value, str) or value not in values:
                raise Malformed(f"{path} must be one of {', '.join(values)}", where=path)

        words = "|".join(re.escape(value) for value in values)
        plain = all(re.fullmatch(f"{_PLAIN}*", value) for value in values)
        return DocumentShape(check, {"enum": list(values)}, f'"(?:{words})"' if plain else None)


    sha256 = matching(r"[0-9a-f]{64}", "64 lower-case hexadecimal digits")
    month = matching(r"[0-9]{4}-(0[1-9]|1[0-2])", "a month as YYYY-MM")
    cohort = matching(r"cohort-[0-9]{4}-(0[1-9]|1[0-2])", "a cohort as cohort-YYYY-MM")
    task_id = matching(r"t-[a-z2-7]{16}", "a task's id: t- and 16 letters or digits of base 32")
    guid = matching(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "a GUID in lower case")
    fraction = matching(r"(0|[1-9][0-9]{0,499})/[1-9][0-9]{0,499}", "an exact fraction such as 7/12")
    version = matching(r"(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){2}", "a semantic version such as 1.0.0")

    return SimpleNamespace(**locals())


vault_ledger_statements_shape = vault_ledger_statements_shape()


def vault_ledger_tree_merkle():
    """The Merkle tree of RFC 6962, section 2.1 (the same hashes as RFC 9162): roots, proofs and their verification.

Proofs are made from *nodes*: a function `(level, index) -> hash` that gives the root of the perfect subtree over the
leaves `[index * 2^level, (index + 1) * 2^level)`. Whoever caches these nodes proves in logarithmic time, whether they
lie in memory (`MerkleTree`) or in tiles (`vault.ledger.tree.tiles`).

Verification is strict: hashes have exactly 32 bytes, a proof has exactly the length that its sizes ask for, and an old
size of 0 is refused in a consistency proof, because it proves nothing. No I/O.
"""

    Broken = vault_errors.Broken
    Malformed = vault_errors.Malformed



    HASH_BYTES = 32
    EMPTY_ROOT = sha256().digest()

    Nodes = Callable[[int, int], bytes]


    def leaf_hash(leaf: bytes) -> bytes:
        """Hash a leaf's bytes (RFC 6962, section 2.1: 0x00 before a leaf)."""
        return sha256(b"\0" + leaf).digest()


    def node_hash(left: bytes, right: bytes) -> bytes:
        """Hash two subtrees into their parent (0x01 before a pair)."""
        return sha256(b"\1" + left + right).digest()


    def level_up(hashes: Sequence[bytes]) -> list[bytes]:
        """Hash neighbours in pairs; an odd one at the end is left out."""
        return [node_hash(hashes[i], hashes[i + 1]) for i in range(0, len(hashes) - 1, 2)]


    def root(hashes: Sequence[bytes]) -> bytes:
        """Give the root over leaf hashes; over none, the hash of nothing."""
        tree = MerkleTree(hashes)
        return tree.root(len(tree))


    class MerkleTree:
        """A tree in memory that keeps every node, so that roots and proofs at any size are logarithmic."""

        def __init__(self, hashes: Iterable[bytes] = ()) -> None:
            self._levels: list[list[bytes]] = [[]]
            self.extend(hashes)

        def __len__(self) -> int:
            return len(self._levels[0])

        def extend(self, hashes: Iterable[bytes]) -> None:
            """Append leaf hashes."""
            fresh = list(hashes)
            if any(len(item) != HASH_BYTES for item in fresh):
                raise Malformed(f"a leaf hash has exactly {HASH_BYTES} bytes")
            level = 0
            while fresh:
                if level == len(self._levels):
                    self._levels.append([])
                row = self._levels[level]
                row += fresh
                level += 1
                done = len(self._levels[level]) if level < len(self._levels) else 0
                fresh = level_up(row[2 * done :])

        def node(self, level: int, index: int) -> bytes:
            """Give the root of a perfect subtree."""
            return self._levels[level][index]

        def root(self, size: int) -> bytes:
            """Give the root of the first `size` leaves."""
            return root_from(self.node, _within(size, len(self)))


    def root_from(nodes: Nodes, size: int) -> bytes:
        """Give the root of the first `size` leaves."""
        return _join(nodes, 0, size) if size else EMPTY_ROOT


    def inclusion_proof(nodes: Nodes, index: int, size: int) -> list[bytes]:
        """Prove that the leaf at `index` is in the tree of `size` leaves (RFC 6962, section 2.1.1).

    Raises:
        Malformed: there is no such leaf.
    """
        if not 0 <= index < size:
            raise Malformed(f"there is no leaf {index} in a tree of {size}")
        start, end = 0, size
        proof: list[bytes] = []
        while end - start > 1:
            middle = start + _split(end - start)
            if index < middle:
                proof.append(_join(nodes, middle, end))
                end = middle
            else:
                proof.append(_join(nodes, start, middle))
                start = middle
        return proof[::-1]


    def consistency_proof(nodes: Nodes, size1: int, size2: int) -> list[bytes]:
        """Prove that the tree of `size1` leaves is the beginning of the tree of `size2` (RFC 6962, section 2.1.2).

    Raises:
        Malformed: `size1` is 0 (nothing to prove) or beyond `size2`.
    """
        if not 1 <= size1 <= size2:
            raise Malformed(f"a consistency proof needs 1 <= old size <= new size, not {size1} and {size2}")
        start, end, known = 0, size2, True
        proof: list[bytes] = []
        while size1 != end:
            middle = start + _split(end - start)
            if size1 <= middle:
                proof.append(_join(nodes, middle, end))
                end = middle
            else:
                proof.append(_join(nodes, start, middle))
                start, known = middle, False
        return ([] if known else [_join(nodes, start, end)]) + proof[::-1]


    def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], expected: bytes) -> None:
        """Check an inclusion proof for a leaf *hash* (RFC 9162, section 2.1.3.2).

    Raises:
        Broken: the proof does not lead from the leaf to the root, or it is malformed.
    """
        _require_hashes([leaf, expected, *proof])
        if not 0 <= index < size:
            raise Broken(
                f"there is no leaf {index} in a tree of {size}",
                where="the leaf's index",
                expected=f"0 to {size - 1}",
                found=index,
            )
        inner = (index ^ (size - 1)).bit_length()
        border = (index >> inner).bit_count()
        if len(proof) != inner + border:
            raise Broken(
                f"an inclusion proof for leaf {index} of {size} has {inner + border} hashes, not {len(proof)}",
                where="the number of hashes in the inclusion proof",
                expected=inner + border,
                found=len(proof),
            )
        computed = _chain_border(_chain_inner(leaf, proof[:inner], index), proof[inner:])
        if computed != expected:
            raise Broken(
                f"leaf {index} is not in the tree of {size}: the proof gives the root {computed.hex()}",
                where=f"the root from the inclusion proof of leaf {index} of {size}",
                expected=expected,
                found=computed,
            )


    def verify_consistency(size1: int, size2: int, root1: bytes, root2: bytes, proof: Sequence[bytes]) -> None:
        """Check a consistency proof (RFC 9162, section 2.1.4.2).

    Raises:
        Broken: the older tree is not the beginning of the newer one, or the proof is malformed.
    """
        _require_hashes([root1, root2, *proof])
        if not 1 <= size1 <= size2:
            raise Broken(
                f"a consistency proof needs 1 <= old size <= new size, not {size1} and {size2}",
                where="the old size",
                expected=f"1 to {size2}",
                found=size1,
            )
        if size1 == size2:
            if proof or root1 != root2:
                raise Broken(
                    f"two roots at one size {size1}: {root1.hex()} and {root2.hex()}",
                    where=f"the root and the proof at size {size2}",
                    expected={"root": root1, "proof": []},
                    found={"root": root2, "proof": list(proof)},
                )
            return
        shift = (size1 & -size1).bit_length() - 1
        inner = ((size1 - 1) ^ (size2 - 1)).bit_length() - shift
        border = ((size1 - 1) >> (inner + shift)).bit_count()
        is_peak = size1 == 1 << shift
        seed, rest = (root1, proof) if is_peak else (proof[0] if proof else b"", proof[1:])
        if len(proof) != inner + border + (not is_peak):
            wanted = inner + border + (not is_peak)
            raise Broken(
                f"a consistency proof from {size1} to {size2} has {wanted} hashes, not {len(proof)}",
                where="the number of hashes in the consistency proof",
                expected=wanted,
                found=len(proof),
            )
        mask = (size1 - 1) >> shift
        old = _chain_border(_chain_inner_right(seed, rest[:inner], mask), rest[inner:])
        new = _chain_border(_chain_inner(seed, rest[:inner], mask), rest[inner:])
        if old != root1:
            raise Broken(
                f"the proof gives the old root {old.hex()}, not {root1.hex()}",
                where=f"the root at size {size1} from the consistency proof",
                expected=root1,
                found=old,
            )
        if new != root2:
            raise Broken(
                f"the proof gives the new root {new.hex()}, not {root2.hex()}",
                where=f"the root at size {size2} from the consistency proof",
                expected=root2,
                found=new,
            )


    def set_root(commitments: Iterable[bytes]) -> bytes:
        """Give the root over commitments sorted by their bytes: of a cohort's, or of all live tasks'.

    Raises:
        Malformed: two commitments are the same, or one has not 32 bytes.
    """
        ordered = sorted(commitments)
        if any(len(item) != HASH_BYTES for item in ordered):
            raise Malformed(f"a commitment has exactly {HASH_BYTES} bytes")
        if len(set(ordered)) != len(ordered):
            raise Malformed("the same commitment stands twice in one set")
        return root([leaf_hash(item) for item in ordered])


    def _split(width: int) -> int:
        """Give the largest power of two smaller than `width` (width > 1)."""
        return 1 << (width - 1).bit_length() - 1


    def _cover(start: int, end: int) -> Iterator[tuple[int, int]]:
        """Cover `[start, end)` with perfect subtrees; `start` is aligned to the largest of them."""
        while start < end:
            level = (end - start).bit_length() - 1
            yield level, start >> level
            start += 1 << level


    def _join(nodes: Nodes, start: int, end: int) -> bytes:
        """Hash the subtree over `[start, end)`, where `start` is aligned as RFC 6962 splits."""
        parts = [nodes(level, index) for level, index in _cover(start, end)]
        subtree = parts.pop()
        while parts:
            subtree = node_hash(parts.pop(), subtree)
        return subtree


    def _chain_inner(seed: bytes, proof: Sequence[bytes], index: int) -> bytes:
        for sibling in proof:
            seed = sha256(b"\1" + sibling + seed if index & 1 else b"\1" + seed + sibling).digest()
            index >>= 1
        return seed


    def _chain_inner_right(seed: bytes, proof: Sequence[bytes], index: int) -> bytes:
        for level, sibling in enumerate(proof):
            if index >> level & 1:
                seed = node_hash(sibling, seed)
        return seed


    def _chain_border(seed: bytes, proof: Sequence[bytes]) -> bytes:
        for sibling in proof:
            seed = sha256(b"\1" + sibling + seed).digest()
        return seed


    def _require_hashes(hashes: Iterable[bytes]) -> None:
        if wrong := set(map(len, hashes)) - {HASH_BYTES}:
            raise Broken(
                f"a hash in a proof has exactly {HASH_BYTES} bytes",
                where="the number of bytes of a hash",
                expected=HASH_BYTES,
                found=min(wrong),
            )


    def _within(size: int, have: int) -> int:
        if not 0 <= size <= have:
            raise Malformed(f"the tree has {have} leaves, not {size}")
        return size

    return SimpleNamespace(**locals())


vault_ledger_tree_merkle = vault_ledger_tree_merkle()


def vault_ledger_statements_results():
    """Contents of a run's `score` statement: a Merkle tree of salted results, and salted totals for each cohort.

A result is `{"run", "task", "cohort", "category", "verdict", "passed", "calls", "max_steps", "unlisted", "saw_error",
"skeleton"}`; totals are sums over the results of one cohort, in whole numbers and one exact fraction, so that whoever
opens the results computes the same bytes. The tree's leaves are the results' commitments, in the order of their
tasks' commitments.
"""

    boolean = vault_ledger_statements_shape.boolean
    cohort = vault_ledger_statements_shape.cohort
    fraction = vault_ledger_statements_shape.fraction
    matching = vault_ledger_statements_shape.matching
    natural = vault_ledger_statements_shape.natural
    one_of = vault_ledger_statements_shape.one_of
    positive = vault_ledger_statements_shape.positive
    record = vault_ledger_statements_shape.record
    task_id = vault_ledger_statements_shape.task_id
    text = vault_ledger_statements_shape.text
    leaf_hash = vault_ledger_tree_merkle.leaf_hash
    root = vault_ledger_tree_merkle.root



    RESULT = record(
        run=positive,
        task=task_id,
        cohort=cohort,
        category=one_of("single-tool", "composition", "recovery"),
        verdict=one_of("true", "false", "unknown"),
        passed=boolean,
        calls=natural,
        max_steps=positive,
        unlisted=natural,
        saw_error=boolean,
        skeleton=matching(r"[0-9a-f]{1,128}", "an opaque tag in lower-case hexadecimal digits"),
    )

    TOTALS = record(
        run=positive,
        cohort=cohort,
        attempted=natural,
        passed=natural,
        unknown=natural,
        efficiency_sum=fraction,
        calls=natural,
        unlisted=natural,
        recovery_seen=natural,
        recovery_passed=natural,
    )

    OPENING = record(submitter=text, submission=text, attempt=positive)

    _PLACES = 10_000


    def in_order(results: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
        """Put result commitments into the tree's order.

    Args:
        results: `(the task's commitment, the result's commitment)` a result.
    """
        return [result for _, result in sorted(results)]


    def results_root(commitments: Sequence[bytes]) -> bytes:
        """Give the root over result commitments that are in order."""
        return root([leaf_hash(item) for item in commitments])


    def totals_of(run: int, cohort: str, results: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Sum up the results of one run on one cohort.

    `efficiency_sum` is the sum of calls / max_steps over passed tasks, as an exact fraction in lowest terms;
    `recovery_seen` counts the recovery tasks in which the agent saw an error, `recovery_passed` those that it passed.
    """
        rows = list(results)
        passed = [row for row in rows if row["passed"]]
        seen = [row for row in rows if row["category"] == "recovery" and row["saw_error"]]
        calls_of: Counter[int] = Counter()  # by max_steps: adding whole numbers first leaves few fractions to add
        for row in passed:
            calls_of[row["max_steps"]] += row["calls"]
        efficiency = sum((Fraction(calls, steps) for steps, calls in calls_of.items()), Fraction(0))
        return {
            "run": run,
            "cohort": cohort,
            "attempted": len(rows),
            "passed": len(passed),
            "unknown": sum(row["verdict"] == "unknown" for row in rows),
            "efficiency_sum": f"{efficiency.numerator}/{efficiency.denominator}",
            "calls": sum(row["calls"] for row in rows),
            "unlisted": sum(row["unlisted"] for row in rows),
            "recovery_seen": len(seen),
            "recovery_passed": sum(row["passed"] for row in seen),
        }


    def counted(
        totals: Mapping[str, Any], results: Sequence[Mapping[str, Any]], broken: Container[str]
    ) -> Mapping[str, Any]:
        """Give a run's totals on a cohort without the tasks that were withdrawn as broken; those that leaked count."""
        left = [row for row in results if row["task"] not in broken]
        return totals if len(left) == len(results) else totals_of(totals["run"], totals["cohort"], left)


    def figures(totals: Mapping[str, Any]) -> dict[str, str | None]:
        """Give the four axes of a run on one cohort as decimals with four places, None where nothing can be divided."""
        return {
            "success_rate": _rate(totals["passed"], totals["attempted"]),
            "efficiency": _rate(Fraction(totals["efficiency_sum"]), totals["passed"]),
            "hallucinated_tool_rate": _rate(totals["unlisted"], totals["calls"]),
            "recovery_rate": _rate(totals["recovery_passed"], totals["recovery_seen"]),
        }


    def _rate(part: Fraction | int, whole: int) -> str | None:
        if not whole:
            return None
        scaled = round(Fraction(part) / whole * _PLACES)
        return f"{scaled // _PLACES}.{scaled % _PLACES:04d}"

    return SimpleNamespace(**locals())


vault_ledger_statements_results = vault_ledger_statements_results()


def vault_ledger_tree_tiles():
    """Merkle tree tiles as static files that any web server can serve, C2SP tlog-tiles (https://c2sp.org/tlog-tiles).

    tile/<L>/<N>[.p/<W>]          up to 256 hashes: the roots of perfect subtrees over 256^L leaves
    tile/entries/<N>[.p/<W>]      up to 256 leaves, each after its length in two bytes, big-endian

`Frontier` is the right edge of a growing tree: it turns appended leaf hashes into full tiles at the cost of two hashes
a leaf. `TileTree` reads nodes out of tiles and keeps the inner hashes of those it read, so that proofs from tiles are
logarithmic too. Ledger files are written by `vault.files.write_atomically` alone.
"""

    Broken = vault_errors.Broken
    Malformed = vault_errors.Malformed
    Unavailable = vault_errors.Unavailable
    EMPTY_ROOT = vault_ledger_tree_merkle.EMPTY_ROOT
    HASH_BYTES = vault_ledger_tree_merkle.HASH_BYTES
    level_up = vault_ledger_tree_merkle.level_up
    node_hash = vault_ledger_tree_merkle.node_hash



    HEAD = "checkpoint"
    KEPT = "checkpoints"  # every checkpoint that was ever published, by its size: ours, not C2SP's
    WIDTH = 256
    HEIGHT = 8
    MAX_LEAF = 0xFFFF
    LENGTH_BYTES = 2
    _GROUP = 1000

    Read = Callable[[str], bytes]


    def tile_path(level: int, index: int, width: int = WIDTH) -> str:
        """Give a hash tile's path below the log's folder."""
        return f"tile/{level}/{_numbered(index, width)}"


    def entries_path(index: int, width: int = WIDTH) -> str:
        """Give an entry bundle's path below the log's folder."""
        return f"tile/entries/{_numbered(index, width)}"


    def tiles_of(size: int) -> Iterator[tuple[int, int, int]]:
        """List the hash tiles of a tree of `size` leaves as `(level, index, width)`."""
        level = 0
        while count := size >> HEIGHT * level:
            yield from ((level, index, min(WIDTH, count - index * WIDTH)) for index in range(-(-count // WIDTH)))
            level += 1


    def bundles_of(size: int, first: int = 0) -> Iterator[tuple[int, int]]:
        """List the entry bundles that hold the leaves `[first, size)` as `(index, width)`."""
        for index in range(first // WIDTH, -(-size // WIDTH)):
            yield index, min(WIDTH, size - index * WIDTH)


    def pack_entries(leaves: Iterable[bytes]) -> bytes:
        """Write an entry bundle.

    Raises:
        Malformed: a leaf is longer than 65,535 bytes.
    """
        parts: list[bytes] = []
        for leaf in leaves:
            if len(leaf) > MAX_LEAF:
                raise Malformed(f"a leaf has at most {MAX_LEAF} bytes, this one {len(leaf)}")
            parts += [len(leaf).to_bytes(LENGTH_BYTES, "big"), leaf]
        return b"".join(parts)


    def unpack_entries(data: bytes, width: int, what: str = "the entry bundle") -> list[bytes]:
        """Read an entry bundle of exactly `width` leaves.

    Raises:
        Malformed: it is cut short, or something follows.
    """
        leaves: list[bytes] = []
        at = 0
        for _ in range(width):
            length = int.from_bytes(data[at : at + LENGTH_BYTES], "big")
            leaf = data[at + LENGTH_BYTES : at + LENGTH_BYTES + length]
            if at + LENGTH_BYTES > len(data) or len(leaf) != length:
                raise Malformed(
                    f"{what} is cut short in entry {len(leaves)} of {width}", where=f"{what}: entry {len(leaves)}"
                )
            leaves.append(leaf)
            at += LENGTH_BYTES + length
        if at != len(data):
            raise Malformed(f"{what} goes on after its {width} entries", where=f"{what}: byte {at}")
        return leaves


    def split_hashes(data: bytes, width: int, what: str = "the tile") -> list[bytes]:
        """Read a hash tile of exactly `width` hashes.

    Raises:
        Malformed: it has another length.
    """
        if len(data) != width * HASH_BYTES:
            raise Malformed(
                f"{what} has {len(data)} bytes; {width} hashes have {width * HASH_BYTES}",
                where=f"{what}: number of bytes",
                expected=width * HASH_BYTES,
                found=len(data),
            )
        return [data[i : i + HASH_BYTES] for i in range(0, len(data), HASH_BYTES)]


    class Frontier:
        """The right edge of a tree: at each tile level the hashes of the tile that is not full yet."""

        def __init__(self) -> None:
            self._edge: list[list[bytes]] = []
            self._full: list[int] = []

        @classmethod
        def load(cls, size: int, read: Read) -> Frontier:
            """Read the right edge of a tree of `size` leaves from its partial tiles."""
            frontier = cls()
            level = 0
            while count := size >> HEIGHT * level:
                index, width = divmod(count, WIDTH)
                path = tile_path(level, index, width)
                frontier._edge.append(split_hashes(read(path), width, path) if width else [])
                frontier._full.append(index)
                level += 1
            return frontier

        @property
        def size(self) -> int:
            """The number of leaves."""
            return self._full[0] * WIDTH + len(self._edge[0]) if self._edge else 0

        def extend(self, hashes: Sequence[bytes], level: int = 0) -> Iterator[tuple[int, int, list[bytes]]]:
            """Append leaf hashes; gives each tile that became full as `(level, index, hashes)`."""
            if level == len(self._edge) and hashes:
                self._edge.append([])
                self._full.append(0)
            at = 0
            while at < len(hashes):
                row = self._edge[level]
                fresh = hashes[at : at + WIDTH - len(row)]
                row += fresh
                at += len(fresh)
                if len(row) == WIDTH:
                    yield level, self._full[level], row
                    self._edge[level] = []
                    self._full[level] += 1
                    yield from self.extend(_rows(row)[-1], level + 1)

        def partial_tiles(self) -> Iterator[tuple[int, int, list[bytes]]]:
            """Give the tiles that are not full, as `(level, index, hashes)`."""
            for level, hashes in enumerate(self._edge):
                if hashes:
                    yield level, self._full[level], hashes

        def root(self) -> bytes:
            """Give the root of the whole tree."""
            root: bytes | None = None
            for hashes in self._edge:
                for peak in _peaks_of(hashes):
                    root = peak if root is None else node_hash(peak, root)
            return EMPTY_ROOT if root is None else root


    class TileTree:
        """The nodes of a tree of `size` leaves, read from tiles that the caller can fetch.

    Tiles are not trusted: the caller compares a root made from the nodes with a signed one.
    """

        def __init__(self, size: int, read: Read, keep: int = 4096) -> None:
            self.size = size
            self._read = read
            self._keep = keep
            self._seen: OrderedDict[tuple[int, int], list[list[bytes]]] = OrderedDict()

        def node(self, level: int, index: int) -> bytes:
            """Give the root of the perfect subtree over the leaves `[index * 2^level, (index + 1) * 2^level)`.

        Raises:
            Malformed: a tile has the wrong length, or the tree has no such node.
        """
            tile_level, inner = divmod(level, HEIGHT)
            tile, place = divmod(index, WIDTH >> inner)
            try:
                return self._rows(tile_level, tile)[inner][place]
            except IndexError:
                raise Malformed(f"a tree of {self.size} leaves has no node {level}/{index}") from None

        def _rows(self, level: int, index: int) -> list[list[bytes]]:
            key = level, index
            if key in self._seen:
                self._seen.move_to_end(key)
                return self._seen[key]
            width = min(WIDTH, (self.size >> HEIGHT * level) - index * WIDTH)
            if width <= 0:
                raise Malformed(f"a tree of {self.size} leaves has no tile {level}/{index}")
            path = tile_path(level, index, width)
            self._seen[key] = _rows(split_hashes(self._read(path), width, path))
            if len(self._seen) > self._keep:
                self._seen.popitem(last=False)
            return self._seen[key]


    def folder_reader(folder: Path) -> Read:
        """Read a log's files from a folder.

    Its reader raises:
        Broken: a file is missing.
        Unavailable: the disk or its permissions do not let us read it, which says nothing about the log.
    """

        def read(path: str) -> bytes:
            try:
                return (folder / path).read_bytes()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
                raise Broken(f"the log's file {path} cannot be read: {error.strerror}", where=path) from error
            except OSError as error:
                raise Unavailable(f"the log's file {folder / path} cannot be read: {error.strerror}; call again") from error

        return read


    def _numbered(index: int, width: int) -> str:
        groups = [f"{index % _GROUP:03d}"]
        while index := index // _GROUP:
            groups.append(f"x{index % _GROUP:03d}")
        return "/".join(reversed(groups)) + ("" if width == WIDTH else f".p/{width}")


    def _rows(hashes: list[bytes]) -> list[list[bytes]]:
        """Give the complete inner levels of a tile, its hashes first."""
        rows = [hashes]
        while len(rows[-1]) > 1:
            rows.append(level_up(rows[-1]))
        return rows


    def _peaks_of(hashes: Sequence[bytes]) -> Iterator[bytes]:
        """Give the roots of the perfect subtrees of a partial tile, smallest (right-most) first."""
        row = list(hashes)
        while row:
            if len(row) % 2:
                yield row[-1]
            row = level_up(row)

    return SimpleNamespace(**locals())


vault_ledger_tree_tiles = vault_ledger_tree_tiles()


def vault_ledger_statements_statement():
    """in-toto Statements (in-toto Attestation Framework, Statement v1) of the log: the kinds, and a strict parser.

    {"_type": "https://in-toto.io/Statement/v1", "subject": [{"name": ..., "digest": {...}}],
     "predicateType": "urn:quarterturn:<kind>:v1", "predicate": {...}}

Exactly these keys, exactly the shapes of `KINDS`, exactly the canonical bytes, and a subject that agrees with the
predicate. No statement holds an unsalted function of a live task, nor names a submitter. The formats are described in
`docs/reference/ledger-formats.md`.
"""

    Malformed = vault_errors.Malformed
    jcs = vault_ledger_statements_jcs
    DocumentShape = vault_ledger_statements_shape.DocumentShape
    anything = vault_ledger_statements_shape.anything
    boolean = vault_ledger_statements_shape.boolean
    cohort = vault_ledger_statements_shape.cohort
    list_of = vault_ledger_statements_shape.list_of
    mapping_of = vault_ledger_statements_shape.mapping_of
    matching = vault_ledger_statements_shape.matching
    month = vault_ledger_statements_shape.month
    natural = vault_ledger_statements_shape.natural
    one_of = vault_ledger_statements_shape.one_of
    optional = vault_ledger_statements_shape.optional
    positive = vault_ledger_statements_shape.positive
    record = vault_ledger_statements_shape.record
    sha256 = vault_ledger_statements_shape.sha256
    single = vault_ledger_statements_shape.single
    task_id = vault_ledger_statements_shape.task_id
    text = vault_ledger_statements_shape.text
    version = vault_ledger_statements_shape.version
    MAX_LEAF = vault_ledger_tree_tiles.MAX_LEAF



    TYPE = "https://in-toto.io/Statement/v1"
    _URN = "urn:quarterturn:{}:v1"
    CAUSES = ("leak", "broken")
    """Why a task is withdrawn. A leaked task's bound results go on counting; a broken task counts in no run."""
    HMAC = "hmac-sha256"
    SHA = "sha256"


    @dataclass(frozen=True, slots=True)
    class Statement:
        """A parsed leaf.

    Attributes:
        kind: `commit`, `set`, `run-open`, `score`, `abort`, `retire`, `withdraw`, `key`.
        name: the subject's name.
        digest: the subject's digest in hex, by algorithm (`hmac-sha256` or `sha256`).
        predicate: what it states, of the kind's shape.
    """

        kind: str
        name: str
        digest: Mapping[str, str]
        predicate: Mapping[str, Any] = field(repr=False)

        @classmethod
        def parse(cls, data: bytes, what: str = "the leaf") -> Statement:
            """Read a leaf.

        Raises:
            Malformed: it is not canonical JSON, or not a statement of one of the kinds; the message says where.
        """
            document = jcs.parse_canonical(data, what)
            try:
                return cls._checked(document)
            except Malformed as error:
                raise error.with_message(f"{what} is no statement: {error}", what) from None

        @classmethod
        def _checked(cls, document: Any) -> Statement:
            _ENVELOPE(document, "$")
            kind = document["predicateType"].split(":")[2]
            _SUBJECTS[kind](document["subject"][0], "$.subject[0]")
            KINDS[kind][2](document["predicate"], "$.predicate")
            subject, predicate = jcs.shared(document["subject"][0]), jcs.shared(document["predicate"])
            parsed = cls(kind, subject["name"], subject["digest"], predicate)
            parsed.require_agreement()
            return parsed

        def require_agreement(self) -> None:
            """Refuse a statement whose subject and predicate disagree."""
            says = self.predicate
            expected = {
                "set": f"set/{says.get('month')}",
                "run-open": f"run/{says.get('run')}",
                "score": f"run/{says.get('run')}",
                "abort": f"run/{says.get('run')}",
                "retire": f"Historical-{says.get('month')}",
            }
            if self.name != expected.get(self.kind, self.name):
                raise Malformed(
                    f"$.subject[0].name must be {expected[self.kind]}",
                    where="$.subject[0].name",
                    expected=expected[self.kind],
                    found=self.name,
                )
            if self.kind == "score" and self.digest[SHA] != says["results_root"]:
                raise Malformed(
                    "$.subject[0].digest must be the results_root",
                    where="$.subject[0].digest",
                    expected=says["results_root"],
                    found=self.digest[SHA],
                )
            if self.kind == "set":
                _require_counts(says)

        def document(self) -> dict[str, Any]:
            """Give the statement as JSON values."""
            return {
                "_type": TYPE,
                "subject": [{"name": self.name, "digest": dict(self.digest)}],
                "predicateType": _URN.format(self.kind),
                "predicate": dict(self.predicate),
            }


    def statement(kind: str, name: str, digest: str, predicate: Mapping[str, Any]) -> bytes:
        """Build a leaf of any kind.

    Args:
        kind: one of `KINDS`.
        name: the subject's name.
        digest: the subject's digest in lower-case hex.
        predicate: JSON values of the kind's shape.

    Raises:
        Malformed: a part has not the kind's shape, or the leaf would be longer than 65,535 bytes.
    """
        if kind not in KINDS:
            raise Malformed(f"there is no statement {kind!r}; there are {', '.join(KINDS)}")
        leaf = jcs.canonical(Statement(kind, name, {KINDS[kind][1]: digest}, predicate).document())
        Statement.parse(leaf, f"the {kind} statement")
        if len(leaf) > MAX_LEAF:
            raise Malformed(f"the {kind} statement has {len(leaf)} bytes; a leaf has at most {MAX_LEAF}")
        return leaf


    def schema(kind: str) -> dict[str, Any]:
        """Give a kind of statement as JSON Schema, which cannot express that subject and predicate agree."""
        shape = record(
            _type=one_of(TYPE),
            subject=single(_SUBJECTS[kind]),
            predicateType=one_of(_URN.format(kind)),
            predicate=KINDS[kind][2],
        )
        about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": _URN.format(kind)}
        return {**about, "title": f"The {kind} statement", **shape.schema}


    def _require_counts(says: Mapping[str, Any]) -> None:
        for place, item in enumerate(says["cohorts"]):
            if item["count"] != len(item["tasks"]) or item["id"] != f"cohort-{item['retires']}":
                raise Malformed(
                    f"$.predicate.cohorts[{place}] must count its tasks and be named after its month",
                    where=f"$.predicate.cohorts[{place}]",
                    expected={"count": len(item["tasks"]), "id": f"cohort-{item['retires']}"},
                    found={"count": item["count"], "id": item["id"]},
                )
        listed = [task for item in says["cohorts"] for task in item["tasks"]]
        if len(set(listed)) != len(listed) or says["count"] != len(listed):
            raise Malformed(
                "$.predicate.count must be the number of tasks, each in one cohort",
                where="$.predicate.count",
                expected={"count": len(set(listed)), "listed": len(set(listed))},
                found={"count": says["count"], "listed": len(listed)},
            )


    _RUN = matching(r"run/[1-9][0-9]*", "run/ and a number")
    _VKEY = matching(r"[^+\s]+\+[0-9a-f]{8}\+[A-Za-z0-9+/=]+", "a verifier key")
    _SIGNATURE = matching(r"[A-Za-z0-9+/]{85}[AQgw]==", "the 64 bytes of a signature in base64")
    _STRATUM = matching(r"[a-z0-9-]+/[a-z0-9-]+/[a-z]+", "a stratum as server/category/difficulty")
    _CODE = matching(r"[a-z0-9][a-z0-9-]{0,63}", "a word of small letters, digits and hyphens")

    # kind: (shape of the subject's name, algorithm of its digest, shape of the predicate)
    KINDS: Mapping[str, tuple[DocumentShape, str, DocumentShape]] = {
        "commit": (task_id, HMAC, record(spec=version, provenance=sha256, public_grammar=boolean)),
        "set": (
            matching(r"set/[0-9]{4}-(0[1-9]|1[0-2])", "set/ and a month"),
            SHA,
            record(
                {
                    "month_key": sha256,  # a key has 32 bytes, too
                    "access_log": record(entries=natural, commitment=sha256),
                    "spot_check": sha256,
                },
                month=month,
                previous=optional(natural),
                count=natural,
                cohorts=list_of(record(id=cohort, retires=month, count=natural, root=sha256, tasks=list_of(task_id))),
                reserve=mapping_of(_STRATUM, list_of(sha256)),
                counts=record(unseen=natural, seen=natural),
                next_draw=sha256,
                public_grammar=boolean,
            ),
        ),
        "run-open": (
            _RUN,
            HMAC,
            record(
                run=positive,
                month=month,
                track=_CODE,
                set=sha256,
                cohorts=list_of(cohort),
                checkpoint=record(size=positive, root=sha256),
            ),
        ),
        "score": (
            _RUN,
            SHA,
            record(
                run=positive,
                month=month,
                track=_CODE,
                count=positive,
                results_root=sha256,
                totals=list_of(record(cohort=cohort, commitment=sha256)),
            ),
        ),
        "abort": (_RUN, HMAC, record(run=positive, month=month, reason=_CODE)),
        "retire": (
            matching(r"Historical-[0-9]{4}-(0[1-9]|1[0-2])", "Historical- and a month"),
            SHA,
            record(
                {"spot_check": record(seed=sha256, salt=sha256, chosen=natural, judged=natural, differed=natural)},
                month=month,
                cohort=cohort,
                tasks=list_of(record(id=task_id, commitment=sha256, sha256=sha256)),
            ),
        ),
        "withdraw": (
            task_id,
            HMAC,
            record(month=month, cause=one_of(*CAUSES), reason=text, replacement=optional(task_id)),
        ),
        "key": (text, SHA, record(old=_VKEY, new=_VKEY, size=natural, signatures=record(old=_SIGNATURE, new=_SIGNATURE))),
    }

    _SUBJECTS = {
        kind: record(name=name, digest=record(**{algorithm: sha256})) for kind, (name, algorithm, _) in KINDS.items()
    }

    _ENVELOPE = record(
        _type=one_of(TYPE),
        subject=single(anything),
        predicateType=one_of(*(_URN.format(kind) for kind in KINDS)),
        predicate=anything,
    )

    return SimpleNamespace(**locals())


vault_ledger_statements_statement = vault_ledger_statements_statement()


def vault_ledger_release_contents():
    """Contents of a bundle: file names, line shapes, and the files that are computed from the others.

Writer and reader share this module and nothing else. The attestation and the aggregate are functions of what the
other files open, so a reader recomputes them and compares the bytes.
"""

    canonical = vault_ledger_statements_jcs.canonical
    OPENING = vault_ledger_statements_results.OPENING
    RESULT = vault_ledger_statements_results.RESULT
    TOTALS = vault_ledger_statements_results.TOTALS
    figures = vault_ledger_statements_results.figures
    anything = vault_ledger_statements_shape.anything
    boolean = vault_ledger_statements_shape.boolean
    cohort = vault_ledger_statements_shape.cohort
    guid = vault_ledger_statements_shape.guid
    list_of = vault_ledger_statements_shape.list_of
    month = vault_ledger_statements_shape.month
    natural = vault_ledger_statements_shape.natural
    one_of = vault_ledger_statements_shape.one_of
    optional = vault_ledger_statements_shape.optional
    positive = vault_ledger_statements_shape.positive
    record = vault_ledger_statements_shape.record
    sha256 = vault_ledger_statements_shape.sha256
    task_id = vault_ledger_statements_shape.task_id
    text = vault_ledger_statements_shape.text
    TYPE = vault_ledger_statements_statement.TYPE
    tiles = vault_ledger_tree_tiles



    FORMAT = "urn:quarterturn:bundle:v1"
    ATTESTED = "urn:quarterturn:tasks:v1"
    HEAD, KEPT, LOG = tiles.HEAD, tiles.KEPT, "log"
    MANIFEST = "manifest.json"
    README, TASKS, OPENINGS = "README.md", "tasks.jsonl", "openings.jsonl"
    RUNS, RESULTS = "runs.jsonl", "results.jsonl"
    AGGREGATE, ATTESTATION = "aggregate.json", "attestation.json"
    CONTENT = (README, TASKS, OPENINGS, RUNS, RESULTS, AGGREGATE, ATTESTATION)
    PAGE = "verify.html"  # checks the release in a browser; the first releases have none
    WITHDRAWN = "withdrawn.jsonl"  # the tasks that left early; only where there are any
    BROKEN = "broken.jsonl"  # what shows that some of these were broken; likewise

    SOLUTIONS = ("reference", "mutant")
    """What shows that a task is broken: a reference solution that was judged false, or a mutant of one judged true."""

    _FILE = record(bytes=natural, sha256=sha256)

    MANIFEST_SHAPE = record(
        format=one_of(FORMAT),
        month=month,
        cohort=cohort,
        origin=text,
        canary=guid,
        first=natural,
        files=record({PAGE: _FILE, WITHDRAWN: _FILE, BROKEN: _FILE}, **dict.fromkeys(CONTENT, _FILE)),
    )

    OPENING_LINE = record(
        {"variant_key": sha256},  # 32 bytes: of the tasks whose document names its SHA-256, and of no others
        id=task_id,
        salt=sha256,  # as long as a hash: 32 bytes
        commitment=sha256,
        commit=natural,
        provenance=optional(anything),
        provenance_salt=optional(sha256),
        canary=guid,
    )

    BROKEN_LINE = record(
        task=task_id,
        solution=one_of(*SOLUTIONS),
        calls=list_of(record(tool=text, arguments=anything)),
        answer=optional(text),
        state=anything,  # in the form of `verifiers.formats.state_document`
        verdict=boolean,
    )

    RUN_LINE = record(
        run=positive,
        open=natural,
        close=natural,
        opening=OPENING,
        salt=sha256,
        totals=optional(TOTALS),
        totals_salt=optional(sha256),
    )

    RESULT_LINE = record(run=positive, position=natural, result=RESULT, salt=sha256, proof=list_of(sha256))


    def attestation(month: str, cohort: str, tasks: Sequence[tuple[str, str]]) -> bytes:
        """Make `attestation.json`: an in-toto Statement whose subjects are the tasks with the sha256 of their bytes."""
        return canonical(
            {
                "_type": TYPE,
                "subject": [{"name": task, "digest": {"sha256": digest}} for task, digest in tasks],
                "predicateType": ATTESTED,
                "predicate": {"month": month, "cohort": cohort},
            }
        )


    def aggregate(month: str, cohort: str, runs: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> Iterator[bytes]:
        """Make `aggregate.json`, piece by piece: totals and figures of each scored run on the retired cohort.

    Args:
        month: `YYYY-MM`.
        cohort: the retired cohort's id.
        runs: `(opening, totals)` a run, by run number.
    """
        begin, end = canonical({"month": month, "cohort": cohort, "runs": []}).split(b"[]")
        yield begin + b"["
        for place, (opening, totals) in enumerate(runs):
            row = {
                "run": totals["run"],
                "submitter": opening["submitter"],
                "attempt": opening["attempt"],
                "totals": dict(totals),
                "figures": figures(totals),
            }
            yield (b"," if place else b"") + canonical(row)
        yield b"]" + end


    def readme(
        month: str, cohort: str, origin: str, canary: str, *, page: bool, withdrawn: bool = False, broken: bool = False
    ) -> str:
        """Write the README of a bundle, with or without the page that checks it, withdrawn tasks, and broken ones."""
        row, hint = (_PAGE_ROW, _PAGE_HINT) if page else ("", "")
        row = (_WITHDRAWN_ROW if withdrawn else "") + (_BROKEN_ROW if broken else "") + row
        return _README.format(month=month, cohort=cohort, origin=origin, canary=canary, row=row, hint=hint)


    _WITHDRAWN_ROW = "| `withdrawn.jsonl` | the tasks that were withdrawn early; `openings.jsonl` goes on with them |\n"
    _BROKEN_ROW = (
        "| `broken.jsonl` | what shows that a withdrawn task was broken, so that it counts in no figure: a solution, "
        "the state that it left, and the wrong verdict |\n"
    )
    _PAGE_ROW = "| `verify.html` | a page that checks this folder in a browser, from a disk and without a network |\n"
    _PAGE_HINT = """\
Or open `verify.html` and drop this folder on it. Whoever does not trust a page that came with what it checks makes the
same bytes from the source: `python -m vault.ledger.browser | sha256sum`.

"""

    _README = """\
# Historical-{month}

The tasks of {cohort}, which were private until {month} and count no more. Every one of them was committed to in the
public log `{origin}` before the first run that used it; this folder opens those commitments.

Benchmark data must not be in training corpora. Canary GUID of this release: {canary}

| file | what it holds |
|---|---|
| `tasks.jsonl` | one task a line: exactly the bytes that were committed to, in the promised order |
| `openings.jsonl` | for each task its salt, its commitment and the index of its `commit` leaf |
| `runs.jsonl` | every run that was served the cohort: pseudonym, attempt, and its totals on these tasks |
| `results.jsonl` | every result on these tasks, with its salt and its proof of inclusion in the run's results root |
| `aggregate.json` | the figures, as they follow from the results |
| `attestation.json` | an in-toto statement of (task id, sha256) |
{row}| `manifest.json` | the digest of each of these files; its own digest is in the log's `retire` leaf |
| `log/` | the log: signed checkpoints, all hash tiles, and the leaves from the cohort's activation on |

Check it offline, with the log's key from somewhere else than this folder:

    quarterturn audit Historical-{month} --key log.vkey

{hint}Open a commitment without any code of ours (line 1 of the two files, without the line's end):

    {{ printf 'quarterturn/commit/v1\\n'; head -n 1 tasks.jsonl | tr -d '\\n'; }} |
        openssl dgst -sha256 -mac HMAC -macopt hexkey:SALT
"""

    return SimpleNamespace(**locals())


vault_ledger_release_contents = vault_ledger_release_contents()


def vault_ledger_signatures_ed25519():
    """Pure-Python Ed25519 verification (RFC 8032, section 5.1.7), only for the audit as a single file.

It verifies public data only, so it need be neither fast nor constant-time. Like OpenSSL it compares
`[S]B - [k]A` with the bytes of R, without a cofactor; it refuses an S that is not below the group's order, and a public
key that is not the one encoding of its point. Which other keys are refused is the rule of `strict_ed25519.py`.
"""



    P = 2**255 - 19
    L = 2**252 + 27742317777372353535851937790883648493
    D = -121665 * pow(121666, -1, P) % P
    _ROOT = pow(2, (P - 1) // 4, P)  # a square root of -1
    _BITS, _SIZE, _SIGNATURE = 255, 32, 64

    Point = tuple[int, int, int, int]  # extended coordinates X, Y, Z, T: x = X/Z, y = Y/Z, xy = T/Z


    class InvalidSignature(Exception):
        """The signature is not this key's over this message."""


    class Ed25519PublicKey:
        """A public key, with the two methods of `cryptography`'s that verifying needs."""

        def __init__(self, data: bytes) -> None:
            self._data, self._point = data, _decoded(data)

        @classmethod
        def from_public_bytes(cls, data: bytes) -> Ed25519PublicKey:
            """Read 32 bytes.

        Raises:
            ValueError: they are no public key.
        """
            return cls(data)

        def verify(self, signature: bytes, message: bytes) -> None:
            """Verify a signature.

        Raises:
            InvalidSignature: it does not hold.
        """
            scalar = int.from_bytes(signature[_SIZE:], "little")
            if len(signature) != _SIGNATURE or scalar >= L:
                raise InvalidSignature
            hashed = hashlib.sha512(signature[:_SIZE] + self._data + message).digest()
            x, y, z, t = self._point
            negative = (-x % P, y, z, -t % P)
            point = _sum(_times(scalar, BASE), _times(int.from_bytes(hashed, "little") % L, negative))
            if _encoded(point) != signature[:_SIZE]:
                raise InvalidSignature


    def _sum(a: Point, b: Point) -> Point:
        """Add two points (RFC 8032, section 5.1.4)."""
        left, right = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
        both, twice = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
        e, f, g, h = right - left, twice - both, twice + both, right + left
        return e * f % P, g * h % P, f * g % P, e * h % P


    def _times(scalar: int, point: Point) -> Point:
        product: Point = (0, 1, 1, 0)
        while scalar:
            if scalar & 1:
                product = _sum(product, point)
            point, scalar = _sum(point, point), scalar >> 1
        return product


    def _encoded(point: Point) -> bytes:
        inverse = pow(point[2], -1, P)
        x, y = point[0] * inverse % P, point[1] * inverse % P
        return (y | (x & 1) << _BITS).to_bytes(_SIZE, "little")


    def _decoded(data: bytes) -> Point:
        """Decode a point (RFC 8032, section 5.1.3)."""
        number = int.from_bytes(data, "little")
        y, odd = number & ((1 << _BITS) - 1), number >> _BITS
        if len(data) != _SIZE or y >= P:
            raise ValueError("an Ed25519 public key is 32 bytes of a point")
        square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
        x = pow(square, (P + 3) // 8, P)
        if (x * x - square) % P:
            x = x * _ROOT % P
        if (x * x - square) % P or (x == 0 and odd):
            raise ValueError("these 32 bytes are no point of the curve")
        x = P - x if x & 1 != odd else x
        return x, y, 1, x * y % P


    BASE = _decoded((4 * pow(5, -1, P) % P).to_bytes(_SIZE, "little"))

    return SimpleNamespace(**locals())


vault_ledger_signatures_ed25519 = vault_ledger_signatures_ed25519()


def vault_ledger_signatures_strict_ed25519():
    """Strict Ed25519 verification: one rule for the package `cryptography`, for what stands in for it, and for browsers.

Libraries differ in which keys they take, so the rule is checked here before any of them is asked. The public key, and R
in the first half of a signature, must each be

1. 32 bytes whose y is below p = 2^255 - 19, and that encode no x = 0 with a sign (RFC 8032, section 5.1.3). OpenSSL
   reduces y modulo p instead, and so gives one key two texts.
2. no point of small order, of which there are eight. RFC 8032 says nothing of them; Web Cryptography says that both are
   refused. Whoever likes can sign under such a key, and one signature fits many texts.

For the rest it is RFC 8032, section 5.1.7, without a cofactor. The script `note.js` of `vault.ledger.browser` has the
same rule.
"""

    try:
        from cryptography.exceptions import InvalidSignature
    except ImportError:
        InvalidSignature = getattr(vault_ledger_signatures_ed25519, 'InvalidSignature', None)
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        Ed25519PublicKey = getattr(vault_ledger_signatures_ed25519, 'Ed25519PublicKey', None)


    POINT_BYTES = 32
    _P = 2**255 - 19
    _ORDER_8 = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
    _SMALL_ORDER = frozenset({1, _P - 1, 0, _ORDER_8, _P - _ORDER_8})  # y of the points of order 1, 2, 4, 8 and 8


    def key_fault(point: bytes) -> str | None:
        """Say why these bytes are refused as a public key, as the end of a sentence; None if nothing is wrong with them.

    Whether they are a point of the curve at all is found out where they verify something.
    """
        y = int.from_bytes(point, "little") & ((1 << 255) - 1)
        if len(point) != POINT_BYTES:
            return f"has {len(point)} bytes; an Ed25519 public key has {POINT_BYTES}"
        if y >= _P:
            return "is not the one encoding of its point (RFC 8032, section 5.1.3)"
        if y in _SMALL_ORDER:
            return "is a point of small order, under which everybody can sign"
        return None


    def verifies(public: bytes, signature: bytes, message: bytes) -> bool:
        """Tell whether a signature (64 bytes) is a public key's (32 bytes) over a message."""
        if key_fault(public) or key_fault(signature[:POINT_BYTES]):
            return False
        try:
            Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True

    return SimpleNamespace(**locals())


vault_ledger_signatures_strict_ed25519 = vault_ledger_signatures_strict_ed25519()


def vault_ledger_signatures_note():
    """Signed notes, C2SP signed-note v1.0.0 (https://c2sp.org/signed-note@v1.0.0), with Ed25519 keys (type 0x01).

Keys of other types, those of witnesses, are in `cosignature.py`; any object of the protocol `Key` can verify a note.

A note is a text, an empty line, and signature lines `— <name> <base64(key id || signature)>`. `open_note` is strict: a
signature by a key that the caller named must verify or the whole note fails, signatures by other keys are ignored and
listed, and a note with no signature by a named key fails. Base64 must be the one canonical form of its bytes, so that
no byte of a line that counts can change unnoticed.
"""

    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError:
        Ed25519PrivateKey = getattr(vault_ledger_signatures_ed25519, 'Ed25519PrivateKey', None)
    Broken = vault_errors.Broken
    Malformed = vault_errors.Malformed
    key_fault = vault_ledger_signatures_strict_ed25519.key_fault
    verifies = vault_ledger_signatures_strict_ed25519.verifies




    ED25519 = b"\x01"
    ID_BYTES = 4
    MAX_NOTE = 1 << 20
    MAX_SIGNATURES = 100
    _DASH = "\u2014 "
    _FIRST_PRINTABLE = 0x20


    class Key(Protocol):
        """Protocol of a public key of any type, as far as notes need it."""

        @property
        def name(self) -> str:
            """The name of the key."""
            ...

        @property
        def key_id(self) -> bytes:
            """The four bytes that stand before its signatures."""
            ...

        @property
        def vkey(self) -> str:
            """The key as text."""
            ...

        def accepts(self, text: bytes, signature: bytes) -> bool:
            """Tell whether `signature` is this key's over `text`; a witness's raises Broken where its time is 0."""
            ...


    @dataclass(frozen=True)
    class Verifier:
        """A public key with its name: what a caller trusts.

    Attributes:
        name: the key's name; a log's is its origin.
        public: the 32 bytes of the Ed25519 public key.
    """

        name: str
        public: bytes

        def __post_init__(self) -> None:
            require_name(self.name)
            if why := key_fault(self.public):
                raise Malformed(f"the public key of {self.name} {why}", where=f"the public key of {self.name}")

        @classmethod
        def parse(cls, vkey: str) -> Verifier:
            """Read a verifier key `<name>+<key id in hex>+<base64(0x01 || public key)>`.

        Raises:
            Malformed: it is no such text, names another algorithm, or its key id is not that of its key.
        """
            name, kind, public = read_vkey(vkey)
            if kind != ED25519:
                raise Malformed(f"the verifier key of {name} is not of type Ed25519 (0x01)")
            return cls(name, public)

        @property
        def key_id(self) -> bytes:
            """The four bytes that stand before its signatures."""
            return key_id(self.name, ED25519, self.public)

        @property
        def vkey(self) -> str:
            """The key as text, to be handed to others."""
            return write_vkey(self.name, ED25519, self.public)

        def accepts(self, text: bytes, signature: bytes) -> bool:
            """Tell whether `signature` is this key's over `text`."""
            return verifies(self.public, signature, text)


    @dataclass(frozen=True)
    class Signer:
        """A private key with its name."""

        name: str
        key: Ed25519PrivateKey = field(repr=False)

        @property
        def verifier(self) -> Verifier:
            """The public half."""
            return Verifier(self.name, self.key.public_key().public_bytes_raw())

        def sign(self, text: str) -> str:
            """Sign a text that ends in a newline; gives the whole note."""
            _require_text(text)
            return text + "\n" + line(self.name, self.verifier.key_id, self.key.sign(text.encode()))


    @dataclass(frozen=True)
    class Note:
        """A note that was opened.

    Attributes:
        text: what was signed, with its final newline.
        verified: verifier keys (as text) whose signatures verified.
        ignored: names of keys that signed it too and that the caller did not name: proof of nothing.
    """

        text: str
        verified: tuple[str, ...]
        ignored: tuple[str, ...]


    def open_note(note: str | bytes, keys: Sequence[Key]) -> Note:
        """Verify a note.

    Raises:
        Malformed: it is no signed note.
        Broken: a named key's signature does not verify, or no named key signed.
    """
        text, lines = take_apart(note)
        verified: list[str] = []
        ignored: list[str] = []
        for name, identity, signature in map(read_line, lines):
            key = next((candidate for candidate in keys if candidate.name == name and candidate.key_id == identity), None)
            if key is None:
                ignored.append(name)
            elif key.accepts(text.encode(), signature):
                verified.append(key.vkey)
            else:
                raise Broken(
                    f"the signature by {name}+{identity.hex()} does not verify over the text of the note",
                    where=f"the signature by {name}",
                    expected={"key": key.vkey, "text": text},
                    found={"signature": signature},
                )
        if not verified:
            raise Broken(
                f"no given key signed the note; it is signed by {', '.join(map(repr, sorted(set(ignored))))}",
                where="the signatures",
                expected=[key.vkey for key in keys],
                found=[f"{name}+{identity.hex()}" for name, identity, _ in map(read_line, lines)],
            )
        return Note(text, tuple(verified), tuple(ignored))


    def key_id(name: str, kind: bytes, public: bytes) -> bytes:
        """Give a key's id: the first four bytes of SHA-256(name || newline || type || key)."""
        return hashlib.sha256(name.encode() + b"\n" + kind + public).digest()[:ID_BYTES]


    def write_vkey(name: str, kind: bytes, public: bytes) -> str:
        """Write a verifier key `<name>+<key id in hex>+<base64(type || public key)>`."""
        return f"{name}+{key_id(name, kind, public).hex()}+{base64.b64encode(kind + public).decode()}"


    def read_vkey(vkey: str) -> tuple[str, bytes, bytes]:
        """Read a verifier key as (name, type, public key).

    Raises:
        Malformed: it is no such text, or its key id is not that of its key.
    """
        name, _, rest = vkey.strip().partition("+")
        stated_id, _, encoded = rest.partition("+")
        if not (name and stated_id and encoded):
            raise Malformed("a verifier key reads NAME+ID+KEY; this one does not")
        data = decode_base64(encoded, "the verifier key")
        kind, public = data[:1], data[1:]
        require_name(name)
        if (computed_id := key_id(name, kind, public).hex()) != stated_id:
            raise Malformed(
                f"the verifier key of {name} says id {stated_id[:16]}, its key has id {computed_id}",
                where=f"the id of the verifier key of {name}",
                expected=computed_id,
                found=stated_id,
            )
        return name, kind, public


    def decode_base64(text: str, what: str) -> bytes:
        """Decode standard base64 (RFC 4648, section 4) and refuse any but the canonical form."""
        try:
            data = base64.b64decode(text.encode("ascii"), validate=True)
        except (UnicodeEncodeError, binascii.Error) as error:
            raise Malformed(f"{what} is not base64", where=what) from error
        if base64.b64encode(data).decode() != text:
            raise Malformed(f"{what} is not canonical base64", where=what)
        return data


    def take_apart(note: str | bytes) -> tuple[str, list[str]]:
        """Split a note into its text and its signature lines, without verifying anything.

    Raises:
        Malformed: it is no signed note.
    """
        try:
            decoded = note if isinstance(note, str) else note.decode()
            size = len(decoded.encode())
        except UnicodeError as error:
            raise Malformed("a note is UTF-8; this one is not") from error
        if size > MAX_NOTE:
            raise Malformed(f"a note has at most {MAX_NOTE} bytes, this one {size}")
        text, separator, signatures = decoded.rpartition("\n\n")
        if not separator or not signatures.endswith("\n"):
            raise Malformed("a signed note is a text, an empty line, and signature lines that end in a newline")
        _require_text(text + "\n")
        lines = signatures[:-1].split("\n")
        if len(lines) > MAX_SIGNATURES:
            raise Malformed(f"a note has at most {MAX_SIGNATURES} signatures")
        return text + "\n", lines


    def line(name: str, identity: bytes, signature: bytes) -> str:
        """Write a signature line, with its newline."""
        return f"{_DASH}{name} {base64.b64encode(identity + signature).decode()}\n"


    def read_line(line: str) -> tuple[str, bytes, bytes]:
        """Read a signature line, without its newline, as (name, key id, signature).

    Raises:
        Malformed: it is none.
    """
        name, space, encoded = line.removeprefix(_DASH).partition(" ")
        if not line.startswith(_DASH) or not space:
            raise Malformed("a signature line reads '\u2014 NAME SIGNATURE'; one in the note does not")
        require_name(name)
        data = decode_base64(encoded, "a signature in the note")
        if len(data) <= ID_BYTES:
            raise Malformed("a signature in the note is too short")
        return name, data[:ID_BYTES], data[ID_BYTES:]


    def require_name(name: str) -> None:
        """Refuse what cannot stand as a key's name.

    Raises:
        Malformed: it is empty, has a space, a plus sign or a control character, or is no UTF-8.
    """
        if not name or "+" in name or any(letter.isspace() or ord(letter) < _FIRST_PRINTABLE for letter in name):
            raise Malformed("a key's name is not empty and has neither spaces nor a plus sign")
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            raise Malformed("a key's name is UTF-8; this one is not")


    def _require_text(text: str) -> None:
        if not text.endswith("\n") or any(ord(letter) < _FIRST_PRINTABLE and letter != "\n" for letter in text):
            raise Malformed("a note's text ends in a newline and has no other control characters")

    return SimpleNamespace(**locals())


vault_ledger_signatures_note = vault_ledger_signatures_note()


def vault_ledger_release_bundle_reader():
    """Strict reader of a release bundle from an untrusted source.

A bundle is a folder of plain files: anything else in it (links, devices, files that neither the manifest nor the log
lists) is refused, and so is a file whose bytes are not those of the manifest. The sizes of all files are compared, with
the manifest and with a cap, before any content is read: a sparse file of a terabyte costs nothing to make. Lines are
read one by one, with a cap, and each is canonical JSON of its shape. Nothing here decides whether what the files say is
true; that is `vault.ledger.audit.verify`.
"""

    Broken = vault_errors.Broken
    Malformed = vault_errors.Malformed
    contents = vault_ledger_release_contents
    MAX_NOTE = vault_ledger_signatures_note.MAX_NOTE
    parse_canonical = vault_ledger_statements_jcs.parse_canonical
    DocumentShape = vault_ledger_statements_shape.DocumentShape
    HASH_BYTES = vault_ledger_tree_merkle.HASH_BYTES
    LENGTH_BYTES = vault_ledger_tree_tiles.LENGTH_BYTES
    MAX_LEAF = vault_ledger_tree_tiles.MAX_LEAF
    WIDTH = vault_ledger_tree_tiles.WIDTH
    Read = vault_ledger_tree_tiles.Read



    MAX_LINE = 1 << 20
    MAX_WHOLE = 64 << 20
    MAX_FILE = 1 << 30  # a file of results, which is never read whole
    _CHUNK = 1 << 20
    CAPS = {  # bytes, by the beginning of the name; the first that fits counts
        f"{contents.LOG}/tile/entries/": WIDTH * (LENGTH_BYTES + MAX_LEAF),
        f"{contents.LOG}/tile/": WIDTH * HASH_BYTES,
        f"{contents.LOG}/": MAX_NOTE,
        contents.MANIFEST: MAX_LINE,
        "": MAX_FILE,
    }


    @dataclass(frozen=True)
    class Bundle:
        """A bundle whose content files are those of its manifest.

    Attributes:
        folder: where it lies.
        manifest: the parsed manifest.
        manifest_digest: sha256 (hex) of its bytes.
        log_files: the files below `log/`, relative to it.
    """

        folder: Path
        manifest: Mapping[str, Any] = field(repr=False)
        manifest_digest: str
        log_files: frozenset[str] = field(repr=False)

        @classmethod
        def read(cls, folder: Path) -> Bundle:
            """Read the manifest and compare every content file with it.

        Raises:
            Malformed: it is no bundle, holds files that it does not list, or one that is too large.
            Broken: a file's bytes are not those that the manifest lists.
        """
            sizes = dict(_walk(folder, ""))
            present = frozenset(sizes)
            for name, size in sizes.items():
                _require_cap(name, size)
            data = _whole(folder / contents.MANIFEST, contents.MANIFEST)
            manifest = parse_canonical(data, contents.MANIFEST)
            contents.MANIFEST_SHAPE(manifest, contents.MANIFEST)
            in_log = frozenset(name for name in present if name.startswith(f"{contents.LOG}/"))
            if strangers := sorted(present - in_log - {contents.MANIFEST, *manifest["files"]}):
                raise Malformed(f"the bundle holds {strangers[0]!r}, which its manifest does not list", where=strangers[0])
            for name, listed in manifest["files"].items():
                _require_size(name, sizes.get(name), listed["bytes"])
            for name, listed in manifest["files"].items():
                _require_digest(folder / name, name, listed)
            prefix = len(contents.LOG) + 1
            return cls(folder, manifest, hashlib.sha256(data).hexdigest(), frozenset(name[prefix:] for name in in_log))

        @property
        def read_log(self) -> Read:
            """Give a reader of the files below `log/`."""
            return lambda path: _whole(self.folder / contents.LOG / path, f"{contents.LOG}/{path}")

        def whole(self, name: str) -> bytes:
            """Read one content file."""
            return _whole(self.folder / name, name)

        def raw_lines(self, name: str) -> Iterator[bytes]:
            """Read the lines of a content file, without their ends.

        Raises:
            Malformed: a line is longer than 1 MiB, or the last one has no end.
        """
            try:
                with (self.folder / name).open("rb") as file:
                    number = 0
                    while line := file.readline(MAX_LINE):
                        number += 1
                        if not line.endswith(b"\n"):
                            raise Malformed(
                                f"line {number} of {name} is cut short or longer than {MAX_LINE} bytes",
                                where=f"line {number} of {name}",
                            )
                        yield line[:-1]
            except OSError as error:
                raise Broken(f"{name} cannot be read: {error.strerror}", where=name) from error

        def lines(self, name: str, shape: DocumentShape) -> Iterator[tuple[bytes, dict[str, Any]]]:
            """Read the lines of a content file as canonical JSON of a shape; gives each line's bytes and its value."""
            for number, line in enumerate(self.raw_lines(name), 1):
                yield line, shape.parse(line, f"line {number} of {name}")


    def _walk(folder: Path, prefix: str) -> Iterator[tuple[str, int]]:
        """List the files with their sizes in bytes."""
        try:
            with os.scandir(folder) as entries:
                for entry in sorted(entries, key=lambda item: item.name):
                    name = f"{prefix}{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        yield from _walk(folder / entry.name, f"{name}/")
                    elif entry.is_file(follow_symlinks=False):
                        yield name, entry.stat(follow_symlinks=False).st_size
                    else:
                        raise Malformed(f"the bundle holds {name!r}, which is neither a file nor a folder", where=name)
        except OSError as error:
            raise Malformed(
                f"the bundle {prefix or folder} cannot be read: {error.strerror}", where=prefix or str(folder)
            ) from error


    def _require_cap(name: str, size: int) -> None:
        cap = next(cap for beginning, cap in CAPS.items() if name.startswith(beginning))
        if size > cap:
            raise Malformed(
                f"{name} has {size} bytes; such a file has at most {cap}",
                where=f"{name}: number of bytes",
                expected=f"0 to {cap}",
                found=size,
            )


    def _require_size(name: str, size: int | None, listed: int) -> None:
        if size is None:
            raise Broken(f"{name} cannot be read: there is no such file", where=name)
        if size != listed:
            raise Broken(
                f"{name} has {size} bytes, the manifest lists {listed}",
                where=f"{name}: number of bytes",
                expected=listed,
                found=size,
            )


    def _require_digest(path: Path, name: str, listed: Mapping[str, Any]) -> None:
        digest = hashlib.sha256()
        size = 0
        try:
            with path.open("rb") as file:
                while size <= listed["bytes"] and (chunk := file.read(_CHUNK)):
                    digest.update(chunk)
                    size += len(chunk)
        except OSError as error:
            raise Broken(f"{name} cannot be read: {error.strerror}", where=name) from error
        if digest.hexdigest() != listed["sha256"]:
            raise Broken(
                f"{name} has the sha256 {digest.hexdigest()}, the manifest lists {listed['sha256']}",
                where=f"{name}: sha256",
                expected=listed["sha256"],
                found=digest.hexdigest(),
            )


    def _whole(path: Path, name: str) -> bytes:
        try:
            with path.open("rb") as file:
                if os.fstat(file.fileno()).st_size > MAX_WHOLE or not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise Malformed(f"{name} is no plain file of at most {MAX_WHOLE} bytes", where=name)
                return file.read()
        except OSError as error:
            raise Broken(f"{name} cannot be read: {error.strerror}", where=name) from error

    return SimpleNamespace(**locals())


vault_ledger_release_bundle_reader = vault_ledger_release_bundle_reader()


def vault_ledger_signatures_checkpoint():
    """Checkpoints: the signed head of a log, C2SP tlog-checkpoint v1.0.0 (https://c2sp.org/tlog-checkpoint@v1.0.0).

The note's text is three lines: the origin, the size in decimal without leading zeros, the root in base64. Extension
lines may follow; this log writes none and ignores other logs'. A log's own signature counts only where the key's name
is the origin.
"""

    Broken = vault_errors.Broken
    Malformed = vault_errors.Malformed
    Note = vault_ledger_signatures_note.Note
    Signer = vault_ledger_signatures_note.Signer
    Verifier = vault_ledger_signatures_note.Verifier
    decode_base64 = vault_ledger_signatures_note.decode_base64
    open_note = vault_ledger_signatures_note.open_note
    EMPTY_ROOT = vault_ledger_tree_merkle.EMPTY_ROOT
    HASH_BYTES = vault_ledger_tree_merkle.HASH_BYTES



    _SIZE = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
    _MAX_SIZE = 2**63 - 1
    _LINES = 3


    @dataclass(frozen=True)
    class Checkpoint:
        """The head of a log: its origin, its number of leaves, its root (32 bytes), and extension lines."""

        origin: str
        size: int
        root: bytes
        extensions: tuple[str, ...] = ()

        @classmethod
        def empty(cls, origin: str) -> Checkpoint:
            """Give the head of a log without leaves."""
            return cls(origin, 0, EMPTY_ROOT)

        @classmethod
        def parse(cls, text: str) -> Checkpoint:
            """Read a note's text.

        Raises:
            Malformed: it is no checkpoint; the message says which line.
        """
            if not text.endswith("\n"):
                raise Malformed("a checkpoint ends in a newline", where="the end of the checkpoint")
            lines = text[:-1].split("\n")
            if len(lines) < _LINES or not all(lines):
                raise Malformed(
                    "a checkpoint has at least three lines and none is empty", where="the lines of the checkpoint"
                )
            if not _SIZE.fullmatch(lines[1]) or int(lines[1]) > _MAX_SIZE:
                raise Malformed(
                    "line 2 of a checkpoint is its size in decimal, without leading zeros", where="line 2 of the checkpoint"
                )
            root = decode_base64(lines[2], "line 3 of the checkpoint")
            if len(root) != HASH_BYTES:
                raise Malformed(
                    f"line 3 of a checkpoint is a root of {HASH_BYTES} bytes, this one has {len(root)}",
                    where="line 3 of the checkpoint: the number of bytes",
                    expected=HASH_BYTES,
                    found=len(root),
                )
            if int(lines[1]) == 0 and root != EMPTY_ROOT:
                raise Malformed(
                    "a checkpoint of size 0 has the root of an empty tree",
                    where="line 3 of the checkpoint",
                    expected=EMPTY_ROOT,
                    found=root,
                )
            return cls(lines[0], int(lines[1]), root, tuple(lines[3:]))

        def format(self) -> str:
            """Write the note's text."""
            lines = [self.origin, str(self.size), base64.b64encode(self.root).decode(), *self.extensions]
            return "\n".join(lines) + "\n"

        def sign(self, signer: Signer) -> str:
            """Sign it; the signer's name must be the origin."""
            if signer.name != self.origin:
                raise Malformed(f"the log {self.origin} is signed by a key of its name, not by {signer.name}")
            return signer.sign(self.format())


    def open_checkpoint(note: str | bytes, verifiers: Sequence[Verifier]) -> tuple[Checkpoint, Note]:
        """Verify a signed checkpoint: at least one given key that bears the origin's name signed it.

    Raises:
        Malformed: it is no signed checkpoint.
        Broken: no such signature, or one that does not verify.
    """
        opened = open_note(note, verifiers)
        checkpoint = Checkpoint.parse(opened.text)
        if not any(vkey.partition("+")[0] == checkpoint.origin for vkey in opened.verified):
            raise Broken(
                f"the checkpoint of {checkpoint.origin} is signed by no given key of that name",
                where="line 1 of the checkpoint",
                expected=[vkey.partition("+")[0] for vkey in opened.verified],
                found=checkpoint.origin,
            )
        return checkpoint, opened

    return SimpleNamespace(**locals())


vault_ledger_signatures_checkpoint = vault_ledger_signatures_checkpoint()


def vault_ledger_signatures_cosignature():
    """Witness cosignatures under checkpoints, C2SP tlog-cosignature v1.1 (https://c2sp.org/tlog-cosignature).

A cosignature is one more signature line under a checkpoint: a key id, eight bytes of POSIX time (big-endian), and a
signature over a message that depends on the type of the key:

- Ed25519 (type 0x04): the lines `cosignature/v1` and `time <seconds>`, then the whole text of the checkpoint;
- ML-DSA-44 (type 0x06, FIPS 204): a `cosigned_message` of the witness's name, the time, the log's origin, and the tree.

One public key belongs to one witness name: the Ed25519 message does not hold the name.

The time is that at which the cosignature was made. The specification lets an ML-DSA-44 cosigner write 0 if it does not
say that the tree is the largest that it has seen; whoever asks for a quorum of witnesses asks for just that statement,
so a cosignature of the time 0 is refused, of either type.
"""

    try:
        from cryptography.exceptions import InvalidSignature
    except ImportError:
        InvalidSignature = getattr(vault_ledger_signatures_ed25519, 'InvalidSignature', None)
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError:
        Ed25519PrivateKey = getattr(vault_ledger_signatures_ed25519, 'Ed25519PrivateKey', None)
    try:
        from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey
    except ImportError:
        MLDSA44PrivateKey = getattr(vault_ledger_signatures_ed25519, 'MLDSA44PrivateKey', None)
    try:
        from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PublicKey
    except ImportError:
        MLDSA44PublicKey = getattr(vault_ledger_signatures_ed25519, 'MLDSA44PublicKey', None)
    Broken = vault_errors.Broken
    Malformed = vault_errors.Malformed
    Checkpoint = vault_ledger_signatures_checkpoint.Checkpoint
    LOG = vault_ledger_signatures_note.ED25519
    Key = vault_ledger_signatures_note.Key
    Verifier = vault_ledger_signatures_note.Verifier
    key_id = vault_ledger_signatures_note.key_id
    line = vault_ledger_signatures_note.line
    read_line = vault_ledger_signatures_note.read_line
    read_vkey = vault_ledger_signatures_note.read_vkey
    require_name = vault_ledger_signatures_note.require_name
    take_apart = vault_ledger_signatures_note.take_apart
    write_vkey = vault_ledger_signatures_note.write_vkey
    key_fault = vault_ledger_signatures_strict_ed25519.key_fault
    verifies = vault_ledger_signatures_strict_ed25519.verifies




    ED25519, MLDSA44 = b"\x04", b"\x06"
    KEY_BYTES: Mapping[bytes, int] = {ED25519: 32, MLDSA44: 1312}
    SIGNATURE_BYTES: Mapping[bytes, int] = {ED25519: 64, MLDSA44: 2420}
    TIME_BYTES = 8
    LATEST = 2**63 - 1
    _LABEL = b"subtree/v1\n\0"
    _LONGEST_NAME = 255


    @dataclass(frozen=True)
    class Witness:
        """A witness's public key with its name.

    Attributes:
        name: the key's name.
        kind: its type, 0x04 or 0x06.
        public: its bytes, 32 or 1,312.
    """

        name: str
        kind: bytes
        public: bytes

        def __post_init__(self) -> None:
            require_name(self.name)
            if self.kind not in KEY_BYTES:
                raise Malformed(f"the key of witness {self.name} is neither of type 0x04 (Ed25519) nor 0x06 (ML-DSA-44)")
            if len(self.public) != KEY_BYTES[self.kind]:
                raise Malformed(
                    f"the key of witness {self.name} has {len(self.public)} bytes, its type has {KEY_BYTES[self.kind]}"
                )
            if self.kind == ED25519 and (why := key_fault(self.public)):
                raise Malformed(f"the public key of witness {self.name} {why}")

        @classmethod
        def parse(cls, vkey: str) -> Witness:
            """Read a verifier key.

        Raises:
            Malformed: it is none, is of a type that does not cosign, or its key id is not that of its key.
        """
            return cls(*read_vkey(vkey))

        @property
        def key_id(self) -> bytes:
            """The four bytes that stand before its signatures."""
            return key_id(self.name, self.kind, self.public)

        @property
        def vkey(self) -> str:
            """The key as text."""
            return write_vkey(self.name, self.kind, self.public)

        @property
        def verifiable(self) -> bool:
            """Whether its signatures can be verified here: without the package `cryptography` those of ML-DSA-44 cannot."""
            return self.kind == ED25519 or MLDSA44PublicKey is not None

        def accepts(self, text: bytes, signature: bytes) -> bool:
            """Tell whether `signature`, with its time, is this witness's over a checkpoint's text.

        Raises:
            Broken: it is, but its time is 0.
        """
            if len(signature) != TIME_BYTES + SIGNATURE_BYTES[self.kind] or time_of(signature) > LATEST:
                return False
            try:
                message = _message(self.name, self.kind, text, time_of(signature))
                if self.kind == MLDSA44:
                    MLDSA44PublicKey.from_public_bytes(self.public).verify(signature[TIME_BYTES:], message)
                elif not verifies(self.public, signature[TIME_BYTES:], message):
                    return False
            except (InvalidSignature, ValueError, Malformed):
                return False
            if time_of(signature) == 0:
                raise Broken(
                    f"the cosignature by {self.name} has the time 0, so it does not say that this was the largest tree "
                    "that the witness had seen; ask the witness for one with a time",
                    where=f"the time of the cosignature by {self.name}",
                    expected=f"1 to {LATEST}",
                    found=0,
                )
            return True


    @dataclass(frozen=True)
    class Cosigner:
        """A witness's private key with its name."""

        name: str
        key: Ed25519PrivateKey | MLDSA44PrivateKey = field(repr=False)

        @property
        def witness(self) -> Witness:
            """The public half."""
            kind = ED25519 if isinstance(self.key, Ed25519PrivateKey) else MLDSA44
            return Witness(self.name, kind, self.key.public_key().public_bytes_raw())

        def cosign(self, checkpoint: Checkpoint, seconds: int) -> str:
            """Give the signature line, with its newline, that says: at this time, this was the largest tree I saw."""
            if not 0 < seconds <= LATEST:
                raise Malformed(f"a cosignature's time is 1 to {LATEST} seconds after 1970 began, not {seconds}")
            witness = self.witness
            message = _message(self.name, witness.kind, checkpoint.format().encode(), seconds)
            return line(self.name, witness.key_id, seconds.to_bytes(TIME_BYTES, "big") + self.key.sign(message))


    def parse_key(vkey: str) -> Key:
        """Read a verifier key of any type that signs checkpoints: a log's or a witness's.

    Raises:
        Malformed: it is none.
    """
        return Verifier.parse(vkey) if read_vkey(vkey)[1] == LOG else Witness.parse(vkey)


    def time_of(signature: bytes) -> int:
        """Give the POSIX time, in seconds, of a cosignature."""
        return int.from_bytes(signature[:TIME_BYTES], "big")


    def times(note: str | bytes, witnesses: Iterable[Witness]) -> dict[str, int]:
        """Give the time at which each witness, by its vkey, says that it saw a checkpoint; nothing is verified here.

    Raises:
        Malformed: it is no signed note.
    """
        known = {(witness.name, witness.key_id): witness.vkey for witness in witnesses}
        lines = map(read_line, take_apart(note)[1])
        return {known[name, identity]: time_of(signed) for name, identity, signed in lines if (name, identity) in known}


    def _message(name: str, kind: bytes, text: bytes, seconds: int) -> bytes:
        if kind == ED25519:
            return f"cosignature/v1\ntime {seconds}\n".encode() + text
        checkpoint = Checkpoint.parse(text.decode())
        return b"".join(
            (
                _LABEL,
                _vector(name),
                seconds.to_bytes(TIME_BYTES, "big"),
                _vector(checkpoint.origin),
                (0).to_bytes(8, "big"),
                checkpoint.size.to_bytes(8, "big"),
                checkpoint.root,
            )
        )


    def _vector(text: str) -> bytes:
        """Write an `opaque<1..255>` (RFC 8446, section 3.4)."""
        data = text.encode()
        if not 0 < len(data) <= _LONGEST_NAME:
            raise Malformed(f"a name under an ML-DSA-44 cosignature has 1 to {_LONGEST_NAME} bytes")
        return bytes([len(data)]) + data

    return SimpleNamespace(**locals())


vault_ledger_signatures_cosignature = vault_ledger_signatures_cosignature()


def vault_ledger_signatures_policy():
    """Trust policies: which logs and witnesses count, and the quorum. C2SP tlog-policy (https://c2sp.org/tlog-policy).

    log <vkey> [<url>]
    witness <name> <vkey> [<url>]
    group <name> all|any|<k> <member>...
    quorum <name>|none

Lines end in a newline, parts are set apart by spaces and tabs, `#` begins a comment line. A name is defined before it
is used and is the member of one group at most, so that a witness counts once. One public key stands once.
"""

    Broken = vault_errors.Broken
    Malformed = vault_errors.Malformed
    Checkpoint = vault_ledger_signatures_checkpoint.Checkpoint
    Witness = vault_ledger_signatures_cosignature.Witness
    times = vault_ledger_signatures_cosignature.times
    Key = vault_ledger_signatures_note.Key
    Verifier = vault_ledger_signatures_note.Verifier
    open_note = vault_ledger_signatures_note.open_note



    NONE = "none"
    MOST_LINES = 4096
    _TAB, _SPACE, _DELETE = 0x09, 0x20, 0x7F


    @dataclass(frozen=True)
    class PolicyMember:
        """A log or a witness that a policy names: its key and its URL."""

        key: Verifier | Witness
        url: str | None = None


    @dataclass(frozen=True)
    class Cosigned:
        """A checkpoint that a policy accepts.

    Attributes:
        checkpoint: the head.
        log: the vkey of the log that signed it.
        witnesses: the policy's names of those that cosigned it, with the POSIX time (seconds) that each says.
    """

        checkpoint: Checkpoint
        log: str
        witnesses: dict[str, int]


    @dataclass
    class Policy:
        """A parsed policy file.

    Attributes:
        logs: those that are known.
        witnesses: by the name that the file gives them.
        groups: how many of which members it takes.
        quorum: the witness or group that has to have cosigned; None where nobody has to.
    """

        logs: list[PolicyMember] = field(default_factory=list)
        witnesses: dict[str, PolicyMember] = field(default_factory=dict)
        groups: dict[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
        quorum: str | None = None

        @classmethod
        def parse(cls, data: str | bytes) -> Policy:
            """Read a policy file.

        Raises:
            Malformed: the message names the line.
        """
            return _Reader().read(data if isinstance(data, bytes) else data.encode())

        def satisfied(self, cosigned: Collection[str]) -> bool:
            """Tell whether these witnesses, by name, make the quorum."""
            return self.quorum is None or self._witnessed(self.quorum, cosigned)

        def open(self, note: str | bytes) -> Cosigned:
            """Verify a checkpoint against the policy.

        Raises:
            Malformed: it is no signed checkpoint.
            Broken: no log of the policy signed it, a known key's signature does not verify, or too few cosigned.
        """
            able = {
                n: member.key
                for n, member in self.witnesses.items()
                if isinstance(member.key, Witness) and member.key.verifiable
            }
            keys: list[Key] = [*(member.key for member in self.logs), *able.values()]
            opened = open_note(note, keys)
            checkpoint = Checkpoint.parse(opened.text)
            signed = [member.key.vkey for member in self.logs if member.key.name == checkpoint.origin]
            log = next((vkey for vkey in signed if vkey in opened.verified), None)
            if log is None:
                raise Broken(
                    f"the checkpoint of {checkpoint.origin} is signed by no log of the policy",
                    where="the signatures",
                    expected=[member.key.vkey for member in self.logs],
                    found=list(opened.verified),
                )
            timestamps = times(note, able.values())
            seen = {name: timestamps[key.vkey] for name, key in able.items() if key.vkey in opened.verified}
            if not self.satisfied(seen):
                by = ", ".join(seen) or "no witness of the policy"
                unread = ", ".join(name for name in self.witnesses if name not in able)
                lacks = f" ({unread}: ML-DSA-44 is verified with the package cryptography only)" if unread else ""
                raise Broken(
                    f"the checkpoint is cosigned by {by}; the quorum {self.quorum!r} needs more{lacks}",
                    where="the cosignatures",
                    expected={"quorum": self.quorum, "groups": self.groups},
                    found=list(seen),
                )
            return Cosigned(checkpoint, log, seen)

        def _witnessed(self, name: str, cosigned: Collection[str]) -> bool:
            if name in self.witnesses:
                return name in cosigned
            least, members = self.groups[name]
            return sum(self._witnessed(member, cosigned) for member in members) >= least


    class _Reader:
        """Reads a policy file line by line."""

        def __init__(self) -> None:
            self._policy = Policy()
            self._publics: set[bytes] = set()
            self._members: set[str] = set()
            self._quorum: str | None = None
            self._verbs: dict[str, Callable[[list[str]], None]] = {
                "log": self._log,
                "witness": self._witness,
                "group": self._group,
                "quorum": self._of_quorum,
            }

        def read(self, data: bytes) -> Policy:
            if data and not data.endswith(b"\n"):
                raise Malformed("a policy's lines end in a newline; its last one does not")
            lines = data.split(b"\n")[:-1]
            if len(lines) > MOST_LINES:
                raise Malformed(f"a policy has at most {MOST_LINES} lines")
            for number, line in enumerate(lines, 1):
                try:
                    self._line(line)
                except Malformed as error:
                    raise error.with_message(
                        f"line {number} of the policy: {error}", f"line {number} of the policy"
                    ) from error
            if self._quorum is None:
                raise Malformed("a policy has a line `quorum NAME`, or `quorum none`; this one has not")
            self._policy.quorum = None if self._quorum == NONE else self._quorum
            return self._policy

        def _line(self, line: bytes) -> None:
            if any((byte < _SPACE and byte != _TAB) or byte == _DELETE for byte in line):
                raise Malformed("it has a control character")
            parts = [part for part in line.decode("utf-8", "surrogateescape").replace("\t", " ").split(" ") if part]
            if not parts or parts[0].startswith("#"):
                return
            verb = self._verbs.get(parts[0])
            if verb is None:
                raise Malformed(f"it begins with {parts[0][:40]!r} in place of {', '.join(self._verbs)}")
            verb(parts[1:])

        def _log(self, parts: list[str]) -> None:
            if len(parts) not in {1, 2}:
                raise Malformed("a log is `log VKEY [URL]`")
            self._policy.logs.append(self._named(Verifier.parse(parts[0]), parts[1:]))

        def _witness(self, parts: list[str]) -> None:
            if len(parts) not in {2, 3}:
                raise Malformed("a witness is `witness NAME VKEY [URL]`")
            self._new(parts[0])
            self._policy.witnesses[parts[0]] = self._named(Witness.parse(parts[1]), parts[2:])

        def _group(self, parts: list[str]) -> None:
            if len(parts) < 3:  # noqa: PLR2004 - a name, a threshold, a member
                raise Malformed("a group is `group NAME all|any|NUMBER MEMBER...`")
            name, least, *members = parts
            self._new(name)
            for member in members:
                if not self._known(member):
                    raise Malformed(f"no line before defines {member[:40]!r}")
                if member in self._members:
                    raise Malformed(f"{member[:40]!r} is a member already, and counts once")
                self._members.add(member)
            self._policy.groups[name] = (_threshold(least, len(members)), tuple(members))

        def _of_quorum(self, parts: list[str]) -> None:
            if len(parts) != 1:
                raise Malformed("a quorum is `quorum NAME`, or `quorum none`")
            if self._quorum is not None:
                raise Malformed("there is a quorum already")
            if parts[0] != NONE and not self._known(parts[0]):
                raise Malformed(f"no line before defines {parts[0][:40]!r}")
            self._quorum = parts[0]

        def _known(self, name: str) -> bool:
            return name in self._policy.witnesses or name in self._policy.groups

        def _new(self, name: str) -> None:
            if name == NONE or self._known(name):
                raise Malformed(f"{name[:40]!r} is taken")

        def _named(self, key: Verifier | Witness, url: list[str]) -> PolicyMember:
            if key.public in self._publics:
                raise Malformed(f"the public key of {key.name} stands in the policy already")
            self._publics.add(key.public)
            return PolicyMember(key, *url)


    def _threshold(text: str, members: int) -> int:
        if text in {"any", "all"}:
            return 1 if text == "any" else members
        if not (text.isascii() and text.isdigit()) or text != str(int(text)) or not 1 <= int(text) <= members:
            raise Malformed(f"{text[:20]!r} is neither `all`, nor `any`, nor a number from 1 to {members}")
        return int(text)

    return SimpleNamespace(**locals())


vault_ledger_signatures_policy = vault_ledger_signatures_policy()


def vault_ledger_statements_history():
    """Replay of the log's statements: tasks promised, withdrawn and refilled, runs opened and closed.

Pure: it takes the statements with their indexes and answers queries about the state at any index
of the log. Every contradiction between statements is `Broken`, with the indexes that disagree.
"""

    Broken = vault_errors.Broken
    Statement = vault_ledger_statements_statement.Statement
    set_root = vault_ledger_tree_merkle.set_root



    CLOSING = ("score", "abort")


    @dataclass(frozen=True, slots=True)
    class LoggedStatement:
        """A statement and its index in the log."""

        index: int
        statement: Statement = field(repr=False)

        @property
        def digest(self) -> str:
            """The subject's digest in hex."""
            return next(iter(self.statement.digest.values()))


    @dataclass(frozen=True, slots=True)
    class LoggedRun:
        """The statements that open and close a run; `close` is None while it is open."""

        open: LoggedStatement
        close: LoggedStatement | None


    class History:
        """The statements from some index on, replayed.

    Raises:
        Broken: they contradict each other: a task is committed to twice, a set forgets or changes what was promised, a
            run opens or closes twice, a cohort retires twice.
    """

        def __init__(self, entries: Iterable[LoggedStatement]) -> None:
            self.entries = list(entries)
            self._by_kind: dict[str, list[LoggedStatement]] = defaultdict(list)
            for entry in self.entries:
                self._by_kind[entry.statement.kind].append(entry)
            self.commits: dict[str, LoggedStatement] = {}
            self._task_of: dict[str, str] = {}
            for entry in self.of("commit"):
                self._admit(entry)
            self.runs = self._pair_runs()
            self._withdrawn: list[tuple[LoggedStatement, str]] = []
            self._moments = list(self._replay())

        def of(self, *kinds: str) -> Iterator[LoggedStatement]:
            """Give the statements of some kinds, in order."""
            return merge(*(self._by_kind[kind] for kind in kinds), key=lambda entry: entry.index)

        def last_set(self, before: int) -> LoggedStatement:
            """Give the last `set` statement before an index."""
            sets = self._by_kind["set"]
            place = bisect_left(sets, before, key=lambda entry: entry.index)
            if not place:
                raise Broken(
                    f"no set statement stands before leaf {before} in this bundle", where=f"the leaves before {before}"
                )
            return sets[place - 1]

        def commit_of(self, task: str, before: int) -> LoggedStatement:
            """Give the commit of a task, which must stand before an index."""
            entry = self.commits.get(task)
            if entry is None:
                raise Broken(f"no leaf in this bundle commits to {task}", where="the commit statements", expected=task)
            if entry.index >= before:
                raise Broken(
                    f"{task} was committed to at leaf {entry.index}, which is not before {before}",
                    where=f"the leaf that commits to {task}",
                    expected=f"0 to {before - 1}",
                    found=entry.index,
                )
            return entry

        def members(self, cohort: str, at: int) -> list[str]:
            """Give a cohort's tasks just before an index, in promised order: promised - withdrawn + refills."""
            place = bisect_left(self._moments, at, key=lambda moment: moment[0])
            live = self._moments[place - 1][1] if place else {}
            if cohort not in live:
                raise Broken(
                    f"no set statement before leaf {at} has {cohort} among the live ones",
                    where=f"the live cohorts before leaf {at}",
                    expected=cohort,
                    found=sorted(live),
                )
            return live[cohort]

        def live(self, at: int) -> list[str]:
            """Name the cohorts that were live just before an index; none where no set statement before it is known."""
            place = bisect_left(self._moments, at, key=lambda moment: moment[0])
            return list(self._moments[place - 1][1]) if place else []

        def withdrawn(self, cohort: str) -> list[LoggedStatement]:
            """Give the withdrawals from a cohort."""
            return [entry for entry, name in self._withdrawn if name == cohort]

        def broken(self) -> set[str]:
            """Name the tasks that were withdrawn as broken."""
            return {e.statement.name for e in self.of("withdraw") if e.statement.predicate["cause"] == "broken"}

        def gaps(self, cohort: str, before: int) -> int:
            """Count the withdrawals from a cohort, before an index, that were not refilled."""
            withdrawals = [entry for entry in self.withdrawn(cohort) if entry.index < before]
            return sum(entry.statement.predicate["replacement"] is None for entry in withdrawals)

        def opened_with(self, retired: LoggedStatement) -> list[LoggedStatement]:
            """Give the withdrawals that a retirement opens: from its cohort, and from reserves since the one before."""
            cohort = retired.statement.predicate["cohort"]
            before = max((entry.index for entry in self.of("retire") if entry.index < retired.index), default=-1)
            home = {entry.index: name for entry, name in self._withdrawn}
            due = [entry for entry in self.of("withdraw") if entry.index < retired.index]
            return [e for e in due if home.get(e.index, cohort if e.index > before else None) == cohort]

        def require_refills(self, retired: LoggedStatement, strata: Mapping[str, str]) -> None:
            """Check each withdrawal that a retirement opens: refilled with the next of its stratum's reserve, if it can be.

        Args:
            retired: the retirement.
            strata: the stratum of each task that was withdrawn, as its document has it.
        """
            served = {entry.index for entry, _ in self._withdrawn}
            for entry in self.opened_with(retired):
                withdrawn, refill = entry.statement.name, entry.statement.predicate["replacement"]
                committed = self.commit_of(withdrawn, entry.index).digest
                if entry.digest != committed:
                    raise Broken(
                        f"leaf {entry.index} withdraws {withdrawn} under a commitment that is not its own",
                        where=f"leaf {entry.index}: $.subject[0].digest",
                        expected=committed,
                        found=entry.digest,
                    )
                if entry.index in served:
                    self._require_next_in_reserve(refill, entry, strata[withdrawn])
                elif refill is not None:
                    raise Broken(
                        f"leaf {entry.index} refills with {refill} for {withdrawn}, which was not being served",
                        where=f"leaf {entry.index}: $.predicate.replacement",
                        found=refill,
                    )

        def require_roots(self, cohort: str) -> int:
            """Recompute the cohort's root, and the set's where all its commits are known; gives how many sets' were."""
            recomputed = 0
            for entry in self.of("set"):
                says = entry.statement.predicate
                for item in says["cohorts"]:
                    if item["id"] == cohort:
                        self._require_root(item["tasks"], item["root"], entry.index, cohort)
                tasks = [task for item in says["cohorts"] for task in item["tasks"]]
                if all(task in self.commits for task in tasks):
                    self._require_root(tasks, entry.digest, entry.index, entry.statement.name)
                    recomputed += 1
            return recomputed

        def _require_root(self, tasks: Sequence[str], stated: str, index: int, what: str) -> None:
            root = set_root(bytes.fromhex(self.commit_of(task, index).digest) for task in tasks).hex()
            if root != stated:
                raise Broken(
                    f"the commitments of {what} at leaf {index} give the root {root}, it states {stated}",
                    where=f"leaf {index}: the root of {what}",
                    expected=root,
                    found=stated,
                )

        def _replay(self) -> Iterator[tuple[int, dict[str, list[str]]]]:
            """Give the live cohorts after each statement that changes them."""
            live: dict[str, list[str]] | None = None
            retired: set[str] = set()
            last: LoggedStatement | None = None
            for entry in self.of("set", "withdraw", "retire"):
                if entry.statement.kind == "set":
                    _require_chain(last, entry)
                    _require_future(entry)
                    self._require_grammars(entry)
                    live = _restated(live, retired, entry)
                    _require_next_month(last, entry)
                    last = entry
                elif entry.statement.kind == "retire":
                    retired.add(_retired(live, retired, entry))
                    live = {name: tasks for name, tasks in live.items() if name not in retired} if live else live
                elif live is not None:
                    live = {name: self._without(name, tasks, entry) for name, tasks in live.items()}
                yield entry.index, live or {}

        def _require_grammars(self, entry: LoggedStatement) -> None:
            """Check that a set says whether a live task is of a public grammar as their commits do, where all are known."""
            says = entry.statement.predicate
            commits = [self.commits.get(task) for item in says["cohorts"] for task in item["tasks"]]
            public = [commit.statement.predicate["public_grammar"] for commit in commits if commit]
            if len(public) == len(commits) and any(public) != says["public_grammar"]:
                raise Broken(
                    f"the set at leaf {entry.index} says public_grammar {str(says['public_grammar']).lower()}, the commits "
                    "of its tasks say otherwise",
                    where=f"leaf {entry.index}: $.predicate.public_grammar",
                    expected=any(public),
                    found=says["public_grammar"],
                )

        def _without(self, cohort: str, tasks: list[str], entry: LoggedStatement) -> list[str]:
            withdrawn, refill = entry.statement.name, entry.statement.predicate["replacement"]
            if withdrawn not in tasks:
                return tasks
            self._withdrawn.append((entry, cohort))
            return [refill if task == withdrawn else task for task in tasks if task != withdrawn or refill is not None]

        def _require_next_in_reserve(self, refill: str | None, entry: LoggedStatement, stratum: str) -> None:
            promised = self.last_set(entry.index)
            between = [item for item in self.of("withdraw") if promised.index < item.index < entry.index]
            refills = [item.statement.predicate["replacement"] for item in between]
            used = {item.digest for item in between} | {
                self.commits[task].digest for task in refills if task in self.commits
            }
            left = [item for item in promised.statement.predicate["reserve"].get(stratum, []) if item not in used]
            if refill is None and left:
                raise Broken(
                    f"leaf {entry.index} refills with nobody, though the reserve of {stratum} has {len(left)} left",
                    where=f"leaf {entry.index}: $.predicate.replacement",
                    expected={"commitment": left[0]},
                )
            given = None if refill is None else self.commit_of(refill, promised.index).digest
            if refill is not None and [given] != left[:1]:
                raise Broken(
                    f"leaf {entry.index} refills with {refill}, which was not next in the reserve of {stratum}",
                    where=f"leaf {entry.index}: $.predicate.replacement",
                    expected={"commitment": left[0] if left else None},
                    found={"commitment": given, "task": refill},
                )

        def _admit(self, entry: LoggedStatement) -> None:
            task = entry.statement.name
            if task in self.commits:
                raise Broken(
                    f"{task} is committed to twice, at leaves {self.commits[task].index} and {entry.index}",
                    where=f"the commit statements of {task}",
                    expected={"leaf": self.commits[task].index, "commitment": self.commits[task].digest},
                    found={"leaf": entry.index, "commitment": entry.digest},
                )
            first_task = self._task_of.setdefault(entry.digest, task)
            if first_task != task:
                raise Broken(
                    f"{first_task} and {task} have the same commitment",
                    where=f"leaf {entry.index}: the task of the commitment {entry.digest}",
                    expected=first_task,
                    found=task,
                )
            self.commits[task] = entry

        def _pair_runs(self) -> dict[int, LoggedRun]:
            opened: dict[int, LoggedStatement] = {}
            closed: dict[int, LoggedStatement] = {}
            for entry in self.of("run-open", *CLOSING):
                number = entry.statement.predicate["run"]
                ends = closed if entry.statement.kind in CLOSING else opened
                if number in ends:
                    raise Broken(
                        f"run {number} is stated twice, at leaves {ends[number].index} and {entry.index}",
                        where=f"the leaf that states run {number}",
                        expected=ends[number].index,
                        found=entry.index,
                    )
                ends[number] = entry
            for number, entry in opened.items():
                if number in closed and closed[number].index < entry.index:
                    raise Broken(
                        f"run {number} is closed at leaf {closed[number].index} before it opens at {entry.index}",
                        where=f"the leaf that closes run {number}",
                        expected=f"{entry.index + 1} or later",
                        found=closed[number].index,
                    )
            return {number: LoggedRun(entry, closed.get(number)) for number, entry in opened.items()}


    def listed(entry: LoggedStatement, cohort: str) -> Mapping[str, Any] | None:
        """Give the entry of a cohort in a `set` statement, or None."""
        return next((item for item in entry.statement.predicate["cohorts"] if item["id"] == cohort), None)


    def _require_chain(last: LoggedStatement | None, entry: LoggedStatement) -> None:
        previous = entry.statement.predicate["previous"]
        if last is not None and previous != last.index:
            raise Broken(
                f"the set at leaf {entry.index} names leaf {previous} before it, not {last.index}",
                where=f"leaf {entry.index}: $.predicate.previous",
                expected=last.index,
                found=previous,
            )
        if previous is not None and previous >= entry.index:
            raise Broken(
                f"the set at leaf {entry.index} names a later leaf {previous} before it",
                where=f"leaf {entry.index}: $.predicate.previous",
                expected=f"0 to {entry.index - 1}",
                found=previous,
            )


    def _require_next_month(last: LoggedStatement | None, entry: LoggedStatement) -> None:
        month = entry.statement.predicate["month"]
        if last is not None and month != (expected := _after(last.statement.predicate["month"])):
            raise Broken(
                f"the set at leaf {entry.index} is of {month}, the one at leaf {last.index} before it of "
                f"{last.statement.predicate['month']}",
                where=f"leaf {entry.index}: $.predicate.month",
                expected=expected,
                found=month,
            )


    def _require_future(entry: LoggedStatement) -> None:
        """Check that no cohort of a set should have retired before the set's month."""
        says = entry.statement.predicate
        for item in says["cohorts"]:
            if item["retires"] < says["month"]:
                raise Broken(
                    f"the set at leaf {entry.index} is of {says['month']}, and lists {item['id']}",
                    where=f"leaf {entry.index}: $.predicate.cohorts",
                    expected=f"cohorts that retire in {says['month']} or later",
                    found=item["id"],
                )


    def _after(month: str) -> str:
        """Give the month after one, both as YYYY-MM."""
        months = 12 * int(month[:4]) + int(month[5:])
        return f"{months // 12:04}-{months % 12 + 1:02}"


    def _restated(live: dict[str, list[str]] | None, retired: set[str], entry: LoggedStatement) -> dict[str, list[str]]:
        """Check that a set repeats every live cohort as it is; it may add new ones, and never brings one back."""
        says = {str(item["id"]): list(item["tasks"]) for item in entry.statement.predicate["cohorts"]}
        for name, tasks in (live or {}).items():
            if name not in says:
                raise Broken(
                    f"the set at leaf {entry.index} lists {name} no more, though it has not retired",
                    where=f"leaf {entry.index}: $.predicate.cohorts",
                    expected=name,
                    found=sorted(says),
                )
            if says[name] != tasks:
                strange = next((a for a, b in zip(says[name], tasks, strict=False) if a != b), "its end")
                raise Broken(
                    f"the set at leaf {entry.index} lists other tasks for {name} than were promised: see {strange}",
                    where=f"leaf {entry.index}: the tasks of {name}",
                    expected=tasks,
                    found=says[name],
                )
        if back := sorted(retired & says.keys()):
            raise Broken(
                f"the set at leaf {entry.index} lists {back[0]}, which has retired",
                where=f"leaf {entry.index}: $.predicate.cohorts",
                found=back[0],
            )
        return says


    def _retired(live: dict[str, list[str]] | None, retired: set[str], entry: LoggedStatement) -> str:
        name, month = str(entry.statement.predicate["cohort"]), entry.statement.predicate["month"]
        if name != f"cohort-{month}":
            raise Broken(
                f"leaf {entry.index} retires {name} in {month}",
                where=f"leaf {entry.index}: $.predicate.cohort",
                expected=f"cohort-{month}",
                found=name,
            )
        if name in retired or (live is not None and name not in live):
            raise Broken(
                f"leaf {entry.index} retires {name}, which is not live",
                where=f"leaf {entry.index}: $.predicate.cohort",
                expected={"live": sorted(live or {})},
                found=name,
            )
        return name

    return SimpleNamespace(**locals())


vault_ledger_statements_history = vault_ledger_statements_history()


def vault_ledger_statements_key_epochs():
    """Key epochs of a log: which key signs its heads, from which tree size on.

A `key` statement at leaf n hands the log over from one key to another. It names both, and n itself, and both have
signed these lines, so that neither who holds the old one alone nor who holds the new one alone can make it:

    quarterturn/log-key/v1
    <old verifier key>
    <new verifier key>
    <n>

Heads over at most n leaves are the old key's, heads over more are the new key's; a head by the other one is refused.
No such text is a checkpoint, whose second line is a number, so a signature under one never counts under the other.
"""

    Broken = vault_errors.Broken
    Malformed = vault_errors.Malformed
    Note = vault_ledger_signatures_note.Note
    Verifier = vault_ledger_signatures_note.Verifier
    decode_base64 = vault_ledger_signatures_note.decode_base64
    LoggedStatement = vault_ledger_statements_history.LoggedStatement
    SHA = vault_ledger_statements_statement.SHA
    Statement = vault_ledger_statements_statement.Statement



    KIND = "key"
    _MARK = b'"urn:quarterturn:key:v1"'  # stands in every leaf of this kind, and seldom in another


    def text(old: str, new: str, size: int) -> bytes:
        """Give the text that both keys sign."""
        return f"quarterturn/log-key/v1\n{old}\n{new}\n{size}\n".encode()


    @dataclass(frozen=True)
    class KeyEpochs:
        """The keys of a log, in order, each with the tree sizes that it signs.

    Attributes:
        first: the key of its first heads.
        later: `(leaf, key)` for each statement that hands the log over.
    """

        first: str
        later: tuple[tuple[int, str], ...] = ()

        @classmethod
        def read(cls, origin: str, entries: Iterable[LoggedStatement], head: Note) -> KeyEpochs:
            """Read the `key` statements of a log; where there are none, the key that signed its head is the only one.

        Raises:
            Broken: one is not signed by both keys, stands elsewhere than it says, is of another log, or does not begin
                where the last one ended.
        """
            handovers = [(entry.index, *_both(origin, entry)) for entry in entries]
            first = handovers[0][1] if handovers else next(vkey for vkey in head.verified if _is_of(origin, vkey))
            keys = [first]
            for index, old, new in handovers:
                if old != keys[-1]:
                    raise Broken(
                        f"leaf {index} hands the log over from {old}, whose key at that leaf is {keys[-1]}",
                        where=f"leaf {index}: $.predicate.old",
                        expected=keys[-1],
                        found=old,
                    )
                if new in keys:
                    raise Broken(
                        f"leaf {index} hands the log over to {new}, which was its key before",
                        where=f"leaf {index}: $.predicate.new",
                        found=new,
                    )
                keys.append(new)
            return cls(first, tuple((index, new) for index, _, new in handovers))

        def of(self, size: int) -> str:
            """Give the key that signs heads of this size."""
            return next((new for index, new in reversed(self.later) if index < size), self.first)

        def require(self, note: Note, size: int, what: str) -> None:
            """Check that a head of this size is signed by the key of its epoch, and by no other of the log's keys.

        Raises:
            Broken: it is not; the message names the key that should have signed.
        """
            wanted = self.of(size)
            others = {self.first, *(new for _, new in self.later)} - {wanted}
            if wanted in note.verified and not others.intersection(note.verified):
                return
            changes = ", ".join(str(index) for index, _ in self.later) or "none"
            raise Broken(
                f"{what} covers {size} leaves, and the log's key at that size is {wanted} (leaves that change it: "
                f"{changes}), but it is signed by {', '.join(note.verified)}",
                where=f"the signatures of {what}",
                expected=[wanted],
                found=list(note.verified),
            )


    def introduced(origin: str, leaves: Iterable[bytes], given: Sequence[str]) -> str | None:
        """Say how a key that the caller did not give was introduced by one that the caller gave, or give None.

    The leaves need not be proven to be in the log: such a statement bears the signature of the key that was given.
    """
        explanation = None
        known = list(given)
        for index, leaf in enumerate(leaves):
            if _MARK in leaf:
                try:
                    old, new = _both(origin, LoggedStatement(index, Statement.parse(leaf)))
                except (Broken, Malformed):
                    continue
                if old in known and new not in known:
                    explanation = (
                        f"leaf {index} hands the log over from {old} to {new}, and both keys signed that; an audit takes "
                        "keys from its caller alone: ask whoever gave you the old one, and give the new one too (--key)"
                    )
                    known.append(new)
        return explanation


    def successors(origin: str, leaves: Iterable[bytes], start: int) -> Iterator[str]:
        """Give the keys to which these leaves hand a log over; `start` is the index of the first.

    Raises:
        Broken, Malformed: one of them is no statement that does so.
    """
        for index, leaf in enumerate(leaves, start):
            if _MARK in leaf and (statement := Statement.parse(leaf, f"leaf {index}")).kind == KIND:
                yield _both(origin, LoggedStatement(index, statement))[1]


    def _both(origin: str, entry: LoggedStatement) -> tuple[str, str]:
        """Give the old and the new key of a statement that both signed."""
        says = entry.statement.predicate
        old, new = Verifier.parse(says["old"]), Verifier.parse(says["new"])
        if not origin == old.name == new.name == entry.statement.name:
            raise Broken(
                f"leaf {entry.index} hands over the log {new.name}, and this log is {origin}",
                where=f"leaf {entry.index}: the names of the log and of both keys",
                expected=[origin, origin, origin],
                found=[entry.statement.name, old.name, new.name],
            )
        computed = hashlib.sha256(new.public).hexdigest()
        if entry.statement.digest[SHA] != computed:
            raise Broken(
                f"leaf {entry.index} has not the digest of the new key that it names",
                where=f"leaf {entry.index}: $.subject[0].digest",
                expected=computed,
                found=entry.statement.digest[SHA],
            )
        if says["size"] != entry.index:
            raise Broken(
                f"leaf {entry.index} hands the log over at leaf {says['size']}, which is not where it stands",
                where=f"leaf {entry.index}: $.predicate.size",
                expected=entry.index,
                found=says["size"],
            )
        for word, key in (("old", old), ("new", new)):
            signature = decode_base64(says["signatures"][word], f"the {word} key's signature at leaf {entry.index}")
            signed = text(old.vkey, new.vkey, says["size"])
            if not key.accepts(signed, signature):
                raise Broken(
                    f"leaf {entry.index} hands the log over to {new.vkey}, and the {word} key did not sign that",
                    where=f"leaf {entry.index}: $.predicate.signatures.{word}",
                    expected={"key": key.vkey, "text": signed.decode()},
                    found={"signature": signature},
                )
        return old.vkey, new.vkey


    def _is_of(origin: str, vkey: str) -> bool:
        return vkey.partition("+")[0] == origin

    return SimpleNamespace(**locals())


vault_ledger_statements_key_epochs = vault_ledger_statements_key_epochs()


def vault_ledger_audit_evidence():
    """Evidence of a running audit, which each step adds to and passes on."""

    Bundle = vault_ledger_release_bundle_reader.Bundle
    Checkpoint = vault_ledger_signatures_checkpoint.Checkpoint
    Note = vault_ledger_signatures_note.Note
    Verifier = vault_ledger_signatures_note.Verifier
    Policy = vault_ledger_signatures_policy.Policy
    History = vault_ledger_statements_history.History
    LoggedRun = vault_ledger_statements_history.LoggedRun
    LoggedStatement = vault_ledger_statements_history.LoggedStatement
    KeyEpochs = vault_ledger_statements_key_epochs.KeyEpochs
    TileTree = vault_ledger_tree_tiles.TileTree




    @dataclass(frozen=True, slots=True)
    class AuditedTask:
        """The parts of an opened task that later audit steps need."""

        sha256: str
        stratum: str
        category: str
        max_steps: int


    @dataclass(frozen=True, slots=True)
    class OpenedRun:
        """A line of `runs.jsonl` with the statements that it opens."""

        line: Mapping[str, Any] = field(repr=False)
        run: LoggedRun

        @property
        def scored(self) -> bool:
            """Whether the run ended with a score."""
            return self.run.close is not None and self.run.close.statement.kind == "score"


    @dataclass
    class AuditState:
        """State of a running audit; each attribute is filled by the step that is named beside it."""

        folder: Path
        keys: list[str]
        previous: str | None
        policy: Policy | None = None
        bundle: Bundle = field(init=False)  # 1 files
        verifiers: list[Verifier] = field(init=False)  # 2 checkpoint
        head: Checkpoint = field(init=False)  # 2 checkpoint
        signed: Note = field(init=False)  # 2 checkpoint
        tree: TileTree = field(init=False)  # 3 root
        leaves: list[tuple[int, bytes]] = field(init=False)  # 3 root
        history: History = field(init=False)  # 4 statements
        epochs: KeyEpochs = field(init=False)  # 4 statements
        retired: LoggedStatement = field(init=False)  # 6 retirement
        tasks: dict[str, AuditedTask] = field(init=False)  # 7 commitments
        withdrawn: dict[str, AuditedTask] = field(init=False)  # 7 commitments
        runs: list[OpenedRun] = field(init=False)  # 10 runs
        counted: list[Mapping[str, Any]] = field(init=False)  # 11 results: the totals of each scored run, as they count
        witnesses: dict[str, int] = field(default_factory=dict)  # 2 checkpoint: when each says that it saw the head
        unchecked: tuple[str, ...] = ()  # 2 checkpoint: who else signed the head, which was not checked
        pending: str | None = None  # 14 full score

        @property
        def cohort(self) -> str:
            """The cohort that the bundle says it opens."""
            return str(self.bundle.manifest["cohort"])

        @property
        def month(self) -> str:
            """The month that the bundle says it belongs to."""
            return str(self.bundle.manifest["month"])

    return SimpleNamespace(**locals())


vault_ledger_audit_evidence = vault_ledger_audit_evidence()


def vault_ledger_audit_report():
    """Audit report: numbered steps, what is pending, and what no audit proves."""

    Disagreement = vault_errors.Disagreement



    State = Literal["proved", "pending", "not asked", "failed", "not reached"]

    _MEASURED = (
        "that verdicts were computed honestly: an audit shows that results were fixed in time and add up, not that they "
        "were measured well; a spot check is judged by the operator's own machine, from states that it kept",
        "that no insider showed a task to a friend before it was opened",
        "that a run made outside the ledger never happened",
    )
    _COMPARE = "compare them with a checkpoint that you or others kept (--previous)"


    def caveats(witnesses: Collection[str] = (), unchecked: Collection[str] = ()) -> tuple[str, ...]:
        """List what an audit does not prove.

    Args:
        witnesses: who cosigned the head, as the caller's policy names them.
        unchecked: who else signed it, whom the caller did not name.
    """
        if witnesses:
            order = (
                f"order and time against the operator and these witnesses together: {', '.join(witnesses)}. Each says that "
                "the log which it saw only grew, and when it saw this head; who they are is your policy's word"
            )
        elif unchecked:
            order = (
                "order and time against the operator: who else signed these checkpoints was not checked, because no policy "
                f"names them (--policy), so when they were made is the operator's word; {_COMPARE}"
            )
        else:
            order = (
                "order and time against the operator: no witness cosigned these checkpoints, so when they were made is the "
                f"operator's word; {_COMPARE}"
            )
        return (*_MEASURED, order)


    CAVEATS = caveats()


    @dataclass(frozen=True)
    class Step:
        """One step of an audit.

    Attributes:
        number: its place, from 1.
        name: what it is about.
        ok: nothing disagreed. False for the step that failed, and for those after it, which were not reached.
        proved: a sentence that says what it proved, or what is pending; empty where it failed.
        detail: for a failure the sentence with the evidence; otherwise remarks, or nothing.
        state: `proved`, `pending`, `not asked`, `failed` or `not reached`.
        evidence: for a failure what disagrees, or None where the sentence says all that is known.
    """

        number: int
        name: str
        ok: bool
        proved: str
        detail: str = ""
        state: State = "proved"
        evidence: Disagreement | None = None

        def as_json(self) -> dict[str, Any]:
            """Give it as JSON values; a step that failed, and no other, has its evidence there."""
            data = {
                "number": self.number,
                "name": self.name,
                "ok": self.ok,
                "state": self.state,
                "proved": self.proved,
                "detail": self.detail,
            }
            if self.state == "failed":
                data["evidence"] = self.evidence.as_json() if self.evidence else None
            return data


    @dataclass(frozen=True)
    class AuditReport:
        """The outcome of an audit.

    Attributes:
        ok: every step that could be made was proved; see `pending` for what could not be made yet.
        steps: all of them, in order.
        pending: the month (`YYYY-MM`) at which the last of these runs' full scores can be recomputed, or None.
        caveats: what this audit does not prove.
    """

        ok: bool
        steps: Sequence[Step]
        pending: str | None = None
        caveats: Sequence[str] = CAVEATS

        @property
        def failed(self) -> Step | None:
            """The step that failed, or None."""
            return next((step for step in self.steps if step.state == "failed"), None)

        def as_json(self) -> dict[str, Any]:
            """Give it as JSON values."""
            return {
                "ok": self.ok,
                "steps": [step.as_json() for step in self.steps],
                "failed": self.failed.number if self.failed else None,
                "pending": self.pending,
                "caveats": list(self.caveats),
            }

        def lines(self) -> Iterator[str]:
            """Write it as text, line by line."""
            for step in self.steps:
                yield f"{step.number:2}. {step.name}: {step.state}"
                for sentence in (step.proved, step.detail):
                    if sentence:
                        yield f"    {sentence}"
                if step.evidence:
                    yield from (f"    {line}" for line in step.evidence.lines())
            yield "yes" if self.ok else f"no: step {self.failed.number} failed" if self.failed else "no"
            yield "What this audit does not prove:"
            yield from (f"  - {caveat}" for caveat in self.caveats)

    return SimpleNamespace(**locals())


vault_ledger_audit_report = vault_ledger_audit_report()


def vault_ledger_audit_trusted_keys():
    """Trust anchors of an audit: only the caller's keys and policy count, and never a key from the bundle."""

    Broken = vault_errors.Broken
    Malformed = vault_errors.Malformed
    VaultError = vault_errors.VaultError
    AuditState = vault_ledger_audit_evidence.AuditState
    Checkpoint = vault_ledger_signatures_checkpoint.Checkpoint
    open_checkpoint = vault_ledger_signatures_checkpoint.open_checkpoint
    Note = vault_ledger_signatures_note.Note
    take_apart = vault_ledger_signatures_note.take_apart
    Policy = vault_ledger_signatures_policy.Policy
    PolicyMember = vault_ledger_signatures_policy.PolicyMember
    introduced = vault_ledger_statements_key_epochs.introduced
    HEAD = vault_ledger_tree_tiles.HEAD
    WIDTH = vault_ledger_tree_tiles.WIDTH
    bundles_of = vault_ledger_tree_tiles.bundles_of
    entries_path = vault_ledger_tree_tiles.entries_path
    unpack_entries = vault_ledger_tree_tiles.unpack_entries




    def open_head(case: AuditState, data: bytes) -> tuple[Checkpoint, Note]:
        """Open the head; if a given key introduced its signer, the error says so."""
        try:
            return open_checkpoint(data, case.verifiers)
        except VaultError as error:
            is_broken = isinstance(error, Broken)
            handover = _introduced(case, Checkpoint.parse(take_apart(data)[0])) if is_broken else None
            raise error.with_message(f"{error}; {handover}" if handover else str(error), f"log/{HEAD}") from None


    def open_older(case: AuditState, data: str | bytes, what: str) -> tuple[Checkpoint, Note]:
        """Open a checkpoint that is older than the head; where the key of its size was not given, name that key."""
        try:
            return open_checkpoint(data, case.verifiers)
        except Malformed as error:
            raise error.with_message(str(error), what) from None
        except Broken as error:
            size = Checkpoint.parse(take_apart(data)[0]).size
            wanted = case.epochs.of(size)
            if wanted in (verifier.vkey for verifier in case.verifiers):
                raise error.with_message(str(error), what) from None
            message = f"{what}: {error}; at {size} leaves the log's key was {wanted}: give it too (--key)"
            raise error.with_message(message, what) from None


    def policy_of(case: AuditState) -> Policy:
        """Give the caller's policy, or one without a quorum; where it names no log, the caller's keys stand for the log."""
        given = case.policy or Policy()
        return replace(given, logs=given.logs or [PolicyMember(verifier) for verifier in case.verifiers])


    def require_quorum(case: AuditState, data: bytes, what: str) -> None:
        """Check that a checkpoint is cosigned as the caller's policy asks."""
        try:
            policy_of(case).open(data)
        except Broken as error:
            raise error.with_message(f"{what}: {error}", what) from None


    def _introduced(case: AuditState, head: Checkpoint) -> str | None:
        if head.size > WIDTH * len(case.bundle.log_files):
            return None  # the next step refuses it
        try:
            return introduced(head.origin, _leaves(case, head.size), [verifier.vkey for verifier in case.verifiers])
        except (Broken, Malformed):
            return None  # the leaves cannot be read, and nobody vouched for the key


    def _leaves(case: AuditState, size: int) -> Iterator[bytes]:
        """Give the leaves as they are in the bundle, proven or not."""
        for index, width in bundles_of(size):
            path = entries_path(index, width)
            yield from unpack_entries(case.bundle.read_log(path), width, f"log/{path}")

    return SimpleNamespace(**locals())


vault_ledger_audit_trusted_keys = vault_ledger_audit_trusted_keys()


def vault_ledger_audit_log_steps():
    """Audit steps 1 to 6 and 13: the bundle's log is complete, signed, and extends the checkpoint that the caller kept.

Each step takes the case, adds its evidence to it, and gives `(state, sentence)`; it raises where bytes disagree.
"""

    Broken = vault_errors.Broken
    Malformed = vault_errors.Malformed
    VaultError = vault_errors.VaultError
    AuditState = vault_ledger_audit_evidence.AuditState
    State = vault_ledger_audit_report.State
    open_head = vault_ledger_audit_trusted_keys.open_head
    open_older = vault_ledger_audit_trusted_keys.open_older
    policy_of = vault_ledger_audit_trusted_keys.policy_of
    require_quorum = vault_ledger_audit_trusted_keys.require_quorum
    contents = vault_ledger_release_contents
    Bundle = vault_ledger_release_bundle_reader.Bundle
    Verifier = vault_ledger_signatures_note.Verifier
    open_note = vault_ledger_signatures_note.open_note
    History = vault_ledger_statements_history.History
    LoggedStatement = vault_ledger_statements_history.LoggedStatement
    KIND = vault_ledger_statements_key_epochs.KIND
    KeyEpochs = vault_ledger_statements_key_epochs.KeyEpochs
    Statement = vault_ledger_statements_statement.Statement
    leaf_hash = vault_ledger_tree_merkle.leaf_hash
    root_from = vault_ledger_tree_merkle.root_from
    WIDTH = vault_ledger_tree_tiles.WIDTH
    Frontier = vault_ledger_tree_tiles.Frontier
    TileTree = vault_ledger_tree_tiles.TileTree
    bundles_of = vault_ledger_tree_tiles.bundles_of
    entries_path = vault_ledger_tree_tiles.entries_path
    split_hashes = vault_ledger_tree_tiles.split_hashes
    tile_path = vault_ledger_tree_tiles.tile_path
    tiles_of = vault_ledger_tree_tiles.tiles_of
    unpack_entries = vault_ledger_tree_tiles.unpack_entries



    Outcome = tuple[State, str]

    _CALENDAR = 253_402_300_799  # 9999-12-31T23:59:59Z


    def files(case: AuditState) -> Outcome:
        """1. The files are those of the manifest, and there are no others."""
        case.bundle = Bundle.read(case.folder)
        count = len(case.bundle.manifest["files"])
        return "proved", f"{count} content files have the digests of the manifest {case.bundle.manifest_digest}"


    def checkpoint(case: AuditState) -> Outcome:
        """2. A given key signed the log's checkpoint, and the witnesses of a given policy cosigned it."""
        if not case.keys:
            raise Malformed("no key was given; an audit trusts only the log keys that its caller names")
        case.verifiers = [Verifier.parse(key) for key in case.keys]
        data = case.bundle.read_log(contents.HEAD)
        case.head, case.signed = open_head(case, data)
        if case.head.origin != case.bundle.manifest["origin"]:
            raise Broken(
                f"the manifest is of the log {case.bundle.manifest['origin']!r}, not of {case.head.origin}",
                where=f"{contents.MANIFEST}: $.origin",
                expected=case.head.origin,
                found=case.bundle.manifest["origin"],
            )
        policy = policy_of(case)
        try:
            case.witnesses = policy.open(data).witnesses
        except VaultError as error:
            raise error.with_message(str(error), f"log/{contents.HEAD}") from None
        known = [*case.verifiers, *(policy.witnesses[name].key for name in case.witnesses)]
        case.unchecked = open_note(data, known).ignored
        summary = f"{case.head.origin} signed a tree of {case.head.size} leaves"
        if case.witnesses:
            summary += f", cosigned by {', '.join(map(_seen, case.witnesses.items()))}"
        if case.unchecked:
            summary += f"; signatures by {', '.join(map(repr, case.unchecked))} were not checked"
        return "proved", summary


    def root(case: AuditState) -> Outcome:
        """3. The leaves and the tiles rebuild the root that was signed."""
        first = case.bundle.manifest["first"]
        if first:
            raise Broken(
                f"the manifest begins at leaf {first}: a task committed to twice, or a run left out, could stand before it",
                where=f"{contents.MANIFEST}: $.first",
                expected=0,
                found=first,
            )
        _require_log_files(case, first)
        case.leaves = []
        frontier = Frontier()
        for _, index, width in (tile for tile in tiles_of(case.head.size) if tile[0] == 0):
            for tile in frontier.extend(_tile_of_leaves(case, index, width, begins=first // WIDTH)):
                _require_tile(case, *tile)
        for tile in frontier.partial_tiles():
            _require_tile(case, *tile)
        if frontier.root() != case.head.root:
            raise Broken(
                f"the leaves give the root {frontier.root().hex()}, the checkpoint says {case.head.root.hex()}",
                where=f"the root of the {case.head.size} leaves",
                expected=case.head.root,
                found=frontier.root(),
            )
        case.tree = TileTree(case.head.size, case.bundle.read_log)
        return "proved", f"{len(case.leaves)} leaves and the hashes before them give the signed root {case.head.root.hex()}"


    def statements(case: AuditState) -> Outcome:
        """4. Every leaf is a statement in canonical bytes, and none contradicts another."""
        case.history = History(
            LoggedStatement(index, Statement.parse(leaf, f"leaf {index}")) for index, leaf in case.leaves
        )
        case.leaves = []  # their statements are what counts from here on
        case.epochs = KeyEpochs.read(case.head.origin, case.history.of(KIND), case.signed)
        case.epochs.require(case.signed, case.head.size, f"log/{contents.HEAD}")
        kinds = [entry.statement.kind for entry in case.history.entries]
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        handovers = "".join(
            f"; leaf {index} hands the log over to {new}, as both keys say" for index, new in case.epochs.later
        )
        return "proved", f"{len(kinds)} statements were read: {counts}{handovers}"


    def named(case: AuditState) -> Outcome:
        """5. Every checkpoint that a run names is signed, and its root is the log's at that size."""
        sizes: dict[str, tuple[int, int]] = {}  # by name: the size, and the first leaf that names it
        for entry in case.history.of("run-open"):
            says = entry.statement.predicate["checkpoint"]
            if says["size"] > entry.index:
                raise Broken(
                    f"the run at leaf {entry.index} names a checkpoint of size {says['size']}, which is not earlier",
                    where=f"leaf {entry.index}: $.predicate.checkpoint.size",
                    expected=f"1 to {entry.index}",
                    found=says["size"],
                )
            _require_root(case, says["size"], bytes.fromhex(says["root"]), f"the run at leaf {entry.index}")
            sizes.setdefault(f"{contents.KEPT}/{says['size']}", (says["size"], entry.index))
        present = {name for name in case.bundle.log_files if name.startswith(f"{contents.KEPT}/")}
        if misplaced := sorted(present ^ sizes.keys()):
            state = "named by no run" if misplaced[0] in present else "missing"
            raise Malformed(f"{'log/' + misplaced[0]!r} is {state}", where=f"log/{misplaced[0]}")
        for name, (size, index) in sizes.items():
            _require_named(case, name, size, index)
        signing = "signed and cosigned" if case.witnesses else "signed"
        return "proved", f"{len(sizes)} checkpoints that runs name are {signing}, and each is the beginning of this tree"


    def retirement(case: AuditState) -> Outcome:
        """6. The one `retire` statement of this cohort names this manifest."""
        retirements = [
            entry
            for entry in case.history.of("retire")
            if case.cohort == entry.statement.predicate["cohort"] or case.month == entry.statement.predicate["month"]
        ]
        if len(retirements) != 1:
            where = ", ".join(str(entry.index) for entry in retirements) or "nowhere"
            raise Broken(
                f"{case.cohort} and {case.month} retire once; the log says so at leaves {where}",
                where=f"the retire statements of {case.cohort} or {case.month}",
                expected="one leaf",
                found=[entry.index for entry in retirements],
            )
        case.retired = retirements[0]
        says = case.retired.statement.predicate
        if (says["cohort"], says["month"]) != (case.cohort, case.month):
            raise Broken(
                f"leaf {case.retired.index} retires {says['cohort']} in {says['month']}, "
                f"the manifest says {case.cohort} in {case.month}",
                where=f"{contents.MANIFEST}: $.cohort and $.month",
                expected=[says["cohort"], says["month"]],
                found=[case.cohort, case.month],
            )
        if case.retired.digest != case.bundle.manifest_digest:
            raise Broken(
                f"leaf {case.retired.index} names the manifest {case.retired.digest}, "
                f"this one has {case.bundle.manifest_digest}",
                where=f"{contents.MANIFEST}: sha256",
                expected=case.retired.digest,
                found=case.bundle.manifest_digest,
            )
        return "proved", f"leaf {case.retired.index} retires {case.cohort} with exactly this manifest"


    def consistency(case: AuditState) -> Outcome:
        """13. The log extends the checkpoint that the caller kept."""
        if case.previous is None:
            return "not asked", "no older checkpoint was given to compare with"
        older, signed = open_older(case, case.previous, "the older checkpoint")
        if older.origin != case.head.origin:
            raise Broken(
                f"the older checkpoint is of the log {older.origin}, not of {case.head.origin}",
                where="the older checkpoint: the origin",
                expected=case.head.origin,
                found=older.origin,
            )
        if older.size > case.head.size:
            raise Broken(
                f"the checkpoint that was given has {older.size} leaves, this bundle's only {case.head.size}: "
                "compare it with a newer bundle or with the log itself",
                where="the older checkpoint: the size",
                expected=f"0 to {case.head.size}",
                found=older.size,
            )
        case.epochs.require(signed, older.size, "the older checkpoint")
        _require_root(case, older.size, older.root, "the older checkpoint")
        return "proved", f"the tree of {case.head.size} leaves extends the older checkpoint of size {older.size}"


    def _require_named(case: AuditState, name: str, size: int, index: int) -> None:
        """Check a checkpoint under which a run was opened as the head is checked: its key, its root, and the quorum."""
        data = case.bundle.read_log(name)
        older, signed = open_older(case, data, f"log/{name}")
        if older.size != size or older.origin != case.head.origin:
            raise Broken(
                f"log/{name} is a checkpoint of {older.origin} at size {older.size}",
                where=f"log/{name}: the origin and the size",
                expected=[case.head.origin, size],
                found=[older.origin, older.size],
            )
        case.epochs.require(signed, size, f"log/{name}")
        _require_root(case, size, older.root, f"log/{name}")
        if case.policy:
            require_quorum(case, data, f"log/{name}, under which {case.history.entries[index].statement.name} was opened")


    def _seen(witness: tuple[str, int]) -> str:
        name, seconds = witness
        if seconds > _CALENDAR:  # a cosignature may name any second up to 2^63 - 1
            return f"{name} ({seconds} seconds after 1970 began)"
        return f"{name} ({time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(seconds))})"


    def _require_root(case: AuditState, size: int, stated: bytes, who: str) -> None:
        if size > case.head.size:
            raise Broken(
                f"{who} speaks of size {size}, the log has {case.head.size}",
                where=f"{who}: the size",
                expected=f"0 to {case.head.size}",
                found=size,
            )
        computed = root_from(case.tree.node, size)
        if computed != stated:
            raise Broken(
                f"{who} states the root {stated.hex()} at size {size}, the leaves give {computed.hex()}",
                where=f"{who}: the root at size {size}",
                expected=computed,
                found=stated,
            )


    def _require_log_files(case: AuditState, first: int) -> None:
        size = case.head.size
        if size > WIDTH * len(case.bundle.log_files):
            raise Malformed(
                f"a log of {size} leaves has more files than the {len(case.bundle.log_files)} in the bundle", where="log/"
            )
        wanted = {contents.HEAD, *(tile_path(*tile) for tile in tiles_of(size))}
        wanted |= {entries_path(*item) for item in bundles_of(size, first)}
        present = {name for name in case.bundle.log_files if not name.startswith(f"{contents.KEPT}/")}
        if misplaced := sorted(present ^ wanted):
            state = "is no file of this log" if misplaced[0] in present else "is missing"
            raise Malformed(
                f"{'log/' + misplaced[0]!r} {state}: a tree of {size} leaves from {first} on has other files",
                where=f"log/{misplaced[0]}",
            )


    def _tile_of_leaves(case: AuditState, index: int, width: int, *, begins: int) -> Sequence[bytes]:
        """Give a level-0 tile's hashes; from the bundle's first leaf on they are made from the leaves themselves."""
        path = tile_path(0, index, width)
        hashes = split_hashes(case.bundle.read_log(path), width, f"log/{path}")
        if index < begins:
            return hashes
        entries = entries_path(index, width)
        leaves = list(enumerate(unpack_entries(case.bundle.read_log(entries), width, f"log/{entries}"), index * WIDTH))
        for (place, leaf), stated in zip(leaves, hashes, strict=True):
            if leaf_hash(leaf) != stated:
                raise Broken(
                    f"leaf {place} has the hash {leaf_hash(leaf).hex()}, log/{path} says {stated.hex()}",
                    where=f"log/{path}: the hash of leaf {place}",
                    expected=leaf_hash(leaf),
                    found=stated,
                )
        case.leaves += leaves
        return hashes


    def _require_tile(case: AuditState, level: int, index: int, hashes: Sequence[bytes]) -> None:
        path = tile_path(level, index, len(hashes))
        stated = split_hashes(case.bundle.read_log(path), len(hashes), f"log/{path}")
        for place, (computed, says) in enumerate(zip(hashes, stated, strict=True)):
            if computed != says:
                raise Broken(
                    f"hash {place} of log/{path} is {says.hex()}, the leaves give {computed.hex()}",
                    where=f"log/{path}: hash {place}",
                    expected=computed,
                    found=says,
                )

    return SimpleNamespace(**locals())


vault_ledger_audit_log_steps = vault_ledger_audit_log_steps()


def vault_commitment():
    """Salted HMAC-SHA256 commitments: published now, opened later.

    HMAC-SHA256(salt, "quarterturn/<label>/v1\\n" || payload)

The payload is canonical JSON (or, for `draw-seed` and `spot-check`, the seed's bytes). The salt has exactly SALT_SIZE
bytes, because HMAC pads a shorter key and hashes a longer one, so another length would let one commitment open in two
ways. The salt hides the payload: an unsalted hash of a task from a bounded grammar can be guessed. The label separates
domains: a commitment made under one label never opens under another.

An auditor runs this module, so it imports the standard library only. `openssl` opens a commitment too:

    { printf 'quarterturn/commit/v1\\n'; cat task.json; } | openssl dgst -sha256 -mac HMAC -macopt hexkey:SALT
"""

    Malformed = vault_errors.Malformed



    SALT_SIZE = 32
    LABELS = frozenset({"commit", "provenance", "run-open", "result", "totals", "draw-seed", "access-log", "spot-check"})


    def new_salt(entropy: Callable[[int], bytes] = os.urandom) -> bytes:
        """Draw a salt."""
        return entropy(SALT_SIZE)


    def commitment(label: str, payload: bytes, salt: bytes) -> bytes:
        """Commit to `payload`; gives 32 bytes.

    Raises:
        Malformed: the label is not one of LABELS, or the salt is not SALT_SIZE bytes.
    """
        if label not in LABELS:
            raise Malformed(f"There is no commitment label {label!r}; there are {', '.join(sorted(LABELS))}.")
        if len(salt) != SALT_SIZE:
            raise Malformed(f"A commitment's salt has {SALT_SIZE} bytes, this one {len(salt)}.")
        return hmac.digest(salt, b"quarterturn/" + label.encode() + b"/v1\n" + payload, hashlib.sha256)


    def opens(label: str, payload: bytes, salt: bytes, expected: bytes) -> bool:
        """Say whether `(payload, salt)` opens the commitment `expected`; a salt of another length never does."""
        return len(salt) == SALT_SIZE and hmac.compare_digest(commitment(label, payload, salt), expected)

    return SimpleNamespace(**locals())


vault_commitment = vault_commitment()


def vault_ledger_audit_run_rules():
    """Rules of runs: which cohorts a track is served, in which month, and how a submitter's runs are numbered."""

    Broken = vault_errors.Broken
    OpenedRun = vault_ledger_audit_evidence.OpenedRun
    contents = vault_ledger_release_contents
    History = vault_ledger_statements_history.History
    LoggedStatement = vault_ledger_statements_history.LoggedStatement



    ALL, SUNSET = ("docker", "docker-model-gateway", "unofficial"), ("endpoint",)
    """The tracks that are served every live cohort, and those that are served the one that retires next, alone."""


    def require_served(history: History, opened: LoggedStatement) -> None:
        """Check the track, the month and the cohorts of a `run-open` statement against the set that it was opened on.

    Raises:
        Broken: there is no such track, it is not served these cohorts, or the set is of another month.
    """
        says, live = opened.statement.predicate, history.live(opened.index)
        if says["track"] not in (*ALL, *SUNSET):
            raise Broken(
                f"run {says['run']} at leaf {opened.index} is of the track {says['track']}, which the log has no runs of",
                where=f"leaf {opened.index}: $.predicate.track",
                expected=[*ALL, *SUNSET],
                found=says["track"],
            )
        if not live:  # the set before it is not in this bundle
            return
        month = history.last_set(opened.index).statement.predicate["month"]
        if says["month"] != month:
            raise Broken(
                f"run {says['run']} at leaf {opened.index} is of {says['month']}, the set before it of {month}",
                where=f"leaf {opened.index}: $.predicate.month",
                expected=month,
                found=says["month"],
            )
        served = sorted(live) if says["track"] in ALL else sorted(live)[:1]  # by the month in which each retires
        if sorted(says["cohorts"]) != served:
            raise Broken(
                f"run {says['run']} at leaf {opened.index} is of the track {says['track']}, which was served "
                f"{', '.join(served)} then; it names {', '.join(says['cohorts']) or 'none'}",
                where=f"leaf {opened.index}: $.predicate.cohorts",
                expected=served,
                found=sorted(says["cohorts"]),
            )


    def require_attempts(month: str, runs: Iterable[OpenedRun]) -> None:
        """Check that each submitter's runs of a month are numbered in the order in which they were opened.

    All runs of the released month are opened with it, so theirs go from 1 on without a gap. Of an earlier month those
    that were served this cohort are opened here: theirs rise.

    Args:
        month: the released month.
        runs: in the order of their numbers.

    Raises:
        Broken: a number is missing, stands twice, or does not rise.
    """
        numbered: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for run in runs:
            opening, of = run.line["opening"], run.run.open.statement.predicate["month"]
            before = numbered[of, opening["submitter"]]
            last = before[-1] if before else 0
            if opening["attempt"] != last + 1 if of == month else opening["attempt"] <= last:
                raise Broken(
                    f"run {run.line['run']} is attempt {opening['attempt']} of {opening['submitter']} in {of}, after "
                    f"attempt {last}",
                    where=f"{contents.RUNS}: $.opening.attempt of run {run.line['run']}",
                    expected=last + 1 if of == month else f"{last + 1} or more",
                    found=opening["attempt"],
                )
            before.append(opening["attempt"])

    return SimpleNamespace(**locals())


vault_ledger_audit_run_rules = vault_ledger_audit_run_rules()


def vault_ledger_audit_result_steps():
    """Audit steps 10 to 12 and 14: runs are closed and opened, and all figures follow from committed results."""

    commitment = vault_commitment.commitment
    opens = vault_commitment.opens
    Broken = vault_errors.Broken
    AuditState = vault_ledger_audit_evidence.AuditState
    OpenedRun = vault_ledger_audit_evidence.OpenedRun
    Outcome = vault_ledger_audit_log_steps.Outcome
    require_attempts = vault_ledger_audit_run_rules.require_attempts
    require_served = vault_ledger_audit_run_rules.require_served
    contents = vault_ledger_release_contents
    LoggedRun = vault_ledger_statements_history.LoggedRun
    LoggedStatement = vault_ledger_statements_history.LoggedStatement
    canonical = vault_ledger_statements_jcs.canonical
    shared = vault_ledger_statements_jcs.shared
    counted = vault_ledger_statements_results.counted
    totals_of = vault_ledger_statements_results.totals_of
    leaf_hash = vault_ledger_tree_merkle.leaf_hash
    verify_inclusion = vault_ledger_tree_merkle.verify_inclusion



    _BEFORE, _BEHIND = b'"result":', b',"run":'  # of the result in a line of results.jsonl


    class ResultLine(NamedTuple):
        """A line of `results.jsonl`: the result's bytes in it, and what all of it says."""

        result: bytes
        says: Mapping[str, Any]


    def runs(case: AuditState) -> Outcome:
        """10. Every run before the retirement is closed, and each that used the cohort is opened to its pseudonym.

    A run is of a known track, of its set's month, and was served the cohorts of its track; attempts are in order.
    """
        for number, run in case.history.runs.items():
            require_served(case.history, run.open)
            _require_closed(case, number, run)
        lines = [shared(line) for _, line in case.bundle.lines(contents.RUNS, contents.RUN_LINE)]
        used = [n for n, run in sorted(case.history.runs.items()) if case.cohort in run.open.statement.predicate["cohorts"]]
        opened = [line["run"] for line in lines]
        if opened != used:
            raise Broken(
                f"{contents.RUNS} opens the runs {opened}, the log says that {used} were served {case.cohort}",
                where=f"{contents.RUNS}: $.run of all lines",
                expected=used,
                found=opened,
            )
        case.runs = [_opened(line, case.history.runs[line["run"]]) for line in lines]
        require_attempts(case.month, case.runs)
        scored = sum(run.scored for run in case.runs)
        later = [number for number, run in case.history.runs.items() if run.close is None]
        still = f"; opened since and not closed at this checkpoint: {later}" if later else ""
        return "proved", f"{len(lines)} runs used the cohort: {scored} scored, {len(lines) - scored} aborted{still}"


    def results(case: AuditState) -> Outcome:
        """11. The retired cohort's results lie under each score's root, are complete, and add up to the totals."""
        groups = groupby(case.bundle.lines(contents.RESULTS, contents.RESULT_LINE), key=lambda item: item[1]["run"])
        scored = [run for run in case.runs if run.scored]
        count, case.counted, broken = 0, [], case.history.broken()
        for run in scored:
            number, lines = next(groups, (None, iter(())))
            rows = [ResultLine(_result_in(line), value) for line, value in lines]
            if number != run.line["run"]:
                raise Broken(
                    f"{contents.RESULTS} should go on with run {run.line['run']}, it does with {number}",
                    where=f"line {count + 1} of {contents.RESULTS}: $.run",
                    expected=run.line["run"],
                    found=number,
                )
            _require_results(case, run, rows)
            case.counted.append(counted(run.line["totals"], [row.says["result"] for row in rows], broken))
            count += len(rows)
        if stranger := next(groups, None):
            raise Broken(
                f"{contents.RESULTS} opens results of run {stranger[0]}, which has no score on {case.cohort}",
                where=f"line {count + 1} of {contents.RESULTS}: $.run",
                found=stranger[0],
            )
        return "proved", f"{count} results of {len(scored)} runs were bound in time, are all there, and give the totals"


    def figures(case: AuditState) -> Outcome:
        """12. Aggregate, attestation and README follow from what was opened."""
        scored = [run.line["opening"] for run in case.runs if run.scored]
        rows = list(zip(scored, case.counted, strict=True))
        subjects = [(name, task.sha256) for name, task in case.tasks.items()]
        _require_same(case, contents.AGGREGATE, lambda: contents.aggregate(case.month, case.cohort, rows))
        _require_same(case, contents.ATTESTATION, lambda: [contents.attestation(case.month, case.cohort, subjects)])
        says = case.bundle.manifest
        also = {
            "page": contents.PAGE in says["files"],
            "withdrawn": bool(case.withdrawn),
            "broken": contents.BROKEN in says["files"],
        }
        text = contents.readme(case.month, case.cohort, says["origin"], says["canary"], **also)
        _require_same(case, contents.README, lambda: [text.encode()])
        broken = [entry for entry in case.history.withdrawn(case.cohort) if entry.statement.name in case.history.broken()]
        exception = f", without {len(broken)} broken tasks" if broken else ""
        return (
            "proved",
            f"the figures of {len(rows)} runs on {case.cohort} are those that follow from the results{exception}",
        )


    def full_score(case: AuditState) -> Outcome:
        """14. A full score needs every cohort of its run: pending until the last one is opened."""
        last: dict[str, str] = {}
        for run in case.runs:
            if run.scored:
                says = run.run.open.statement.predicate
                month = max(name.removeprefix("cohort-") for name in says["cohorts"])
                last[says["month"]] = max(month, last.get(says["month"], ""))
        waiting = {month: until for month, until in sorted(last.items()) if until > case.month}
        if not waiting:
            return "proved", "no cohort of these runs is still private: with the earlier bundles every score is open"
        case.pending = max(waiting.values())
        pending_months = ", ".join(f"{month} pending until {until}" for month, until in waiting.items())
        return "pending", f"full scores need cohorts that are still private: {pending_months}"


    def _result_in(line: bytes) -> bytes:
        """Take the result's canonical bytes out of a canonical line, where they stand: they were compared there already.

    Its neighbours are a list of hexadecimal digits before it and a run's number and more such digits behind it, so the
    first name before it and the last one behind it are those of the line, and never a part of the result.
    """
        return line[line.index(_BEFORE) + len(_BEFORE) : line.rindex(_BEHIND)]


    def _require_closed(case: AuditState, number: int, run: LoggedRun) -> None:
        if run.close is None or run.close.index > case.retired.index:
            if run.open.index < case.retired.index:
                raise Broken(
                    f"run {number}, opened at leaf {run.open.index}, has neither score nor abort before {case.cohort} "
                    f"retires at leaf {case.retired.index}",
                    where=f"the leaf that closes run {number}",
                    expected=f"after {run.open.index} and before {case.retired.index}",
                    found=run.close.index if run.close else None,
                )
            return
        opened, closed = run.open.statement.predicate, run.close.statement.predicate
        if closed["month"] != opened["month"] or closed.get("track", opened["track"]) != opened["track"]:
            raise Broken(
                f"run {number} opens and closes in another month or track: leaves {run.open.index}, {run.close.index}",
                where=f"leaf {run.close.index}: $.predicate.month and $.predicate.track",
                expected=[opened["month"], opened["track"]],
                found=[closed["month"], closed.get("track")],
            )
        if run.close.statement.kind == "abort" and run.close.digest != run.open.digest:
            raise Broken(
                f"the abort of run {number} at leaf {run.close.index} is not of the run at {run.open.index}",
                where=f"leaf {run.close.index}: $.subject[0].digest",
                expected=run.open.digest,
                found=run.close.digest,
            )


    def _opened(line: Mapping[str, Any], run: LoggedRun) -> OpenedRun:
        number = line["run"]
        if run.close is None or (line["open"], line["close"]) != (run.open.index, run.close.index):
            raise Broken(
                f"the opening of run {number} names the leaves {line['open']} and {line['close']}, not its own",
                where=f"{contents.RUNS}: $.open and $.close of run {number}",
                expected=[run.open.index, run.close.index if run.close else None],
                found=[line["open"], line["close"]],
            )
        payload, salt = canonical(line["opening"]), bytes.fromhex(line["salt"])
        if not opens("run-open", payload, salt, bytes.fromhex(run.open.digest)):
            raise Broken(
                f"the opening of run {number} does not open {run.open.digest} at leaf {run.open.index}",
                where=f"{contents.RUNS}: the commitment to $.opening of run {number}",
                expected=run.open.digest,
                found=commitment("run-open", payload, salt),
            )
        opened = OpenedRun(line, run)
        if (line["totals"] is not None) != opened.scored or (line["totals_salt"] is not None) != opened.scored:
            raise Broken(
                f"run {number} must open totals exactly if it was scored",
                where=f"{contents.RUNS}: $.totals and $.totals_salt of run {number}",
                expected=[opened.scored, opened.scored],
                found=[line["totals"] is not None, line["totals_salt"] is not None],
            )
        return opened


    def _require_results(case: AuditState, run: OpenedRun, rows: Sequence[ResultLine]) -> None:
        number, score = run.line["run"], _score(run)
        says, opened = score.statement.predicate, run.run.open
        named = opened.statement.predicate["cohorts"]
        _require_count(case, opened, says["count"])
        totals = sorted(item["cohort"] for item in says["totals"])
        if totals != sorted(named):
            raise Broken(
                f"the score of run {number} at leaf {score.index} has not one total for each of its cohorts",
                where=f"leaf {score.index}: $.predicate.totals",
                expected=sorted(named),
                found=totals,
            )
        members = case.history.members(case.cohort, opened.index)
        tasks = [row.says["result"]["task"] for row in rows]
        if sorted(tasks) != sorted(members):
            wrong = sorted(set(tasks) ^ set(members)) or ["a task twice"]
            raise Broken(
                f"run {number} must open one result for each task of {case.cohort}: see {wrong[0]}",
                where=f"{contents.RESULTS}: the tasks of run {number}",
                expected=sorted(members),
                found=sorted(tasks),
            )
        _require_tree_order(case, number, rows)
        root = bytes.fromhex(says["results_root"])
        for row in rows:
            _require_result(case, row, says["count"], root)
        _require_totals(case, run, score, [row.says["result"] for row in rows])


    def _require_tree_order(case: AuditState, number: int, rows: Sequence[ResultLine]) -> None:
        places = [(case.history.commits[row.says["result"]["task"]].digest, row.says["position"]) for row in rows]
        if places != sorted(places) or len({place for _, place in places}) != len(places):
            raise Broken(
                f"the results of run {number} are not in the order of their tasks' commitments",
                where=f"{contents.RESULTS}: the commitments and positions of run {number}",
                expected="rising commitments, each at a position of its own",
                found=places,
            )
        if [place for _, place in places] != sorted(place for _, place in places):
            raise Broken(
                f"the positions of the results of run {number} do not rise with their tasks' commitments",
                where=f"{contents.RESULTS}: the positions of run {number}",
                expected=sorted(place for _, place in places),
                found=[place for _, place in places],
            )


    def _require_result(case: AuditState, row: ResultLine, count: int, root: bytes) -> None:
        says, result = row.says, row.says["result"]
        who = f"the result of run {says['run']} on {result['task']}"
        if result["run"] != says["run"] or result["cohort"] != case.cohort:
            raise Broken(
                f"{who} says that it is of run {result['run']} on {result['cohort']}",
                where=f"{who}: $.result.run and $.result.cohort",
                expected=[says["run"], case.cohort],
                found=[result["run"], result["cohort"]],
            )
        task = case.tasks.get(result["task"]) or case.withdrawn.get(result["task"])
        if task and (result["category"], result["max_steps"]) != (task.category, task.max_steps):
            raise Broken(
                f"{who} says {result['category']} with {result['max_steps']} steps, the task {task.category} "
                f"with {task.max_steps}",
                where=f"{who}: $.result.category and $.result.max_steps",
                expected=[task.category, task.max_steps],
                found=[result["category"], result["max_steps"]],
            )
        if result["passed"] and result["verdict"] != "true":
            raise Broken(
                f"{who} is passed with the verdict {result['verdict']}",
                where=f"{who}: $.result.verdict",
                expected="true",
                found=result["verdict"],
            )
        if result["calls"] < result["unlisted"] or (result["passed"] and result["calls"] > result["max_steps"]):
            raise Broken(
                f"{who} is {'passed' if result['passed'] else 'failed'} with {result['calls']} calls, "
                f"{result['unlisted']} of them unlisted, of at most {result['max_steps']}",
                where=f"{who}: $.result.calls",
                expected=f"{result['unlisted']} to {result['max_steps']}",
                found=result["calls"],
            )
        bound = commitment("result", row.result, bytes.fromhex(says["salt"]))
        try:
            verify_inclusion(leaf_hash(bound), says["position"], count, list(map(bytes.fromhex, says["proof"])), root)
        except Broken as error:
            raise error.with_message(f"{who} is not under the results root {root.hex()}: {error}", who) from None


    def _require_totals(
        case: AuditState, run: OpenedRun, score: LoggedStatement, rows: Sequence[Mapping[str, Any]]
    ) -> None:
        number, stated = run.line["run"], run.line["totals"]
        computed = totals_of(number, case.cohort, rows)
        if computed != stated:
            wrong = next(key for key in computed if computed[key] != stated[key])
            raise Broken(
                f"the results of run {number} give {wrong} = {computed[wrong]}, its totals say {stated[wrong]}",
                where=f"{contents.RUNS}: $.totals of run {number}",
                expected=computed,
                found=stated,
            )
        promised = next(t["commitment"] for t in score.statement.predicate["totals"] if t["cohort"] == case.cohort)
        if not opens("totals", canonical(stated), bytes.fromhex(run.line["totals_salt"]), bytes.fromhex(promised)):
            raise Broken(
                f"the totals of run {number} do not open {promised} at leaf {score.index}",
                where=f"{contents.RUNS}: the commitment to $.totals of run {number}",
                expected=promised,
                found=commitment("totals", canonical(stated), bytes.fromhex(run.line["totals_salt"])),
            )


    def _require_count(case: AuditState, opened: LoggedStatement, count: int) -> None:
        named = opened.statement.predicate["cohorts"]
        wanted = sum(len(case.history.members(name, opened.index)) for name in named)
        if count != wanted:
            run = opened.statement.predicate["run"]
            raise Broken(
                f"run {run} was served {wanted} tasks, its score binds {count} results",
                where=f"the score of run {run}: $.predicate.count",
                expected=wanted,
                found=count,
            )


    def _score(run: OpenedRun) -> LoggedStatement:
        if run.run.close is None:
            raise Broken(f"run {run.line['run']} has no score", where=f"the score of run {run.line['run']}")
        return run.run.close


    def _require_same(case: AuditState, name: str, pieces: Callable[[], Iterable[bytes]]) -> None:
        """Compare a file with what it should be: by its digest in the manifest, and its bytes only where that differs."""
        digest = hashlib.sha256()
        for piece in pieces():
            digest.update(piece)
        if digest.hexdigest() == case.bundle.manifest["files"][name]["sha256"]:
            return
        actual, expected = case.bundle.whole(name), b"".join(pieces())
        at = next(
            (i for i, (a, b) in enumerate(zip(actual, expected, strict=False)) if a != b), min(len(actual), len(expected))
        )
        raise Broken(
            f"{name} differs from what was opened at byte {at}: {actual[at : at + 40]!r}, not {expected[at : at + 40]!r}",
            where=f"{name}: from byte {at} to the end",
            **_readable(expected=expected[at:], found=actual[at:]),
        )


    def _readable(**pieces: bytes) -> dict[str, Any]:
        """Give pieces of files as text if all are, otherwise as they are."""
        try:
            return {name: piece.decode() for name, piece in pieces.items()}
        except UnicodeDecodeError:
            return dict(pieces)

    return SimpleNamespace(**locals())


vault_ledger_audit_result_steps = vault_ledger_audit_result_steps()


def vault_ledger_statements_spot_check():
    """Spot-check rule: which results are judged again, from a seed that nobody can use before the last result is bound.

    HMAC-SHA256(seed, "quarterturn/spot-check/v1\\n" || root || "\\n<run>/<task id>")

A result is judged again where the first eight bytes, as a big-endian number, are below 2^64 / 20. The seed (32 bytes)
is committed to in the month's `set` statement and opened in its `retire` statement, so that whoever keeps the log
cannot choose it afterwards. The root is the log's up to and with the month's last `score`, so that whoever has seen the
seed cannot know the choice while a result of the month is still to be judged.

An auditor runs this module, so it imports the standard library only.
"""

    commitment = vault_commitment.commitment


    LABEL = "spot-check"
    """Of the commitment to the seed, and of what is made with the seed."""
    ONE_IN = 20


    def is_chosen(seed: bytes, root: bytes, run: int, task: str) -> bool:
        """Say whether a run's result on a task is judged again; `seed` and `root` have 32 bytes each."""
        mark = commitment(LABEL, root + f"\n{run}/{task}".encode(), seed)
        return int.from_bytes(mark[:8], "big") * ONE_IN < 1 << 64

    return SimpleNamespace(**locals())


vault_ledger_statements_spot_check = vault_ledger_statements_spot_check()


def vault_ledger_audit_spot_check_step():
    """Audit step 15: the results that were judged again are those that the promised seed chooses."""

    commitment = vault_commitment.commitment
    opens = vault_commitment.opens
    Broken = vault_errors.Broken
    AuditState = vault_ledger_audit_evidence.AuditState
    Outcome = vault_ledger_audit_log_steps.Outcome
    LoggedStatement = vault_ledger_statements_history.LoggedStatement
    LABEL = vault_ledger_statements_spot_check.LABEL
    is_chosen = vault_ledger_statements_spot_check.is_chosen
    root_from = vault_ledger_tree_merkle.root_from




    def spot_check(case: AuditState) -> Outcome:
        """15. As many results of the month were chosen to be judged again as the promised seed chooses."""
        promised, at = case.history.last_set(case.retired.index), case.retired.index
        stated, says = (entry.statement.predicate.get("spot_check") for entry in (promised, case.retired))
        if stated is None and says is None:
            return "not asked", f"the set statement of {case.month} promises no spot check"
        if stated is None:
            raise Broken(
                f"leaf {at} opens a spot check, and the set statement at leaf {promised.index} promises none",
                where=f"leaf {at}: $.predicate.spot_check",
                found=says,
            )
        if says is None:
            raise Broken(
                f"the set statement at leaf {promised.index} promises a spot check, and leaf {at} opens none",
                where=f"leaf {at}: $.predicate.spot_check",
                expected={"commitment": stated},
            )
        seed, salt = bytes.fromhex(says["seed"]), bytes.fromhex(says["salt"])
        if not opens(LABEL, seed, salt, bytes.fromhex(stated)):
            raise Broken(
                f"the seed of the spot check at leaf {at} does not open {stated} at leaf {promised.index}",
                where=f"leaf {at}: the commitment to $.predicate.spot_check.seed",
                expected=stated,
                found=commitment(LABEL, seed, salt),
            )
        bound = _bound(case, promised)
        chosen = _chosen(case, seed, bound)
        if says["chosen"] != chosen:
            raise Broken(
                f"the seed at leaf {at} chooses {chosen} results of {case.month}, the leaf says {says['chosen']}",
                where=f"leaf {at}: $.predicate.spot_check.chosen",
                expected=chosen,
                found=says["chosen"],
            )
        if not says["differed"] <= says["judged"] <= chosen:
            raise Broken(
                f"leaf {at} says that of {chosen} chosen results {says['judged']} were judged again, "
                f"and {says['differed']} differed",
                where=f"leaf {at}: $.predicate.spot_check",
                expected="differed <= judged <= chosen",
                found={name: says[name] for name in ("differed", "judged", "chosen")},
            )
        return "proved", _sentence(says, sum(len(tasks) for _, _, tasks in bound))


    def _bound(case: AuditState, promised: LoggedStatement) -> Sequence[tuple[int, int, Sequence[str]]]:
        """Give each run that was scored under the month's set: its number, its `score` leaf, and its tasks."""
        bound = []
        for number, run in case.history.runs.items():
            close = run.close
            if not promised.index < run.open.index < case.retired.index or close is None:
                continue
            if close.statement.kind == "score" and close.index < case.retired.index:
                cohorts = run.open.statement.predicate["cohorts"]
                tasks = [task for name in cohorts for task in case.history.members(name, run.open.index)]
                bound.append((number, close.index, tasks))
        return bound


    def _chosen(case: AuditState, seed: bytes, bound: Sequence[tuple[int, int, Sequence[str]]]) -> int:
        if not bound:
            return 0
        root = root_from(case.tree.node, 1 + max(leaf for _, leaf, _ in bound))
        return sum(is_chosen(seed, root, number, task) for number, _, tasks in bound for task in tasks)


    def _sentence(says: Mapping[str, Any], count: int) -> str:
        chosen, judged, differed = says["chosen"], says["judged"], says["differed"]
        left = f" and {chosen - judged} could not be" if judged < chosen else ""
        came = "none came out otherwise" if not differed else f"{differed} CAME OUT OTHERWISE, and count as they were bound"
        return (
            f"the promised seed chooses {chosen} of the month's {count} results; the operator says that {judged} were "
            f"judged again{left}: {came}"
        )

    return SimpleNamespace(**locals())


vault_ledger_audit_spot_check_step = vault_ledger_audit_spot_check_step()


def vault_ledger_statements_leaf():
    """Builders of the log's leaves, one for each kind of statement.

A leaf's bytes are a statement in canonical JSON; `Statement.parse` reads it back. The kinds and their shapes are in
`vault.ledger.statements.statement`, the formats in `docs/reference/ledger-formats.md`.
"""

    Signer = vault_ledger_signatures_note.Signer
    key_epochs = vault_ledger_statements_key_epochs
    KINDS = vault_ledger_statements_statement.KINDS
    Statement = vault_ledger_statements_statement.Statement
    statement = vault_ledger_statements_statement.statement



    __all__ = [
        "KINDS",
        "Statement",
        "abort",
        "commit",
        "key",
        "retire",
        "run_open",
        "score",
        "set_of_tasks",
        "sha256_hex",
        "statement",
        "withdraw",
    ]


    def commit(task: str, commitment: bytes, *, spec: str, provenance: bytes, public_grammar: bool) -> bytes:
        """Commit to a task: its id, its commitment, and the commitment to its provenance."""
        predicate = {"spec": spec, "provenance": provenance.hex(), "public_grammar": public_grammar}
        return statement("commit", task, commitment.hex(), predicate)


    def set_of_tasks(
        *,
        month: str,
        root: bytes,
        previous: int | None,
        cohorts: Sequence[Mapping[str, Any]],
        reserve: Mapping[str, Sequence[str]],
        counts: Mapping[str, int],
        next_draw: bytes,
        public_grammar: bool,
        month_key: bytes | None = None,
        access_log: tuple[int, bytes] | None = None,
        spot_check: bytes | None = None,
    ) -> bytes:
        """State which tasks are live, what will retire when, and the order of the reserve.

    Args:
        month: `YYYY-MM` that the set is for.
        root: root over all live tasks' commitments (`merkle.set_root`).
        previous: index of the last `set` leaf, None for the first.
        cohorts: the live cohorts, `{"id", "retires", "count", "root", "tasks"}` each: `tasks` are ids in the order in
            which they will retire, `root` (hex) is `merkle.set_root` over their commitments.
        reserve: commitments (hex) by stratum, in the order in which they will be used.
        counts: `{"unseen": n, "seen": n}`: live tasks of skeletons that nobody has seen, and of others.
        next_draw: commitment to the next cohort's draw seed.
        public_grammar: whether any live task was drawn from a public grammar.
        month_key: the Ed25519 key (32 bytes) that signs the head over this statement, if one does.
        access_log: how many entries the operator's access log had, and a commitment to how it ended.
        spot_check: commitment to the seed that chooses which of the month's results are judged again.
    """
        predicate = {
            "month": month,
            "previous": previous,
            "count": sum(item["count"] for item in cohorts),
            "cohorts": [dict(item) for item in cohorts],
            "reserve": {stratum: list(items) for stratum, items in reserve.items()},
            "counts": dict(counts),
            "next_draw": next_draw.hex(),
            "public_grammar": public_grammar,
            **({} if month_key is None else {"month_key": month_key.hex()}),
            **({} if access_log is None else {"access_log": _access_log(*access_log)}),
            **({} if spot_check is None else {"spot_check": spot_check.hex()}),
        }
        return statement("set", f"set/{month}", root.hex(), predicate)


    def _access_log(entries: int, commitment: bytes) -> dict[str, Any]:
        return {"entries": entries, "commitment": commitment.hex()}


    def run_open(
        *,
        run: int,
        commitment: bytes,
        month: str,
        track: str,
        set_root: bytes,
        cohorts: Sequence[str],
        size: int,
        root: bytes,
    ) -> bytes:
        """Announce a run before its first task is served.

    Args:
        run: its number; `commitment` hides whose it is.
        commitment: to `{"submitter", "submission", "attempt"}`, label `run-open`.
        month: `YYYY-MM`.
        track: `docker`, `endpoint` or `docker-model-gateway`, or another word.
        set_root: root of the last `set` statement.
        cohorts: ids of the cohorts that it is served.
        size: size of an earlier checkpoint that covers the commits of these cohorts and the `set` statement.
        root: that checkpoint's root.
    """
        predicate = {
            "run": run,
            "month": month,
            "track": track,
            "set": set_root.hex(),
            "cohorts": list(cohorts),
            "checkpoint": {"size": size, "root": root.hex()},
        }
        return statement("run-open", f"run/{run}", commitment.hex(), predicate)


    def score(
        *, run: int, month: str, track: str, count: int, results_root: bytes, totals: Sequence[tuple[str, bytes]]
    ) -> bytes:
        """Commit to a run's results: `count` of them under `results_root`, and one commitment for each cohort's totals."""
        predicate = {
            "run": run,
            "month": month,
            "track": track,
            "count": count,
            "results_root": results_root.hex(),
            "totals": [{"cohort": name, "commitment": commitment.hex()} for name, commitment in totals],
        }
        return statement("score", f"run/{run}", results_root.hex(), predicate)


    def abort(*, run: int, month: str, reason: str, commitment: bytes) -> bytes:
        """Close a run without a score; `commitment` repeats the `run-open` statement's."""
        return statement("abort", f"run/{run}", commitment.hex(), {"run": run, "month": month, "reason": reason})


    def retire(
        *,
        month: str,
        cohort: str,
        manifest: str,
        tasks: Sequence[Mapping[str, str]],
        spot_check: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Open a retired cohort.

    Args:
        month: `YYYY-MM`.
        cohort: its id.
        manifest: sha256 (hex) of the bundle's manifest.
        tasks: `{"id", "commitment", "sha256"}` (hex; the hash of the canonical task), in the promised order.
        spot_check: `{"seed", "salt", "chosen", "judged", "differed"}`: what opens the month's seed (hex), and how many
            results it chose, were judged again, and came out otherwise; None where the month's set promised none.
    """
        predicate: dict[str, Any] = {"month": month, "cohort": cohort, "tasks": [dict(task) for task in tasks]}
        if spot_check is not None:
            predicate["spot_check"] = dict(spot_check)
        return statement("retire", f"Historical-{month}", manifest, predicate)


    def withdraw(task: str, commitment: bytes, *, month: str, cause: str, reason: str, replacement: str | None) -> bytes:
        """Withdraw a task in an emergency.

    Args:
        task: its id.
        commitment: its commitment.
        month: `YYYY-MM`.
        cause: `leak`, and the results that are bound already go on counting; or `broken`, and it counts in no run.
        reason: one line for people.
        replacement: the id of the next of its stratum's reserve, or None.
    """
        predicate = {"month": month, "cause": cause, "reason": reason, "replacement": replacement}
        return statement("withdraw", task, commitment.hex(), predicate)


    def sha256_hex(data: bytes) -> str:
        """Hash bytes for a digest field."""
        return hashlib.sha256(data).hexdigest()


    def key(*, old: Signer, new: Signer, size: int) -> bytes:
        """Hand the log over: heads over more than `size` leaves, which is this leaf's index, are the new key's."""
        message = key_epochs.text(old.verifier.vkey, new.verifier.vkey, size)
        signatures = {
            word: base64.b64encode(signer.key.sign(message)).decode() for word, signer in (("old", old), ("new", new))
        }
        predicate = {"old": old.verifier.vkey, "new": new.verifier.vkey, "size": size, "signatures": signatures}
        return statement("key", new.name, sha256_hex(new.verifier.public), predicate)

    return SimpleNamespace(**locals())


vault_ledger_statements_leaf = vault_ledger_statements_leaf()


def vault_ledger_audit_task_steps():
    """Audit steps 7 to 9: the retired tasks are those that were committed to before any run used them."""

    commitment = vault_commitment.commitment
    opens = vault_commitment.opens
    Broken = vault_errors.Broken
    AuditedTask = vault_ledger_audit_evidence.AuditedTask
    AuditState = vault_ledger_audit_evidence.AuditState
    Outcome = vault_ledger_audit_log_steps.Outcome
    contents = vault_ledger_release_contents
    LoggedStatement = vault_ledger_statements_history.LoggedStatement
    listed = vault_ledger_statements_history.listed
    canonical = vault_ledger_statements_jcs.canonical
    parse_canonical = vault_ledger_statements_jcs.parse_canonical
    sha256_hex = vault_ledger_statements_leaf.sha256_hex
    DocumentShape = vault_ledger_statements_shape.DocumentShape
    matching = vault_ledger_statements_shape.matching
    one_of = vault_ledger_statements_shape.one_of
    positive = vault_ledger_statements_shape.positive



    _REVIEW_ONE_IN = 20  # more withdrawn tasks than this share of a cohort ask for a review
    _COHORTS = 4

    _NEEDED: Mapping[str, DocumentShape] = {
        "id": matching(r"t-[a-z2-7]{16}", "a task's id"),
        "server": matching(r"[a-z0-9-]{1,64}", "a server's name"),
        "category": one_of("single-tool", "composition", "recovery"),
        "difficulty": one_of("easy", "medium", "hard"),
        "max_steps": positive,
    }


    def commitments(case: AuditState) -> Outcome:
        """7. Every task that retired, or was withdrawn and is due, opens the commitment that its `commit` leaf made."""
        case.tasks, case.withdrawn = {}, {}
        stated = case.retired.statement.predicate["tasks"]
        withdrawn = [{"id": e.statement.name, "commitment": e.digest} for e in case.history.opened_with(case.retired)]
        if (contents.WITHDRAWN in case.bundle.manifest["files"]) != bool(withdrawn):
            due = ", ".join(task["id"] for task in withdrawn) or "none"
            raise Broken(
                f"{contents.WITHDRAWN} opens what was withdrawn; by the log that is {due}",
                where=f"{contents.MANIFEST}: $.files",
                expected=[name for name in (contents.WITHDRAWN,) if withdrawn],
                found=[name for name in (contents.WITHDRAWN,) if not withdrawn],
            )
        files = [
            (contents.TASKS, stated, case.tasks),
            *([(contents.WITHDRAWN, withdrawn, case.withdrawn)] if withdrawn else []),
        ]
        openings = case.bundle.lines(contents.OPENINGS, contents.OPENING_LINE)
        provenance = variants = 0
        for name, wanted, into in files:
            for number, (says, line) in enumerate(zip_longest(wanted, case.bundle.raw_lines(name)), 1):
                opening = next(openings, None)
                if says is None or line is None or opening is None:
                    raise Broken(
                        f"the log, {name} and {contents.OPENINGS} differ in length from {number}",
                        where=f"line {number} of {name}",
                        expected={"task": says and says["id"]},
                        found={"line": line, "opening": opening and opening[0]},
                    )
                into[says["id"]] = _open(case, f"line {number} of {name}", says, line, opening[1])
                provenance += _open_provenance(case, opening[1])
                variants += "variant_key" in opening[1]
        if (opening := next(openings, None)) is not None:
            raise Broken(
                f"{contents.OPENINGS} has more lines than there are tasks",
                where=f"line {len(case.tasks) + len(case.withdrawn) + 1} of {contents.OPENINGS}",
                found=opening[1],
            )
        remarks = f"; {provenance} of them open their provenance" if provenance else ""
        remarks += f"; {variants} were served in variants, whose keys are those committed to" if variants else ""
        remarks += f"; {len(withdrawn)} of them left early" if withdrawn else ""
        return "proved", f"{len(case.tasks) + len(withdrawn)} tasks open their commitments, byte for byte{remarks}"


    def promise(case: AuditState) -> Outcome:
        """8. What retired is what was promised - withdrawn + refills, in that order, and a quarter of the set."""
        at = case.retired.index
        members = case.history.members(case.cohort, at)
        retired = list(case.tasks)
        if retired != members:
            place = next(i for i, pair in enumerate(zip_longest(retired, members)) if pair[0] != pair[1])
            raise Broken(
                f"task {place + 1} of {case.cohort} should be {_at(members, place)}, it is {_at(retired, place)}",
                where=f"{contents.TASKS}: $.id of all lines",
                expected=members,
                found=retired,
            )
        case.history.require_refills(case.retired, {name: task.stratum for name, task in case.withdrawn.items()})
        recomputed = case.history.require_roots(case.cohort)
        _require_quarter(case)
        _require_strata(case)
        withdrawn = case.history.withdrawn(case.cohort)
        withdrawals = f"; {len(withdrawn)} were withdrawn" if withdrawn else ""
        review = "; more than 5 % were withdrawn: review" if len(withdrawn) * _REVIEW_ONE_IN > len(members) else ""
        roots = f"; {recomputed} set roots could be recomputed" if recomputed else ""
        return (
            "proved",
            f"the {len(members)} retired tasks are the promised ones in the promised order{withdrawals}{review}{roots}",
        )


    def order(case: AuditState) -> Outcome:
        """9. Every run that used the cohort names a set and a checkpoint that already covered its tasks' commitments."""
        count = 0
        for run in case.history.runs.values():
            if case.cohort in run.open.statement.predicate["cohorts"]:
                _require_order(case, run.open)
                count += 1
        return "proved", f"the commitments stand before each of the {count} runs that used them, and under its checkpoint"


    def _open(case: AuditState, what: str, says: Mapping[str, Any], line: bytes, opening: Mapping[str, Any]) -> AuditedTask:
        document = parse_canonical(line, what)
        if not isinstance(document, dict):
            raise Broken(f"{what} is no task", where=what, expected="an object", found=document)
        for key, shape in _NEEDED.items():
            shape(document.get(key), f"{what}: $.{key}")
        name = document["id"]
        if not name == opening["id"] == says["id"]:
            raise Broken(
                f"{what} is {name}, its opening is of {opening['id']}, the log names {says['id']}",
                where=f"{what}: $.id",
                expected=says["id"],
                found={"task": name, "opening": opening["id"]},
            )
        if name in case.tasks or name in case.withdrawn:
            raise Broken(f"{name} stands twice, again in {what}", where=f"{what}: $.id", found=name)
        digest = sha256_hex(line)
        if digest != says.get("sha256", digest):
            raise Broken(
                f"{name} has the sha256 {digest}, the retire statement says {says['sha256']}",
                where=f"{what}: sha256",
                expected=says["sha256"],
                found=digest,
            )
        commit = case.history.commit_of(name, case.retired.index)
        if commit.index != opening["commit"]:
            raise Broken(
                f"{name} is committed to at leaf {commit.index}, its opening says {opening['commit']}",
                where=f"{contents.OPENINGS}: $.commit of {name}",
                expected=commit.index,
                found=opening["commit"],
            )
        if not commit.digest == opening["commitment"] == says["commitment"]:
            raise Broken(
                f"{name} has the commitment {commit.digest} at leaf {commit.index}, {says['commitment']} where it "
                f"leaves, {opening['commitment']} in its opening",
                where=f"the commitment of {name}",
                expected=commit.digest,
                found={"leaves": says["commitment"], "opening": opening["commitment"]},
            )
        salt = bytes.fromhex(opening["salt"])
        if not opens("commit", line, salt, bytes.fromhex(commit.digest)):
            raise Broken(
                f"{name} and its salt {opening['salt']} do not open the commitment {commit.digest}",
                where=f"{what}: the commitment to it",
                expected=commit.digest,
                found=commitment("commit", line, salt),
            )
        _require_variant_key(document, opening)
        if opening["canary"] != case.bundle.manifest["canary"]:
            raise Broken(
                f"the opening of {name} bears the canary {opening['canary']}, which is not this release's",
                where=f"{contents.OPENINGS}: $.canary of {name}",
                expected=case.bundle.manifest["canary"],
                found=opening["canary"],
            )
        stratum = f"{document['server']}/{document['category']}/{document['difficulty']}"
        return AuditedTask(digest, stratum, document["category"], document["max_steps"])


    def _require_variant_key(document: Mapping[str, Any], opening: Mapping[str, Any]) -> None:
        """A task's document names the SHA-256 of its variant key, if it has one, so the key was chosen before any run."""
        stated, key = document.get("variant_key"), opening.get("variant_key")
        computed = sha256_hex(bytes.fromhex(key)) if key is not None else None
        if computed != stated:
            raise Broken(
                f"{document['id']} was committed to with the variant key of sha256 {stated}, its opening gives one of "
                f"{computed}",
                where=f"{contents.OPENINGS}: the sha256 of $.variant_key of {document['id']}",
                expected=stated,
                found=computed,
            )


    def _open_provenance(case: AuditState, opening: Mapping[str, Any]) -> bool:
        document, salt = opening["provenance"], opening["provenance_salt"]
        if document is None and salt is None:
            return False
        if document is None or salt is None:
            raise Broken(
                f"the provenance of {opening['id']} is opened by half: it needs the document and its salt",
                where=f"{contents.OPENINGS}: $.provenance and $.provenance_salt of {opening['id']}",
                found=[document, salt],
            )
        stated = case.history.commits[opening["id"]].statement.predicate["provenance"]
        if not opens("provenance", canonical(document), bytes.fromhex(salt), bytes.fromhex(stated)):
            raise Broken(
                f"the provenance of {opening['id']} and its salt do not open the commitment {stated}",
                where=f"{contents.OPENINGS}: the commitment to $.provenance of {opening['id']}",
                expected=stated,
                found=commitment("provenance", canonical(document), bytes.fromhex(salt)),
            )
        return True


    def _require_quarter(case: AuditState) -> None:
        """A gap that a withdrawal left is counted as the task that was promised."""
        promised = case.history.last_set(case.retired.index)
        item = listed(promised, case.cohort)
        if item is None or item["retires"] != case.month:
            raise Broken(
                f"the set at leaf {promised.index} does not promise {case.cohort} for {case.month}",
                where=f"leaf {promised.index}: $.retires of {case.cohort}",
                expected=case.month,
                found=item and item["retires"],
            )
        says = promised.statement.predicate
        gaps = {cohort["id"]: case.history.gaps(cohort["id"], promised.index) for cohort in says["cohorts"]}
        own, count = item["count"] + gaps[case.cohort], says["count"] + sum(gaps.values())
        if abs(_COHORTS * own - count) > _COHORTS:
            raise Broken(
                f"{own} tasks retire of {count}: that is not a quarter within one task",
                where=f"the number of tasks that retire of {count}",
                expected=f"{-(-(count - _COHORTS) // _COHORTS)} to {(count + _COHORTS) // _COHORTS}",
                found=own,
            )


    def _require_strata(case: AuditState) -> None:
        """A refill must be of the stratum whose reserve it stood in."""
        opened = {**case.tasks, **case.withdrawn}
        stratum_of = {case.history.commits[name].digest: task.stratum for name, task in opened.items()}
        for entry in case.history.of("set"):
            for stratum, reserve in entry.statement.predicate["reserve"].items():
                for item in reserve:
                    if stratum_of.get(item, stratum) != stratum:
                        raise Broken(
                            f"the reserve of {stratum} at leaf {entry.index} held a task of {stratum_of[item]}",
                            where=f"leaf {entry.index}: $.predicate.reserve: the stratum of {item}",
                            expected=stratum,
                            found=stratum_of[item],
                        )


    def _require_order(case: AuditState, opened: LoggedStatement) -> None:
        says = opened.statement.predicate
        who = f"run {says['run']} at leaf {opened.index}"
        if opened.index > case.retired.index:
            raise Broken(
                f"{who} was served {case.cohort} after it retired at leaf {case.retired.index}",
                where=f"the index of {who}",
                expected=f"0 to {case.retired.index - 1}",
                found=opened.index,
            )
        promised = case.history.last_set(opened.index)
        if promised.digest != says["set"]:
            raise Broken(
                f"{who} names the set {says['set']}, the last one is {promised.digest} at leaf {promised.index}",
                where=f"leaf {opened.index}: $.predicate.set",
                expected=promised.digest,
                found=says["set"],
            )
        covered = says["checkpoint"]["size"]
        if promised.index >= covered:
            raise Broken(
                f"{who} names a checkpoint of size {covered}, which does not cover its set at {promised.index}",
                where=f"leaf {opened.index}: $.predicate.checkpoint.size",
                expected=f"{promised.index + 1} or more",
                found=covered,
            )
        for name in says["cohorts"]:
            if listed(promised, name) is None:
                raise Broken(
                    f"{who} was served {name}, which the set at leaf {promised.index} does not list",
                    where=f"leaf {opened.index}: $.predicate.cohorts",
                    expected=[item["id"] for item in promised.statement.predicate["cohorts"]],
                    found=name,
                )
        for task in case.history.members(case.cohort, opened.index):
            case.history.commit_of(task, covered)


    def _at(names: list[str], place: int) -> str:
        return names[place] if place < len(names) else "no task"

    return SimpleNamespace(**locals())


vault_ledger_audit_task_steps = vault_ledger_audit_task_steps()


def vault_ledger_audit_verify():
    """Audit of a `Historical-YYYY-MM` bundle that trusts nobody but the keys that the caller gives.

The argument, and the attack that each step stops:

 1. the files are those of the manifest                          a file was edited, added or left out
 2. a given key signed the log's checkpoint, a quorum cosigned   a log of somebody else's, or one shown to you alone
 3. the leaves and tiles rebuild the checkpoint's root           a leaf was changed, moved or left out
 4. every leaf is a statement in canonical bytes                 one leaf that two readers read differently
 5. every checkpoint that a run names is signed and of this log  a history made up afterwards
 6. the `retire` statement names this manifest                   another opening than the one that was logged
 7. every task opens its commitment                              a task was swapped after the scores
 8. retired = promised - withdrawn + refills, a quarter          tasks were chosen when they hurt
 9. commits stand before every run that used them                tasks were made to fit an agent
10. every run is closed, opened, of its track and in its order   bad runs were dropped, or counted as later ones
11. the results open and add up to the committed totals          results were edited or left out
12. aggregate, attestation and README follow from the above      figures that nobody measured
13. the log extends the checkpoint that the caller kept          history was rewritten since
14. a month's full score                                         pending until its last cohort is opened
15. what was judged again is what the promised seed chooses      results picked for being right

Each step returns a sentence that says what it proved, or raises with the bytes that disagree: the report shows them
beneath the step. The first failure ends the argument, because later steps rest on earlier ones. Standard library and
`cryptography` only.
"""

    VaultError = vault_errors.VaultError
    log_steps = vault_ledger_audit_log_steps
    result_steps = vault_ledger_audit_result_steps
    spot_check_step = vault_ledger_audit_spot_check_step
    task_steps = vault_ledger_audit_task_steps
    AuditState = vault_ledger_audit_evidence.AuditState
    Outcome = vault_ledger_audit_log_steps.Outcome
    AuditReport = vault_ledger_audit_report.AuditReport
    Step = vault_ledger_audit_report.Step
    caveats = vault_ledger_audit_report.caveats
    Policy = vault_ledger_signatures_policy.Policy



    STEPS: Mapping[str, Callable[[AuditState], Outcome]] = {
        "files": log_steps.files,
        "checkpoint": log_steps.checkpoint,
        "root": log_steps.root,
        "statements": log_steps.statements,
        "named checkpoints": log_steps.named,
        "retirement": log_steps.retirement,
        "commitments": task_steps.commitments,
        "promise": task_steps.promise,
        "order": task_steps.order,
        "runs": result_steps.runs,
        "results": result_steps.results,
        "figures": result_steps.figures,
        "consistency": log_steps.consistency,
        "full score": result_steps.full_score,
        "spot check": spot_check_step.spot_check,
    }


    def audit(folder: Path, keys: Sequence[str], previous: str | None = None, policy: Policy | None = None) -> AuditReport:
        """Audit a bundle; any defect becomes a failed step, never an exception.

    Args:
        folder: the bundle.
        keys: verifier keys of the log (`NAME+ID+KEY`), from anywhere but the bundle.
        previous: a signed checkpoint that the caller kept from before, if any.
        policy: which witnesses must have cosigned the log's head, from anywhere but the bundle; none if it is None.
    """
        case = AuditState(folder, list(keys), previous, policy)
        steps: list[Step] = []
        for number, name in enumerate(STEPS, 1):
            if steps and not steps[-1].ok:
                steps.append(Step(number, name, ok=False, proved="", state="not reached"))
            else:
                steps.append(_step(number, name, case))
        remarks = caveats(case.witnesses, case.unchecked)
        return AuditReport(all(step.ok for step in steps), steps, case.pending, remarks)


    def _step(number: int, name: str, case: AuditState) -> Step:
        try:
            state, proved = STEPS[name](case)
        except VaultError as error:
            return Step(number, name, ok=False, proved="", detail=str(error), state="failed", evidence=error.evidence)
        return Step(number, name, ok=True, proved=proved, state=state)

    return SimpleNamespace(**locals())


vault_ledger_audit_verify = vault_ledger_audit_verify()


def vault_ledger_audit_command():
    """Command line of the audit, for the single file `audit.py`: arguments, output and exit codes.

Exit codes: 0 the audit passed, 1 a step failed, 2 malformed input, 3 a file is missing.
"""

    Malformed = vault_errors.Malformed
    NotFound = vault_errors.NotFound
    VaultError = vault_errors.VaultError
    audit = vault_ledger_audit_verify.audit
    Checkpoint = vault_ledger_signatures_checkpoint.Checkpoint
    Verifier = vault_ledger_signatures_note.Verifier
    take_apart = vault_ledger_signatures_note.take_apart
    Policy = vault_ledger_signatures_policy.Policy



    CODES = {"malformed": 2, "not-found": 3}


    def read_text(path: Path) -> str:
        """Read a text file.

    Raises:
        NotFound: there is no such file.
        Malformed: it is no text.
    """
        try:
            return path.read_text(encoding="utf-8")
        except (FileNotFoundError, IsADirectoryError) as error:
            raise NotFound(f"there is no file {path}") from error
        except UnicodeDecodeError as error:
            raise Malformed(f"{path} is not text") from error


    def require_release(folder: Path) -> None:
        """Refuse a folder that was never a release; one that lacks some of its files is for the audit to refuse.

    Raises:
        NotFound: there is no such folder, or neither a manifest nor a log in it.
    """
        if not folder.is_dir():
            raise NotFound(f"there is no release folder {folder}")
        if not (folder / "manifest.json").exists() and not (folder / "log").exists():
            raise NotFound(f"{folder} is no release folder: there is no manifest.json in it; name one Historical-YYYY-MM")


    def read_keys(path: Path) -> list[str]:
        """Read a file with a log's verifier keys, one a line: its former keys if it had any, then its present one.

    Raises:
        NotFound: there is no such file.
        Malformed: it holds no such key.
    """
        try:
            return [Verifier.parse(line).vkey for line in read_text(path).strip().split("\n")]
        except Malformed as error:
            raise error.with_message(f"the key file {path} cannot be used: {error}", str(path)) from None


    def read_checkpoint(path: Path) -> str:
        """Read a checkpoint that the caller kept, from a file.

    Raises:
        NotFound: there is no such file.
        Malformed: it holds no checkpoint.
    """
        text = read_text(path)
        try:
            Checkpoint.parse(take_apart(text)[0])
        except Malformed as error:
            raise error.with_message(f"{path} holds no checkpoint: {error}", str(path)) from None
        return text


    def read_policy(path: Path) -> Policy:
        """Read a policy file that names the trusted logs and witnesses (C2SP tlog-policy).

    Raises:
        NotFound: there is no such file.
        Malformed: it holds no policy.
    """
        try:
            return Policy.parse(path.read_bytes())
        except (FileNotFoundError, IsADirectoryError) as error:
            raise NotFound(f"there is no file {path}") from error
        except Malformed as error:
            raise error.with_message(f"{path} holds no policy: {error}", str(path)) from None


    def main(arguments: Sequence[str] | None = None) -> int:
        """Run the audit with command line arguments; gives the exit code."""
        parser = argparse.ArgumentParser(prog="audit.py", description="Check a release without trusting anybody.")
        parser.add_argument("bundle", type=Path, help="a release folder, Historical-YYYY-MM")
        parser.add_argument("--key", type=Path, action="append", required=True, help="a file with the log's verifier keys")
        parser.add_argument(
            "--policy", type=Path, help="a tlog-policy file: the witnesses that must have cosigned the log's heads"
        )
        parser.add_argument("--previous", type=Path, help="a file with an older checkpoint that you kept")
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        given = parser.parse_args(arguments)
        try:
            require_release(given.bundle)
            keys = [key for path in given.key for key in read_keys(path)]
            policy = read_policy(given.policy) if given.policy else None
            report = audit(given.bundle, keys, read_checkpoint(given.previous) if given.previous else None, policy)
        except VaultError as error:
            sys.stderr.write(f"audit.py: {error}\n")
            return CODES.get(error.kind, 2)
        lines = [json.dumps(report.as_json(), sort_keys=True)] if given.json else report.lines()
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        return 0 if report.ok else 1

    return SimpleNamespace(**locals())


vault_ledger_audit_command = vault_ledger_audit_command()

if __name__ == "__main__":
    raise SystemExit(vault_ledger_audit_command.main())
