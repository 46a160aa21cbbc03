"""Runs a command on a terminal of its own, as a person would."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Mapping


def environment(**changed: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "TERM", "FORCE_COLOR"}}
    return kept | {"TERM": "xterm"} | changed


def on_a_terminal(*words: object, env: Mapping[str, str], typed: bytes = b"") -> tuple[int, str]:
    """Run a command on a terminal of its own, and give its exit code and all that was shown."""
    ours, theirs = pty.openpty()
    os.write(ours, typed)
    process = subprocess.Popen([*map(str, words)], stdin=theirs, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # how Linux says that nobody holds the other end any more
        pass
    finally:
        os.close(ours)
    return process.wait(), shown.decode()
