"""Forms of ledger documents, as plain data that the audit, its page and the JSON Schemas share.

A form is the name of a text pattern or of a basic type, `=a,b` for one of these words, `[form]` for
a list, or a mapping from names to forms: a closed object, in which a name that ends in `?` may be
missing, and the name `*pattern` stands for any names of that pattern. `name|null` and `[form, None]`
allow null.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from vault.errors import Malformed
from vault.ledger.statements.jcs import parse_canonical

Form = Any
TEXT_LIMIT = 1024  # characters

PATTERNS: Mapping[str, tuple[str, str]] = {
    "hash": ("[0-9a-f]{64}", "64 lower-case hexadecimal digits"),
    "month": (r"[0-9]{4}-(0[1-9]|1[0-2])", "a month, YYYY-MM"),
    "cohort": (r"cohort-[0-9]{4}-(0[1-9]|1[0-2])", "a cohort, cohort-YYYY-MM"),
    "task": (r"t-[a-z2-7]{16}", "a task's id, t- and 16 letters or digits of base 32"),
    "run": (r"run/[1-9][0-9]*", "run/ and a number"),
    "set": (r"set/[0-9]{4}-(0[1-9]|1[0-2])", "set/ and a month"),
    "release": (r"Historical-[0-9]{4}-(0[1-9]|1[0-2])", "Historical- and a month"),
    "guid": (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "a GUID in lower case"),
    "version": (r"(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){2}", "a version such as 1.0.0"),
    "fraction": (r"(0|[1-9][0-9]{0,499})/[1-9][0-9]{0,499}", "a fraction such as 7/12"),
    "stratum": (r"[a-z0-9-]+/[a-z0-9-]+/[a-z]+", "a stratum, server/category/difficulty"),
    "server": (r"[a-z0-9-]{1,64}", "a server's name"),
    "lifetime": (r"P[1-9][0-9]{0,2}[WMY]", "a duration in weeks, months or years such as P4M"),
    "word": (r"[a-z0-9][a-z0-9-]{0,63}", "a word of small letters, digits and hyphens"),
    "tag": (r"[0-9a-f]{1,128}", "an opaque tag in lower-case hexadecimal digits"),
    "vkey": (r"[^+\x00- ]+\+[0-9a-f]{8}\+[A-Za-z0-9+/=]+", "a verifier key"),
    "signature": (r"[A-Za-z0-9+/]{85}[AQgw]==", "the 64 bytes of a signature in base64"),
}
BASIC: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "text": (
        lambda value: isinstance(value, str) and 1 <= len(value) <= TEXT_LIMIT,
        f"text of 1 to {TEXT_LIMIT} characters",
    ),
    "string": (lambda value: isinstance(value, str), "text"),
    "boolean": (lambda value: isinstance(value, bool), "true or false"),
    "natural": (lambda value: type(value) is int and value >= 0, "a whole number, zero or more"),
    "positive": (lambda value: type(value) is int and value >= 1, "a whole number, one or more"),
    "object": (lambda value: isinstance(value, dict), "an object"),
}
_COMPILED = {name: re.compile(pattern, re.ASCII) for name, (pattern, _) in PATTERNS.items()}


def parse_form(form: Form, data: bytes, where: str) -> Any:
    """Read canonical JSON of a form from a table.

    Raises:
        Malformed: as `parse_canonical` and `require_form`.
    """
    if id(form) not in _compiled_json:
        _compiled_json[id(form)] = form, re.compile(json_pattern(form).encode())
    if _compiled_json[id(form)][1].fullmatch(data):
        return _scan(data.decode(), 0)[0]
    value = parse_canonical(data, where)
    require_form(form, value, where)
    return value


def require_form(form: Form, value: Any, path: str) -> None:
    """Refuse a value that has not a form.

    Raises:
        Malformed: the message gives the JSON path of the first part that is wrong.
    """
    if isinstance(form, str):
        if why := _fault(form, value):
            raise Malformed(f"{path} must be {why}", where=path)
    elif isinstance(form, list) and form[1:]:
        if value is not None:
            require_form(form[0], value, path)
    elif isinstance(form, list):
        if not isinstance(value, list):
            raise Malformed(f"{path} must be a list", where=path)
        for index, item in enumerate(value):
            require_form(form[0], item, f"{path}[{index}]")
    elif not isinstance(value, dict):
        raise Malformed(f"{path} must be an object", where=path)
    else:
        _require_members(form, value, path)


def _fault(form: str, value: Any) -> str:
    """Say what a value must be where it is not; nothing where it is."""
    name, _, null = form.partition("|")
    if null and value is None:
        return ""
    if name[0] == "=":
        words = name[1:].split(",")
        return "" if isinstance(value, str) and value in words else f"one of {', '.join(words)}"
    if name in BASIC:
        return "" if BASIC[name][0](value) else BASIC[name][1]
    matches = isinstance(value, str) and _COMPILED[name].fullmatch(value)
    return "" if matches else PATTERNS[name][1]


def _require_members(form: Mapping[str, Form], value: Mapping[str, Any], path: str) -> None:
    for name, inner in form.items():
        if name[0] == "*":
            for key, item in value.items():
                require_form(name[1:], key, f"a key of {path}")
                require_form(inner, item, f"{path}.{key}")
            return
        if name.rstrip("?") in value:
            require_form(inner, value[name.rstrip("?")], f"{path}.{name.rstrip('?')}")
        elif name[-1] != "?":
            raise Malformed(f"{path}.{name} is missing", where=f"{path}.{name}")
    if strange := sorted(value.keys() - {name.rstrip("?") for name in form}):
        raise Malformed(f"{path}: {strange[0][:60]!r} is not a key of this format", where=path)


_NEVER = "(?!)"
_TEXT = r'"[ !#-\[\]-~]{%s}"'  # printable ASCII without a quote and a backslash
_JSON: Mapping[str, str] = {
    "text": _TEXT % f"1,{TEXT_LIMIT}",
    "string": _TEXT % "0,",
    "boolean": "(?:true|false)",
    "natural": "(?:0|[1-9][0-9]{0,14})",
    "positive": "[1-9][0-9]{0,14}",
}
_scan = json.JSONDecoder().raw_decode
_compiled_json: dict[int, tuple[Form, re.Pattern[bytes]]] = {}  # by identity: a table stays


def json_pattern(form: Form) -> str:
    """Write a pattern that matches canonical JSON of a form, and no other; not all of it.

    A line that it matches needs no other check, which is most lines of a release. What it leaves
    out (escapes, letters beyond ASCII, long numbers, free objects) is parsed and checked in full.
    """
    if isinstance(form, list):
        inner = json_pattern(form[0])
        return f"(?:{inner}|null)" if form[1:] else rf"\[(?:{inner}(?:,{inner})*)?\]"
    if isinstance(form, str):
        name, _, null = form.partition("|")
        if name[0] == "=":
            inner = f'"(?:{"|".join(map(re.escape, name[1:].split(",")))})"'
        elif name in PATTERNS and "[^" not in PATTERNS[name][0]:
            inner = f'"{PATTERNS[name][0]}"'
        else:
            inner = _JSON.get(name, _NEVER)
        return f"(?:{inner}|null)" if null else inner
    members, is_first = "", True
    for name in sorted(form, key=lambda name: name.rstrip("?")):
        if name[0] == "*":
            return _NEVER
        member = f'"{re.escape(name.rstrip("?"))}":{json_pattern(form[name])}'
        if name[-1] == "?":
            members += f"(?:{member},)?" if is_first else f"(?:,{member})?"
        else:
            members, is_first = f"{members}{'' if is_first else ','}{member}", False
    return _NEVER if is_first else rf"\{{{members}\}}"
