"""Verbs `export`: public tasks and runs, written in the formats of other tools."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quarterturn.cli.auditing import public_source
from quarterturn.cli.auditing.auditor import Accept, PolicyFile
from quarterturn.cli.auditing.public_source import DevOf, Keys
from quarterturn.cli.terminal.options import HOME, Home, Json
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.report import counted
from quarterturn.errors import Malformed

if TYPE_CHECKING:
    from quarterturn.public_records.records import PublicRecords

ABOUT = """Write public tasks and runs in the formats of other tools.

SOURCE is `dev` (a dev set), a release folder (Historical-YYYY-MM, audited first), or the file of a run on a dev set
(`quarterturn run --out FILE.json`). Private tasks are never exported."""

Source = Annotated[str, typer.Argument(help="`dev`, a release folder, or the file of a run on a dev set.")]
Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="The folder to write; it is not there, or empty.")]
License = Annotated[
    str | None,
    typer.Option(
        "--license",
        metavar="SPDX",
        help="The licence, such as cc-by-4.0 (default: apache-2.0 for a dev set, else other).",
    ),
]
HUB = "https://huggingface.co/datasets"
_SPDX = re.compile(r"[a-z0-9][a-z0-9.+-]{0,59}")


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    export = typer.Typer(help=ABOUT)
    export.command("hf")(hugging_face)
    export.command("inspect")(inspect_logs)
    export.command("harbor")(harbor_tasks)
    app.add_typer(export, name="export")


def hugging_face(
    source: Source,
    out_folder: Out,
    key: Keys = None,
    policy: PolicyFile = None,
    accept: Accept = None,
    dev_of: DevOf = None,
    license_name: License = None,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the dataset will be (default: its name on the hub).")
    ] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Write a Hugging Face dataset: JSON Lines, Parquet, a dataset card, and Croissant 1.1 metadata."""
    from quarterturn.wall_clock import now
    from quarterturn_export import hugging_face as writer
    from quarterturn_export import parquet

    parquet.require()
    records = _records(source, out_folder, key, policy, accept, dev_of, license_name, home)
    place = url or f"{HUB}/{records.name}"
    _write(out_folder, writer.files(records, url=place, now=now()), records, as_json=as_json)


def inspect_logs(
    source: Source,
    out_folder: Out,
    key: Keys = None,
    policy: PolicyFile = None,
    accept: Accept = None,
    dev_of: DevOf = None,
    license_name: License = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Write each run as a log of Inspect (.eval): a sample for each task, with its calls and its score."""
    from quarterturn.cli.terminal.version import version
    from quarterturn.wall_clock import now
    from quarterturn_export import inspect_log as writer

    if source == "dev":
        raise Malformed("a dev set has no run: play one with `quarterturn run --out FILE.json`, and export that file")
    records = _records(source, out_folder, key, policy, accept, dev_of, license_name, home)
    _write(out_folder, writer.files(records, version=version(), now=now()), records, as_json=as_json)


def harbor_tasks(
    source: Source,
    out_folder: Out,
    key: Keys = None,
    policy: PolicyFile = None,
    accept: Accept = None,
    dev_of: DevOf = None,
    license_name: License = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Write each task as a folder for Harbor: its world as an MCP server beside the agent, and a verifier."""
    from quarterturn_export import harbor as writer

    records = _records(source, out_folder, key, policy, accept, dev_of, license_name, home)
    _write(out_folder, writer.files(records), records, as_json=as_json)


def _records(
    source: str,
    out_folder: Path,
    keys: list[Path] | None,
    policy: Path | None,
    accept: list[int] | None,
    dev_of: str | None,
    license_name: str | None,
    home: Path,
) -> PublicRecords:
    """Read a source, after the place for the export was looked at."""
    from dataclasses import replace

    from quarterturn.public_records.sources import kind_of
    from quarterturn_export import folder

    if license_name is not None and not _SPDX.fullmatch(license_name):
        raise Malformed(f"--license {license_name[:80]!r} is no SPDX identifier in lower case, such as cc-by-4.0")
    kind_of(source)
    folder.require_new(out_folder)
    records = public_source.read(source, keys, policy, accept, dev_of, home)
    return replace(records, license=license_name) if license_name else records


def _write(out_folder: Path, files: dict[str, bytes], records: PublicRecords, *, as_json: bool) -> None:
    from quarterturn_export import folder

    folder.write(out_folder, files)
    data = {"folder": str(out_folder), "tasks": len(records.tasks), "runs": len(records.runs), "files": sorted(files)}
    counts = ((len(records.tasks), "task"), (len(records.runs), "run"))
    what = " and ".join(counted(number, noun) for number, noun in counts if number)
    Output(as_json=as_json).result(data, f"{out_folder}: {what} in {len(files)} files; README.md says what is in them")
