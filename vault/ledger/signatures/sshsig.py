"""SSH signatures over files, as `ssh-keygen -Y verify` checks them (OpenSSH, PROTOCOL.sshsig), Ed25519 only.

A signature is armored base64, 70 characters a line, of `SSHSIG`, a version, the public key, a namespace that keeps it
from being taken for a signature over something else, an empty reserved field, the name of a hash, and the signature
over `SSHSIG`, the namespace, an empty reserved field, that name and the file's hash.
"""

from __future__ import annotations

import base64
import hashlib
import struct

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vault.errors import Broken, Malformed
from vault.ledger.signatures.note import decode_base64
from vault.ledger.signatures.strict_ed25519 import verifies

BEGIN, END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
MAGIC, VERSION = b"SSHSIG", 1
KIND, HASH = b"ssh-ed25519", b"sha512"
ARMOR_WIDTH = 70


def sign(message: bytes, namespace: str, key: Ed25519PrivateKey) -> str:
    """Sign a file's bytes for a namespace; gives the armored text."""
    space = namespace.encode()
    signature = _string(KIND) + _string(key.sign(signed_data(message, space)))
    public = _public(key.public_key().public_bytes_raw())
    blob = MAGIC + struct.pack(">I", VERSION) + b"".join(map(_string, (public, space, b"", HASH, signature)))
    text = base64.b64encode(blob).decode()
    return "\n".join([BEGIN, *(text[at : at + ARMOR_WIDTH] for at in range(0, len(text), ARMOR_WIDTH)), END, ""])


def verify(message: bytes, namespace: str, armored: str, public: bytes) -> bytes:
    """Verify a signature over a file's bytes; gives the 64 bytes of Ed25519's own.

    Args:
        message: the file.
        namespace: what it was signed as.
        armored: the signature's text.
        public: the key that the caller trusts, 32 bytes.

    Raises:
        Malformed: it is no such signature.
        Broken: it is of another key or namespace, or does not verify.
    """
    key, space, reserved, name, signature = _take_apart(armored)
    if (reserved, name) != (b"", HASH):
        raise Malformed("the SSH signature is over another hash than SHA-512")
    if key != _public(public):
        raise Broken("the SSH signature is by another key", where="the public key", expected=_public(public), found=key)
    if space != namespace.encode():
        raise Broken(
            f"the SSH signature is for the namespace {space.decode(errors='replace')[:60]!r}",
            where="the namespace",
            expected=namespace.encode(),
            found=space,
        )
    kind, signed = _strings(signature, 2, "its signature")
    if kind != KIND:
        raise Malformed("the SSH signature is of another type than ssh-ed25519")
    if not verifies(public, signed, signed_data(message, space)):
        raise Broken(
            "the SSH signature does not verify over the file",
            where="the signature",
            expected={"key": public, "sha512": hashlib.sha512(message).hexdigest()},
            found={"signature": signed},
        )
    return signed


def public_line(public: bytes) -> str:
    """Return an Ed25519 public key as OpenSSH writes it: `ssh-ed25519 <base64>`."""
    return f"{KIND.decode()} {base64.b64encode(_public(public)).decode()}"


def _public(public: bytes) -> bytes:
    return _string(KIND) + _string(public)


def signed_data(message: bytes, space: bytes) -> bytes:
    """Return the bytes that are signed for a file in a namespace."""
    return MAGIC + b"".join(map(_string, (space, b"", HASH, hashlib.sha512(message).digest())))


def _take_apart(armored: str) -> list[bytes]:
    lines = armored.split("\n")
    inside = lines[1:-2]
    if lines[0] != BEGIN or lines[-2:] != [END, ""] or not inside:
        raise Malformed(f"an SSH signature stands between {BEGIN} and {END}; this one does not")
    if any(len(line) != ARMOR_WIDTH for line in inside[:-1]) or not 0 < len(inside[-1]) <= ARMOR_WIDTH:
        raise Malformed(f"an SSH signature has {ARMOR_WIDTH} characters a line")
    blob = decode_base64("".join(inside), "the SSH signature")
    head = MAGIC + struct.pack(">I", VERSION)
    if not blob.startswith(head):
        raise Malformed("the SSH signature is of another format or version")
    return _strings(blob[len(head) :], 5, "the SSH signature")


def _string(data: bytes) -> bytes:
    """Write a `string` (RFC 4251, section 5)."""
    return struct.pack(">I", len(data)) + data


def _strings(data: bytes, count: int, what: str) -> list[bytes]:
    strings, rest = [], data
    for _ in range(count):
        (length,) = struct.unpack(">I", rest[:4]) if len(rest) >= 4 else (len(rest),)  # noqa: PLR2004 - a uint32
        if len(rest) - 4 < length:
            raise Malformed(f"{what} ends too soon")
        strings.append(rest[4 : 4 + length])
        rest = rest[4 + length :]
    if rest:
        raise Malformed(f"{what} goes on after its end")
    return strings
