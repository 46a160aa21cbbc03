"""Start-up check that `vault` and our other packages are ours: other distributions use these names too."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from quarterturn.errors import Unavailable

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("grammars", "rotation", "sandbox", "vault", "verifiers")


def foreign_packages() -> list[str]:
    """Name each of our packages that would be imported from a foreign place, with that place."""
    specs = {room: find_spec(room) for room in ROOMS}
    places = {room: Path(str(spec.origin)).resolve() if spec else None for room, spec in specs.items()}
    return [
        f"{room} ({place or 'nowhere'})"
        for room, place in places.items()
        if place is None or not place.is_relative_to(ROOT / room)
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


def require_extra(extra: str, module: str) -> None:
    """Refuse an extra's module that lies neither in the extra's folder of this checkout nor beside the installed core.

    Raises:
        Unavailable: the message names the module and where it lies; nothing of it was imported.
    """
    package, spec = f"quarterturn_{extra}", find_spec(module.partition(".")[0])
    place = Path(str(spec.origin)).resolve().parent if spec else None
    if place not in {ROOT / "extras" / extra / package, ROOT / package}:
        raise Unavailable(
            f"not ours: {module} ({place or 'nowhere'}), which an installed `quarterturn-{extra}` names. Uninstall it; "
            "`./run setup` in the checkout installs ours"
        )
