"""Plumbing verbs: each takes a JSON document and gives a JSON document and yes or no.

Hashes, salts and keys, which have 32 bytes, are lower-case hex, as releases have them, or canonical base64, as the C2SP
formats have them: 64 characters or 44, so that no text is both. A leaf, of any length, is canonical base64. Input that
is understood but does not hold gives a no with a sentence (`error`) and what disagrees (`evidence`, where byte strings
are in hex); input that is not understood raises.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from quarterturn.errors import Malformed
from vault.canonical import canonical, parse
from vault.commitment import commitment
from vault.errors import Broken, VaultError
from vault.errors import Malformed as VaultMalformed
from vault.ledger.signatures.checkpoint import Checkpoint, open_checkpoint
from vault.ledger.signatures.cosignature import parse_key
from vault.ledger.signatures.note import Verifier, decode_base64, open_note, take_apart
from vault.ledger.signatures.policy import Policy
from vault.ledger.signatures.proof import Proof
from vault.ledger.statements.forms import require_form
from vault.ledger.tree import merkle
from vault.ledger.tree.tiles import HEAD
from vault.ledger.write.fsck import fsck as check_log_folder
from vault.ledger.write.fsck import rebuilt
from vault.task import variant as variants
from vault.task.document import Task

HASH_BYTES = merkle.HASH_BYTES  # and of a salt, and of a variant key
_HEX = re.compile(f"[0-9a-f]{{{2 * HASH_BYTES}}}")

Document = Mapping[str, Any]
Answer = tuple[dict[str, Any], bool]


def answer(verb: Callable[[Document], Answer], text: bytes, what: str) -> Answer:
    """Answer one document.

    Raises:
        Malformed, VaultError: it is no JSON object, a field is missing, or one is not what the verb takes.
    """
    document = parse(text, what)
    if not isinstance(document, dict):
        raise Malformed(f"{what} holds no JSON object; see docs/reference/ledger-formats.md")
    try:
        return verb(document)
    except KeyError as error:
        raise Malformed(f"{what} has no field {error}") from error
    except (TypeError, AttributeError) as error:
        raise Malformed(f"{what} has a field of the wrong type: {error}") from error


def line(verb: Callable[[Document], Answer], text: bytes) -> dict[str, Any]:
    """Answer one document of many: what is not understood is an answer too."""
    try:
        return answer(verb, text, "the line")[0]
    except (Malformed, VaultError) as error:
        return {"ok": False, "error": str(error)}


def jcs(text: bytes, what: str) -> bytes:
    """Return the canonical bytes (RFC 8785) of a JSON text."""
    return canonical(parse(text, what))


def jcs_line(text: bytes) -> dict[str, Any]:
    """Return the canonical bytes of one line, as base64; what is no JSON is an answer too."""
    try:
        return {"jcs": base64.b64encode(jcs(text, "the line")).decode()}
    except VaultError as error:
        return {"ok": False, "error": str(error)}


def commit(document: Document) -> Answer:
    """{"task", "salt"} to {"commitment": hex}."""
    return {
        "commitment": commitment("commit", canonical(document["task"]), _hash(document["salt"], "$.salt")).hex()
    }, True


def leaf_hash(document: Document) -> Answer:
    """{"leaf"} to {"hash"}."""
    return {"hash": base64.b64encode(merkle.leaf_hash(decode_base64(document["leaf"], "$.leaf"))).decode()}, True


def verify_inclusion(document: Document) -> Answer:
    """{"leafIdx", "treeSize", "root", "leafHash", "proof"} to {"ok"}."""
    return _verdict(
        lambda: merkle.verify_inclusion(
            _hash(document["leafHash"], "$.leafHash"),
            _number(document, "leafIdx"),
            _number(document, "treeSize"),
            _proof(document),
            _hash(document["root"], "$.root"),
        )
    )


def verify_consistency(document: Document) -> Answer:
    """{"size1", "size2", "root1", "root2", "proof"} to {"ok"}."""
    return _verdict(
        lambda: merkle.verify_consistency(
            _number(document, "size1"),
            _number(document, "size2"),
            _hash(document["root1"], "$.root1"),
            _hash(document["root2"], "$.root2"),
            _proof(document),
        )
    )


def note_verify(document: Document) -> Answer:
    """{"note", "keys": [vkey]} to {"ok", "verified": [names], "text"}."""
    try:
        opened = open_note(document["note"], [parse_key(key) for key in _list(document, "keys")])
    except Broken as error:
        return {"ok": False, "verified": [], **_reason(error)}, False
    return {"ok": True, "verified": [key.partition("+")[0] for key in opened.verified], "text": opened.text}, True


def checkpoint_parse(document: Document) -> Answer:
    """{"checkpoint"} to {"origin", "size", "root", "extensions"}; signatures are not checked."""
    head = Checkpoint.parse(take_apart(document["checkpoint"])[0])
    root = base64.b64encode(head.root).decode()
    return {"origin": head.origin, "size": head.size, "root": root, "extensions": list(head.extensions)}, True


def cosign_verify(document: Document) -> Answer:
    """{"checkpoint", "policy"} to {"ok", "witnesses": [names in the policy]}."""
    try:
        head = Policy.parse(document["policy"]).open(document["checkpoint"])
    except Broken as error:
        return {"ok": False, "witnesses": [], **_reason(error)}, False
    return {"ok": True, "witnesses": list(head.witnesses)}, True


def proof_verify(document: Document) -> Answer:
    """{"proof", "leaf", "policy"} to {"ok", "index"}."""
    proof = Proof.parse(document["proof"])
    try:
        proof.verify(decode_base64(document["leaf"], "$.leaf"), Policy.parse(document["policy"]))
    except Broken as error:
        return {"ok": False, **_reason(error)}, False
    return {"ok": True, "index": proof.index}, True


def tiles_root(document: Document) -> Answer:
    """{"dir", "keys"} to {"size", "root"}, rebuilt from the tiles of leaves; with keys the head has to say so too."""
    folder, keys = Path(document["dir"]), [Verifier.parse(key) for key in _list(document, "keys")]
    try:
        size, root = rebuilt(folder)
        head = open_checkpoint((folder / HEAD).read_bytes(), keys)[0] if keys else None
    except Broken as error:
        return {"ok": False, **_reason(error)}, False
    if head and (head.size, head.root) != (size, root):
        no = Broken(
            f"the tiles give the root {root.hex()} of {size} leaves, the signed head says {head.root.hex()}",
            where="the size and the root of the tiles",
            expected=[head.size, head.root],
            found=[size, root],
        )
        return {"ok": False, **_reason(no)}, False
    return {"size": size, "root": base64.b64encode(root).decode()}, True


def fsck(document: Document) -> Answer:
    """{"dir", "keys"} to {"ok", "problems"}."""
    try:
        _, problems = check_log_folder(Path(document["dir"]), [Verifier.parse(key) for key in _list(document, "keys")])
    except Broken as error:
        return {"ok": False, "problems": [str(error)], "evidence": _reason(error)["evidence"]}, False
    return {"ok": not problems, "problems": problems}, not problems


def variant(document: Document) -> Answer:
    """{"task", "key", "submitter", "month"} to {"ok", "values", "goal"}: what a run was shown of a published task."""
    task = Task.parse(document["task"])
    if task.variant_key is None:
        values = variants.first(task.free)
    else:
        key = _hash(document["key"], "$.key")
        if variants.digest(key) != task.variant_key:
            no = Broken(
                f"task {task.id} was committed to with another key: its SHA-256 is not {task.variant_key}",
                where="the sha256 of the key",
                expected=task.variant_key,
                found=variants.digest(key),
            )
            return {"ok": False, **_reason(no)}, False
        values = variants.assigned(key, document["submitter"], document["month"], task.free)
    return {"ok": True, "values": values, "goal": task.filled(values).goal}, True


VERBS: Mapping[str, Callable[[Document], Answer]] = {
    "commit": commit,
    "leaf-hash": leaf_hash,
    "verify-inclusion": verify_inclusion,
    "verify-consistency": verify_consistency,
    "note-verify": note_verify,
    "checkpoint-parse": checkpoint_parse,
    "cosign-verify": cosign_verify,
    "proof-verify": proof_verify,
    "variant": variant,
    "tiles-root": tiles_root,
    "fsck": fsck,
}


def _reason(error: VaultError) -> dict[str, Any]:
    """Return the fields of an answer that is a no: the sentence, and what disagrees (null where that is unknown)."""
    return {"error": str(error), "evidence": error.evidence and error.evidence.as_json()}


def _verdict(check: Callable[[], object]) -> Answer:
    try:
        check()
    except Broken as error:
        return {"ok": False, **_reason(error)}, False
    return {"ok": True}, True


def _number(document: Document, name: str) -> int:
    """Read a whole number from 0; `true` is none, although Python takes it for 1."""
    require_form("natural", document[name], f"$.{name}")
    number: int = document[name]
    return number


def _list(document: Document, name: str) -> list[Any]:
    if not isinstance(document[name], list):
        raise Malformed(f"$.{name} must be a list")
    return list(document[name])


def _proof(document: Document) -> list[bytes]:
    return [_hash(part, f"$.proof[{place}]") for place, part in enumerate(_list(document, "proof"))]


def _hash(value: Any, place: str) -> bytes:
    """Read 32 bytes; a message never quotes them, since a salt may be a private task's."""
    if isinstance(value, str):
        if _HEX.fullmatch(value):
            return bytes.fromhex(value)
        with suppress(VaultMalformed):
            if len(data := decode_base64(value, place)) == HASH_BYTES:
                return data
    raise Malformed(
        f"{place} must be {HASH_BYTES} bytes: {2 * HASH_BYTES} lower-case hexadecimal digits, as in a release, or "
        "canonical base64, as in a checkpoint"
    )
