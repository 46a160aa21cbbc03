"""Findings of a home: detectors run after each run and turn; maintainers list the findings and review them.

A detector run that fails does not affect the run or the turn before it: the failure is recorded, and shown to
maintainers (`turn status`, `watch list`). Submitters are shown nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from quarterturn.app import Application
from quarterturn.report import Report
from rotation.calendar import Month
from rotation.exposure.store import ExposureSummary, exposure_summaries
from rotation.findings.store import OF_TASKS, Finding, ScanRecord, State

FEWEST = 5  # submitters present below which there is no verdict about leaks


def after(house: Application, why: str) -> None:
    """Run the detectors; an error is recorded, and stops nothing."""
    try:
        house.scanner.run(why)
    except Exception as error:
        with suppress(Exception):
            house.findings.failed(Month.of(house.now()), error)


def listing(house: Application, month: str | None, *, everything: bool) -> Report:
    """List the findings that want attention, or all of them, by month."""
    asked = Month.parse(month) if month else None
    scans = [scan for scan in house.findings.scans() if asked in (None, scan.month)]
    findings = [
        finding for finding in house.findings.all(asked) if everything or finding.status != "clean" or finding.state
    ]
    lines = [
        line
        for scan in scans
        for line in _month(scan, [finding for finding in findings if finding.month == scan.month])
    ]
    data = {"looks": [_described(scan) for scan in scans], "findings": [described(finding) for finding in findings]}
    return Report(data, lines or ["no detector has run yet: they run after each run and each turn"])


def review(house: Application, number: int, state: State, note: str, who: str) -> Report:
    """Set a finding's status, with a note. Scores do not change."""
    finding = house.findings.review(number, state, who=who, note=note)
    return Report(described(finding), [_line(finding), *_words(finding)])


def exposure(house: Application, task: str | None) -> Report:
    """Report the exposure of all tasks, or who was served one of them."""
    servings = house.exposures.servings(task)
    tasks = exposure_summaries(servings, lambda serving: serving.task)
    data: dict[str, Any] = {"tasks": [_burn(summary) for summary in tasks.values()]}
    if task is None:
        data["skeletons"] = [
            _burn(summary) for summary in exposure_summaries(servings, lambda serving: serving.skeleton).values()
        ]
        lines = [_burnt(summary) for summary in tasks.values()]
    else:
        data["servings"] = [
            {"run": s.run, "month": s.month, "submitter": s.submitter, "channel": s.channel, "times": s.times}
            | {"first_at": s.first_at.isoformat(), "last_at": s.last_at.isoformat()}
            for s in servings
        ]
        lines = [
            f"run {s.run:<5} {s.month}  {s.submitter:<24} {s.channel:<24} {s.times:>3} times, last {s.last_at:%Y-%m-%d}"
            for s in servings
        ]
    return Report(data, lines or ["nothing was served yet" if task is None else f"nobody was served {task}"])


def waiting(house: Application) -> list[str]:
    """Give the findings and failures that wait for a maintainer, as lines; none where there are none."""
    left = [finding for finding in house.findings.all() if finding.state == "open"]
    lines = [f"{len(left)} findings wait for a review: `quarterturn watch list`"] if left else []
    return lines + [line for scan in house.findings.scans() for line in _failure(scan)]


def _month(scan: ScanRecord, findings: Sequence[Finding]) -> list[str]:
    seen = f" (one of {scan.smallest:.0%} of the exposed tasks could have been seen)" if scan.smallest else ""
    few = (
        f"; too few peers for a verdict about leaks, which takes {FEWEST}{seen}" if 0 < scan.submitters < FEWEST else ""
    )
    head = f"{scan.month}: {scan.runs} runs by {scan.submitters} submitters, looked at {scan.at:%Y-%m-%d %H:%M}{few}"
    return [head, *_failure(scan), *(line for finding in findings for line in (_line(finding), *_words(finding)))]


def _failure(scan: ScanRecord) -> list[str]:
    if scan.failed is None:
        return []
    return [f"the detectors failed in {scan.month} ({scan.failed}): they run again after the next run or turn"]


def _line(finding: Finding) -> str:
    p_values = "".join(
        f"  {name} {value:.2g}" for name, value in (("p_adj", finding.p_adj), ("q", finding.q)) if value is not None
    )
    head = f"  {finding.number:>5}  {finding.status:<6}  {finding.kind:<9}"
    return f"{head} {finding.subject}{p_values}  {finding.detail}".rstrip()


def _words(finding: Finding) -> list[str]:
    lines = [f"         {w.state} since {w.at:%Y-%m-%d}, {w.who}: {w.note}".rstrip(": ") for w in finding.reviews[-1:]]
    if finding.kind in OF_TASKS and finding.state == "open":
        lines.append(
            f"         `quarterturn task withdraw {finding.subject} --reason TEXT` withdraws it and closes this"
        )
    return lines


def _described(scan: ScanRecord) -> dict[str, Any]:
    plain = {name: getattr(scan, name) for name in ("runs", "submitters", "failed", "smallest")}
    return plain | {"month": str(scan.month), "at": scan.at.isoformat(), "too_few_peers": scan.submitters < FEWEST}


def described(finding: Finding) -> dict[str, Any]:
    """Give a finding as plain JSON values."""
    names = ("number", "kind", "subject", "status", "p_value", "p_adj", "q", "detail", "state")
    words = [{"state": w.state, "who": w.who, "at": w.at.isoformat(), "note": w.note} for w in finding.reviews]
    return {name: getattr(finding, name) for name in names} | {
        "month": str(finding.month),
        "computed_at": finding.computed_at.isoformat(),
        "reviews": words,
    }


def _burn(summary: ExposureSummary) -> dict[str, Any]:
    months = {
        month: {"servings": rate.servings, "submitters": rate.submitters, "channels": dict(rate.channels)}
        for month, rate in summary.months.items()
    }
    plain = {"name": summary.name, "servings": summary.servings, "submitters": dict(summary.submitters)}
    return plain | {"readers": list(summary.readers), "months": months}


def _burnt(summary: ExposureSummary) -> str:
    rates = ", ".join(f"{month}: {rate.servings} to {rate.submitters}" for month, rate in summary.months.items())
    return f"{summary.name}  {summary.servings:>5} servings, {len(summary.readers)} readers  ({rates})"
