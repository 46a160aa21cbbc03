"""Trust policies: which logs and witnesses count, and the quorum. C2SP tlog-policy (https://c2sp.org/tlog-policy).

    log <vkey> [<url>]
    witness <name> <vkey> [<url>]
    group <name> all|any|<k> <member>...
    quorum <name>|none

Lines end in a newline, parts are set apart by spaces and tabs, `#` begins a comment line. A name is defined before it
is used and is the member of one group at most, so that a witness counts once. One public key stands once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from vault.errors import Broken, Malformed
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.cosignature import Witness, times, verifiable
from vault.ledger.signatures.note import Verifier, open_note

NONE = "none"
MOST_LINES = 4096
_TAB, _SPACE, _DELETE = 0x09, 0x20, 0x7F
_POLICY_LINES = (
    "a line is `log VKEY [URL]`, `witness NAME VKEY [URL]`, `group NAME all|any|NUMBER MEMBER...`, "
    "`quorum NAME|none`, or begins with #"
)


@dataclass(frozen=True)
class PolicyMember:
    """A log or a witness that a policy names: its key and its URL."""

    key: Verifier | Witness
    url: str | None = None


@dataclass(frozen=True)
class Cosigned:
    """A checkpoint that a policy accepts.

    Attributes:
        checkpoint: the head.
        log: the vkey of the log that signed it.
        witnesses: the policy's names of those that cosigned it, with the POSIX time (seconds) that each says.
    """

    checkpoint: Checkpoint
    log: str
    witnesses: dict[str, int]


@dataclass
class Policy:
    """A parsed policy file.

    Attributes:
        logs: those that are known.
        witnesses: by the name that the file gives them.
        groups: how many of which members it takes.
        quorum: the witness or group that has to have cosigned; None where nobody has to.
    """

    logs: list[PolicyMember] = field(default_factory=list)
    witnesses: dict[str, PolicyMember] = field(default_factory=dict)
    groups: dict[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    quorum: str | None = None

    @classmethod
    def parse(cls, data: str | bytes) -> Policy:
        """Read a policy file.

        Raises:
            Malformed: the message names the line.
        """
        return _Reader().read(data if isinstance(data, bytes) else data.encode())

    def satisfied(self, cosigned: Collection[str]) -> bool:
        """Tell whether these witnesses, by name, make the quorum."""
        return self.quorum is None or self._witnessed(self.quorum, cosigned)

    def verifiable(self) -> dict[str, Witness]:
        """Give the witnesses whose cosignatures can be verified here, by name."""
        named = {name: member.key for name, member in self.witnesses.items()}
        return {n: key for n, key in named.items() if isinstance(key, Witness) and verifiable(key)}

    def open(self, note: str | bytes) -> Cosigned:
        """Verify a checkpoint against the policy.

        Raises:
            Malformed: it is no signed checkpoint.
            Broken: no log of the policy signed it, a known key's signature does not verify, or too few cosigned.
        """
        able = self.verifiable()
        opened = open_note(note, [*(member.key for member in self.logs), *able.values()])
        checkpoint = Checkpoint.parse(opened.text)
        signed = [member.key.vkey for member in self.logs if member.key.name == checkpoint.origin]
        log = next((vkey for vkey in signed if vkey in opened.verified), None)
        if log is None:
            what = f"the checkpoint of {checkpoint.origin} is signed by no log of the policy"
            known, found = [member.key.vkey for member in self.logs], list(opened.verified)
            raise Broken(what, where="the signatures", expected=known, found=found)
        timestamps = times(note, able.values())
        seen = {n: timestamps[key.vkey] for n, key in able.items() if key.vkey in opened.verified}
        if not self.satisfied(seen):
            unread = ", ".join(name for name in self.witnesses if name not in able)
            lacks = f" ({unread}: ML-DSA-44 is verified with the package cryptography only)"
            by = ", ".join(seen) or "no witness of the policy"
            what = f"the checkpoint is cosigned by {by}; the quorum {self.quorum!r} needs more"
            quorum = {"quorum": self.quorum, "groups": self.groups}
            where = "the cosignatures"
            raise Broken(what + lacks * bool(unread), where=where, expected=quorum, found=list(seen))
        return Cosigned(checkpoint, log, seen)

    def _witnessed(self, name: str, cosigned: Collection[str]) -> bool:
        if name in self.witnesses:
            return name in cosigned
        least, members = self.groups[name]
        return sum(self._witnessed(member, cosigned) for member in members) >= least


class _Reader:
    """Reads a policy file line by line."""

    def __init__(self) -> None:
        self._policy = Policy()
        self._publics: set[bytes] = set()
        self._members: set[str] = set()
        self._quorum: str | None = None

    def read(self, data: bytes) -> Policy:
        *lines, rest = data.split(b"\n")
        if rest or len(lines) > MOST_LINES:
            raise Malformed(f"a policy has at most {MOST_LINES} lines, each of which ends in a newline")
        for number, line in enumerate(lines, 1):
            try:
                self._line(line)
            except Malformed as error:
                where = f"line {number} of the policy"
                raise error.with_message(f"{where}: {error}", where) from error
        if self._quorum is None:
            raise Malformed("a policy has a line `quorum NAME`, or `quorum none`; this one has not")
        self._policy.quorum = None if self._quorum == NONE else self._quorum
        return self._policy

    def _line(self, line: bytes) -> None:
        if any((byte < _SPACE and byte != _TAB) or byte == _DELETE for byte in line):
            raise Malformed("it has a control character")
        text = line.decode("utf-8", "surrogateescape").replace("\t", " ")
        match [part for part in text.split(" ") if part]:
            case ["log", vkey, *url] if len(url) <= 1:
                self._policy.logs.append(self._named(Verifier.parse(vkey), url))
            case ["witness", name, vkey, *url] if len(url) <= 1:
                self._new(name)
                self._policy.witnesses[name] = self._named(Witness.parse(vkey), url)
            case ["group", name, least, _, *_] as parts:
                self._group(name, least, parts[3:])
            case ["quorum", name]:
                if self._quorum is not None:
                    raise Malformed("there is a quorum already")
                self._require_known(name if name != NONE else None)
                self._quorum = name
            case [word, *_] if not word.startswith("#"):
                raise Malformed(_POLICY_LINES)

    def _group(self, name: str, least: str, members: list[str]) -> None:
        self._new(name)
        for member in members:
            self._require_known(member)
            if member in self._members:
                raise Malformed(f"{member[:40]!r} is a member already, and counts once")
            self._members.add(member)
        words = {"any": "1", "all": str(len(members))}
        count = words.get(least, least)
        if count not in map(str, range(1, len(members) + 1)):
            raise Malformed(f"{least[:20]!r} is neither `all`, nor `any`, nor a number from 1 to {len(members)}")
        self._policy.groups[name] = (int(count), tuple(members))

    def _require_known(self, name: str | None) -> None:
        if name is not None and name not in {*self._policy.witnesses, *self._policy.groups}:
            raise Malformed(f"no line before defines {name[:40]!r}")

    def _new(self, name: str) -> None:
        if name in {NONE, *self._policy.witnesses, *self._policy.groups}:
            raise Malformed(f"{name[:40]!r} is taken")

    def _named(self, key: Verifier | Witness, url: list[str]) -> PolicyMember:
        if key.public in self._publics:
            raise Malformed(f"the public key of {key.name} stands in the policy already")
        self._publics.add(key.public)
        return PolicyMember(key, *url)
