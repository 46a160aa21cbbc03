"""The spot check of a month: one result in twenty is judged again, from the state that was sealed before it was judged.

    1. promise   a seed is sealed and committed to in the month's `set` statement
    2. judge     when no result can be added any more, the seed and the log's root choose
       (`vault.ledger.statements.spot_check`),
                 and others than those who judged at first judge each chosen result's state; what that came to is sealed
                 at once, so that nobody who goes on after a death judges it again
    3. drop      the states of the month go, but those that came out otherwise: they stay until the next spot check
    4. conclude  the counts are fixed for the `retire` statement, and what came out otherwise becomes findings

A result is bound, so it stays as it is. What has no state (the world broke, or nothing was served) is chosen like any
other, and is not judged. The state that is judged is that of the attempt that counts.

It shows that a worker judged otherwise than the others do: broken, out of date, or lying. It does not show that a state
is the one that the agent left, nor that a failure was ruled as it should have been.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from sqlmodel import Session

from rotation.calendar import Month
from rotation.findings.store import Found
from rotation.month.store import Turn
from rotation.runs import openings
from rotation.runs.books import Books
from rotation.runs.openings import WHO
from sandbox.errors import Unjudged
from sandbox.judge import WORKER
from sandbox.results.outcome import TaskRun
from sandbox.results.remains import Left
from sandbox.runs.store import RunRecord, RunState
from vault.commitment import commitment, new_salt
from vault.ledger.statements.spot_check import LABEL, is_chosen
from vault.task.document import Task
from verifiers.language.verdict import Verdict

KIND = "verdict"
FACT, _MORE = "spot_check", "spot_check_more"
_SEED, _AGAIN = "spot-seed/", "again/"


class Again(Protocol):
    """Who judges states again (`sandbox.runs.rejudge`)."""

    def verdict(self, box: str, task: Task, left: Left) -> Verdict | None:
        """Say what a task's predicate comes to on what was left in a box; None where that is no state.

        Raises:
            Unjudged: nobody can say, for a reason of ours.
            Unavailable: nobody can be asked now.
        """


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of one chosen result.

    Attributes:
        run: its run.
        task: its task.
        judged: whether its state was judged again.
        differs: whether that, or what was sealed of it, is not what was bound.
        here: whether it was judged at first in the process that now had it judged again.
        passed: whether it counts as passed.
    """

    run: int
    task: str
    judged: bool = False
    differs: bool = False
    here: bool = False
    passed: bool = False

    @property
    def name(self) -> str:
        """How people are told of it."""
        return f"{self.run}/{self.task}"


@dataclass(frozen=True, slots=True)
class SpotCheck:
    """What the spot check of a month came to.

    Attributes:
        month: the month.
        seed: what chose, 32 bytes.
        salt: with which it was committed to.
        results: what was chosen, by run and task.
    """

    month: Month
    seed: bytes = field(repr=False)
    salt: bytes = field(repr=False)
    results: tuple[Checked, ...]


def promise(session: Session, books: Books, month: Month) -> bytes:
    """Seal the seed of a month's spot check and give the commitment to it."""
    seed, salt = books.entropy(32), new_salt(books.entropy)
    books.vault.seal_blob(f"{_SEED}{month}", seed + salt, session=session)
    return commitment(LABEL, seed, salt)


def judge(books: Books, month: Month, again: Again) -> SpotCheck | None:
    """Judge every chosen result again that was not yet (step 2); None where no seed was promised.

    Raises:
        Unavailable: who judges, or the box of a backend, cannot be had now; what was judged stays so.
    """
    if not books.vault.has_blob(f"{_SEED}{month}"):
        return None
    opening = books.vault.open_blob(f"{_SEED}{month}", who=WHO, why=f"spot check of {month}")
    seed, salt = opening[:32], opening[32:]
    there = set(books.vault.blob_names(f"{_AGAIN}{month}/"))
    for record, bound in _chosen(books, month, seed):
        name = f"{_AGAIN}{month}/{record.number}/{bound['task']}"
        if name not in there:
            checked = _judged(books, record, bound, again)
            books.vault.seal_blob(name, json.dumps(asdict(checked)).encode())
    found = books.vault.open_blobs(f"{_AGAIN}{month}/", who=WHO, why=f"spot check of {month}")
    results = sorted((Checked(**json.loads(data)) for data in found.values()), key=lambda one: (one.run, one.task))
    return SpotCheck(month, seed, salt, tuple(results))


def drop_states(books: Books, found: SpotCheck | None) -> None:
    """Take out every state that is sealed, but those that came out otherwise now (step 3)."""
    for record in books.runs.list():
        kept = [one.task for one in found.results if one.differs and one.run == record.number] if found else []
        books.runs.drop_left(record.number, kept)


def conclude(session: Session, books: Books, found: SpotCheck) -> dict[str, str]:
    """Give the facts of the turn, and write findings down (step 4)."""
    for one in found.results:
        if one.differs:
            said = Found(KIND, one.name, found.month, detail="its state was judged again, to another verdict")
            books.findings.add(session, said, books.clock())
    books.vault.drop_blobs(f"{_AGAIN}{found.month}/", session=session)
    facts = {
        "seed": found.seed.hex(),
        "salt": found.salt.hex(),
        "chosen": len(found.results),
        "judged": sum(one.judged for one in found.results),
        "differed": sum(one.differs for one in found.results),
    }
    more = {
        "differed": [one.name for one in found.results if one.differs],
        "stateless": [one.name for one in found.results if one.passed and not one.judged],
        "here": sum(one.here for one in found.results),
    }
    return {FACT: json.dumps(facts), _MORE: json.dumps(more)}


def opened(turn: Turn) -> dict[str, Any] | None:
    """Give what the `retire` statement says of the spot check; None where none was promised."""
    return json.loads(turn.facts[FACT]) if FACT in turn.facts else None


def told(turn: Turn) -> list[str]:
    """Say in lines what a spot check came to, for maintainers alone; none where there was none, or not yet."""
    if FACT not in turn.facts:
        return []
    facts, more = json.loads(turn.facts[FACT]), json.loads(turn.facts[_MORE])
    here = f" ({more['here']} of them by the process that judged at first)" if more["here"] else ""
    lines = [f"spot check of {turn.month}: {facts['judged']} of {facts['chosen']} chosen results judged again{here}, "
             f"{facts['differed']} came out otherwise"]  # fmt: skip
    if more["differed"]:
        lines.append(f"  otherwise: {', '.join(more['differed'])}: look at the workers that played these runs")
    if more["stateless"]:
        lines.append(f"  passed, and could not be judged again: {', '.join(more['stateless'])}")
    return lines


def _chosen(books: Books, month: Month, seed: bytes) -> Iterator[tuple[RunRecord, Mapping[str, Any]]]:
    """Give what is chosen of the results that the scores of a month bind, each with its run."""
    done = books.runs.list(month=str(month), state=RunState.DONE)
    if not done:
        return
    root = books.log.root(1 + max(books.leaf_index(f"score/{record.number}") for record in done))
    for record in done:
        closing = openings.unseal(books, f"closing/{record.number}", f"spot check of {month}")
        for bound in (item["result"] for item in closing["results"]):
            if is_chosen(seed, root, record.number, bound["task"]):
                yield record, bound


def _judged(books: Books, record: RunRecord, bound: Mapping[str, Any], again: Again) -> Checked:
    number, task_id, why = record.number, bound["task"], f"judge run {record.number} again"
    checked = Checked(number, task_id, passed=bound["passed"])
    if task_id not in books.runs.left(number) & books.runs.finished(number):
        return checked
    outcome = books.runs.result(number, task_id, who=WHO, why=why)
    left = books.runs.open_left(number, task_id, who=WHO, why=why)
    opened = books.vault.open(task_id, who=WHO, why=why).task
    task = books.vault.served(opened, record.submitter, record.month)
    try:
        verdict = again.verdict(record.box, task, left)
    except Unjudged:
        return checked
    here = outcome.judged_by == WORKER
    return replace(checked, judged=True, differs=_differs(bound, outcome, verdict), here=here)


def _differs(bound: Mapping[str, Any], outcome: TaskRun, verdict: Verdict | None) -> bool:
    """Compare the second verdict with the first, and with what counts: where no failure does, a verdict does."""
    counts = outcome.judged if outcome.failure else outcome.verdict
    told = (outcome.verdict.value, outcome.passed) == (bound["verdict"], bound["passed"])
    return not told or verdict is not outcome.judged or verdict is not counts
