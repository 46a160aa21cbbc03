"""Private key file of a witness (Ed25519 or ML-DSA-44), with mode 0600.

    {"format": "quarterturn/witness-key/v1", "key": BASE64, "name": NAME, "type": "ed25519" or "ml-dsa-44"}

`key` is the 32 bytes that an Ed25519 key is (RFC 8032), or the 32-byte seed of an ML-DSA-44 key (FIPS 204). The file's
mode is all that protects it: a witness signs without anybody there to ask for a passphrase.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Literal, get_args

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

from vault.canonical import canonical, parse_object
from vault.errors import Malformed
from vault.keys import private_files
from vault.ledger.signatures.cosignature import Cosigner
from vault.ledger.signatures.note import decode_base64

FORMAT = "quarterturn/witness-key/v1"
SEED_BYTES = 32
Type = Literal["ed25519", "ml-dsa-44"]
_WHAT = "witness key"


def create(path: Path, name: str, kind: Type) -> Cosigner:
    """Make a key and write it into a new file.

    Raises:
        Malformed: the name cannot stand in a signature line.
        Refused: there is a file at `path` already.
        Locked: the place cannot be written to.
    """
    made = Cosigner(name, Ed25519PrivateKey.generate() if kind == "ed25519" else MLDSA44PrivateKey.generate())
    _ = made.witness  # refuses the name before anything is written
    document = {
        "format": FORMAT,
        "name": name,
        "type": kind,
        "key": base64.b64encode(made.key.private_bytes_raw()).decode(),
    }
    private_files.create(path, canonical(document) + b"\n", _WHAT)
    return made


def read(path: Path) -> Cosigner:
    """Read a key.

    Raises:
        Locked: the file is missing, cannot be read, or is open to others.
        Malformed: it holds something else.
    """
    what = f"the {_WHAT} at {path}"
    document = parse_object(private_files.read(path, _WHAT), what)
    if document.keys() != {"format", "name", "type", "key"} or document["format"] != FORMAT:
        raise Malformed(f"{what} is none: it does not say {FORMAT}.")
    name, kind, encoded = document["name"], document["type"], document["key"]
    if kind not in get_args(Type) or not isinstance(name, str) or not isinstance(encoded, str):
        raise Malformed(f"{what} is of no type that we know: {' or '.join(get_args(Type))}.")
    seed = decode_base64(encoded, what)
    if len(seed) != SEED_BYTES:
        raise Malformed(f"{what} holds {len(seed)} bytes instead of {SEED_BYTES}.")
    if kind == "ed25519":
        return Cosigner(name, Ed25519PrivateKey.from_private_bytes(seed))
    return Cosigner(name, MLDSA44PrivateKey.from_seed_bytes(seed))
