"""Start-up check that `vault` and our other packages are ours: other distributions use these names too."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from quarterturn.errors import Unavailable

ROOMS = ("grammars", "rotation", "sandbox", "vault", "verifiers")


def foreign_packages() -> list[str]:
    """Name each of our packages that would be imported from a foreign place, with that place."""
    root = Path(__file__).resolve().parents[1]
    specs = {room: find_spec(room) for room in ROOMS}
    places = {room: Path(str(spec.origin)).resolve() if spec else None for room, spec in specs.items()}
    return [
        f"{room} ({place or 'nowhere'})"
        for room, place in places.items()
        if place is None or not place.is_relative_to(root / room)
    ]


def require_ours() -> None:
    """Refuse to run with foreign packages of our names.

    Raises:
        Unavailable: the message names them and where they lie.
    """
    if foreign := foreign_packages():
        raise Unavailable(
            f"not ours: {'; '.join(foreign)}. Another distribution stands before this one on the path; start "
            "quarterturn from its own environment, without PYTHONPATH"
        )
