"""Static checks of every skeleton of a grammar, made when the grammar is loaded, before anything is drawn from it.

Every name that an expression mentions is defined by the skeleton's own parts; there is a predicate, a solution, two
mutants, one answer at most; every tool and every predicate is known; each phrasing mentions each production's phrase,
in English and in every other language of the template.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from grammars.errors import Malformed
from grammars.language.derivation import PREDEFINED, Derived, derive
from grammars.language.forms import Node, Repeat, names_in
from grammars.language.grammar import FEWEST_MUTANTS, FEWEST_TOOLS, MOST_TOOLS, Grammar, Skeleton, Steps

FEWEST_NEEDED, MOST_NEEDED = 3, 7
_CONNECTIVES = {"all", "any", "not"}


def check_skeletons(
    grammar: Grammar,
    skeletons: Sequence[Skeleton],
    *,
    predicates: Collection[str] | None,
) -> None:
    """Refuse a grammar with a skeleton that could not make a task.

    Raises:
        Malformed: one sentence with the skeleton, which names template and productions, and the field.
    """
    listed = {f"{server}.{name}" for server, names in grammar.tools.items() for name in names}
    for template in grammar.templates.values():
        for server in template.distract:
            if server not in grammar.tools:
                raise Malformed(
                    f"{template.file}: template {template.name}: distract: `tools` lists none of server {server!r}"
                )
    for skeleton in skeletons:
        derived = derive(grammar, skeleton)
        _check_names(derived)
        _check_parts(derived)
        _check_shapes(derived)
        _check_phrasings(derived)
        for language in derived.template.translations:
            _check_translation(derived, language)
        _check_tools(grammar, derived, listed)
        for name in _predicates((node for part in derived.parts for node in part.predicate), derived.where):
            if predicates is not None and name not in predicates:
                raise Malformed(f"{derived.where}: predicate: there is no predicate {name!r}")


def _check_names(derived: Derived) -> None:
    known = _known_names(derived)
    for part in derived.parts:
        for name, used in part.names_of_own.items():
            _all_known(derived.where, f"let or parameters, {name}", used, known)
        for field, used in part.names_of_fields.items():
            _all_known(derived.where, field, used, known)
    _all_known(derived.where, "max_steps", derived.template.max_steps.names, known)
    for text in (*derived.template.phrasings, *(production.phrase for production in derived.productions.values())):
        _all_known(derived.where, "phrasings", names_in(text), known)


def _known_names(derived: Derived) -> Collection[str]:
    return {naming.name for naming in derived.names} | set(derived.productions) | PREDEFINED


def _all_known(where: str, field: str, used: Collection[str], known: Collection[str]) -> None:
    if missing := sorted(set(used).difference(known)):
        raise Malformed(f"{where}: {field}: there is no name {missing[0]!r} in this skeleton")


def _check_parts(derived: Derived) -> None:
    who, template = derived.where, derived.template.steps
    if not any(part.predicate for part in derived.parts):
        raise Malformed(f"{who}: predicate: there is none; a task that asks for nothing passes by doing nothing")
    if not template.solutions:
        raise Malformed(f"{who}: solution: there is none; a template needs at least one reference solution")
    if sum(len(part.mutants) for part in derived.parts) < FEWEST_MUTANTS:
        raise Malformed(f"{who}: mutants: at least {FEWEST_MUTANTS} are needed")
    if sum(part.answer is not None for part in derived.parts) > 1:
        raise Malformed(f"{who}: answer: two parts give one; leave one out")
    if bool(derived.template.category == "recovery") != any(part.faults for part in derived.parts):
        raise Malformed(f"{who}: faults: a recovery template needs some, and no other may have any")
    for part in derived.parts[1:]:
        if strange := sorted(set(part.solutions) - set(template.solutions) - {"reference"}):
            raise Malformed(f"{who}: solutions.{strange[0]}: the template has no solution of that name")


def _check_shapes(derived: Derived) -> None:
    who = derived.where
    for constraint in (constraint for part in derived.parts for constraint in part.constraints):
        if not constraint.names:
            raise Malformed(f"{constraint.where}: {constraint.source!r} mentions no name, so it decides nothing")
    for piece in _members(node for part in derived.parts for node in part.state):
        if not isinstance(piece, Mapping):
            raise Malformed(f"{who}: state: each piece is a map from server to its part of the state")
    for change in _members(node for part in derived.parts for node in part.changes or ()):
        if not isinstance(change, Mapping) or len(change) != 1:
            raise Malformed(f"{who}: changes: each is a map from server to a selection of its items")
    if derived.template.steps.changes is None and any(part.changes is not None for part in derived.parts):
        raise Malformed(f"{who}: changes: the template has none; give it `changes: []`, so that its tasks have a frame")
    for fault in _members(node for part in derived.parts for node in part.faults):
        if not isinstance(fault, Mapping) or set(fault) != {"tool", "call", "error"}:
            raise Malformed(f"{who}: faults: each is a map with tool, call and error")
    for mutant in _members(node for part in derived.parts for node in part.mutants):
        if not isinstance(mutant, Mapping) or "name" not in mutant or len(mutant) != 2:  # noqa: PLR2004
            raise Malformed(f"{who}: mutants: each is a map with `name` and either a server's name or `answer`")


def _check_phrasings(derived: Derived) -> None:
    _check_slots_said(derived, derived.template.phrasings, derived.where)


def _check_slots_said(derived: Derived, phrasings: Collection[Node], where: str) -> None:
    for slot, production in derived.productions.items():
        for phrasing in phrasings:
            if production.phrase and slot not in names_in(phrasing):
                raise Malformed(f"{where}: phrasings: one of them does not say {{{slot}.phrase}}")


def _check_translation(derived: Derived, language: str) -> None:
    translation = derived.template.translations[language]
    where = f"{translation.file}: {derived.skeleton.id}"
    known = _known_names(derived)
    for production in derived.productions.values():
        if bool(production.phrase) != bool(translation.phrases.get(production.name)):
            has = "lacks the phrase" if production.phrase else "has a phrase and the English none"
            raise Malformed(f"{where}: phrases.{production.name}: the {language} wording {has}")
    phrases = [translation.phrases.get(production.name, "") for production in derived.productions.values()]
    for node in (*translation.phrasings, *phrases):
        _all_known(where, "phrasings", names_in(node), known)
    _check_slots_said(derived, translation.phrasings, where)


def _check_tools(grammar: Grammar, derived: Derived, listed: Collection[str]) -> None:
    who = derived.where
    used: list[set[str]] = []
    for name in derived.template.steps.solutions:
        used.append(tools_of(derived, name))
        if strange := sorted(used[-1] - set(listed)):
            raise Malformed(f"{who}: solutions.{name}: the grammar's `tools` do not list {strange[0]!r}")
    fewest, most = (1, 1) if derived.template.category == "single-tool" else (FEWEST_NEEDED, MOST_NEEDED)
    if not fewest <= len(used[0]) <= most:
        kind = derived.template.category
        raise Malformed(f"{who}: solutions: a {kind} task needs {fewest} to {most} tools, and this one {len(used[0])}")
    count = len(set().union(*used)) + sum(
        len(grammar.tools[server]) - len([tool for tool in set().union(*used) if tool.startswith(f"{server}.")])
        if number is None
        else number
        for server, number in derived.template.distract.items()
    )
    if not FEWEST_TOOLS <= count <= MOST_TOOLS:
        raise Malformed(f"{who}: distract: it lists {count} tools; {FEWEST_TOOLS} to {MOST_TOOLS} are wanted")


def calls_of(part: Steps, solution: str) -> Node:
    """Return a production's calls for one solution: those under its name, else those under `reference`."""
    return part.solutions.get(solution, part.solutions.get("reference", ()))


def tools_of(derived: Derived, solution: str) -> set[str]:
    """Return the tools that a solution may use, over all branches of its conditions."""
    return {call["tool"] for call in _calls(derived, solution)}


def listed_servers(derived: Derived) -> set[str]:
    """Return the servers whose tools a skeleton's tasks list."""
    used = {tool for solution in derived.template.steps.solutions for tool in tools_of(derived, solution)}
    return {tool.partition(".")[0] for tool in used} | set(derived.template.distract)


def _calls(derived: Derived, solution: str) -> Iterator[Mapping[str, Any]]:
    who = f"{derived.where}: solutions.{solution}"
    for call in _members(derived.template.steps.solutions[solution]):
        if isinstance(call, Mapping) and set(call) == {"step"}:
            production = derived.productions.get(call["step"])
            if production is None:
                raise Malformed(f"{who}: step: there is no nonterminal {call['step']!r}")
            yield from (_checked(inner, who) for inner in _members(calls_of(production.steps, solution)))
        else:
            yield _checked(call, who)


def _checked(call: Any, who: str) -> Mapping[str, Any]:
    if isinstance(call, Mapping) and set(call) <= {"tool", "arguments"} and isinstance(call.get("tool"), str):
        return call
    raise Malformed(f"{who}: a call is a map with `tool` (plain text) and `arguments`")


def _members(nodes: Any) -> Iterator[Node]:
    for node in nodes:
        if isinstance(node, Repeat):
            yield from _members(node.body)
        else:
            yield node


def _predicates(nodes: Any, who: str) -> Iterator[str]:
    for node in _members(nodes):
        if not isinstance(node, Mapping) or len(node) != 1:
            raise Malformed(
                f"{who}: predicate: each is a map with exactly one key, a predicate's name or all, any, not"
            )
        ((name, argument),) = node.items()
        if name in _CONNECTIVES:
            operands = [argument] if name == "not" else argument
            if not isinstance(operands, list | tuple):
                raise Malformed(f"{who}: predicate: {name} needs a list")
            yield from _predicates(operands, who)
        else:
            yield str(name)
