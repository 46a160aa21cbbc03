"""A state kind: how the state of any server of this kind is described, seeded, kept, read back and mutated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verifiers.tree import FileTree

# Where things lie inside every world, whatever the box.
DATA = "/data"  # the tmpfs that holds all state; a server's own folder is DATA/<root>
PROGRAMS = "/opt/world"  # the installed servers: python/<name>, npm, node
ADDED = "/opt/added"  # the folders of the servers that a home has added
OURS = "/opt/ours"  # the few packages of ours that run in a world, each where the checkout has it
OUR_KINDS = f"{OURS}/sandbox/kinds"

ROOT = Path(__file__).parents[3]  # the checkout, on this machine
FOLDERS = ROOT / "sandbox" / "kinds"  # one a kind
FROZEN = FOLDERS / "common" / "frozen"  # what stops a server's clock and repeats its random values
SERVICES = FOLDERS / "common" / "services"  # what keeps a server's helper programs up


def own_programs() -> dict[str, Path]:
    """Return the packages of ours that run in a world: where each lies there -> where it lies on this machine."""
    return {f"{OURS}/{path.relative_to(ROOT)}": path for path in (FROZEN, SERVICES, *sorted(FOLDERS.glob("*/backend")))}


@dataclass(frozen=True, slots=True)
class Backend:
    """Backend of a server: started before its server, in the same folder, and stopped after it.

    It writes the line `ready` on its standard output once the server may start, and on SIGTERM it writes down what it
    holds and ends. One that never was started has touched nothing in its folder.

    Attributes:
        command: the argument vector inside a world.
        environment: variables that it needs.
        needs: files that a machine without our image may lack, as paths inside a world.
    """

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    needs: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class StateKind:
    """One state kind.

    Attributes:
        name: what a manifest calls it; `verifiers.predicates.namespaces` knows it by the same name.
        about: one sentence for people who choose a kind.
        schema: JSON Schema of a server's part of `initial_state`.
        seed: builds the server's folder from that part. Pure: the same state gives the same bytes.
        mutations: JSON Schema of the changes that admission's mutants may make to a final state; a reader process makes
            them (`sandbox.mutations.mutators`).
        file: the one file of the folder that holds the state, which a server may have under another name; None where
            the folder has no such file.
        backend: what servers of this kind stand on, or None where they need nothing but their folder.
        reader: the argument vector of the program that reads the frozen folder, in a fresh world that holds nothing
            else, and writes one JSON document for the predicates (`sandbox.servings.state_reader`); empty where they
            read the folder as it is.
    """

    name: str
    about: str
    schema: Mapping[str, Any] = field(repr=False)
    seed: Callable[[Mapping[str, Any]], FileTree]
    mutations: Mapping[str, Any] = field(repr=False)
    file: str | None = None
    backend: Backend | None = None
    reader: Sequence[str] = ()
