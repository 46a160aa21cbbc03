"""Manifest of one MCP server: how to start it, seed it, list its tools, and what may be changed in its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from verifiers.tree import FileTree

# Where things lie inside every world, whatever the box.
DATA = "/data"  # the tmpfs that holds all state; a server's own folder is DATA/<root>
PROGRAMS = "/opt/world"  # the installed servers: python/<name>, npm, node
OURS = "/opt/ours"  # the few packages of ours that run in a world, each where the checkout has it
OUR_SERVERS = f"{OURS}/sandbox/servers"

ROOT = Path(__file__).parents[3]  # the checkout, on this machine
FOLDERS = ROOT / "sandbox" / "servers"  # one a server


def own_programs() -> dict[str, Path]:
    """Give the packages of ours that run in a world: where each lies there -> where it lies on this machine."""
    packages = (*sorted(FOLDERS.glob("*/backend")), FOLDERS / "github" / "forge")
    return {f"{OURS}/{path.relative_to(ROOT)}": path for path in packages}


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
class Server:
    """One pinned server.

    Attributes:
        name: its namespace (`filesystem`), which predicates and documents use.
        package: the distribution it comes from, with the registry's name for it.
        version: the pinned version.
        root: its folder below `DATA`.
        command: the argument vector inside a world, absolute paths.
        environment: variables that it needs.
        tools: the recorded tool list: name on the server -> `{"description", "inputSchema"}`.
        state_schema: JSON Schema of this server's part of `initial_state`.
        seed: builds the folder's content from that part. Pure: the same state gives the same bytes.
        mutations: JSON Schema of the changes that admission's mutants may make to a final state; a reader process makes
            them (`sandbox.mutations.mutators`).
        mode: how a client connects: `legacy` is the initialize handshake that every server answers; probing for a
            newer one makes old servers log an error for each guess.
        on_demand: whether a world starts it with the first word to it, and not with the world. Most of a task's servers
            are there to distract; an interpreter and its imports for each of them are most of what a run costs.
        stateless: whether its process keeps nothing between calls but its folder, so that proofs may follow each other
            in it (`sandbox.runs.kept_worlds`).
        backend: what it stands on, or None where it needs nothing but its folder.
        reader: the argument vector of the program that reads its frozen folder, in a fresh world that holds nothing
            else, and writes one JSON document for our predicates (`sandbox.runs.state_reader`); empty where they read
            the folder as it is.
    """

    name: str
    package: str
    version: str
    root: str
    command: Sequence[str]
    environment: Mapping[str, str]
    tools: Mapping[str, Mapping[str, Any]] = field(repr=False)
    state_schema: Mapping[str, Any] = field(repr=False)
    seed: Callable[[Mapping[str, Any]], FileTree]
    mutations: Mapping[str, Any] = field(repr=False)
    mode: Literal["legacy", "auto"] = "legacy"
    on_demand: bool = False
    stateless: bool = False
    backend: Backend | None = None
    reader: Sequence[str] = ()
