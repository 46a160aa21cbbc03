"""Measures auditing: re-hashing a log of a million leaves, and auditing releases.

`fsck` reads every leaf and tile from files, in memory where the machine has a folder there; beside it, the same leaves
are hashed into a root that is kept nowhere. An audit checks all that a release says; beside it every line and leaf of
the release is read as JSON and hashed, once. A reveal is a task or a result with its salt. The releases are played by
the `Month` of the ledger's tests.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import tempfile
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ledger import CPU, LEAF, bare_root, leaves_of, writer
from measure import interleave, timed
from report import Failed, Found, Line, Table

from vault.ledger.audit.verify import audit
from vault.ledger.tree.tiles import bundles_of, entries_path, unpack_entries
from vault.ledger.write.fsck import fsck

ROUNDS = 5
LEAVES = 1_000_000
BATCH = 50_000
REVEALS = (1_000, 10_000, 40_000)
TASKS = 50  # in a cohort; each run of theirs has as many results


def bench(rounds: int = 0) -> Found:
    """Re-hash a log, and audit releases of three sizes."""
    rounds = rounds or ROUNDS
    lines, rows = [_fsck(rounds)], []
    for reveals in REVEALS:
        with _memory() as folder:
            release, key = play(folder, reveals)
            lines.append(_audits(release, key, reveals, rounds))
            rows.append(_row(release, key, reveals))
    about = f"Leaves of {LEAF} bytes; releases with {TASKS} tasks, and as many results in each of their runs."
    peaks = Table("How much memory an audit takes at most, beside the size of the release.", tuple(rows[0]), rows)
    return Found(about, lines, tables=[peaks])


@contextmanager
def _memory() -> Iterator[Path]:
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="quarterturn-bench-", dir=shared if shared.is_dir() else None) as folder:
        yield Path(folder)


def _fsck(rounds: int) -> Line:
    leaves = leaves_of(LEAVES)
    with _memory() as folder:
        log = writer(folder)
        for start in range(0, LEAVES, BATCH):
            log.append(leaves[start : start + BATCH], start)
        keys = [log.verifier]

        def check() -> None:
            if problems := fsck(log.folder, keys)[1]:
                raise Failed(f"fsck found: {problems[0]}")

        floor = timed(lambda: bare_root(leaves), units=LEAVES, clock=CPU)
        seconds = interleave(timed(check, units=LEAVES, clock=CPU), floor, rounds)
    return Line(f"fsck of {LEAVES:,} leaves", "2n - 1 hashes", seconds, "leaves")


def play(folder: Path, reveals: int) -> tuple[Path, str]:
    """Play a month with as many runs as it takes, and retire it; gives the release and the log's key."""
    stage = _stage()
    month = stage.Month(folder)
    for tasks in month.cohorts.values():
        tasks += [month.invent(f"{tasks[0]}/{number}", number % 2) for number in range(TASKS - len(tasks))]
    month.commit_all()
    month.state_set()
    for run in range(1, reveals // TASKS):
        month.open_run(run)
        month.score(run)
    return month.retire(), month.keys[0]


def _audits(release: Path, key: str, reveals: int, rounds: int) -> Line:
    floor = timed(lambda: read(release), clock=CPU)
    seconds = interleave(timed(lambda: _audit(release, key), clock=CPU), floor, rounds)
    return Line(f"audit of {reveals:,} reveals", "each line parsed and hashed", seconds)


def _stage() -> Any:
    path = Path(__file__).parents[1] / "tests" / "vault" / "ledger" / "conftest.py"
    spec = importlib.util.spec_from_file_location("stage", path)
    if spec is None or spec.loader is None:
        raise Failed(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _audit(release: Path, key: str) -> None:
    report = audit(release, [key])
    if report.failed:
        raise Failed(f"the audit failed: {report.failed.detail}")


def read(release: Path) -> None:
    """Read every line and every leaf of a release as JSON, and hash it."""
    for path in release.glob("*.json*"):
        for line in path.read_bytes().splitlines():
            json.loads(line)
            hashlib.sha256(line).digest()
    size = int((release / "log" / "checkpoint").read_text().split("\n")[1])
    for index, width in bundles_of(size):
        for leaf in unpack_entries((release / "log" / entries_path(index, width)).read_bytes(), width):
            json.loads(leaf)
            hashlib.sha256(leaf).digest()


def _row(release: Path, key: str, reveals: int) -> dict[str, str]:
    size = sum(path.stat().st_size for path in release.rglob("*") if path.is_file())
    tracemalloc.start()
    _audit(release, key)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"reveals": f"{reveals:,}", "release": f"{size / 1e6:.1f} MB", "audit": f"{peak / 1e6:.1f} MB"}
