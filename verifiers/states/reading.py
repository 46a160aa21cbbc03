"""Reads submitted states into their normal forms: the one door to every reader.

Importing this module imports all of them, so that a process can import it, give up its files, network and programs, and
read afterwards: `read` opens no file, starts no process and makes no folder. A process that holds keys imports none of
`verifiers.states.READERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from verifiers.errors import Spoiled, Unreadable
from verifiers.normal import NormalState
from verifiers.states.budget import Budget
from verifiers.states.calendar.reader import read_calendars
from verifiers.states.files.reader import read_files
from verifiers.states.forge.reader import read_forge
from verifiers.states.git.reader import read_repositories
from verifiers.states.graph.reader import read_graph
from verifiers.states.mailbox.reader import read_mail
from verifiers.states.postgres.reader import read_tables
from verifiers.states.redis.reader import read_keys
from verifiers.states.sqlite.reader import read_database
from verifiers.states.workbook.reader import read_workbooks
from verifiers.views import Tree

Reader: TypeAlias = Callable[[Tree, Budget], NormalState]

KINDS: Mapping[str, Reader] = {
    "calendar": read_calendars,
    "email": read_mail,
    "filesystem": read_files,
    "git": read_repositories,
    "github": read_forge,
    "memory": read_graph,
    "postgres": read_tables,
    "redis": read_keys,
    "spreadsheet": read_workbooks,
    "sqlite": read_database,
}
"""Namespace to what reads its states."""


def read(namespace: str, tree: Tree, budget: Budget | None = None) -> NormalState:
    """Read one namespace's state; never raises for what a state holds.

    A state that costs more than its budget, and one that its reader breaks on, is unreadable and counts against whoever
    left it: a reader is admitted with the end states of all tasks, so what breaks it was made to.

    Args:
        namespace: one of `KINDS`.
        tree: the files that its server left, from the server's own folder on.
        budget: what reading may cost; by default the caps in `verifiers.states.budget`.

    Raises:
        KeyError: there is no such namespace.
    """
    reader, budget = KINDS[namespace], budget or Budget()
    try:
        state = reader(tree, budget)
    except Spoiled as error:
        state = NormalState(unreadable=str(error))
    except Unreadable as error:
        state = NormalState(missing=str(error))
    except Exception as error:  # whatever a hostile state finds in a reader
        state = NormalState(unreadable=f"its reader broke on it ({type(error).__name__})")
    return replace(state, steps=budget.steps, bytes=budget.bytes)
