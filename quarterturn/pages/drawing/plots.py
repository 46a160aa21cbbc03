"""Scatter and quantile plots of the findings report: submitters against peers, tests against a normal. Pure.

A point far out has a letter, which is explained below the plot: names would run into one another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quarterturn.pages.drawing import svg
from quarterturn.pages.drawing.charts import scale
from quarterturn.pages.drawing.formatting import decimal, percent, short
from quarterturn.pages.drawing.words import MONTH, Terms

Item = Mapping[str, Any]
LABELLED = 8  # points with a letter
FAR = 1.96
NEAR = 93.0  # per cent of the frame: a letter so near its edge stands on the inner side
WIDE = 0.4  # shares that are further apart get ticks twice as far apart
LOWEST = -4.0  # z that a plot of quantiles reaches down to
WIDEST = 3.5


@dataclass(frozen=True)
class Plot:
    """A picture, and what its letters stand for."""

    picture: str
    labels: Sequence[tuple[str, str]]


def peers(figure: Item, terms: Terms = MONTH) -> Plot:
    """Draw what was passed of the exposed tasks over what the fresh ones let expect, with the band of 95 % of peers."""
    dots, band = figure["points"], figure["band"]
    shares = [share for dot in dots for share in (dot["expected"], dot["observed"])]
    step = 0.1 if max(shares) - min(shares) < WIDE else 0.2
    low, high = (step * side(share / step) for side, share in ((math.floor, min(shares)), (math.ceil, max(shares))))
    low, high = (low, high) if low < high else (low - step, high) if high >= 1 else (low, high + step)
    at, ticks = scale(low, high), [low + step * tick for tick in range(round((high - low) / step) + 1)]
    upper = [(at(point["expected"]), 100 - at(point["high"])) for point in band]
    lower = [(at(point["expected"]), 100 - at(point["low"])) for point in reversed(band)]
    parts = [svg.stretched([svg.area([*upper, *lower], "band")], 100, 100)]
    for tick in ticks:
        level = svg.pct(100 - at(tick))
        parts += [svg.line(("0%", level), ("100%", level), "grid"), svg.words(0, level, percent(tick), "end", (-6, 4))]
        parts.append(svg.words(svg.pct(at(tick)), "100%", percent(tick), "middle", (0, 17)))
    parts.append(svg.line(("0%", "100%"), ("100%", "0%"), "equal"))
    parts += [svg.dot(svg.pct(at(dot["expected"])), svg.pct(100 - at(dot["observed"])), 4.5, "point") for dot in dots]
    far = sorted((dot for dot in dots if abs(dot["z"]) > FAR), key=lambda dot: -abs(dot["z"]))[:LABELLED]
    labels = []
    for letter, dot in zip("ABCDEFGH", far, strict=False):
        x, y = at(dot["expected"]), 100 - at(dot["observed"])
        anchor, across = ("end", -7) if x > NEAR else ("start", 7)
        parts.append(svg.words(svg.pct(x), svg.pct(y), letter, anchor, (across, 14 if 100 - y > NEAR else -5)))
        labels.append((letter, f"{short(dot['submitter'])}, z {decimal(dot['z'], 1, signed=True)}"))
    description = (
        f"{len(dots)} {terms.subject}s: share of {terms.exposed} tasks passed, over the share that {terms.fresh} tasks "
        "predict; "
        f"outside of ±1.96: {', '.join(words for _, words in labels) or 'nobody'}"
    )
    return Plot(svg.picture(parts, 320, description, "plot"), labels)


def quantiles(rows: Sequence[Item]) -> str:
    """Draw ordered z over a standard normal's, with the band of 95 %; what lies beyond the frame is at its edge."""
    highest = min(max(math.ceil(max(row["z"] for row in rows)), 4), 8)
    across, up = scale(-WIDEST, WIDEST), scale(LOWEST, highest)

    def corner(row: Item, name: str) -> tuple[float, float]:
        x, y = (min(max(row[key], LOWEST), highest) for key in ("expected", name))
        return across(min(max(x, -WIDEST), WIDEST)), 100 - up(y)

    outline = [*(corner(row, "high") for row in rows), *(corner(row, "low") for row in reversed(rows))]
    parts = [svg.stretched([svg.area(outline, "band")], 100, 100)]
    for tick in range(int(LOWEST), highest + 1, 2):
        level = svg.pct(100 - up(tick))
        parts += [
            svg.line(("0%", level), ("100%", level), "grid"),
            svg.words(0, level, decimal(tick, 0), "end", (-6, 4)),
        ]
    parts += [svg.words(svg.pct(across(tick)), "100%", decimal(tick, 0), "middle", (0, 17)) for tick in (-2, 0, 2)]
    parts.append(svg.line(("0%", svg.pct(100 - up(-WIDEST))), ("100%", svg.pct(100 - up(WIDEST))), "equal"))
    places = [corner(row, "z") for row in rows]
    parts += [svg.dot(svg.pct(x), svg.pct(y), 2.4, "point") for x, y in places]
    above = sum(row["z"] > row["high"] for row in rows)
    description = f"{len(rows)} tests, ordered z over a standard normal's; {above} above the band of 95 %"
    return svg.picture(parts, 220, description, "plot")
