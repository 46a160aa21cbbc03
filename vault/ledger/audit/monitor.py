"""Log monitor: checks that a log still extends the head that was kept, and reports promises that it has not met.

1. its head is signed by a given key, and is no older than the one that was kept; if the log was handed over to another
   key, both must be given, and each head is the key's of its size
2. its tiles give the root of the head that was kept, and its leaves that of the new one; where they do not, there are
   two histories, and both heads are the evidence
3. what the leaves say is replayed: cohorts that should have been opened by now, tasks that were withdrawn, runs that
   were opened a week and more ago and are not closed

Leaves carry no times of day, so the monitor's own state holds when a run was first seen open. Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from vault.errors import Broken, Disagreement, VaultError
from vault.ledger.signatures.checkpoint import Checkpoint, open_checkpoint
from vault.ledger.signatures.note import Note, Verifier, take_apart
from vault.ledger.statements.log_state import LogState, introduced
from vault.ledger.statements.rules import agree
from vault.ledger.tree.merkle import leaf_hash, root_from
from vault.ledger.tree.tiles import HEAD, WIDTH, Frontier, Read, TileTree, bundles_of, entries_path, unpack_entries

CLOSED_WITHIN = timedelta(days=7)
OPENED_WITHIN = timedelta(days=7)  # after the month in which a cohort retires


@dataclass(frozen=True)
class MonitorState:
    """State that a monitor keeps between two checks of a log.

    Attributes:
        head: the last head, a signed note.
        open_since: when each run that is open was first seen so, ISO 8601 in UTC, by its number as text.
    """

    head: str
    open_since: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class MonitorReport:
    """Result of one check of a log.

    Attributes:
        seen: the state to keep for the next check.
        size: how many leaves the log has.
        alarms: broken promises: a fork, an overdue cohort, a run that nobody closed.
        news: what was withdrawn since the last check, and the keys that the log was handed over to.
        evidence: of a fork, what disagrees.
    """

    seen: MonitorState
    size: int
    alarms: Sequence[str]
    news: Sequence[str]
    evidence: Disagreement | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        data = {"size": self.size, "alarms": list(self.alarms), "news": list(self.news)}
        return data | ({"evidence": self.evidence.as_json()} if self.evidence else {})


def check_log(read: Read, verifiers: Sequence[Verifier], previous: MonitorState | None, now: datetime) -> MonitorReport:
    """Check a log once against the state that the last check kept.

    Args:
        read: gives a file of the log's folder.
        verifiers: its keys.
        previous: the state that the last check kept, if there was one.
        now: the present moment, with its time zone.

    Raises:
        Malformed, Broken: the log cannot be read, or is signed by none of the keys.
    """
    note = read(HEAD).decode(errors="replace")
    head, signed = _open(note, read, verifiers)
    before, signed_before = _open_kept(previous.head, verifiers) if previous else (None, None)
    if previous and before and (fork := _forked(read, before, head)):
        alarm = f"{fork}\n--- kept\n{previous.head}--- shown now\n{note}"
        return MonitorReport(previous, head.size, [alarm], [], fork.evidence)
    log = _replayed(read, head)
    log.keys = log.keys or [(0, next(iter(signed.verified)))]
    log.require_key(head.size, signed.verified, "the head")
    if before and signed_before:
        log.require_key(before.size, signed_before.verified, "the head that was kept")
    since, size = _open_since(log, previous, now), before.size if before else 0
    return MonitorReport(
        MonitorState(note, since),
        head.size,
        [*_overdue(log, now), *_unclosed(since, now)],
        [*_withdrawn(log, size), *_handed_over(log, size)],
    )


def _open(note: str, read: Read, verifiers: Sequence[Verifier]) -> tuple[Checkpoint, Note]:
    """Open the head; if a given key introduced its signer, the error says so."""
    try:
        return open_checkpoint(note, verifiers)
    except Broken as error:
        head = Checkpoint.parse(take_apart(note)[0])
        leaves = (leaf for _, leaf in _leaves(read, head.size))
        if handover := introduced(head.origin, leaves, [verifier.vkey for verifier in verifiers]):
            raise error.with_message(f"{error}; {handover}", HEAD) from None
        raise error.with_message(str(error), HEAD) from None


def _open_kept(note: str, verifiers: Sequence[Verifier]) -> tuple[Checkpoint, Note]:
    try:
        return open_checkpoint(note, verifiers)
    except Broken as error:
        raise error.with_message(str(error), "the head that was kept") from None


def _forked(read: Read, before: Checkpoint, head: Checkpoint) -> Broken | None:
    """Return the error of a new head that contradicts the one that was kept, or None."""
    if head.origin != before.origin:
        return Broken(
            f"the log is {head.origin}, and the one that was followed is {before.origin}",
            where=f"{HEAD}: the origin",
            expected=before.origin,
            found=head.origin,
        )
    if head.size < before.size:
        return Broken(
            f"the log went back from {before.size} leaves to {head.size}",
            where=f"{HEAD}: the size",
            expected=f"{before.size} or more",
            found=head.size,
        )
    try:
        tree = TileTree(head.size, read)
        old, new = root_from(tree.node, before.size), root_from(tree.node, head.size)
    except Broken as error:
        return error.with_message(f"the log's tiles are not all there ({error})")
    if new != head.root:
        return Broken(
            f"the log's tiles give the root {new.hex()} at {head.size} leaves, and it signed {head.root.hex()}",
            where=f"the tiles' root at size {head.size}",
            expected=head.root,
            found=new,
        )
    if old != before.root:
        return Broken(
            f"there are two histories: at {before.size} leaves the log has the root {old.hex()} now",
            where=f"the tiles' root at size {before.size}",
            expected=before.root,
            found=old,
        )
    return None


def _replayed(read: Read, head: Checkpoint) -> LogState:
    """Read every statement, and hold them against the head."""
    frontier, log = Frontier(), LogState(head.origin)
    contradiction: VaultError | None = None  # of two leaves, if they are those that were signed
    for _, leaf in _leaves(read, head.size):
        for _ in frontier.extend([leaf_hash(leaf)]):
            pass
        if contradiction is None:
            try:
                log.take(leaf)
            except VaultError as error:
                contradiction = error
    agree("log.root", f"the root of the {head.size} leaves", head.root, frontier.root())
    if contradiction:
        raise contradiction
    return log


def _leaves(read: Read, size: int) -> Iterator[tuple[int, bytes]]:
    for index, width in bundles_of(size):
        path = entries_path(index, width)
        yield from enumerate(unpack_entries(read(path), width, path), index * WIDTH)


def _open_since(log: LogState, previous: MonitorState | None, now: datetime) -> dict[str, str]:
    """Return when each open run was first seen open."""
    known = previous.open_since if previous else {}
    runs = [str(number) for number, run in log.runs.items() if run.close is None]
    return {run: known.get(run, now.isoformat(timespec="seconds")) for run in runs}


def _overdue(log: LogState, now: datetime) -> list[str]:
    """Name the cohorts that are still unopened a week after their month has ended."""
    cohorts = {item["id"]: str(item["retires"]) for entry in log.sets for item in entry.says["cohorts"]}
    retired = {item.leaf.says["cohort"] for item in log.retirements}
    return [
        f"{name} was to be opened in {month} and is not"
        for name, month in sorted(cohorts.items())
        if name not in retired and month < (now - OPENED_WITHIN).strftime("%Y-%m")
    ]


def _unclosed(since: Mapping[str, str], now: datetime) -> list[str]:
    return [
        f"run {run} has been open since {first}, and {CLOSED_WITHIN.days} days is the longest"
        for run, first in since.items()
        if now - datetime.fromisoformat(first) > CLOSED_WITHIN
    ]


def _withdrawn(log: LogState, size: int) -> list[str]:
    return [
        f"{entry.name} was withdrawn at leaf {entry.index} ({entry.says['cause']}): {entry.says['reason']}"
        for entry in (item.leaf for item in log.withdrawals)
        if entry.index >= size
    ]


def _handed_over(log: LogState, size: int) -> list[str]:
    return [
        f"the log was handed over at leaf {index} to {new}, as both keys say"
        for index, new in log.keys[1:]
        if index >= size
    ]
