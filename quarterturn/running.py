"""Running a submission against the dev set, which tells everything, or the live set, which tells its figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from grammars.grammar import Grammar
from quarterturn import devset, standings
from quarterturn.errors import Malformed, Refused
from quarterturn.wiring import House, choose_box, shipped_grammars
from rotation.official import OpenRun
from sandbox import submission as submissions
from sandbox.box import Box, Limits
from sandbox.outcome import TaskRun
from sandbox.run import Solution, Terms, run_set
from sandbox.score import Result, score
from sandbox.selfcheck import selfcheck
from sandbox.submission import Submission
from sandbox.transcript import Call
from vault.task import Task


@dataclass(frozen=True, slots=True)
class Report:
    """What a verb says: `data` for machines, `lines` for people."""

    data: Mapping[str, Any]
    lines: list[str]


class Progress(Protocol):
    """Where progress goes (`quarterturn.cli.output.Output`)."""

    def progress(self, what: str, total: int) -> Any:
        """Give a context manager that yields `advance(steps)`."""
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """What was named on the command line: an image or a command line, who submits it, and the box, if one was."""

    image: str | None
    agent: str | None
    submitter: str
    box: str | None

    @property
    def box_name(self) -> str | None:
        """Give the box to use, or None where it is left to the settings; an image runs in the docker box only."""
        return self.box or ("docker" if self.image else None)


def submission(chosen: Choice, box: Box) -> Submission:
    """Make a submission of what was named on the command line.

    Raises:
        Malformed: an image was named and the box has no images.
    """
    if chosen.image is not None:
        resolve: Callable[[str], str] | None = getattr(box, "digest", None)
        if resolve is None:
            raise Malformed(f"an image needs the docker box, not {box.name}; give --box docker, or --agent a command")
        return submissions.image(chosen.image, submitter=chosen.submitter, resolve=resolve)
    return submissions.command(chosen.agent or "", submitter=chosen.submitter)


def dev(chosen: Choice, out: Progress) -> Report:
    """Run the dev set, without a home."""
    box = choose_box(chosen.box_name or "auto")
    grammars: Mapping[str, Grammar] = shipped_grammars()
    tasks = [Task.parse(draft.task) for draft in devset.draw(grammars)]
    submitted = submission(chosen, box)
    with out.progress(f"{submitted.name} on the dev set", len(tasks)) as advance:
        runs = run_set(tasks, submitted, box, on_done=lambda _: advance(1))
    results = [_result(task, run) for task, run in zip(tasks, runs, strict=True)]
    whole = score(results)
    data = {"box": box.name, "score": whole.as_json(), "tasks": [run.as_json() for run in runs]}
    lines = [_line(task, run) for task, run in zip(tasks, runs, strict=True)]
    return Report(data, [*lines, "", f"{whole.passed} of {whole.attempted} passed. The dev set is public: no rank."])


def private(house: House, chosen: Choice, out: Progress) -> Report:
    """Run the live set: the wall is checked first, and nothing but figures comes back."""
    box = house.box(chosen.box_name)
    submitted = submission(chosen, box)
    require_wall(box)
    opened, results = play(house, submitted, box, out)
    line = standings.lines([(opened.record, results)], house.official.month().cohort)
    data = {"run": opened.record.number, "month": opened.record.month, "box": box.name} | line[0].as_json()
    return Report(data, standings.table(line))


def require_wall(box: Box) -> None:
    """Check the wall before anything private is behind it.

    Raises:
        Refused: an attempt got out.
    """
    escaped = [attempt.name for attempt in selfcheck(box) if attempt.outcome == "escaped"]
    if escaped:
        raise Refused(f"the {box.name} box lets these out: {', '.join(escaped)}. No private task is run in it")


def play(house: House, submitted: Submission, box: Box, out: Progress) -> tuple[OpenRun, tuple[Result, ...]]:
    """Open a run in the ledger, serve it every task of the live set, and close it; a failure aborts it in public."""
    opened = house.official.open(submitted, box)
    try:
        tasks = house.official.serve(opened)

        def done(run: TaskRun) -> None:
            house.official.record(opened, run)
            advance(1)

        with out.progress(submitted.name, len(tasks)) as advance:
            run_set(tasks, submitted, box, workers=house.settings.run.workers, on_done=done, terms=terms(house))
        return opened, house.official.close(opened)
    except BaseException:
        house.official.abort(opened.record.number, "interrupted")
        raise


def reference(house: House, submitted: Submission, box: Box, out: Progress) -> list[Result]:
    """Run the reference agent on the live set; it is handed the solutions, opens no run and has no rank."""
    cohorts = house.months.cohorts("live")
    opened = [house.vault.open(name, who="runner", why="reference agent") for c in cohorts for name in c.tasks]
    solutions = {item.task.id: _solution(item.provenance["solutions"][0]) for item in opened}
    tasks = [item.task for item in opened]
    with out.progress(submitted.name, len(tasks)) as advance:
        runs = run_set(
            tasks,
            submitted,
            box,
            workers=house.settings.run.workers,
            on_done=lambda _: advance(1),
            solutions=solutions,
            terms=terms(house),
        )
    return [
        _result(item.task, run, house.vault.record(item.task.id).skeleton_tag)
        for item, run in zip(opened, runs, strict=True)
    ]


def terms(house: House) -> Terms:
    """Give the terms of the home's runs."""
    return Terms(agent=Limits(wall=house.settings.run.wall_seconds))


def _solution(solution: Mapping[str, Any]) -> Solution:
    return Solution([Call(call["tool"], call["arguments"]) for call in solution["calls"]], solution["answer"])


def _result(task: Task, run: TaskRun, skeleton: str | None = None) -> Result:
    return Result(
        run=1,
        task=task.id,
        cohort="dev",
        server=task.server,
        category=task.category,
        verdict=run.verdict,
        passed=run.passed,
        calls=run.calls,
        max_steps=run.max_steps,
        unlisted=run.transcript.unlisted,
        errors_seen=run.transcript.errors,
        skeleton=skeleton or task.id,
    )


def _line(task: Task, run: TaskRun) -> str:
    mark = "pass" if run.passed else "FAIL" if run.failure != "ours" else "ours"
    return f"{mark}  {task.server:<10} {task.category:<12} {run.calls:>2}/{run.max_steps:<2} calls  {task.goal[:70]}"
