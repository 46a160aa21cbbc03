"""Verbs of a witness: make its key, and cosign the checkpoints of logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from quarterturn.cli.terminal.options import Json
from quarterturn.cli.terminal.output import Output
from quarterturn.errors import Malformed

if TYPE_CHECKING:
    from vault.ledger.signatures.note import Verifier


verbs = typer.Typer()


@verbs.command("witness")
def witness(
    key: Annotated[
        list[Path], typer.Option("--key", metavar="FILE", help="A file with a key of the witness; may repeat.")
    ],
    log: Annotated[
        list[str], typer.Option("--log", metavar="VKEY", help="A log's verifier key, or a file with it; may repeat.")
    ],
    state: Annotated[
        Path,
        typer.Option(
            metavar="DIR", file_okay=False, help="Folder of the last cosigned checkpoints; never restore an older copy."
        ),
    ],
    listen: Annotated[
        str, typer.Option(metavar="ADDRESS:PORT", help="Where to listen; put an https proxy in front.")
    ] = "127.0.0.1:8703",
) -> None:
    """Cosign the checkpoints of logs that extend what was cosigned before (C2SP tlog-witness), until interrupted."""
    import time

    from quarterturn import logs
    from quarterturn.cli.terminal.server_address import serving_at
    from quarterturn.http.routes.witness import serve
    from sandbox.endpoint import callbacks
    from vault.keys import witness_keys
    from vault.ledger.write.witness import LocalWitness

    cosigners = [witness_keys.read(path) for path in key]
    host, port = callbacks.listening(listen)
    local = LocalWitness(state, [key for text in log for key in _log(text)], cosigners, lambda: int(time.time()))
    logs.configure()
    out = Output(as_json=False)
    with serving_at(host, port, "--listen"):
        serve(local, host, port, ready=lambda url: out.say(f"witnessing at {url}"))


@verbs.command("witness-key")
def witness_key(
    name: Annotated[str, typer.Argument(help="The witness's name: a schema-less URL that you own.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the private key is written, mode 600.")],
    kind: Annotated[Literal["ed25519", "ml-dsa-44"], typer.Option("--type", help="Signature type.")] = "ed25519",
    as_json: Json = False,
) -> None:
    """Create a witness's key, and print the verifier key for policies."""
    from vault.keys import witness_keys

    vkey = witness_keys.create(out, name, kind).witness.vkey
    Output(as_json=as_json).result({"key": str(out), "vkey": vkey}, vkey)


def _log(given: str) -> list[Verifier]:
    from vault.errors import VaultError
    from vault.ledger.signatures.note import Verifier

    try:
        text = Path(given).read_text(encoding="utf-8")
    except (OSError, ValueError):
        text = given
    try:
        return [Verifier.parse(line) for line in text.strip().split("\n")]
    except VaultError as error:
        raise Malformed(f"--log {given[:80]} is no verifier key of a log, nor a file with one: {error}") from None
