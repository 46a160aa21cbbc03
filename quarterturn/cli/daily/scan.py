"""Verb `watch scan`: runs the detectors over a leaderboard, or over case files; no home is needed."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from quarterturn.cli.terminal.options import Json
from quarterturn.cli.terminal.output import Output
from quarterturn.errors import Malformed

SHOWN = 3  # agents at least, if nobody stands out


def scan(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH…",
            help="A leaderboard: tables (CSV, Parquet), Inspect logs, Harbor jobs or Hugging Face exports, together. "
            "Or case files: *.jsonl, or folders of them.",
        ),
    ],
    exposed_until: Annotated[
        str | None,
        typer.Option(help="YYYY-MM-DD: the last day of what agents could have known, if they have no cutoff."),
    ] = None,
    days: Annotated[
        Path | None, typer.Option(help="A CSV of task and day, for results that do not say when tasks were published.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="The file to write the report to; it must not exist.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where the tests go, one JSON line each.")] = None,
    as_json: Json = False,
) -> None:
    """Test results for leaks, copies, leaked families, broken tasks and echoes; no home and no key is needed."""
    from quarterturn.findings import leaderboard_scan

    until = _day(exposed_until) if exposed_until else None
    leaderboard = leaderboard_scan.read(paths, days, until)
    if leaderboard is None:
        if until or days or html:
            raise Malformed(
                f"{paths[0]}: --exposed-until, --days and --html are for leaderboards; name a table instead"
            )
        _scan_cases(paths, out, Output(as_json=as_json))
        return
    document = leaderboard_scan.scan(leaderboard, paths[0].stem, datetime.now(UTC))
    leaderboard_scan.write(document, out, html, paths)
    written = {name: str(path) for name, path in (("out", out), ("html", html)) if path}
    Output(as_json=as_json).result(
        document | written, *_lines(document), *(f"{to}: {path}" for to, path in written.items())
    )


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Malformed(f"--exposed-until {text!r} is no day; write YYYY-MM-DD") from None


def _lines(document: dict[str, Any]) -> list[str]:
    """Write the tests of a leaderboard for people: who stands out, by how much, and what could not be tested."""
    about, tests = document["leaderboard"], document["report"]["tests"]
    scans = "; ".join(f"{at_cutoff['old']} of them up to {at_cutoff['until']}" for at_cutoff in about["scans"])
    beyond, of_groups = (
        {row["submitter"]: _in_points(row["excess"]) for row in document["report"]["expected"][name]}
        for name in ("points", "groups")
    )
    leaks = sorted((test for test in tests if test["kind"] == "leak"), key=lambda test: test["p_value"])
    shown = max(SHOWN, sum(test["status"] != "clean" for test in leaks))
    width = max((len(test["subject"]) for test in leaks[:shown]), default=0)
    lines = [f"{document['benchmark']}: {about['agents']} agents, {about['tasks']} tasks, {scans}"]
    if leaks:
        lines.append(f"  {'':8}  {'agent':<{width}}  points    95 % interval  p adjusted")
    for test in leaks[:shown]:
        value, between = beyond[test["subject"]]
        lines.append(
            f"  {test['status']:<8}  {test['subject']:<{width}}  {value:>6}  {between:>15}  {test['p_adj']:.2g}"
        )
    if leaks[shown:]:
        lines.append(f"  clean     {len(leaks) - shown} others, p adjusted {leaks[shown]['p_adj']:.2g} or more")
    for finding in document["findings"]:
        if finding["kind"] != "leak":
            words = f"{finding['kind']} {finding['subject']}, p adjusted {finding['p_adj']:.2g}"
            lines.append(f"  {finding['status']:<8}  {words}{finding['detail'] and ': '}{finding['detail']}")
            if finding["kind"] == "group" and finding["subject"] in of_groups:
                value, between = of_groups[finding["subject"]]
                lines.append(f"  {'':8}  {value} points beyond peers in the mean of its members ({between})")
    return [*lines, "Not tested:", *(f"  {line}" for line in about["untested"])]


def _in_points(excess: dict[str, float]) -> tuple[str, str]:
    """Write a difference of shares in points, and its interval."""
    value, low, high = (f"{round(100 * excess[end], 1) + 0.0:+.1f}" for end in ("value", "low", "high"))
    return value, f"{low} to {high}"


def _scan_cases(paths: list[Path], out: Path | None, output: Output) -> None:
    from quarterturn.findings import case_file_scan

    scanned = case_file_scan.scan(paths, out)
    flagged = len(scanned.flagged)
    lines = []
    for case, judged in scanned.flagged:
        test, combined = judged.tested, scanned.combined.get((case, judged.rotation, judged.tested.subject))
        more = f"  {test.detail}" if test.detail else ""
        if test.kind == "echo" and combined is not None:
            more += f"  with leak: p {combined:.2g}"
        lines.append(
            f"{case}  rotation {judged.rotation}  {test.kind:<6} {test.subject}  p_adj {judged.holm:.2g}{more}"
        )
    where = {"out": str(out)} if out else {}
    output.result(
        {"cases": scanned.cases, "tests": scanned.tests, "flagged": flagged} | where,
        *lines,
        f"{scanned.cases} cases, {scanned.tests} tests, {flagged} flagged at {case_file_scan.FLAGGED:.0%}"
        + (f": {out}" if out else ""),
    )
