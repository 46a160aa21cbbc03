"""The predicate language: a small tree of `all`, `any`, `not` and named probes, parsed strictly from a JSON document.

    {"all": [{"filesystem.fileExists": {"path": "out/a.txt"}}, {"not": {"git.tagExists": {…}}}]}

Every node is an object with exactly one key. An empty `all` (which would pass without looking) and an empty `any` are
refused, and so is a probe whose arguments do not fit its schema. Messages name the place in the document and never
quote a value from it, because the document of a private task is secret.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

from jsonschema import Draft202012Validator, FormatChecker, ValidationError

from verifiers.answer.claims import Claim, claims_in
from verifiers.errors import Malformed
from verifiers.language.catalogue import CATALOGUE
from verifiers.linear_regex import compiled
from verifiers.predicates import own_predicates
from verifiers.sql.parser import parsed

MAX_DEPTH = 16
_FORMATS = FormatChecker(formats=())
CONNECTIVES = ("all", "any", "not")
CLAIMS = "answer.claims"


@_FORMATS.checks("linear-regex", Malformed)
def _is_linear(value: object) -> bool:
    return not isinstance(value, str) or compiled(value) is not None


@_FORMATS.checks("sql-query", Malformed)
def _is_query(value: object) -> bool:
    return not isinstance(value, str) or parsed(value) is not None


@dataclass(frozen=True, slots=True)
class Probe:
    """A named predicate with its arguments."""

    name: str
    arguments: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class AllOf:
    """Conjunction: holds where every operand holds."""

    operands: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Disjunction: holds where at least one operand holds."""

    operands: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Negation: holds where its operand does not."""

    operand: Predicate


Predicate: TypeAlias = Probe | AllOf | AnyOf | Not


def parse(document: object, place: str = "$", *, filled: bool = True) -> Predicate:
    """Parse a predicate.

    Args:
        document: plain JSON values.
        place: the JSON path of the document, for messages.
        filled: whether every free parameter has its value; arguments that still hold `{{name}}` are not held against
            their schema, so the result can be described and not evaluated.

    Raises:
        Malformed: it is no predicate; the message says where and why.
    """
    parsed = _parse(document, place, MAX_DEPTH, filled=filled)
    if filled:
        names = [claim.id for claim in claims_of(parsed)]
        if again := next((name for name in names if names.count(name) > 1), None):
            raise Malformed(f"{place}: two claims have the id {again}; an id names one claim of the whole predicate")
    return parsed


def _parse(document: object, place: str, depth: int, *, filled: bool) -> Predicate:
    if depth == 0:
        raise Malformed(f"{place}: predicates nest deeper than {MAX_DEPTH} levels; flatten them")
    if not isinstance(document, Mapping):
        raise Malformed(f'{place}: a predicate is an object with one key, such as {{"all": […]}}')
    if len(document) != 1:
        keys = ", ".join(map(str, document)) or "none"
        raise Malformed(f"{place}: a predicate has exactly one key, this one has {len(document)} ({keys[:200]})")
    ((name, body),) = document.items()
    inside = _step(place, str(name))
    if name == "not":
        return Not(_parse(body, inside, depth - 1, filled=filled))
    if name in CONNECTIVES:
        items = enumerate(_items(body, inside))
        operands = tuple(_parse(item, f"{inside}[{i}]", depth - 1, filled=filled) for i, item in items)
        return AllOf(operands) if name == "all" else AnyOf(operands)
    return _probe(str(name), body, inside, filled=filled)


def _items(body: object, place: str) -> Sequence[object]:
    if not isinstance(body, list | tuple) or not body:
        raise Malformed(
            f"{place}: needs a list of one or more predicates; an empty one would be decided without a look"
        )
    return body


def _probe(name: str, arguments: object, place: str, *, filled: bool) -> Probe:
    entry = CATALOGUE.get(name)
    if entry is None:
        known = [*CATALOGUE, *CONNECTIVES]
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        near = near or [other for other in known if other.startswith(name.partition(".")[0] + ".")][:3]
        hint = f"; near it: {', '.join(near)}" if near else "; `quarterturn predicate list` names them all"
        raise Malformed(f"{place}: there is no predicate of this name{hint}")
    error = next(_validator(name).iter_errors(arguments), None) if filled or "{{" not in json.dumps(arguments) else None
    if error is not None or not isinstance(arguments, Mapping):
        raise Malformed(
            f"{_path(place, error.absolute_path)}: {_why(error)}" if error else f"{place}: must be an object"
        )
    return Probe(name, dict(arguments))


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(CATALOGUE[name].schema, format_checker=_FORMATS)


def _step(place: str, key: str) -> str:
    return f"{place}.{key}" if re.fullmatch(r"[A-Za-z_]\w*", key, re.ASCII) else f"{place}[{json.dumps(key[:120])}]"


def _path(place: str, steps: Iterable[str | int]) -> str:
    for step in steps:
        place = f"{place}[{step}]" if isinstance(step, int) else _step(place, step)
    return place


def _why(error: ValidationError) -> str:  # noqa: PLR0911 - one return for each rule
    """Describe a schema error without the value that caused it."""
    rule: Any = error.validator_value
    instance: Any = error.instance
    schema: Any = error.schema
    match error.validator:
        case "required":
            return f"lacks {', '.join(key for key in rule if key not in instance)}"
        case "additionalProperties":
            known = schema.get("properties", {})
            extra = [key for key in instance if key not in known]
            return f"has an unknown key ({', '.join(map(str, extra))[:200]}); it takes {', '.join(known)}"
        case "oneOf":
            return f"needs exactly one of {', '.join(key for form in rule for key in form['required'])}"
        case "type":
            return f"must be of type {rule if isinstance(rule, str) else ' or '.join(rule)}"
        case "format" if error.cause is not None:
            return f"{error.cause}; it is a {schema.get('description', rule)}"
        case "pattern":
            meant = schema.get("description")
            return f"is not a {meant}" if meant else f"does not match {rule}"
        case rule_name:
            return f"breaks the rule {rule_name}: {json.dumps(rule)[:200]}"


def probes(predicate: Predicate) -> Iterator[Probe]:
    """List the probes from left to right."""
    match predicate:
        case Probe():
            yield predicate
        case Not(operand):
            yield from probes(operand)
        case AllOf(operands) | AnyOf(operands):
            for operand in operands:
                yield from probes(operand)


def own_probes(predicate: Predicate) -> dict[str, list[Probe]]:
    """List the probes that are own predicates of added servers, by namespace; equal ones once."""
    by_key = {own_predicates.key(probe.name, probe.arguments): probe for probe in probes(predicate)}
    by_namespace: dict[str, list[Probe]] = {}
    for probe in by_key.values():
        if CATALOGUE.is_own(probe.name):
            by_namespace.setdefault(probe.name.partition(".")[0], []).append(probe)
    return by_namespace


def claims_of(predicate: Predicate) -> list[Claim]:
    """List the claims about the answer that a language model has to judge, from left to right."""
    asked = [probe for probe in probes(predicate) if probe.name == CLAIMS]
    return [claim for probe in asked for claim in claims_in(probe.arguments)]


def namespaces(predicate: Predicate) -> set[str]:
    """Name the namespaces that a predicate reads (`filesystem`, `answer`, …)."""
    return {probe.name.split(".")[0] for probe in probes(predicate)}


def needs_baseline(predicate: Predicate) -> bool:
    """Say whether a predicate compares with the state as the agent found it."""
    return any(CATALOGUE[probe.name].needs_baseline for probe in probes(predicate))


def in_words(predicate: Predicate, indent: str = "") -> str:
    """Write a predicate as indented sentences, for the person who reviews it."""
    match predicate:
        case Probe(name, arguments):
            return indent + _sentence(CATALOGUE[name].words, arguments)
        case Not(operand):
            return f"{indent}it is not so that\n{in_words(operand, indent + '  ')}"
        case AllOf(operands):
            head = "all of these hold"
        case AnyOf(operands):
            head = "at least one of these holds"
    return "\n".join([f"{indent}{head}:", *(in_words(operand, indent + "  ") for operand in operands)])


def _sentence(words: str, arguments: Mapping[str, Any]) -> str:
    rendered = {key: json.dumps(value, ensure_ascii=False) for key, value in arguments.items()}
    extra = ", ".join(f"{key}: {value}" for key, value in rendered.items() if f"{{{key}}}" not in words)
    return words.format_map(rendered) + (f" ({extra})" if extra else "")
