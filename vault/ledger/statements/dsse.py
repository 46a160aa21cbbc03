"""DSSE envelopes for in-toto Statements, v1.0.2 (https://github.com/secure-systems-lab/dsse).

    {"payload": BASE64, "payloadType": "application/vnd.in-toto+json", "signatures": [{"keyid": HEX, "sig": BASE64}]}

What is signed is the pre-authentication encoding `DSSEv1 <length> <type> <length> <payload>`, lengths in decimal. The
`keyid` is the SHA-256 of the key's SubjectPublicKeyInfo (RFC 8410) and has to be that of the key used. The envelope is
RFC 8785 canonical JSON, so that one statement has one envelope.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from vault.errors import Broken
from vault.ledger.signatures.note import decode_base64
from vault.ledger.statements.jcs import canonical, parse_canonical
from vault.ledger.statements.shape import list_of, matching, one_of, record, sha256

IN_TOTO = "application/vnd.in-toto+json"
_BASE64 = matching(r"[A-Za-z0-9+/]+={0,2}", "base64")
_SHAPE = record(payload=_BASE64, payloadType=one_of(IN_TOTO), signatures=list_of(record(keyid=sha256, sig=_BASE64)))


def encoding(kind: str, payload: bytes) -> bytes:
    """Give the bytes that are signed: the pre-authentication encoding of a payload and its type."""
    name = kind.encode()
    return b"DSSEv1 %d %s %d %s" % (len(name), name, len(payload), payload)


def key_id(public: bytes) -> str:
    """Give the id of an Ed25519 public key (32 bytes): SHA-256 of its SubjectPublicKeyInfo, in hexadecimal."""
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


def open_envelope(envelope: bytes, publics: Sequence[bytes]) -> bytes:
    """Verify an envelope, and give the statement's bytes.

    Args:
        envelope: its bytes.
        publics: Ed25519 public keys that the caller trusts, 32 bytes each.

    Raises:
        Malformed: it is no envelope of an in-toto Statement.
        Broken: no given key signed it, or a given key's signature does not verify.
    """
    document = parse_canonical(envelope, "the envelope")
    _SHAPE(document, "the envelope")
    statement = decode_base64(document["payload"], "the envelope's payload")
    known, signed = {key_id(public): public for public in publics}, False
    for one in document["signatures"]:
        signature = decode_base64(one["sig"], "a signature of the envelope")
        if one["keyid"] in known:
            _verify(known[one["keyid"]], signature, statement)
            signed = True
    if not signed:
        raise Broken("no given key signed the envelope")
    return statement


def _verify(public: bytes, signature: bytes, statement: bytes) -> None:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, encoding(IN_TOTO, statement))
    except InvalidSignature:
        raise Broken(f"the envelope's signature by key {key_id(public)[:16]} does not verify") from None
