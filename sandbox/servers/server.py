"""Record of one MCP server that a world can hold: how it is started and seeded, and its tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sandbox.kinds.common.state_kind import ADDED, ROOT, Backend

if TYPE_CHECKING:  # each command loads this module, and few a predicate
    from verifiers.predicates.own_predicates import OwnPredicates
    from verifiers.tree import FileTree

HANDSHAKE: Literal["legacy"] = "legacy"
"""How a client connects: the handshake that every server answers. Probing for a newer one makes old servers log an
error for each guess."""
PYTHON, NPM = "python", "npm"
"""The folders of an added server's installed programs, in its own folder."""
LOCKS = ("requirements.txt", "package-lock.json")
"""The locks of a server's package: of a PyPI package, and of an npm package."""
SYSTEM = "system"
"""In an added server's folder: its Debian packages (`*.deb`), and below `root` what they lay out in a world."""
SYSTEM_ROOT = f"{SYSTEM}/root"
SERVICES_FOLDER = "services"
"""In an added server's folder: one a service that has a package of its own."""
FOLDERS = ROOT / "sandbox" / "servers"  # of the shipped ones, one a server


@dataclass(frozen=True, slots=True)
class Server:
    """One pinned server, as its manifest and its state kind describe it (`sandbox.servers.manifest`).

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
        mutations: JSON Schema of the changes that admission's mutants may make to a final state.
        kind: the name of its state kind.
        file: where in its folder the kind's one file lies, if not under the kind's own name.
        on_demand: whether a world starts it with the first word to it, and not with the world. Most of a task's servers
            are there to distract; an interpreter and its imports for each of them are most of what a run costs.
        stateless: whether its process keeps nothing between calls but its folder, so that proofs may follow each other
            in it (`sandbox.servings.kept_worlds`).
        backend: what it stands on, or None where it needs nothing but its folder.
        reader: the argument vector of the program that reads its frozen folder back; empty where nothing must.
        call_seconds: how long one call may take, if that is more than others have.
        start_with: the initial state of its first start, and of a task that gives it none.
        first_call: the tool that is called when it is added, with its arguments; None where any may be.
        system: the Debian packages that its worlds have, beside those that these need; their lock is in its folder.
        system_calls: the groups of system calls that its worlds may make beside what worlds may.
        services: the helper programs that its backend keeps up, by name, as its manifest has them.
        own: the predicates that it has beside those of its state kind.
        folder: of an added server, where its files and programs lie on this machine; None for a shipped one.
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
    kind: str = "files"
    file: str | None = None
    on_demand: bool = False
    stateless: bool = False
    backend: Backend | None = None
    reader: Sequence[str] = ()
    call_seconds: float = 0
    start_with: Mapping[str, Any] = field(default_factory=dict, repr=False)
    first_call: Mapping[str, Any] | None = None
    system: Sequence[str] = ()
    system_calls: Sequence[str] = ()
    services: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    own: OwnPredicates | None = None
    folder: Path | None = None


def added_at(name: str) -> str:
    """Return where a world sees the folder of an added server."""
    return f"{ADDED}/{name}"
