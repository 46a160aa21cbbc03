"""Which `vault` is this? Other distributions have our rooms' names too, and one of them may come first on the path."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from quarterturn.errors import Unavailable

ROOMS = ("grammars", "rotation", "sandbox", "vault", "verifiers")


def strangers() -> list[str]:
    """Name each room that would be imported from somewhere else than from beside the hall, with its place."""
    here = Path(__file__).resolve().parents[1]
    found = {room: find_spec(room) for room in ROOMS}
    places = {room: Path(str(spec.origin)).resolve() if spec else None for room, spec in found.items()}
    return [
        f"{room} ({place or 'nowhere'})"
        for room, place in places.items()
        if place is None or not place.is_relative_to(here / room)
    ]


def require_ours() -> None:
    """Refuse to go on with rooms that are not ours.

    Raises:
        Unavailable: the message names them and where they lie.
    """
    if found := strangers():
        raise Unavailable(
            f"not ours: {'; '.join(found)}. Another distribution stands before this one on the path; start "
            "quarterturn from its own environment, without PYTHONPATH"
        )
