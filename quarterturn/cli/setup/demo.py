"""Demo: one whole benchmark month, on real servers in a real sandbox.

1. a home, and a self-check of the sandbox from inside it
2. tasks are drawn, proven by execution, reviewed by a second person, and sealed
3. they are committed to and go live
4. three agents run: one does nothing, one is handed the solutions, one is honest
5. the leaderboard
6. the turn: a quarter retires, a quarter enters
7. what was published is audited, with nothing but the folder and the log's key
8. one byte of a copy is changed, and the audit says where
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
from typing import Any

from quarterturn import wall_clock
from quarterturn.app import Application
from quarterturn.boxes import choose_box
from quarterturn.choices import BoxName
from quarterturn.cli.daily import leaderboard_text
from quarterturn.cli.terminal.output import Output
from quarterturn.errors import Unavailable
from quarterturn.home.home import create
from quarterturn.runs.reference_run import reference
from quarterturn.settings import BenchmarkSettings, RunSettings, Settings
from rotation.calendar import Month
from rotation.leaderboard import standings
from rotation.leaderboard.figures import FIGURES, of_results
from rotation.turn.turn import STEPS
from sandbox.attacks import Attempt, selfcheck
from sandbox.boxes.box import Box
from sandbox.results.score import Score, score
from sandbox.runs import submission as submissions
from vault.ledger.audit.report import AuditReport
from vault.ledger.audit.verify import audit
from vault.task.lifecycle import TaskState

AUTHOR, REVIEWER = "ada", "grace"
AGENTS = Path(__file__).resolve().parents[3] / "examples" / "agents"


@dataclass(frozen=True)
class Played:
    """The result of the demo."""

    ok: bool
    data: Mapping[str, Any]
    lines: Sequence[str]


def play(home: Path | None, box_name: BoxName | None, out: Output) -> Played:
    """Play the month; without `home` everything is gone afterwards.

    Raises:
        Unavailable: no box can be had. No agent is ever run with a way out.
    """
    box = choose_box(box_name or ("bwrap" if sys.platform == "linux" else "docker"), run_class="unofficial")
    with _folder(home) as folder:
        return _Play(folder, box, out, kept=home is not None).all()


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
    def __init__(self, home: Path, box: Box, out: Output, *, kept: bool) -> None:
        self.box, self.out, self.kept, self.started = box, out, kept, time.monotonic()
        self.month = Month.of(wall_clock.now())
        create(
            home,
            Settings(benchmark=BenchmarkSettings(first_month=str(self.month)), run=RunSettings(box=_known(box))),
            None,
        )
        self.app = Application(home, None)

    def all(self) -> Played:
        """Play all steps."""
        egress = self.wall()
        self.supply()
        self.turn(self.month.plus(-1))
        scores = self.agents()
        self.supply()
        self.turn(self.month)
        good, bad = self.audits()
        data = self.data(scores, egress, good, bad)
        ok = good.ok and not bad.ok and not data["egress"]["escaped"]
        where = f"Everything is in {self.app.home}." if self.kept else "Nothing was kept; --home DIR keeps it."
        return Played(ok, data, [f"Done in {time.monotonic() - self.started:.0f} s. {where}"])

    def say(self, title: str, meaning: str) -> None:
        self.out.say(f"\n{title}\n  {meaning}")

    # -- the steps ----------------------------------------------------------------------------------------------------

    def wall(self) -> list[Attempt]:
        self.say("The wall", f"Each agent runs in the {self.box.name} box with a loopback and nothing else.")
        attempts = selfcheck(self.box)
        for attempt in attempts:
            if attempt.group == "network":
                self.out.say(f"  {attempt.outcome:<8} {attempt.name}: {attempt.control}")
        escaped = sum(attempt.outcome == "escaped" for attempt in attempts)
        self.out.say(f"  {len(attempts)} attempts, {escaped} escaped")
        if escaped:
            raise Unavailable(f"the {self.box.name} box has a way out on this machine; nothing is run in it")
        return attempts

    def supply(self) -> None:
        missing = self.app.replenishment.wanted()
        count = sum(missing.values())
        self.say(f"{count} tasks", "Drawn from public grammars; each is proven by execution before a person sees it.")
        with self.out.progress("drawn and admitted", count) as advance:
            tally = self.app.replenishment.fill(missing, box=self.box, author=AUTHOR, on_done=lambda: advance(1))
        for task_id in tally.admitted:
            self.app.reviews.decide(task_id, REVIEWER, None)
        self.out.say(f"  {tally.drawn} drawn, {len(tally.admitted)} admitted, reviewed by {REVIEWER} and sealed")

    def turn(self, month: Month) -> None:
        first = month < self.month
        title = "The first set goes live" if first else f"The turn of {month}"
        self.say(
            title,
            "Every task is committed to under a signed checkpoint before anybody is served it."
            if first
            else "The oldest quarter retires and is published; a new one, drawn from a committed seed, enters.",
        )
        with self.out.progress("steps of the turn", len(STEPS)) as advance:
            self.app.rotation.run(month, lambda _: advance(1))
        head = self.app.writer.checkpoint()
        self.out.say(f"  the log has {head.size} leaves, root {head.root.hex()[:16]}…")

    def agents(self) -> dict[str, Score]:
        self.say("Three agents", "null does nothing, oracle is handed the solutions, rulebook is small and honest.")
        scores: dict[str, Score] = {}
        leaderboard = []
        for name in ("null", "rulebook"):
            submitted = submissions.command(f"python3 {AGENTS / name / 'agent.py'}", submitter=name, name=name)
            opened, results = self.app.run_player.play(submitted, self.box, self.out)
            scores[name] = score(results)
            leaderboard.append((opened.record, of_results(results, self.month.cohort)))
        oracle = submissions.reference(f"python3 {AGENTS / 'oracle' / 'agent.py'}")
        answers = reference(
            self.app.vault,
            self.app.months,
            oracle,
            self.box,
            self.out,
            terms=self.app.run_player.terms(),
            workers=self.app.settings.run.workers,
        )
        scores["oracle"] = score(answers)
        self.say("The leaderboard", "Every figure has its interval; runs in a box that is not official have no rank.")
        lines = standings.lines(leaderboard)
        lines.append(standings.reference_line("oracle", answers))
        for line in (
            *leaderboard_text.table(lines),
            *leaderboard_text.public_grammar(self.app.caveats.public_cohorts(self.month)),
        ):
            self.out.say(f"  {line}")
        return scores

    def audits(self) -> tuple[AuditReport, AuditReport]:
        release = self.app.public / "releases" / self.month.release
        self.say(f"Audit of {release.name}", "Offline, with the folder and the log's key: nobody is trusted.")
        good = audit(release, [self._key()])
        self._report(good)
        with tempfile.TemporaryDirectory(prefix="quarterturn-demo-") as folder:
            copy = Path(shutil.copytree(release, Path(folder) / release.name))
            tasks = bytearray((copy / "tasks.jsonl").read_bytes())
            tasks[len(tasks) // 2] ^= 1
            (copy / "tasks.jsonl").write_bytes(tasks)
            self.say("The same audit of a copy with one changed byte", "It must say no, and where.")
            bad = audit(copy, [self._key()])
        self._report(bad)
        return good, bad

    def _report(self, report: AuditReport) -> None:
        for step in report.steps:
            if step.state != "not reached":
                mark = "ok" if step.ok else "NO"
                self.out.say(f"  {mark} {step.number:>2}. {step.name}: {step.proved or step.detail}")
        self.out.say(f"  The answer is {'yes' if report.ok else 'NO'}.")

    def _key(self) -> str:
        return (self.app.public / "log.vkey").read_text(encoding="utf-8").strip()

    # -- the object that --json prints --------------------------------------------------------------------------------

    def data(
        self, scores: Mapping[str, Score], egress: Sequence[Attempt], good: AuditReport, bad: AuditReport
    ) -> dict[str, Any]:
        records = self.app.vault.records()
        months = self.app.months
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
                "bundle": str(self.app.public / "releases" / self.month.release),
                "key": str(self.app.public / "log.vkey"),
            },
            "tampered_audit": {"ok": bad.ok, "step": failed.number if failed else None},
            "seconds": round(time.monotonic() - self.started, 1),
        }


def _flat(month_score: Score) -> dict[str, Any]:
    """Give the four figures by name, with their intervals beside."""
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
