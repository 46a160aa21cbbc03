"""Findings page for maintainers and reviewers: the findings by month, and their reviews. Pure.

Everything comes from `quarterturn.findings.finding_list`. It may name private tasks by id, and shows none of their
text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quarterturn.pages.drawing import words
from quarterturn.pages.drawing.formatting import chance
from quarterturn.pages.drawing.grid import Column, Grid, minute
from quarterturn.pages.templates import render

HERE = "/findings/details"
Item = Mapping[str, Any]


def page(account: str, listing: Item, *, everything: bool) -> str:
    """Draw the page."""
    return render("findings.html.jinja", here=HERE, account=account, grids=grids(listing), everything=everything)


def grids(listing: Item) -> dict[str, Grid]:
    """Return the page's tables by their names."""
    tables = (_findings(listing), _words(listing), _looks(listing))
    return {grid.name: grid for grid in tables}


def _findings(listing: Item) -> Grid:
    columns = (
        Column("number", "Finding"),
        Column("month", "Month"),
        Column("status", "Status", lambda status: f"{words.SIGNS[status]} {status}"),
        Column("state", "Review"),
        Column("kind", "Kind", lambda kind: words.KINDS.get(kind, kind)),
        Column("subject", "Subject"),
        Column("p_value", "p", chance),
        Column("p_adj", "Holm", chance),
        Column("q", "q", chance),
        Column("detail", "What was counted"),
        Column("computed_at", "Computed", minute),
    )
    return Grid("findings", "Findings", columns, listing["findings"])


def _words(listing: Item) -> Grid:
    columns = (
        Column("finding", "Finding"),
        Column("state", "State"),
        Column("who", "Who"),
        Column("at", "When", minute),
        Column("note", "Note"),
    )
    rows = [{"finding": finding["number"], **word} for finding in listing["findings"] for word in finding["reviews"]]
    return Grid("reviews", "Reviews", columns, rows)


def _looks(listing: Item) -> Grid:
    columns = (
        Column("month", "Month"),
        Column("runs", "Runs"),
        Column("submitters", "Submitters"),
        Column("too_few_peers", "Too few peers"),
        Column("failed", "Failed with"),
        Column("at", "When", minute),
    )
    return Grid("looks", "Detector runs", columns, listing["looks"])
