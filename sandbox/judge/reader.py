"""Fork server and operations of readers: `python -I -m sandbox.judge.reader`.

A reader sees a frozen state, and no key, no goal and no expected answer. Nothing else parses what an agent left.

Operations, each with the state's tar as its first part, and behind it what was read back from backends:

    check     is it a state at all?
    extract   give one folder of it, as the tar that a fresh world is seeded with
    look      give the first bytes of one file (the self-check looks whether they are torn)
    document  is it a JSON object? (its part is what a backend's reader wrote)
    reach     which of networks and files no namespace keeps from readers here; it needs no state
    read      give the normal form of each namespace that is asked for: a reading of one case. Where the bytes of a
              second state follow, the one that the agent found, that is another case; what is equal is read once
    mutate    a reading of several cases, each after its own changes; likewise
    document_of  the state of these namespaces after the given changes, as `verifiers.formats.state_document` writes it
    mutants   a reading of every mutant of a solution's end state, and where the predicate compares with the state that
              the agent found, of every damage (`verifiers.states.damage`). Only these two are told predicate and
              answer, and what they read was not left by an agent (`sandbox.runs.prover`)
    twins     likewise, of every twin (`sandbox.mutations.twins`)

A reading is several parts, which only judges unpack: first [{"name", "kind", "answer", "states": {namespace: number}},
...], the cases; then, for each namespace in the order asked for, its normal forms as `verifiers.normal_form` encodes
them, each behind its length (`message.framed`), to which those numbers refer. So the runner can hand one namespace's
normal forms to the judge of its own predicates, without a parser of what is in them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from sandbox.errors import Malformed
from sandbox.isolation.forking import serve
from sandbox.judge import message
from sandbox.judge.child import READER_USER, run
from sandbox.judge.loading import prepare
from sandbox.mutations.make import Kind, Mutant
from sandbox.mutations.make import mutants as mutants_of
from sandbox.mutations.mutators import mutate as mutated
from sandbox.mutations.twins import list_twins
from verifiers.budget import ReadingBudget
from verifiers.errors import Malformed as NoState
from verifiers.formats import state_document
from verifiers.formats.archive import tree_from_tar
from verifiers.formats.snapshot import FILE
from verifiers.language import predicate as predicates
from verifiers.language.predicate import Predicate
from verifiers.normal_form import NormalState, encode
from verifiers.predicates import namespaces
from verifiers.states.changes import describe
from verifiers.states.damage import list_damages
from verifiers.states.frame import is_let_through_on_purpose
from verifiers.states.readers import read as normal_form
from verifiers.tree import DIRECTORY, FileTree, Node

State: TypeAlias = Mapping[str, FileTree | NormalState]
"""The files of each namespace, or the normal form of what was damaged."""

MAX_READING = 128 * 1024 * 1024
"""Bytes of all normal forms of a reading together; what is larger is unreadable."""
A_LOOK = 64
"""Bytes of a file that `look` gives."""

_IN_REACH: list[str] = []
_AS_IT_IS = Mutant("", "broken")


def check(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:  # noqa: ARG001 - as the others
    """Parse the tar, and say no more."""
    tree_from_tar(io.BytesIO(parts[0]))
    return message.answer("done")


def extract(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:
    """Cut one folder out."""
    root = header["root"]
    folder = tree_from_tar(io.BytesIO(parts[0])).below(root)
    return message.answer("done", part=FileTree({root: DIRECTORY, **folder.under(root)}).to_tar())


def look(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:
    """Return the first bytes of one file; nothing where it is not there."""
    node = tree_from_tar(io.BytesIO(parts[0])).get(header["path"])
    return message.answer("done", part=node.data[:A_LOOK] if node else b"")


def document(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:  # noqa: ARG001 - as the others
    """Say whether a text is a JSON object."""
    try:
        sound = isinstance(json.loads(parts[0]), dict)
    except (ValueError, RecursionError):
        sound = False
    return message.answer("done" if sound else "refused")


def reach(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:  # noqa: ARG001 - as the others
    """Say what this machine did not let the fork server leave behind."""
    return message.answer("done", part=",".join(_IN_REACH).encode())


def read(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:
    """Read what a predicate looks at."""
    trees, before = _two_states(header, parts)
    cases = [trees] if before is None else [trees, before]
    return message.answer("done", "", *_Forms(header["looked_at"]).reading([(_AS_IT_IS, case) for case in cases]))


def mutate(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:
    """Read it after the changes of each case."""
    trees, before = _two_states(header, parts)
    cases = [_changed(trees, changes) for changes in header["changes"]] + ([] if before is None else [before])
    return message.answer("done", "", *_Forms(header["looked_at"]).reading([(_AS_IT_IS, case) for case in cases]))


def document_of(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:
    """Return the files themselves, after some changes."""
    trees = _changed(_trees(header, header["dumps"], parts), header["changes"])
    looked_at = {name: trees[name] for name in header["looked_at"] if name in trees}
    return message.answer("done", part=json.dumps(state_document.document_of(looked_at)).encode())


def mutants(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:
    """Read every mutant that can be made, and behind them the state itself and the one that it began as."""
    after, before = _two_states(header, parts)
    if before is None:
        raise Malformed("mutants follow from two states")
    predicate = predicates.parse(header["predicate"])
    forms = _Forms(header["looked_at"])
    cases: list[tuple[Mutant, State]] = []
    for mutant in mutants_of(predicate, before, after, header["answer"]):
        trees = dict(after)
        try:
            for server, change in mutant.changes:
                trees[server] = mutated(server, trees[server], change)
        except Malformed:
            continue
        cases.append((mutant, trees))
    if predicates.needs_baseline(predicate):
        cases += _damages(forms, predicate, before, after)
    cases += [(_AS_IT_IS, after), (_AS_IT_IS, before)]
    return message.answer("done", "", *forms.reading(cases))


def _damages(
    forms: _Forms, predicate: Predicate, before: Mapping[str, FileTree], after: Mapping[str, FileTree]
) -> Iterator[tuple[Mutant, State]]:
    """List the damaged normal forms of each namespace that both states have; the others stay as they are."""
    for name in sorted(forms.names_in(before) & forms.names_in(after)):
        frames = [probe for probe in predicates.probes(predicate) if probe.name == f"{name}.unchanged"]
        excepted = [selection for frame in frames for selection in frame.arguments.get("except", ())]
        untouched, solved = (normal_form(name, trees[name], ReadingBudget()) for trees in (before, after))
        for change, damaged in list_damages(name, untouched, solved):
            kind: Kind = "wide" if is_let_through_on_purpose(change, excepted) else "damage"
            yield Mutant(f"{name}: {describe(change)}", kind), {**after, name: damaged}


def twins(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:
    """Read every twin that can be made, and behind them the same two states."""
    after, before = _two_states(header, parts)
    if before is None:
        raise Malformed("twins follow from two states")
    looked_at = {name: after[name] for name in header["looked_at"] if name in after}
    cases = [*list_twins(predicates.parse(header["predicate"]), before, looked_at, header["answer"])]
    cases += [(_AS_IT_IS, after), (_AS_IT_IS, before)]
    return message.answer("done", "", *_Forms(header["looked_at"]).reading(cases))


class _Forms:
    """Normal forms, each read and written down once, however many cases share its tree."""

    def __init__(self, looked_at: Sequence[str]) -> None:
        self._parts: dict[str, list[bytes]] = {name: [] for name in looked_at}
        self._numbers: dict[tuple[str, int], int] = {}
        self._kept: list[FileTree | NormalState] = []  # so that no other tree ever has one's id
        self._room = MAX_READING

    def names_in(self, state: State) -> set[str]:
        """Name the namespaces of a state that are read."""
        return {name for name in self._parts if name in state and namespaces.kind_of(name)}

    def reading(self, cases: Iterable[tuple[Mutant, State]]) -> list[bytes]:
        """Write cases down, and what each namespace had in them."""
        rows = [
            {
                "name": mutant.name,
                "kind": mutant.kind,
                "answer": mutant.answer,
                "states": self._numbered(state, ReadingBudget()),
            }
            for mutant, state in cases
        ]
        return [json.dumps(rows).encode(), *(b"".join(map(message.framed, parts)) for parts in self._parts.values())]

    def _numbered(self, state: State, budget: ReadingBudget) -> dict[str, int]:
        """Number the normal forms of one case, whose namespaces share a budget."""
        known = self.names_in(state)
        return {name: self._number(name, state[name], budget) for name in self._parts if name in known}

    def _number(self, name: str, tree: FileTree | NormalState, budget: ReadingBudget) -> int:
        if (name, id(tree)) not in self._numbers:
            form = tree if isinstance(tree, NormalState) else normal_form(name, tree, budget)
            part = self._written(name, form)
            if len(part) > self._room:
                if isinstance(
                    tree, NormalState
                ):  # as unreadable it would fail, and so pass for a damage that was noticed
                    raise Malformed(f"the damages of this state take more than {MAX_READING} bytes: make it smaller")
                part = self._written(
                    name, NormalState(unreadable=f"its normal form is larger than {MAX_READING} bytes")
                )
            self._room -= len(part)
            self._kept.append(tree)
            self._numbers[name, id(tree)] = len(self._parts[name])
            self._parts[name].append(part)
        return self._numbers[name, id(tree)]

    def _written(self, name: str, state: NormalState) -> bytes:
        try:
            return encode({name: state})
        except (NoState, ValueError, RecursionError) as error:
            return encode({name: NormalState(unreadable=f"it has no normal form ({type(error).__name__})")})


def _trees(header: Mapping[str, Any], dumps: Sequence[str], parts: Sequence[bytes]) -> dict[str, FileTree]:
    """Cut the state into one tree a namespace; what was read back stands for the whole folder.

    Where two states are compared, a file beside the servers' folders (`VACUUM INTO` writes anywhere) is in each tree. A
    folder there is no change: a world that was kept has those of all servers that ever ran in it.
    """
    namespaces.learn(header["namespaces"])
    tar, *documents = parts
    tree = tree_from_tar(io.BytesIO(tar))
    dumped = {name: FileTree({FILE: Node("file", data)}) for name, data in zip(dumps, documents, strict=True)}
    paths = tree if "dumps_before" in header else ()
    beside = {f"../{path}": tree[path] for path in paths if "/" not in path and tree[path].kind != "directory"}
    cut = ((name, _own(tree.below(root), header["files"].get(name))) for name, root in header["roots"].items())
    return {name: FileTree({**folder, **beside}) if beside else folder for name, folder in cut} | dumped


def _two_states(
    header: Mapping[str, Any], parts: Sequence[bytes]
) -> tuple[dict[str, FileTree], dict[str, FileTree] | None]:
    """Cut the state that was left, and the one that its agent found where it is given; an equal tree is one."""
    split = 1 + len(header["dumps"])
    after = _trees(header, header["dumps"], parts[:split])
    if "dumps_before" not in header:
        return after, None
    before = _trees(header, header["dumps_before"], parts[split:])
    return after, {name: after[name] if after.get(name) == tree else tree for name, tree in before.items()}


def _own(tree: FileTree, file: tuple[str, str] | None) -> FileTree:
    """Put a kind's one file under the kind's name, where the server has another; nothing else may have that name.

    What a database keeps beside its file (`-wal`, `-journal`) goes with it.
    """
    if file is None:
        return tree
    theirs, ours = file
    named = {path: node for path, node in tree.items() if not _is_of(ours, path)}
    moved = {f"{ours}{path[len(theirs) :]}": node for path, node in tree.items() if _is_of(theirs, path)}
    return FileTree({path: node for path, node in named.items() if not _is_of(theirs, path)} | moved)


def _is_of(file: str, path: str) -> bool:
    return path == file or path.startswith(f"{file}-")


def _changed(trees: Mapping[str, FileTree], changes: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, FileTree]:
    """Make some changes to a state; the one that was given stays as it is."""
    changed = dict(trees)
    for server, change in changes:
        changed[server] = mutated(server, changed.get(server, FileTree({})), change)
    return changed


def _guarded(operation: Any) -> Any:
    """Say how an operation ended where it has no result."""

    def guarded(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:
        try:
            return bytes(operation(header, parts))
        except NoState as error:
            return message.answer("unreadable", _plain(error))
        except Malformed as error:
            return message.answer("refused", _plain(error))

    return guarded


def _plain(error: Exception) -> str:
    return str(error).encode("utf-8", "backslashreplace").decode()


_ALL = (check, extract, look, document, reach, read, mutate, document_of, mutants, twins)
OPERATIONS = {operation.__name__: _guarded(operation) for operation in _ALL}


def _prepare() -> None:
    """Read every kind of state once, so that all that it needs is loaded."""
    servers = namespaces.known()
    tar = FileTree({f"{name}/a": Node("file", b"a") for name in servers}).to_tar()
    roots = {name: name for name in servers}
    places = {"roots": roots, "files": {}, "namespaces": {}, "dumps": []}
    OPERATIONS["read"]({**places, "looked_at": list(servers)}, [tar])
    changes = [[["filesystem", {"remove": "a"}]]]
    OPERATIONS["mutate"]({**places, "looked_at": [], "changes": changes}, [tar])
    _IN_REACH[:] = sorted(prepare())


if __name__ == "__main__":
    serve(_prepare, lambda descriptors: run(READER_USER, OPERATIONS, descriptors))
