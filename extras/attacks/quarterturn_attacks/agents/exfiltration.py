"""Attempts to leak the task's text, into every place that a reader might see or a log might show."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from quarterturn_attacks.agents.raw_client import call, calling, post, request, send, solving

ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m\r\b\u202eevil\u2066\u200f\u2028\ufeff\x00\ud83d"


def goal() -> str:
    """Get the task's text."""
    return str(json.loads(send(request("GET", "/task")).partition(b"\r\n\r\n")[2])["goal"])


def in_tool_names() -> dict[str, Any]:
    """Call tools that are named after words of the task."""
    names = goal().split()[:3]
    return {"went": [call(name)[0] for name in names]}


def in_the_answer() -> dict[str, Any]:
    """Answer with the task, after printing it."""
    text = goal()
    sys.stdout.write(json.dumps({"attempt": "whisper-answer", "met": {"printed": text}}) + "\n")
    sys.stdout.flush()
    return {"status": post("/answer", json.dumps({"answer": text}).encode())}


def in_the_output() -> dict[str, Any]:
    """Print it."""
    return {"printed": goal()}


def in_the_duration() -> dict[str, Any]:
    """Take as long as a letter of it says."""
    text = goal()
    time.sleep((ord(text[0]) % 32) / 16)
    return {"letter": text[0]}


def in_the_exit_code() -> dict[str, Any]:
    """End with a code that is a letter of it."""
    text = goal()
    sys.stdout.write(json.dumps({"attempt": "whisper-exit-code", "met": {"letter": text[1]}}) + "\n")
    sys.stdout.flush()
    os._exit(ord(text[1]) % 256)


ENGINES = ("docker.sock", "podman/podman.sock", "containerd/containerd.sock", "crio/crio.sock")


def in_labels() -> dict[str, Any]:
    """Look for an engine that could be asked to label an image, a container or a volume with the task."""
    engines = []
    for place in (f"{folder}/{name}" for folder in ("/run", "/var/run") for name in ENGINES):
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as caller:
            caller.connect(place)
            engines.append(place)
    return {"engines": engines, "label": goal()[:20]}


def in_the_score() -> dict[str, Any]:
    """Do the task if a letter of it is odd, and fail it otherwise: who sees the score has a bit of it."""
    bit = ord(goal()[1]) & 1
    return {"bit": bit, "status": post("/mcp", solving()) if bit else 0}


def escapes() -> dict[str, Any]:
    """Put what moves a cursor or turns text around into names, arguments, results, output and the answer."""
    sound = ESCAPES.replace("\ud83d", "").replace("\x00", "")
    sys.stdout.buffer.write(f"{ESCAPES}\n".encode("utf-8", "surrogatepass") + b"\xff\xfe\n")
    statuses = [
        post("/mcp", calling(f"filesystem__{sound}")),
        post("/mcp", calling("filesystem__write_file", path=f"/data/files/{sound}", content=sound)),
        post("/mcp", calling("filesystem__read_text_file", path=f"/data/files/{sound}")),
        post("/mcp", calling("sqlite__write_query", query=f'CREATE TABLE "{sound}" (x)')),
        post("/mcp", calling("sqlite__read_query", query=f"SELECT {sound}")),
    ]
    sys.stdout.write(json.dumps({"attempt": "escapes", "met": {"statuses": statuses}}) + "\n")
    sys.stdout.flush()
    post("/answer", json.dumps({"answer": sound}).encode())
    return {"statuses": statuses}


ATTEMPTS: Mapping[str, Callable[[], Mapping[str, Any]]] = {
    "whisper-tool-names": in_tool_names,
    "whisper-output": in_the_output,
    "whisper-duration": in_the_duration,
    "whisper-answer": in_the_answer,
    "whisper-labels": in_labels,
    "whisper-score": in_the_score,
    "whisper-exit-code": in_the_exit_code,
    "escapes": escapes,
}
