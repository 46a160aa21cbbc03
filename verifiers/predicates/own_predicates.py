"""Predicates of an added server's own: declared as data, written in a Python module that only a judge runs.

The declarations say everything that a task is checked against (arguments, sentence for reviewers, what leaks). The
module has one function a predicate: `def cardIsDone(state, **arguments) -> (holds, found)`, where `state` is the normal
form (`verifiers.normal_form.NormalState`) that the reader of the server's state kind gives, and `found` one sentence.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jsonschema import Draft202012Validator, SchemaError

from verifiers.errors import Malformed, StateUnavailable
from verifiers.predicates.context import Context
from verifiers.predicates.registry import Example, Probe, ProbeResult, RegisteredPredicate
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


@dataclass(frozen=True, slots=True)
class OwnPredicates:
    """The own predicates of one server.

    Attributes:
        declared: the declarations, as `SCHEMA` describes them.
        source: the module's text.
    """

    declared: Mapping[str, Any] = field(default_factory=dict)
    source: str = field(default="", repr=False)

    def entries(
        self, namespace: str, probes: Mapping[str, Callable[..., ProbeResult]]
    ) -> dict[str, RegisteredPredicate]:
        """Give the predicates by their names in the namespace; one without a probe is unknown where it is evaluated."""
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
                probe=probes.get(name, _elsewhere),
            )
            for name, declaration in self.declared.items()
        }

    def check(self) -> None:
        """Look at declarations and module without running anything.

        Raises:
            Malformed: an argument's schema is none, or the module is no Python or lacks a declared predicate.
        """
        for name, declaration in self.declared.items():
            try:
                Draft202012Validator.check_schema(_schema(declaration))
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

    def probes(self, registered: str) -> dict[str, Probe]:
        """Run the module and give its functions as probes; only a judge calls this.

        Args:
            registered: the namespace under which a context holds the state.

        Raises:
            Malformed: the module cannot be run, or lacks a declared predicate.
        """
        module: dict[str, Any] = {"__name__": "own_predicates"}
        try:
            exec(compile(self.source, "predicates.py", "exec"), module)  # noqa: S102 - the judge is made for it
        except Exception as error:
            raise Malformed(f"predicates.py cannot be run ({type(error).__name__})") from None
        if lacking := [name for name in self.declared if not callable(module.get(name))]:
            raise Malformed(f"predicates.py has no function {lacking[0]}, which the manifest declares")
        return {name: _probe(module[name], registered) for name in self.declared}


def _schema(declaration: Mapping[str, Any]) -> dict[str, Any]:
    arguments, optional = declaration["arguments"], declaration.get("optional", ())
    return {
        "type": "object",
        "properties": dict(arguments),
        "required": [name for name in arguments if name not in optional],
        "additionalProperties": False,
    }


def _probe(function: Callable[..., Any], registered: str) -> Probe:
    def probe(context: Context, **arguments: Any) -> ProbeResult:
        holds, found = function(context.state(registered), **arguments)
        return ProbeResult(bool(holds), str(found))

    return probe


def _elsewhere(context: Context, **arguments: Any) -> ProbeResult:  # noqa: ARG001 - as every probe
    raise StateUnavailable("own predicates are evaluated by a judge process alone")
