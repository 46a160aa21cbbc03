"""Verbs of the auditor: check a release, read and check the log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quarterturn.cli.options import HOME, Home, Json
from quarterturn.cli.output import Output
from quarterturn.errors import NotFound


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command("audit")(audit)
    log = typer.Typer(no_args_is_help=True, help="Read and check the public log.")
    log.command("checkpoint")(checkpoint)
    log.command("proof")(proof)
    log.command("fsck")(fsck)
    app.add_typer(log, name="log")


def audit(
    bundle: Annotated[Path, typer.Argument(help="A release folder, Historical-YYYY-MM.")],
    key: Annotated[list[Path], typer.Option("--key", help="A file with the log's verifier key; may repeat.")],
    previous: Annotated[Path | None, typer.Option(help="An older checkpoint that you kept.")] = None,
    as_json: Json = False,
) -> None:
    """Check a release without trusting anybody: each step says what it proved."""
    from vault.ledger.audit import audit as check

    report = check(bundle, [_text(path).strip() for path in key], previous=_text(previous) if previous else None)
    lines = [f"{'ok ' if step.ok else 'NO '} {step.number:>2}. {step.name}: {step.detail}" for step in report.steps]
    lines.append("")
    lines.append(f"The answer is {'yes' if report.ok else 'NO'}.")
    lines += [report.pending] if report.pending else []
    lines.append("What an audit does not prove:")
    lines += [f"  - {caveat}" for caveat in report.caveats]
    Output(as_json=as_json).result(report.as_json(), *lines, ok=report.ok)
    if not report.ok:
        raise typer.Exit(1)


def checkpoint(home: Home = HOME, as_json: Json = False) -> None:
    """Print the log's latest published checkpoint."""
    text = _text(home / "public" / "log" / "checkpoint")
    Output(as_json=as_json).result({"checkpoint": text}, text.rstrip("\n"))


def proof(
    index: Annotated[int, typer.Argument(help="A leaf's index, counted from 0.")],
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Print the inclusion proof of a leaf in the latest checkpoint."""
    import base64

    from quarterturn.wiring import open_house

    writer = open_house(home).writer
    head = writer.checkpoint()
    path = [base64.b64encode(part).decode() for part in writer.prove_inclusion(index, head.size)]
    data = {"index": index, "size": head.size, "root": base64.b64encode(head.root).decode(), "proof": path}
    Output(as_json=as_json).result(
        data, f"leaf {index} of {head.size}", *path, "No witness cosigned this: order and time are the operator's word."
    )


def fsck(home: Home = HOME, as_json: Json = False) -> None:
    """Rebuild the log's root from its tiles and rows and compare it with what was signed."""
    from quarterturn.wiring import open_house

    house = open_house(home)
    problems = house.writer.fsck()
    data = {"size": house.ledger.size, "problems": problems}
    Output(as_json=as_json).result(data, *(problems or [f"{house.ledger.size} leaves, all in order"]), ok=not problems)
    if problems:
        raise typer.Exit(1)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError) as error:
        raise NotFound(f"there is no file {path}") from error
    except UnicodeDecodeError as error:
        from quarterturn.errors import Malformed

        raise Malformed(f"{path} is not text") from error
