"""`predicate check`: states read from files, so that anybody can check a retired task without running an agent.

Each entry of a folder is one namespace's state, named after it: a folder as its server left it, `sqlite.db` (a database
file), `redis.json` (the keys, as in a task's `initial_state`), or `postgres.sql` (an SQL dump, for which a throwaway
cluster is started in a box). Instead of a folder there may be a file: the `state` of a line of a release's
`broken.jsonl` (`verifiers.formats.state_document`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quarterturn.errors import Malformed, Unavailable, require_file
from sandbox.boxes.box import Box, ResourceLimits
from sandbox.errors import SandboxError
from sandbox.judge import JUDGING, MAX_DOCUMENT, Question
from sandbox.kinds.common.check import check
from sandbox.servers.registry import SERVERS
from sandbox.servings.state_reader import WRECKAGE, in_data, snapshot
from sandbox.world.frozen import FrozenState
from vault.canonical import parse_object
from vault.task.document import Task
from verifiers.errors import VerifierError
from verifiers.language import predicate as predicates
from verifiers.tree import DIRECTORY, FileTree, Node

MAX_FILE = 64 * 1024 * 1024
ROOM = ResourceLimits(tmpfs=4 * MAX_FILE)


@dataclass(frozen=True, slots=True)
class GivenState:
    """A state that was read from files: each namespace that it has, below a folder of its name."""

    namespaces: Sequence[str]
    state: FrozenState = field(repr=False)


def read(place: Path, make_box: Callable[[], Box]) -> GivenState:
    """Read the state of every namespace as if a world had left it, from a folder or from a document.

    What the files hold is not looked into here, but for `redis.json` and the document, which are like a task's.

    Args:
        place: where they lie.
        make_box: gives a box; asked for only where a backend must be started.

    Raises:
        Malformed: an entry is the state of no namespace, or cannot be read; the message names it.
        Unavailable: a backend must be started and cannot be.
    """
    return _folder(place, make_box) if place.is_dir() else _document(place)


def _document(file: Path) -> GivenState:
    document = parse_object(file.read_bytes(), str(file), max_size=MAX_DOCUMENT)
    try:
        return GivenState(list(document), FrozenState.of_document(document))
    except VerifierError as error:
        raise Malformed(f"{file} is no state: {error}") from None


def _folder(folder: Path, make_box: Callable[[], Box]) -> GivenState:
    nodes: dict[str, Node] = {}
    dumps: dict[str, bytes] = {}
    for path in sorted(folder.iterdir()):
        name = path.name if path.is_dir() else path.stem
        if name in nodes:
            raise Malformed(f"{folder} holds the state of {name} twice, as a folder and as a file; leave one there")
        taken = _taken(path, name, make_box)
        nodes[name] = DIRECTORY
        if isinstance(taken, bytes):
            dumps[name] = taken
        else:
            nodes |= taken.under(name)
    names = [name for name in nodes if "/" not in name]
    return GivenState(names, FrozenState(FileTree(nodes).to_tar(), dumps))


def read_replies(file: Path) -> dict[str, str]:
    """Read what a claim judge replied of each claim.

    Raises:
        NotFound: there is no such file.
        Malformed: it is no JSON object of texts.
    """
    require_file(file)
    replies = parse_object(file.read_bytes(), str(file), max_size=MAX_DOCUMENT)
    if not all(isinstance(reply, str) for reply in replies.values()):
        raise Malformed(f"{file} must hold a text for each claim: the reply as the judge gave it")
    return replies


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked: a predicate, and what its world begins with; None where only a predicate was given."""

    predicate: Any = field(repr=False)
    initial_state: Mapping[str, Any] | None = field(repr=False)


def asked_of(document: Any, what: str) -> Asked:
    """Take a predicate, or a whole task; of a task with variants its base.

    Raises:
        Malformed: of `vault.errors`: it is a task with free parameters, and is malformed.
    """
    if not isinstance(document, dict) or "success_predicate" not in document:
        return Asked(document, None)
    task = Task.parse(document, what).base().document if "free" in document else document
    return Asked(task["success_predicate"], task.get("initial_state", {}))


def question(document: Any, given: GivenState) -> Question:
    """Return the question that a predicate asks of a state.

    Raises:
        Malformed: of `verifiers.errors`: the document is no predicate.
    """
    return Question(document, predicates.parse(document), {name: name for name in given.namespaces})


def baseline(asked: Asked, question: Question, make_box: Callable[[], Box]) -> FrozenState:
    """Return what an agent found in each namespace, as the runner derives it from the task.

    Args:
        asked: what is asked.
        question: the same as a question about a state.
        make_box: gives a box; asked for only where the predicate compares with what a backend must read.

    Raises:
        Unavailable: a backend must be started and cannot be.
        Malformed: the task's initial state is none, or a bare predicate compares with it.
    """
    if question.needs_baseline and asked.initial_state is None:
        raise Malformed("the predicate compares with what the agent found: give a file with the whole task")
    nodes: dict[str, Node] = {}
    dumps: dict[str, bytes] = {}
    for server in (SERVERS[name] for name in question.looked_at if name in SERVERS):
        state = (asked.initial_state or {}).get(server.name, {})
        check(server.state_schema, state, f"the initial state of {server.name}")
        tree = server.seed(state)
        nodes |= tree.under(server.name)
        if server.reader and question.needs_baseline:
            dumps[server.name] = _started(f"the task's {server.name}", server.name, tree, make_box)
    return FrozenState(FileTree(nodes).to_tar(), dumps)


def _taken(path: Path, name: str, make_box: Callable[[], Box]) -> FileTree | bytes:
    try:
        if path.is_dir():
            return FileTree.from_directory(path)
        if name not in _FILES or path.suffix not in _FILES[name][0]:
            known = ", ".join(f"{kind}{suffixes[0]}" for kind, (suffixes, _) in _FILES.items())
            raise Malformed(f"{path} is the state of no namespace: give folders named after namespaces, or {known}")
        if path.stat().st_size > MAX_FILE:
            raise Malformed(f"{path} is larger than {MAX_FILE} bytes")
        return _FILES[name][1](path, make_box)
    except (VerifierError, OSError) as error:
        raise Malformed(f"{path} cannot be read: {error}") from error


def _database(path: Path, _: Callable[[], Box]) -> FileTree:
    return FileTree({"main.db": Node("file", path.read_bytes())})


def _keys(path: Path, make_box: Callable[[], Box]) -> bytes:
    document = parse_object(path.read_bytes(), str(path), max_size=MAX_FILE)
    server = SERVERS["redis"]
    check(server.state_schema, document, str(path))
    return _started(path, "redis", server.seed(document), make_box)


def _dump(path: Path, make_box: Callable[[], Box]) -> bytes:
    return _started(path, "postgres", FileTree({"seed.sql": Node("file", path.read_bytes())}), make_box)


def _started(path: object, name: str, tree: FileTree, make_box: Callable[[], Box]) -> bytes:
    """Load a state into a backend, and read it back as after a run."""
    server = SERVERS[name]
    try:
        frozen = snapshot(make_box(), server, in_data(server, tree), JUDGING, limits=ROOM)
    except SandboxError as error:
        raise Unavailable(f"{path} needs a throwaway {name}, which cannot be started: {error}") from error
    if frozen == WRECKAGE:
        hint = "; make a dump with `pg_dump --no-owner --no-privileges`" if name == "postgres" else ""
        raise Malformed(f"{path} cannot be loaded by {name}{hint}")
    return frozen


_FILES: Mapping[str, tuple[tuple[str, ...], Callable[[Path, Callable[[], Box]], FileTree | bytes]]] = {
    "sqlite": ((".db", ".sqlite", ".sqlite3"), _database),
    "redis": ((".json",), _keys),
    "postgres": ((".sql",), _dump),
}
