"""Verbs of the group `log`: read, check, follow and re-key a public log, and cosign the checkpoints of logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from quarterturn.cli.terminal.options import HOME, Home, Json, Who
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.secrets import open_app
from quarterturn.errors import Malformed, NotFound

if TYPE_CHECKING:
    from vault.errors import Disagreement
    from vault.ledger.signatures.note import Verifier

HOW_TO_RESTORE_THE_LOG = (
    "To mend it: put the log's folder back from a copy of it, or the home with `quarterturn restore`; "
    "docs/how-to/run-the-service.md#back-up"
)

verbs = typer.Typer(name="log", help="Read and check the public log.")


@verbs.command("checkpoint")
def checkpoint(home: Home = HOME, as_json: Json = False) -> None:
    """Print the log's latest published checkpoint."""
    from quarterturn.home.paths import HomePaths
    from vault.ledger.audit.command import read_text

    places = HomePaths(home)
    places.require()
    published = places.log / "checkpoint"
    if not published.exists():
        if places.head.exists():
            raise NotFound(
                f"{published} is missing, and heads were signed: put {places.log} back, such as from a backup"
            )
        raise NotFound(f"the log of {home} has no checkpoint yet: the first turn publishes one")
    text = read_text(published)
    Output(as_json=as_json).result({"checkpoint": text}, text.rstrip("\n"))


@verbs.command("proof")
def proof(
    index: Annotated[int, typer.Argument(help="A leaf's index, counted from 0.")],
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Print the inclusion proof of a leaf in the latest checkpoint."""
    import base64

    from quarterturn.home import policies

    with open_app(home, keys=False) as app:
        head, note = app.log.writer.checkpoint(), app.home.places.log / "checkpoint"
        witnesses = policies.cosigners(app.log.policy, note.read_bytes() if note.exists() else None)
        if not 0 <= index < head.size:
            raise NotFound(f"there is no leaf {index} in a log of {head.size}")
        path = [base64.b64encode(part).decode() for part in app.log.writer.prove_inclusion(index, head.size)]
    data = {"index": index, "size": head.size, "root": base64.b64encode(head.root).decode(), "proof": path}
    word = policies.word(witnesses)
    summary = {"witnesses": witnesses, "word": word}
    Output(as_json=as_json).result(data | summary, f"leaf {index} of {head.size}", *path, word)


@verbs.command("fsck")
def fsck(home: Home = HOME, as_json: Json = False) -> None:
    """Rebuild the log's root from its tiles and from its rows, and compare both with what was signed."""
    from vault.errors import Unavailable, VaultError

    with open_app(home, keys=False) as app:
        head = app.log.writer.checkpoint()
        try:
            problems = app.log.writer.fsck()
            _ = app.log.ledger  # refuses rows that are not what was signed
        except Unavailable:  # says nothing about the log
            raise
        except VaultError as error:
            problems = [str(error)]
    data = {"size": head.size, "problems": problems}
    lines = [*problems, HOW_TO_RESTORE_THE_LOG] if problems else [f"{head.size} leaves, all in order"]
    Output(as_json=as_json).result(data, *lines, ok=not problems)


@verbs.command("change-key")
def change_key(
    who: Who,
    signer: Annotated[
        Path | None, typer.Option("--signer", metavar="DIR", help="Put the new key into this folder of a signer.")
    ] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Change the log's key; both keys sign the change. Stop the service first; after an interruption, run it again."""
    with open_app(home) as app:
        folder = signer.resolve() if signer else app.log.signer_folder
        app.log.key_change_to(folder).change(who)
        vkey = app.home.places.log_keys[-1].vkey
    if folder:
        Output(as_json=as_json).result(
            {"vkey": vkey, "signer": str(folder)},
            f"{vkey} signs the log from now on, and lies in {folder}.",
            f"Give that folder and {app.home.places.log} to the signer's user,",
            f"without quarterturn-signer.service link {folder}/public to the home's,",
            f'write signer = "{folder}" under [ledger] in the settings, and start `quarterturn signer {folder}`.',
            "Send the key to auditors and witnesses the same way as the old one.",
        )
        return
    with open_app(home) as app:  # with the new key
        vkey, head = app.home.places.log_keys[-1].vkey, app.log.ledger.publish()
    Output(as_json=as_json).result(
        {"vkey": vkey, "size": head.size},
        f"{vkey} signs the log now, {head.size} leaves of it",
        "Send it to auditors and witnesses the same way as the old one.",
    )


@verbs.command("monitor")
def monitor(
    source: Annotated[str, typer.Argument(help="The log's folder, or the address below which it is served.")],
    key: Annotated[
        list[Path], typer.Option("--key", metavar="FILE", help="A file with the log's verifier keys; may repeat.")
    ],
    state: Annotated[
        Path, typer.Option(dir_okay=False, help="The file with the state of the last look; created if missing.")
    ],
    as_json: Json = False,
) -> None:
    """Check a log since the last look: forks, overdue cohorts, unclosed runs, withdrawn tasks."""
    from quarterturn.audit.log_monitor import follow
    from quarterturn.wall_clock import now
    from vault.errors import Broken
    from vault.ledger.audit.command import read_keys

    out = Output(as_json=as_json)
    try:
        report = follow(source, [vkey for path in key for vkey in read_keys(path)], state, now)
    except Broken as error:
        evidence = error.evidence and error.evidence.as_json()
        data = {"size": None, "alarms": [str(error)], "news": [], "evidence": evidence}
        out.result(data, str(error), *_evidence_lines(error.evidence), ok=False)
    else:
        lines = [*report.alarms, *_evidence_lines(report.evidence), *report.news]
        out.result(report.as_json(), *(lines or [f"{report.size} leaves, all promises kept"]), ok=not report.alarms)


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
    local = LocalWitness(state, [key for text in log for key in _log_keys(text)], cosigners, lambda: int(time.time()))
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


def _log_keys(given: str) -> list[Verifier]:
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


def _evidence_lines(evidence: Disagreement | None) -> list[str]:
    return [f"    {line}" for line in evidence.lines()] if evidence else []
