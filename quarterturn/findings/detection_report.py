"""Monthly findings report: all figures as one document, and the page that is drawn from them.

The figures are computed again from the results, as they were at the month's end; reviews of the findings come from the
rows. A report changes nothing: a finding that is not yet recorded is shown as such.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from quarterturn.errors import Malformed, NotFound, Refused
from quarterturn.findings.finding_list import FEWEST, described
from quarterturn.pages import detection_report as page
from rotation.calendar import Month
from rotation.detection.sealed_results import SealedResults
from rotation.findings.store import Finding, Findings, NewFinding
from sandbox.runs.store import Runs, RunState
from vault.files import write_atomically

Item = dict[str, Any]
SCHEMA = "quarterturn/watch-report/v1"
ORDER = ("review", "watching", "clean")
KINDS = ("leak", "copy", "family", "task", "exposure")
UNTESTED: Item = dict.fromkeys(("effect", "low", "high"))
UNKEPT: Item = {"number": None, "state": None, "reviews": [], "detail": ""}
SHOWN = ("kind", "subject", *UNKEPT, "status", "p_value", "p_adj", "q", *UNTESTED)


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
            NotFound: it has no finished run.
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
        """Give all figures of a month's report.

        Raises:
            NotFound: no run of the month is finished.
        """
        from rotation.detection.report.report import report  # noqa: PLC0415 - numpy is slow to load, and seldom needed

        if not any(run.state is RunState.DONE for run in self._runs.list(month=str(month))):
            raise NotFound(f"no run of {month} is finished; `quarterturn leaderboard` shows the month that is live")
        start = self._results.start()
        rotation = month.since(start) + 1
        results = report(self._results.table(f"report on {month}"), rotation)
        months = [str(start.plus(number)) for number in range(rotation)]
        return composed(results, self._findings.all(month), months, self._origin, self._clock())


def composed(report: Item, rows: Sequence[Finding], months: Sequence[str], benchmark: str, made: datetime) -> Item:
    """Merge the computed figures with the reviews of the findings."""
    month = Month.parse(months[-1])
    tests = [
        test | {"status": NewFinding("", "", month, test["p_value"], test["p_adj"], test["q"]).status}
        for test in report["tests"]
    ]
    report = report | {"tests": tests}
    return {
        "schema": SCHEMA,
        "benchmark": benchmark,
        "month": months[-1],
        "months": list(months),
        "made": f"{made:%Y-%m-%d %H:%M} UTC",
        "fewest": FEWEST,
        "report": report,
        "findings": _findings(report, rows),
    }


def _findings(report: Item, rows: Sequence[Finding]) -> list[Item]:
    """Give what wants attention: what was tested, with what people said of it, and what was counted."""
    recorded_rows = {(row.kind, row.subject): described(row) for row in rows}
    tested = {(test["kind"], test["subject"]): test for test in report["tests"]}
    findings = []
    for key in dict.fromkeys([*tested, *recorded_rows]):
        figure, row = tested.get(key, UNTESTED), recorded_rows.get(key, UNKEPT)
        finding = row | figure | {"kind": key[0], "subject": key[1]}
        if finding["status"] != "clean" or row["state"]:
            findings.append(
                {name: finding[name] for name in SHOWN} | {"smallest": report["smallest"].get(finding["subject"])}
            )
    return sorted(findings, key=_urgency)


def _urgency(finding: Item) -> tuple[int, bool, int, float, str]:
    """Put first what nobody has answered yet, then who is suspected before what."""
    kind = KINDS.index(finding["kind"]) if finding["kind"] in KINDS else len(KINDS)
    answered = finding["state"] in {"explained", "confirmed"}
    return ORDER.index(finding["status"]), answered, kind, finding["p_adj"] or 0.0, finding["subject"]
