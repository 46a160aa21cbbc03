"""Demo: one whole benchmark month, on real servers in a real sandbox.

1. home      a home, whose log a witness of the demo's own cosigns
2. wall      a self-check of the sandbox from inside it
3. tasks     tasks are drawn, proven by execution, approved in a batch, and sealed
4. first set they are committed to under a cosigned checkpoint and go live
5. agents    three agents run: one does nothing, one is handed the solutions, one is honest
6. supply    the tasks of the next quarter are drawn
7. turn      a quarter retires and is published, a quarter enters
8. audit     what was published is audited, with nothing but the folder, the log's key and the witness's
9. tampered  one byte of a copy is changed, and the audit says where
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from quarterturn import settings, wall_clock
from quarterturn.app import Application
from quarterturn.boxes import choose_box
from quarterturn.choices import BoxName
from quarterturn.cli.daily import leaderboard_text
from quarterturn.cli.setup import demo_witness
from quarterturn.cli.setup.demo_steps import Step, Steps
from quarterturn.cli.terminal.colour import StatusLine
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.version import PACKAGE
from quarterturn.errors import Unavailable, home_option
from quarterturn.home import policies
from quarterturn.home.home import create, require_free
from quarterturn.home.paths import HomePaths
from quarterturn.runs.reference_run import reference
from quarterturn.settings import BenchmarkSettings, LedgerSettings, RunSettings, Settings
from rotation.calendar import Month
from rotation.leaderboard import standings
from rotation.leaderboard.figures import FIGURES, of_results
from rotation.month.sets import named
from rotation.turn.turn_facts import STEPS
from sandbox.attacks import Attempt, selfcheck
from sandbox.boxes.box import Box
from sandbox.results.score import Result, Score, score
from sandbox.runs import submission as submissions
from vault.files import write_atomically
from vault.ledger.audit.report import AuditReport
from vault.ledger.audit.verify import audit
from vault.task.lifecycle import TaskState

AUTHOR, REVIEWER = "ada", "grace"
AGENTS = Path(__file__).resolve().parents[3] / "examples" / "agents"
STEP_COUNT = 9


@dataclass(frozen=True)
class Played:
    """The result of the demo.

    Attributes:
        app: the home, open.
        ok: whether all came out as it must.
        data: the result as plain JSON values.
        lines: the result for people.
    """

    app: Application
    ok: bool
    data: Mapping[str, Any]
    lines: Sequence[str]


@contextlib.contextmanager
def play(home: Path | None, box_name: BoxName | None, out: Output, *, verbose: bool = False) -> Iterator[Played]:
    """Play the month and give its result for the block; without `home` everything is gone afterwards.

    Raises:
        Unavailable: no box can be had. No agent is ever run with a way out.
    """
    if home is not None:
        require_free(HomePaths(home.resolve()))
    box = choose_box(box_name or ("bwrap" if sys.platform == "linux" else "docker"), run_class="unofficial")
    with _folder(home) as folder:
        month = _Play(folder, box, Steps(out, STEP_COUNT, verbose=verbose), kept=home is not None)
        played = month.all()
        if verbose:
            out.say(month.steps.times())
        with contextlib.closing(month.app):
            yield played


@contextlib.contextmanager
def _folder(home: Path | None) -> Iterator[Path]:
    if home is not None:
        yield home
        return
    folder = Path(tempfile.mkdtemp(prefix="quarterturn-demo-"))
    try:
        yield folder / "home"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Play:
    def __init__(self, home: Path, box: Box, steps: Steps, *, kept: bool) -> None:
        self.box, self.steps, self.kept, self.started = box, steps, kept, time.monotonic()
        self.month = Month.of(wall_clock.now())
        self.chosen = Settings(
            benchmark=BenchmarkSettings(first_month=str(self.month)),
            run=RunSettings(box=_known(box)),
            ledger=LedgerSettings(policy=demo_witness.POLICY),
        )
        with steps.step("home") as step:
            with step.bar("making the home", 1):
                create(home, self.chosen, None, set_file=named(self.chosen.benchmark.set).text, out=step)
                places = HomePaths(home.resolve())
                demo_witness.start(places)
                self.app = Application(home, None)
            step.meaning = (
                "A new home: keys, a database and a public log, which a witness of the demo's own cosigns "
                "(a real one is somebody else's)."
            )

    def all(self) -> Played:
        """Play all steps."""
        egress = self.wall()
        self.supply("tasks")
        self.turn("first set", self.month.plus(-1))
        scores = self.agents()
        self.supply("supply")
        self.turn("turn", self.month)
        good, bad = self.audits()
        self._let_the_witness_go()
        data = self.data(scores, egress, good, bad)
        failed = list(failures(self.box.name, scores["oracle"], good, bad))
        return Played(self.app, not failed, data, [*failed, *self._ending()])

    # -- the steps ----------------------------------------------------------------------------------------------------

    def wall(self) -> list[Attempt]:
        with self.steps.step("wall") as step:
            with step.bar(f"trying to get out of the {self.box.name} box", 1):
                attempts = selfcheck(self.box)
            escaped = sum(attempt.outcome == "escaped" for attempt in attempts)
            step.meaning = (
                f"{len(attempts)} attempts to get out of the {self.box.name} box, made from inside it: "
                f"{escaped or 'none'} escaped. No agent has a network but its own loopback."
            )
            for attempt in attempts:
                step.say(StatusLine(f"{attempt.outcome:<8} {attempt.name}: {attempt.control}", attempt.outcome))
        if escaped:
            raise Unavailable(f"the {self.box.name} box has a way out on this machine; nothing is run in it")
        return attempts

    def supply(self, name: str) -> None:
        with self.steps.step(name) as step:
            with step.bar("reading the grammars", 1):
                missing = self.app.tasks.replenishment.wanted()
            count = sum(missing.values())
            with step.bar(f"drawing and proving {count} tasks", count) as advance:
                tally = self.app.tasks.replenishment.fill(
                    missing, box=self.box, author=AUTHOR, on_done=lambda: advance(1)
                )
                self.app.tasks.reviews.decide_all(tally.admitted, REVIEWER, None)
            step.meaning = (
                f"{len(tally.admitted)} {'' if name == 'tasks' else 'more '}tasks were drawn from public grammars, "
                f"proven by running their solutions and their mutants, and sealed. {REVIEWER} approved them unread, "
                "as only a demo does."
            )
            step.say(f"{tally.drawn} drawn, {len(tally.admitted)} admitted")

    def turn(self, name: str, month: Month) -> None:
        with self.steps.step(name) as step:
            with step.bar("making the turn", len(STEPS)) as advance:

                def done(turn_step: str) -> None:
                    step.say(f"step {turn_step} is done")
                    advance(1)

                self.app.month.rotation.run(
                    month, done
                )  # early on purpose, as nobody waits for a month's end in a demo
                self.app.submissions.view.update()
            head, live = self.app.log.writer.checkpoint(), len(self.app.home.vault.records(TaskState.LIVE))
            if name == "turn":
                retired = len(self.app.home.vault.records(TaskState.PUBLISHED))
                step.meaning = (
                    f"The month is over: the oldest {retired} tasks retired and are published with all results on "
                    f"them; {retired} new ones, drawn from a seed that was committed to, took their place."
                )
            else:
                step.meaning = (
                    f"{live} tasks are live. Each was committed to in the public log, under a checkpoint that the "
                    "demo's witness cosigned, before anybody is served it."
                )
            step.say(f"the log has {head.size} leaves, root {head.root.hex()[:16]}…")
            step.say(policies.word(self._cosigners()))

    def agents(self) -> dict[str, Score]:
        scores: dict[str, Score] = {}
        leaderboard = []
        with self.steps.step("agents") as step:
            live = len(self.app.home.vault.records(TaskState.LIVE))
            with step.bar("three agents at work", 3 * live):
                for name in ("null", "rulebook"):
                    submitted = submissions.command(f"python3 {AGENTS / name / 'agent.py'}", submitter=name, name=name)
                    opened, results = self.app.execution.private_runs.play(submitted, self.box, step)
                    scores[name] = score(results)
                    leaderboard.append(
                        (opened.record, of_results(results, self.app.benchmark.months.sunset(self.month)))
                    )
                answers = self._oracle(step)
            scores["oracle"] = score(answers)
            step.meaning = (
                f"Of {live} tasks, {_percent(scores['null'])} were solved by null, which does nothing, "
                f"{_percent(scores['rulebook'])} by rulebook, which is small and honest, and "
                f"{_percent(scores['oracle'])} by oracle, which is handed the solutions."
            )
            lines = standings.lines(leaderboard)
            lines.append(standings.reference_line("oracle", answers))
            step.details += [
                *leaderboard_text.table(lines),
                *leaderboard_text.public_grammar(self.app.runs.caveats.public_cohorts(self.month)),
            ]
        return scores

    def _oracle(self, step: Step) -> list[Result]:
        return reference(
            self.app.home.vault,
            self.app.benchmark.months,
            submissions.reference(f"python3 {AGENTS / 'oracle' / 'agent.py'}"),
            self.box,
            step,
            terms=self.app.execution.private_runs.terms(),
            workers=self.app.home.settings.run.workers,
            kept=self.app.tasks.kept_worlds(self.box),
        )

    def audits(self) -> tuple[AuditReport, AuditReport]:
        release, policy = self.app.home.places.public / "releases" / self.month.release, self.app.log.policy
        with self.steps.step("audit") as step:
            good = audit(release, [self._key()], None, policy)
            step.meaning = (
                f"{release.name} was audited offline, with the folder, the log's key and the witness's: "
                f"{'every step holds' if good.ok else 'it FAILS'}. Anybody can, and has to trust nobody."
            )
            _report(step, good)
        with (
            self.steps.step("tampered") as step,
            tempfile.TemporaryDirectory(prefix="quarterturn-demo-") as folder,
        ):
            copy = Path(shutil.copytree(release, Path(folder) / release.name))
            tasks = bytearray((copy / "tasks.jsonl").read_bytes())
            tasks[len(tasks) // 2] ^= 1
            (copy / "tasks.jsonl").write_bytes(tasks)
            bad = audit(copy, [self._key()], None, policy)
            failed = bad.failed
            step.meaning = "One byte of a copy was changed, and its audit " + (
                f"says no, as it must: step {failed.number} ({failed.name}) fails." if failed else "does NOT notice."
            )
            _report(step, bad)
        return good, bad

    def _key(self) -> str:
        return (self.app.home.places.public / "log.vkey").read_text(encoding="utf-8").strip()

    def _cosigners(self) -> list[str]:
        return policies.cosigners(self.app.log.policy, (self.app.home.places.log / "checkpoint").read_bytes())

    def _let_the_witness_go(self) -> None:
        """Ask for no witness in the settings of a home that outlives the demo's; the open home goes on asking."""
        path = self.app.home.places.settings
        after = settings.dump(self.chosen.model_copy(update={"ledger": LedgerSettings()}))
        write_atomically(path, after.encode(), path.with_name(f".{path.name}.new"))
        path.chmod(0o600)

    def _ending(self) -> Iterator[str]:
        yield f"Done in {time.monotonic() - self.started:.0f} s. " + (
            f"Everything is in {self.app.home.folder}." if self.kept else "Nothing is kept; --home DIR keeps it."
        )
        home, release = self.app.home.folder, self.app.home.places.public / "releases" / self.month.release
        yield "Next:"
        if self.kept:
            files = self.app.home.places.log_vkey, home / demo_witness.POLICY
            keys = f"--key {quote(str(files[0]))} --policy {quote(str(files[1]))}"
            yield f"  {_program()} serve {home_option(home)}"
            yield f"  {_program()} audit {quote(str(release))} {keys}"
        else:
            yield f"  {_program()} demo --home demo-home --serve"
            yield f"  {_program()} doctor"
        yield f"  {_program()} init --home home"

    # -- the object that --json prints --------------------------------------------------------------------------------

    def data(
        self, scores: Mapping[str, Score], egress: Sequence[Attempt], good: AuditReport, bad: AuditReport
    ) -> dict[str, Any]:
        records = self.app.home.vault.records()
        months = self.app.benchmark.months
        entered = [c for c in months.cohorts("live") if c.entered == self.month.plus(1)]
        failed = next((step for step in bad.steps if not step.ok), None)
        return {
            "box": self.box.name,
            "live": sum(record.state is TaskState.LIVE for record in records),
            "retired": sum(record.state is TaskState.PUBLISHED for record in records),
            "entered": sum(len(cohort.tasks) for cohort in entered),
            "agents": {name: _flat(month_score) for name, month_score in sorted(scores.items())},
            "egress": {"attempts": len(egress), "escaped": sum(a.outcome == "escaped" for a in egress)},
            "audit": {
                "ok": good.ok,
                "bundle": str(self.app.home.places.public / "releases" / self.month.release),
                "key": str(self.app.home.places.public / "log.vkey"),
                "policy": str(self.app.home.folder / demo_witness.POLICY),
            },
            "tampered_audit": {"ok": bad.ok, "step": failed.number if failed else None},
            "witnesses": self._cosigners(),
            "seconds_by_step": dict(self.steps.seconds),
            "seconds": round(time.monotonic() - self.started, 1),
        }


def failures(box: str, oracle: Score, good: AuditReport, bad: AuditReport) -> Iterator[str]:
    """Say what did not come out as it must; an attempt that escapes has ended the demo before."""
    if oracle.passed < oracle.attempted:
        yield (
            f"FAILED: oracle, which is handed the solutions, passed {oracle.passed} of {oracle.attempted} tasks, and "
            f"{oracle.unknown} have no verdict. To see why: {_program()} run --as you --box {box} --limit 1 --trace "
            f'--agent "python3 {AGENTS / "rulebook" / "agent.py"}"'
        )
    if not good.ok:
        yield "FAILED: the audit of the release says no."
    if bad.ok:
        yield "FAILED: the audit does not notice the byte that was changed."


def _report(step: Step, report: AuditReport) -> None:
    for check in report.steps:
        if check.state != "not reached":
            mark = "ok" if check.ok else "NO"
            step.say(StatusLine(f"{mark} {check.number:>2}. {check.name}: {check.proved or check.detail}", mark))


def _program() -> str:
    """Return the command as it can be typed here: by its name if that is found, else by its path."""
    if shutil.which(PACKAGE):
        return PACKAGE
    path = Path(sys.prefix) / "bin" / PACKAGE
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _percent(month_score: Score) -> str:
    return f"{100 * (month_score.success_rate.value or 0):.0f} %"


def _flat(month_score: Score) -> dict[str, Any]:
    """Return the four figures by name, with their intervals beside."""
    figures = {name: getattr(month_score, name) for name in FIGURES}
    out: dict[str, Any] = {name: figure.value for name, figure in figures.items()}
    out["intervals"] = {name: [figure.low, figure.high] for name, figure in figures.items()}
    return out | {
        "attempted": month_score.attempted,
        "passed": month_score.passed,
        "unknown": month_score.unknown,
        "spec": month_score.spec,
    }


def _known(box: Box) -> Any:
    return box.name
