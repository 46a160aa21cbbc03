"""Verb `signer`: the process that holds the log's key, with a user of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

verbs = typer.Typer()


@verbs.command("signer")
def signer(
    folder: Annotated[Path, typer.Argument(help="Its folder, made by `log change-key --signer`.")],
) -> None:
    """Sign the heads of a home's log, at a socket. Ends when interrupted."""
    from quarterturn.cli.terminal.secrets import openers
    from quarterturn.home.paths import HomePaths
    from vault.keys.ring import FileKeyRing
    from vault.keys.signing import SealedSigner
    from vault.ledger.write.append import LogWriter
    from vault.signer.client import SOCKET, become_signer

    places = HomePaths(folder.resolve())
    ring, verifiers = FileKeyRing.open_by(places.ring, openers(places)), places.log_keys
    key = SealedSigner(verifiers[-1].name, places.log_key, lambda: ring)
    log = LogWriter(places.log, places.head, key, key.name, verifiers=verifiers)
    log.recover()
    become_signer(log, places.log_key, ring, places.home / SOCKET)
