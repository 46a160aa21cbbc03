"""Leaderboard page of a month: a section for each track, every figure with its interval, and the changelog. Pure.

1. Figures that rank are drawn as filled dots: those of the three sealed cohorts, and in a track that reads its tasks
   those of all cohorts that it was given. The cohort that the next turn opens is a ring beside them, and does not rank.
2. Within a track the best rank comes first; equal ranks are ordered by figure, and lines without a rank come last.
3. Every change names its leaf of the log.

Everything comes from the public documents of leaderboards and rotations (`quarterturn.public_view`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quarterturn.pages.drawing import figures
from quarterturn.pages.drawing.figures import Shown
from quarterturn.pages.drawing.formatting import NONE, legible
from quarterturn.pages.drawing.grid import Column, Grid
from quarterturn.pages.templates import render

HERE = "/"
PARTS = ("sealed", "sunset", "whole")
TRACKS = {
    "docker": ("Images in the sandbox", "No network, and no language model except one inside the image."),
    "docker-model-gateway": (
        "Images with a language model",
        "One declared exit: the language model gateway of the operator.",
    ),
    "endpoint": (
        "Hosted endpoints",
        "They read the tasks, so they are sent only the sunset cohort, which is published at the next turn.",
    ),
    "unofficial": ("Unofficial", "Run in a box that is not official: shown, and never ranked."),
}
READ = {"endpoint"}
CHANGES = {
    "set": "The month's private set went live",
    "retire": "A cohort retired and was published",
    "withdraw": "A task was withdrawn: it no longer counts",
    "abort": "A run ended without a score",
}
WHY = {"turn": "monthly turn"}

Item = Mapping[str, Any]


@dataclass(frozen=True)
class LeaderboardRow:
    """A line of the leaderboard as the page shows it."""

    rank: str
    name: str
    note: str
    figures: Sequence[Shown]
    runs: str


@dataclass(frozen=True)
class Track:
    """A track's section."""

    name: str
    title: str
    about: str
    lines: Sequence[LeaderboardRow]
    grid: Grid


def page(leaderboard: Item, months: Sequence[str], rotations: Item | None) -> str:
    """Draw the page of a month, with links to those of the others."""
    return render(
        "leaderboard.html.jinja",
        here=HERE,
        base=f"/leaderboard/{leaderboard['month']}",
        month=leaderboard["month"],
        months=months[::-1],
        counts=_counts(leaderboard, rotations),
        tracks=[_track(name, lines) for name, lines in _by_track(leaderboard).items()],
        public_grammar=leaderboard["public_grammar"],
        changes=_changes(leaderboard),
        meanings=[(figures.NAMES[name], meaning) for name, meaning in figures.MEANINGS.items()],
    )


def empty(rotations: Item | None) -> str:
    """Draw the page of a benchmark before its first month."""
    return render("leaderboard-empty.html.jinja", here=HERE, next=rotations["next"] if rotations else None)


def grids(leaderboard: Item) -> dict[str, Grid]:
    """Give the page's tables by their names: one a track, and the changes."""
    tracks = [_grid(name, lines) for name, lines in _by_track(leaderboard).items()]
    return {grid.name: grid for grid in (*tracks, _changes(leaderboard))}


def _by_track(leaderboard: Item) -> dict[str, list[Item]]:
    """Give the lines of each track in order; the tracks stand in the order in which they are explained."""
    lines: Sequence[Item] = leaderboard["lines"]
    named = dict.fromkeys([*TRACKS, *(line["track"] for line in lines)])
    by_track = {name: sorted((line for line in lines if line["track"] == name), key=_place) for name in named}
    return {name: of for name, of in by_track.items() if of}


def _place(line: Item) -> tuple[bool, int, float, str]:
    return line["rank"] is None, line["rank"] or 0, -(_ranked(line)["success_rate"]["value"] or 0), line["name"]


def _ranked(line: Item) -> Item:
    """Give the part of a line's score that its rank is made of."""
    part: Item = line["whole" if line["track"] in READ else "sealed"]
    return part


def _track(name: str, lines: Sequence[Item]) -> Track:
    title, about = TRACKS.get(name, (name, ""))
    ranks = [line["rank"] for line in lines]
    return Track(name, title, about, [_line(line, ranks) for line in lines], _grid(name, lines))


def _line(line: Item, ranks: Sequence[int | None]) -> LeaderboardRow:
    rank, of = line["rank"], _ranked(line)
    shared = "=" if rank is not None and ranks.count(rank) > 1 else ""
    values = {**line["whole"], "success_rate": of["success_rate"]}
    drawn = [figures.draw_figure(title, values[name]) for name, title in figures.NAMES.items()]
    if line["track"] not in READ:
        beside = line.get("sunset") or {}
        drawn.insert(1, figures.draw_figure("Success, sunset", beside.get("success_rate"), "beside"))
    name = legible(line["name"])
    return LeaderboardRow(NONE if rank is None else f"{rank}{shared}", name, line["note"], drawn, str(line["runs"]))


def _grid(track: str, lines: Sequence[Item]) -> Grid:
    first = [Column(name, name.capitalize()) for name in ("rank", "name", "track", "run", "runs", "note")]
    rows = [
        {column.name: line[column.name] for column in first} | figures.cells({"sunset": None, **line}, PARTS)
        for line in lines
    ]
    caption = f"Figures of track {track}"
    return Grid(track, caption, [*first, *figures.columns(PARTS)], rows)


def _changes(leaderboard: Item) -> Grid:
    columns = (
        Column("leaf", "Leaf", href="/log/proof/inclusion?index={leaf}"),
        Column("kind", "What changed", lambda kind: CHANGES.get(kind, kind)),
        Column("subject", "Subject"),
        Column("tasks", "Tasks"),
        Column("why", "Why", lambda why: WHY.get(why, legible(why))),
    )
    return Grid("changes", "Changes by leaf of the log", columns, leaderboard.get("changes", []))


def _counts(leaderboard: Item, rotations: Item | None) -> list[tuple[str, str]]:
    """Give what stands at the head of the page."""
    attempted = max((line["whole"]["attempted"] for line in leaderboard["lines"]), default=None)
    live = rotations is not None and rotations["live"] == leaderboard["month"]
    return [
        ("Agents", str(len({line["name"] for line in leaderboard["lines"]}))),
        ("Tasks", NONE if attempted is None else str(attempted)),
        ("Sunset cohort", leaderboard["sunset"].removeprefix("cohort-")),
        ("Next turn", rotations["next"]["due"][:10]) if live and rotations else ("State", "over"),
    ]
