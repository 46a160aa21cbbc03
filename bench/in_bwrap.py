"""Measures one task's whole run in the bwrap box, beside the same calls to the server as a plain subprocess.

The bare pair is two processes of this machine: the installed server, and an agent under the agents' Python, with
nothing around them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from playing import AGENTS, Pair, play
from report import Found, Missing

from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.kinds.common.state_kind import DATA, PROGRAMS
from sandbox.servers.registry import SERVERS

ROUNDS = 15


def bench(rounds: int = 0) -> Found:
    """Play the box and the bare pair in turns."""
    about = "One task of five calls: walled in with bubblewrap, and as two plain processes joined by stdio."
    return play(BwrapBox(), pair, rounds or ROUNDS, about)


def pair(folder: Path, program: str) -> Pair:
    """Start the installed programs without a box."""
    programs, python = Path(sys.prefix, "world"), Path(sys.prefix, "agents", "bin", "python")
    if not (programs.is_dir() and python.exists()):
        raise Missing(f"{programs} or {python} is missing: run ./run setup")
    words = [word.replace(PROGRAMS, str(programs)).replace(DATA, str(folder)) for word in SERVERS["filesystem"].command]
    return Pair(words, [python, AGENTS / program], {"PLAYER_FOLDER": str(folder / "files")})
