"""Audit steps about the log: it is whole, signed in time, and no leaf contradicts another.

Each step takes the state, adds what it finds, and gives `(state, sentence)`; it raises where bytes
disagree.
"""

from __future__ import annotations

import json
import time
from calendar import timegm
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest

from vault.errors import Broken, Malformed, VaultError, within
from vault.ledger.audit.audit_state import AuditState, Outcome
from vault.ledger.release.bundle_reader import Bundle
from vault.ledger.release.contents import LOG, MANIFEST
from vault.ledger.signatures.checkpoint import Checkpoint, open_checkpoint
from vault.ledger.signatures.note import Verifier, open_note, take_apart
from vault.ledger.signatures.policy import Policy
from vault.ledger.statements.log_state import LogState, month_number
from vault.ledger.statements.rules import agree, disagreement, require
from vault.ledger.statements.statement import LoggedStatement
from vault.ledger.tree.merkle import HASH_BYTES, add_peak, leaf_hash, root_over, verify_consistency
from vault.ledger.tree.tiles import (
    HEAD,
    KEPT,
    WIDTH,
    Frontier,
    bundles_of,
    entries_path,
    tile_path,
    tiles_of,
    unpack_entries,
)

_DAY, _BETWEEN_WITNESSES = 86_400, 300  # seconds
_LATE_TURN = 7  # days after its month in which a cohort may be opened
_CALENDAR = 253_402_300_799  # 9999-12-31T23:59:59Z


def check_files(case: AuditState) -> Outcome:
    """Check that the files are those of the manifest, and that there are no others."""
    case.bundle = Bundle.read(case.folder)
    count, digest = len(case.bundle.manifest["files"]), case.bundle.manifest_digest
    return "proved", f"{count} content files have the digests of the manifest {digest}"


def check_head(case: AuditState) -> Outcome:
    """Check that a given key signed the log's checkpoint, and a quorum of the given policy."""
    if not case.keys:
        raise Malformed("no key was given; an audit trusts only the log keys that its caller names")
    case.verifiers = [Verifier.parse(key) for key in case.keys]
    note = case.bundle.log_file(HEAD)
    with within(f"{LOG}/{HEAD}"):
        case.head, case.signed = open_checkpoint(note, case.verifiers)
        case.policy = case.policy.with_logs(case.verifiers)
        case.times[case.head.size] = case.policy.open(note).witnesses
    agree("head.origin", f"{MANIFEST}: $.origin", case.head.origin, case.bundle.manifest["origin"])
    case.unchecked = open_note(note, [*case.verifiers, *case.policy.verifiable().values()]).ignored
    summary = f"{case.head.origin} signed a tree of {case.head.size} leaves"
    if times := case.times[case.head.size]:
        summary += f", cosigned by {_seen(times)}"
    if case.unchecked:
        summary += f"; signatures by {', '.join(map(json.dumps, case.unchecked))} were not checked"
    return "proved", summary


def check_leaves(case: AuditState) -> Outcome:
    """Check that the leaves give the tiles and the signed root; read them in the same pass."""
    size, present = case.head.size, case.bundle.log_files
    agree("log.whole", f"{MANIFEST}: $.first", 0, case.bundle.manifest["first"])
    expected, found = f"the tiles of {size} leaves", f"{len(present)} files"
    require("log.tiles", size <= WIDTH * len(present), f"{LOG}/", expected, found)
    wanted = {HEAD, *(tile_path(*tile) for tile in tiles_of(size))}
    wanted |= {entries_path(*item) for item in bundles_of(size)}
    kept = {name for name in present if name.startswith(f"{KEPT}/")}
    for name in sorted(present - kept ^ wanted):
        there = f"{LOG}/{name}" if name in present else None
        raise disagreement("file.listed", f"{LOG}/{name}", f"the files of {size} leaves", there)
    sizes = {int(name[len(KEPT) + 1 :]) for name in kept if name[len(KEPT) + 1 :].isdecimal()}
    with suppress(VaultError):  # what is no checkpoint is refused where it is compared
        sizes.add(Checkpoint.parse(take_apart(case.previous or "")[0]).size)
    case.log, case.roots, frontier = LogState(case.head.origin), {}, Frontier()
    peaks: list[bytes] = []  # give the root at any size with a few hashes
    for index, width in bundles_of(size):
        path = entries_path(index, width)
        leaves = unpack_entries(case.bundle.log_file(path), width, f"{LOG}/{path}")
        for number, leaf in enumerate(leaves, index * WIDTH + 1):
            digest = leaf_hash(leaf)
            add_peak(peaks, digest, number)
            for tile in frontier.extend([digest]):
                _require_tile(case, *tile)
            if _take(case, leaf) or number in sizes:
                case.roots[number] = root_over(reversed(peaks))
    for tile in frontier.partial_tiles():
        _require_tile(case, *tile)
    root = root_over(reversed(peaks))
    agree("log.root", f"the root of the {size} leaves", case.head.root, root)
    case.roots[size] = case.head.root
    return "proved", f"{size} leaves give the signed root {case.head.root.hex()}"


def check_statements(case: AuditState) -> Outcome:
    """Check that every leaf is a statement, and that none contradicts one before it."""
    if case.contradiction:
        raise case.contradiction
    own = [key for key in case.signed.verified if key.partition("+")[0] == case.head.origin]
    case.log.keys = case.log.keys or [(0, own[0])]
    case.log.require_key(case.head.size, own, f"{LOG}/{HEAD}: the signatures")
    counts = ", ".join(f"{count} {kind}" for kind, count in case.log.kinds.items())
    changes = "".join(f"; leaf {at} hands the log over to {key}" for at, key in case.log.keys[1:])
    return "proved", f"{case.log.size} statements follow from one another: {counts}{changes}"


def check_checkpoints(case: AuditState) -> Outcome:
    """Check each checkpoint beside the head: signed, of this log, and cosigned in time."""
    runs = sorted(case.log.runs.values(), key=lambda run: case.cohort in run.served)
    # by a run of this cohort, if one names it
    named = {run.open.says["checkpoint"]["size"]: run for run in runs}
    names = {name for name in case.bundle.log_files if name.startswith(f"{KEPT}/")}
    is_asked = case.policy != Policy().with_logs(case.verifiers)  # else all signatures are checked
    for size in sorted(named):
        name, by = f"{KEPT}/{size}", named[size].open.name
        require("checkpoint.named", name in names, f"{LOG}/{name}", f"checkpoint of {by}")
    for name in sorted(names, key=lambda name: (len(name), name)):
        where, note = f"{LOG}/{name}", case.bundle.log_file(name)
        older = _open_older(case, note, where)
        agree("head.origin", f"{where}: the origin", case.head.origin, older.origin)
        agree("checkpoint.root", f"{where}: the size", where, f"{LOG}/{KEPT}/{older.size}")
        _require_root(case, older, where)
        if not is_asked:
            continue
        is_own = older.size in named and case.cohort in named[older.size].served
        # of others, the witnesses may have changed since
        with within(where) if is_own else suppress(VaultError):
            case.times[older.size] = case.policy.open(note).witnesses
    with suppress(VaultError):  # what is no checkpoint is refused where it is compared
        kept = case.policy.open(case.previous or "")
        if kept.checkpoint.size <= case.head.size:  # a newer one says nothing of these leaves
            case.times.setdefault(kept.checkpoint.size, kept.witnesses)
    for run in case.log.runs.values():
        says = run.open.says["checkpoint"]
        where = run.open.at("checkpoint.root")
        agree("checkpoint.root", where, case.roots[says["size"]].hex(), says["root"])
    shown = [f"{size} ({_seen(times)})" for size, times in sorted(case.times.items()) if times]
    seen = f"; cosigned: {', '.join(shown)}" if shown else ""
    return "proved", f"{len(names)} checkpoints are signed, and begin this tree{seen}"


def check_retirement(case: AuditState) -> Outcome:
    """Check that the log retires this cohort, in this month, with this manifest."""
    wanted = [case.month, case.cohort, case.bundle.manifest_digest]
    leaves = [item.leaf for item in case.log.retirements]
    found = [[leaf.says["month"], leaf.says["cohort"], leaf.digest] for leaf in leaves]
    same = [row for row in found if case.month in row or case.cohort in row]
    where = f"{MANIFEST}: month, cohort and sha256"
    require("retirement.one", wanted in found, where, same, wanted)
    case.retired = case.log.retirements[found.index(wanted)]
    _doubt_times(case)
    return "proved", f"{case.retired.leaf.where} retires {case.cohort} with exactly this manifest"


def check_consistency(case: AuditState) -> Outcome:
    """Check that the checkpoint that the caller kept and the log's head are of one history."""
    if case.previous is None:
        return "not asked", "no checkpoint was given to compare with"
    where, size = "the checkpoint that was kept", case.head.size
    with within(where):
        is_newer = Checkpoint.parse(take_apart(case.previous)[0]).size > size
    if is_newer:
        return _check_newer(case, case.previous, where)
    older = _open_older(case, case.previous, where)
    agree("previous.origin", f"{where}: the origin", case.head.origin, older.origin)
    if older.size:
        _require_root(case, older, where)
    return "proved", f"the tree of {size} leaves extends the older one of {older.size}"


def _check_newer(case: AuditState, note: str, where: str) -> Outcome:
    """Check that the log's head is the beginning of a newer checkpoint.

    Without a proof it is a doubt: of a shortened log, or of another one, the rest is not shown here.
    """
    with within(where):
        newer, signed = open_checkpoint(note, case.verifiers)
    agree("previous.origin", f"{where}: the origin", case.head.origin, newer.origin)
    former = [key for _, key in case.log.keys[:-1] if key in signed.verified]
    agree("head.key", f"{where}: the signatures", [], former)
    size, place = case.head.size, f"{where}: the size"
    if case.consistency is None:
        wanted = f"0 to {size}, or a proof that the {size} leaves begin it (--consistency)"
        case.doubt("doubt.newer", place, wanted, newer.size)
        return "pending", f"it is of {newer.size} leaves, the release of {size}: see the doubts"
    heads = [case.head.root, newer.root]
    try:
        verify_consistency(size, newer.size, case.head.root, newer.root, case.consistency)
    except Broken:
        place = f"{where}: the consistency proof from {size} to {newer.size}"
        raise disagreement("previous.proof", place, heads, [*case.consistency]) from None
    return "proved", f"the tree of {size} leaves is the beginning of the newer one of {newer.size}"


def _take(case: AuditState, leaf: bytes) -> bool:
    """Read a leaf; tell whether the root after it is needed. The next step says what is wrong."""
    if case.contradiction is None:
        try:
            is_score = case.log.take(leaf).statement.kind == "score"
            return is_score and "spot_check" in case.log.sets[-1].says
        except VaultError as error:
            case.contradiction = error
    return False


def _require_tile(case: AuditState, level: int, index: int, hashes: Sequence[bytes]) -> None:
    name = f"{LOG}/{tile_path(level, index, len(hashes))}"
    tile = case.bundle.log_file(name.removeprefix(f"{LOG}/"))
    stated = [tile[at : at + HASH_BYTES] for at in range(0, len(tile), HASH_BYTES)]
    for place, (computed, found) in enumerate(zip_longest(hashes, stated)):
        agree("log.tiles", f"{name}: hash {place}", computed, found)


def _open_older(case: AuditState, note: str | bytes, what: str) -> Checkpoint:
    """Open a checkpoint older than the head, signed by the log's key of that time alone."""
    with within(what):
        key = case.log.key_at(Checkpoint.parse(take_apart(note)[0]).size)
        if key not in [verifier.vkey for verifier in case.verifiers]:
            what = f"at its size the log's key was {key}: give it too (--key)"
            raise Broken(what, where="the signatures", rule="head.key")
        older, signed = open_checkpoint(note, case.verifiers)
    case.log.require_key(older.size, signed.verified, f"{what}: the signatures")
    return older


def _require_root(case: AuditState, older: Checkpoint, where: str) -> None:
    computed = case.roots.get(older.size)
    agree("checkpoint.root", f"{where}: the root at size {older.size}", computed, older.root)


def _seen(times: Mapping[str, int]) -> str:
    return ", ".join(f"{name} at {_moment(seconds)}" for name, seconds in times.items())


def _moment(seconds: int) -> str:
    if not 0 <= seconds <= _CALENDAR:  # a cosignature may name any second up to 2^63 - 1
        return f"{seconds} seconds after 1970 began"
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _doubt_times(case: AuditState) -> None:
    """Compare the months that leaves state with the times at which witnesses saw them."""
    if not case.policy.witnesses:
        return
    _doubt_clocks(case)
    runs = [run for run in case.log.runs.values() if case.cohort in run.served]
    leaves = [entry for run in runs for entry in (run.set, run.open, run.close)]
    leaves += [case.retired.leaf, *(item.leaf for item in case.retired.withdrawals)]
    for entry in {entry.index: entry for entry in leaves if entry}.values():
        _doubt_month(case, entry)
    sizes = [size for size in sorted(case.times) if case.times[size]]
    for run in runs:
        first, last = run.open.index + 1, run.close.index if run.close else 0
        if run.scored and not any(first <= size <= last for size in sizes):
            expected = f"a cosigned checkpoint of {first} to {last} leaves"
            case.doubt("doubt.before", f"{run.open.where}: {run.open.name}", expected, sizes)


def _doubt_clocks(case: AuditState) -> None:
    newest: dict[str, int] = {}
    for size, times in sorted(case.times.items()):
        for name, seconds in times.items():
            others = max((time for other, time in newest.items() if other != name), default=0)
            if seconds < max(newest.get(name, 0), others - _BETWEEN_WITNESSES):
                where, latest = f"the cosignature of {name} at size {size}", max(newest.values())
                case.doubt("doubt.clock", where, f"{_moment(latest)} or later", _moment(seconds))
        newest |= {name: max(seconds, newest.get(name, 0)) for name, seconds in times.items()}


def _doubt_month(case: AuditState, entry: LoggedStatement) -> None:
    """Doubt a leaf that came early or late, says the slowest witness of the first cosigned tree."""
    later = [times for size, times in sorted(case.times.items()) if size > entry.index]
    seen = [max(times.values()) for times in later if times]
    month = month_number(entry.says["month"])
    begin, end = _begin(month) - _DAY, _begin(month + 1) + _DAY
    if entry.statement.kind == "set":
        begin = 0  # a set promised early harms nobody
    else:
        end += _LATE_TURN * _DAY  # a turn may be late, and runs go on until it is made
    if not seen or not begin <= seen[0] <= end:
        where = f"{entry.where}: the first cosignature over {entry.statement.kind} {entry.name}"
        found = _moment(seen[0]) if seen else None
        case.doubt("doubt.time", where, f"{_moment(begin)} to {_moment(end)}", found)


def _begin(number: int) -> int:
    """Return the first second of a counted month in UTC, in the nearest year that clocks have."""
    year, month = divmod(number, 12)
    return timegm((min(max(year, 1971), 9998), month + 1, 1, 0, 0, 0))
