"""DSSE envelopes for in-toto Statements, v1.0.2 (https://github.com/secure-systems-lab/dsse).

    {"payload": BASE64, "payloadType": "application/vnd.in-toto+json", "signatures": [{"keyid": HEX, "sig": BASE64}]}

What is signed is the pre-authentication encoding `DSSEv1 <length> <type> <length> <payload>`, lengths in decimal. The
`keyid` is the SHA-256 of the SubjectPublicKeyInfo (RFC 8410) of the key that signed. The envelope is
RFC 8785 canonical JSON, so that one statement has one envelope.
"""

from __future__ import annotations

import base64
import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from vault.ledger.statements.jcs import canonical

IN_TOTO = "application/vnd.in-toto+json"


def encoding(kind: str, payload: bytes) -> bytes:
    """Return the bytes that are signed: the pre-authentication encoding of a payload and its type."""
    name = kind.encode()
    return b"DSSEv1 %d %s %d %s" % (len(name), name, len(payload), payload)


def key_id(public: bytes) -> str:
    """Return the id of an Ed25519 public key (32 bytes): SHA-256 of its SubjectPublicKeyInfo, in hexadecimal."""
    key = Ed25519PublicKey.from_public_bytes(public)
    return hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def sign(statement: bytes, key: Ed25519PrivateKey) -> bytes:
    """Put a statement's bytes into an envelope."""
    signature = {
        "keyid": key_id(key.public_key().public_bytes_raw()),
        "sig": base64.b64encode(key.sign(encoding(IN_TOTO, statement))).decode(),
    }
    payload = base64.b64encode(statement).decode()
    return canonical({"payload": payload, "payloadType": IN_TOTO, "signatures": [signature]})
