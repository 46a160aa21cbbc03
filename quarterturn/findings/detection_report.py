"""Monthly findings report: all figures as one document, and the page that is drawn from them.

Tests and findings are the stored ones, with their reviews; no test is made again. The other figures are computed from
the results, as they were at the month's end. A report changes nothing, and says if the scan has not read all its runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from quarterturn.errors import Malformed, NotFound, Refused
from quarterturn.findings.finding_list import described
from quarterturn.pages import detection_report as page
from rotation.calendar import Month
from rotation.detection.detectors.detector_result import MIN_SUBMITTERS
from rotation.detection.sealed_results import SealedResults
from rotation.findings.store import TESTED, Finding, Findings
from sandbox.runs.store import Runs, RunState
from vault.files import write_atomically

Item = dict[str, Any]
SCHEMA = "quarterturn/watch-report/v1"
ORDER = ("review", "watching", "clean")
KINDS = (*TESTED, "exposure")


class DetectionReports:
    """The monthly reports of one home.

    Args:
        runs: the runs of a month.
        results: the results of finished runs.
        findings: the stored findings with their reviews.
        origin: the log's name, which names the benchmark.
        clock: the present moment, with its time zone.
    """

    def __init__(
        self, runs: Runs, results: SealedResults, findings: Findings, origin: str, clock: Callable[[], datetime]
    ) -> None:
        self._runs, self._results, self._findings, self._origin, self._clock = runs, results, findings, origin, clock

    def write(self, month: str, html: Path, figures_to: Path | None) -> Item:
        """Write the report of a month, and its figures too where they are wanted; give the figures.

        Raises:
            Malformed: the month is none, or both files are one.
            NotFound: it has no finished run, or none with a settled verdict.
            Refused: a file is there already.
        """
        chosen = Month.parse(month)
        if html == figures_to:
            raise Malformed(f"{html} cannot be both the page and its figures: name another file for one of them")
        for path in filter(None, (html, figures_to)):
            if path.exists():
                raise Refused(f"{path} is there already, and is not written over: remove it, or name another file")
        made = self.figures(chosen)
        written = {html: page.page(made).encode()} | ({figures_to: page.canonical(made)} if figures_to else {})
        for path, data in written.items():
            write_atomically(path, data, path.with_name(f".{path.name}.part"))
        return made

    def figures(self, month: Month) -> Item:
        """Return all figures of a month's report.

        Raises:
            NotFound: no run of the month is finished, or none has a settled verdict.
        """
        from rotation.detection.report.report import report  # noqa: PLC0415 - numpy is slow to load, and seldom needed

        finished = sum(run.state is RunState.DONE for run in self._runs.list(month=str(month)))
        if not finished:
            raise NotFound(f"no run of {month} is finished; `quarterturn leaderboard` shows the month that is live")
        start = self._results.start()
        rotation = month.since(start) + 1
        findings = self._findings.all(month)
        table = self._results.table(f"report on {month}", self._results.runs(month))
        if table.last < rotation:
            raise NotFound(f"no result of {month} has a settled verdict; `quarterturn watch list` shows the findings")
        results = report(table, rotation, [finding for finding in findings if finding.p_value is not None])
        scan = next((scan for scan in self._findings.scans() if scan.month == month), None)
        months = [str(start.plus(number)) for number in range(rotation)]
        untested = finished if scan is None or scan.failed else finished - scan.runs
        return composed(results, findings, months, self._origin, self._clock(), untested)


def composed(  # noqa: PLR0917 - all of one document
    report: Item, findings: Sequence[Finding], months: Sequence[str], benchmark: str, made: datetime, untested: int = 0
) -> Item:
    """Put the figures of a month and what wants attention into one document; `untested` runs were not scanned."""
    shown = [described(finding) for finding in findings if finding.status != "clean" or finding.state]
    return {
        "schema": SCHEMA,
        "benchmark": benchmark,
        "month": months[-1],
        "months": list(months),
        "made": f"{made:%Y-%m-%d %H:%M} UTC",
        "fewest": MIN_SUBMITTERS,
        "untested": untested,
        "report": report,
        "findings": sorted(
            (finding | {"smallest": report["smallest"].get(finding["subject"])} for finding in shown), key=_urgency
        ),
    }


def _urgency(finding: Item) -> tuple[int, bool, int, float, str]:
    """Put first what nobody has answered yet, then who is suspected before what."""
    kind = KINDS.index(finding["kind"]) if finding["kind"] in KINDS else len(KINDS)
    answered = finding["state"] in {"explained", "confirmed"}
    return ORDER.index(finding["status"]), answered, kind, finding["p_adj"] or 0.0, finding["subject"]
