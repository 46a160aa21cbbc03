"""Rules of runs: which cohorts a track is served, in which month, and how a submitter's runs are numbered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from vault.errors import Broken
from vault.ledger.audit.evidence import OpenedRun
from vault.ledger.release import contents
from vault.ledger.statements.history import History, LoggedStatement

ALL, SUNSET = ("docker", "docker-model-gateway", "unofficial"), ("endpoint",)
"""The tracks that are served every live cohort, and those that are served the one that retires next, alone."""


def require_served(history: History, opened: LoggedStatement) -> None:
    """Check the track, the month and the cohorts of a `run-open` statement against the set that it was opened on.

    Raises:
        Broken: there is no such track, it is not served these cohorts, or the set is of another month.
    """
    says, live = opened.statement.predicate, history.live(opened.index)
    if says["track"] not in (*ALL, *SUNSET):
        raise Broken(
            f"run {says['run']} at leaf {opened.index} is of the track {says['track']}, which the log has no runs of",
            where=f"leaf {opened.index}: $.predicate.track",
            expected=[*ALL, *SUNSET],
            found=says["track"],
        )
    if not live:  # the set before it is not in this bundle
        return
    month = history.last_set(opened.index).statement.predicate["month"]
    if says["month"] != month:
        raise Broken(
            f"run {says['run']} at leaf {opened.index} is of {says['month']}, the set before it of {month}",
            where=f"leaf {opened.index}: $.predicate.month",
            expected=month,
            found=says["month"],
        )
    served = sorted(live) if says["track"] in ALL else sorted(live)[:1]  # by the month in which each retires
    if sorted(says["cohorts"]) != served:
        raise Broken(
            f"run {says['run']} at leaf {opened.index} is of the track {says['track']}, which was served "
            f"{', '.join(served)} then; it names {', '.join(says['cohorts']) or 'none'}",
            where=f"leaf {opened.index}: $.predicate.cohorts",
            expected=served,
            found=sorted(says["cohorts"]),
        )


def require_attempts(month: str, runs: Iterable[OpenedRun]) -> None:
    """Check that each submitter's runs of a month are numbered in the order in which they were opened.

    All runs of the released month are opened with it, so theirs go from 1 on without a gap. Of an earlier month those
    that were served this cohort are opened here: theirs rise.

    Args:
        month: the released month.
        runs: in the order of their numbers.

    Raises:
        Broken: a number is missing, stands twice, or does not rise.
    """
    numbered: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for run in runs:
        opening, of = run.line["opening"], run.run.open.statement.predicate["month"]
        before = numbered[of, opening["submitter"]]
        last = before[-1] if before else 0
        if opening["attempt"] != last + 1 if of == month else opening["attempt"] <= last:
            raise Broken(
                f"run {run.line['run']} is attempt {opening['attempt']} of {opening['submitter']} in {of}, after "
                f"attempt {last}",
                where=f"{contents.RUNS}: $.opening.attempt of run {run.line['run']}",
                expected=last + 1 if of == month else f"{last + 1} or more",
                found=opening["attempt"],
            )
        before.append(opening["attempt"])
