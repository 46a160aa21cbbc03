"""SVG elements as text: drawings stretch to the width of the page, words do not. Pure.

Places from left to right are in per cent of the picture, those from top to bottom in pixels or per cent, so one picture
is sharp on a telephone, on a wide screen and on paper. Colours are classes of the page's style sheet: a style attribute
would need a weaker content policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

Length = float | str


def picture(parts: Iterable[str], height: int, name: str | None = None, kind: str = "") -> str:
    """Put parts into a picture as wide as there is room; without a name it is left out when a page is read aloud."""
    attributes = f'role="img" aria-label="{escape(name)}"' if name else 'aria-hidden="true"'
    drawn = f'class="{kind}" ' if kind else ""
    return f'<svg {drawn}width="100%" height="{height}" {attributes}>{"".join(parts)}</svg>'


def stretched(parts: Iterable[str], width: float, height: float) -> str:
    """Put parts with plain coordinates into a picture that is stretched to fill the one around it."""
    box = f'viewBox="0 0 {width:g} {height:g}" preserveAspectRatio="none" width="100%" height="100%"'
    return f"<svg {box}>{''.join(parts)}</svg>"


def line(start: tuple[Length, Length], end: tuple[Length, Length], kind: str) -> str:
    """Draw a line."""
    (x1, y1), (x2, y2) = start, end
    return f'<line class="{kind}" x1="{_at(x1)}" y1="{_at(y1)}" x2="{_at(x2)}" y2="{_at(y2)}"/>'


def bar(start: float, end: float, top: float, height: float, kind: str) -> str:
    """Draw a bar between two places in per cent; one of no length is still seen."""
    low, high = sorted((start, end))
    return f'<rect class="{kind}" x="{low:.2f}%" width="{max(high - low, 0.25):.2f}%" y="{top:g}" height="{height:g}"/>'


def dot(x: Length, y: Length, radius: float, kind: str) -> str:
    """Draw a dot."""
    return f'<circle class="{kind}" cx="{_at(x)}" cy="{_at(y)}" r="{radius:g}"/>'


def words(x: Length, y: Length, text: str, anchor: str = "start", shift: tuple[float, float] = (0, 0)) -> str:
    """Write words."""
    moved = f' dx="{shift[0]:g}" dy="{shift[1]:g}"' if any(shift) else ""
    return f'<text x="{_at(x)}" y="{_at(y)}" text-anchor="{anchor}"{moved}>{escape(text)}</text>'


def area(corners: Sequence[tuple[float, float]], kind: str) -> str:
    """Fill what lies between corners, in plain coordinates."""
    return f'<polygon class="{kind}" points="{" ".join(f"{x:.2f},{y:.2f}" for x, y in corners)}"/>'


def cells(places: Iterable[tuple[int, float, float]], kind: str) -> str:
    """Fill cells, one unit wide, each from a top to a bottom, in plain coordinates."""
    drawn = "".join(f"M{x} {top:g}h1V{bottom:g}h-1z" for x, top, bottom in places)
    return f'<path class="{kind}" d="{drawn}"/>' if drawn else ""


def pct(value: float) -> str:
    """Write a place in per cent."""
    return f"{value:.2f}%"


def _at(place: Length) -> str:
    return place if isinstance(place, str) else f"{place:g}"
