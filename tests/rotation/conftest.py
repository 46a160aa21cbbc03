"""Fixtures of a small benchmark without worlds: real vault, ledger and database, and outcomes made by hand."""

import copy
import hashlib
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from quarterturn import migrations
from rotation.calendar import Month
from rotation.detection.evidence import EvidenceWriter
from rotation.detection.leak_trace import LeakTracer
from rotation.detection.scan_results import Scanner
from rotation.detection.sealed_results import SealedResults
from rotation.exposure.store import ExposureLimits, Exposures
from rotation.findings.store import Findings
from rotation.month import sets
from rotation.month.judge import JudgeDigests
from rotation.month.sets import SetSpec, Stratum
from rotation.month.store import MonthStore
from rotation.runs.official import OfficialRuns
from rotation.runs.run_ledger import RunLedger
from rotation.runs.run_tasks import OpenRun, RunTasks
from rotation.runs.withdrawal import Withdrawals
from rotation.turn.activation_steps import ActivationSteps
from rotation.turn.attestation import Attester
from rotation.turn.closing_steps import ClosingSteps
from rotation.turn.plan import Planner
from rotation.turn.promise import Promises
from rotation.turn.release_steps import ReleaseSteps
from rotation.turn.spot_check import SpotChecks
from rotation.turn.turn import Rotation
from sandbox.boxes.box import Program
from sandbox.claim_judge.exchange import ClaimExchange
from sandbox.errors import Unjudged
from sandbox.results.outcome import TaskRun
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs.replay import ReplayResult
from sandbox.runs.store import Runs
from sandbox.runs.submission import Submission
from sandbox.servers.definition import server_digest
from sandbox.transcript import CallRecord, Transcript
from vault.database import open_engine
from vault.keys.ring import FileKeyRing
from vault.ledger.audit.verify import audit
from vault.ledger.signatures.note import Signer
from vault.ledger.statements.leaf import Statement
from vault.ledger.write.append import LogWriter
from vault.ledger.write.log_guard import LogGuard
from vault.store.public_log import PublicLog
from vault.store.tasks import Vault
from vault.task.document import Task
from verifiers.language.verdict import Evidence, Verdict

from ..broken import SOLUTION
from ..serving import serve

SINGLE = Stratum("filesystem", "single-tool", "easy")
COMPOSITION = Stratum("git", "composition", "medium")
RECOVERY = Stratum("sqlite", "recovery", "hard")
SMALL = SetSpec("small", dict.fromkeys((SINGLE, COMPOSITION, RECOVERY), 1))
"""A set of three tasks a cohort, one of each category, on three servers; it has no reserve."""
DEMO = replace(sets.DEMO, reserve={})
"""The demo's set, for tests that need more tasks."""

FIRST = Month.parse("2026-12")
BEFORE = FIRST.plus(-1)
TOOLS = [f"filesystem.tool_{n:02d}" for n in range(12)]


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Yield a folder in memory, where fsync costs nothing."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="quarterturn-rotation-") as folder:
        yield Path(folder)


class Killed(BaseException):
    """Stands for SIGKILL: nothing catches it."""


def killed(*_: object, **__: object) -> None:
    raise Killed


@dataclass(frozen=True)
class NamedBox:
    """Stub of a box where nothing is run."""

    name: str = "docker"
    official: bool = True


def submission(name: str, kind: str = "image") -> Submission:
    return Submission(kind, name, name, Program(image=name), "sha256:" + "0" * 64)


def document(number: int, stratum: Stratum) -> dict[str, Any]:
    letters = random.Random(number)
    return {
        "schema": "quarterturn/task/v1",
        "spec": "1.0.0",
        "id": "t-" + "".join(letters.choice("abcdefghijklmnopqrstuvwxyz234567") for _ in range(16)),
        "server": stratum.server,
        "category": stratum.category,
        "difficulty": stratum.difficulty,
        "max_steps": 8,
        "goal": f"Write number {number} into out.txt.",
        "initial_state": {stratum.server: {}},
        "available_tools": [f"{stratum.server}.tool_{n:02d}" for n in range(12)],
        "success_predicate": {"filesystem.fileExists": {"path": "out.txt"}},
    } | (
        {"faults": [{"tool": f"{stratum.server}.tool_00", "call": 1, "error": "try again"}]}
        if stratum.category == "recovery"
        else {}
    )


def outcome(task_id: str, category: str, *, passed: bool, calls: int = 3) -> TaskRun:
    verdict = Verdict.TRUE if passed else Verdict.FALSE
    call = CallRecord(TOOLS[not passed], {}, listed=True, error=False, injected=False, result="", seconds=0.01)
    return TaskRun(
        task_id=task_id,
        category=category,
        max_steps=8,
        verdict=verdict,
        evidence=Evidence("filesystem.fileExists", verdict),
        transcript=Transcript((call,) * calls, "done", "answered"),
    )


def played(task: Task, outcome: TaskRun) -> TaskRun:
    """Return an outcome as that of a task that was served in this variant."""
    return replace(outcome, goal=task.goal, served=hashlib.sha256(task.canonical()).hexdigest())


class Words:
    """Stub of the judge of sealed states: a state is a word that names its verdict."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def verdict(
        self, box: str, task: Task, left: UnjudgedResult, claims: Sequence[ClaimExchange] = ()
    ) -> Verdict | None:
        self.asked.append(task.id)
        word = left.state.tar.decode()
        if word == "unjudged":
            raise Unjudged(word)
        return Verdict(word) if word != "malformed" else None

    def replay(self, box: str, task: Task, left: UnjudgedResult) -> ReplayResult:
        """Return what the output names that was left."""
        return ReplayResult(left.output)


def _entropy(copied: int = 0) -> Callable[[int], bytes]:
    """Return random bytes that are alike in each run: who is served which variant decides p-values.

    Args:
        copied: how many times the home was copied; a copy has other bytes, or its salts would repeat.
    """
    return random.Random(20261128 + copied).randbytes


class Benchmark:
    """A home and its services, without worlds."""

    def __init__(self, home: Path, database: str, spec: SetSpec = SMALL) -> None:
        self.home, self.database, self.spec = home, database, spec
        self.seconds = self.stocked = self.times_copied = 0
        self.judge: JudgeDigests | None = None
        self.ring = FileKeyRing.create(home / "ring.json", None)
        self.key = Ed25519PrivateKey.generate()
        self.entropy = _entropy()
        self.reopen()

    def clock(self) -> datetime:
        """Return a time one second after the last one."""
        self.seconds += 1
        return datetime(2026, 11, 30, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def copied(self, to: Path) -> "Benchmark":
        """Return a benchmark of its own with all that this one holds, whose database is a file in its home."""
        self.engine.dispose()
        shutil.copytree(self.home, to, dirs_exist_ok=True)
        other = copy.copy(self)
        other.home, other.database = to, self.database.replace(str(self.home), str(to))
        other.ring = FileKeyRing.open(to / "ring.json", None)
        other.times_copied += 1
        other.entropy = _entropy(other.times_copied)
        other.reopen()
        return other

    def reopen(self) -> None:
        """Connect everything anew, as a restarted process would."""
        if "engine" in self.__dict__:
            self.engine.dispose()
        self.engine = open_engine(self.database)
        migrations.upgrade(self.engine)
        self.vault = vault = Vault(self.engine, self.ring, self.clock, self.entropy)
        signer = Signer("test.example/log", self.key)
        self.log = LogWriter(self.home / "public" / "log", self.home / "head" / "signed", signer, "test.example/log")
        self.ledger = ledger = PublicLog(self.engine, self.log, self.clock, guard=LogGuard(self.log.origin))
        self.months = months = MonthStore(self.engine, self.clock)
        self.runs, self.exposures = Runs(self.engine, vault, self.clock), Exposures(self.engine, self.clock)
        self.findings = Findings(self.engine, self.clock)
        self.withdrawals = Withdrawals(vault, ledger, months, self.findings)
        self.run_ledger = RunLedger(vault, ledger, self.runs)
        self.run_tasks = RunTasks(vault, ledger, months, self.runs, self.exposures)
        self.official = OfficialRuns(
            months,
            self.runs,
            self.run_ledger,
            self.run_tasks,
            self.withdrawals,
            tracks=self.spec.tracks,
            judge=lambda: self.judge,
        )
        self.sealed_results = SealedResults(vault, months, self.runs, self.exposures, self.withdrawals)
        self.leak_tracer = LeakTracer(vault, months, self.runs, self.run_ledger, self.withdrawals)
        self.evidence = EvidenceWriter(
            vault, months, self.runs, self.run_ledger, tracer=self.leak_tracer, findings=self.findings
        )
        self.promises = Promises(
            vault, ledger, months, self.spec, server_digest=server_digest, judge=lambda: self.judge
        )
        self.public, self.releases = self.home / "public", self.home / "public" / "releases"
        self.month_key, self.again = Ed25519PrivateKey.from_private_bytes(b"m" * 32), Words()
        self.planner = Planner(vault, self.months, self.spec)
        self.rotation = self.signed_by(self.month_key)

    def signed_by(self, key: Ed25519PrivateKey) -> Rotation:
        """Return the rotation whose months are signed with `key`."""
        checks = SpotChecks(self.vault, self.runs, self.run_ledger, self.findings, lambda: nullcontext(self.again))
        closing = ClosingSteps(self.months, self.withdrawals, self.official, checks)
        self.release = ReleaseSteps(
            self.vault,
            self.ledger,
            self.months,
            self.run_ledger,
            self.withdrawals,
            evidence=self.evidence,
            folder=self.releases,
        )
        attester = Attester(key, self.public, self.ledger, self.months)
        activation = ActivationSteps(self.ledger, self.months, self.planner, self.promises, attester)
        return Rotation(self.months, self.planner, closing, self.release, activation)

    def scanner(self, limits: ExposureLimits) -> Scanner:
        """Return the scanner with these limits."""
        stores = (self.months, self.exposures, self.findings)
        return Scanner(self.sealed_results, *stores, limits=limits, clock=self.clock)

    @property
    def vkey(self) -> str:
        return Signer("test.example/log", self.key).verifier.vkey

    def add(self, task: dict[str, Any], skeleton: str) -> str:
        """Add a reviewed task and give its id."""
        parsed, names = Task.parse(task), {"skeleton": skeleton, "template": "t"}
        provenance = {"skeleton": skeleton, "solutions": [SOLUTION]}
        self.vault.add(parsed, provenance, author="ada", public_grammar=True, **names)
        for event in ("admit", "approve"):
            self.vault.advance(parsed.id, event)
        return parsed.id

    def stock(self, each: int) -> None:
        """Add reviewed tasks of each stratum, each of a skeleton of its own."""
        for stratum in self.spec.per_cohort:
            for _ in range(each):
                number, self.stocked = self.stocked, self.stocked + 1
                self.add(document(number, stratum), f"s-{number}")

    def open(self, name: str = "careful", kind: str = "image", *, official: bool = True) -> OpenRun:
        return self.official.open(submission(name, kind), NamedBox(official=official))

    def done(self, task_id: str, *, passed: bool = True, calls: int = 3) -> TaskRun:
        return outcome(task_id, self.vault.record(task_id).category, passed=passed, calls=calls)

    def serve(self, run: OpenRun) -> list[Task]:
        """Serve a run all tasks that it was not served yet."""
        return serve(self.run_tasks, run)

    def serve_again(self, run: OpenRun, task_id: str) -> None:
        """Serve a task once more, for a cause of the closed list."""
        assert self.run_tasks.again(run, task_id, "engine-lost")
        self.run_tasks.serve(run, task_id)

    def finish(self, run: OpenRun, result: Callable[[int, str], TaskRun] | None = None) -> OpenRun:
        """Serve a run, record a result for each of its tasks by place and id, or that all passed, and close it."""
        served = {task.id: task for task in self.serve(run)}
        for place, task_id in enumerate(run.left):
            self.run_tasks.record(
                run, played(served[task_id], result(place, task_id) if result else self.done(task_id))
            )
        self.official.close(run)
        return run

    def play(self, name: str, rate: float) -> OpenRun:
        """Open, fill and close a run that passes the given share of its tasks."""
        run = self.open(name)
        return self.finish(run, lambda place, task: self.done(task, passed=place < rate * len(run.tasks)))

    def leaf(self, key: str) -> Statement:
        return Statement.parse(self.ledger.leaf(self.ledger.index_of(key)))

    def audited(self, month: Month) -> Path:
        """Audit the release of a month, which has to be proved, and give its folder."""
        report = audit(self.releases / month.release, [self.vkey])
        assert not report.failed, report.failed
        return self.releases / month.release


OwnHome = Callable[..., tuple[Benchmark, Any]]
Prepared = Callable[[Callable[[Benchmark], Any], SetSpec], tuple[Benchmark, Any]]


@pytest.fixture(scope="session")
def prepared() -> Iterator[Prepared]:
    """Return benchmarks on SQLite that a function has prepared once, with what it returned; tests take copies."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="quarterturn-rotation-") as folder:
        known: dict[tuple[Callable[[Benchmark], Any], str], tuple[Benchmark, Any]] = {}

        def of(prepare: Callable[[Benchmark], Any], spec: SetSpec) -> tuple[Benchmark, Any]:
            if (key := (prepare, repr(spec))) not in known:
                home = Path(folder, str(len(known)))
                home.mkdir()
                benchmark = Benchmark(home, f"sqlite:///{home / 'quarterturn.db'}", spec)
                known[key] = benchmark, prepare(benchmark)
            return known[key]

        yield of


@pytest.fixture
def own_home(tmp_path: Path, backend: str, request: pytest.FixtureRequest) -> Iterator[OwnHome]:
    """Return a function that gives the test a benchmark of its own, prepared by a function, and what that returned."""
    opened: list[Benchmark] = []

    def make(prepare: Callable[[Benchmark], Any], spec: SetSpec = SMALL) -> tuple[Benchmark, Any]:
        if backend == "sqlite":
            benchmark, told = request.getfixturevalue("prepared")(prepare, spec)
            opened.append(benchmark.copied(tmp_path))
        else:
            opened.append(Benchmark(tmp_path, request.getfixturevalue("migrated"), spec))
            told = prepare(opened[-1])
        return opened[-1], told

    yield make
    for home in opened:
        home.engine.dispose()


def stocked(home: Benchmark) -> None:
    home.stock(5)


def begun(home: Benchmark) -> None:
    home.stock(5)
    home.rotation.run(BEFORE)


def with_reserve(spares: int) -> SetSpec:
    """Return the small set with so many spare tasks of each stratum in its reserve."""
    return replace(SMALL, reserve=dict.fromkeys(SMALL.per_cohort, spares))


@pytest.fixture
def benchmark_home(own_home: OwnHome) -> Benchmark:
    """Return a home with enough reviewed tasks for the first set and one more cohort."""
    return own_home(stocked)[0]


@pytest.fixture
def begun_home(own_home: OwnHome) -> Benchmark:
    """Return such a home after its first turn."""
    return own_home(begun)[0]
