"""The verb `task convert`: tasks of another benchmark become drafts for `task import`; it needs no home."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

import typer

from quarterturn.cli.terminal.options import Json
from quarterturn.cli.terminal.output import Output

Benchmark = Literal["mcpmark", "mcp-universe", "rows"]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("convert")(task_convert)


def task_convert(
    benchmark: Annotated[
        Benchmark, typer.Argument(help="Where the tasks are from; `rows` is plain JSON lines or CSV.")
    ],
    path: Annotated[Path, typer.Argument(help="A file, or a folder that is searched for the benchmark's files.")],
    out: Annotated[Path, typer.Option(help="The drafts, one a line, as `task import` takes them.")],
    report: Annotated[Path | None, typer.Option(help="What came of each task and why, as JSON lines.")] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Write tasks that came partly, too; they are marked.")
    ] = False,
    state: Annotated[
        Path | None,
        typer.Option(
            help="A folder with the initial states: NAME.json of a task, or for mcpmark the folder CATEGORY of files."
        ),
    ] = None,
    account: Annotated[str, typer.Option(help="The GitHub login that the tasks' own account becomes.")] = "octo",
    as_json: Json = False,
) -> None:
    """Convert tasks of another benchmark into drafts, and report what came whole, partly or not, and why.

    Exits with 1 where no draft could be written.
    """
    from quarterturn_import.benchmark_files import convert_path

    conversions = convert_path(benchmark, path, account=account, states=state)
    written = [c.line for c in conversions if c.line is not None and (c.outcome == "whole" or partial)]
    rows = [
        {"name": c.name, "outcome": c.outcome, "reasons": list(c.reasons), "missing": list(c.missing)}
        for c in conversions
    ]
    out.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in written), encoding="utf-8")
    if report is not None:
        report.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    numbers = Counter(c.outcome for c in conversions)
    lines = [f"{c.outcome:<6}  {c.name}" + "".join(f"\n        {reason}" for reason in c.reasons) for c in conversions]
    counted = f"{numbers['whole']} came whole, {numbers['partly']} partly, {numbers['not']} not."
    partly = "" if partial or not numbers["partly"] else " --partial writes those that came partly, too."
    without = sum(bool(c.missing) for c in conversions if c.line in written)
    to_write = f" {without} of them lack an initial state or a solution: the report says which." if without else ""
    Output(as_json=as_json).result(
        {
            "counts": {name: numbers[name] for name in ("whole", "partly", "not")},
            "written": len(written),
            "tasks": rows,
        },
        *lines,
        f"{counted} {out} has {len(written) or 'no'} drafts.{partly}{to_write}",
        ok=bool(written),
    )
