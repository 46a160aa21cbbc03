"""Text of findings: scans, findings with their reviews, and exposure, as lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from quarterturn.cli.terminal.report import counted
from quarterturn.findings.finding_list import FindingList
from rotation.detection.detectors.detector_result import MIN_SUBMITTERS
from rotation.exposure.store import ExposureSummary
from rotation.findings.store import OF_TASKS, Finding, Findings, ScanRecord


def of_list(shown: FindingList) -> Iterator[str]:
    """Describe each month's scan, with the findings of the month below it."""
    for scan in shown.scans:
        seen = f" (one of {scan.smallest:.0%} of the exposed tasks could have been seen)" if scan.smallest else ""
        few = f"; too few peers for a verdict about leaks, which takes {MIN_SUBMITTERS}{seen}"
        who = f"{counted(scan.runs, 'run')} by {counted(scan.submitters, 'submitter')}"
        head = f"{scan.month}: {who}, scanned {scan.at:%Y-%m-%d %H:%M}"
        yield head + (few if 0 < scan.submitters < MIN_SUBMITTERS else "")
        yield from _failure(scan)
        for finding in shown.findings:
            if finding.month == scan.month:
                yield from of_finding(finding)


def of_finding(finding: Finding) -> Iterator[str]:
    """Describe a finding, and the newest entry of its review."""
    p_values = "".join(
        f"  {name} {value:.2g}" for name, value in (("p_adj", finding.p_adj), ("q", finding.q)) if value is not None
    )
    head = f"  {finding.number:>5}  {finding.status:<6}  {finding.kind:<9}"
    yield f"{head} {finding.subject}{p_values}  {finding.detail}".rstrip()
    for w in finding.reviews[-1:]:
        yield f"         {w.state} since {w.at:%Y-%m-%d}, {w.who}: {w.note}".rstrip(": ")
    if finding.kind in OF_TASKS and finding.state == "open":
        command = f"quarterturn task withdraw {finding.subject} --cause CAUSE --reason TEXT"
        yield f"         `{command}` withdraws it and closes this"


def waiting(findings: Findings) -> Iterator[str]:
    """Say how many findings wait for a maintainer, and which scans failed."""
    if left := sum(finding.state == "open" for finding in findings.all()):
        verb = "waits" if left == 1 else "wait"
        yield f"{counted(left, 'finding')} {verb} for a review: `quarterturn watch list`"
    for scan in findings.scans():
        yield from _failure(scan)


def exposure_row(summary: ExposureSummary) -> dict[str, Any]:
    """Return the exposure of a task or a skeleton as plain JSON values."""
    months = {
        month: {"servings": rate.servings, "submitters": rate.submitters, "channels": dict(rate.channels)}
        for month, rate in summary.months.items()
    }
    plain = {"name": summary.name, "servings": summary.servings, "submitters": dict(summary.submitters)}
    return plain | {"readers": list(summary.readers), "months": months}


def exposure_line(summary: ExposureSummary) -> str:
    """Say how often it was served, by month, and to how many who read it."""
    rates = ", ".join(f"{month}: {rate.servings} to {rate.submitters}" for month, rate in summary.months.items())
    return f"{summary.name}  {summary.servings:>5} servings, {len(summary.readers)} readers  ({rates})"


def _failure(scan: ScanRecord) -> Iterator[str]:
    if scan.failed is not None:
        yield f"the detectors failed in {scan.month} ({scan.failed}): they run again after the next run or turn"
