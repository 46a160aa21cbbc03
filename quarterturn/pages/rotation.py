"""Rotation page: every cohort from fresh to sunset to published, and when the next turn is due. Pure.

A bar is as long as a cohort lives and gets lower each month; a ring marks its publication. So neither its age nor its
end is shown by colour alone. Everything comes from the public document of rotations
(`quarterturn.public_view`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quarterturn.pages.drawing import svg
from quarterturn.pages.drawing.charts import Chart, Row
from quarterturn.pages.drawing.formatting import NONE
from quarterturn.pages.drawing.grid import Column, Grid, minute
from quarterturn.pages.templates import render
from rotation.calendar import Month

HERE = "/rotation"
AGES = ("sunset", "third", "second", "fresh")  # by how many turns a cohort still stays
HEIGHTS = (4, 7, 10, 13)
TALL = 18
BEFORE = 8  # months that are drawn before the newest; the table has them all
FEW = 6  # months that have their name above the drawing

Item = Mapping[str, Any]


def page(rotation: Item) -> str:
    """Draw the page."""
    live = Month.parse(rotation["live"]) if rotation["live"] else None
    return render(
        "rotation.html.jinja",
        here=HERE,
        counts=_counts(rotation),
        next=rotation["next"],
        due=minute(rotation["next"]["due"]),
        leaving=next((cohort for cohort in rotation["cohorts"] if live and cohort["retires"] == str(live)), None),
        chart=_chart(rotation["cohorts"], live) if live else None,
        ages=AGES[::-1],
        grids=grids(rotation),
    )


def grids(rotation: Item) -> dict[str, Grid]:
    """Give the page's tables by their names."""
    live = Month.parse(rotation["live"]) if rotation["live"] else None
    cohorts = Grid(
        "cohorts",
        "Cohorts",
        (
            Column("id", "Cohort"),
            Column("state", "State"),
            Column("age", "Age"),
            Column("entered", "Live from"),
            Column("retires", "Last month"),
            Column("tasks", "Tasks"),
            Column("public_grammar", "Public grammar"),
        ),
        [{**cohort, "age": _age(cohort, live)} for cohort in rotation["cohorts"]],
    )
    turns = Grid(
        "turns",
        "Turns",
        (
            Column("month", "Ended"),
            Column("started_at", "Started", minute),
            Column("finished", "Finished"),
            Column("release", "Published", href="/release/{release}"),
        ),
        rotation["turns"],
    )
    return {grid.name: grid for grid in (cohorts, turns)}


def _chart(cohorts: Sequence[Item], live: Month) -> Chart:
    """Draw a row a cohort over the months, up to the last one that is promised."""
    last = max(Month.parse(cohort["retires"]) for cohort in cohorts)
    first = max(min(Month.parse(cohort["entered"]) for cohort in cohorts), live.plus(-BEFORE))
    months = [first.plus(number) for number in range(last.since(first) + 1)]
    rows = [
        Row(cohort["id"].removeprefix("cohort-"), _picture(cohort, months, live), (_age_or_state(cohort, live),))
        for cohort in cohorts
        if Month.parse(cohort["retires"]) >= first
    ]
    every = -(-len(months) // FEW)
    names = [
        svg.words(svg.pct(_at(place, months)), 12, str(month))
        for place, month in enumerate(months)
        if not place % every
    ]
    return Chart(svg.picture(names, 16), rows)


def _picture(cohort: Item, months: Sequence[Month], live: Month) -> str:
    entered, retires = Month.parse(cohort["entered"]), Month.parse(cohort["retires"])
    parts = [
        svg.line((svg.pct(_at(place, months)), 0), (svg.pct(_at(place, months)), "100%"), "grid")
        for place in range(len(months))
    ]
    parts.append(svg.bar(_at(live.since(months[0]), months), _at(live.since(months[0]) + 1, months), 0, TALL, "now"))
    for place, month in enumerate(months):
        if entered <= month <= retires:
            left = min(retires.since(month), len(AGES) - 1)
            start, end = _at(place, months), _at(place + 1, months)
            parts.append(svg.bar(start, end, TALL - 2 - HEIGHTS[left], HEIGHTS[left], AGES[left]))
    if cohort["state"] == "published":
        parts.append(svg.dot(svg.pct(_at(retires.since(months[0]) + 1, months)), TALL - 4, 3.5, "ring"))
    return svg.picture(parts, TALL)


def _at(place: int, months: Sequence[Month]) -> float:
    """Give where a month begins, in per cent; a little is left at the end for what stands there."""
    return 98 * place / len(months)


def _age(cohort: Item, live: Month | None) -> str | None:
    """Say how old a cohort is in the month that is live."""
    if live is None or not Month.parse(cohort["entered"]) <= live <= Month.parse(cohort["retires"]):
        return None
    return AGES[min(Month.parse(cohort["retires"]).since(live), len(AGES) - 1)]


def _age_or_state(cohort: Item, live: Month) -> str:
    return _age(cohort, live) or cohort["state"]


def _counts(rotation: Item) -> list[tuple[str, str]]:
    live = [cohort for cohort in rotation["cohorts"] if cohort["state"] == "live"]
    return [
        ("Month", rotation["live"] or NONE),
        ("Private tasks", str(sum(cohort["tasks"] for cohort in live))),
        ("Live cohorts", str(len(live))),
        ("Next turn", rotation["next"]["due"][:10]),
    ]
