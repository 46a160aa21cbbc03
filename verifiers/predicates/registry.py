"""Registry of predicates, and the decorator that registers one.

A predicate is a function `(context, **arguments) -> ProbeResult` with a schema for its arguments, a sentence for
reviewers, the names of the arguments that are results of the agent's work, and an example that must hold on one state
and fail on another. One that lacks any of them cannot be registered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from verifiers.errors import VerifierError
from verifiers.tree import JudgeInput

Schema: TypeAlias = Mapping[str, Any]


class ProbeResult(NamedTuple):
    """Result of a probe: whether the predicate holds, and one sentence about the state."""

    holds: bool
    found: str


Probe: TypeAlias = Callable[..., ProbeResult]


@dataclass(frozen=True, slots=True)
class Example:
    """Example arguments, with a state on which they hold and a state on which they do not."""

    arguments: Mapping[str, Any]
    holds: Callable[[], JudgeInput]
    fails: Callable[[], JudgeInput]


@dataclass(frozen=True, slots=True)
class RegisteredPredicate:
    """A registered predicate.

    Attributes:
        name: `namespace.predicate`.
        schema: JSON Schema (draft 2020-12) of its arguments.
        words: a sentence for reviewers, with `{argument}` where a value goes.
        doc: what exactly it means.
        produces: the arguments whose values the agent must produce; the answer-leak check of a task searches for them.
        example: shown in the reference, and run by a test.
        probe: the function.
        needs_baseline: whether it compares with the state as the agent found it.
    """

    name: str
    schema: Schema = field(repr=False)
    words: str = field(repr=False)
    doc: str = field(repr=False)
    produces: tuple[str, ...] = field(repr=False)
    example: Example = field(repr=False)
    probe: Probe = field(repr=False)
    needs_baseline: bool = False


REGISTRY: dict[str, RegisteredPredicate] = {}

NOTHING: tuple[str, ...] = ()
"""`produces` of a predicate none of whose values could leak.

Names, places, counts and conditions are of this kind: the goal says them, or they are looked up, and whoever reads one
somewhere has still to bring the state about.
"""

# Argument schemas that several predicates share. A path is relative, and none of its parts is empty, `.` or `..`.
TEXT: Schema = {"type": "string"}
NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 255}
COUNT: Schema = {"type": "integer", "minimum": 0}
FLAG: Schema = {"type": "boolean"}
PATH: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": 1024,
    "pattern": r"^(?!/)(?!.*//)(?!.*/$)(?!(.*/)?\.\.?(/|$))[^\u0000]+$",
    "description": "relative path",
}
SCALAR: Schema = {"type": ["string", "number", "null"]}


def names(item: Schema = NAME, *, least: int = 0) -> Schema:
    """Return the schema of a list without duplicates."""
    return {"type": "array", "items": item, "minItems": least, "uniqueItems": True}


def predicate(
    name: str,
    *,
    words: str,
    takes: Mapping[str, Schema],
    produces: tuple[str, ...],
    example: Example,
    may_take: Mapping[str, Schema] | None = None,
    one_of: Sequence[str] = (),
    needs_baseline: bool = False,
) -> Callable[[Probe], Probe]:
    """Register the decorated function.

    Args:
        name: `namespace.predicate`.
        words: see `RegisteredPredicate.words`.
        takes: the schemas of the arguments that it must have.
        produces: see `RegisteredPredicate.produces`; NOTHING where there is none.
        example: see `Example`.
        may_take: the schemas of those that it may have.
        one_of: names from `may_take`, exactly one of which must be there.
        needs_baseline: see `RegisteredPredicate`.
    """
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {**takes, **(may_take or {})},
        "required": list(takes),
        "additionalProperties": False,
    }
    if one_of:
        schema["oneOf"] = [{"required": [key]} for key in one_of]

    def register(probe: Probe) -> Probe:
        if name in REGISTRY or not probe.__doc__:
            raise VerifierError(f"the predicate {name} is registered twice or says nothing about itself")
        if unknown := set(produces) - set(schema["properties"]):
            raise VerifierError(f"the predicate {name} produces {sorted(unknown)}, which it does not take")
        about = (schema, words, probe.__doc__, produces, example, probe, needs_baseline)
        REGISTRY[name] = RegisteredPredicate(name, *about)
        return probe

    return register
