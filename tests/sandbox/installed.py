"""The installed servers of this machine, started without a box."""

import sys
from collections.abc import Sequence
from pathlib import Path

from sandbox.kinds.common.state_kind import DATA, OURS, PROGRAMS, ROOT

WORLD = Path(sys.prefix) / "world"


def here(command: Sequence[str], folder: Path) -> list[str]:
    """Turn words of a world into those of this machine, with `folder` for the world's data."""
    places = {PROGRAMS: str(WORLD), OURS: str(ROOT), DATA: str(folder)}
    for inside, outside in places.items():
        command = [word.replace(inside, outside) for word in command]
    return list(command)
