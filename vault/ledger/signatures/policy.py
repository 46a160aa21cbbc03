"""Trust policies: which logs and witnesses count, and the quorum. C2SP tlog-policy (https://c2sp.org/tlog-policy).

    log <vkey> [<url>]
    witness <name> <vkey> [<url>]
    group <name> all|any|<k> <member>...
    quorum <name>|none

Lines end in a newline, parts are set apart by spaces and tabs, `#` begins a comment line. A name is defined before it
is used and is the member of one group at most, so that a witness counts once. One public key stands once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from vault.errors import Broken, Malformed, within
from vault.ledger.signatures.checkpoint import Checkpoint, open_checkpoint
from vault.ledger.signatures.cosignature import MLDSA44, Witness, time_of
from vault.ledger.signatures.library import HAS_MLDSA44
from vault.ledger.signatures.note import Verifier

NONE = "none"
MOST_LINES = 4096
_CONTROLS = frozenset((*range(0x20), 0x7F)) - {0x09}
_UNSTATED = ""  # the quorum of a policy, until its line is read
_POLICY_LINES = (
    "a line is `log VKEY [URL]`, `witness NAME VKEY [URL]`, `group NAME all|any|NUMBER MEMBER...`, "
    "`quorum NAME|none`, or begins with #"
)


@dataclass(frozen=True)
class PolicyMember:
    """A log or a witness that a policy names: its key and its URL."""

    key: Verifier
    url: str | None = None


@dataclass(frozen=True)
class Cosigned:
    """A checkpoint that a policy accepts.

    Attributes:
        checkpoint: the head.
        witnesses: the policy's names of those that cosigned it, with the POSIX time (seconds) that each says.
    """

    checkpoint: Checkpoint
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
        *lines, rest = (data if isinstance(data, bytes) else data.encode()).split(b"\n")
        if rest or len(lines) > MOST_LINES:
            raise Malformed(f"a policy has at most {MOST_LINES} lines, and each ends in a newline")
        policy = cls(quorum=_UNSTATED)
        for number, line in enumerate(lines, 1):
            with within(f"line {number} of the policy"):
                policy._read(line)
        if policy.quorum == _UNSTATED:
            raise Malformed("a policy has a line `quorum NAME`, or `quorum none`; this one has not")
        return policy

    def with_logs(self, keys: Sequence[Verifier]) -> Policy:
        """Return a policy that knows the logs of these keys, unless this one names logs itself."""
        return self if self.logs else replace(self, logs=[PolicyMember(key) for key in keys])

    def satisfied(self, cosigned: Collection[str]) -> bool:
        """Tell whether these witnesses, by name, make the quorum."""
        return self.quorum is None or self._witnessed(self.quorum, cosigned)

    def verifiable(self) -> dict[str, Verifier]:
        """Return the witnesses whose cosignatures can be verified here, by name."""
        named = {name: member.key for name, member in self.witnesses.items()}
        return {name: key for name, key in named.items() if key.kind != MLDSA44 or HAS_MLDSA44}

    def open(self, note: str | bytes) -> Cosigned:
        """Verify a checkpoint against the policy.

        Raises:
            Malformed: it is no signed checkpoint.
            Broken: no log of the policy signed it, a known key's signature does not verify, or too few cosigned.
        """
        able, logs = self.verifiable(), [member.key for member in self.logs]
        checkpoint, opened = open_checkpoint(note, logs, [*able.values()])
        signed = {name: opened.verified.get(key.vkey) for name, key in able.items()}
        seen = {name: time_of(signature) for name, signature in signed.items() if signature}
        if not self.satisfied(seen):
            by = ", ".join(seen) or "no witness of the policy"
            what = f"the checkpoint is cosigned by {by}; the quorum {self.quorum!r} needs more"
            if unread := ", ".join(name for name in self.witnesses if name not in able):
                what += f" ({unread}: ML-DSA-44 is verified with the package cryptography only)"
            quorum = {"quorum": self.quorum, "groups": self.groups}
            raise Broken(what, where="the cosignatures", expected=quorum, found=[*seen])
        return Cosigned(checkpoint, seen)

    def _witnessed(self, name: str, cosigned: Collection[str]) -> bool:
        if name in self.witnesses:
            return name in cosigned
        least, members = self.groups[name]
        return sum(self._witnessed(member, cosigned) for member in members) >= least

    def _read(self, line: bytes) -> None:
        """Read one line, into the attributes."""
        if not _CONTROLS.isdisjoint(line):
            raise Malformed("it has a control character")
        text = line.decode("utf-8", "surrogateescape").replace("\t", " ")
        match [part for part in text.split(" ") if part]:
            case ["log", vkey, *url] if len(url) <= 1:
                self.logs.append(self._member(Verifier.parse(vkey), url))
            case ["witness", name, vkey, *url] if len(url) <= 1:
                self._require_new(name)
                self.witnesses[name] = self._member(Witness.parse(vkey), url)
            case ["group", name, least, *members] if members:
                self._require_new(name)
                self._require_members(members)
                count = {"any": "1", "all": str(len(members))}.get(least, least)
                if count not in map(str, range(1, len(members) + 1)):
                    right = f"`all`, nor `any`, nor a number from 1 to {len(members)}"
                    raise Malformed(f"{least[:20]!r} is neither {right}")
                self.groups[name] = (int(count), tuple(members))
            case ["quorum", name]:
                if self.quorum != _UNSTATED:
                    raise Malformed("there is a quorum already")
                self._require_known([] if name == NONE else [name])
                self.quorum = None if name == NONE else name
            case [word, *_] if not word.startswith("#"):
                raise Malformed(_POLICY_LINES)

    def _require_new(self, name: str) -> None:
        if name in {NONE, *self.witnesses, *self.groups}:
            raise Malformed(f"{name[:40]!r} is taken")

    def _require_known(self, names: Sequence[str]) -> None:
        known = self.witnesses.keys() | self.groups.keys()
        if unknown := [name for name in names if name not in known]:
            raise Malformed(f"no line before defines {unknown[0][:40]!r}")

    def _require_members(self, names: Sequence[str]) -> None:
        self._require_known(names)
        counts = Counter(chain(names, *(members for _, members in self.groups.values())))
        if again := [name for name in names if counts[name] > 1]:
            raise Malformed(f"{again[0][:40]!r} is a member already, and counts once")

    def _member(self, key: Verifier, url: Sequence[str]) -> PolicyMember:
        members = (*self.logs, *self.witnesses.values())
        if any(member.key.public == key.public for member in members):
            raise Malformed(f"the public key of {key.name} stands in the policy already")
        return PolicyMember(key, *url)
