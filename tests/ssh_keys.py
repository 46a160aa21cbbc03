"""SSH key pairs of tests, as `ssh-keygen -t ed25519` writes them, without that program."""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

LOCKED = """\
-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABD6eHlY5L
j6ArRy4NBDjBgkAAAAEAAAAAEAAAAzAAAAC3NzaC1lZDI1NTE5AAAAILphvgKd5XLQvd2P
mX/y7VFBD3+hoSOKnYrs91Nel0F8AAAAkIs8MkgJ8EEqC5+tJPuYXRCjRkGusrcwdP8ejr
rV/8kSq/6tJdyFzJeFzH/R4g4NeTY7ExdgdzYCxW2q7g9tyozNRtLFpLuP8BsWp5ycu6fT
H1b1szQMjxi3E8T9r3uwcgHARDm0e5NSVHvoFRlGdHQhlmXMqW4BYdSR4zo63I0eFpE3UC
ot5FV9NopH+GkHsQ==
-----END OPENSSH PRIVATE KEY-----
"""
"""A key under the passphrase `test-secret`, made once: to make one takes a package that we do not have."""


def make_ssh_key(file: Path, comment: str = "test") -> Path:
    """Write a private key to a file, and its public line beside it (`.pub`); return the file."""
    key = Ed25519PrivateKey.generate()
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    file.chmod(0o600)  # ssh-keygen signs with no key that others can read
    line = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    file.with_name(f"{file.name}.pub").write_text(f"{line} {comment}\n")
    return file
