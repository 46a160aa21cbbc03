"""Signatures of task requests: HTTP Message Signatures (RFC 9421) with Ed25519, over a Content-Digest (RFC 9530).

Covered are the method, the whole URL, the content type and the digest of the body, and by way of the parameters the
time, a nonce and the key's name. So a request cannot be altered, sent on to another endpoint, or kept for later.
There is one form and one order, so that a verifier can compare the list of covered components with a constant.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

CONTENT_TYPE = "application/json"
COVERED = ("@method", "@target-uri", "content-digest", "content-type")
LABEL = "sig1"
TAG = "quarterturn-task"


@dataclass(frozen=True, slots=True)
class Sender:
    """Signing key of the sender of tasks."""

    key: Ed25519PrivateKey = field(repr=False)

    @property
    def public_pem(self) -> str:
        """The public key as everybody's tools read it (SubjectPublicKeyInfo, PEM)."""
        public = self.key.public_key()
        return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    @property
    def key_id(self) -> str:
        """The key's name: the first 16 hexadecimal digits of the SHA-256 of its 32 bytes."""
        return hashlib.sha256(self.key.public_key().public_bytes_raw()).hexdigest()[:16]

    def headers(self, url: str, body: bytes, *, created: int, nonce: str) -> dict[str, str]:
        """Return the fields that a POST of `body` to `url` carries; `created` is in seconds since 1970."""
        digest = f"sha-256=:{_base64(hashlib.sha256(body).digest())}:"
        covered = " ".join(f'"{name}"' for name in COVERED)
        parameters = f'({covered});created={created};nonce="{nonce}";keyid="{self.key_id}";alg="ed25519";tag="{TAG}"'
        values = dict(zip(COVERED, ("POST", url, digest, CONTENT_TYPE), strict=True))
        signed = self.key.sign(signature_base(list(values.items()), parameters))
        return {
            "Content-Type": CONTENT_TYPE,
            "Content-Digest": digest,
            "Signature-Input": f"{LABEL}={parameters}",
            "Signature": f"{LABEL}=:{_base64(signed)}:",
        }


def signature_base(components: Sequence[tuple[str, str]], parameters: str) -> bytes:
    """Return the bytes that are signed (RFC 9421, section 2.5)."""
    lines = [f'"{name}": {value}' for name, value in components]
    return "\n".join([*lines, f'"@signature-params": {parameters}']).encode()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
