"""Assembly of a draft: merges the parts of a skeleton into a task document and its provenance."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from grammars.errors import Malformed
from grammars.language.checks import calls_of, tools_of
from grammars.language.derivation import Derived
from grammars.language.expressions import Expression, Scope
from grammars.language.forms import Node, TextTemplate, fill
from grammars.language.functions import capital
from grammars.language.grammar import Draft, Grammar
from grammars.language.labels import ENGLISH
from vault.task.document import SPEC_VERSION

_ID_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"


def assemble(
    grammar: Grammar,
    derived: Derived,
    scope: Scope,
    dice: Random,
    parameters: Mapping[str, Any],
    *,
    bits: float,
    language: str = ENGLISH,
) -> Draft:
    """Make the draft from a scope in which every name has a value.

    Args:
        grammar: what to draw from.
        derived: the skeleton.
        scope: the names of the draw.
        dice: the random source.
        parameters: the names that were drawn, with their values.
        bits: log2 of the number of possible draws.
        language: of the goal; one that the template has wordings in.

    Raises:
        Malformed: the parts contradict each other, or a value has the wrong type.
    """
    who = derived.skeleton.id
    faults = [fault for part in derived.parts for fault in fill(part.faults, scope)]
    answer = next((fill(part.answer, scope) for part in derived.parts if part.answer is not None), None)
    solutions = [
        {"name": name, "calls": _with_retries(list(_calls(derived, name, scope)), faults), "answer": _text(answer, who)}
        for name in derived.template.steps.solutions
    ]
    conjuncts = [node for part in derived.parts for node in fill(part.predicate, scope)]
    task: dict[str, Any] = {
        "schema": "quarterturn/task/v1",
        "spec": SPEC_VERSION,
        "id": "t-" + "".join(dice.choice(_ID_LETTERS) for _ in range(16)),
        "server": grammar.server,
        "category": derived.skeleton.category,
        "difficulty": scope["difficulty"],
        "max_steps": _steps(derived.template.max_steps.at(scope), who),
        "goal": fill_goal(derived, scope, dice.choice(derived.template.wordings(language)), language),
        "initial_state": merged([piece for part in derived.parts for piece in fill(part.state, scope)], who),
        "available_tools": _listed(grammar, derived, dice),
        "success_predicate": {"all": conjuncts},
    }
    if language != ENGLISH:
        task["language"] = language
    servers = {tool.partition(".")[0] for tool in task["available_tools"]}
    conjuncts += _frames(derived, servers, scope)
    task["initial_state"] = {server: part for server, part in task["initial_state"].items() if server in servers}
    if faults:
        task["faults"] = faults
    exact = {name: reason for part in derived.parts for name, reason in part.exact.items()}
    return Draft(
        task,
        {
            "grammar": grammar.server,
            "grammar_digest": grammar.digest,
            "template": f"{grammar.server}/{derived.template.name}",
            "skeleton": who,
            "parameters": dict(parameters),
            "bits": int(bits),
            "solutions": solutions,
            "mutants": [_mutant(mutant) for part in derived.parts for mutant in fill(part.mutants, scope)],
            "given": [value for part in derived.parts for value in fill(part.given, scope)],
            **({"exact": exact} if exact else {}),
            **({"goal_in_english": goals(derived, scope, ENGLISH)[0]} if language != ENGLISH else {}),
        },
    )


def _frames(derived: Derived, servers: Collection[str], scope: Scope) -> Iterator[dict[str, Any]]:
    """List the frame of each server of the world, where the template says what its solutions change."""
    if derived.template.steps.changes is None:
        return
    changes = [change for part in derived.parts for change in fill(part.changes or (), scope)]
    for server in sorted(servers):
        excepted = [change[server] for change in changes if server in change]
        yield {f"{server}.unchanged": {"except": excepted} if excepted else {}}


def goals(derived: Derived, scope: Scope, language: str) -> list[str]:
    """Return the goal of a draw in each wording of a language."""
    return [fill_goal(derived, scope, wording, language) for wording in derived.template.wordings(language)]


def inserted_values(derived: Derived, scope: Scope) -> list[str]:
    """Return what the expressions in the English phrasings and phrases of a draw put there, phrases left out."""
    texts = (*derived.template.phrasings, *(production.phrase for production in derived.productions.values()))
    parts = (part for text in texts if isinstance(text, TextTemplate) for part in text.parts)
    return [
        str(fill(part, scope))
        for part in parts
        if isinstance(part, Expression) and part.names.isdisjoint(derived.productions)
    ]


def fill_goal(derived: Derived, scope: Scope, wording: Node, language: str) -> str:
    """Return the goal of a draw in one wording of a language."""
    bindings = {
        slot: {
            "name": production.name,
            "phrase": (phrase := str(fill(derived.template.phrase(production, language), scope))),
            "Phrase": capital(phrase),
        }
        for slot, production in derived.productions.items()
    }
    with scope.inside(**bindings):
        return str(fill(wording, scope))


def _steps(value: Any, who: str) -> int:
    if type(value) is int and value > 0:
        return value
    raise Malformed(f"{who}: max_steps: a positive integer is expected here")


def _text(value: Any, who: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise Malformed(f"{who}: answer: text or an integer is expected here")


def _calls(derived: Derived, solution: str, scope: Scope) -> Iterator[dict[str, Any]]:
    for call in fill(derived.template.steps.solutions[solution], scope):
        if "step" in call:
            yield from map(_call, fill(calls_of(derived.productions[call["step"]].steps, solution), scope))
        else:
            yield _call(call)


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    return {"tool": call["tool"], "arguments": call.get("arguments", {})}


def _with_retries(calls: Sequence[dict[str, Any]], faults: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Repeat every call that meets a scheduled error, which is what a good agent does."""
    planned = {(fault["tool"], fault["call"]) for fault in faults}
    made: dict[str, int] = {}
    out: list[dict[str, Any]] = []
    for call in calls:
        while True:
            made[call["tool"]] = made.get(call["tool"], 0) + 1
            out.append(call)
            if (call["tool"], made[call["tool"]]) not in planned:
                break
    return out


def _mutant(spec: Mapping[str, Any]) -> dict[str, Any]:
    ((key, value),) = ((key, value) for key, value in spec.items() if key != "name")
    if key == "answer":
        return {"name": spec["name"], "answer": str(value)}
    return {"name": spec["name"], "server": key, "change": value}


def merged(pieces: Sequence[Mapping[str, Any]], who: str) -> dict[str, Any]:
    """Merge maps deeply: maps key by key, lists end to end.

    Raises:
        Malformed: two pieces give different values for one thing.
    """
    out: dict[str, Any] = {}
    for piece in pieces:
        for key, value in piece.items():
            present = out.get(key)
            if isinstance(present, dict) and isinstance(value, Mapping):
                out[key] = merged([present, value], who)
            elif isinstance(present, list) and isinstance(value, list):
                out[key] = present + value
            elif key in out and present != value:
                raise Malformed(f"{who}: state: two pieces give {key!r}; one of them must go")
            else:
                out[key] = merged([value], who) if isinstance(value, Mapping) else value
    return out


def _listed(grammar: Grammar, derived: Derived, dice: Random) -> list[str]:
    """List the tools of all branches of all solutions (the list must not tell which was drawn), and distractors."""
    used = set[str]().union(*(tools_of(derived, name) for name in derived.template.steps.solutions))
    tools = set(used)
    for server, number in derived.template.distract.items():
        others = [tool for name in grammar.tools[server] if (tool := f"{server}.{name}") not in used]
        tools |= set(others if number is None else dice.sample(others, min(number, len(others))))
    return sorted(tools)
