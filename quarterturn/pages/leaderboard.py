"""Leaderboard page of a month: a section for each track, every figure with its interval, and the changelog. Pure.

1. Figures that rank are drawn as filled dots: those of the sealed cohorts, and in a track that reads its tasks
   those of all cohorts that it was given. The cohort that the next turn opens is a ring beside them, and does not rank.
2. Within a track the best rank comes first; equal ranks are ordered by figure, and lines without a rank come last.
3. Every change names its leaf of the log.

Everything comes from the public documents of leaderboards and rotations (`quarterturn.public_view`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from quarterturn.pages.drawing import figures
from quarterturn.pages.drawing.formatting import NONE, legible
from quarterturn.pages.drawing.grid import Column, Grid
from quarterturn.pages.leaderboard_choice import MAX_AGENT_CHARACTERS, ORDERS, Choice, ranked_part
from quarterturn.pages.templates import render

HERE = "/"
PARTS = ("sealed", "sunset", "whole")
TRACKS = {
    "docker": ("Images in the sandbox", "No network, and no language model except one inside the image."),
    "docker-model-gateway": (
        "Images with a language model",
        "One declared exit: the language model gateway of the operator.",
    ),
    "docker-judged": (
        "Images in the sandbox, answers judged by a model",
        "One declared exit: a language model of the operator reads the answers, and judges claims about them.",
    ),
    "endpoint": (
        "Hosted endpoints",
        "They read the tasks, so they are sent only the sunset cohort, which is the next to be published.",
    ),
    "unofficial": ("Unofficial", "Run in a box that is not official: shown, and never ranked."),
}
CHANGES = {
    "set": "The month's private set went live",
    "retire": "A cohort retired and was published",
    "withdraw": "A task was withdrawn",
    "abort": "A run ended without a score",
}
WHY = {"turn": "monthly turn"}
CAUSES = {
    "leak": "it leaked: results of runs opened before count",
    "broken": "it is broken: it counts in no run",
}

Item = Mapping[str, Any]
EVERYTHING: Mapping[str, str] = MappingProxyType({})
"""The query of a page that shows all lines in the order of ranks."""


@dataclass(frozen=True)
class LeaderboardRow:
    """A line of the leaderboard as the page shows it; a figure is a value and its interval."""

    rank: str
    submitter: str
    name: str
    display_name: str
    href: str
    note: str
    picture: str
    figures: Sequence[tuple[str, str]]
    runs: str


@dataclass(frozen=True)
class Head:
    """The head of a column: the address of the leaderboard in this order, and whether it is in it now."""

    title: str
    href: str
    sort: str


@dataclass(frozen=True)
class Track:
    """A track's section: the lines that are shown, of how many, and the table of all of them."""

    name: str
    title: str
    about: str
    lines: Sequence[LeaderboardRow]
    of: int
    grid: Grid


def page(
    leaderboard: Item,
    months: Sequence[str],
    rotations: Item | None,
    query: Mapping[str, str] = EVERYTHING,
    *,
    before: Item | None = None,
    front: bool = False,
) -> str:
    """Draw the page of a month, with links to those of the others.

    Args:
        leaderboard: the month's.
        months: all months that have one.
        rotations: the turns and cohorts, and what the settings say of the benchmark.
        query: what the reader asked for.
        before: the last leaderboard with lines, shown where this one has none yet.
        front: whether this is the page that a visitor sees first.
    """
    standing = before or leaderboard
    by_track = _by_track(standing)
    choice = Choice.of(query, list(by_track))
    tracks = [_track(name, lines, choice) for name, lines in by_track.items() if choice.track in ("", name)]
    base = f"/leaderboard/{standing['month']}"
    return render(
        "leaderboard.html.jinja",
        here=HERE,
        base=base,
        month=leaderboard["month"],
        about=_about(rotations["benchmark"]) if front and rotations else (),
        before=before["month"] if before else None,
        changes_base=f"/leaderboard/{leaderboard['month']}",
        months=months[::-1],
        counts=_counts(leaderboard, rotations),
        choice=choice,
        longest=MAX_AGENT_CHARACTERS,
        choices=[(name, TRACKS.get(name, (name, ""))[0]) for name in by_track],
        orders=[(name, order.title.removesuffix(", %")) for name, order in ORDERS.items()],
        heads=_heads(base, choice),
        tracks=tracks,
        public_grammar=leaderboard["public_grammar"],
        changes=_changes(leaderboard),
        meanings=[(figures.NAMES[name], meaning) for name, meaning in figures.MEANINGS.items()],
    )


def empty(rotations: Item | None) -> str:
    """Draw the page of a benchmark before its first month."""
    about = _about(rotations["benchmark"]) if rotations else ()
    return render("leaderboard-empty.html.jinja", here=HERE, about=about, next=rotations["next"] if rotations else None)


def grids(leaderboard: Item) -> dict[str, Grid]:
    """Return the page's tables by their names: one a track, and the changes. They hold all lines, in order of ranks."""
    tracks = [_grid(name, lines) for name, lines in _by_track(leaderboard).items()]
    return {grid.name: grid for grid in (*tracks, _changes(leaderboard))}


def rank_range(line: Item) -> str:
    """Write the ranks that a line's interval allows: 3, or 1 to 4."""
    if line["rank_range"] is None:
        return NONE
    best, worst = line["rank_range"]
    return str(best) if best == worst else f"{best}{NONE}{worst}"


def title(track: str) -> str:
    """Return a track's title."""
    return TRACKS.get(track, (track, ""))[0]


def _by_track(leaderboard: Item) -> dict[str, list[Item]]:
    """Return the lines of each track in order of ranks; the tracks stand in the order in which they are explained."""
    lines: Sequence[Item] = leaderboard["lines"]
    named = dict.fromkeys([*TRACKS, *(line["track"] for line in lines)])
    by_track = {name: Choice().lines(name, [line for line in lines if line["track"] == name]) for name in named}
    return {name: of for name, of in by_track.items() if of}


def _heads(base: str, choice: Choice) -> list[Head]:
    """Return the heads of the columns; that of the picture, which is success again, is a title alone."""
    return [
        Head(order.title, base + choice.query(name), order.direction if name == choice.order else "")
        for name, order in ORDERS.items()
    ]


def _track(name: str, lines: Sequence[Item], choice: Choice) -> Track:
    shown = [_row(line) for line in choice.lines(name, lines)]
    return Track(name, title(name), TRACKS.get(name, ("", ""))[1], shown, len(lines), _grid(name, lines))


def _row(line: Item) -> LeaderboardRow:
    beside = line["sunset"]["success_rate"] if line["sunset"] else None
    ranked = ranked_part(line)["success_rate"]
    secondary = [line["whole"][name] for name in list(figures.NAMES)[1:]]
    submitter, name = legible(line["submitter"]), legible(line["name"])
    return LeaderboardRow(
        rank_range(line),
        submitter,
        name,
        legible(line["display_name"] or ""),
        agent_address(line["submitter"], line["name"]),
        line["note"],
        figures.draw_line(ranked, beside),
        [figures.in_numbers(figure) for figure in (ranked, beside, *secondary)],
        str(line["runs"]),
    )


def agent_address(submitter: str, name: str) -> str:
    """Return the address of an agent's page."""
    return f"/agents/{quote(submitter, safe='')}/{quote(name, safe='')}"


def _grid(track: str, lines: Sequence[Item]) -> Grid:
    names = ("rank", "rank_low", "rank_high", "submitter", "name", "display_name", "track", "run", "runs", "note")
    first = [Column(name, name.replace("_", " ").capitalize()) for name in names]
    rows = []
    for line in lines:
        low, high = line["rank_range"] or (None, None)
        known = {**line, "rank_low": low, "rank_high": high}
        rows.append({name: known[name] for name in names} | figures.cells({"sunset": None, **line}, PARTS))
    return Grid(track, f"Figures of track {track}", [*first, *figures.columns(PARTS)], rows)


def _changes(leaderboard: Item) -> Grid:
    columns = (
        Column("leaf", "Leaf, with its proof", lambda leaf: f"{leaf} (JSON)", "/log/proof/inclusion?index={leaf}"),
        Column("kind", "What changed", lambda kind: CHANGES.get(kind, kind)),
        Column("subject", "Subject"),
        Column("tasks", "Tasks"),
        Column("cause", "Cause", lambda cause: CAUSES.get(cause, "")),
        Column("why", "Why", lambda why: WHY.get(why, legible(why))),
    )
    return Grid("changes", "Changes by leaf of the log", columns, leaderboard.get("changes", []))


def _about(benchmark: Item) -> list[str]:
    """Say what the benchmark measures, who runs it and what a score means: its own sentences, or what is always so."""
    return [
        benchmark.get("measures")
        or "This benchmark measures how many tasks an agent passes: it is told a goal, has the tools of real MCP "
        "servers, and is judged by the state that it leaves.",
        benchmark.get("operator") or f"Its public log is {benchmark['origin']}; who runs it has given no name.",
        benchmark.get("score_meaning")
        or "A score is the share of the private tasks that were passed, with its 95\N{NO-BREAK SPACE}% interval; at "
        "each turn the oldest tasks are published and new ones take their place.",
    ]


def _tasks(leaderboard: Item, rotations: Item | None) -> int | None:
    """Count the tasks that were live in a month: those of its cohorts, or else those that a run was served."""
    cohorts = rotations["cohorts"] if rotations else ()
    live = [c["tasks"] for c in cohorts if c["entered"] <= leaderboard["month"] <= c["retires"]]
    return sum(live) or max((line["whole"]["attempted"] for line in leaderboard["lines"]), default=None)


def _counts(leaderboard: Item, rotations: Item | None) -> list[tuple[str, str]]:
    """Return what stands at the head of the page."""
    tasks = _tasks(leaderboard, rotations)
    live = rotations is not None and rotations["live"] == leaderboard["month"]
    return [
        ("Agents", str(len({(line["submitter"], line["name"]) for line in leaderboard["lines"]}))),
        ("Tasks", NONE if tasks is None else str(tasks)),
        ("Sunset cohort", leaderboard["sunset"].removeprefix("cohort-")),
        ("Next turn", rotations["next"]["due"][:10]) if live and rotations else ("State", "over"),
    ]
