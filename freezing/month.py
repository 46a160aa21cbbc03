"""Freezes a small benchmark of two months, made by the product itself from fixed time, keys and randomness.

    turn 2026-11   four cohorts enter
    2026-12        three submissions are played, a task that leaked is withdrawn
    turn 2026-12   the sunset cohort retires and is published, the next one enters
    2027-01        four submissions are played, and one is aborted

Tasks are written by hand and outcomes are given: no world, no agent and no process. Public salts have a random stream
of their own, so that one more or one less sealing changes no public byte.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from freezing.fixed import Clock, Stream
from freezing.numbers import rounded
from quarterturn.app import Application
from quarterturn.findings.finding_list import listed
from quarterturn.home.home import create
from quarterturn.home.paths import HomePaths
from quarterturn.settings import ApprovalSettings, BenchmarkSettings, ModelSettings, Settings
from rotation.calendar import Month
from rotation.month.sets import DEMO, Stratum
from sandbox.boxes.box import Program
from sandbox.results.outcome import TaskRun
from sandbox.results.score import score
from sandbox.runs.store import RunState
from sandbox.runs.submission import Submission
from sandbox.servers import definition
from sandbox.servers.registry import SERVERS
from sandbox.transcript import CallRecord, Transcript
from tests.serving import serve
from vault.keys import signing
from vault.keys.ring import FileKeyRing
from vault.ledger import browser
from vault.ledger.signatures import sshsig
from vault.store.tasks import Vault
from vault.task.document import Task
from verifiers.language.verdict import Evidence, Verdict

FIRST = Month.parse("2026-12")
ORIGIN = "test-frozen.example/log"
PAGE = b"<!doctype html><title>test-page</title>\n"
"""Stands for the page that checks a release in a browser, which tests of its own judge."""

SPEC = replace(DEMO, reserve=dict.fromkeys(DEMO.per_cohort, 1))
EACH = 8  # tasks of each stratum: four cohorts, the next one, its reserve, and what the command line turns with
MAINTAINERS = ("test-ada", "test-grace")
AGENTS = {  # name -> the share of its tasks that it passes, and how many calls it makes on each
    "test-able": (0.9, 3),
    "test-fair": (0.5, 5),
    "test-hosted": (0.4, 6),
    "test-weak": (0.1, 8),
}


def key(name: str) -> Ed25519PrivateKey:
    """Return the private key of this name; each is made from its name, which begins with `test-`."""
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(f"test-{name}".encode()).digest())


@dataclass(frozen=True)
class NamedBox:
    """Stub of a box in which nothing is run."""

    name: str = "docker"
    official: bool = True


def stratum() -> Stratum:
    """Return the first of the strata, whose tasks can be traced."""
    return next(iter(SPEC.per_cohort))


def document(of: Stratum, number: int) -> dict[str, Any]:
    """Write a task by hand; those of the first kind have free values, 2^20 of them, so that they can be traced."""
    servers = dict.fromkeys(("filesystem", of.server))
    tools = [f"{server}.{name}" for server in servers for name in list(SERVERS[server].tools)[: 12 // len(servers)]]
    kept = [tool for tool in tools if tool != "filesystem.create_directory"]
    seed = hashlib.sha256(f"test-{of}/{number}".encode()).digest()
    made = {
        "schema": "quarterturn/task/v1",
        "spec": "1.0.0",
        "id": "t-" + "".join("abcdefghijklmnopqrstuvwxyz234567"[byte % 32] for byte in seed[:16]),
        "server": of.server,
        "category": of.category,
        "difficulty": of.difficulty,
        "max_steps": 8,
        "goal": f"Make the folder number-{number}.",
        "initial_state": {},
        "available_tools": ["filesystem.create_directory", *kept][:12],
        "success_predicate": {"filesystem.directoryExists": {"path": f"number-{number}"}},
    }
    if of.category == "recovery":
        made["faults"] = [{"tool": made["available_tools"][0], "call": 1, "error": "try again"}]
    if of == stratum():
        names = ("ash", "birch", "cedar", "elder", "hazel")
        made["free"] = {name: {"from": [f"{name}{n:02d}" for n in range(16)]} for name in names}
        made["goal"] += " It is for " + ", ".join(f"{{{{{name}}}}}" for name in names) + "."
    return made


def outcome(task: Task, *, passed: bool, calls: int, unknown: bool = False) -> TaskRun:
    """Make a task's outcome: so many calls; in a failed one the last call is to a tool that is not listed."""
    verdict = Verdict.UNKNOWN if unknown else Verdict.TRUE if passed else Verdict.FALSE
    fault = task.category == "recovery"
    made = [
        CallRecord(
            tool, {}, listed=True, error=fault and not place, injected=fault and not place, result="", seconds=0.01
        )
        for place, tool in enumerate(sorted(task.available_tools)[:calls])
    ]
    if not passed:
        made[-1] = replace(made[-1], tool="nobody.lists_this", listed=False)
    evidence = Evidence("filesystem.directoryExists", verdict)
    return TaskRun(
        task_id=task.id,
        category=task.category,
        max_steps=8,
        verdict=verdict,
        evidence=evidence,
        transcript=Transcript(tuple(made), "done", "answered"),
        goal=task.goal,
        served=hashlib.sha256(task.canonical()).hexdigest(),
    )


def settings(first: Month) -> Settings:
    """Return the settings of a home whose first month is this; exporting a live task needs two maintainers."""
    keys = {name: sshsig.public_line(key(name).public_key().public_bytes_raw()) for name in MAINTAINERS}
    return Settings(
        benchmark=BenchmarkSettings(first_month=str(first), origin=ORIGIN),
        approvals=ApprovalSettings(actions=("export", "policy"), maintainers=keys),
        models={"test-model": ModelSettings(wire="openai", url="https://model.invalid/v1", models=("test-small",))},
    )


def _server_digest(name: str) -> str:
    """Stand in for a server's definition, which changes with every upgrade of a lock."""
    return hashlib.sha256(f"test-server/{name}".encode()).hexdigest()


class Played:
    """The home and what was played in it; each of its parts draws from a stream of its own."""

    def __init__(self, home: Path, clock: Clock, first: Month) -> None:
        self.clock, places = clock, HomePaths(home)
        ring = FileKeyRing.create(places.ring, None, at=clock(), entropy=Stream("ring"))
        signing.store(places.log_key, key("log"), ring)
        signing.store(places.month_key, key("month"), ring, signing.MONTH)
        signing.store(places.endpoint_key, key("endpoint"), ring, signing.ENDPOINT)
        create(home, settings(first), None, at=clock(), set_file=DEMO.text.replace("reserve = 1\n", ""))
        self.house = Application(home, None, now=clock)
        self.streamed = Application(home, None, now=clock)
        self.streamed.home.engine = self.house.home.engine
        self.streamed.log.writer, self.streamed.log.witnesses = self.house.log.writer, self.house.log.witnesses
        self.streamed.month._require_approval = lambda _: None  # type: ignore[method-assign]
        self.streamed.home.vault = Vault(self.house.home.engine, ring, clock, Stream("vault"))
        self.streamed.home.entropy = Stream("public")
        self.streamed.benchmark.spec = SPEC
        with mock.patch.object(definition, "server_digest", _server_digest):
            assert self.streamed.month.rotation, "made here, so that it has this one"

    def stock(self) -> None:
        """Add reviewed tasks of each stratum, each of a skeleton of its own."""
        for each in SPEC.per_cohort:
            for number in range(EACH):
                task, skeleton = Task.parse(document(each, number)), f"{each}/{number}"
                made = {"calls": [{"tool": "filesystem.create_directory", "arguments": {"path": f"number-{number}"}}]}
                provenance = {"skeleton": skeleton, "template": "t", "solutions": [made | {"answer": "done"}]}
                self.streamed.home.vault.add(
                    task, provenance, author="test-ada", public_grammar=False, skeleton=skeleton, template="t"
                )
                self.streamed.home.vault.advance(task.id, "admit")
                self.streamed.home.vault.advance(task.id, "approve")

    def turn(self, month: Month) -> None:
        """Make a turn and what follows it."""
        self.clock.set(f"{month.plus(1)}-01T00:00:00+00:00")
        self.streamed.month.rotation.run(month)
        self.look(f"turn of {month}")

    def play(self, name: str, *, kind: str = "image", unknown: int = 0) -> None:
        """Open, fill and close a run; of its tasks the last `unknown` have no verdict."""
        self.clock.forward(hours=1)
        digest = f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"
        submission = Submission(kind, name, name, Program(image=name), digest)  # type: ignore[arg-type]
        run = self.streamed.runs.official.open(submission, NamedBox())  # type: ignore[arg-type]
        share, calls = AGENTS[name]
        tasks = serve(self.streamed.runs.tasks, run)
        for place, task in enumerate(tasks):
            mark = hashlib.sha256(f"{name}/{task.id}".encode()).digest()[0]
            left = place >= len(tasks) - unknown
            played = outcome(task, passed=mark < 256 * share, calls=calls - mark % 2, unknown=left)
            self.streamed.runs.tasks.record(run, played)
        self.streamed.runs.official.close(run)
        self.house.runs.scores.disclosed(run.record.number)

    def abort(self, name: str) -> None:
        """Open a run and abort it."""
        digest = f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"
        run = self.streamed.runs.official.open(Submission("image", name, name, Program(image=name), digest), NamedBox())  # type: ignore[arg-type]
        self.streamed.runs.official.end(run.record.number, "cancelled")

    def withdraw(self) -> None:
        """Withdraw a task of the cohort that stays longest; the next of its stratum's reserve takes its place."""
        self.clock.forward(hours=1)
        task = self.streamed.benchmark.months.cohorts("live")[-1].tasks[0]
        self.streamed.benchmark.withdrawals.withdraw(
            [task], "it was read aloud in a talk", cause="leak", who="test-ada"
        )
        self.house.submissions.view.update()

    def look(self, why: str) -> None:
        """Scan the results, and write the public view again."""
        self.house.month.after_results(why)

    @property
    def live(self) -> list[str]:
        """List the live tasks, those of the cohort that stays longest first."""
        return [task for cohort in reversed(self.streamed.benchmark.months.cohorts("live")) for task in cohort.tasks]

    def leaf(self, index: int) -> bytes:
        """Return a leaf of the log."""
        return self.streamed.log.ledger.leaf(index)

    def leaked(self) -> str:
        """Return the goal of a traceable task as one submitter was shown it in the second month."""
        names = [record.id for record in self.streamed.home.vault.records("live") if record.traceable]
        opened = self.streamed.home.vault.open(names[0], who="test-ada", why="freeze")
        return self.streamed.home.vault.served(opened.task, "test-able", str(FIRST.plus(1))).goal


def play(home: Path, clock: Clock) -> Played:
    """Play the two months."""
    made = play_first(home, clock)
    for name in ("test-able", "test-fair", "test-weak"):
        made.play(name)
    made.play("test-hosted", kind="endpoint")
    made.abort("test-able")
    made.look("results of the month")
    return made


def play_first(home: Path, clock: Clock, first: Month = FIRST, page: bytes = PAGE) -> Played:
    """Play the first month up to its turn, which publishes a release with this page in it."""
    browser.page = lambda: page
    made = play_live(home, clock, first)
    made.withdraw()
    made.play("test-weak", unknown=1)
    made.turn(first)
    return made


def play_live(home: Path, clock: Clock, first: Month = FIRST) -> Played:
    """Make the first turn, and play two submissions on what it made live."""
    clock.set(f"{first.plus(-1)}-30T00:00:00+00:00")
    made = Played(home, clock, first)
    made.stock()
    made.turn(first.plus(-1))
    made.play("test-able")
    made.play("test-fair")
    return made


def files(made: Played) -> Iterator[tuple[str, bytes]]:
    """Yield the frozen files: leaves, checkpoints, every other public file, scores, leaderboards and findings.

    Of the log's tiles and of archives, which hold the leaves and a release once more, the digests are enough.
    """
    yield "leaves.jsonl", b"".join(leaf + b"\n" for leaf in made.streamed.log.ledger.leaves())
    public = made.house.home.places.public
    paths = {path.relative_to(public).as_posix(): path for path in public.rglob("*") if path.is_file()}
    shown = {name: path.read_bytes() for name, path in sorted(paths.items()) if not path.name.startswith(".")}
    heads = [int(path.name) for path in (public / "log" / "checkpoints").iterdir() if path.name.isdigit()]
    yield "checkpoints.txt", b"\n".join(shown[f"log/checkpoints/{size}"] for size in sorted(heads))
    for name, data in shown.items():
        if "log" not in name.split("/")[:-1] and not name.endswith(".tar"):
            yield f"public/{name}", data
    sums = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in shown.items()]
    yield "public.sha256", "".join(sums).encode()
    for month in (FIRST, FIRST.plus(1)):
        yield from _scores(made, month)
    yield "findings.json", _json(rounded(listed(made.house.benchmark.findings, None, everything=True).as_json()))


def _scores(made: Played, month: Month) -> Iterator[tuple[str, bytes]]:
    """Yield a month's leaderboard, what was disclosed of its runs, each run's score, and the results behind it."""
    runs = made.streamed.runs.store.list(month=str(month))
    done = [record.number for record in runs if record.state is RunState.DONE]
    results = {
        number: made.streamed.runs.ledger.closed(made.streamed.runs.store.get(number), why="freeze") for number in done
    }
    shown = {
        "board": [line.as_json() for line in made.house.runs.leaderboard.of_month(month)],
        "runs": {record.number: record.state.value for record in runs},
        "told": {number: made.house.runs.scores.disclosed(number) for number in done},
        "scores": {number: rounded(score(found).as_json()) for number, found in results.items()},
    }
    yield f"scores/{month}.json", _json(shown)
    closed = [made.streamed.runs.ledger.closing(number, "freeze") for number in done]
    lines = [json.dumps(item["result"], sort_keys=True) + "\n" for run in closed for item in run["results"]]
    yield f"scores/{month}-results.jsonl", "".join(lines).encode()


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode() + b"\n"
