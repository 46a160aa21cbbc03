"""Maintainers' signatures over approval requests.

They are OpenSSH's, Ed25519, so that a maintainer signs with a key that they have, on a machine of their own.
"""

from __future__ import annotations

from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_ssh_private_key

from quarterturn.approvals.rules import ApprovalRules
from quarterturn.errors import Malformed
from vault.errors import Broken
from vault.errors import Malformed as NoSignature
from vault.keys import private_files
from vault.ledger.signatures import sshsig

NAMESPACE = "quarterturn-approval"


def sign(body: bytes, key: Path, namespace: str = NAMESPACE) -> str:
    """Sign a request's bytes with a key, or what belongs to another namespace.

    Raises:
        Locked: the key's file is missing, or open to others.
        Malformed: it is no Ed25519 key of OpenSSH's, or has a passphrase.
    """
    try:
        loaded = load_ssh_private_key(private_files.read(key, "maintainer's key"), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        loaded = None
    if not isinstance(loaded, Ed25519PrivateKey):
        raise Malformed(
            f"{key} is no OpenSSH key of the kind ed25519 without a passphrase: sign with `ssh-keygen -Y sign "
            f"-n {namespace}` the file that is written for it, and give the signature"
        )
    return sshsig.sign(body, namespace, loaded)


def signer(rules: ApprovalRules, body: bytes, armored: str) -> str | None:
    """Say which maintainer signed a request's bytes, or None."""
    for name in rules.maintainers:
        try:
            sshsig.verify(body, NAMESPACE, armored, rules.key(name))
        except (NoSignature, Broken):
            continue
        return name
    return None
