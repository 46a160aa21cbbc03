"""Tests of a leaderboard: each agent once, at its own cutoff, with all others as its peers. Pure.

Tasks up to a cutoff are old to everybody, later ones new. Whoever could have known less, or more, is a peer: whether
old tasks are easy for everybody, only peers tell. All p-values of a kind are corrected together (Holm), over all
cutoffs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np

from rotation.detection.detectors.copying import copying
from rotation.detection.detectors.detector_result import MIN_SUBMITTERS
from rotation.detection.detectors.leaked_group import MIN_MEMBERS, group
from rotation.detection.detectors.leaked_tasks import MIN_SUBMITTERS_FOR_WINDOWS, leak
from rotation.detection.detectors.scan import CorrectedResult, judged
from rotation.detection.leaderboards.leaderboard import ROTATION, ScannedLeaderboard
from rotation.detection.report.figures import expected
from rotation.detection.statistics.correction import benjamini_hochberg, holm
from rotation.detection.statistics.linking import link
from rotation.detection.statistics.table import ResultTable

MAX_PERIODS = 12  # of a history; else months are put together to quarters, and quarters to years
ALL_OLD, ALL_NEW = "All old", "All new"
MAX_NAMED_AGENTS = 5  # agents of whom a reason is told, by name
Histories = dict[str, list[dict[str, Any]]]
"""Agent or group -> its figures, by period."""


@dataclass(frozen=True)
class CutoffScan:
    """The tests of those agents that have one cutoff.

    Attributes:
        until: the last day of what those who are tested could have known.
        table: the results.
        tests: the tests, corrected over all cutoffs.
    """

    until: date
    table: ResultTable
    tests: Sequence[CorrectedResult]


def scan_at_cutoffs(leaderboard: ScannedLeaderboard) -> list[CutoffScan]:
    """Make all tests of a leaderboard; none where nobody has results on old tasks and on new ones."""
    scans, testable = list[CutoffScan](), _testable(leaderboard)
    for until, agents in testable.items():
        table = leaderboard.table(until)
        detectors = (leak, group, *((copying,) if leaderboard.with_calls and not scans else ()))
        subjects = agents | {
            name for name in leaderboard.group.values() if _cutoff_of(name, leaderboard, testable) == until
        }
        tests = [
            test
            for test in judged(table, ROTATION, detectors)
            if test.tested.subject in subjects or test.tested.kind == "copy"
        ]
        scans.append(CutoffScan(until, table, tests))
    corrected = iter(_correct([test for at_cutoff in scans for test in at_cutoff.tests]))
    return [replace(at_cutoff, tests=[next(corrected) for _ in at_cutoff.tests]) for at_cutoff in scans]


def histories(at_cutoff: CutoffScan, leaderboard: ScannedLeaderboard) -> tuple[Histories, Histories]:
    """Return what agents and groups passed beside peers: of all old tasks, of those of each period, of all new ones."""
    days = [leaderboard.day[task] for task in at_cutoff.table.tasks]
    for form in ("{0:%Y-%m}", "{0:%Y} Q{1}", "{0:%Y}"):
        names = [form.format(day, (day.month + 2) // 3) for day in days]
        if len(set(names)) <= MAX_PERIODS:
            break
    line = link(at_cutoff.table)
    groups = [test.tested.subject for test in at_cutoff.tests if test.tested.kind == "group"]
    members = {group: _members(group, leaderboard) for group in groups}
    of_agents, of_groups = Histories(), Histories()
    old = np.array([day <= at_cutoff.until for day in days])
    for name, side in ((ALL_OLD, old), (ALL_NEW, ~old)):
        periods = {name: side} | {part: side & (np.array(names) == part) for part in sorted(set(names))}
        for part, tasks in periods.items():
            seen = expected(line, ROTATION, tasks, members)
            for shown, rows in ((of_agents, seen["points"]), (of_groups, seen.get("groups", []))):
                for row in rows:
                    shown.setdefault(row["submitter"], []).append({"name": part, **row})
    return of_agents, of_groups


def tell_untested(leaderboard: ScannedLeaderboard) -> Iterator[str]:
    """Say what could not be tested, and why."""
    agents, testable = leaderboard.agents, {who for those in _testable(leaderboard).values() for who in those}
    known = _tasks(leaderboard)
    reasons: dict[str, list[str]] = {}
    for agent in agents:
        if agent not in testable:
            until = leaderboard.cutoff.get(agent)
            if until is None:
                reason = "no cutoff; name a day with --exposed-until"
            else:
                side = "after" if known[agent] <= leaderboard.old(until) else "up to"
                reason = f"no result on a task {side} their cutoff"
            reasons.setdefault(reason, []).append(agent)
    for reason, those in reasons.items():
        more = f" and {len(those) - MAX_NAMED_AGENTS} more" if len(those) > MAX_NAMED_AGENTS else ""
        yield f"leaks of {', '.join(those[:MAX_NAMED_AGENTS])}{more}: {reason}"
    if len(agents) < MIN_SUBMITTERS:
        yield f"leaks: {len(agents)} agents; a test needs {MIN_SUBMITTERS}"
    elif len(agents) < MIN_SUBMITTERS_FOR_WINDOWS:
        yield f"small leaks: with fewer than {MIN_SUBMITTERS_FOR_WINDOWS} agents, leaks are found late or never"
    members = list(leaderboard.group.values())
    if not members:
        yield "leaks of groups: nothing says what the agents stand on (column 'group')"
    elif (
        len(agents) - min(map(members.count, members)) < MIN_SUBMITTERS_FOR_WINDOWS
        or max(map(members.count, members)) < MIN_MEMBERS
    ):
        yield f"leaks of groups: a group needs {MIN_MEMBERS} members, and {MIN_SUBMITTERS_FOR_WINDOWS} agents beside it"
    if not leaderboard.with_calls:
        yield "near-duplicate runs: not every result says how many tool calls were made (column 'calls')"
    yield "leaked templates, broken tasks and echoes: they take results of several months, which a case file gives"


def _testable(leaderboard: ScannedLeaderboard) -> dict[date, frozenset[str]]:
    """Return the agents that have results on old tasks and on new ones, by the last day that divides them so."""
    dates: dict[frozenset[str], date] = {}
    agents: dict[date, set[str]] = {}
    of_agent = _tasks(leaderboard)
    for agent, until in sorted(leaderboard.cutoff.items(), key=lambda item: item[1]):
        old = leaderboard.old(until)
        if of_agent[agent] & old and of_agent[agent] - old:
            agents.setdefault(dates.setdefault(old, until), set()).add(agent)
    return {until: frozenset(those) for until, those in agents.items()}


def _tasks(leaderboard: ScannedLeaderboard) -> dict[str, set[str]]:
    """Return the tasks on which each agent has a result."""
    tasks: dict[str, set[str]] = {}
    for result in leaderboard.results:
        tasks.setdefault(result.agent, set()).add(result.task)
    return tasks


def _members(group: str, leaderboard: ScannedLeaderboard) -> frozenset[str]:
    """Return the agents that stand on one model or base."""
    return frozenset(agent for agent, name in leaderboard.group.items() if name == group)


def _cutoff_of(group: str, leaderboard: ScannedLeaderboard, testable: Mapping[date, frozenset[str]]) -> date | None:
    """Return the cutoff at which a group is tested: that of most of its members."""
    members = _members(group, leaderboard)
    counts = {until: len(members & agents) for until, agents in testable.items() if members & agents}
    return max(counts, key=counts.__getitem__, default=None)


def _correct(tests: Sequence[CorrectedResult]) -> list[CorrectedResult]:
    """Correct all tests of each kind together, in their order."""
    rates = benjamini_hochberg(np.array([test.p_value for test in tests]))
    adjusted: dict[str, Iterator[float]] = {}
    for kind in {test.tested.kind for test in tests}:
        adjusted[kind] = iter(holm(np.array([test.p_value for test in tests if test.tested.kind == kind])).tolist())
    return [
        replace(test, holm=float(f"{next(adjusted[test.tested.kind]):.6g}"), discovery=float(f"{rate:.6g}"))
        for test, rate in zip(tests, rates, strict=True)
    ]
