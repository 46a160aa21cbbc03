"""Lists the twins of a right final state: changes of what a solution made that a fair person accepts.

Each changes all that it fits, so there are few; where one is false, its predicate tells what was not accepted. Their
names stand in `verifiers.twins`. What was there before, and what a solution only moved, is changed by none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from sandbox.errors import Malformed
from sandbox.kinds.calendar.twins import TWINS as CALENDAR
from sandbox.kinds.files.twins import TWINS as FILES
from sandbox.kinds.forge.twins import TWINS as FORGE
from sandbox.kinds.git.twins import TWINS as GIT
from sandbox.kinds.graph.twins import TWINS as GRAPH
from sandbox.kinds.json_document.twins import TWINS as JSON_DOCUMENT
from sandbox.kinds.mailbox.twins import TWINS as MAILBOX
from sandbox.kinds.postgres.twins import TWINS as POSTGRES
from sandbox.kinds.redis.twins import TWINS as REDIS
from sandbox.kinds.sqlite.twins import TWINS as SQLITE
from sandbox.kinds.workbook.twins import TWINS as WORKBOOK
from sandbox.mutations.answer_twins import answer_twins
from sandbox.mutations.make import Mutant
from verifiers.errors import VerifierError
from verifiers.language.predicate import Predicate
from verifiers.predicates import namespaces
from verifiers.tree import FileTree

Trees: TypeAlias = Mapping[str, FileTree]

TWINS: Mapping[str, Mapping[str, Callable[[FileTree, FileTree], FileTree]]] = {
    "calendar": CALENDAR,
    "files": FILES,
    "forge": FORGE,
    "git": GIT,
    "graph": GRAPH,
    "json_document": JSON_DOCUMENT,
    "mailbox": MAILBOX,
    "postgres": POSTGRES,
    "redis": REDIS,
    "sqlite": SQLITE,
    "workbook": WORKBOOK,
}


def list_twins(predicate: Predicate, before: Trees, after: Trees, answer: str | None) -> Iterator[tuple[Mutant, Trees]]:
    """List the twins of a final state, each with its state; arguments as for `sandbox.mutations.make.mutants`."""
    for server, tree in after.items():
        if before.get(server) == tree:
            continue
        kind = namespaces.kind_of(server) or ""
        for name, twin in TWINS.get(kind, {}).items():
            try:
                made = twin(before.get(server, FileTree({})), tree)
            except (Malformed, VerifierError):  # the state has a form that its twins do not know
                continue
            if made != tree:
                yield Mutant(f"{kind}/{name}", "twin"), {**after, server: made}
    for name, said in answer_twins(predicate, answer) if answer is not None else ():
        if said != answer:
            yield Mutant(f"answer/{name}", "twin", answer=said), after
