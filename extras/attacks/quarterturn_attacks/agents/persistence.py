"""Attacks that persist: leftovers for the next run, wherever one can be left; and the next run's search for them."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from quarterturn_attacks.agents.raw_client import ANSWER_TIMEOUT_SECONDS, call

WORD = os.environ.get("HOSTILE_WORD", "hostile-word")
APART = ("/proc", "/sys", "/dev/pts")
LOOKED_AT = 40_000
DEPTH = 3
LISTENER = 9876
TIMES = 3


def walled() -> bool:
    """Say whether this is a place with a loopback and nothing else; anywhere else nothing is left behind."""
    interfaces = [line.partition(":")[0].strip() for line in _read(Path("/proc/net/dev")).splitlines()[2:]]
    return interfaces == ["lo"]


def folders() -> Iterator[Path]:
    """Return the folders of this place that can be written to."""
    return (folder for folder in everywhere() if os.access(folder, os.W_OK))


def everywhere() -> Iterator[Path]:
    """Yield the folders of this place, as deep as something could be mounted or left."""
    for name, inside, _ in itertools.islice(os.walk("/"), LOOKED_AT):
        deep = name.count("/") >= DEPTH
        inside[:] = (
            [] if deep else [entry for entry in inside if not f"{name}/{entry}".replace("//", "/").startswith(APART)]
        )
        yield Path(name)


def in_folders() -> dict[str, Any]:
    """Write into every folder that takes it: layers of an image, volumes, the submission's own, shared memory."""
    written = []
    for folder in folders():
        with contextlib.suppress(OSError):
            (folder / WORD).write_text(WORD)
            written.append(str(folder))
    return {"written": written}


def in_files() -> dict[str, Any]:
    """Add to every file that the relay or the engine shares with us."""
    written = []
    for place in ("/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/etc/passwd", "/etc/ld.so.preload", __file__):
        with contextlib.suppress(OSError), Path(place).open("a", encoding="utf-8") as file:
            file.write(f"\n# {WORD}\n")
            written.append(place)
    return {"written": written}


def as_processes() -> dict[str, Any]:
    """Leave a daemon that listens and does not want to end."""
    for _ in range(TIMES):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                    signal.signal(number, signal.SIG_IGN)
                os.execv(sys.executable, [sys.executable, "-c", DAEMON, WORD])  # noqa: S606 - our own program
            os._exit(0)
        os.wait()
    time.sleep(0.5)
    return {"left": TIMES}


DAEMON = f"""
import socket, time
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
listener.bind(("127.0.0.1", {LISTENER}))
listener.listen()
time.sleep(3600)
"""


def in_the_world() -> dict[str, Any]:
    """Leave files, tables and branches in the world, also where only a server can write."""
    elsewhere = [f"VACUUM INTO '{place}/{WORD}'" for place in ("/tmp", "/data", "/dev/shm", "/opt/world")]  # noqa: S108
    tries = [
        call("filesystem__write_file", path=f"/data/files/{WORD}", content=WORD),
        call("git__git_create_branch", repo_path="/data/repos/site", branch_name=WORD),
        call("sqlite__create_table", query=f'CREATE TABLE "{WORD}" (x)'),
        *(call("sqlite__write_query", query=query) for query in elsewhere),
        call("filesystem__write_file", path=f"/tmp/{WORD}", content=WORD),  # noqa: S108 - in the world
    ]
    return {"went": [well for well, _ in tries]}


def found() -> dict[str, Any]:
    """Look for what another run left."""
    places = [str(folder / WORD) for folder in everywhere() if (folder / WORD).exists()]
    places += [place for place in ("/etc/hosts", "/etc/hostname", "/etc/passwd") if WORD in _read(Path(place))]
    places += [str(process) for process in Path("/proc").glob("[0-9]*/cmdline") if _is_daemon(_read(process))]
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", LISTENER), 1):
        places.append(f"127.0.0.1:{LISTENER}")
    with contextlib.suppress(OSError):
        places += [name for name in _read(Path("/proc/net/unix")).split() if WORD in name]
    inside: list[str] = []
    with contextlib.suppress(OSError):
        inside = _world_holds()
    return {"places": places, "in_the_world": inside}


def _world_holds() -> list[str]:
    answers = [
        call("filesystem__list_directory", path="/data/files"),
        call("git__git_branch", repo_path="/data/repos/site", branch_type="local"),
        call("sqlite__list_tables"),
    ]
    _, again = call("sqlite__write_query", query=f"VACUUM INTO '/tmp/{WORD}'")  # refused where it is there already
    return [text for well, text in answers if well and WORD in text] + ([again] if "already exists" in again else [])


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _is_daemon(line: str) -> bool:
    return WORD in line and "listener" in line


def acts_later() -> dict[str, Any]:
    """End at once, and leave a daemon that does the task when nobody waits for it any more."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(1.5)
            call("filesystem__write_file", path="/data/files/colour.txt", content="heliotrope")
        os._exit(0)
    return {"patience": ANSWER_TIMEOUT_SECONDS}


ATTEMPTS: Mapping[str, Callable[[], Mapping[str, Any]]] = {
    "stay-in-folders": in_folders,
    "stay-in-shared-files": in_files,
    "stay-as-daemon": as_processes,
    "stay-in-world": in_the_world,
    "look-for-leftovers": found,
    "act-after-the-end": acts_later,
}
