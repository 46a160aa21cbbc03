"""Validator of JSON Schema (draft 2020-12) that says what is wrong without quoting the document.

The library's own messages repeat the value that is wrong, and the value may be a private task's. The sentences here
are made from the schema's side and from key names only, and every one carries the JSON path.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from vault.canonical import json_path

_SHOWN = 5
_SHORT = 80  # a longer pattern says less than none


def first_fault(validator: Validator, document: Any) -> tuple[str, str] | None:
    """Return the path of the first thing that is wrong, in document order, and a sentence on what belongs there."""
    faults = sorted(validator.iter_errors(document), key=lambda fault: [str(step) for step in fault.absolute_path])
    fault = best_match(faults[:1])  # of several allowed forms, the one that it comes nearest to
    return (json_path(list(fault.absolute_path)), _sentence(fault)) if fault else None


def _pattern(_: Validator, pattern: str, instance: Any, __: Any) -> Iterator[ValidationError]:
    # JSON Schema's `$` is ECMA-262's and matches at the very end; Python's would let one line break pass.
    if isinstance(instance, str) and not re.search(re.sub(r"\$\Z", r"\\Z", pattern), instance):
        yield ValidationError("pattern")


def _items(validator: Validator, items: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    # Thousands of choices are most of a task; the library takes as long for each as for a whole object.
    plain = isinstance(items, dict) and items.get("type") == "string" and items.keys() <= _OF_SHORT_TEXTS
    if plain and isinstance(instance, list):
        least, most = items.get("minLength", 0), items.get("maxLength", math.inf)
        if all(type(item) is str and least <= len(item) <= most for item in instance):
            return
    yield from Draft202012Validator.VALIDATORS["items"](validator, items, instance, schema)


_OF_SHORT_TEXTS = {"type", "minLength", "maxLength"}
Strict = extend(Draft202012Validator, {"pattern": _pattern, "items": _items})  # type: ignore[no-untyped-call]  # the stubs leave it open


def _sentence(fault: ValidationError) -> str:
    describe = _SENTENCES.get(str(fault.validator))
    if describe is None:
        return f"it breaks the schema's rule {fault.validator!r}"
    return describe(fault.validator_value, fault.instance, fault.schema)


def _names(names: list[str]) -> str:
    listing = ", ".join(json_path([name]).removeprefix("$").removeprefix(".") for name in names[:_SHOWN])
    return listing + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _missing(required: Any, value: Any, _: Any) -> str:
    return f"it lacks {_names([name for name in required if name not in value])}"


def _unknown(_: Any, value: Any, schema: Any) -> str:
    known = schema.get("properties", {})
    return f"it may not have {_names([name for name in value if name not in known])}"


def _counted(noun: str, bound: str) -> Callable[[Any, Any, Any], str]:
    return lambda limit, value, _: f"it has {len(value)} {noun}; {bound} {limit}"


def _unlike(pattern: str, _: Any, schema: Any) -> str:
    shown = pattern if len(pattern) <= _SHORT else "its pattern"
    return f"the text does not match {shown}{_described(schema)}"


def _of_type(names: Any, _: Any, schema: Any) -> str:
    return f"it must be of type {names if isinstance(names, str) else ' or '.join(names)}{_described(schema)}"


def _described(schema: Any) -> str:
    """Return what the schema says of the place, for people who do not read patterns."""
    return f" ({schema['description'].rstrip('.')})" if "description" in schema else ""


_SENTENCES: Mapping[str, Callable[[Any, Any, Any], str]] = {
    "additionalProperties": _unknown,
    "anyOf": lambda *_: "it has none of the allowed forms",
    "const": lambda value, *_: f"it must be {value!r}",
    "enum": lambda values, *_: f"it must be one of {', '.join(map(str, values))}",
    "maximum": lambda limit, *_: f"it must be at most {limit}",
    "maxItems": _counted("items", "allowed are at most"),
    "maxLength": _counted("characters", "allowed are at most"),
    "maxProperties": _counted("keys", "allowed are at most"),
    "minimum": lambda limit, *_: f"it must be at least {limit}",
    "minItems": _counted("items", "needed are at least"),
    "minLength": _counted("characters", "needed are at least"),
    "minProperties": _counted("keys", "needed are at least"),
    "oneOf": lambda *_: "it has not exactly one of the allowed forms",
    "pattern": _unlike,
    "required": _missing,
    "type": _of_type,
    "uniqueItems": lambda *_: "an item stands there twice",
}
