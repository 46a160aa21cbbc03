"""Witness of the demo: cosigns its log on the loopback, in a thread of the same process; it proves nothing to others.

A real witness is somebody else's, on another machine (`quarterturn log witness`); the protocol is the same.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from quarterturn.errors import Unavailable
from quarterturn.home.paths import HomePaths
from quarterturn.http.routes.witness import serve
from vault.keys import witness_keys
from vault.ledger.write.witness import LocalWitness

LABEL = "demo-witness"
NAME = f"quarterturn.example/{LABEL}"
POLICY = f"{LABEL}/policy"
"""The policy's file, relative to the home."""

STARTUP_TIMEOUT_SECONDS = 60.0


def start(places: HomePaths) -> None:
    """Start the witness of a new home's log, and write the policy that asks for its cosignature.

    The thread ends with the process.

    Raises:
        Unavailable: it does not listen in time.
    """
    folder = places.home / LABEL
    folder.mkdir(mode=0o700)
    cosigner = witness_keys.create(folder / "key", NAME, "ed25519")
    witness = LocalWitness(folder / "state", places.log_keys, [cosigner], lambda: int(time.time()))
    up, urls = threading.Event(), list[str]()

    def ready(url: str) -> None:
        urls.append(url)
        up.set()

    threading.Thread(target=serve, args=(witness, "127.0.0.1", 0), kwargs={"ready": ready}, daemon=True).start()
    if not up.wait(STARTUP_TIMEOUT_SECONDS):
        raise Unavailable("the demo's witness does not listen on 127.0.0.1: look at this machine's loopback")
    _policy(places).write_text(
        f"witness {LABEL} {cosigner.witness.vkey} {urls[0]}/\nquorum {LABEL}\n", encoding="utf-8"
    )


def _policy(places: HomePaths) -> Path:
    return places.home / POLICY
