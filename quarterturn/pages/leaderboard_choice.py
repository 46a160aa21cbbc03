"""What a reader asked of a leaderboard: one track, a text in submitter, agent or display name, and an order. Pure.

All three are in the page's address, so a choice can be sent to somebody and needs no script. A value that there is not
counts as not given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlencode

from quarterturn.pages.drawing.formatting import legible

MAX_AGENT_CHARACTERS = 80  # of the text that agents are searched by

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Order:
    """One order of the lines: its column's title, in which direction, and what it orders by."""

    title: str
    direction: Literal["ascending", "descending"]
    value: Callable[[Item], Any]


def ranked_part(line: Item) -> Item:
    """Return the part of a line's score that its rank is made of."""
    part: Item = line[line["ranked_on"]]
    return part


def shown_name(line: Item) -> str:
    """Return submitter and agent, which together tell an agent from every other one."""
    return legible(f"{line['submitter']}/{line['name']}")


def _title(line: Item) -> str:
    """Return what stands first in a line: the display name, or else submitter and agent."""
    return legible(line["display_name"]) if line["display_name"] else shown_name(line)


def _is_named(line: Item, text: str) -> bool:
    """Whether a line's submitter, agent or display name has this text in it, in any case."""
    return any(text.lower() in name.lower() for name in (shown_name(line), line["display_name"] or ""))


def _secondary(name: str) -> Callable[[Item], Any]:
    return lambda line: line["whole"][name]["value"]


def _success(line: Item) -> Any:
    return ranked_part(line)["success_rate"]["value"]


def _sunset(line: Item) -> Any:
    return line["sunset"]["success_rate"]["value"] if line["sunset"] else None


ORDERS: Mapping[str, Order] = {
    "rank": Order("Rank", "ascending", lambda line: line["rank"]),
    "agent": Order("Submitter / agent", "ascending", lambda line: _title(line).casefold()),
    "success": Order("Success, %", "descending", _success),
    "sunset": Order("Sunset, %", "descending", _sunset),
    "calls": Order("Calls, %", "ascending", _secondary("efficiency")),
    "unlisted": Order("Unlisted, %", "ascending", _secondary("hallucinated_tool_rate")),
    "recovery": Order("Recovery, %", "descending", _secondary("recovery_rate")),
    "runs": Order("Runs", "descending", lambda line: line["runs"]),
}
FIRST = "rank"


@dataclass(frozen=True, slots=True)
class Choice:
    """What of a leaderboard is shown: the lines of a track, those whose names have a text in them, in an order."""

    track: str = ""
    agent: str = ""
    order: str = FIRST

    @classmethod
    def of(cls, query: Mapping[str, str], tracks: Sequence[str]) -> Choice:
        """Read a choice from the query of an address."""
        track, order = query.get("track", ""), query.get("sort", FIRST)
        text = query.get("agent", "").strip()[:MAX_AGENT_CHARACTERS]
        return cls(track if track in tracks else "", text, order if order in ORDERS else FIRST)

    @property
    def narrows(self) -> bool:
        """Whether lines may be left out."""
        return bool(self.track or self.agent)

    def query(self, order: str | None = None) -> str:
        """Write the choice as a query, in another order if that is given; "" for all lines in the order of ranks."""
        order = self.order if order is None else order
        given = {"track": self.track, "agent": self.agent, "sort": "" if order == FIRST else order}
        written = urlencode({name: value for name, value in given.items() if value})
        return f"?{written}" if written else ""

    def lines(self, track: str, lines: Sequence[Item]) -> list[Item]:
        """Return the lines of a track that are shown, in order; what has no value comes last."""
        if self.track not in ("", track):
            return []
        order = ORDERS[self.order]
        chosen = sorted((line for line in lines if _is_named(line, self.agent)), key=_by_rank)
        known = [line for line in chosen if order.value(line) is not None]
        unknown = [line for line in chosen if order.value(line) is None]
        sign = -1 if order.direction == "descending" else 1
        return sorted(known, key=lambda line: _signed(order.value(line), sign)) + unknown


def _by_rank(line: Item) -> tuple[bool, int, float, str]:
    """Order lines by rank, then by the success rate that is ranked, those without a rank last."""
    return line["rank"] is None, line["rank"] or 0, -(_success(line) or 0), shown_name(line)


def _signed(value: Any, sign: int) -> Any:
    return value if isinstance(value, str) else sign * value
