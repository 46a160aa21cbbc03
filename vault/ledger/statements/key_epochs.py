"""Key epochs of a log: which key signs its heads, from which tree size on.

A `key` statement at leaf n hands the log over from one key to another. It names both, and n itself, and both have
signed these lines, so that neither who holds the old one alone nor who holds the new one alone can make it:

    quarterturn/log-key/v1
    <old verifier key>
    <new verifier key>
    <n>

Heads over at most n leaves are the old key's, heads over more are the new key's; a head by the other one is refused.
No such text is a checkpoint, whose second line is a number, so a signature under one never counts under the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from vault.errors import Broken, Malformed
from vault.ledger.signatures.note import Note, Verifier, decode_base64
from vault.ledger.statements.history import LoggedStatement
from vault.ledger.statements.statement import SHA, Statement

KIND = "key"
_MARK = b'"urn:quarterturn:key:v1"'  # stands in every leaf of this kind, and seldom in another


def text(old: str, new: str, size: int) -> bytes:
    """Give the text that both keys sign."""
    return f"quarterturn/log-key/v1\n{old}\n{new}\n{size}\n".encode()


@dataclass(frozen=True)
class KeyEpochs:
    """The keys of a log, in order, each with the tree sizes that it signs.

    Attributes:
        first: the key of its first heads.
        later: `(leaf, key)` for each statement that hands the log over.
    """

    first: str
    later: tuple[tuple[int, str], ...] = ()

    @classmethod
    def read(cls, origin: str, entries: Iterable[LoggedStatement], head: Note) -> KeyEpochs:
        """Read the `key` statements of a log; where there are none, the key that signed its head is the only one.

        Raises:
            Broken: one is not signed by both keys, stands elsewhere than it says, is of another log, or does not begin
                where the last one ended.
        """
        handovers = [(entry.index, *_both(origin, entry)) for entry in entries]
        first = handovers[0][1] if handovers else next(vkey for vkey in head.verified if _is_of(origin, vkey))
        keys = [first]
        for index, old, new in handovers:
            if old != keys[-1]:
                raise Broken(
                    f"leaf {index} hands the log over from {old}, whose key at that leaf is {keys[-1]}",
                    where=f"leaf {index}: $.predicate.old",
                    expected=keys[-1],
                    found=old,
                )
            if new in keys:
                raise Broken(
                    f"leaf {index} hands the log over to {new}, which was its key before",
                    where=f"leaf {index}: $.predicate.new",
                    found=new,
                )
            keys.append(new)
        return cls(first, tuple((index, new) for index, _, new in handovers))

    def of(self, size: int) -> str:
        """Give the key that signs heads of this size."""
        return next((new for index, new in reversed(self.later) if index < size), self.first)

    def require(self, note: Note, size: int, what: str) -> None:
        """Check that a head of this size is signed by the key of its epoch, and by no other of the log's keys.

        Raises:
            Broken: it is not; the message names the key that should have signed.
        """
        wanted = self.of(size)
        others = {self.first, *(new for _, new in self.later)} - {wanted}
        if wanted in note.verified and not others.intersection(note.verified):
            return
        changes = ", ".join(str(index) for index, _ in self.later) or "none"
        raise Broken(
            f"{what} covers {size} leaves, and the log's key at that size is {wanted} (leaves that change it: "
            f"{changes}), but it is signed by {', '.join(note.verified)}",
            where=f"the signatures of {what}",
            expected=[wanted],
            found=list(note.verified),
        )


def introduced(origin: str, leaves: Iterable[bytes], given: Sequence[str]) -> str | None:
    """Say how a key that the caller did not give was introduced by one that the caller gave, or give None.

    The leaves need not be proven to be in the log: such a statement bears the signature of the key that was given.
    """
    explanation = None
    known = list(given)
    for index, leaf in enumerate(leaves):
        if _MARK in leaf:
            try:
                old, new = _both(origin, LoggedStatement(index, Statement.parse(leaf)))
            except (Broken, Malformed):
                continue
            if old in known and new not in known:
                explanation = (
                    f"leaf {index} hands the log over from {old} to {new}, and both keys signed that; an audit takes "
                    "keys from its caller alone: ask whoever gave you the old one, and give the new one too (--key)"
                )
                known.append(new)
    return explanation


def successors(origin: str, leaves: Iterable[bytes], start: int) -> Iterator[str]:
    """Give the keys to which these leaves hand a log over; `start` is the index of the first.

    Raises:
        Broken, Malformed: one of them is no statement that does so.
    """
    for index, leaf in enumerate(leaves, start):
        if _MARK in leaf and (statement := Statement.parse(leaf, f"leaf {index}")).kind == KIND:
            yield _both(origin, LoggedStatement(index, statement))[1]


def _both(origin: str, entry: LoggedStatement) -> tuple[str, str]:
    """Give the old and the new key of a statement that both signed."""
    says = entry.statement.predicate
    old, new = Verifier.parse(says["old"]), Verifier.parse(says["new"])
    if not origin == old.name == new.name == entry.statement.name:
        raise Broken(
            f"leaf {entry.index} hands over the log {new.name}, and this log is {origin}",
            where=f"leaf {entry.index}: the names of the log and of both keys",
            expected=[origin, origin, origin],
            found=[entry.statement.name, old.name, new.name],
        )
    computed = hashlib.sha256(new.public).hexdigest()
    if entry.statement.digest[SHA] != computed:
        raise Broken(
            f"leaf {entry.index} has not the digest of the new key that it names",
            where=f"leaf {entry.index}: $.subject[0].digest",
            expected=computed,
            found=entry.statement.digest[SHA],
        )
    if says["size"] != entry.index:
        raise Broken(
            f"leaf {entry.index} hands the log over at leaf {says['size']}, which is not where it stands",
            where=f"leaf {entry.index}: $.predicate.size",
            expected=entry.index,
            found=says["size"],
        )
    for word, key in (("old", old), ("new", new)):
        signature = decode_base64(says["signatures"][word], f"the {word} key's signature at leaf {entry.index}")
        signed = text(old.vkey, new.vkey, says["size"])
        if not key.accepts(signed, signature):
            raise Broken(
                f"leaf {entry.index} hands the log over to {new.vkey}, and the {word} key did not sign that",
                where=f"leaf {entry.index}: $.predicate.signatures.{word}",
                expected={"key": key.vkey, "text": signed.decode()},
                found={"signature": signature},
            )
    return old.vkey, new.vkey


def _is_of(origin: str, vkey: str) -> bool:
    return vkey.partition("+")[0] == origin
