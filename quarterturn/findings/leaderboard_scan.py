"""`watch scan` of a leaderboard that somebody else runs: its tests, one document of figures, and the page drawn of it.

Everything is read and tested before the first byte is written. No home, no key and no server is needed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quarterturn.errors import Malformed, Refused, Unavailable
from quarterturn.findings.detection_report import composed
from quarterturn.pages import detection_report as page
from rotation.calendar import Month
from rotation.detection.scan_results import tested
from rotation.findings.store import Finding
from vault.files import write_atomically

if TYPE_CHECKING:
    from rotation.detection.detectors.scan import CorrectedResult
    from rotation.detection.leaderboards.cutoff_scans import CutoffScan
    from rotation.detection.leaderboards.leaderboard import ScannedLeaderboard, TaskResult

Item = dict[str, Any]
SCHEMA = "quarterturn/leaderboard-scan/v1"
NEVER = datetime.min.replace(tzinfo=UTC)  # a finding of a leaderboard is stored nowhere


def read(paths: Sequence[Path], days: Path | None, until: date | None) -> ScannedLeaderboard | None:
    """Read a leaderboard from all files and folders together; None if a path is neither a table nor a result set.

    Args:
        paths: tables, logs, and folders of them.
        days: a table of task and day, for results that do not say when tasks were published.
        until: the last day of what agents without a cutoff of their own could have known.

    Raises:
        Unavailable: a Parquet file is named, and pyarrow is not installed.
    """
    from rotation.detection.leaderboards import leaderboard, plain_table, result_sets  # noqa: PLC0415 - numpy is slow

    results: list[TaskResult] = []
    for path in paths:
        if path.is_dir() and any(path.glob("*.jsonl")):
            return None
        if path.suffix not in plain_table.SUFFIXES and (of_set := result_sets.read(path)) is not None:
            results += of_set
            continue
        tables = [file for file in (path, *sorted(path.glob("*"))) if file.suffix in plain_table.SUFFIXES]
        if any(table.suffix == ".parquet" for table in tables) and find_spec("pyarrow") is None:
            raise Unavailable(f"{path}: Parquet is read by pyarrow, which is not installed; install it, or save a CSV")
        if not tables:
            return None
        results += (row for table in tables for row in plain_table.read(table, with_days=days is None))
    if not results:
        raise Malformed(f"{paths[0]}: there is no result with a verdict; name a table, or a folder of results")
    return leaderboard.gather(results, plain_table.read_days(days) if days else {}, until)


def scan(leaderboard: ScannedLeaderboard, name: str, made: datetime) -> Item:
    """Make all tests of a leaderboard; return one document of all figures, as the report of a month has them.

    Raises:
        Malformed: no agent has results on old tasks and on new ones.
    """
    from rotation.detection.leaderboards.cutoff_scans import ALL_OLD, histories, scan_at_cutoffs, tell_untested  # noqa: PLC0415 - likewise
    from rotation.detection.leaderboards.leaderboard import ROTATION  # noqa: PLC0415 - likewise
    from rotation.detection.report.report import report  # noqa: PLC0415 - likewise

    scans, days = scan_at_cutoffs(leaderboard), leaderboard.day.values()
    if not scans:
        raise Malformed(
            f"{name}: tasks are from {min(days)} to {max(days)}, and no agent has results on both sides of its cutoff; "
            "name a day between them with --exposed-until"
        )
    largest = max(scans, key=lambda at_cutoff: len(at_cutoff.tests))
    shown, of_groups = dict[str, list[Item]](), dict[str, list[Item]]()  # each agent at its own cutoff
    for at_cutoff in scans:
        of_agents, of_tested_groups = histories(at_cutoff, leaderboard)
        of_groups |= of_tested_groups
        subjects = {test.tested.subject for test in at_cutoff.tests}
        shown |= {
            who: of_agents[who] for who in of_agents if who in subjects or (at_cutoff is largest and who not in shown)
        }
    beyond, of_all_old = (
        {who: rows[0] for who, rows in periods.items() if rows[0]["name"] == ALL_OLD} for periods in (shown, of_groups)
    )
    findings = [_finding(at_cutoff, test) for at_cutoff in scans for test in at_cutoff.tests]
    figures = report(largest.table, ROTATION, findings, with_power=False)
    figures["expected"] |= {"points": list(beyond.values()), "groups": list(of_all_old.values())}
    document = composed(figures, findings, ("old tasks", "new tasks"), name, made)
    flagged = {(finding["kind"], finding["subject"]) for finding in document["findings"]}
    return document | {
        "schema": SCHEMA,
        "leaderboard": {
            "scans": [
                {"until": str(at_cutoff.until), "old": len(leaderboard.old(at_cutoff.until))} for at_cutoff in scans
            ],
            "agents": len(leaderboard.agents),
            "tasks": len(leaderboard.day),
            "with_calls": leaderboard.with_calls,
            "untested": list(tell_untested(leaderboard)),
            "histories": {
                kind: {who: rows for who, rows in periods.items() if (kind, who) in flagged}
                for kind, periods in (("leak", shown), ("group", of_groups))
            },
        },
    }


def lines(document: Item) -> bytes:
    """Write one JSON line for each test: its p-values, and the points of an agent or a group beyond peers."""
    rows, report = [], document["report"]
    beyond = {
        kind: {row["submitter"]: row["excess"] for row in report["expected"][figures]}
        for kind, figures in (("leak", "points"), ("group", "groups"))
    }
    for test in report["tests"]:
        row = {name: test[name] for name in ("kind", "subject", "p_value", "p_adj")}
        if excess := beyond.get(test["kind"], {}).get(test["subject"]):
            row["points"] = {end: round(100 * share, 2) for end, share in excess.items()}
        rows.append(json.dumps(row, ensure_ascii=False) + "\n")
    return "".join(rows).encode()


def write(document: Item, out: Path | None, html: Path | None, inputs: Sequence[Path]) -> None:
    """Write the lines and the page where they are wanted, both or none.

    Raises:
        Malformed: both are one file, or one is an input.
        Refused: the page is there already.
    """
    wanted = [path for path in (out, html) if path]
    if len({path.resolve() for path in wanted} - {path.resolve() for path in inputs}) < len(wanted):
        raise Malformed(f"{wanted[-1]}: it is an input, or named twice; name another file with --out or --html")
    if html and html.exists():
        raise Refused(f"{html} is there already, and is not written over: remove it, or name another file")
    made = {html: page.page(document).encode()} if html else {}
    for path, data in (made | ({out: lines(document)} if out else {})).items():
        write_atomically(path, data, path.with_name(f".{path.name}.part"))


def _finding(at_cutoff: CutoffScan, test: CorrectedResult) -> Finding:
    new = tested(test, Month(at_cutoff.until.year, at_cutoff.until.month), None)
    figures = (new.p_value, new.p_adj, new.q, new.effect, new.low, new.high)
    return Finding(0, new.kind, new.subject, new.month, new.status, *figures, new.detail, NEVER, ())
