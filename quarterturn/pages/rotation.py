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
SUNSET = "sunset"  # the next to retire
AGES = {"fresh": 13, "second": 10, "third": 7, SUNSET: 4}  # how high each is drawn; the fourth is drawn as the third
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
        live=rotation["live"],
        leaving=_next_to_retire(rotation["cohorts"], live) if live else None,
        chart=_chart(rotation["cohorts"], live) if live else None,
        ages=_legend(rotation["cohorts"], live),
        lifetime=max((_month(c, "retires").since(_month(c, "entered")) + 1 for c in rotation["cohorts"]), default=0),
        grids=grids(rotation),
    )


def grids(rotation: Item) -> dict[str, Grid]:
    """Return the page's tables by their names."""
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
        [{**cohort, "age": _age(cohort, rotation["cohorts"], live)} for cohort in rotation["cohorts"]],
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
    last = max(_month(cohort, "retires") for cohort in cohorts)
    first = max(min(_month(cohort, "entered") for cohort in cohorts), live.plus(-BEFORE))
    months = [first.plus(number) for number in range(last.since(first) + 1)]
    rows = [
        Row(
            cohort["id"].removeprefix("cohort-"),
            _picture(cohort, cohorts, months, live),
            (_age(cohort, cohorts, live) or cohort["state"],),
        )
        for cohort in cohorts
        if _month(cohort, "retires") >= first
    ]
    every = -(-len(months) // FEW)
    names = [
        svg.words(svg.pct(_at(place, months)), 12, str(month))
        for place, month in enumerate(months)
        if not place % every
    ]
    return Chart(svg.picture(names, 16), rows)


def _picture(cohort: Item, cohorts: Sequence[Item], months: Sequence[Month], live: Month) -> str:
    retires, many = _month(cohort, "retires"), sum(_is_live(each, live) for each in cohorts)
    parts = [
        svg.line((svg.pct(_at(place, months)), 0), (svg.pct(_at(place, months)), "100%"), "grid")
        for place in range(len(months))
    ]
    parts.append(svg.bar(_at(live.since(months[0]), months), _at(live.since(months[0]) + 1, months), 0, TALL, "now"))
    for place, month in enumerate(months):
        if _is_live(cohort, month):
            drawn_as = _drawn_as(_age_of(cohort, cohorts, month, many))
            start, end = _at(place, months), _at(place + 1, months)
            parts.append(svg.bar(start, end, TALL - 2 - AGES[drawn_as], AGES[drawn_as], drawn_as))
    if cohort["state"] == "published":
        parts.append(svg.dot(svg.pct(_at(retires.since(months[0]) + 1, months)), TALL - 4, 3.5, "ring"))
    return svg.picture(parts, TALL)


def _at(place: int, months: Sequence[Month]) -> float:
    """Return where a month begins, in per cent; a little is left at the end for what stands there."""
    return 98 * place / len(months)


def _age(cohort: Item, cohorts: Sequence[Item], live: Month | None) -> str | None:
    """Say how old a cohort is in the month that is live."""
    if live is None or not _is_live(cohort, live):
        return None
    return _age_of(cohort, cohorts, live, sum(_is_live(each, live) for each in cohorts))


def _age_of(cohort: Item, cohorts: Sequence[Item], month: Month, many: int) -> str:
    """Say how old a cohort is in a month in which it is live; `many` are live in each month."""
    before = sum(_is_live(each, month) and each["retires"] < cohort["retires"] for each in cohorts)
    place = many - before
    return SUNSET if not before else [*AGES][place - 1] if place <= len(AGES) - 1 else f"{place}th"


def _drawn_as(age: str) -> str:
    return age if age in AGES else "third"


def _legend(cohorts: Sequence[Item], live: Month | None) -> list[str]:
    """List the ages that a live cohort has, as they are drawn, the newest first."""
    ages = [_age(cohort, cohorts, live) for cohort in cohorts]
    there = {_drawn_as(age) for age in ages if age}
    return [age for age in AGES if age in there]


def _is_live(cohort: Item, month: Month) -> bool:
    return _month(cohort, "entered") <= month <= _month(cohort, "retires")


def _month(cohort: Item, key: str) -> Month:
    return Month.parse(cohort[key])


def _next_to_retire(cohorts: Sequence[Item], live: Month) -> Item:
    return min((cohort for cohort in cohorts if _is_live(cohort, live)), key=lambda cohort: str(cohort["retires"]))


def _counts(rotation: Item) -> list[tuple[str, str]]:
    live = [cohort for cohort in rotation["cohorts"] if cohort["state"] == "live"]
    return [
        ("Month", rotation["live"] or NONE),
        ("Private tasks", str(sum(cohort["tasks"] for cohort in live))),
        ("Live cohorts", str(len(live))),
        ("Next turn", rotation["next"]["due"][:10]),
    ]
