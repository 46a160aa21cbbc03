"""A forger with all keys: changes one fact of an honest history, and makes everything again that can follow from it.

`History` holds the leaves of three months and what their releases open, as JSON values. `changes` lists what the forger
can do to one of them: drop a field, change it to another value of its form, add one that another has, repeat an item or
a leaf, exchange it with another, or move a leaf. `History.write` then makes the indices, counts, roots, proofs,
commitments, signatures, manifests and computed files again which follow from the rest, save the changed one.
"""

from __future__ import annotations

import json
import pickle
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from vault.commitment import commitment
from vault.errors import Malformed
from vault.ledger.audit.verify import audit
from vault.ledger.release import contents
from vault.ledger.release.contents import BROKEN, MANIFEST, OPENINGS, RESULTS, RUNS, TASKS, WITHDRAWN
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.statements.forms import Form
from vault.ledger.statements.jcs import canonical
from vault.ledger.statements.log_state import handover_text, month_number, month_text
from vault.ledger.statements.results import totals_of
from vault.ledger.statements.rules import RULES
from vault.ledger.statements.spot_check import is_chosen
from vault.ledger.statements.statement import STATEMENTS, statement_form
from vault.ledger.tree.merkle import MerkleTree, inclusion_proof, leaf_hash, set_root
from vault.ledger.tree.tiles import entries_path, pack_entries, tile_path

from .conftest import ORIGIN, SECOND, Month, deferred, drawn_signer, second_signature

SIGNERS = {signer.verifier.vkey: signer for signer in map(drawn_signer, ("key", "second key", "third"))}
KEYS = list(SIGNERS)
BOUND = (TASKS, WITHDRAWN, OPENINGS, RUNS, RESULTS)  # files with documents that a commitment fixes


@dataclass
class Release:
    """What a retirement opens: its leaf, its manifest, and the lines of its files."""

    retire: dict[str, Any]
    manifest: dict[str, Any]
    rows: dict[str, list[dict[str, Any]]]
    override: dict[str, bytes] = field(default_factory=dict)

    @property
    def cohort(self) -> str:
        return str(self.retire["predicate"].get("cohort"))


class History:
    """The leaves of a log, its releases, and the commitment to each result, all of which may be changed."""

    def __init__(self, month: Month) -> None:
        """Take over what an operator played, whose last release was written."""
        self.leaves = [json.loads(data) for data in month.leaves]
        retirements = [leaf for leaf in self.leaves if kind_of(leaf) == "retire"]
        self.releases = [self._read(leaf, month.folder / leaf["subject"][0]["name"]) for leaf in retirements]
        self.results = {
            run.run: {
                row.result["task"]: commitment("result", canonical(row.result), row.salt).hex() for row in run.results
            }
            for run in month.runs
        }
        self.sets = {index: leaf for index, leaf in enumerate(self.leaves) if kind_of(leaf) == "set"}
        self._kept: set[tuple[int, Any]] = set()

    @staticmethod
    def _read(retire: dict[str, Any], folder: Path) -> Release:
        names = [name for name in (*BOUND, BROKEN) if (folder / name).exists()]
        rows = {name: [json.loads(line) for line in (folder / name).read_bytes().splitlines()] for name in names}
        return Release(retire, json.loads((folder / MANIFEST).read_bytes()), rows)

    def keep(self, root: Any, path: Path_) -> None:
        """Keep a part as it is, with all that is in it, whatever the rest says."""
        for key in path:
            self._kept.add((id(root), key))
            if isinstance(root, list) or key in root:
                root = root[key] if isinstance(root, dict) or key < len(root) else None
        inside = [root]
        while inside:
            part = inside.pop()
            if isinstance(part, dict | list):
                pairs = part.items() if isinstance(part, dict) else enumerate(part)
                self._kept.update((id(part), key) for key, _ in pairs)
                inside += part.values() if isinstance(part, dict) else part

    def _put(self, container: Any, key: Any, value: Any) -> None:
        if container is not None and key in container and (id(container), key) not in self._kept:
            container[key] = value

    # -- what follows from the rest

    def write(self, folder: Path, number: int = -1) -> Path:
        """Write a release, with the log up to its end, or up to the retirement of an earlier one."""
        self._settle_leaves()
        tree, data, last = MerkleTree(), list[bytes](), self.releases[-1].retire
        wanted, size = self.releases[number], len(self.leaves)
        files: dict[str, bytes] = {}
        for leaf in self.leaves:
            self._bind(leaf, tree, data)
            if kind_of(leaf) == "retire" and (mine := [r for r in self.releases if r.retire is leaf]):
                bound = self._files(mine[0])
                self._put(leaf["subject"][0].get("digest"), "sha256", sha256(bound[MANIFEST]).hexdigest())
                if mine[0] is wanted:
                    files, size = bound, len(self.leaves) if leaf is last else len(data) + 1
            data.append(_text(leaf))
            tree.extend([leaf_hash(data[-1])])
        return self._write(folder, files or self._files(wanted), data[:size], tree)

    def _settle_leaves(self) -> None:
        commits = self._commits()
        last: int | None = None
        for index, leaf in enumerate(self.leaves):
            kind, says, subject = kind_of(leaf), leaf.get("predicate", {}), (leaf.get("subject") or [{}])[0]
            digest = subject.get("digest", {})
            if kind == "set":
                self._put(says, "previous", last)
                self._settle_set(says, subject, digest, commits)
                last = index
            elif kind in {"run-open", "score", "abort"}:
                self._put(subject, "name", f"run/{says.get('run')}")
                if kind == "run-open" and last is not None:
                    self._put(says, "set", self.leaves[last]["subject"][0].get("digest", {}).get("sha256"))
                    self._put(says.get("checkpoint"), "size", index)
                if kind == "score":
                    self._put(says, "results_root", self._tree(says.get("run"), commits)[0])
                    self._put(digest, "sha256", says.get("results_root"))
                if kind == "abort":
                    opened = [other for other in self.leaves if kind_of(other) == "run-open"]
                    mine = [other for other in opened if other["predicate"].get("run") == says.get("run")]
                    self._put(digest, "hmac-sha256", _digest(mine[0] if mine else leaf))
            elif kind == "retire":
                self._put(subject, "name", f"Historical-{says.get('month')}")
                for item in says.get("draw_seeds", ()):
                    promised = self.sets.get(item.get("set"))
                    self._put(item, "set", next((i for i, x in enumerate(self.leaves) if x is promised), 0))
            elif kind == "withdraw":
                self._put(digest, "hmac-sha256", commits.get(subject.get("name"), digest.get("hmac-sha256")))
            elif kind == "key":
                self._settle_key(index, says, digest)

    def _settle_set(self, says: Any, subject: Any, digest: Any, commits: Mapping[str, str]) -> None:
        self._put(subject, "name", f"set/{says.get('month')}")
        live: list[str] = []
        for cohort in says.get("cohorts", ()):
            tasks = [task for task in dict.fromkeys(cohort.get("tasks", ())) if task in commits]
            self._put(cohort, "count", len(tasks))
            self._put(cohort, "root", set_root(bytes.fromhex(commits[task]) for task in tasks).hex())
            live += tasks
        self._put(says, "count", len(live))
        self._put(says.get("counts"), "seen", max(len(live) - says.get("counts", {}).get("unseen", 0), 0))
        self._put(digest, "sha256", set_root(bytes.fromhex(commits[task]) for task in set(live)).hex())

    def _settle_key(self, index: int, says: Any, digest: Any) -> None:
        self._put(says, "size", index)
        old, new = says.get("old"), says.get("new")
        if old in SIGNERS and new in SIGNERS:
            self._put(digest, "sha256", sha256(SIGNERS[new].verifier.public).hexdigest())
            text = handover_text(old, new, says.get("size", 0))
            for word, vkey in (("old", old), ("new", new)):
                self._put(says.get("signatures"), word, b64encode(SIGNERS[vkey].key.sign(text)).decode())

    def _commits(self) -> dict[str, str]:
        leaves = [leaf for leaf in reversed(self.leaves) if kind_of(leaf) == "commit"]
        subjects = [leaf["subject"][0] for leaf in leaves]
        pairs = [(subject.get("name"), subject.get("digest", {}).get("hmac-sha256")) for subject in subjects]
        return {name: digest for name, digest in pairs if name and digest}

    def _tree(self, run: Any, commits: Mapping[str, str]) -> tuple[str, dict[str, int], MerkleTree]:
        """Return the root over a run's results, the position of each task, and the tree."""
        results = self.results.get(run, {})
        order = sorted(results, key=lambda task: (commits.get(task, ""), results[task]))
        tree = MerkleTree(leaf_hash(bytes.fromhex(results[task])) for task in order)
        return tree.root(len(order)).hex(), {task: place for place, task in enumerate(order)}, tree

    def _bind(self, leaf: dict[str, Any], tree: MerkleTree, data: list[bytes]) -> None:
        """Fill in what follows from the leaves before: the root under which a run is opened, and the sample."""
        says = leaf.get("predicate", {})
        if kind_of(leaf) == "run-open" and 0 < says.get("checkpoint", {}).get("size", 0) <= len(data):
            self._put(says["checkpoint"], "root", tree.root(says["checkpoint"]["size"]).hex())
        if kind_of(leaf) == "withdraw" and (says.get("signature") or {}).get("key") == SECOND.verifier.vkey:
            with suppress(Malformed):  # what is no statement is signed by nobody
                self._put(says["signature"], "signature", second_signature(SECOND, _text(leaf))["signature"])
        if kind_of(leaf) == "retire" and "seed" in says.get("spot_check", {}):
            chosen = self._chosen(bytes.fromhex(says["spot_check"]["seed"]), tree, len(data))
            self._put(says["spot_check"], "chosen", chosen)
            self._put(says["spot_check"], "judged", chosen)

    def _chosen(self, seed: bytes, tree: MerkleTree, end: int) -> int:
        kinds = [(kind_of(leaf), leaf.get("predicate", {}).get("run")) for leaf in self.leaves[:end]]
        begin = max((index for index, (kind, _) in enumerate(kinds) if kind == "set"), default=0)
        opened = {run for kind, run in kinds[begin:] if kind == "run-open"}
        closed = {run: index for index, (kind, run) in enumerate(kinds) if kind == "score" and run in opened}
        root = tree.root(max(closed.values()) + 1) if closed else b""
        return sum(is_chosen(seed, root, run, task) for run in closed for task in self.results.get(run, ()))

    # -- a release

    def _files(self, release: Release) -> dict[str, bytes]:
        self._settle_rows(release)
        files = {
            name: b"".join(_text(row) + b"\n" for row in rows)
            for name, rows in release.rows.items()
            if rows or name not in {WITHDRAWN, BROKEN}
        }
        manifest = release.manifest
        tasks = [(row.get("id", ""), sha256(_text(row)).hexdigest()) for row in release.rows[TASKS]]
        month, cohort = manifest.get("month", ""), manifest.get("cohort", "")
        files[contents.ATTESTATION] = contents.attestation(month, cohort, tasks)
        files[contents.AGGREGATE] = self._aggregate(release, month, cohort)
        names = {*files, contents.README}
        listed = manifest.get("files", {})
        for name in [name for name in listed if name not in names]:
            if (id(listed), name) not in self._kept:
                del listed[name]
        about = {key: manifest.get(key, "") for key in ("month", "cohort", "origin", "canary")}
        files[contents.README] = contents.readme(about | {"files": listed})
        files |= {name: data for name, data in release.override.items() if name in files}
        for name, data in files.items():
            entry = listed.get(name)
            self._put(entry, "bytes", len(data))
            self._put(entry, "sha256", sha256(data).hexdigest())
        return files | {MANIFEST: _text(manifest)}

    def _settle_rows(self, release: Release) -> None:
        commits = self._commits()
        places = {(kind_of(leaf), _name(leaf)): index for index, leaf in reversed([*enumerate(self.leaves)])}
        closes = {name: at for (kind, name), at in places.items() if kind in {"score", "abort"}}
        for row in release.rows[OPENINGS]:
            self._put(row, "commitment", commits.get(row.get("id", ""), row.get("commitment")))
            self._put(row, "commit", places.get(("commit", row.get("id")), row.get("commit")))
        for row in release.rows[RUNS]:
            name = f"run/{row.get('run')}"
            self._put(row, "open", places.get(("run-open", name), row.get("open")))
            self._put(row, "close", closes.get(name, row.get("close")))
        shown = {row.get("run") for row in release.rows[RESULTS]}
        trees = {run: self._tree(run, commits) for run in shown & self.results.keys()}
        for row in release.rows[RESULTS]:
            _, positions, tree = trees.get(row.get("run"), ("", {}, MerkleTree()))
            if (at := positions.get(row.get("result", {}).get("task"))) is not None:
                self._put(row, "position", at)
                self._put(row, "proof", [item.hex() for item in inclusion_proof(tree.node, at, len(tree))])

    def _aggregate(self, release: Release, month: str, cohort: str) -> bytes:
        broken = {row.get("task") for row in release.rows.get(BROKEN, ())}
        results = [row["result"] for row in release.rows[RESULTS] if "result" in row]
        try:
            rows = [
                (row["opening"], totals_of(row["run"], cohort, [r for r in results if counts(r, row["run"], broken)]))
                for row in release.rows[RUNS]
                if row["totals"] is not None
            ]
            return contents.aggregate(month, cohort, rows)
        except (KeyError, ZeroDivisionError):
            return b"{}"  # a line is no longer of its form, which is refused before

    def _write(self, folder: Path, files: dict[str, bytes], data: list[bytes], tree: MerkleTree) -> Path:
        size = len(data)
        named = {leaf.get("predicate", {}).get("checkpoint", {}).get("size") for leaf in self.leaves[:size]}
        files |= {
            f"log/{tile_path(0, 0, size)}": b"".join(map(leaf_hash, data)),
            f"log/{entries_path(0, size)}": pack_entries(data),
            "log/checkpoint": self._signed(tree, size),
        }
        for other in named - {None}:
            if 0 < other <= len(self.leaves):
                files[f"log/checkpoints/{other}"] = self._signed(tree, other)
        for path in [path for path in folder.rglob("*") if path.is_file()]:
            if path.relative_to(folder).as_posix() not in files:
                path.unlink()
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return folder

    def _signed(self, tree: MerkleTree, size: int) -> bytes:
        changed = [leaf.get("predicate", {}).get("new") for leaf in self.leaves[:size] if kind_of(leaf) == "key"]
        signer = SIGNERS.get(changed[-1] if changed else KEYS[0], SIGNERS[KEYS[0]])
        return Checkpoint(ORIGIN, size, tree.root(size)).sign(signer).encode()

    # -- commitments, made again

    def bind_again(self, release: Release, name: str, row: dict[str, Any]) -> None:
        """Make the commitment to a changed document again, and what follows from the document."""
        if name == RESULTS:
            self.results[row["run"]][row["result"]["task"]] = _committed("result", row["result"], row["salt"])
            (run,) = [line for line in release.rows[RUNS] if line["run"] == row["run"]]
            results = [line["result"] for line in release.rows[RESULTS] if line["run"] == row["run"]]
            run["totals"] = totals_of(row["run"], release.cohort, results)
            name, row = RUNS, run
        if name == RUNS:
            opened, closed = (self._leaf(kinds, f"run/{row['run']}") for kinds in (["run-open"], ["score", "abort"]))
            opened["subject"][0]["digest"]["hmac-sha256"] = _committed("run-open", row["opening"], row["salt"])
            for item in closed["predicate"].get("totals", ()):
                if item["cohort"] == release.cohort and row["totals"]:
                    item["commitment"] = _committed("totals", row["totals"], row["totals_salt"])
        if name == OPENINGS:
            commit = self._leaf(["commit"], row["id"])["predicate"]
            if row["provenance"] is not None and row["provenance_salt"] is not None:
                commit["provenance"] = _committed("provenance", row["provenance"], row["provenance_salt"])
        if name in {TASKS, WITHDRAWN}:
            self._bind_task(release, row)

    def _bind_task(self, release: Release, row: dict[str, Any]) -> None:
        place = [*release.rows[TASKS], *release.rows[WITHDRAWN]].index(row)
        opening = release.rows[OPENINGS][place]
        digest = self._leaf(["commit"], opening["id"])["subject"][0]["digest"]
        before, digest["hmac-sha256"] = digest["hmac-sha256"], _committed("commit", row, opening["salt"])
        for leaf in self.leaves:
            for reserve in leaf.get("predicate", {}).get("reserve", {}).values():
                reserve[:] = sorted(digest["hmac-sha256"] if item == before else item for item in reserve)
        commits = self._commits()
        release.rows[RESULTS].sort(key=lambda line: (line["run"], commits.get(line["result"]["task"], "")))
        for item in release.retire["predicate"]["tasks"]:
            if item["id"] == row["id"]:
                item |= {"commitment": digest["hmac-sha256"], "sha256": sha256(_text(row)).hexdigest()}

    def _leaf(self, kinds: list[str], name: str) -> dict[str, Any]:
        return next(leaf for leaf in self.leaves if kind_of(leaf) in kinds and _name(leaf) == name)


def _text(value: Any) -> bytes:
    """Write canonical JSON of what has no fractions and no names beyond ASCII, which is faster so."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


def counts(result: Mapping[str, Any], run: int, broken: set[Any]) -> bool:
    return result["run"] == run and result["task"] not in broken


def kind_of(leaf: Mapping[str, Any]) -> str:
    return str(leaf.get("predicateType", "::").split(":")[2]) if "predicate" in leaf and leaf.get("subject") else ""


def _digest(leaf: Mapping[str, Any]) -> Any:
    return next(iter(leaf["subject"][0].get("digest", {"": ""}).values()), "")


def _name(leaf: Mapping[str, Any]) -> Any:
    return (leaf.get("subject") or [{}])[0].get("name")


def _committed(label: str, document: Any, salt: str) -> str:
    return commitment(label, canonical(document), bytes.fromhex(salt)).hex()


# -- other values of a form


def others(form: Form, value: Any) -> list[Any]:
    """Return other values of a form than this one."""
    if isinstance(form, list):
        return [None] if form[1:] and value is not None else []
    if not isinstance(form, str):
        return []
    name, _, null = form.partition("|")
    found: list[Any] = [None] if null and value is not None else []
    if name[0] == "=":
        return found + [word for word in name[1:].split(",") if word != value]
    if name in {"natural", "positive"} and value is not None and value > (name == "positive"):
        found.append(value - 1)
    return [*found, _SAMPLES[name] if value is None else _other(name, value)]


_SAMPLES: Mapping[str, Any] = {"hash": "ab" * 32, "natural": 0, "task": "t-" + "a" * 16, "text": "x", "object": {}}


def _later(value: str) -> str:
    return value[:-7] + month_text(month_number(value[-7:]) + 1)


def _other(name: str, value: Any) -> Any:
    return _OTHERS.get(name, lambda text: text + "x")(value)


_OTHERS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("hash", "tag", "guid"), lambda text: ("1" if text[0] == "0" else "0") + text[1:]),
    **dict.fromkeys(("month", "cohort", "set", "release"), _later),
    **dict.fromkeys(("natural", "positive"), lambda number: number + 1),
    "task": lambda text: text[:-1] + ("b" if text[-1] == "a" else "a"),
    "run": lambda text: f"run/{int(text[4:]) + 1}",
    "version": lambda text: text[:-1] + "1",
    "fraction": lambda text: f"{int(text.partition('/')[0]) + 1}/{text.partition('/')[2]}",
    "lifetime": lambda text: f"P{int(text[1:-1]) * 2}M",
    "vkey": lambda _: KEYS[2],
    "signature": lambda text: ("A" if text[0] != "A" else "B") + text[1:],
    "boolean": lambda value: not value,
    "object": lambda value: value | {"another": 1},
    "stratum": lambda text: text.replace("easy", "medium").replace("hard", "medium"),
}


# -- what a forger can change


@dataclass(frozen=True)
class Change:
    """A change of a history: the field, the operation, and what it does to a copy of the history."""

    field: str
    operation: str
    make: Callable[[History], None] = field(repr=False)
    note: str = ""


Path_ = tuple[Any, ...]  # keys from a root object to a part of it
Root = Callable[[History], Any]


def fields(form: Form, value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Form]]:
    """Walk through a value: the path and the form of each of its parts."""
    if isinstance(form, Mapping):
        for name, inner in form.items():
            if name[0] == "*":
                for key in value:
                    yield (*path, key), inner
                    yield from fields(inner, value[key], (*path, key))
            elif (key := name.rstrip("?")) in value:
                yield (*path, key), inner
                yield from fields(inner, value[key], (*path, key))
    elif isinstance(form, list) and form[1:]:
        if value is not None:
            yield from fields(form[0], value, path)
    elif isinstance(form, list):
        for index, item in enumerate(value):
            yield (*path, index), form[0]
            yield from fields(form[0], item, (*path, index))


def at(root: Any, path: Path_) -> Any:
    for key in path:
        root = root[key]
    return root


def label(form: Form, path: Path_) -> str:
    """Write a path for people: without indices, and with `*` for a key of a map."""
    text = "$"
    for key in path:
        if isinstance(form, list) and form[1:]:
            form = form[0]
        if isinstance(form, list):
            text, form = f"{text}[]", form[0]
        elif isinstance(form, Mapping):
            inner = form.get(key, form.get(f"{key}?"))
            free = next((name for name in form if name[0] == "*"), None)
            text, form = (f"{text}.*", form[free]) if inner is None and free else (f"{text}.{key}", inner)
    return text


def edits(title: str, form: Form, root: Root, value: Any, peers: list[tuple[Root, Any]]) -> Iterator[Change]:
    """List the changes of one document: a leaf, a manifest, or the lines of a file."""
    for path, inner in fields(form, value):
        name, (*inside, key) = f"{title} {label(form, path)}", path
        above = at(value, tuple(inside))
        yield Change(name, "drop", _drop(root, path))
        for other in others(inner, above[key]):
            yield Change(name, "change", _set(root, path, other), f"to {other!r:.40}")
        if isinstance(above, list):
            yield Change(name, "repeat", _repeat(root, path))
            if key + 1 < len(above) and above[key] != above[key + 1]:
                yield Change(name, "exchange", _swap(root, path, root, (*inside, key + 1)))
        elif label(form, path).endswith(".*"):
            other = _other("stratum" if "/" in key else "server", key)
            yield Change(name, "rename", _rename(root, path, other))
        for other_root, other_value in peers:
            try:
                there = at(other_value, path)
            except (KeyError, IndexError, TypeError):
                continue
            if there != above[key]:
                yield Change(name, "exchange", _swap(root, path, other_root, path))
                break
    yield from _additions(title, form, root, value, peers)


def _additions(title: str, form: Form, root: Root, value: Any, peers: list[tuple[Root, Any]]) -> Iterator[Change]:
    """Add each optional part that this document lacks and another one has."""
    predicate = form.get("predicate", {}) if isinstance(form, Mapping) else {}
    for name in [name[:-1] for name in predicate if name[-1] == "?" and name[:-1] not in value["predicate"]]:
        for _, other in peers:
            if name in other["predicate"]:
                path = ("predicate", name)
                yield Change(f"{title} $.predicate.{name}", "add", _set(root, path, other["predicate"][name]))
                break


@deferred
def _drop(history: History, root: Root, path: Path_) -> None:
    top = root(history)
    history.keep(top, path)
    del at(top, path[:-1])[path[-1]]


@deferred
def _set(history: History, root: Root, path: Path_, value: Any) -> None:
    top = root(history)
    at(top, path[:-1])[path[-1]] = _copy(value)
    history.keep(top, path)


@deferred
def _repeat(history: History, root: Root, path: Path_) -> None:
    top = root(history)
    above = at(top, path[:-1])
    above.insert(path[-1] + 1, _copy(above[path[-1]]))
    history.keep(top, path[:-1])


@deferred
def _swap(history: History, root: Root, path: Path_, other_root: Root, other_path: Path_) -> None:
    top, other_top = root(history), other_root(history)
    above, other = at(top, path[:-1]), at(other_top, other_path[:-1])
    above[path[-1]], other[other_path[-1]] = other[other_path[-1]], above[path[-1]]
    history.keep(top, path)
    history.keep(other_top, other_path)


@deferred
def _rename(history: History, root: Root, path: Path_, key: str) -> None:
    above = at(root(history), path[:-1])
    above[key] = above.pop(path[-1])


_MANY = 4  # of more leaves of a kind, every second one is changed


def changes_of_leaves(history: History, kind: str) -> Iterator[Change]:
    """List the changes of each leaf of a kind: of its fields, and of its place."""
    opened = {row["id"] for release in history.releases for row in release.rows[OPENINGS]}
    indices = [index for index, leaf in enumerate(history.leaves) if kind_of(leaf) == kind]
    for index in indices[:: 2 if len(indices) > _MANY else 1]:
        leaf = history.leaves[index]
        private = kind == "commit" and leaf["subject"][0]["name"] not in opened
        title = "commit of a private task" if private else kind
        peers = [(_leaf_at(other), history.leaves[other]) for other in indices if other != index]
        yield from edits(title, statement_form(kind), _leaf_at(index), leaf, peers)
        yield Change(title, "drop", lambda h, index=index: h.leaves.pop(index))
        yield Change(title, "repeat", lambda h, index=index: h.leaves.insert(index + 1, _copy(h.leaves[index])))
        for name, place in _places(history, index):
            move = lambda h, index=index, place=place: h.leaves.insert(place, h.leaves.pop(index))  # noqa: E731
            yield Change(title, f"move {name}", move)


def _leaf_at(index: int) -> Root:
    return lambda history: history.leaves[index]


def _copy(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def _places(history: History, index: int) -> Iterator[tuple[str, int]]:
    """Yield other places for a leaf: before the last leaf of each kind before it, and after the next one after it."""
    kinds = [kind_of(leaf) for leaf in history.leaves]
    for kind in STATEMENTS:
        if kind in kinds[:index]:
            yield f"before {kind}", index - 1 - kinds[:index][::-1].index(kind)
        if kind in kinds[index + 1 :]:
            yield f"after {kind}", index + 1 + kinds[index + 1 :].index(kind)


def changes_of_lines(history: History, name: str) -> Iterator[Change]:
    """List the changes of the lines of a file of the last release, also with the commitments made again."""
    form = {TASKS: _TASK, WITHDRAWN: _TASK}.get(name, contents.FORMS[name])
    rows = history.releases[-1].rows[name]
    for path, _ in fields([{}], rows):
        yield Change(name, "drop", _drop(_rows(name), path))
        yield Change(name, "repeat", _repeat(_rows(name), path))
        if path[0] + 1 < len(rows):
            yield Change(name, "exchange", _swap(_rows(name), path, _rows(name), (path[0] + 1,)))
    for index in sorted({0, len(rows) // 2, len(rows) - 1}):
        row = rows[index]
        peers = [(_row_at(name, other), rows[other]) for other in range(len(rows)) if other != index]
        for change in edits(name, form, _row_at(name, index), row, peers):
            yield change
            part = change.field.removeprefix(f"{name} $.").partition(".")[0]
            if part in _DOCUMENTS.get(name, ()) and change.operation in {"change", "exchange"}:
                yield replace(change, operation=f"{change.operation}, bound", make=_bound(change.make, name, index))


_TASK: Form = contents.TASK | {"goal": "text", "variant_key?": "hash"}
_DOCUMENTS: Mapping[str, Any] = {
    RESULTS: {"result"},
    RUNS: {"opening", "totals"},
    OPENINGS: {"provenance"},
    TASKS: _TASK,
    WITHDRAWN: _TASK,
}


def _rows(name: str) -> Root:
    return lambda history: history.releases[-1].rows[name]


def _row_at(name: str, index: int) -> Root:
    return lambda history: history.releases[-1].rows[name][index]


@deferred
def _bound(history: History, make: Callable[[History], None], name: str, index: int) -> None:
    release = history.releases[-1]
    before = _copy(release.rows[name])
    make(history)
    for row, old in zip(release.rows[name], before, strict=True):
        if row != old:
            history.bind_again(release, name, row)


def changes_of_manifest(history: History) -> Iterator[Change]:
    """List the changes of the last release's manifest, and of the files that follow from the others."""
    manifest = history.releases[-1].manifest
    yield from edits(MANIFEST, contents.FORMS[MANIFEST], lambda h: h.releases[-1].manifest, manifest, [])
    for name in (contents.AGGREGATE, contents.ATTESTATION, contents.README):
        yield Change(name, "change", lambda h, name=name: h.releases[-1].override.update({name: b"{}"}))


CHANGES: Mapping[str, Callable[[History], Iterator[Change]]] = {
    **{kind: partial(changes_of_leaves, kind=kind) for kind in STATEMENTS},
    **{name: partial(changes_of_lines, name=name) for name in (*BOUND, BROKEN)},
    MANIFEST: changes_of_manifest,
}
"""All changes of a history, by the kind of leaf or the file that they begin with."""


class Forger:
    """Tries changes on copies of one honest history, and asks the audit of each release about it."""

    def __init__(self, history: History, folder: Path) -> None:
        self.history, self.folder = history, folder
        for number in range(len(history.releases)):
            history.write(folder / str(number), number)
        self._snapshot = pickle.dumps(history)
        self._honest = [self._ask(pickle.loads(self._snapshot), number) for number in range(len(history.releases))]
        assert not any(rule for rule, _ in self._honest), self._honest

    def outcome(self, change: Change) -> str:
        """Say what the audit answers to a changed history: a rule, `the form`, a doubt, or `yes`.

        The releases are asked from the last one on, until one is refused.
        """
        for number in reversed(range(len(self.history.releases))):
            history = pickle.loads(self._snapshot)
            change.make(history)
            rule, doubts = self._ask(history, number)
            if rule:
                assert rule in {"the form", *RULES}, rule
                return rule
            if more := Counter(doubts) - Counter(self._honest[number][1]):
                return min(more)
        return "yes"

    def _ask(self, history: History, number: int) -> tuple[str | None, list[str]]:
        report = audit(history.write(self.folder / str(number), number), KEYS)
        if report.failed:
            return report.failed.rule or "the form", []
        return None, [doubt.rule for doubt in report.doubts]
