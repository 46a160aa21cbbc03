"""Verbs of the auditor: audit a release; read, check and re-key the public log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quarterturn.cli.auditing import monitor, witness
from quarterturn.cli.auditing.auditor import Accept, Consistency, Keys, PolicyFile, Previous, auditor, status_lines
from quarterturn.cli.terminal.options import HOME, Home, Json, Who
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.secrets import open_app
from quarterturn.errors import NotFound

EvidenceFiles = Annotated[
    list[Path] | None,
    typer.Option("--evidence", metavar="FILE", help="A file of evidence to compare with the release; may repeat."),
]
LogSource = Annotated[
    str | None,
    typer.Option(
        "--log",
        metavar="SOURCE",
        help="The log's folder or address: proves from its tiles that a newer --previous extends the release.",
    ),
]

HOW_TO_RESTORE_THE_LOG = (
    "To mend it: put the log's folder back from a copy of it, or the home with `quarterturn restore`; "
    "docs/how-to/run-the-service.md#back-up"
)


verbs = typer.Typer()
log_verbs = typer.Typer(name="log", help="Read and check the public log.")
log_verbs.add_typer(monitor.verbs)
log_verbs.add_typer(witness.verbs)


@verbs.command("audit")
def audit(
    bundle: Annotated[Path, typer.Argument(metavar="RELEASE", help="A release folder, Historical-YYYY-MM.")],
    key: Keys,
    policy: PolicyFile = None,
    previous: Previous = None,
    accept: Accept = None,
    evidence: EvidenceFiles = None,
    consistency: Consistency = None,
    log: LogSource = None,
    as_json: Json = False,
) -> None:
    """Audit a release offline, without trusting anybody.

    Each step says what it proved. The answer is yes, yes with doubts, or no. A doubt is what an honest operator can
    have a reason for; accept it by its number. A --previous that is newer than the release is one until a consistency
    proof joins them: give it (--consistency), or the log to make it from (--log).
    """
    from vault.ledger.audit.command import require_release

    require_release(bundle)
    files = key, policy, previous, accept or ()
    report = auditor(*files, evidence=evidence or (), consistency=consistency, log=log)(bundle)
    Output(as_json=as_json).result(report.as_json(), *status_lines(report), ok=report.ok)


@log_verbs.command("checkpoint")
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


@log_verbs.command("proof")
def proof(
    index: Annotated[int, typer.Argument(help="A leaf's index, counted from 0.")],
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Print the inclusion proof of a leaf in the latest checkpoint."""
    import base64

    from quarterturn.home import policies

    with open_app(home) as app:
        head, note = app.writer.checkpoint(), app.places.log / "checkpoint"
        witnesses = policies.cosigners(app.policy, note.read_bytes() if note.exists() else None)
        if not 0 <= index < head.size:
            raise NotFound(f"there is no leaf {index} in a log of {head.size}")
        path = [base64.b64encode(part).decode() for part in app.writer.prove_inclusion(index, head.size)]
    data = {"index": index, "size": head.size, "root": base64.b64encode(head.root).decode(), "proof": path}
    word = policies.word(witnesses)
    summary = {"witnesses": witnesses, "word": word}
    Output(as_json=as_json).result(data | summary, f"leaf {index} of {head.size}", *path, word)


@log_verbs.command("fsck")
def fsck(home: Home = HOME, as_json: Json = False) -> None:
    """Rebuild the log's root from its tiles and from its rows, and compare both with what was signed."""
    from vault.errors import Unavailable, VaultError

    with open_app(home) as app:
        head = app.writer.checkpoint()
        try:
            problems = app.writer.fsck()
            _ = app.ledger  # refuses rows that are not what was signed
        except Unavailable:  # says nothing about the log
            raise
        except VaultError as error:
            problems = [str(error)]
    data = {"size": head.size, "problems": problems}
    lines = [*problems, HOW_TO_RESTORE_THE_LOG] if problems else [f"{head.size} leaves, all in order"]
    Output(as_json=as_json).result(data, *lines, ok=not problems)


@log_verbs.command("change-key")
def change_key(who: Who, home: Home = HOME, as_json: Json = False) -> None:
    """Change the log's key; both keys sign the change. Stop the service first; after an interruption, run it again."""
    with open_app(home) as app:
        app.log_key_change.change(who)
    with open_app(home) as app:  # with the new key
        vkey, head = app.writer.verifier.vkey, app.ledger.publish()
    Output(as_json=as_json).result(
        {"vkey": vkey, "size": head.size},
        f"{vkey} signs the log now, {head.size} leaves of it",
        "Send it to auditors and witnesses the same way as the old one.",
    )
