"""Audit steps 1 to 6 and 13: the bundle's log is complete, signed, and extends the checkpoint that the caller kept.

Each step takes the case, adds its evidence to it, and gives `(state, sentence)`; it raises where bytes disagree.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from vault.errors import Broken, Malformed, VaultError
from vault.ledger.audit.evidence import AuditState
from vault.ledger.audit.report import State
from vault.ledger.audit.trusted_keys import open_head, open_older, policy_of, require_quorum
from vault.ledger.release import contents
from vault.ledger.release.bundle_reader import Bundle
from vault.ledger.signatures.note import Verifier, open_note
from vault.ledger.statements.history import History, LoggedStatement
from vault.ledger.statements.key_epochs import KIND, KeyEpochs
from vault.ledger.statements.statement import Statement
from vault.ledger.tree.merkle import leaf_hash, root_from
from vault.ledger.tree.tiles import (
    WIDTH,
    Frontier,
    TileTree,
    bundles_of,
    entries_path,
    split_hashes,
    tile_path,
    tiles_of,
    unpack_entries,
)

Outcome = tuple[State, str]

_CALENDAR = 253_402_300_799  # 9999-12-31T23:59:59Z


def files(case: AuditState) -> Outcome:
    """1. The files are those of the manifest, and there are no others."""
    case.bundle = Bundle.read(case.folder)
    count = len(case.bundle.manifest["files"])
    return "proved", f"{count} content files have the digests of the manifest {case.bundle.manifest_digest}"


def checkpoint(case: AuditState) -> Outcome:
    """2. A given key signed the log's checkpoint, and the witnesses of a given policy cosigned it."""
    if not case.keys:
        raise Malformed("no key was given; an audit trusts only the log keys that its caller names")
    case.verifiers = [Verifier.parse(key) for key in case.keys]
    data = case.bundle.read_log(contents.HEAD)
    case.head, case.signed = open_head(case, data)
    if case.head.origin != case.bundle.manifest["origin"]:
        raise Broken(
            f"the manifest is of the log {case.bundle.manifest['origin']!r}, not of {case.head.origin}",
            where=f"{contents.MANIFEST}: $.origin",
            expected=case.head.origin,
            found=case.bundle.manifest["origin"],
        )
    policy = policy_of(case)
    try:
        case.witnesses = policy.open(data).witnesses
    except VaultError as error:
        raise error.with_message(str(error), f"log/{contents.HEAD}") from None
    known = [*case.verifiers, *(policy.witnesses[name].key for name in case.witnesses)]
    case.unchecked = open_note(data, known).ignored
    summary = f"{case.head.origin} signed a tree of {case.head.size} leaves"
    if case.witnesses:
        summary += f", cosigned by {', '.join(map(_seen, case.witnesses.items()))}"
    if case.unchecked:
        summary += f"; signatures by {', '.join(map(repr, case.unchecked))} were not checked"
    return "proved", summary


def root(case: AuditState) -> Outcome:
    """3. The leaves and the tiles rebuild the root that was signed."""
    first = case.bundle.manifest["first"]
    if first:
        raise Broken(
            f"the manifest begins at leaf {first}: a task committed to twice, or a run left out, could stand before it",
            where=f"{contents.MANIFEST}: $.first",
            expected=0,
            found=first,
        )
    _require_log_files(case, first)
    case.leaves = []
    frontier = Frontier()
    for _, index, width in (tile for tile in tiles_of(case.head.size) if tile[0] == 0):
        for tile in frontier.extend(_tile_of_leaves(case, index, width, begins=first // WIDTH)):
            _require_tile(case, *tile)
    for tile in frontier.partial_tiles():
        _require_tile(case, *tile)
    if frontier.root() != case.head.root:
        raise Broken(
            f"the leaves give the root {frontier.root().hex()}, the checkpoint says {case.head.root.hex()}",
            where=f"the root of the {case.head.size} leaves",
            expected=case.head.root,
            found=frontier.root(),
        )
    case.tree = TileTree(case.head.size, case.bundle.read_log)
    return "proved", f"{len(case.leaves)} leaves and the hashes before them give the signed root {case.head.root.hex()}"


def statements(case: AuditState) -> Outcome:
    """4. Every leaf is a statement in canonical bytes, and none contradicts another."""
    case.history = History(
        LoggedStatement(index, Statement.parse(leaf, f"leaf {index}")) for index, leaf in case.leaves
    )
    case.leaves = []  # their statements are what counts from here on
    case.epochs = KeyEpochs.read(case.head.origin, case.history.of(KIND), case.signed)
    case.epochs.require(case.signed, case.head.size, f"log/{contents.HEAD}")
    kinds = [entry.statement.kind for entry in case.history.entries]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    handovers = "".join(
        f"; leaf {index} hands the log over to {new}, as both keys say" for index, new in case.epochs.later
    )
    return "proved", f"{len(kinds)} statements were read: {counts}{handovers}"


def named(case: AuditState) -> Outcome:
    """5. Every checkpoint that a run names is signed, and its root is the log's at that size."""
    sizes: dict[str, tuple[int, int]] = {}  # by name: the size, and the first leaf that names it
    for entry in case.history.of("run-open"):
        says = entry.statement.predicate["checkpoint"]
        if says["size"] > entry.index:
            raise Broken(
                f"the run at leaf {entry.index} names a checkpoint of size {says['size']}, which is not earlier",
                where=f"leaf {entry.index}: $.predicate.checkpoint.size",
                expected=f"1 to {entry.index}",
                found=says["size"],
            )
        _require_root(case, says["size"], bytes.fromhex(says["root"]), f"the run at leaf {entry.index}")
        sizes.setdefault(f"{contents.KEPT}/{says['size']}", (says["size"], entry.index))
    present = {name for name in case.bundle.log_files if name.startswith(f"{contents.KEPT}/")}
    if misplaced := sorted(present ^ sizes.keys()):
        state = "named by no run" if misplaced[0] in present else "missing"
        raise Malformed(f"{'log/' + misplaced[0]!r} is {state}", where=f"log/{misplaced[0]}")
    for name, (size, index) in sizes.items():
        _require_named(case, name, size, index)
    signing = "signed and cosigned" if case.witnesses else "signed"
    return "proved", f"{len(sizes)} checkpoints that runs name are {signing}, and each is the beginning of this tree"


def retirement(case: AuditState) -> Outcome:
    """6. The one `retire` statement of this cohort names this manifest."""
    retirements = [
        entry
        for entry in case.history.of("retire")
        if case.cohort == entry.statement.predicate["cohort"] or case.month == entry.statement.predicate["month"]
    ]
    if len(retirements) != 1:
        where = ", ".join(str(entry.index) for entry in retirements) or "nowhere"
        raise Broken(
            f"{case.cohort} and {case.month} retire once; the log says so at leaves {where}",
            where=f"the retire statements of {case.cohort} or {case.month}",
            expected="one leaf",
            found=[entry.index for entry in retirements],
        )
    case.retired = retirements[0]
    says = case.retired.statement.predicate
    if (says["cohort"], says["month"]) != (case.cohort, case.month):
        raise Broken(
            f"leaf {case.retired.index} retires {says['cohort']} in {says['month']}, "
            f"the manifest says {case.cohort} in {case.month}",
            where=f"{contents.MANIFEST}: $.cohort and $.month",
            expected=[says["cohort"], says["month"]],
            found=[case.cohort, case.month],
        )
    if case.retired.digest != case.bundle.manifest_digest:
        raise Broken(
            f"leaf {case.retired.index} names the manifest {case.retired.digest}, "
            f"this one has {case.bundle.manifest_digest}",
            where=f"{contents.MANIFEST}: sha256",
            expected=case.retired.digest,
            found=case.bundle.manifest_digest,
        )
    return "proved", f"leaf {case.retired.index} retires {case.cohort} with exactly this manifest"


def consistency(case: AuditState) -> Outcome:
    """13. The log extends the checkpoint that the caller kept."""
    if case.previous is None:
        return "not asked", "no older checkpoint was given to compare with"
    older, signed = open_older(case, case.previous, "the older checkpoint")
    if older.origin != case.head.origin:
        raise Broken(
            f"the older checkpoint is of the log {older.origin}, not of {case.head.origin}",
            where="the older checkpoint: the origin",
            expected=case.head.origin,
            found=older.origin,
        )
    if older.size > case.head.size:
        raise Broken(
            f"the checkpoint that was given has {older.size} leaves, this bundle's only {case.head.size}: "
            "compare it with a newer bundle or with the log itself",
            where="the older checkpoint: the size",
            expected=f"0 to {case.head.size}",
            found=older.size,
        )
    case.epochs.require(signed, older.size, "the older checkpoint")
    _require_root(case, older.size, older.root, "the older checkpoint")
    return "proved", f"the tree of {case.head.size} leaves extends the older checkpoint of size {older.size}"


def _require_named(case: AuditState, name: str, size: int, index: int) -> None:
    """Check a checkpoint under which a run was opened as the head is checked: its key, its root, and the quorum."""
    data = case.bundle.read_log(name)
    older, signed = open_older(case, data, f"log/{name}")
    if older.size != size or older.origin != case.head.origin:
        raise Broken(
            f"log/{name} is a checkpoint of {older.origin} at size {older.size}",
            where=f"log/{name}: the origin and the size",
            expected=[case.head.origin, size],
            found=[older.origin, older.size],
        )
    case.epochs.require(signed, size, f"log/{name}")
    _require_root(case, size, older.root, f"log/{name}")
    if case.policy:
        require_quorum(case, data, f"log/{name}, under which {case.history.entries[index].statement.name} was opened")


def _seen(witness: tuple[str, int]) -> str:
    name, seconds = witness
    if seconds > _CALENDAR:  # a cosignature may name any second up to 2^63 - 1
        return f"{name} ({seconds} seconds after 1970 began)"
    return f"{name} ({time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(seconds))})"


def _require_root(case: AuditState, size: int, stated: bytes, who: str) -> None:
    if size > case.head.size:
        raise Broken(
            f"{who} speaks of size {size}, the log has {case.head.size}",
            where=f"{who}: the size",
            expected=f"0 to {case.head.size}",
            found=size,
        )
    computed = root_from(case.tree.node, size)
    if computed != stated:
        raise Broken(
            f"{who} states the root {stated.hex()} at size {size}, the leaves give {computed.hex()}",
            where=f"{who}: the root at size {size}",
            expected=computed,
            found=stated,
        )


def _require_log_files(case: AuditState, first: int) -> None:
    size = case.head.size
    if size > WIDTH * len(case.bundle.log_files):
        raise Malformed(
            f"a log of {size} leaves has more files than the {len(case.bundle.log_files)} in the bundle", where="log/"
        )
    wanted = {contents.HEAD, *(tile_path(*tile) for tile in tiles_of(size))}
    wanted |= {entries_path(*item) for item in bundles_of(size, first)}
    present = {name for name in case.bundle.log_files if not name.startswith(f"{contents.KEPT}/")}
    if misplaced := sorted(present ^ wanted):
        state = "is no file of this log" if misplaced[0] in present else "is missing"
        raise Malformed(
            f"{'log/' + misplaced[0]!r} {state}: a tree of {size} leaves from {first} on has other files",
            where=f"log/{misplaced[0]}",
        )


def _tile_of_leaves(case: AuditState, index: int, width: int, *, begins: int) -> Sequence[bytes]:
    """Give a level-0 tile's hashes; from the bundle's first leaf on they are made from the leaves themselves."""
    path = tile_path(0, index, width)
    hashes = split_hashes(case.bundle.read_log(path), width, f"log/{path}")
    if index < begins:
        return hashes
    entries = entries_path(index, width)
    leaves = list(enumerate(unpack_entries(case.bundle.read_log(entries), width, f"log/{entries}"), index * WIDTH))
    for (place, leaf), stated in zip(leaves, hashes, strict=True):
        if leaf_hash(leaf) != stated:
            raise Broken(
                f"leaf {place} has the hash {leaf_hash(leaf).hex()}, log/{path} says {stated.hex()}",
                where=f"log/{path}: the hash of leaf {place}",
                expected=leaf_hash(leaf),
                found=stated,
            )
    case.leaves += leaves
    return hashes


def _require_tile(case: AuditState, level: int, index: int, hashes: Sequence[bytes]) -> None:
    path = tile_path(level, index, len(hashes))
    stated = split_hashes(case.bundle.read_log(path), len(hashes), f"log/{path}")
    for place, (computed, says) in enumerate(zip(hashes, stated, strict=True)):
        if computed != says:
            raise Broken(
                f"hash {place} of log/{path} is {says.hex()}, the leaves give {computed.hex()}",
                where=f"log/{path}: hash {place}",
                expected=computed,
                found=says,
            )
