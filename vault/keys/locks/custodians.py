"""M-of-N custodians lock: any M people open the ring together, fewer learn nothing (SLIP-39, Shamir over GF(256)).

What is split is a fresh key that seals the root key, and not the root key itself: once the lock is removed, shares open
nothing but old copies of the ring's file, and a combination that is wrong is noticed, never taken for a key.

    sealed = nonce (12) || AES-256-GCM(the key that was split, nonce, root key, context)

A share is one line of JSON, encrypted to its custodian's own age (X25519) or SSH (Ed25519) key; `age -d` opens it. The
words in it are SLIP-39's. Neither of its two protections for weak secrets is used: no passphrase, because a wrong one
would silently give another key, and the minimum of iterations, because a random 256-bit key needs no stretching.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from vault.canonical import canonical, parse_object
from vault.errors import Locked, Malformed, Unavailable
from vault.keys.locks.lock import NONCE_SIZE, ROOT_SIZE, SCHEMA, Document, context, raw, text
from vault.schema import Schema

try:
    import pyrage
    from shamir_mnemonic import MnemonicError, combine_mnemonics, generate_mnemonics
except ImportError:
    message = "Custodians need the packages pyrage and shamir-mnemonic: install quarterturn[custodians]."
    raise Unavailable(message) from None

FORMAT = "quarterturn/share/v1"
SPLIT_SIZE, ITERATION_EXPONENT = 8, 0
MIN_THRESHOLD, MAX_CUSTODIANS = 2, 16  # one share alone would be the key; SLIP-39 numbers its shares with four bits
AGE = re.compile(rb"age-encryption\.org/v1\n|-----BEGIN AGE ENCRYPTED FILE-----")
_SHARE = Schema({**SCHEMA["$defs"]["share"], "$defs": SCHEMA["$defs"]})


@dataclass(frozen=True, slots=True)
class KeyShare:
    """One custodian's share of the key; its repr shows whose it is, and of which ring."""

    ring: str
    split: str
    custodian: str
    threshold: int
    of: int
    words: str = field(repr=False)

    @classmethod
    def parse(cls, line: bytes, what: str = "the share") -> Self:
        """Read one line.

        Raises:
            Malformed: it is no share.
        """
        document = parse_object(line, what)
        _SHARE.require(document, what)
        return cls(**{name: value for name, value in document.items() if name != "format"})

    def line(self) -> bytes:
        """Write it as one line."""
        return canonical({"format": FORMAT, **asdict(self)}) + b"\n"


@dataclass(frozen=True, slots=True)
class Custodians:
    """Opener that combines the custodians' shares."""

    kind: ClassVar[str] = "custodians"
    shares: Sequence[KeyShare]

    def open(self, lock: Mapping[str, Any], ring: str) -> bytes:
        """Combine shares into the key, and open the root key with it."""
        threshold, sealed = lock["threshold"], raw(lock)
        self._require_fitting(lock, ring)
        key = _combined([share.words for share in self.shares[:threshold]])
        try:
            return AESGCM(key).decrypt(sealed[:NONCE_SIZE], sealed[NONCE_SIZE:], context(lock, ring))
        except InvalidTag:
            raise Locked("These shares do not open the ring: one of them, or the ring's file, was changed.") from None

    def again(self, lock: Mapping[str, Any]) -> None:
        """Give None: new shares need each custodian to receive theirs."""

    def _require_fitting(self, lock: Mapping[str, Any], ring: str) -> None:
        for share in self.shares:
            if share.ring != ring:
                raise Locked(f"The share of {share.custodian} belongs to another key ring, {share.ring}.")
            if share.split != lock["split"]:
                raise Locked(f"The share of {share.custodian} belongs to another split of this ring's key.")
        brought = [share.custodian for share in self.shares]
        if twice := [name for name in brought if brought.count(name) > 1]:
            raise Locked(f"The share of {twice[0]} was given twice: bring those of different custodians.")
        if len(brought) < lock["threshold"]:
            others = [custodian["name"] for custodian in lock["custodians"] if custodian["name"] not in brought]
            raise Locked(f"{lock['threshold']} shares open the ring and {len(brought)} came: ask {', '.join(others)}.")


@dataclass(frozen=True, slots=True)
class Split:
    """Sealer that splits the sealing key among custodians.

    Attributes:
        threshold: how many of them open the ring, at least MIN_THRESHOLD.
        custodians: their names, and their public keys as age or SSH write them.
        deliver: is given what is each custodian's own, encrypted to them, before the lock is made.
        entropy: the source of keys and nonces.
    """

    kind: ClassVar[str] = Custodians.kind
    threshold: int
    custodians: Mapping[str, str]
    deliver: Callable[[Mapping[str, bytes]], None] = field(repr=False)
    entropy: Callable[[int], bytes] = field(repr=False, default=os.urandom)

    def seal(self, root: bytes, name: str, ring: str) -> Document:
        """Split a fresh key that seals the root key.

        Raises:
            Malformed: the threshold does not fit, or a public key is none, or another custodian's too.
        """
        if len(self.custodians) > MAX_CUSTODIANS:
            raise Malformed(f"there can be at most {MAX_CUSTODIANS} custodians, not {len(self.custodians)}")
        if not MIN_THRESHOLD <= self.threshold <= len(self.custodians):
            raise Malformed(
                f"the threshold must be from {MIN_THRESHOLD} to {len(self.custodians)} (the number of custodians)"
            )
        recipients = {custodian: _recipient(custodian, public) for custodian, public in self.custodians.items()}
        if len({" ".join(public.split()[:2]) for public in self.custodians.values()}) < len(recipients):
            raise Malformed("two custodians have one key: each holds a share with a key of their own")
        key, nonce, split = self.entropy(ROOT_SIZE), self.entropy(NONCE_SIZE), self.entropy(SPLIT_SIZE).hex()
        people = [{"name": custodian, "public": public} for custodian, public in self.custodians.items()]
        lock = {"name": name, "kind": self.kind, "split": split, "threshold": self.threshold, "custodians": people}
        sealed = {**lock, "sealed": text(nonce + AESGCM(key).encrypt(nonce, root, context(lock, ring)))}
        shares = [
            KeyShare(ring, split, custodian, self.threshold, len(people), words)
            for custodian, words in zip(self.custodians, _split(key, self.threshold, len(people)), strict=True)
        ]
        if Custodians(shares[-self.threshold :]).open(sealed, ring) != root:
            raise Unavailable("The shares that were made do not open the ring; nothing was written.")
        self.deliver({share.custodian: _encrypted(share, recipients[share.custodian]) for share in shares})
        return sealed


def decrypted(data: bytes, identities: Sequence[bytes], what: str) -> bytes:
    """Decrypt a custodian's share file, or return it unchanged if it is not encrypted.

    Args:
        data: the file.
        identities: private keys, as age (files of them, with comments) or SSH (without a passphrase) keep them.
        what: how messages call the file.

    Raises:
        Locked: no identity opens it.
        Malformed: an identity is none.
    """
    if not AGE.match(data):
        return data
    if not identities:
        raise Locked(f"{what} is encrypted: name its key with --identity, or open it with `age -d` first.")
    known = [identity for file in identities for identity in _identities(file)]
    try:
        return bytes(pyrage.decrypt(data, known))
    except pyrage.DecryptError:
        raise Locked(f"{what} is not opened by any of the identities, or was changed.") from None


def _identities(file: bytes) -> list[Any]:
    lines = [line.strip() for line in file.splitlines()]
    try:
        if secret_keys := [line.decode() for line in lines if line.startswith(b"AGE-SECRET-KEY-")]:
            return [pyrage.x25519.Identity.from_str(line) for line in secret_keys]
        return [pyrage.ssh.Identity.from_buffer(file)]
    except pyrage.IdentityError as error:
        raise Malformed(f"this identity cannot be used ({error}): open the share with `age -d` first") from None


def _recipient(custodian: str, public: str) -> Any:
    try:
        public.encode("ascii")
        if public.startswith("age1"):
            return pyrage.x25519.Recipient.from_str(public)
        if public.startswith("ssh-ed25519 "):
            return pyrage.ssh.Recipient.from_str(public)
    except (pyrage.RecipientError, UnicodeEncodeError):
        pass
    raise Malformed(f"the key of {custodian} is no public key of a supported type: give age1... or ssh-ed25519 ...")


def _encrypted(share: KeyShare, recipient: Any) -> bytes:
    return bytes(pyrage.encrypt(share.line(), [recipient], armored=True))


def _split(key: bytes, threshold: int, count: int) -> list[str]:
    groups = generate_mnemonics(1, [(threshold, count)], key, extendable=False, iteration_exponent=ITERATION_EXPONENT)
    return list(groups[0])


def _combined(mnemonics: Sequence[str]) -> bytes:
    try:
        return bytes(combine_mnemonics(list(mnemonics)))
    except MnemonicError:
        raise Locked("These shares do not go together: one of them was changed, or is from another split.") from None
