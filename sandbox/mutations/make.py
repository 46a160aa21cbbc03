"""Builds all mutants of a right final state: each conjunct broken in turn, and the typical errors of agents.

A conjunct is an operand of the outermost `all`. An `any` is broken by breaking each operand. No change is known to
break a `not`, so that is left to hand-written mutants; a frame is broken by damage (`verifiers.states.damage`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal, TypeAlias

from sandbox.kinds.calendar import proposed_mutations as calendar
from sandbox.kinds.files import proposed_mutations as files
from sandbox.kinds.forge import proposed_mutations as forge
from sandbox.kinds.git import proposed_mutations as git
from sandbox.kinds.graph import proposed_mutations as graph
from sandbox.kinds.json_document import proposed_mutations as json_document
from sandbox.kinds.mailbox import proposed_mutations as mailbox
from sandbox.kinds.postgres import proposed_mutations as postgres
from sandbox.kinds.redis import proposed_mutations as redis
from sandbox.kinds.sqlite import proposed_mutations as sqlite
from sandbox.kinds.workbook import proposed_mutations as workbook
from sandbox.mutations import answer as answers
from verifiers.language.predicate import AllOf, AnyOf, Not, Predicate, Probe
from verifiers.predicates import namespaces
from verifiers.tree import FileTree

Kind: TypeAlias = Literal["broken", "mistake", "damage", "wide", "twin"]
Change: TypeAlias = tuple[str, Mapping[str, Any]]

_BY_KIND: Mapping[str, Any] = {
    "calendar": calendar,
    "files": files,
    "forge": forge,
    "git": git,
    "graph": graph,
    "json_document": json_document,
    "mailbox": mailbox,
    "postgres": postgres,
    "redis": redis,
    "sqlite": sqlite,
    "workbook": workbook,
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A final state that is wrong in one way.

    Attributes:
        name: what is wrong; it may quote names of the state, so it is as secret as the task.
        kind: `broken` and `damage` must fail; a `mistake` should; `wide` is damage that the frame lets through on
            purpose; a `twin` must pass (`sandbox.mutations.twins`).
        changes: server and change, in order.
        answer: what is said instead, or None where it stays.
    """

    name: str = field(repr=False)
    kind: Kind
    changes: tuple[Change, ...] = field(default=(), repr=False)
    answer: str | None = field(default=None, repr=False)


def mutants(
    predicate: Predicate, before: Mapping[str, FileTree], after: Mapping[str, FileTree], final_answer: str | None
) -> list[Mutant]:
    """Return all mutants of a final state.

    Args:
        predicate: the task's.
        before: each server's state at the start.
        after: each server's state at the end of a solution.
        final_answer: the solution's answer.
    """
    return [*_broken(predicate), *_mistakes(before, after, final_answer)]


def _broken(predicate: Predicate) -> Iterator[Mutant]:
    for number, conjunct in enumerate(_conjuncts(predicate)):
        parts = list(_ways(conjunct))
        if None not in parts:
            changes = tuple(part for part in parts if isinstance(part, tuple))
            answer = next((part for part in parts if isinstance(part, str)), None)
            yield Mutant(f"conjunct {number} broken", "broken", changes, answer)


def _conjuncts(predicate: Predicate) -> Iterator[Predicate]:
    if isinstance(predicate, AllOf):
        yield from chain.from_iterable(map(_conjuncts, predicate.operands))
    else:
        yield predicate


def _ways(predicate: Predicate) -> Iterator[Change | str | None]:
    """Yield what must be done so that a predicate is false; None where nobody knows."""
    match predicate:
        case Probe(name, arguments):
            yield _way(name, arguments)
        case AllOf(operands):
            yield from _ways(operands[0])
        case AnyOf(operands):
            yield from chain.from_iterable(map(_ways, operands))
        case Not():
            yield None


def _way(name: str, arguments: Mapping[str, Any]) -> Change | str | None:
    server, _, predicate = name.partition(".")
    if name in answers.BROKEN:
        return answers.BROKEN[name](arguments)
    table: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = getattr(
        _BY_KIND.get(namespaces.kind_of(server) or ""), "BROKEN", {}
    )
    registered = f"{namespaces.registered(server)}.{predicate}"
    return (server, table[registered](arguments)) if registered in table else None


def _mistakes(
    before: Mapping[str, FileTree], after: Mapping[str, FileTree], final_answer: str | None
) -> Iterator[Mutant]:
    for server in namespaces.known():
        if server in after:
            module = _BY_KIND[namespaces.kind_of(server) or ""]
            for name, change in module.mistakes(before.get(server, FileTree({})), after[server]):
                yield Mutant(f"{server}: {name}", "mistake", ((server, change),))
    for name, answer in answers.mistakes(final_answer) if final_answer is not None else ():
        yield Mutant(f"answer: {name}", "mistake", answer=answer)
