"""Entry point to all readers: reads submitted states into their normal forms.

Importing this module imports all readers, so that a process can import it, drop its access to files, network and
programs, and read afterwards: `read` opens no file, starts no process and makes no folder. A process that holds keys
imports none of `verifiers.states.READERS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from json.encoder import encode_basestring_ascii
from typing import TypeAlias

from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState, StateUnavailable
from verifiers.normal_form import MAX_DOCUMENT, NormalState
from verifiers.predicates import namespaces
from verifiers.states.calendar.reader import read_calendars
from verifiers.states.files.reader import read_files
from verifiers.states.forge.reader import read_forge
from verifiers.states.git.reader import read_repositories
from verifiers.states.graph.reader import read_graph
from verifiers.states.json_document.reader import read_document
from verifiers.states.mailbox.reader import read_mail
from verifiers.states.postgres.reader import read_tables
from verifiers.states.redis.reader import read_keys
from verifiers.states.sqlite.reader import read_database
from verifiers.states.unread_content import list_unread_content
from verifiers.states.workbook.reader import read_workbooks
from verifiers.tree import FileTree

Reader: TypeAlias = Callable[[FileTree, ReadingBudget], NormalState]

KINDS: Mapping[str, Reader] = {
    "calendar": read_calendars,
    "files": read_files,
    "forge": read_forge,
    "git": read_repositories,
    "graph": read_graph,
    "json_document": read_document,
    "mailbox": read_mail,
    "postgres": read_tables,
    "redis": read_keys,
    "sqlite": read_database,
    "workbook": read_workbooks,
}
"""State kind to what reads its states."""
A_VALUE, A_FLOAT, AN_ENTRY = 1, 4, 50
"""Steps for each value of a document and each key in it, and more for a fraction: all of it is written down, read back,
and made into what it means. And steps for each entry of the tar in which a state comes."""
MAX_BITS = 64
A_COMMA, A_NUMBER, ROOM, WRITTEN = 3, 25, 8192, 64
"""Bytes between a value and the next, of a number or a constant, for what stands around a document, and for a step."""


def read_all(trees: Mapping[str, FileTree]) -> dict[str, NormalState]:
    """Read the states of several namespaces on one shared budget.

    Raises:
        KeyError: there is no such namespace.
    """
    budget = ReadingBudget()
    return {name: read(name, tree, budget) for name, tree in trees.items()}


def read(namespace: str, tree: FileTree, budget: ReadingBudget | None = None) -> NormalState:
    """Read one namespace's state; never raises because of what a state holds.

    A state that exceeds its budget or crashes its reader is unreadable and counts against the agent: a reader is
    admitted with the end states of all tasks, so a state that breaks it was made to.

    Args:
        namespace: one of `verifiers.predicates.namespaces`.
        tree: the files that its server left, from the server's own folder on.
        budget: what reading may cost; by default the caps in `verifiers.budget`. A state says what it has
            taken from it.

    Raises:
        KeyError: there is no such namespace.
        MemoryError: this process may not have as much as reading needs.
    """
    reader, budget = KINDS[namespaces.kind_of(namespace) or namespace], budget or ReadingBudget()
    steps, size = budget.steps, budget.bytes
    try:
        budget.step(AN_ENTRY * len(tree))
        state = reader(tree, budget)
        others = list_unread_content(namespaces.kind_of(namespace) or namespace, tree, budget)
        if unread := [*state.document.get("unread", ()), *others]:
            state = replace(state, document={**state.document, "unread": unread})
        _weigh(state, budget)
    except CorruptState as error:
        state = NormalState(unreadable=str(error))
    except StateUnavailable as error:
        state = NormalState(missing=str(error))
    except MemoryError:  # it says how much this process may have, and nothing about the state
        raise
    except Exception as error:  # whatever a hostile state finds in a reader
        state = NormalState(unreadable=f"its reader broke on it ({type(error).__name__})")
    return replace(state, steps=budget.steps - steps, bytes=budget.bytes - size)


def _weigh(state: NormalState, budget: ReadingBudget) -> None:
    """Charge the budget for encoding and decoding a normal form.

    Raises:
        CorruptState: it is more than the budget has, or longer than a document may be, or has a number that is not
        finite
            or that no format has.
    """
    budget.step(A_VALUE * len(state.blobs))
    waiting, size = [state.document], 0
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if kind is str:
            if len(value) < MAX_DOCUMENT:
                size += len(encode_basestring_ascii(value))
            else:
                size = MAX_DOCUMENT
        elif kind is list or kind is dict:
            budget.step(A_VALUE * len(value) * (1 if kind is list else 2))
            size += A_COMMA * len(value) * (1 if kind is list else 2)
            if kind is dict:
                waiting += value.keys()
                value = value.values()
            waiting += value
        else:
            if kind is int and value.bit_length() > MAX_BITS:
                raise CorruptState(f"it has a number in it of more than {MAX_BITS} bits")
            if kind is float:
                budget.step(A_FLOAT)
                if not math.isfinite(value):
                    raise CorruptState("it has a number in it that is not finite")
            size += A_NUMBER
        if size >= MAX_DOCUMENT - ROOM:
            raise CorruptState(f"its normal form is longer than {MAX_DOCUMENT} bytes")
    budget.step(size // WRITTEN)
