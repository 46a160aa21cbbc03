"""A task's whole run in the bwrap box, beside the same calls made to the server as a plain subprocess over stdio.

The bare pair is two processes of this machine: the installed server, and an agent under the agents' Python, with
nothing around them.
"""

from __future__ import annotations

from pathlib import Path

from playing import AGENTS, Pair, play
from report import Found, Missing

from sandbox.bwrap_box import BwrapBox
from sandbox.errors import Unavailable
from sandbox.installed import agent_python, world_programs
from sandbox.servers import SERVERS
from sandbox.servers.server import DATA, PROGRAMS

ROUNDS = 15


def bench(rounds: int = 0) -> Found:
    """Play in turns."""
    about = "One task of five calls: walled in with bubblewrap, and as two plain processes joined by stdio."
    return play(BwrapBox(), pair, rounds or ROUNDS, about)


def pair(folder: Path, program: str) -> Pair:
    """Start the installed programs themselves."""
    try:
        programs, python = world_programs(), agent_python()
    except Unavailable as error:
        raise Missing(str(error)) from error
    words = [word.replace(PROGRAMS, str(programs)).replace(DATA, str(folder)) for word in SERVERS["filesystem"].command]
    return Pair(words, [python, AGENTS / program], {"PLAYER_FOLDER": str(folder / "files")})
