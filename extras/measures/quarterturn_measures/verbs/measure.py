"""Verb `measure`: the measures of public runs, their failure profile, and their trace as a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from quarterturn.cli.auditing import public_source
from quarterturn.cli.auditing.auditor import Accept, PolicyFile
from quarterturn.cli.auditing.public_source import DevOf, Keys
from quarterturn.cli.terminal.options import HOME, Home, Json
from quarterturn.cli.terminal.output import Output
from quarterturn.errors import Malformed, NotFound

Group = Literal["server", "category", "difficulty", "language"]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("measure")(measure)


def measure(
    source: Annotated[str, typer.Argument(help="The file of a run on a dev set, or a release folder.")],
    number: Annotated[int | None, typer.Option("--run", help="Show the run of this number alone.")] = None,
    by: Annotated[Group | None, typer.Option("--by", help="Show the measures of each group of tasks.")] = None,
    others: Annotated[
        list[Path] | None,
        typer.Option("--field", metavar="FILE", help="A run to compare the failure profile with; may repeat."),
    ] = None,
    trace_files: Annotated[
        list[Path] | None,
        typer.Option("--trace", metavar="FILE", help="A published run (GET /runs/ID), beside a release; may repeat."),
    ] = None,
    claim_scores: Annotated[
        Path | None,
        typer.Option(
            "--claim-scores",
            metavar="FILE",
            help="CSV of a judge's scores: submission (the run's number), task, claim, score.",
        ),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the run's trace to one HTML file.")
    ] = None,
    key: Keys = None,
    policy: PolicyFile = None,
    accept: Accept = None,
    dev_of: DevOf = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Measure public runs: calls, failures and trials.

    SOURCE is the file of a run on a dev set (`quarterturn run --out FILE.json`), with its trials, or a release folder
    (Historical-YYYY-MM, audited first). A release opens no calls; those of a run that its owner has published come with
    --trace, and are compared with what the release's log bound.
    """
    from quarterturn.public_records.published_traces import with_trace
    from quarterturn_measures import measure_text, run_measures
    from quarterturn_measures.claim_scores import coverages
    from quarterturn_measures.failure_field import field_median
    from quarterturn_measures.trace_figures import trace_figures

    if source == "dev":
        raise Malformed("a dev set has no run: play one with `quarterturn run --out FILE.json`, and measure that file")
    records = public_source.read(source, key, policy, accept, dev_of, home)
    for file in trace_files or ():
        records = with_trace(records, file)
    covered = coverages(claim_scores, records) if claim_scores else None
    runs = run_measures.measure(records, coverages=covered)
    chosen = [run for run in runs if number is None or run.run.number == number]
    if not chosen:
        raise NotFound(f"{source} has no run {number}; it has {', '.join(str(run.run.number) for run in runs)}")
    read = [public_source.read(str(file), key, policy, accept, dev_of, home) for file in others or ()]
    if any(other.offered_tools != records.offered_tools for other in read):
        raise Malformed(
            "--field compares runs that were offered the same tools: all without --all-tools, or all with it on one set"
        )
    field = field_median([run.class_shares for one in read for run in run_measures.measure(one) if run.diagnosed])
    median = field.shares if field else None
    trials = run_measures.trials(runs) if records.split == "dev" and number is None else None
    if page is not None and not chosen[0].played:
        raise Malformed(f"run {chosen[0].run.number} has no trace to show: a release opens no calls; add --trace FILE")
    if page is not None:
        title = f"{records.title}, run {chosen[0].run.number} of {chosen[0].run.submitter}"
        _write(page, trace_figures(title, chosen[0].as_json(), chosen[0].played, median))
    shown = chosen[:1] if trials else chosen
    offer = [f"each task offered {len(records.offered_tools)} tools"] if records.offered_tools else []
    data = {
        "source": records.name,
        "offered_tools": len(records.offered_tools),
        "runs": [run.as_json(by) for run in chosen],
        "trials": trials,
        "field": median,
    }
    Output(as_json=as_json).result(data, *offer, *measure_text.lines(shown, trials, median, by))


def _write(file: Path, figures: Mapping[str, Any]) -> None:
    from quarterturn.pages import trace
    from vault.files import write_atomically

    write_atomically(file, trace.page(figures).encode(), file.with_name(f".{file.name}.part"))
