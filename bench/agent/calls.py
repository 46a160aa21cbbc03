"""The calls that the benchmark's agents make: write three notes, read two of them, and report each call's duration."""

from __future__ import annotations

import json
import os
import sys

URL = os.environ.get("QUARTERTURN_URL")  # set inside a box; else standard input and output lead to the server
FOLDER = os.environ.get("PLAYER_FOLDER", "/data/files")
PREFIX = "filesystem__" if URL else ""
CALLS = [
    *((f"{PREFIX}write_file", {"path": f"{FOLDER}/notes/{n}.txt", "content": f"Note {n}.\n"}) for n in range(3)),
    *((f"{PREFIX}read_text_file", {"path": f"{FOLDER}/notes/{n}.txt"}) for n in range(2)),
]


def end(seconds: list[float]) -> None:
    """Say how long the calls took, and end at once: a thread may still wait for standard input."""
    sys.stderr.write(json.dumps({"seconds": seconds}) + "\n")
    sys.stderr.flush()
    os._exit(0)
