"""Predicates of an added server's own: declared as data, written in a Python module that a judge of its own runs.

The declarations say everything that a task is checked against (arguments, sentence for reviewers, what leaks). The
module has one function a predicate: `def cardIsDone(state, **arguments) -> (holds, found)`, where `state` is the normal
form (`verifiers.normal_form.NormalState`) that the reader of the server's state kind gives, `holds` True or False, and
`found` one sentence.

The module may do anything to the process that runs it, so that process is shown this namespace's state and these
predicates' arguments alone (`results`). What it says is data to the judge of the whole predicate, which runs no module.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from jsonschema import Draft202012Validator, SchemaError

from verifiers.errors import Malformed, StateUnavailable
from verifiers.normal_form import NormalState
from verifiers.predicates.context import Context
from verifiers.predicates.registry import Example, Probe, ProbeResult, RegisteredPredicate
from verifiers.quoting import sentence
from verifiers.tree import JudgeInput

_NAME = {"type": "string", "pattern": r"^[a-z][A-Za-z0-9]{0,60}$(?!\n)"}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "propertyNames": _NAME,
    "maxProperties": 64,
    "additionalProperties": {
        "type": "object",
        "required": ["words", "about", "arguments"],
        "additionalProperties": False,
        "properties": {
            "words": {"type": "string", "minLength": 1, "description": "A sentence for reviewers, with {argument}s."},
            "about": {"type": "string", "minLength": 1, "description": "What exactly it means."},
            "arguments": {
                "type": "object",
                "propertyNames": _NAME,
                "additionalProperties": {"type": "object"},
                "description": "JSON Schema of each argument.",
            },
            "optional": {"type": "array", "items": _NAME, "description": "Arguments that may be left out."},
            "produces": {
                "type": "array",
                "items": _NAME,
                "description": "Arguments whose values are the agent's work, so that they may stand nowhere before it.",
            },
        },
    },
}
"""JSON Schema of the declarations: name of a predicate -> its declaration."""

TRUE, FALSE, BROKE = "true", "false", "unknown"
OwnResult: TypeAlias = Sequence[str]
"""Value of an own predicate (`TRUE`, `FALSE` or `BROKE`), and one sentence about the state, or about what broke."""


class OwnPredicateBroke(Exception):
    """A module gave no value on this state; the message says why in a word or two."""


@dataclass(frozen=True, slots=True)
class OwnPredicates:
    """The own predicates of one server.

    Attributes:
        declared: the declarations, as `SCHEMA` describes them.
        source: the module's text.
    """

    declared: Mapping[str, Any] = field(default_factory=dict)
    source: str = field(default="", repr=False)

    def entries(self, namespace: str, registered: str) -> dict[str, RegisteredPredicate]:
        """Return the predicates by their names in the namespace; evaluated, each takes the result that it was given.

        Args:
            namespace: the server's name.
            registered: the namespace under which a context holds the state.
        """
        nothing = JudgeInput({}, None)
        example = Example({}, lambda: nothing, lambda: nothing)
        return {
            name: RegisteredPredicate(
                name=f"{namespace}.{name}",
                schema=_schema(declaration),
                words=declaration["words"],
                doc=declaration["about"],
                produces=tuple(declaration.get("produces", ())),
                example=example,
                probe=_probe(f"{namespace}.{name}", registered),
            )
            for name, declaration in self.declared.items()
        }

    def check(self) -> None:
        """Look at declarations and module without running anything.

        Raises:
            Malformed: words or arguments are of no use, or the module is no Python or lacks a declared predicate.
        """
        for name, declaration in self.declared.items():
            schema, words = _schema(declaration), declaration["words"]
            for argument in schema["required"]:
                words = words.replace(f"{{{argument}}}", "")
            if "{" in words or "}" in words:
                raise Malformed(f"the predicate {name}: braces in its words go around arguments that are not optional")
            if "state" in schema["properties"]:
                raise Malformed(f"the predicate {name}: an argument cannot be called state, as the function's first is")
            if key := _unbounded_key(schema["properties"]):
                raise Malformed(f"the predicate {name}: an argument's schema may hold no {key}; use types and bounds")
            try:
                Draft202012Validator.check_schema(schema)
            except SchemaError as error:
                place = ".".join(map(str, list(error.absolute_path)[1:]))
                raise Malformed(f"the predicate {name}: its argument {place} is no JSON Schema") from None
        try:
            module = ast.parse(self.source)
        except (SyntaxError, ValueError) as error:
            line = f" (line {error.lineno})" if isinstance(error, SyntaxError) else ""
            raise Malformed(f"predicates.py is no Python{line}") from None
        functions = {statement.name for statement in module.body if isinstance(statement, ast.FunctionDef)}
        if lacking := [name for name in self.declared if name not in functions]:
            raise Malformed(f"predicates.py has no function {lacking[0]}, which the manifest declares")


def results(source: str, probes: Sequence[tuple[str, Mapping[str, Any]]], state: NormalState) -> list[OwnResult]:
    """Run a module and return the result of each probe; only a judge process made for this calls it.

    Args:
        source: the module's text.
        probes: name in the namespace and arguments.
        state: the namespace's.
    """
    if state.document is None:
        return [(BROKE, "there is no state to look at") for _ in probes]
    module: dict[str, Any] = {"__name__": "own_predicates"}
    try:
        exec(compile(source, "predicates.py", "exec"), module)  # noqa: S102 - the process is made for it
    except MemoryError:
        raise
    except Exception as error:
        return [(BROKE, f"{type(error).__name__} while predicates.py was loaded") for _ in probes]
    return [_result(module.get(name), state, arguments) for name, arguments in probes]


def _result(function: Any, state: NormalState, arguments: Mapping[str, Any]) -> OwnResult:
    try:
        holds, found = function(state, **arguments)
        if type(holds) is not bool:  # a text "false" would hold
            return BROKE, f"it returned {type(holds).__name__} in place of True or False"
        return TRUE if holds else FALSE, sentence(str(found))
    except MemoryError:
        raise
    except Exception as error:
        return BROKE, type(error).__name__


def key(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the key of a probe's result in a context: two probes are one where name and arguments are the same."""
    return json.dumps([name, arguments], sort_keys=True)


def _probe(name: str, registered: str) -> Probe:
    """Return a probe that takes the result that the judge was given; a state that nobody read has none."""

    def probe(context: Context, **arguments: Any) -> ProbeResult:
        context.state(registered)
        value, found = context.own_results.get(key(name, arguments), ("", ""))
        if not value:
            raise StateUnavailable(
                "the judge of this server's own predicates ran out of time or memory, or was not asked"
            )
        if value == BROKE:
            raise OwnPredicateBroke(found)
        return ProbeResult(value == TRUE, found)

    return probe


def _schema(declaration: Mapping[str, Any]) -> dict[str, Any]:
    arguments, optional = declaration["arguments"], declaration.get("optional", ())
    return {
        "type": "object",
        "properties": dict(arguments),
        "required": [name for name in arguments if name not in optional],
        "additionalProperties": False,
    }


def _unbounded_key(schema: Any) -> str | None:
    """Return the first key that would look elsewhere (`$ref` reads hosts and files) or may match for hours, or None."""
    items = schema.items() if isinstance(schema, Mapping) else enumerate(schema) if isinstance(schema, list) else ()
    for key, value in items:
        if str(key).startswith(("$", "pattern")):
            return str(key)
        if inner := _unbounded_key(value):
            return inner
    return None
