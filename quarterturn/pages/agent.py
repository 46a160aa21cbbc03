"""Page of one agent: its months with the ranked success rate, and what it passed of retired tasks. Pure.

An agent is a submitter and a name. What a leaderboard does not show is not here either: of a party's runs in a month
and a track it is the one that counts, and figures are rounded to half a point. Counts by server, category and
language are of retired tasks, whose results are public; those by language are shown where there are several.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from quarterturn.pages.drawing import svg
from quarterturn.pages.drawing.charts import scale
from quarterturn.pages.drawing.figures import in_numbers
from quarterturn.pages.drawing.formatting import decimal, legible
from quarterturn.pages.drawing.grid import Column, Grid
from quarterturn.pages.leaderboard import agent_address, rank_range, title
from quarterturn.pages.leaderboard_choice import ranked_part
from quarterturn.pages.templates import render
from rotation.calendar import Month

HERE = "/"
TALL = 160  # pixels of a chart
FEW = 4  # months that have their name below a chart
SECONDARY = {"efficiency": "Calls", "hallucinated_tool_rate": "Unlisted", "recovery_rate": "Recovery"}

Item = Mapping[str, Any]


def lines(leaderboards: Sequence[Item], submitter: str, name: str) -> list[Item]:
    """Return an agent's lines in these leaderboards, each with its `month`; the newest first."""
    found = [
        {**line, "month": leaderboard["month"]}
        for leaderboard in leaderboards
        for line in leaderboard["lines"]
        if (line["submitter"], line["name"]) == (submitter, name)
    ]
    return sorted(found, key=lambda line: (line["month"], -line["run"]), reverse=True)


def page(submitter: str, name: str, found: Sequence[Item], retired: Sequence[Item]) -> str:
    """Draw the page of an agent with these lines; `retired` counts what each run passed of retired tasks."""
    tables = grids(submitter, name, found, retired)
    tracks = dict.fromkeys(line["track"] for line in found)
    return render(
        "agent.html.jinja",
        here=HERE,
        agent=legible(found[0]["display_name"] or f"{submitter}/{name}"),
        submitted_as=legible(f"{submitter}/{name}"),
        base=agent_address(submitter, name),
        counts=[
            ("Months", str(len({line["month"] for line in found}))),
            ("Newest", found[0]["month"]),
            ("Rank then", rank_range(found[0])),
        ],
        charts=[(title(track), chart([line for line in found if line["track"] == track])) for track in tracks],
        runs=tables["runs"],
        retired=tables["retired"],
    )


def grids(submitter: str, name: str, found: Sequence[Item], retired: Sequence[Item]) -> dict[str, Grid]:
    """Return the page's tables by their names."""
    columns = (
        Column("month", "Month", href="/leaderboard/{month}?{query}"),
        Column("track", "Track"),
        Column("rank_low", "Rank from"),
        Column("rank_high", "to"),
        Column("success_rate", "Success, %", _hundred),
        Column("success_rate_low", "from", _hundred),
        Column("success_rate_high", "to", _hundred),
        Column("sunset", "Sunset, %", _hundred),
        *(Column(key, f"{words}, %", _hundred) for key, words in SECONDARY.items()),
        Column("run", "Run"),
        Column("runs", "Runs"),
        Column("note", "Note"),
    )
    rows = [_row(line) | {"query": _query(submitter, name, line["track"])} for line in found]
    runs = Grid("runs", "Runs on leaderboards, newest first", columns, rows)
    return {"runs": runs, "retired": _retired({line["run"] for line in found}, retired)}


def _retired(runs: Collection[int], counts: Sequence[Item]) -> Grid:
    columns = (
        Column("by", "By"),
        Column("name", "Name"),
        Column("attempted", "Retired tasks"),
        Column("passed", "Passed"),
        Column("success", "Success, %", _hundred),
    )
    sums: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for count in counts:
        if count["run"] in runs:
            total = sums[count["by"], count["name"]]
            total[0] += count["attempted"]
            total[1] += count["passed"]
    several = len([by for by, _ in sums if by == "language"]) > 1
    rows = [
        {"by": by, "name": name, "attempted": attempted, "passed": passed, "success": passed / attempted}
        for (by, name), (attempted, passed) in sorted(sums.items(), key=lambda item: (item[0][0] != "server", item[0]))
        if by != "language" or several
    ]
    return Grid("retired", "Retired tasks of these runs, by server and category", columns, rows)


def chart(found: Sequence[Item]) -> str:
    """Draw the ranked success rate of a track by month, with its interval as a band where months follow each other."""
    by_month = {Month.parse(line["month"]): ranked_part(line)["success_rate"] for line in found}
    known = {month: figure for month, figure in sorted(by_month.items()) if figure["value"] is not None}
    if not known:
        return ""
    first, last = min(known), max(known)
    across = scale(-0.5, last.since(first) + 0.5)
    up = scale(1, 0)
    at = {month: (across(month.since(first)), figure) for month, figure in known.items()}
    bands = []
    for month, (x, figure) in at.items():
        if month.plus(1) in at:
            after, follows = at[month.plus(1)]
            corners = [(x, up(figure["low"])), (x, up(figure["high"]))]
            bands.append(svg.area([*corners, (after, up(follows["high"])), (after, up(follows["low"]))], "band"))
    parts = [svg.stretched(bands, 100, 100)] if bands else []
    for share in (0, 0.5, 1):
        parts.append(svg.line(("0%", svg.pct(up(share))), ("100%", svg.pct(up(share))), "grid"))
        parts.append(svg.words(0, svg.pct(up(share)), f"{100 * share:g}", "end", (-6, 4)))
    every = -(-(last.since(first) + 1) // FEW)
    for month, (x, figure) in at.items():
        place = svg.pct(x)
        parts.append(svg.line((place, svg.pct(up(figure["low"]))), (place, svg.pct(up(figure["high"]))), "between"))
        parts.append(svg.dot(place, svg.pct(up(figure["value"])), 4, "point"))
        if not month.since(first) % every:
            parts.append(svg.words(place, "100%", str(month), "middle", (0, 17)))
    told = "; ".join(f"{month} {in_numbers(figure)[0]}" for month, figure in known.items())
    return svg.picture(parts, TALL, f"Ranked success by month, in per cent: {told}", "plot")


def _row(line: Item) -> dict[str, Any]:
    ranked, (low, high) = ranked_part(line)["success_rate"], line["rank_range"] or (None, None)
    row = {"rank_low": low, "rank_high": high, "success_rate": ranked["value"]}
    row |= {f"success_rate_{bound}": ranked[bound] for bound in ("low", "high")}
    row["sunset"] = line["sunset"]["success_rate"]["value"] if line["sunset"] else None
    row |= {key: line["whole"][key]["value"] for key in SECONDARY}
    return row | {key: line[key] for key in ("month", "track", "run", "runs", "note")}


def _hundred(share: float | None) -> str:
    return decimal(None if share is None else 100 * share)


def _query(submitter: str, name: str, track: str) -> str:
    return urlencode({"track": track, "agent": f"{submitter}/{name}"})
