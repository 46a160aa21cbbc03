"""The page about the rotation: which cohorts were, are and will be live, from fresh to sunset to published. Pure.

Everything comes from the public document of rotations (`quarterturn.publicview.rotations`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quarterturn.pages.grid import Column, Grid
from quarterturn.pages.templates import render

HERE = "/rotation"
Item = Mapping[str, Any]


def page(found: Item) -> str:
    """Draw the page."""
    return render("rotation.html.jinja", here=HERE, found=found, grids=grids(found))


def grids(found: Item) -> dict[str, Grid]:
    """Give the page's tables by their names."""
    cohorts = Grid(
        "cohorts",
        "The cohorts",
        (
            Column("id", "Cohort"),
            Column("state", "State"),
            Column("entered", "Live from"),
            Column("retires", "Last month"),
            Column("tasks", "Tasks"),
            Column("public_grammar", "Public grammar"),
        ),
        found["cohorts"],
    )
    return {grid.name: grid for grid in (cohorts,)}
