"""Verbs `ratings`: blind second ratings of failures, agreement of raters, and sensitivity to the claims' threshold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from quarterturn.cli.auditing import public_source
from quarterturn.cli.auditing.public_source import DevOf
from quarterturn.cli.terminal.options import HOME, Home, Json
from quarterturn.cli.terminal.output import Output
from quarterturn.errors import Malformed

ABOUT = """Ratings in plain files: agreement, other thresholds.

A file of ratings is CSV with the columns subject, rater, rating and, if known, skeleton."""
Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="The CSV file to write; it is not there yet.")]
RULES = "rules"
"""Rater that stands for the rules of failure classes."""


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    ratings = typer.Typer(help=ABOUT)
    ratings.command("sheet")(sheet)
    ratings.command("reviews")(reviews)
    ratings.command("agreement")(agreement)
    ratings.command("thresholds")(thresholds)
    app.add_typer(ratings, name="ratings")


def sheet(
    source: Annotated[str, typer.Argument(help="The file of a run on a dev set.")],
    out: Out,
    rater: Annotated[str, typer.Option("--rater", help="Who will rate.")] = RULES,
    page: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the run's trace without the classes, to rate from."),
    ] = None,
    dev_of: DevOf = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Write a sheet with a line for each failure of a run, to be rated with the names of failure classes.

    The sheet of the rater `rules`, which is the default, holds the classes that the rules gave; anybody else's is
    blank.
    """
    from quarterturn.public_records import sources
    from quarterturn_measures import run_measures
    from quarterturn_measures.ratings import rating_sheet
    from vault.files import write_atomically

    if sources.kind_of(source) != "run":
        raise Malformed(f"{source} has no run on a dev set: name the file that `quarterturn run --out FILE.json` wrote")
    _require_new(out)
    runs = run_measures.measure(public_source.read(source, None, None, None, dev_of, home))
    if not any(run.diagnosed for run in runs):
        raise Malformed(f"{source} has no failure with a class, so there is nothing to rate")
    written = rating_sheet.sheet(runs, rater, filled=rater == RULES)
    if page is not None:
        write_atomically(page, rating_sheet.blind_page(runs[0]).encode(), page.with_name(f".{page.name}.part"))
    write_atomically(out, written.encode(), out.with_name(f".{out.name}.part"))
    failures = sum(run.diagnosed for run in runs)
    rest = "as the rules class them" if rater == RULES else "to be filled in: " + ", ".join(rating_sheet.CLASSES)
    Output(as_json=as_json).result({"file": str(out), "failures": failures}, f"{failures} failures in {out}, {rest}")


def reviews(
    out: Out,
    rater: Annotated[
        str | None, typer.Option("--rater", help="Who will review the same tasks blind: the sheet is blank.")
    ] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Write the reviews of a home's tasks as ratings: approve or reject, by task id.

    With --rater it is a sheet of the same tasks for a second person, who does not see the first one's decisions.
    """
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn_measures.ratings import rating_sheet
    from vault.files import write_atomically

    _require_new(out)
    with open_app(home) as app:
        found = [review for record in app.home.vault.records() for review in app.tasks.drafts.reviews(record.id)]
    if not found:
        raise Malformed(f"no task of {home} has a review yet: quarterturn task review")
    written = rating_sheet.review_sheet(found, rater)
    write_atomically(out, written.encode(), out.with_name(f".{out.name}.part"))
    tasks = len({review.task_id for review in found})
    rest = f"to be filled in by {rater} with approve or reject" if rater else "as they were reviewed"
    Output(as_json=as_json).result({"file": str(out), "tasks": tasks}, f"{tasks} tasks in {out}, {rest}")


def agreement(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Files of ratings, of one rater each or more.")
    ],
    order: Annotated[
        str | None, typer.Option("--order", metavar="A,B,C", help="The ratings' order, the lowest first.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show how far raters agree beyond chance.

    Cohen's kappa of two raters, Fleiss' of more, over subjects that all have rated; Krippendorff's alpha over all with
    two ratings, by rank where ratings are numbers or have an order.
    """
    from quarterturn_measures.ratings import ratings

    given = ratings.ratings(files)
    found = ratings.agreement(given, [part.strip() for part in order.split(",")] if order else None)
    Output(as_json=as_json).result(found, *_agreement(found))


def thresholds(
    file: Annotated[
        Path, typer.Argument(help="CSV with the columns submission, task, claim, score and, if known, skeleton.")
    ],
    as_json: Json = False,
) -> None:
    """Show what pass rates and ranks would be at other thresholds of the claims' coverage than 0.75."""
    from quarterturn_measures.claim_scores import claim_scores
    from quarterturn_measures.ratings import thresholds as measured

    submissions = claim_scores(file)
    measured.require_same_tasks(submissions)
    tasks = {name: list(judged.values()) for name, judged in submissions.items()}
    found = measured.as_json(measured.sensitivity(tasks))
    Output(as_json=as_json).result(found, *_sensitivity(found))


def _require_new(out: Path) -> None:
    if out.exists():
        raise Malformed(f"{out} exists, and may hold ratings; name another file")


def _agreement(found: Mapping[str, Any]) -> Iterator[str]:
    from quarterturn_measures.measures.table import COMPARISONS

    titles = {measure.name: measure.title for measure in COMPARISONS}
    yield f"{len(found['raters'])} raters ({', '.join(found['raters'])}), {found['subjects']} subjects"
    yield "ratings: " + ", ".join(f"{category} {count}" for category, count in found["categories"].items())
    for name, figure in found["measures"].items():
        if figure["n"]:
            yield f"  {titles[name]:<24} {_number(figure['value']):>6}   {_between(figure):<18} n {figure['n']}"


def _sensitivity(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for at in found:
        yield f"threshold {at['threshold']:g}, tau-b with 0.75: {_number(at['kendall_tau_b'])}"
        for name, figure in sorted(at["pass_rates"].items(), key=lambda item: at["ranks"][item[0]]):
            left = f", {at['open'][name]} open" if at["open"][name] else ""
            told = f"{_number(figure['value'])} ({_between(figure)}), n {figure['n']}{left}"
            yield f"  {at['ranks'][name]:>3} {name:<24} {told}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _between(figure: Mapping[str, Any]) -> str:
    return "-" if figure["low"] is None else f"{figure['low']:.3f} to {figure['high']:.3f}"
