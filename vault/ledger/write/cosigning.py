"""Collects witness cosignatures: a head counts only once the quorum of a policy has cosigned it.

It makes the last two steps of the writer (`vault.ledger.write.append`):

4. the witnesses are asked for the signed and published head, all at the same time; one that has another size on record
   says so and is asked again with the proof from there; every line is verified before it counts
5. the lines are put under the public copy, if they are enough: `checkpoints/<size>`, then `checkpoint`

After a crash the next `require` continues: a witness that signed already signs again. A witness that cannot be reached,
refuses or answers incorrectly is named, and so is one that was shown another history of this log. Lines by keys that
the policy does not name are ignored. This module does no HTTP: the caller passes in the function that posts to a URL.
"""

from __future__ import annotations

import base64
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue

from vault.errors import Broken, Malformed, Unavailable, VaultError
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.cosignature import Witness
from vault.ledger.signatures.note import line, read_line, take_apart
from vault.ledger.signatures.policy import Policy, PolicyMember
from vault.ledger.write.log_files import LogFiles
from vault.ledger.write.witness import SIZE, WitnessReply

Ask = Callable[[str, bytes], WitnessReply]
"""Posts a body to a URL. Raises Unavailable, with the reason, where there is no answer."""

TRIES = 3
_COUNT = re.compile(rb"(0|[1-9][0-9]{0,18})\n")
_SAYS = {
    404: "does not know this log",
    403: "does not know this log's key",
    422: "has seen another history of this log",
    409: "has seen another tree of this size",
}
_LONGEST_REASON = 160


@dataclass(frozen=True)
class CosigningResult:
    """Result of asking the witnesses: signature lines and complaints, by the policy's names of the witnesses."""

    lines: Mapping[str, str]
    complaints: Mapping[str, str]


class Witnesses:
    """The witnesses of one log.

    Args:
        writer: the log's only writer.
        policy: the witnesses, the URLs of their submission prefixes, and the quorum.
        ask: posts a request to a URL.
        on_complaint: called with a sentence for each witness that did not cosign although the quorum was reached.
        patience: seconds for the quorum to come together.
        grace: seconds for the others after that.
    """

    def __init__(
        self,
        writer: LogFiles,
        policy: Policy,
        ask: Ask,
        *,
        on_complaint: Callable[[str], None] = lambda _sentence: None,
        patience: float = 15.0,
        grace: float = 0.5,
    ) -> None:
        self.policy = replace(policy, logs=[PolicyMember(verifier) for verifier in writer.verifiers])
        self._writer, self._ask, self._on_complaint = writer, ask, on_complaint
        self._patience, self._grace = patience, grace
        self._on_record: dict[str, int] = {}  # by URL; a guess that a witness puts right

    def head(self) -> Checkpoint:
        """Return the newest published head that the quorum cosigned (size 0 if there is none)."""
        for note in self._writer.notes():
            with suppress(Malformed, Broken):
                return self.policy.open(note).checkpoint
        return Checkpoint.empty(self._writer.origin)

    def require(self) -> Checkpoint:
        """Have the newest head cosigned, and give it.

        Raises:
            Unavailable: too few witnesses cosigned it, or the disk failed; nothing is lost, call again.
        """
        try:
            return self._require()
        except OSError as error:
            raise Unavailable(
                f"the log in {self._writer.folder} cannot be read: {error.strerror}; nothing is lost, call again"
            ) from error

    def _require(self) -> Checkpoint:
        while (note := self._writer.note()) is not None:
            head = Checkpoint.parse(take_apart(note)[0])
            done = self.head()
            if done.size == head.size:
                return done
            result = self._gather(head, note, done.size)
            if self.policy.satisfied(result.lines):
                self._writer.put_under(note, "".join(result.lines.values()))
                for name, complaint in result.complaints.items():
                    self._on_complaint(f"witness {name} {complaint}; the others were enough")
            elif self._writer.size == head.size:  # else another process published, and they were asked for its head
                raise Unavailable(self._lacking(head, result))
        return Checkpoint.empty(self._writer.origin)

    def _lacking(self, head: Checkpoint, result: CosigningResult) -> str:
        who = "; ".join(f"{name} {complaint}" for name, complaint in result.complaints.items())
        return (
            f"the head of {head.size} leaves is signed and published, but too few witnesses have cosigned it for the "
            f"quorum {self.policy.quorum!r}: {who}. Nothing is lost, and nothing goes live before they have: call again"
        )

    def _gather(self, head: Checkpoint, note: str, guess: int) -> CosigningResult:
        """Ask every witness that has a URL; the answer of one server counts for all of its keys."""
        lines: dict[str, str] = {}
        complaints = {
            name: "has no URL in the policy" for name, member in self.policy.witnesses.items() if not member.url
        }
        waiting = self._by_url()
        answers: SimpleQueue[tuple[str, dict[str, str], str]] = SimpleQueue()

        def ask(url: str, keys: Mapping[str, Witness]) -> None:
            try:
                answers.put((url, _lines(self._signed(url, head, note, guess), keys, head), "gave no line of its key"))
            except (VaultError, OSError) as error:
                answers.put((url, {}, " ".join(str(error).split())))

        for asked in waiting.items():
            threading.Thread(target=ask, args=asked, name=f"ask {asked[0]}", daemon=True).start()
        deadline = time.monotonic() + self._patience
        while waiting:
            try:
                url, signed, complaint = answers.get(timeout=max(0.0, deadline - time.monotonic()))
            except Empty:
                break
            lines |= signed
            complaints |= {name: complaint for name in waiting.pop(url) if name not in signed}
            if self.policy.satisfied(lines):
                deadline = min(deadline, time.monotonic() + self._grace)
        complaints |= {name: "did not answer in time" for keys in waiting.values() for name in keys}
        return CosigningResult(lines, complaints)

    def _by_url(self) -> dict[str, dict[str, Witness]]:
        by_url: dict[str, dict[str, Witness]] = {}
        for name, member in self.policy.witnesses.items():
            if member.url and isinstance(member.key, Witness):
                by_url.setdefault(member.url.rstrip("/"), {})[name] = member.key
        return by_url

    def _signed(self, url: str, head: Checkpoint, note: str, guess: int) -> bytes:
        """Ask one witness, again after it corrected the size; gives the body of its 200 answer."""
        old = min(self._on_record.get(url, guess), head.size)
        for _ in range(TRIES):
            proof = self._writer.prove_consistency(old, head.size) if 0 < old < head.size else []
            reply = self._ask(f"{url}/add-checkpoint", request(old, proof, note))
            if reply.status == 200:  # noqa: PLR2004 - as tlog-witness has it
                self._on_record[url] = head.size
                return reply.body
            if reply.status != 409 or reply.content_type.partition(";")[0].strip() != SIZE:  # noqa: PLR2004 - likewise
                raise Broken(
                    _refusal(reply), where=f"the answer of {url}", expected=200, found=[reply.status, reply.body]
                )
            match = _COUNT.fullmatch(reply.body)
            if match is None or int(match[1]) == old:
                raise Broken(
                    "answered incorrectly: a conflict that names no other size",
                    where=f"the answer of {url}",
                    expected=f"another size than {old}",
                    found=reply.body,
                )
            old = self._on_record[url] = int(match[1])
            if old > head.size:
                raise Broken(
                    f"has cosigned {old} leaves of this log, which has {head.size}: it has seen another history",
                    where=f"the size that {url} names",
                    expected=f"0 to {head.size}",
                    found=old,
                )
        raise Broken("named a new size each time that it was asked", where=f"the size that {url} names", found=old)


def request(old: int, proof: Sequence[bytes], note: str) -> bytes:
    """Write the body of a request to a witness (C2SP tlog-witness, `add-checkpoint`)."""
    return "\n".join([f"old {old}", *(base64.b64encode(digest).decode() for digest in proof), "", note]).encode()


def _lines(body: bytes, keys: Mapping[str, Witness], head: Checkpoint) -> dict[str, str]:
    """Read an answer: the lines by these keys that verify.

    Raises:
        Broken: it is no signature lines, or one by these keys does not verify.
    """
    text, known = head.format().encode(), {(key.name, key.key_id): name for name, key in keys.items()}
    lines: dict[str, str] = {}
    try:
        parts = [read_line(raw_line) for raw_line in body.decode().removesuffix("\n").split("\n")]
    except (UnicodeDecodeError, Malformed) as error:
        raise Broken("answered incorrectly: no signature lines", where="the answer", found=body) from error
    for name, identity, signature in parts:
        whose = known.get((name, identity))
        if whose is None:
            continue
        if not keys[whose].accepts(text, signature):
            raise Broken(
                "answered with a signature that does not verify",
                where=f"the cosignature of {name}",
                expected={"key": keys[whose].vkey, "text": text},
                found={"signature": signature},
            )
        lines[whose] = line(name, identity, signature)
    return lines


def _refusal(reply: WitnessReply) -> str:
    reason = reply.body[:_LONGEST_REASON].decode(errors="replace").strip()
    quoted = f": {reason}" if reason.isprintable() and reason else ""
    return f"{_SAYS.get(reply.status, 'gave no cosignature')} ({reply.status}{quoted})"
