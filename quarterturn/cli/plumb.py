"""Plumbing verbs: JSON on standard input, JSON on standard output, for conformance suites and scripts.

With `--lines` each line of standard input is a document and gets a line: what is not understood is answered with
`{"ok": false, "error": ...}`, and the exit code is 0 once every line has its answer.
"""

from __future__ import annotations

import base64
import binascii
import json
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from quarterturn.errors import Malformed

Answer = tuple[dict[str, Any], bool]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    plumb = typer.Typer(help="Plumbing: JSON in, JSON out; exit 0 yes, 1 no, 2 not understood.")
    for name, verb in VERBS.items():
        plumb.command(name, help=verb.__doc__)(_command(verb))
    plumb.command("jcs", help="Any JSON text in, its canonical bytes (RFC 8785) out.")(jcs)
    app.add_typer(plumb, name="plumb")


def jcs() -> None:
    """Write the canonical bytes of the JSON text on standard input."""
    from vault.canonical import canonical, parse

    sys.stdout.buffer.write(canonical(parse(sys.stdin.buffer.read(), "standard input")))


def _command(verb: Callable[[Mapping[str, Any]], Answer]) -> Callable[[bool], None]:
    def run(
        lines: Annotated[bool, typer.Option("--lines", help="One document a line in, one answer a line out.")] = False,
    ) -> None:
        if lines:
            for line in sys.stdin.buffer:
                print(json.dumps(_line(verb, line), sort_keys=True))
            return
        data, ok = _answer(verb, sys.stdin.buffer.read(), "standard input")
        print(json.dumps(data, sort_keys=True))
        if not ok:
            raise typer.Exit(1)

    return run


def _answer(verb: Callable[[Mapping[str, Any]], Answer], text: bytes, what: str) -> Answer:
    from vault.canonical import parse

    document = parse(text, what)
    if not isinstance(document, dict):
        raise Malformed(f"{what} holds no JSON object; see docs/reference/ledger-formats.md")
    try:
        return verb(document)
    except (KeyError, TypeError, AttributeError) as error:
        raise Malformed(f"a field is missing or of the wrong type: {error}") from error


def _line(verb: Callable[[Mapping[str, Any]], Answer], line: bytes) -> dict[str, Any]:
    from vault.errors import VaultError

    try:
        return _answer(verb, line, "the line")[0]
    except (Malformed, VaultError) as error:
        return {"ok": False, "error": str(error)}


def commit(document: Mapping[str, Any]) -> Answer:
    """{"task", "salt"} to {"commitment": hex}."""
    from vault.canonical import canonical
    from vault.commitment import commitment

    return {"commitment": commitment("commit", canonical(document["task"]), _bytes(document["salt"], 32)).hex()}, True


def leaf_hash(document: Mapping[str, Any]) -> Answer:
    """{"leaf"} to {"hash"}."""
    from vault.ledger import merkle

    return {"hash": base64.b64encode(merkle.leaf_hash(_bytes(document["leaf"]))).decode()}, True


def verify_inclusion(document: Mapping[str, Any]) -> Answer:
    """{"leafIdx", "treeSize", "root", "leafHash", "proof"} to {"ok"}."""
    from vault.ledger import merkle

    return _verdict(
        lambda: merkle.verify_inclusion(
            _bytes(document["leafHash"], 32),
            document["leafIdx"],
            document["treeSize"],
            [_bytes(part, 32) for part in document["proof"]],
            _bytes(document["root"], 32),
        )
    )


def verify_consistency(document: Mapping[str, Any]) -> Answer:
    """{"size1", "size2", "root1", "root2", "proof"} to {"ok"}."""
    from vault.ledger import merkle

    return _verdict(
        lambda: merkle.verify_consistency(
            document["size1"],
            document["size2"],
            _bytes(document["root1"], 32),
            _bytes(document["root2"], 32),
            [_bytes(part, 32) for part in document["proof"]],
        )
    )


def note_verify(document: Mapping[str, Any]) -> Answer:
    """{"note", "keys": [vkey]} to {"ok", "verified": [names], "text"}."""
    from vault.errors import Broken
    from vault.ledger import note

    try:
        opened = note.open_note(document["note"], [note.Verifier.parse(key) for key in document["keys"]])
    except Broken as error:
        return {"ok": False, "verified": [], "error": str(error)}, False
    return {"ok": True, "verified": list(opened.verified), "text": opened.text}, True


def variant(document: Mapping[str, Any]) -> Answer:
    """{"task", "key", "submitter", "month"} to {"ok", "values", "goal"}: what a run was shown of a published task."""
    from vault import variant as variants
    from vault.task import Task

    task = Task.parse(document["task"])
    if task.variant_key is None:
        values = variants.first(task.free)
    else:
        key = _bytes(document["key"], variants.KEY_SIZE)
        if variants.digest(key) != task.variant_key:
            sentence = f"task {task.id} was committed to with another key: its SHA-256 is not {task.variant_key}"
            return {"ok": False, "error": sentence}, False
        values = variants.assigned(key, document["submitter"], document["month"], task.free)
    return {"ok": True, "values": values, "goal": task.filled(values).goal}, True


VERBS: Mapping[str, Callable[[Mapping[str, Any]], Answer]] = {
    "commit": commit,
    "leaf-hash": leaf_hash,
    "verify-inclusion": verify_inclusion,
    "verify-consistency": verify_consistency,
    "note-verify": note_verify,
    "variant": variant,
}


def _verdict(check: Callable[[], object]) -> Answer:
    from vault.errors import VaultError

    try:
        check()
    except VaultError as error:
        return {"ok": False, "error": str(error)}, False
    return {"ok": True}, True


def _bytes(text: str, length: int | None = None) -> bytes:
    try:
        value = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise Malformed(f"a binary field is not canonical base64: {error}") from error
    if base64.b64encode(value).decode() != text or (length is not None and len(value) != length):
        raise Malformed(f"a binary field is not canonical base64 of {length} bytes")
    return value
