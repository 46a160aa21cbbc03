"""Plumbing verbs: JSON on standard input, JSON on standard output, for conformance suites and scripts.

With `--lines` each line of standard input is a document and gets a line: what is not understood is answered with
`{"ok": false, "error": ...}`, and the exit code is 0 once every line has its answer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quarterturn.cli.terminal.options import Box

if TYPE_CHECKING:
    from quarterturn.audit.plumbing import Answer

ABOUT = """Single checks for scripts: JSON in, JSON out. Exit 0 yes, 1 no, 2 not understood.

A hash, a salt or a key has 32 bytes: in hex, as in a release, or in base64, as in a checkpoint. A leaf is in base64."""
VERBS = {
    "commit": '{"task", "salt"} to {"commitment": hex}.',
    "leaf-hash": '{"leaf"} to {"hash"}.',
    "verify-inclusion": '{"leafIdx", "treeSize", "root", "leafHash", "proof"} to {"ok"}.',
    "verify-consistency": '{"size1", "size2", "root1", "root2", "proof"} to {"ok"}.',
    "note-verify": '{"note", "keys": [vkey]} to {"ok", "verified": [names], "text"}.',
    "checkpoint-parse": '{"checkpoint"} to {"origin", "size", "root", "extensions"}; signatures are not checked.',
    "cosign-verify": '{"checkpoint", "policy"} to {"ok", "witnesses": [names in the policy]}.',
    "proof-verify": '{"proof", "leaf", "policy"} to {"ok", "index"}.',
    "variant": '{"task", "key", "submitter", "month"} to {"ok", "values", "goal"}: what a run was shown of a task.',
}
FOLDERS = {
    "tiles-root": "A folder of tiles to {size, root}, rebuilt from the leaves; with --key the signed head must agree.",
    "fsck": 'A folder of tiles, and keys of its log, to {"ok", "problems"}.',
}
Lines = Annotated[bool, typer.Option("--lines", help="One document a line in, one answer a line out.")]
Folder = Annotated[Path | None, typer.Argument(help='Its place; with --lines each line has "dir" and "keys".')]
Keys = Annotated[list[str] | None, typer.Option("--key", help="A verifier key of the log; may repeat.")]

verbs = typer.Typer(name="plumb", help=ABOUT)


def jcs(lines: Lines = False) -> None:
    """Write the canonical bytes of the JSON text on standard input."""
    from quarterturn.audit import plumbing

    if lines:
        _each(plumbing.jcs_line)
    else:
        sys.stdout.buffer.write(plumbing.jcs(sys.stdin.buffer.read(), "standard input"))


def world(
    task: Annotated[Path, typer.Argument(help="A file with a public task.")],
    out_folder: Annotated[
        Path,
        typer.Option("--out", metavar="FOLDER", help="`ready` appears there; write `finish`; `session.json` is last."),
    ],
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port on 127.0.0.1.")] = 8700,
    seconds: Annotated[
        float, typer.Option(min=1, help="How long the session may last after its first request.")
    ] = 1800,
    box: Box = None,
) -> None:
    """Serve a public task's MCP servers until the file `finish` is there, then write the state that was left."""
    from quarterturn.boxes import choose_box
    from quarterturn.errors import NotFound
    from quarterturn.runs import world_server
    from vault.files import make_folder
    from vault.task.document import Task

    if not task.is_file():
        raise NotFound(f"there is no file {task}")
    document = Task.parse(task.read_bytes(), str(task))
    make_folder(out_folder)
    session = world_server.serve(document, choose_box(box or "auto"), out_folder, port=port, seconds=seconds)
    print(json.dumps(session, sort_keys=True))


def _command(name: str) -> Callable[[bool], None]:
    def run(lines: Lines = False) -> None:
        from quarterturn.audit import plumbing

        verb = plumbing.VERBS[name]
        if lines:
            _each(lambda text: plumbing.line(verb, text))
        else:
            _say(plumbing.answer(verb, sys.stdin.buffer.read(), "standard input"))

    return run


def _of_folder(name: str) -> Callable[[Path | None, list[str] | None, bool], None]:
    def run(folder: Folder = None, key: Keys = None, lines: Lines = False) -> None:
        from quarterturn.audit import plumbing

        verb = plumbing.VERBS[name]
        if lines:
            _each(lambda text: plumbing.line(verb, text))
        elif folder is None:
            raise typer.BadParameter("name a folder of tiles, or give --lines")
        else:
            _say(verb({"dir": str(folder), "keys": key or []}))

    return run


def _each(answer: Callable[[bytes], dict[str, Any]]) -> None:
    for text in sys.stdin.buffer:
        print(json.dumps(answer(text), sort_keys=True))


def _say(answer: Answer) -> None:
    data, ok = answer
    print(json.dumps(data, sort_keys=True))
    if not ok:
        raise typer.Exit(1)


for name, about in VERBS.items():
    verbs.command(name, help=about)(_command(name))
for name, about in FOLDERS.items():
    verbs.command(name, help=about)(_of_folder(name))
verbs.command("world")(world)
verbs.command("jcs", help="Any JSON text in, its canonical bytes (RFC 8785) out.")(jcs)
