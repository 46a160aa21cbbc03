"""Replay of the log's statements: tasks promised, withdrawn and refilled, runs opened and closed.

Pure: it takes the statements with their indexes and answers queries about the state at any index
of the log. Every contradiction between statements is `Broken`, with the indexes that disagree.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from typing import Any

from vault.errors import Broken
from vault.ledger.statements.statement import Statement
from vault.ledger.tree.merkle import set_root

CLOSING = ("score", "abort")


@dataclass(frozen=True, slots=True)
class LoggedStatement:
    """A statement and its index in the log."""

    index: int
    statement: Statement = field(repr=False)

    @property
    def digest(self) -> str:
        """The subject's digest in hex."""
        return next(iter(self.statement.digest.values()))


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """The statements that open and close a run; `close` is None while it is open."""

    open: LoggedStatement
    close: LoggedStatement | None


class History:
    """The statements from some index on, replayed.

    Raises:
        Broken: they contradict each other: a task is committed to twice, a set forgets or changes what was promised, a
            run opens or closes twice, a cohort retires twice.
    """

    def __init__(self, entries: Iterable[LoggedStatement]) -> None:
        self.entries = list(entries)
        self._by_kind: dict[str, list[LoggedStatement]] = defaultdict(list)
        for entry in self.entries:
            self._by_kind[entry.statement.kind].append(entry)
        self.commits: dict[str, LoggedStatement] = {}
        self._task_of: dict[str, str] = {}
        for entry in self.of("commit"):
            self._admit(entry)
        self.runs = self._pair_runs()
        self._withdrawn: list[tuple[LoggedStatement, str]] = []
        self._moments = list(self._replay())

    def of(self, *kinds: str) -> Iterator[LoggedStatement]:
        """Give the statements of some kinds, in order."""
        return merge(*(self._by_kind[kind] for kind in kinds), key=lambda entry: entry.index)

    def last_set(self, before: int) -> LoggedStatement:
        """Give the last `set` statement before an index."""
        sets = self._by_kind["set"]
        place = bisect_left(sets, before, key=lambda entry: entry.index)
        if not place:
            raise Broken(
                f"no set statement stands before leaf {before} in this bundle", where=f"the leaves before {before}"
            )
        return sets[place - 1]

    def commit_of(self, task: str, before: int) -> LoggedStatement:
        """Give the commit of a task, which must stand before an index."""
        entry = self.commits.get(task)
        if entry is None:
            raise Broken(f"no leaf in this bundle commits to {task}", where="the commit statements", expected=task)
        if entry.index >= before:
            raise Broken(
                f"{task} was committed to at leaf {entry.index}, which is not before {before}",
                where=f"the leaf that commits to {task}",
                expected=f"0 to {before - 1}",
                found=entry.index,
            )
        return entry

    def members(self, cohort: str, at: int) -> list[str]:
        """Give a cohort's tasks just before an index, in promised order: promised - withdrawn + refills."""
        place = bisect_left(self._moments, at, key=lambda moment: moment[0])
        live = self._moments[place - 1][1] if place else {}
        if cohort not in live:
            raise Broken(
                f"no set statement before leaf {at} has {cohort} among the live ones",
                where=f"the live cohorts before leaf {at}",
                expected=cohort,
                found=sorted(live),
            )
        return live[cohort]

    def live(self, at: int) -> list[str]:
        """Name the cohorts that were live just before an index; none where no set statement before it is known."""
        place = bisect_left(self._moments, at, key=lambda moment: moment[0])
        return list(self._moments[place - 1][1]) if place else []

    def withdrawn(self, cohort: str) -> list[LoggedStatement]:
        """Give the withdrawals from a cohort."""
        return [entry for entry, name in self._withdrawn if name == cohort]

    def broken(self) -> set[str]:
        """Name the tasks that were withdrawn as broken."""
        return {e.statement.name for e in self.of("withdraw") if e.statement.predicate["cause"] == "broken"}

    def gaps(self, cohort: str, before: int) -> int:
        """Count the withdrawals from a cohort, before an index, that were not refilled."""
        withdrawals = [entry for entry in self.withdrawn(cohort) if entry.index < before]
        return sum(entry.statement.predicate["replacement"] is None for entry in withdrawals)

    def opened_with(self, retired: LoggedStatement) -> list[LoggedStatement]:
        """Give the withdrawals that a retirement opens: from its cohort, and from reserves since the one before."""
        cohort = retired.statement.predicate["cohort"]
        before = max((entry.index for entry in self.of("retire") if entry.index < retired.index), default=-1)
        home = {entry.index: name for entry, name in self._withdrawn}
        due = [entry for entry in self.of("withdraw") if entry.index < retired.index]
        return [e for e in due if home.get(e.index, cohort if e.index > before else None) == cohort]

    def require_refills(self, retired: LoggedStatement, strata: Mapping[str, str]) -> None:
        """Check each withdrawal that a retirement opens: refilled with the next of its stratum's reserve, if it can be.

        Args:
            retired: the retirement.
            strata: the stratum of each task that was withdrawn, as its document has it.
        """
        served = {entry.index for entry, _ in self._withdrawn}
        for entry in self.opened_with(retired):
            withdrawn, refill = entry.statement.name, entry.statement.predicate["replacement"]
            committed = self.commit_of(withdrawn, entry.index).digest
            if entry.digest != committed:
                raise Broken(
                    f"leaf {entry.index} withdraws {withdrawn} under a commitment that is not its own",
                    where=f"leaf {entry.index}: $.subject[0].digest",
                    expected=committed,
                    found=entry.digest,
                )
            if entry.index in served:
                self._require_next_in_reserve(refill, entry, strata[withdrawn])
            elif refill is not None:
                raise Broken(
                    f"leaf {entry.index} refills with {refill} for {withdrawn}, which was not being served",
                    where=f"leaf {entry.index}: $.predicate.replacement",
                    found=refill,
                )

    def require_roots(self, cohort: str) -> int:
        """Recompute the cohort's root, and the set's where all its commits are known; gives how many sets' were."""
        recomputed = 0
        for entry in self.of("set"):
            says = entry.statement.predicate
            for item in says["cohorts"]:
                if item["id"] == cohort:
                    self._require_root(item["tasks"], item["root"], entry.index, cohort)
            tasks = [task for item in says["cohorts"] for task in item["tasks"]]
            if all(task in self.commits for task in tasks):
                self._require_root(tasks, entry.digest, entry.index, entry.statement.name)
                recomputed += 1
        return recomputed

    def _require_root(self, tasks: Sequence[str], stated: str, index: int, what: str) -> None:
        root = set_root(bytes.fromhex(self.commit_of(task, index).digest) for task in tasks).hex()
        if root != stated:
            raise Broken(
                f"the commitments of {what} at leaf {index} give the root {root}, it states {stated}",
                where=f"leaf {index}: the root of {what}",
                expected=root,
                found=stated,
            )

    def _replay(self) -> Iterator[tuple[int, dict[str, list[str]]]]:
        """Give the live cohorts after each statement that changes them."""
        live: dict[str, list[str]] | None = None
        retired: set[str] = set()
        last: LoggedStatement | None = None
        for entry in self.of("set", "withdraw", "retire"):
            if entry.statement.kind == "set":
                _require_chain(last, entry)
                _require_future(entry)
                self._require_grammars(entry)
                live = _restated(live, retired, entry)
                _require_next_month(last, entry)
                last = entry
            elif entry.statement.kind == "retire":
                retired.add(_retired(live, retired, entry))
                live = {name: tasks for name, tasks in live.items() if name not in retired} if live else live
            elif live is not None:
                live = {name: self._without(name, tasks, entry) for name, tasks in live.items()}
            yield entry.index, live or {}

    def _require_grammars(self, entry: LoggedStatement) -> None:
        """Check that a set says whether a live task is of a public grammar as their commits do, where all are known."""
        says = entry.statement.predicate
        commits = [self.commits.get(task) for item in says["cohorts"] for task in item["tasks"]]
        public = [commit.statement.predicate["public_grammar"] for commit in commits if commit]
        if len(public) == len(commits) and any(public) != says["public_grammar"]:
            raise Broken(
                f"the set at leaf {entry.index} says public_grammar {str(says['public_grammar']).lower()}, the commits "
                "of its tasks say otherwise",
                where=f"leaf {entry.index}: $.predicate.public_grammar",
                expected=any(public),
                found=says["public_grammar"],
            )

    def _without(self, cohort: str, tasks: list[str], entry: LoggedStatement) -> list[str]:
        withdrawn, refill = entry.statement.name, entry.statement.predicate["replacement"]
        if withdrawn not in tasks:
            return tasks
        self._withdrawn.append((entry, cohort))
        return [refill if task == withdrawn else task for task in tasks if task != withdrawn or refill is not None]

    def _require_next_in_reserve(self, refill: str | None, entry: LoggedStatement, stratum: str) -> None:
        promised = self.last_set(entry.index)
        between = [item for item in self.of("withdraw") if promised.index < item.index < entry.index]
        refills = [item.statement.predicate["replacement"] for item in between]
        used = {item.digest for item in between} | {
            self.commits[task].digest for task in refills if task in self.commits
        }
        left = [item for item in promised.statement.predicate["reserve"].get(stratum, []) if item not in used]
        if refill is None and left:
            raise Broken(
                f"leaf {entry.index} refills with nobody, though the reserve of {stratum} has {len(left)} left",
                where=f"leaf {entry.index}: $.predicate.replacement",
                expected={"commitment": left[0]},
            )
        given = None if refill is None else self.commit_of(refill, promised.index).digest
        if refill is not None and [given] != left[:1]:
            raise Broken(
                f"leaf {entry.index} refills with {refill}, which was not next in the reserve of {stratum}",
                where=f"leaf {entry.index}: $.predicate.replacement",
                expected={"commitment": left[0] if left else None},
                found={"commitment": given, "task": refill},
            )

    def _admit(self, entry: LoggedStatement) -> None:
        task = entry.statement.name
        if task in self.commits:
            raise Broken(
                f"{task} is committed to twice, at leaves {self.commits[task].index} and {entry.index}",
                where=f"the commit statements of {task}",
                expected={"leaf": self.commits[task].index, "commitment": self.commits[task].digest},
                found={"leaf": entry.index, "commitment": entry.digest},
            )
        first_task = self._task_of.setdefault(entry.digest, task)
        if first_task != task:
            raise Broken(
                f"{first_task} and {task} have the same commitment",
                where=f"leaf {entry.index}: the task of the commitment {entry.digest}",
                expected=first_task,
                found=task,
            )
        self.commits[task] = entry

    def _pair_runs(self) -> dict[int, LoggedRun]:
        opened: dict[int, LoggedStatement] = {}
        closed: dict[int, LoggedStatement] = {}
        for entry in self.of("run-open", *CLOSING):
            number = entry.statement.predicate["run"]
            ends = closed if entry.statement.kind in CLOSING else opened
            if number in ends:
                raise Broken(
                    f"run {number} is stated twice, at leaves {ends[number].index} and {entry.index}",
                    where=f"the leaf that states run {number}",
                    expected=ends[number].index,
                    found=entry.index,
                )
            ends[number] = entry
        for number, entry in opened.items():
            if number in closed and closed[number].index < entry.index:
                raise Broken(
                    f"run {number} is closed at leaf {closed[number].index} before it opens at {entry.index}",
                    where=f"the leaf that closes run {number}",
                    expected=f"{entry.index + 1} or later",
                    found=closed[number].index,
                )
        return {number: LoggedRun(entry, closed.get(number)) for number, entry in opened.items()}


def listed(entry: LoggedStatement, cohort: str) -> Mapping[str, Any] | None:
    """Give the entry of a cohort in a `set` statement, or None."""
    return next((item for item in entry.statement.predicate["cohorts"] if item["id"] == cohort), None)


def _require_chain(last: LoggedStatement | None, entry: LoggedStatement) -> None:
    previous = entry.statement.predicate["previous"]
    if last is not None and previous != last.index:
        raise Broken(
            f"the set at leaf {entry.index} names leaf {previous} before it, not {last.index}",
            where=f"leaf {entry.index}: $.predicate.previous",
            expected=last.index,
            found=previous,
        )
    if previous is not None and previous >= entry.index:
        raise Broken(
            f"the set at leaf {entry.index} names a later leaf {previous} before it",
            where=f"leaf {entry.index}: $.predicate.previous",
            expected=f"0 to {entry.index - 1}",
            found=previous,
        )


def _require_next_month(last: LoggedStatement | None, entry: LoggedStatement) -> None:
    month = entry.statement.predicate["month"]
    if last is not None and month != (expected := _after(last.statement.predicate["month"])):
        raise Broken(
            f"the set at leaf {entry.index} is of {month}, the one at leaf {last.index} before it of "
            f"{last.statement.predicate['month']}",
            where=f"leaf {entry.index}: $.predicate.month",
            expected=expected,
            found=month,
        )


def _require_future(entry: LoggedStatement) -> None:
    """Check that no cohort of a set should have retired before the set's month."""
    says = entry.statement.predicate
    for item in says["cohorts"]:
        if item["retires"] < says["month"]:
            raise Broken(
                f"the set at leaf {entry.index} is of {says['month']}, and lists {item['id']}",
                where=f"leaf {entry.index}: $.predicate.cohorts",
                expected=f"cohorts that retire in {says['month']} or later",
                found=item["id"],
            )


def _after(month: str) -> str:
    """Give the month after one, both as YYYY-MM."""
    months = 12 * int(month[:4]) + int(month[5:])
    return f"{months // 12:04}-{months % 12 + 1:02}"


def _restated(live: dict[str, list[str]] | None, retired: set[str], entry: LoggedStatement) -> dict[str, list[str]]:
    """Check that a set repeats every live cohort as it is; it may add new ones, and never brings one back."""
    says = {str(item["id"]): list(item["tasks"]) for item in entry.statement.predicate["cohorts"]}
    for name, tasks in (live or {}).items():
        if name not in says:
            raise Broken(
                f"the set at leaf {entry.index} lists {name} no more, though it has not retired",
                where=f"leaf {entry.index}: $.predicate.cohorts",
                expected=name,
                found=sorted(says),
            )
        if says[name] != tasks:
            strange = next((a for a, b in zip(says[name], tasks, strict=False) if a != b), "its end")
            raise Broken(
                f"the set at leaf {entry.index} lists other tasks for {name} than were promised: see {strange}",
                where=f"leaf {entry.index}: the tasks of {name}",
                expected=tasks,
                found=says[name],
            )
    if back := sorted(retired & says.keys()):
        raise Broken(
            f"the set at leaf {entry.index} lists {back[0]}, which has retired",
            where=f"leaf {entry.index}: $.predicate.cohorts",
            found=back[0],
        )
    return says


def _retired(live: dict[str, list[str]] | None, retired: set[str], entry: LoggedStatement) -> str:
    name, month = str(entry.statement.predicate["cohort"]), entry.statement.predicate["month"]
    if name != f"cohort-{month}":
        raise Broken(
            f"leaf {entry.index} retires {name} in {month}",
            where=f"leaf {entry.index}: $.predicate.cohort",
            expected=f"cohort-{month}",
            found=name,
        )
    if name in retired or (live is not None and name not in live):
        raise Broken(
            f"leaf {entry.index} retires {name}, which is not live",
            where=f"leaf {entry.index}: $.predicate.cohort",
            expected={"live": sorted(live or {})},
            found=name,
        )
    return name
