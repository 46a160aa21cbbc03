"""Verb `watch scan`: runs the detectors over case files; no home is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quarterturn.cli.terminal.options import Json
from quarterturn.cli.terminal.output import Output


def register(watch: typer.Typer) -> None:
    """Add the verb to the group."""
    watch.command("scan")(scan)


def scan(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH…", help="Case files, or folders of *.jsonl.")],
    out: Annotated[Path, typer.Option(help="Where the flags go, one JSON line per test.")],
    as_json: Json = False,
) -> None:
    """Test results for leaks, copies, leaked families, broken tasks and echoes; each file is a case of its own."""
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
    Output(as_json=as_json).result(
        {"cases": scanned.cases, "tests": scanned.tests, "flagged": flagged, "out": str(out)},
        *lines,
        f"{scanned.cases} cases, {scanned.tests} tests, {flagged} flagged at {case_file_scan.FLAGGED:.0%}: {out}",
    )
