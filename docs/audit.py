#!/usr/bin/env python3
"""Audit a release of a Quarterturn benchmark: `python3 audit.py Historical-YYYY-MM --key log.vkey`.

It needs Python 3.11 and nothing else; a policy with a witness of ML-DSA-44 needs cryptography too.
It trusts nobody but the keys that you give it, which must come from anywhere but the release. The
argument, and the lie that each step finds out:

  1. files        a file was edited, added or left out
  2. checkpoint   a log of somebody else's, or one shown to you alone
  3. root         a leaf was changed, moved or left out
  4. statements   promises were changed, runs dropped or counted as later ones
  5. checkpoints  a history made up afterwards
  6. retirement   another opening than the one that was logged
  7. tasks        a task was swapped or chosen after the scores
  8. runs         bad runs were left out, or are somebody else's
  9. results      results were edited or left out
 10. figures      figures that nobody measured
 11. spot check   results picked for being right
 12. consistency  history was rewritten, or cut short, since you kept a checkpoint
 13. full score   a part of a score is taken for the whole
 14. evidence     an accusation of a submitter was made up

A step takes what those before it proved, and either says what it proves or shows what disagrees;
the first failure ends the argument. A doubt does not: it is what an honest operator can have a
reason for, and you accept it by its number (--accept). docs/reference/ledger-formats.md describes
the formats.

Made by freezing/single_file.py from the functions of the command `quarterturn audit`:
first the steps, then what they rest on. The types of what functions take and give stand there.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import hashlib
import hmac
import json
import math
import os
import re
import struct
import sys
import time
from calendar import timegm
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property
from hashlib import sha256, sha512
from itertools import chain, groupby, zip_longest
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any, ClassVar, Literal

# == Command line of the audit, for the single file `audit.py`: arguments, files, output and exit codes.

CODES = {"malformed": 2, "not-found": 3, "unavailable": 6, "interrupted": 130}
MAX_EVIDENCE_BYTES = 64 << 20
_PROOF = ["text"]

@contextmanager
def _using(path, what="cannot be used"):
    """Say of which file an error is."""
    try:
        yield
    except IsADirectoryError as error:
        raise NotFound(f"{path} is a folder, and a file is needed: name one in it") from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"there is no file {path}") from error
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Malformed(f"{path} is not text") from error
    except Malformed as error:
        raise error.with_message(f"{path} {what}: {error}", str(path)) from None

def read_text(path):
    """Read a text file; line ends stay as they are, since signatures cover them."""
    with _using(path):
        return path.read_bytes().decode()

def require_release(folder):
    """Refuse a folder that is no release; one that lacks other files is for the audit to refuse."""
    with _using(folder):
        if not folder.is_dir():
            file = " (it is a file: unpack it, and name the folder)" if folder.is_file() else ""
            raise NotFound(f"there is no release folder {folder}{file}")
        if not (folder / "manifest.json").is_file():
            what = "is no release folder: there is no manifest.json in it; name one Historical-YYYY-MM"
            raise NotFound(f"{folder} {what}")

def read_keys(path):
    """Read a file with a log's verifier keys, one a line: its former keys if it had any, then its present one."""
    with _using(path):
        return [Verifier.parse(line).vkey for line in read_text(path).strip(SPACES).split("\n")]

def read_checkpoint(path):
    """Read a checkpoint that the caller kept."""
    text = read_text(path)
    with _using(path, "holds no checkpoint"):
        signed, lines = take_apart(text)
        Checkpoint.parse(signed)
        list(map(read_line, lines))
    return text

def read_policy(path):
    """Read a policy file that names the trusted logs and witnesses (C2SP tlog-policy)."""
    with _using(path, "holds no policy"):
        return Policy.parse(path.read_bytes())

def read_consistency(path):
    """Read a consistency proof as a log's service gives it: JSON with `proof`, hashes in base64."""
    with _using(path, "holds no consistency proof"):
        document = parse(path.read_bytes())
        require_form("object", document, "$")
        require_form(_PROOF, document.get("proof"), "$.proof")
        return [decode_base64(part, "$.proof") for part in document["proof"]]

def read_evidence(path):
    """Read a file of evidence; whether it is any, the audit says."""
    with _using(path, "holds no evidence"):
        if not 0 < (size := path.stat().st_size) <= MAX_EVIDENCE_BYTES:
            raise Malformed(f"it has {size} bytes, and evidence has 1 to {MAX_EVIDENCE_BYTES}")
        return path.name, path.read_bytes()

def read_inputs(keys, policy=None, previous=None, consistency=None, evidence=()):
    """Read the files that an audit is given beside the release, as the arguments of `audit`."""
    return {
        "keys": [key for path in keys for key in read_keys(path)],
        "policy": read_policy(policy) if policy else None,
        "previous": read_checkpoint(previous) if previous else None,
        "consistency": read_consistency(consistency) if consistency else None,
        "evidence": [read_evidence(path) for path in evidence],
    }

def main(arguments=None):
    """Run the audit with command line arguments; gives the exit code."""
    about = "Check a release without trusting anybody."
    parser = argparse.ArgumentParser(prog="audit.py", description=about, allow_abbrev=False)
    add = parser.add_argument
    add("bundle", metavar="RELEASE", type=Path, help="a release folder, Historical-YYYY-MM")
    add("--key", type=Path, action="append", required=True, help="a file with the log's keys")
    add("--policy", type=Path, help="a tlog-policy file: the witnesses that must have cosigned")
    add("--previous", type=Path, help="a file with a checkpoint that you kept")
    add("--consistency", type=Path, help="a consistency proof from the release to a newer --previous")
    add("--evidence", type=Path, action="append", default=[], help="a file of evidence to check")
    add("--accept", type=int, action="append", default=[], help="the number of a doubt")
    add("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args(arguments)
    try:
        require_release(given.bundle)
        files = given.key, given.policy, given.previous, given.consistency, given.evidence
        report = audit(given.bundle, accepted=given.accept, **read_inputs(*files))
        report.require_doubts()
    except (VaultError, KeyboardInterrupt) as error:
        what, code = str(error) or "interrupted", CODES.get(getattr(error, "kind", "interrupted"), 2)
        sys.stderr.write(f"audit.py: {printable(what)}\n")
        if given.json:
            sys.stdout.write(f"{json.dumps({'error': what, 'exit': code})}\n")
        return code
    lines = [json.dumps(report.as_json(), sort_keys=True)] if given.json else report.lines()
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0 if report.ok else 1

# == The audit of a release, which trusts nobody but the keys that its caller gives.

def audit(
    folder, keys, previous=None, policy=None, *, accepted=(), evidence=(), consistency=None, on_step=lambda _steps: None
):
    """Audit a release; any defect becomes a failed step, never an exception."""
    case = AuditState(folder, list(keys), previous, policy or Policy(), evidence, consistency)
    steps = []
    for number, (name, check) in enumerate(STEPS.items(), 1):
        if steps and not steps[-1].ok:
            steps.append(Step(number, name, "not reached"))
            continue
        try:
            state, proved = check(case)
            steps.append(Step(number, name, state, proved))
        except VaultError as error:
            detail = str(error)
            steps.append(Step(number, name, "failed", "", error.rule, detail, error.evidence))
        on_step(1)
    head = case.times[case.head.size] if case.times else {}
    remarks = caveats(head, case.unchecked)
    return AuditReport(steps, case.doubts, accepted, case.pending, remarks)

# == Audit steps about the log: it is whole, signed in time, and no leaf contradicts another.

_DAY, _BETWEEN_WITNESSES = 86_400, 300  # seconds
_LATE_TURN = 7  # days after its month in which a cohort may be opened
_CALENDAR = 253_402_300_799  # 9999-12-31T23:59:59Z

def check_files(case):
    """Check that the files are those of the manifest, and that there are no others."""
    case.bundle = Bundle.read(case.folder)
    count, digest = len(case.bundle.manifest["files"]), case.bundle.manifest_digest
    return "proved", f"{count} content files have the digests of the manifest {digest}"

def check_head(case):
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

def check_leaves(case):
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
    peaks = []  # give the root at any size with a few hashes
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

def check_statements(case):
    """Check that every leaf is a statement, and that none contradicts one before it."""
    if case.contradiction:
        raise case.contradiction
    own = [key for key in case.signed.verified if key.partition("+")[0] == case.head.origin]
    case.log.keys = case.log.keys or [(0, own[0])]
    case.log.require_key(case.head.size, own, f"{LOG}/{HEAD}: the signatures")
    counts = ", ".join(f"{count} {kind}" for kind, count in case.log.kinds.items())
    changes = "".join(f"; leaf {at} hands the log over to {key}" for at, key in case.log.keys[1:])
    return "proved", f"{case.log.size} statements follow from one another: {counts}{changes}"

def check_checkpoints(case):
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

def check_retirement(case):
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

def check_consistency(case):
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

def _check_newer(case, note, where):
    """Check that the log's head is the beginning of a newer checkpoint."""
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

def _take(case, leaf):
    """Read a leaf; tell whether the root after it is needed. The next step says what is wrong."""
    if case.contradiction is None:
        try:
            is_score = case.log.take(leaf).statement.kind == "score"
            return is_score and "spot_check" in case.log.sets[-1].says
        except VaultError as error:
            case.contradiction = error
    return False

def _require_tile(case, level, index, hashes):
    name = f"{LOG}/{tile_path(level, index, len(hashes))}"
    tile = case.bundle.log_file(name.removeprefix(f"{LOG}/"))
    stated = [tile[at : at + HASH_BYTES] for at in range(0, len(tile), HASH_BYTES)]
    for place, (computed, found) in enumerate(zip_longest(hashes, stated)):
        agree("log.tiles", f"{name}: hash {place}", computed, found)

def _open_older(case, note, what):
    """Open a checkpoint older than the head, signed by the log's key of that time alone."""
    with within(what):
        key = case.log.key_at(Checkpoint.parse(take_apart(note)[0]).size)
        if key not in [verifier.vkey for verifier in case.verifiers]:
            what = f"at its size the log's key was {key}: give it too (--key)"
            raise Broken(what, where="the signatures", rule="head.key")
        older, signed = open_checkpoint(note, case.verifiers)
    case.log.require_key(older.size, signed.verified, f"{what}: the signatures")
    return older

def _require_root(case, older, where):
    computed = case.roots.get(older.size)
    agree("checkpoint.root", f"{where}: the root at size {older.size}", computed, older.root)

def _seen(times):
    return ", ".join(f"{name} at {_moment(seconds)}" for name, seconds in times.items())

def _moment(seconds):
    if not 0 <= seconds <= _CALENDAR:  # a cosignature may name any second up to 2^63 - 1
        return f"{seconds} seconds after 1970 began"
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))

def _doubt_times(case):
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

def _doubt_clocks(case):
    newest = {}
    for size, times in sorted(case.times.items()):
        for name, seconds in times.items():
            others = max((time for other, time in newest.items() if other != name), default=0)
            if seconds < max(newest.get(name, 0), others - _BETWEEN_WITNESSES):
                where, latest = f"the cosignature of {name} at size {size}", max(newest.values())
                case.doubt("doubt.clock", where, f"{_moment(latest)} or later", _moment(seconds))
        newest |= {name: max(seconds, newest.get(name, 0)) for name, seconds in times.items()}

def _doubt_month(case, entry):
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

def _begin(number):
    """Return the first second of a counted month in UTC, in the nearest year that clocks have."""
    year, month = divmod(number, 12)
    return timegm((min(max(year, 1971), 9998), month + 1, 1, 0, 0, 0))

# == Audit step about the tasks: they are those that were committed to before any run used them.

_OBJECTS = ["object"]
_DOUBT_ONE_IN = 20  # more withdrawn tasks than this share of a cohort are a doubt

def check_tasks(case):
    """Check that every task which retired, or was withdrawn and is due, opens its commitment."""
    case.tasks, case.withdrawn = {}, {}
    openings = case.bundle.lines(OPENINGS)
    withdrawals = case.retired.withdrawals
    due = [{"id": i.leaf.name, "commitment": i.leaf.digest, "cause": i.leaf.says["cause"]} for i in withdrawals]
    _require_file(case, WITHDRAWN, [item["id"] for item in due])
    for name, wanted, opened in (
        (TASKS, case.retired.leaf.says["tasks"], case.tasks),
        (WITHDRAWN, due, case.withdrawn),
    ):
        lines = case.bundle.lines(name) if name in case.bundle.manifest["files"] else ()
        for says, line in zip_longest(wanted, lines):
            opening = next(openings, None)
            if says is None or line is None or opening is None:
                found = {"line": line and line[0], "opening": opening and opening[0]}
                where, wanted_id = f"{name} and {OPENINGS}", says and says["id"]
                raise disagreement("task.lines", where, wanted_id, found)
            opened[says["id"]] = _open(case, says, line, opening)
    if extra := next(openings, None):
        raise disagreement("task.lines", extra[0], None, extra[2]["id"])
    _require_reserves(case)
    _require_broken(case)
    doubts = _doubt_share(case)
    count = len(case.tasks) + len(case.withdrawn)
    left = f"; {len(case.withdrawn)} of them were withdrawn" if case.withdrawn else ""
    shown = f", {len(case.broken)} as broken, as is shown" if case.broken else ""
    return "proved", f"{count} tasks open their commitments, byte for byte{left}{shown}{doubts}"

def _open(case, says, line, opening):
    where, data, document = line
    place, _, opened = opening
    for key, form in TASK.items():
        require_form(form, document.get(key), f"{where}: $.{key}")
    name = document["id"]
    agree("task.lines", f"{where}: $.id", says["id"], name)
    agree("task.lines", f"{place}: $.id", says["id"], opened["id"])
    digest = sha256(data).hexdigest()
    agree("task.bytes", f"{where}: sha256", says.get("sha256", digest), digest)
    commit = case.log.commits[name]
    agree("task.lines", f"{place}: $.commit", commit.index, opened["commit"])
    agree("task.commitment", f"{place}: $.commitment", commit.digest, opened["commitment"])
    require_opens("task.commitment", "commit", (data, opened["salt"]), commit.digest, where)
    key = opened.get("variant_key")
    key_digest = sha256(bytes.fromhex(key)).hexdigest() if key else None
    stated_key = document.get("variant_key")
    agree("task.variant", f"{place}: the sha256 of $.variant_key", stated_key, key_digest)
    agree("task.canary", f"{place}: $.canary", case.bundle.manifest["canary"], opened["canary"])
    provenance, salt = opened["provenance"], opened["provenance_salt"]
    agree("task.provenance", f"{place}: $.provenance_salt", provenance is None, salt is None)
    if provenance is not None:
        stated = commit.says["provenance"]
        pair = canonical(provenance), salt
        require_opens("task.provenance", "provenance", pair, stated, place)
    shows = provenance is not None and says.get("cause") == "broken"
    played = _played(document.get("free", {}), provenance, place) if shows else None
    stratum = f"{document['server']}/{document['category']}/{document['difficulty']}"
    return AuditedTask(digest, stratum, document["category"], document["max_steps"], played)

def _played(free, provenance, place):
    """Return calls and answer of each committed solution, with the first choice of what is free."""
    require_form(FREE, free, f"{place}: $.free of its task")
    first = {name: choice["from"][0] for name, choice in free.items() if choice["from"]}
    solutions, where = provenance.get("solutions", []), f"{place}: $.provenance.solutions"
    require_form(_OBJECTS, solutions, where)
    played = []
    for solution in solutions:
        require_form(_OBJECTS, calls := solution.get("calls"), f"{where}: $.calls")
        plain = [{"tool": call.get("tool"), "arguments": call.get("arguments", {})} for call in calls]
        played.append([plain, solution.get("answer")])
    text = PLACEHOLDER.sub(
        lambda match: canonical(first.get(match[1], match[0])).decode()[1:-1], canonical(played).decode()
    )
    return list(json.loads(text))

def require_opens(rule, label, opening, stated, where):
    """Check that a payload and its salt (hex) open a commitment (hex)."""
    computed = commitment(label, opening[0], bytes.fromhex(opening[1]))
    agree(rule, f"{where}: the commitment", stated, computed.hex())

def _require_file(case, name, wanted):
    """Check that a file is there if and only if it has something to open."""
    found = name if name in case.bundle.manifest["files"] else None
    require("task.lines", bool(found) == bool(wanted), name, wanted, found)

def _require_reserves(case):
    """Check that each refill came from the stratum of the task that it replaced, if any was left."""
    strata = {name: task.stratum for name, task in (case.tasks | case.withdrawn).items()}
    for entry in case.log.sets:
        live = {task for item in entry.says["cohorts"] for task in item["tasks"]}
        for server in sorted({strata[task].split("/")[0] for task in live & strata.keys()}):
            require("set.servers", server in entry.says["servers"], entry.at("servers"), server)
        for stratum, digests in entry.says["reserve"].items():
            for digest in digests:
                found = strata.get(case.log.task_of[digest], stratum)
                agree("task.reserve", entry.at("reserve"), stratum, found)
    for item in case.retired.withdrawals:
        refill = item.leaf.says["replacement"]
        found = case.log.commits[refill].digest if refill else None
        wanted = item.reserve.get(strata[item.leaf.name])
        agree("task.refill", item.leaf.at("replacement"), wanted, found)

def _require_broken(case):
    """Check that each task withdrawn as broken is shown to be, by an end state to replay."""
    wanted = [i.leaf.name for i in case.retired.withdrawals if i.leaf.says["cause"] == "broken"]
    _require_file(case, BROKEN, wanted)
    shown = []
    for where, _, line in case.bundle.lines(BROKEN) if wanted else ():
        agree("task.broken", f"{where}: $.verdict", line["solution"] == "mutant", line["verdict"])
        task = case.withdrawn.get(line["task"])
        if task and task.played is not None:
            _require_played(task.played, line, where)
        shown.append(line["task"])
    agree("task.broken", f"{BROKEN}: $.task of all lines", wanted, shown)
    case.broken = set(shown)

def _require_played(solutions, line, where):
    """Check that the calls are those of a committed solution; of a mutant, of the first one."""
    is_mutant, found = line["solution"] == "mutant", [line["calls"], line["answer"]]
    wanted = [[calls, line["answer"]] for calls, _ in solutions[:1]] if is_mutant else solutions
    is_one = canonical(found) in map(canonical, wanted)
    require("task.broken", is_one, f"{where}: $.calls and $.answer", wanted, found)

def _doubt_share(case):
    """Doubt a cohort of which more than one task in twenty was withdrawn; this comes first."""
    own = [i for i in case.retired.withdrawals if i.cohort == case.cohort]
    count = len(case.tasks) + sum(item.leaf.says["replacement"] is None for item in own)
    if len(own) * _DOUBT_ONE_IN <= count:
        return ""
    found = {item.leaf.name: item.leaf.says["cause"] for item in own}
    where, most = f"the withdrawals from {case.cohort}", f"0 to {count // _DOUBT_ONE_IN}"
    case.doubt("doubt.share", where, most, found)
    case.doubts.insert(0, case.doubts.pop())
    return f"; {len(own)} of {case.cohort} were withdrawn: see the doubts"

# == Audit steps about runs: they are opened, and all figures follow from results bound in time.

def check_runs(case):
    """Check that each run that was served the cohort is opened to its submitter, and no other."""
    served = sorted(number for number, run in case.log.runs.items() if case.cohort in run.served)
    lines = list(case.bundle.lines(RUNS))
    agree("opened.runs", f"{RUNS}: $.run of all lines", served, [line["run"] for *_, line in lines])
    case.runs = [_opened(case, where, line) for where, _, line in lines]
    _require_attempts(case)
    scored = sum(run.run.scored for run in case.runs)
    aborted = len(lines) - scored
    return "proved", f"{len(lines)} runs used the cohort: {scored} scored, {aborted} aborted"

def check_results(case):
    """Check that the cohort's results are bound by each score, complete, and give the totals."""
    groups = groupby(case.bundle.lines(RESULTS), key=lambda line: line[2]["run"])
    scored = [run.line["run"] for run in case.runs if run.run.scored]
    count = 0
    for place, opened in enumerate(case.runs):
        if not opened.run.scored:
            continue
        none = (opened.line["run"], ())
        is_empty = not opened.run.served[case.cohort]  # all of its tasks were withdrawn before
        number, lines = none if is_empty else next(groups, (None, ()))
        agree("result.lines", f"{RESULTS}: $.run after {count} lines", opened.line["run"], number)
        rows = list(lines)
        _require_results(case, opened, rows)
        totals = opened.line["totals"]  # which the results give
        if not case.broken.isdisjoint(opened.run.served[case.cohort]):
            results = [line["result"] for *_, line in rows]
            kept = [result for result in results if result["task"] not in case.broken]
            totals = totals_of(opened.line["run"], case.cohort, kept)
        case.runs[place] = replace(opened, counted=totals)
        count += len(rows)
        _doubt_withdrawn(case, opened, totals)
    stranger, _ = next(groups, (None, ()))
    require("result.lines", stranger is None, f"{RESULTS}: $.run", scored, stranger)
    return "proved", f"{count} results of {len(scored)} runs were bound in time, and are all there"

def check_figures(case):
    """Check that aggregate, attestation and README follow from what was opened."""
    rows = [(run.line["opening"], run.counted) for run in case.runs if run.counted]
    subjects = [(name, task.sha256) for name, task in case.tasks.items()]
    _require_same(case, AGGREGATE, aggregate(case.month, case.cohort, rows))
    _require_same(case, ATTESTATION, attestation(case.month, case.cohort, subjects))
    _require_same(case, README, readme(case.bundle.manifest))
    without = f", without {len(case.broken)} broken tasks" if case.broken else ""
    figured = f"the figures of {len(rows)} runs on {case.cohort}"
    return "proved", f"{figured} follow from the results{without}"

def check_spot_check(case):
    """Check that as many results were chosen to be judged again as the promised seed chooses."""
    says, at = case.retired.leaf.says.get("spot_check"), case.retired.leaf.index
    if says is None:
        return "not asked", f"the set of {case.month} promises no spot check"
    bound = [run for run in case.log.runs.values() if run.set is case.retired.set and run.scored]
    bound = [run for run in bound if run.close and run.close.index < at]
    last = max((run.close.index for run in bound if run.close), default=0)
    seed, log_root = bytes.fromhex(says["seed"]), case.roots.get(last + 1, b"")
    served = {run.open.says["run"]: chain(*run.served.values()) for run in bound}
    marks = [is_chosen(seed, log_root, run, task) for run, tasks in served.items() for task in tasks]
    where, chosen = case.retired.leaf.at("spot_check"), says["chosen"]
    agree("spot_check.chosen", f"{where}.chosen", sum(marks), chosen)
    judged, differed = says["judged"], says["differed"]
    if differed:
        case.doubt("doubt.differed", f"{where}.differed", 0, differed)
    left = f" and {chosen - judged} could not be" if judged < chosen else ""
    return "proved", (
        f"the promised seed chooses {chosen} of the month's {len(marks)} results; the operator "
        f"says that {judged} were judged again{left}, and that {differed} came out otherwise"
    )

def check_full_score(case):
    """Say until when a full score is pending: it needs every cohort of its run."""
    last = {}
    for run in case.runs:
        if run.run.scored:
            month, until = run.run.open.says["month"], max(run.run.served).removeprefix("cohort-")
            last[month] = max(until, last.get(month, ""))
    waiting = {month: until for month, until in sorted(last.items()) if until > case.month}
    if not waiting:
        return "proved", "no cohort of these runs is private: with earlier releases all is open"
    case.pending = max(waiting.values())
    months = ", ".join(f"{month} pending until {until}" for month, until in waiting.items())
    return "pending", f"full scores need cohorts that are still private: {months}"

def _opened(case, where, line):
    run = case.log.runs[line["run"]]
    leaves = [run.open.index, run.close.index if run.close else None]
    agree("opened.leaves", f"{where}: $.open and $.close", leaves, [line["open"], line["close"]])
    opening = canonical(line["opening"]), line["salt"]
    require_opens("opened.commitment", "run-open", opening, run.open.digest, where)
    has = [line["totals"] is not None, line["totals_salt"] is not None]
    agree("opened.totals", f"{where}: $.totals and $.totals_salt", [run.scored] * 2, has)
    return OpenedRun(line, run)

def _require_attempts(case):
    """Check the numbers of each submitter's runs in a month, aborted ones and all tracks included."""
    before = defaultdict(int)
    for run in case.runs:
        opening, month = run.line["opening"], run.run.open.says["month"]
        attempt, last = opening["attempt"], before[month, opening["submitter"]]
        if attempt != last + 1 if month == case.month else attempt <= last:
            where = f"{RUNS}: $.opening.attempt of run {run.line['run']}"
            wanted = last + 1 if month == case.month else f"{last + 1} or more"
            raise disagreement("opened.attempt", where, wanted, attempt)
        before[month, opening["submitter"]] = attempt

def _require_results(case, opened, rows):
    run, number = opened.run, opened.line["run"]
    assert run.close is not None
    score, members = run.close.says, run.served[case.cohort]
    ordered = sorted(members, key=lambda task: case.log.commits[task].digest)
    where = f"{RESULTS}: the tasks of run {number}"
    agree("result.lines", where, ordered, [line["result"]["task"] for *_, line in rows])
    last, root = -1, bytes.fromhex(score["results_root"])
    for where, data, line in rows:  # places are written for a refusal only: a release has many lines
        _require_result(case, where, line)
        if line["position"] <= last:
            place, wanted = f"{where}: $.position", f"above {last}"
            raise disagreement("result.lines", place, wanted, line["position"])
        last = line["position"]
        # the result's own bytes stand between two names of the line that are no part of it
        result = data[data.index(b'"result":') + 9 : data.rindex(b',"run":')]
        bound = leaf_hash(commitment("result", result, bytes.fromhex(line["salt"])))
        proof = [bytes.fromhex(part) for part in line["proof"]]
        try:
            verify_inclusion(bound, last, score["count"], proof, root)
        except Broken as error:
            raise disagreement("result.bound", where, root, str(error)) from None
    totals = totals_of(number, case.cohort, [line["result"] for *_, line in rows])
    agree("result.totals", f"{RUNS}: $.totals of run {number}", totals, opened.line["totals"])
    stated = next(t["commitment"] for t in score["totals"] if t["cohort"] == case.cohort)
    opening = canonical(totals), opened.line["totals_salt"]
    require_opens("result.totals", "totals", opening, stated, f"{RUNS}: run {number}")

def _require_result(case, where, line):
    result, name = line["result"], line["result"]["task"]
    if result["run"] != line["run"]:
        raise disagreement("result.of", f"{where}: $.result.run", line["run"], result["run"])
    if result["cohort"] != case.cohort:
        place = f"{where}: $.result.cohort"
        raise disagreement("result.of", place, case.cohort, result["cohort"])
    if task := case.tasks.get(name) or case.withdrawn.get(name):
        wanted = [task.category, task.max_steps]
        found = [result["category"], result["max_steps"]]
        if wanted != found:
            place = f"{where}: $.result.category and $.result.max_steps"
            raise disagreement("result.of", place, wanted, found)
    calls, most = result["calls"], result["max_steps"]
    if result["passed"] and result["verdict"] != "true":
        place = f"{where}: $.result.verdict"
        raise disagreement("result.passed", place, "true", result["verdict"])
    if result["passed"] and calls > most:
        raise disagreement("result.passed", f"{where}: $.result.calls", f"0 to {most}", calls)
    if (unlisted := result["unlisted"]) > calls:
        place = f"{where}: $.result.unlisted"
        raise disagreement("result.calls", place, f"0 to {calls}", unlisted)

def _doubt_withdrawn(case, opened, counted):
    """Show a run's figures with and without what was withdrawn as broken after it was opened."""
    if case.broken.isdisjoint(opened.run.served[case.cohort]):
        return
    where = f"the figures of run {opened.line['run']}; the effect on ranks is pending until "
    where += max(opened.run.served).removeprefix("cohort-")
    stated = {"with": figures(opened.line["totals"])}
    case.doubt("doubt.withdrawn", where, stated, {"without": figures(counted)})

def _require_same(case, name, expected):
    """Compare a file with what follows from the others."""
    found = b"".join(case.bundle.pieces(name))
    if found == expected:
        return
    at = first_difference(expected, found)
    texts = [piece[at:].decode(errors="replace") for piece in (expected, found)]
    raise disagreement("figures.files", f"{name}: from byte {at} on", *texts)

# == Audit step about evidence: what is said of a submitter follows from the release that was proved before.

def check_evidence(case):
    """Check every document of evidence: the caller's, and those of the release."""
    listed = case.bundle.manifest["files"]
    own = case.bundle.lines(EVIDENCE) if EVIDENCE in listed else ()
    documents = chain(_given(case.evidence), ((where, value) for where, _, value in own))
    names = [name for name in (TASKS, WITHDRAWN) if name in listed]
    tasks = None  # read once there is something to compare with them
    shown = []
    for where, document in documents:
        if tasks is None:
            tasks = {task["id"]: task for name in names for *_, task in case.bundle.lines(name)}
        with within(where):
            shown.append(f"{where}: {'; '.join(_check(case, tasks, document))}")
    if not shown:
        return "not asked", "there is no evidence to check"
    return "proved", f"the evidence holds (documents: {len(shown)}). {'. '.join(shown)}"

STEPS = {
    "files": check_files,
    "checkpoint": check_head,
    "root": check_leaves,
    "statements": check_statements,
    "checkpoints": check_checkpoints,
    "retirement": check_retirement,
    "tasks": check_tasks,
    "runs": check_runs,
    "results": check_results,
    "figures": check_figures,
    "spot check": check_spot_check,
    "consistency": check_consistency,
    "full score": check_full_score,
    "evidence": check_evidence,
}

def _given(files):
    """Read the documents in the caller's files, one a line: where each stands, and its value."""
    for name, data in files:
        for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), 1):
            where = f"line {number} of {name}"
            yield where, parse_form(FORMS[EVIDENCE], line, where)

def _check(case, tasks, evidence):
    """Check one document of the right form."""
    name, cohort = evidence["task"], evidence["result"]["cohort"]
    run = case.log.runs.get(evidence["run"])
    if name not in tasks:
        what = f"the release does not open task {name}: name the release of {cohort}"
        raise disagreement("evidence.holds", "the evidence: task").with_message(what)
    if run is None or run.close is None or not run.scored:
        what = f"the log of the release has no score of run {evidence['run']}"
        raise disagreement("evidence.holds", "the evidence: run").with_message(what)
    submitters = {item.line["run"]: item.line["opening"]["submitter"] for item in case.runs}
    recipients = set()
    for number, other in case.log.runs.items():
        if name not in other.served.get(cohort, ()):
            continue
        if number not in submitters:
            what = f"the release does not open run {number}, which was shown the task"
            raise disagreement("evidence.holds", RUNS).with_message(what)
        recipients.add((submitters[number], other.open.says["month"]))
    leaves = run.open.statement, run.close.statement
    return check_accusation(evidence, tasks[name], *leaves, recipients)

# == Check of an evidence document: what is said of a submitter's run, against the statements of the log.

FREE = {"*text": {"from": ["text"]}}
_NOT_SERVED = ("free", "variant_key")

def check_accusation(evidence, task, opened, score, recipients):
    """Check one evidence document; gives a sentence for each step of the argument."""
    require_form(FORMS[EVIDENCE], evidence, "the evidence")
    result, says, run = evidence["result"], opened.predicate, evidence["run"]
    submitter, month = evidence["opening"]["submitter"], says["month"]
    _same("run", run, says["run"], score.predicate["run"], result["run"])
    _same("task", evidence["task"], task.get("id"), result["task"])
    _require_opening("run-open", evidence["opening"], evidence["opening_salt"], opened.digest)  # 1
    yes = [f"run {run} is one of {submitter} in {month}"]
    bound = commitment("result", canonical(result), bytes.fromhex(evidence["salt"]))  # 2
    proof, root = list(map(bytes.fromhex, evidence["proof"])), bytes.fromhex(score.predicate["results_root"])
    try:
        verify_inclusion(leaf_hash(bound), evidence["position"], score.predicate["count"], proof, root)
    except Broken as error:
        _same("inclusion proof", str(error), root)
    yes.append(f"its result on {evidence['task']} was bound when it ended")
    transcript = evidence["transcript"]
    _require_opening("transcript", transcript, evidence["transcript_salt"], result["transcript"])  # 3
    _same("number of calls", result["calls"], len(transcript["attempts"][-1]["calls"]) if transcript["attempts"] else 0)
    yes.append(f"its transcript was bound with it (calls: {result['calls']})")
    free, who = _free(evidence, task), (submitter, month)  # 4
    _same("recipients", recipients_of(evidence), sorted(recipients) if "recipients" in evidence else [])  # 5
    _same("place of its submitter among the recipients", [who], [other for other in recipients if other == who])
    values = {other: _values(evidence, free, other) for other in recipients}
    served = filled({name: part for name, part in task.items() if name not in _NOT_SERVED}, values[who])
    _same("SHA-256 of the task as it was served", transcript["served"], sha256(canonical(served)).hexdigest())  # 6
    _same("goal", transcript["goal"], served.get("goal"))
    if "variant_key" not in evidence:
        return [*yes, "the task was served alike to everybody"]
    others = sum(shown == values[who] for shown in values.values()) - 1
    return [*yes, f"it was served the variant of {submitter} in {month}, which is that of {others} other recipients"]

def recipients_of(evidence):
    """Return the recipients that an evidence document lists."""
    return [(item["submitter"], item["month"]) for item in evidence.get("recipients", ())]

def _free(evidence, task):
    """Return the choices of a task, whose variant key the evidence has to name."""
    require_form(FREE, task.get("free", {}), "the task: $.free")
    free = {name: choice["from"] for name, choice in task.get("free", {}).items()}
    _same("list of choices", [name for name, choices in free.items() if not choices], [])
    _same("variant key's presence", "variant_key" in evidence, "recipients" in evidence, "variant_key" in task)
    if "variant_key" in evidence:
        _same(
            "SHA-256 of the variant key",
            sha256(bytes.fromhex(evidence["variant_key"])).hexdigest(),
            task["variant_key"],
        )
    return free

def _values(evidence, free, who):
    """Return the choices that a recipient was shown."""
    if "variant_key" not in evidence:
        return first(free)
    return assigned(bytes.fromhex(evidence["variant_key"]), *who, free)

def _require_opening(label, payload, salt, expected):
    _same(f"{label} commitment", commitment(label, canonical(payload), bytes.fromhex(salt)).hex(), expected)

def _same(what, found, *expected):
    for value in expected:
        if value != found:
            where = f"the evidence: {what}"
            message = f"the evidence does not hold: its {what} differs"
            raise disagreement("evidence.holds", where, value, found).with_message(message)

# == State of a running audit: what each step found, which later steps rest on.

@dataclass(frozen=True, slots=True)
class AuditedTask:
    """The parts of an opened task that later steps need."""
    sha256: str
    stratum: str
    category: str
    max_steps: int
    played: list[Any] | None = None  # calls and answer of each committed solution, if it was broken

@dataclass(frozen=True, slots=True)
class OpenedRun:
    """A line of `runs.jsonl`, the run that it opens, and its totals as they count."""
    line: Mapping[str, Any]
    run: LoggedRun
    counted: Mapping[str, Any] | None = None

@dataclass
class AuditState:
    """State of a running audit; each attribute is filled by the step that is named beside it."""
    folder: Path
    keys: list[str]
    previous: str | None
    policy: Policy  # with its logs: checkpoint
    evidence: Sequence[tuple[str, bytes]] = ()  # the name and the bytes of each file
    consistency: Sequence[bytes] | None = None  # a proof from the head to a newer `previous`
    doubts: list[Doubt] = field(default_factory=list)
    bundle: Bundle = field(init=False)  # files
    verifiers: list[Verifier] = field(init=False)  # checkpoint
    head: Checkpoint = field(init=False)  # checkpoint
    signed: Note = field(init=False)  # checkpoint
    unchecked: tuple[str, ...] = ()  # checkpoint: who else signed it
    times: dict[int, Mapping[str, int]] = field(default_factory=dict)  # cosignatures, by tree size
    log: LogState = field(init=False)  # root
    roots: dict[int, bytes] = field(init=False)  # root: by tree size
    contradiction: VaultError | None = None  # root: of two leaves, for the next step
    retired: Retirement = field(init=False)  # retirement
    tasks: dict[str, AuditedTask] = field(init=False)  # tasks
    withdrawn: dict[str, AuditedTask] = field(init=False)  # tasks
    broken: set[str] = field(init=False)  # tasks: which were shown to be
    runs: list[OpenedRun] = field(init=False)  # runs
    pending: str | None = None  # full score

    @property
    def cohort(self):
        """The cohort that the release says it opens."""
        return str(self.bundle.manifest["cohort"])

    @property
    def month(self):
        """The month that the release says it belongs to."""
        return str(self.bundle.manifest["month"])

    def doubt(self, rule, where, expected, found):
        """Note a rule that was not kept, though everything follows from what was logged."""
        self.doubts.append(Doubt(rule, RULES[rule], Disagreement(where, expected, found)))

# == Report of an audit: numbered steps, doubts, what is pending, and what no audit proves.

State = Literal["proved", "pending", "not asked", "failed", "not reached"]
_MEASURED = (
    "that verdicts were computed honestly: results were fixed in time and add up; whether they "
    "were measured well, the operator's own machine says, also where results are judged again",
    "that no insider showed a task to a friend before it was opened",
    "that several pseudonyms are several submitters",
    "that a run made outside the log never happened",
)

def caveats(witnesses=(), unchecked=()):
    """List what an audit does not prove."""
    order = "order and time against the operator"
    word = "so when they were made is the operator's word"
    kept = "compare them with a checkpoint that you or others kept (--previous)"
    if witnesses:
        order += (
            f" and these witnesses together: {', '.join(witnesses)}. A witness says only that the "
            "log grew and when; an operator who takes a month to forge one is not found out by it"
        )
    elif unchecked:
        order += ": who else signed these checkpoints was not checked, because no policy names "
        order += f"them (--policy), {word}; {kept}"
    else:
        order += f": no witness cosigned these checkpoints, {word}; {kept}"
    return (*_MEASURED, order)

@dataclass(frozen=True)
class Step:
    """One step of an audit."""
    number: int
    name: str
    state: State
    proved: str = ""
    rule: str | None = None
    detail: str = ""
    evidence: Disagreement | None = None

    @property
    def ok(self):
        """Whether nothing disagreed."""
        return self.state not in {"failed", "not reached"}

    def as_json(self):
        """Return it as JSON values; a step that failed, and no other, has its evidence there."""
        names = ("number", "name", "ok", "state", "proved", "detail")
        data = {name: getattr(self, name) for name in names}
        if self.state == "failed":
            data |= {"rule": self.rule, "evidence": self.evidence and self.evidence.as_json()}
        return data

@dataclass(frozen=True)
class Doubt:
    """What an honest operator can have a reason for, and a dishonest one could gain by."""
    rule: str
    sentence: str
    evidence: Disagreement

@dataclass(frozen=True)
class AuditReport:
    """The outcome of an audit."""
    steps: Sequence[Step]
    doubts: Sequence[Doubt] = ()
    accepted: Collection[int] = ()
    pending: str | None = None
    caveats: Sequence[str] = ()

    @property
    def failed(self):
        """The step that failed, or None."""
        return next((step for step in self.steps if step.state == "failed"), None)

    @property
    def answer(self):
        """The answer in a word or three."""
        return "no" if self.failed else "yes with doubts" if self.doubts else "yes"

    @property
    def ok(self):
        """Whether nothing failed and the caller accepts every doubt."""
        return not self.failed and {*range(1, len(self.doubts) + 1)} <= {*self.accepted}

    def require_doubts(self):
        """Refuse an accepted number that no doubt has: who means another one has not accepted that."""
        unknown = sorted({*self.accepted} - {*range(1, len(self.doubts) + 1)})
        if unknown and not self.failed:
            there = f"its doubts have the numbers 1 to {len(self.doubts)}" if self.doubts else "it leaves no doubt"
            raise Malformed(f"--accept {unknown[0]} is no doubt of this audit: {there}; correct it, or leave it out")

    def as_json(self):
        """Return it as JSON values."""
        doubts = [
            {
                "number": number,
                "rule": doubt.rule,
                "doubt": doubt.sentence,
                "accepted": number in self.accepted,
                "evidence": doubt.evidence.as_json(),
            }
            for number, doubt in enumerate(self.doubts, 1)
        ]
        return {
            "answer": self.answer,
            "ok": self.ok,
            "steps": [step.as_json() for step in self.steps],
            "failed": self.failed.number if self.failed else None,
            "doubts": doubts,
            "pending": self.pending,
            "caveats": list(self.caveats),
        }

    def lines(self):
        """Write it as text, line by line."""
        for step in self.steps:
            yield f"{step.number:2}. {step.name}: {step.state}"
            for sentence in (step.proved, step.detail):
                if sentence:
                    yield f"    {printable(sentence)}"
            if step.evidence:
                yield from (f"    {line}" for line in step.evidence.lines())
        yield f"no: step {self.failed.number} failed" if self.failed else self.answer
        for number, doubt in enumerate(self.doubts, 1):
            accepted = " (accepted)" if number in self.accepted else ""
            yield f"Doubt {number}{accepted}: {doubt.sentence}"
            yield from (f"    {line}" for line in doubt.evidence.lines())
        if self.doubts and not self.ok and not self.failed:
            yield "Accept each doubt that has a good reason by its number (--accept 1)."
        yield "What this audit does not prove:"
        yield from (f"  - {caveat}" for caveat in self.caveats)

# == Rules of the log and of a release: each in one sentence, under the name by which a report gives it.

RULES = {
    # -- statements, each with those before it
    "statement.subject": "the subject of a statement says what its predicate says",
    "commit.once": "a task is committed to once",
    "commit.digest": "two tasks have two commitments",
    "commit.spec": "a task is of a version of the specification that this program knows",
    "set.previous": "a set names the index of the set before it, and the first one names none",
    "set.month": "sets are of consecutive months, one for each",
    "set.plan": "as many cohorts are live as planned, and retire at equal distances, from now on",
    "set.plan.same": "the plan of a set is that of the set before it",
    "set.counts": "a set counts its tasks: of each cohort, in all, and as unseen and seen",
    "set.cohort": "a cohort is named after the month in which it retires",
    "set.live": "a set repeats each live cohort with its tasks in their order",
    "set.tasks": "a cohort that is new in a set has new tasks, committed to before it, each once",
    "set.share": "all cohorts of a set have the same number of tasks, within one",
    "set.root": "the root of a cohort, and of a set, is over the commitments of its tasks",
    "set.reserve": "a reserve names tasks committed to and never served, each once, in order",
    "set.servers": "a set names the digest of each server of its live tasks and of its reserve",
    "set.public": "a set says whether a live task is of a public grammar, as their commits say",
    "set.seeds": "a set commits to seeds of its own",
    "set.access_log": "the access log of a set has no fewer entries than that of the set before",
    "set.keys": "a set names each Ed25519 key that signs withdrawals once",
    "run.set": "nothing is opened, withdrawn or retired before the first set",
    "run.once": "a run is opened once",
    "run.number": "runs are numbered in the order in which they are opened",
    "run.month": "a run and a withdrawal are of the last set's month, before its retirement",
    "run.root": "a run names the root of the last set",
    "run.track": "a run in the log is of a track of the log",
    "run.cohorts": "a run is served all live cohorts; of the endpoint track, the next to retire",
    "run.checkpoint": "a run names a checkpoint after its set and before itself",
    "run.judge": "a run names the judge of its set, if it is judged",
    "close.run": "a run that is closed was opened before, and is closed once",
    "close.same": "a run is closed in the month and on the track on which it was opened",
    "score.count": "a score counts one result for each task that its run was served",
    "score.totals": "a score has one commitment to totals for each cohort of its run, in order",
    "withdraw.task": "a task that is withdrawn was committed to, and has not left before",
    "withdraw.refill": "a withdrawn live task is replaced by the next of a reserve, or by none",
    "withdraw.signature": "a second key signs a withdrawal, if a set of its cohort named any",
    "retire.cohort": "the cohort that retires is live, and named after the month of the last set",
    "retire.tasks": "a cohort retires with the tasks that it has, in their order",
    "retire.runs": "every run is closed before a cohort retires",
    "retire.spot_check": "the spot check that the set promised is opened with the month, no other",
    "retire.counts": "of a spot check, differed <= judged <= chosen",
    "retire.draw_seeds": "a draw seed is opened once, when the last task drawn from it leaves",
    "key.names": "a change of the key is of this log, and names where it stands",
    "key.order": "the log is handed over from its present key to a new one",
    "key.signatures": "both keys sign the change of the key",
    # -- the release
    "file.listed": "a release has the files of its manifest and of its log, and no others",
    "file.digest": "each file has the size and the digest that the manifest lists",
    "head.origin": "the manifest and the checkpoints are of one log",
    "head.key": "a checkpoint is signed by the key that the log had at its size",
    "log.whole": "a release carries the log from its first leaf on",
    "log.tiles": "the hashes of the tiles are those of the leaves",
    "log.root": "the leaves give the root that was signed",
    "checkpoint.named": "a release carries each checkpoint that a run names",
    "checkpoint.root": "a checkpoint has the root of the leaves at its size",
    "retirement.one": "the log retires this cohort, in this month, with this manifest",
    "task.lines": "the files open each task that the log names, in its order, and no other",
    "task.bytes": "a task has the digest that its retirement states",
    "task.commitment": "a task and its salt open the commitment that was logged",
    "task.provenance": "a provenance and its salt open the commitment that was logged, if opened",
    "task.variant": "a variant key is the one whose digest stands in the task",
    "task.canary": "an opening bears the canary of its release",
    "task.reserve": "a task stood in the reserve of its stratum only",
    "task.refill": "a withdrawn task is replaced from its stratum, unless nothing was left there",
    "task.broken": "what is withdrawn as broken is shown: a reference fails, or a mutant passes",
    "opened.runs": "the runs that were served the cohort are opened, and no others",
    "opened.leaves": "an opened run names its own leaves",
    "opened.commitment": "what is opened of a run opens the commitment that was logged",
    "opened.totals": "a run opens totals if and only if it has a score",
    "opened.attempt": "the runs of a submitter in a month are numbered in their order",
    "result.lines": "a run opens one result for each task of the cohort, by their commitments",
    "result.of": "a result is of its run, this cohort, and its task's category and steps",
    "result.passed": "a result that is passed has the verdict true, and at most max_steps calls",
    "result.calls": "unlisted calls are calls",
    "result.bound": "a result and its salt are bound under the root of the score",
    "result.totals": "the results add up to the totals that the score committed to",
    "figures.files": "the computed files are what follows from the others",
    "spot_check.chosen": "as many results are judged again as the promised seed chooses",
    "previous.origin": "the checkpoint that was kept is of this log",
    "previous.proof": "a consistency proof leads from the release to the newer checkpoint",
    "evidence.holds": "evidence follows from the release and from what its result committed to",
    # -- doubts
    "doubt.newer": "a checkpoint newer than the release is joined to it by a consistency proof",
    "doubt.time": "a leaf is cosigned in its month, within a day",
    "doubt.before": "a run is cosigned as opened before it has a score",
    "doubt.clock": "cosignatures of larger trees are no older; between witnesses, by five minutes",
    "doubt.withdrawn": "no task is withdrawn as broken that an opened run was served",
    "doubt.share": "at most one task in twenty of a cohort is withdrawn",
    "doubt.differed": "no result that was judged again came out otherwise",
}

def agree(rule, where, expected, found):
    """Refuse a value that is not the expected one."""
    if expected != found:
        raise disagreement(rule, where, expected, found)

def require(rule, holds, where, expected=None, found=None):
    """Refuse what does not hold."""
    if not holds:
        raise disagreement(rule, where, expected, found)

def disagreement(rule, where, expected=None, found=None):
    """Return the error of a broken rule."""
    return Broken(RULES[rule], where=where, expected=expected, found=found, rule=rule)

# == State of the log after each leaf: what was promised, served and closed, and what may come next.

SPECS = ("1.0.0",)
ALL_COHORTS = ("docker", "docker-model-gateway", "docker-judged", "unofficial")  # tracks served all that is live
NEXT_COHORT = ("endpoint",)  # tracks served what retires next, alone
WITHDRAWAL = "quarterturn-withdrawal"  # the namespace of the second signature

@dataclass(slots=True)
class LoggedRun:
    """A run: the leaf that opened it, its set, the tasks it was served, the leaf that closed it."""
    open: LoggedStatement
    set: LoggedStatement
    served: Mapping[str, tuple[str, ...]]
    close: LoggedStatement | None = None

    @property
    def scored(self):
        """Whether it ended with a score."""
        return self.close is not None and self.close.statement.kind == "score"

@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A withdrawal: its leaf, the cohort that the task left, and what was next in each reserve."""
    leaf: LoggedStatement
    cohort: str | None  # None: it left a reserve
    reserve: Mapping[str, str]  # the next commitment, by stratum

@dataclass(frozen=True, slots=True)
class Retirement:
    """A retirement: its leaf, the last set before it, and the withdrawals that it opens."""
    leaf: LoggedStatement
    set: LoggedStatement
    withdrawals: Sequence[Withdrawal]

class LogState:
    """What the leaves up to now say."""

    def __init__(self, origin):
        self.origin = origin
        self.size = 0
        self.kinds: dict[str, int] = {}
        self.commits: dict[str, LoggedStatement] = {}
        self.task_of: dict[str, str] = {}
        self.sets: list[LoggedStatement] = []
        self.live: dict[str, list[str]] = {}
        self.runs: dict[int, LoggedRun] = {}
        self.withdrawals: list[Withdrawal] = []
        self.retirements: list[Retirement] = []
        self.keys: list[tuple[int, str]] = []
        self._open: set[int] = set()  # runs
        self._served: set[str] = set()  # tasks that ever were in a cohort
        self._left: set[str] = set()  # tasks that retired or were withdrawn
        self._past: set[str] = set()  # cohorts that retired
        self._gaps: dict[str, int] = {}  # empty places of a cohort
        self._seeds: set[str] = set()  # commitments to seeds
        self._second: dict[str, list[str]] = {}  # keys that sign withdrawals, by live cohort
        self._drawn: dict[int, set[str]] = {}  # by set: tasks of a draw seed that is not opened yet
        self._opened = 0  # withdrawals that a retirement had the chance to open

    def take(self, leaf):
        """Read the next leaf."""
        what = f"leaf {self.size}"
        entry = LoggedStatement(self.size, Statement.parse(leaf, what))
        kind = entry.statement.kind
        require("run.set", bool(self.sets) or kind in {"commit", "set", "key"}, what, "set", kind)
        takes = {"commit": self._commit, "set": self._set, "run-open": self._run_open}
        takes |= {"score": self._score, "abort": self._abort, "withdraw": self._withdraw}
        takes |= {"retire": self._retire, "key": self._key}
        try:
            takes[kind](entry, entry.says)
        except Malformed as error:  # a broken rule names its place itself
            raise error.with_message(f"{what}: {error}", what) from None
        self.size += 1
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        return entry

    def key_at(self, size):
        """Return the key that signs trees of a size."""
        return next(key for start, key in reversed(self.keys) if start < size or not start)

    def require_key(self, size, signed, where):
        """Check that a tree is signed by the key of its size, and by no other of the log's keys."""
        found = [key for _, key in self.keys if key in signed]
        agree("head.key", where, [self.key_at(size)], found)

    def withdrawal_keys(self, task):
        """Return the keys of which one must sign the withdrawal of a task, if there are any."""
        cohort = next((name for name, tasks in self.live.items() if task in tasks), None)
        return self._second[cohort] if cohort else list(self.sets[-1].says["withdrawal_keys"])

    # -- one method for each kind of statement

    def _commit(self, entry, says):
        first = self.commits.get(entry.name)
        agree("commit.once", f"{entry.where}: {entry.name}", None, first and first.where)
        other = self.task_of.get(entry.digest)
        agree("commit.digest", f"{entry.where}: {entry.digest}", None, other)
        require("commit.spec", says["spec"] in SPECS, entry.at("spec"), SPECS, says["spec"])
        self.commits[entry.name] = entry
        self.task_of[entry.digest] = entry.name
        if self.sets:
            self._drawn[self.sets[-1].index].add(entry.name)

    def _set(self, entry, says):
        last = self.sets[-1] if self.sets else None
        agree("statement.subject", entry.where, f"set/{says['month']}", entry.name)
        agree("set.previous", entry.at("previous"), last and last.index, says["previous"])
        if last:
            following = month_text(month_number(last.says["month"]) + 1)
            agree("set.month", entry.at("month"), following, says["month"])
            agree("set.plan.same", entry.at("plan"), last.says["plan"], says["plan"])
        _require_plan(entry, says)
        _require_counts(entry, says)
        tasks = self._require_tasks(entry, says)
        self._require_roots(entry, says)
        self._require_reserve(entry, says, set(tasks))
        public = any(self.commits[task].says["public_grammar"] for task in tasks)
        agree("set.public", entry.at("public_grammar"), public, says["public_grammar"])
        for name in [name for name in ("next_draw", "spot_check") if name in says]:
            require("set.seeds", says[name] not in self._seeds, entry.at(name), None, says[name])
            self._seeds.add(says[name])
        statements = (last.says if last else {}, says)
        least, entries = (item.get("access_log", {}).get("entries", 0) for item in statements)
        where = entry.at("access_log")
        require("set.access_log", entries >= least, where, f"{least} or more", entries)
        keys, where = says["withdrawal_keys"], entry.at("withdrawal_keys")
        vkeys = dict.fromkeys(Verifier.parse(key).vkey for key in keys)
        agree("set.keys", where, list(vkeys), keys)
        self.sets.append(entry)
        self.live = {item["id"]: list(item["tasks"]) for item in says["cohorts"]}
        self._second = {cohort: self._second.get(cohort) or keys for cohort in self.live}
        self._served.update(tasks)
        self._drawn[entry.index] = set()

    def _run_open(self, entry, says):
        last, number = self.sets[-1], says["run"]
        agree("statement.subject", entry.where, f"run/{number}", entry.name)
        where, known = entry.at("run"), self.runs.get(number)
        agree("run.once", where, None, known and known.open.where)
        least = next(reversed(self.runs), 0) + 1
        require("run.number", number >= least, where, f"{least} or more", number)
        self._require_month(entry)
        agree("run.root", entry.at("set"), last.digest, says["set"])
        track, tracks = says["track"], ALL_COHORTS + NEXT_COHORT
        require("run.track", track in tracks, entry.at("track"), tracks, track)
        names = sorted(self.live) if track in ALL_COHORTS else sorted(self.live)[:1]
        agree("run.cohorts", entry.at("cohorts"), names, sorted(says["cohorts"]))
        size = says["checkpoint"]["size"]
        where, sizes = entry.at("checkpoint.size"), f"{last.index + 1} to {entry.index}"
        require("run.checkpoint", last.index < size <= entry.index, where, sizes, size)
        if "judge" in says:
            judge = last.says.get("judge")
            digest = sha256(canonical(judge)).hexdigest() if judge else None
            agree("run.judge", entry.at("judge"), digest, says["judge"])
        served = {name: tuple(self.live[name]) for name in says["cohorts"]}
        self.runs[number] = LoggedRun(entry, last, served)
        self._open.add(number)

    def _score(self, entry, says):
        run = self._close(entry, says)
        agree("statement.subject", entry.where, says["results_root"], entry.digest)
        agree("close.same", entry.at("track"), run.open.says["track"], says["track"])
        agree("score.count", entry.at("count"), sum(map(len, run.served.values())), says["count"])
        totals = [item["cohort"] for item in says["totals"]]
        agree("score.totals", entry.at("totals"), run.open.says["cohorts"], totals)

    def _abort(self, entry, says):
        run = self._close(entry, says)
        agree("statement.subject", entry.where, run.open.digest, entry.digest)

    def _close(self, entry, says):
        run = self.runs.get(says["run"])
        agree("statement.subject", entry.where, f"run/{says['run']}", entry.name)
        if run is None or run.close:
            closed = run and run.close and run.close.where
            raise disagreement("close.run", entry.at("run"), "a run that is open", closed)
        agree("close.same", entry.at("month"), run.open.says["month"], says["month"])
        run.close = entry
        self._open.remove(says["run"])
        return run

    def _withdraw(self, entry, says):
        task, refill = entry.name, says["replacement"]
        commit = self.commits.get(task)
        if commit is None or task in self._left:
            found = "it has left" if commit else None
            raise disagreement("withdraw.task", f"{entry.where}: {task}", "a committed task", found)
        agree("withdraw.task", f"{entry.where}: the digest", commit.digest, entry.digest)
        self._require_month(entry)
        cohort = next((name for name, tasks in self.live.items() if task in tasks), None)
        self._require_second(entry, says, self.withdrawal_keys(task))
        self._left.add(task)
        reserve = self._next_in_reserve() if cohort else {}
        digests, where = sorted(reserve.values()), entry.at("replacement")
        nexts = [None, *(self.task_of[digest] for digest in digests)]
        require("withdraw.refill", refill in nexts, where, digests, refill)
        if cohort:
            place, filled = self.live[cohort].index(task), [refill] if refill else []
            self.live[cohort][place : place + 1] = filled
            self._served.update(filled)
            self._gaps[cohort] = self._gaps.get(cohort, 0) + (not refill)
        self.withdrawals.append(Withdrawal(entry, cohort, reserve))

    def _retire(self, entry, says):
        last, cohort = self.sets[-1], says["cohort"]
        month = last.says["month"]
        agree("statement.subject", entry.where, f"Historical-{says['month']}", entry.name)
        agree("retire.cohort", entry.at("month"), month, says["month"])
        agree("retire.cohort", entry.at("cohort"), f"cohort-{month}", cohort)
        live = sorted(self.live)
        require("retire.cohort", cohort in live, entry.at("cohort"), live, cohort)
        tasks = [[task, self.commits[task].digest] for task in self.live[cohort]]
        stated = [[task["id"], task["commitment"]] for task in says["tasks"]]
        agree("retire.tasks", entry.at("tasks"), tasks, stated)
        agree("retire.runs", f"{entry.where}: the runs that are open", [], sorted(self._open))
        _require_spot_check(entry, last.says.get("spot_check"), says.get("spot_check"))
        self._left.update(self.live.pop(cohort))
        self._past.add(cohort)
        self._require_seeds(entry, says.get("draw_seeds"))
        earlier, due = self.withdrawals[: self._opened], self.withdrawals[self._opened :]
        own = [item for item in earlier if item.cohort == cohort]
        own += [item for item in due if item.cohort in {cohort, None}]
        self._opened = len(self.withdrawals)
        self.retirements.append(Retirement(entry, last, own))

    def _key(self, entry, says):
        old, new = handover(self.origin, entry)
        self.keys = self.keys or [(0, old)]
        agree("key.order", entry.at("old"), self.keys[-1][1], says["old"])
        is_new = new not in [key for _, key in self.keys]
        require("key.order", is_new, entry.at("new"), "a new key", new)
        self.keys.append((entry.index, new))

    # -- parts of a run, a set, a withdrawal and a retirement

    def _require_month(self, entry):
        last, where = self.sets[-1], entry.at("month")
        agree("run.month", where, last.says["month"], entry.says["month"])
        if self.retirements and self.retirements[-1].set is last:
            ended = self.retirements[-1].leaf.where
            raise disagreement("run.month", where, f"a leaf before {ended}", entry.where)

    def _require_second(self, entry, says, keys):
        """Check that one of these keys signed a withdrawal, or nobody where there are none."""
        second, where = says["signature"], entry.at("signature")
        if second is None or second["key"] not in keys:
            agree("withdraw.signature", where, list(keys) or None, second)
            return
        key, text = second["key"], withdrawal_text(self.origin, entry.statement)
        signature = decode_base64(second["signature"], where)
        holds = Verifier.parse(key).accepts(signed_data(text, WITHDRAWAL.encode()), signature)
        expected = {"key": key, "text": text.decode()}
        require("withdraw.signature", holds, where, expected, signature)

    def _require_tasks(self, entry, says):
        """Check the tasks of each cohort; give all of them."""
        listed = {item["id"]: item["tasks"] for item in says["cohorts"]}
        where = entry.at("cohorts")
        for name, tasks in self.live.items():
            agree("set.live", f"{where}: {name}", tasks, listed.get(name))
        for name, tasks in listed.items():
            require("set.live", name not in self._past, where, "no cohort that retired", name)
            for task in tasks if name not in self.live else ():
                is_new = task in self.commits and task not in self._served | self._left
                require("set.tasks", is_new, f"{where}: {name}", "a new task", task)
        return [task for tasks in listed.values() for task in tasks]

    def _require_roots(self, entry, says):
        digests = []
        sizes = {}
        for item in says["cohorts"]:
            own = [bytes.fromhex(self.commits[task].digest) for task in item["tasks"]]
            where = f"{entry.at('cohorts')}: {item['id']}"
            agree("set.root", where, set_root(own).hex(), item["root"])
            sizes[item["id"]] = len(own) + self._gaps.get(item["id"], 0)
            digests += own
        agree("set.root", f"{entry.where}: the digest", set_root(digests).hex(), entry.digest)
        is_even = max(sizes.values()) - min(sizes.values()) <= 1
        require("set.share", is_even, entry.at("cohorts"), "equal numbers, within one", sizes)

    def _require_reserve(self, entry, says, live):
        used = live | self._served | self._left
        for stratum, digests in says["reserve"].items():
            where, server = f"{entry.at('reserve')}: {stratum}", stratum.split("/")[0]
            is_named = not digests or server in says["servers"]
            require("set.servers", is_named, entry.at("servers"), server)
            for digest in digests:
                is_free = self.task_of.get(digest) not in used | {None}
                require("set.reserve", is_free, where, "a task of the reserve", digest)
                used.add(self.task_of[digest])
            agree("set.reserve", where, sorted(digests), digests)

    def _next_in_reserve(self):
        used, reserve = self._served | self._left, self.sets[-1].says["reserve"]
        left = {key: [d for d in reserve[key] if self.task_of[d] not in used] for key in reserve}
        return {stratum: digests[0] for stratum, digests in left.items() if digests}

    def _require_seeds(self, entry, opened):
        """Check that exactly the seeds are opened of which no task is private any more."""
        where, due = entry.at("draw_seeds"), list(self._drawn)[:-1]
        due = [index for index in due if not self._drawn[index] - self._left]
        agree("retire.draw_seeds", where, due or None, opened and [item["set"] for item in opened])
        promised = {item.index: item.says["next_draw"] for item in self.sets}
        for item in opened or ():
            stated = promised[item["set"]]
            require("retire.draw_seeds", _opens("draw-seed", item, stated), where, stated, item)
            del self._drawn[item["set"]]

def handover(origin, entry):
    """Return the old and the new key of a `key` statement that both signed."""
    says = entry.says
    old, new = Verifier.parse(says["old"]), Verifier.parse(says["new"])
    names = [entry.name, old.name, new.name]
    agree("key.names", f"{entry.where}: the names", [origin] * 3, names)
    agree("key.names", f"{entry.where}: the digest", sha256(new.public).hexdigest(), entry.digest)
    agree("key.names", entry.at("size"), entry.index, says["size"])
    text = handover_text(old.vkey, new.vkey, says["size"])
    for word, key in (("old", old), ("new", new)):
        where = entry.at(f"signatures.{word}")
        signature = decode_base64(says["signatures"][word], where)
        signed = {"key": key.vkey, "text": text.decode()}
        require("key.signatures", key.accepts(text, signature), where, signed, signature)
    return old.vkey, new.vkey

def handover_text(old, new, size):
    """Return the text that both keys sign; it is no checkpoint, whose second line is a number."""
    return f"quarterturn/log-key/v1\n{old}\n{new}\n{size}\n".encode()

def withdrawal_text(origin, statement):
    """Return the text that a second person signs: the log, and all that a `withdraw` statement says."""
    says = {name: value for name, value in statement.predicate.items() if name != "signature"}
    says |= {"log": origin, "task": statement.name, "commitment": statement.digest}
    return canonical(says)

def month_number(month):
    """Count months from year 0, so that the following month is one more."""
    return int(month[:4]) * 12 + int(month[5:]) - 1

def month_text(number):
    """Write a counted month as YYYY-MM."""
    return f"{number // 12:04d}-{number % 12 + 1:02d}"

def _require_plan(entry, says):
    """Check that the planned cohorts retire at equal distances, the first before the next would."""
    count, lifetime = says["plan"]["cohorts"], says["plan"]["lifetime"]
    months = int(lifetime[1:-1]) * {"M": 1, "Y": 12}.get(lifetime[-1], 0)
    step, rest = divmod(months, count)
    wanted = f"a multiple of {count} months"
    require("set.plan", step > 0 and not rest, entry.at("plan.lifetime"), wanted, lifetime)
    retire = sorted(month_number(item["retires"]) for item in says["cohorts"])
    start = month_number(says["month"])
    first = retire[0] if retire and start <= retire[0] < start + step else start
    expected = [month_text(first + step * place) for place in range(count)]
    agree("set.plan", entry.at("cohorts"), expected, [month_text(number) for number in retire])

def _require_counts(entry, says):
    for place, item in enumerate(says["cohorts"]):
        where = entry.at(f"cohorts[{place}]")
        agree("set.cohort", f"{where}.id", f"cohort-{item['retires']}", item["id"])
        agree("set.counts", f"{where}.count", len(item["tasks"]), item["count"])
    total = len({task for item in says["cohorts"] for task in item["tasks"]})
    agree("set.counts", entry.at("cohorts"), total, sum(item["count"] for item in says["cohorts"]))
    agree("set.counts", entry.at("count"), total, says["count"])
    agree("set.counts", entry.at("counts"), total, sum(says["counts"].values()))

def _opens(label, opening, promised):
    """Tell whether a seed and its salt open a commitment (all in hex)."""
    seed, salt = bytes.fromhex(opening["seed"]), bytes.fromhex(opening["salt"])
    return commitment(label, seed, salt).hex() == promised

def _require_spot_check(entry, promised, opened):
    where = entry.at("spot_check")
    if promised is None or opened is None:
        agree("retire.spot_check", where, promised, opened)
        return
    require("retire.spot_check", _opens("spot-check", opened, promised), where, promised, opened)
    counts = [opened[name] for name in ("differed", "judged", "chosen")]
    agree("retire.counts", where, sorted(counts), counts)

# == Spot-check rule: which results are judged again, from a seed that nobody can use before the last result is bound.

LABEL = "spot-check"
ONE_IN = 20

def is_chosen(seed, root, run, task):
    """Say whether a run's result on a task is judged again; `seed` and `root` have 32 bytes each."""
    mark = commitment(LABEL, root + f"\n{run}/{task}".encode(), seed)
    return int.from_bytes(mark[:8], "big") * ONE_IN < 1 << 64

# == Results of a run: what its score commits to, the totals of a cohort, and the figures of the four axes.

RESULT = {
    "run": "positive", "task": "task", "cohort": "cohort",
    "category": "=single-tool,composition,recovery", "verdict": "=true,false,unknown",
    "passed": "boolean", "calls": "natural", "max_steps": "positive", "unlisted": "natural",
    "saw_error": "boolean", "skeleton": "tag", "transcript": "hash|null",
}
TOTALS = {
    "run": "positive", "cohort": "cohort", "attempted": "natural", "passed": "natural",
    "unknown": "natural", "efficiency_sum": "fraction", "calls": "natural",
    "unlisted": "natural", "recovery_seen": "natural", "recovery_passed": "natural",
}
TRANSCRIPT = {  # the goal and the digest of the task as they were served, and every attempt
    "goal": "string", "served": "hash",
    "attempts": [{
        "ended": "string", "answer": "string|null",
        "calls": [{
            "tool": "string", "arguments": "string", "result": "string", "error": "boolean",
        }],
    }],
}
_PLACES = 10_000

def totals_of(run, cohort, results):
    """Sum up the results of one run on one cohort."""
    passed = [row for row in results if row["passed"]]
    seen = [row for row in results if row["category"] == "recovery" and row["saw_error"]]
    calls = Counter()  # by max_steps, so that few fractions are added
    for row in passed:
        calls[row["max_steps"]] += row["calls"]
    efficiency = sum((Fraction(count, steps) for steps, count in calls.items()), Fraction(0))
    sums = {name: sum(row[name] for row in results) for name in ("calls", "unlisted")}
    return sums | {
        "run": run,
        "cohort": cohort,
        "attempted": len(results),
        "passed": len(passed),
        "unknown": sum(row["verdict"] == "unknown" for row in results),
        "efficiency_sum": f"{efficiency.numerator}/{efficiency.denominator}",
        "recovery_seen": len(seen),
        "recovery_passed": sum(row["passed"] for row in seen),
    }

def figures(totals):
    """Return the four axes as decimals with four places, None where nothing can be divided."""
    return {
        "success_rate": _rate(totals["passed"], totals["attempted"]),
        "efficiency": _rate(Fraction(totals["efficiency_sum"]), totals["passed"]),
        "hallucinated_tool_rate": _rate(totals["unlisted"], totals["calls"]),
        "recovery_rate": _rate(totals["recovery_passed"], totals["recovery_seen"]),
    }

def _rate(part, whole):
    """Divide, rounded to four places, a half to the even digit."""
    if not whole:
        return None
    scaled = round(Fraction(part) / whole * _PLACES)
    return f"{scaled // _PLACES}.{scaled % _PLACES:04d}"

# == Contents of a release: its files, the form of their lines, and the files that follow from others.

FORMAT = "urn:quarterturn:bundle:v1"
ATTESTED = "urn:quarterturn:tasks:v1"
LOG = "log"
MANIFEST = "manifest.json"
README, TASKS, OPENINGS = "README.md", "tasks.jsonl", "openings.jsonl"
RUNS, RESULTS = "runs.jsonl", "results.jsonl"
AGGREGATE, ATTESTATION = "aggregate.json", "attestation.json"
WITHDRAWN, BROKEN = "withdrawn.jsonl", "broken.jsonl"  # where there are any, as the next two
EVIDENCE, PAGE = "evidence.jsonl", "verify.html"
ALWAYS = (README, TASKS, OPENINGS, RUNS, RESULTS, AGGREGATE, ATTESTATION)
SOMETIMES = (WITHDRAWN, BROKEN, EVIDENCE, PAGE)
_FILE = {"bytes": "natural", "sha256": "hash"}
TASK = {  # of a task's document, which is described in SPEC.md
    "id": "task", "server": "server", "category": "=single-tool,composition,recovery",
    "difficulty": "=easy,medium,hard", "max_steps": "positive",
}
OPENING = {"submitter": "text", "submission": "text", "attempt": "positive"}  # of a run
FORMS = {  # of the lines of each file
    MANIFEST: {
        "format": f"={FORMAT}", "month": "month", "cohort": "cohort", "origin": "text",
        "canary": "guid", "first": "natural",
        "files": dict.fromkeys((*ALWAYS, *(f"{name}?" for name in SOMETIMES)), _FILE),
    },
    TASKS: "object",
    WITHDRAWN: "object",
    OPENINGS: {
        "id": "task", "salt": "hash", "commitment": "hash", "commit": "natural",
        "provenance": "object|null", "provenance_salt": "hash|null", "canary": "guid",
        "variant_key?": "hash",
    },
    RUNS: {
        "run": "positive", "open": "natural", "close": "natural",
        "opening": OPENING,
        "salt": "hash", "totals": [TOTALS, None], "totals_salt": "hash|null",
    },
    RESULTS: {
        "run": "positive", "position": "natural", "result": RESULT, "salt": "hash",
        "proof": ["hash"],
    },
    BROKEN: {
        "task": "task", "solution": "=reference,mutant",
        "calls": [{"tool": "text", "arguments": "object"}],
        "answer": "text|null", "state": "object", "verdict": "boolean",
    },
    EVIDENCE: {
        "finding": "positive", "kind": "=leak,copy,family,task,exposure,unknown,unclear,verdict",
        "task": "task", "run": "positive", "opening": OPENING, "opening_salt": "hash",
        "position": "natural", "result": RESULT, "salt": "hash", "proof": ["hash"],
        "transcript": TRANSCRIPT, "transcript_salt": "hash",
        "variant_key?": "hash", "recipients?": [{"submitter": "text", "month": "month"}],
    },
}

def attestation(month, cohort, tasks):
    """Make `attestation.json`: an in-toto Statement about the tasks, each with its sha256."""
    subject = [{"name": task, "digest": {"sha256": digest}} for task, digest in tasks]
    predicate = {"month": month, "cohort": cohort}
    document = {"_type": TYPE, "subject": subject, "predicateType": ATTESTED}
    return canonical({**document, "predicate": predicate})

def aggregate(month, cohort, runs):
    """Make `aggregate.json`: totals and figures of each scored run on the retired cohort."""
    rows = [
        {name: opening[name] for name in ("submitter", "attempt")}
        | {"run": totals["run"], "totals": totals, "figures": figures(totals)}
        for opening, totals in runs
    ]
    return canonical({"month": month, "cohort": cohort, "runs": rows})

def readme(manifest):
    """Make `README.md` from the manifest, which lists it: its own size and digest are not read."""
    names = {*manifest["files"], MANIFEST, "log/"}
    rows = "".join(f"| `{name}` | {what} |\n" for name, what in README_ROWS if name in names)
    hint = PAGE_HINT if PAGE in manifest["files"] else ""
    return README_TEXT.format(**manifest, rows=rows, hint=hint).encode()

README_ROWS = (
    (TASKS, "one task a line: exactly the bytes that were committed to, in the promised order"),
    (WITHDRAWN, "the tasks that were withdrawn; `openings.jsonl` goes on with them"),
    (BROKEN, "what shows that a withdrawn task was broken; it counts in no figure"),
    (EVIDENCE, "results that findings rest on, opened with their transcripts"),
    (OPENINGS, "for each task its salt, its commitment and the index of its `commit` leaf"),
    (RUNS, "every run that was served the cohort: pseudonym, attempt, and its totals"),
    (RESULTS, "every result, with its salt and its inclusion proof in the run's results root"),
    (AGGREGATE, "the figures, as they follow from the results"),
    (ATTESTATION, "an in-toto statement of (task id, sha256)"),
    (PAGE, "a page that checks this folder in a browser, from a disk and without a network"),
    (MANIFEST, "the digest of each of these files; its own is in the log's `retire` leaf"),
    ("log/", "the log: signed checkpoints, all hash tiles, and all leaves"),
)
PAGE_HINT = """\
Or open `verify.html` and drop this folder on it. Whoever does not trust a page that came with what
it checks makes the same bytes from the source: `python -m vault.ledger.browser | sha256sum`.

"""
README_TEXT = """\
# Historical-{month}

The tasks of {cohort}, which were private until {month} and count no more. Each was committed to in
the public log `{origin}` before the first run that used it; this folder opens those commitments.

Benchmark data must not be in training corpora. Canary GUID of this release: {canary}

| file | what it holds |
|---|---|
{rows}
Check it offline, with the log's key from somewhere else than this folder:

    quarterturn audit Historical-{month} --key log.vkey

{hint}Open a commitment without any code of ours (line 1 of the two files, without its end):

    {{ printf 'quarterturn/commit/v1\\n'; head -n 1 tasks.jsonl | tr -d '\\n'; }} |
        openssl dgst -sha256 -mac HMAC -macopt hexkey:SALT
"""

# == Reader of a release folder from an untrusted source.

MAX_LINE = 1 << 20
CAPS = {  # bytes, by the beginning of the name; the first that fits counts
    f"{LOG}/tile/entries/": 256 * (2 + 0xFFFF),
    f"{LOG}/tile/": 256 * 32,
    f"{LOG}/": 1 << 20,
    MANIFEST: MAX_LINE,
    "": 1 << 30,
}

@dataclass(frozen=True)
class Bundle:
    """A release whose content files are those of its manifest."""
    folder: Path
    manifest: Mapping[str, Any]
    manifest_digest: str
    log_files: frozenset[str]

    @classmethod
    def read(cls, folder):
        """Read the manifest and compare every content file with it."""
        sizes = dict(_walk(folder, ""))
        for name, size in sizes.items():
            cap = next(cap for beginning, cap in CAPS.items() if name.startswith(beginning))
            if size > cap:
                what = f"{name} has {size} bytes; such a file has at most {cap}"
                raise Malformed(what, where=name, expected=f"0 to {cap}", found=size)
        data = _read(folder / MANIFEST, MANIFEST)
        manifest = parse_form(FORMS[MANIFEST], data, MANIFEST)
        log = {name for name in sizes if name.startswith(f"{LOG}/")}
        listed = {MANIFEST, *manifest["files"]}
        for name in sorted(sizes.keys() - log ^ listed):
            raise disagreement("file.listed", name, sorted(listed), name if name in sizes else None)
        for name, item in manifest["files"].items():
            agree("file.digest", f"{name}: number of bytes", item["bytes"], sizes[name])
        bundle = cls(folder, manifest, sha256(data).hexdigest(), frozenset(n[4:] for n in log))
        for name, item in manifest["files"].items():
            digest = sha256()
            for piece in bundle.pieces(name):
                digest.update(piece)
            agree("file.digest", f"{name}: sha256", item["sha256"], digest.hexdigest())
        return bundle

    def log_file(self, path):
        """Read a file below `log/`."""
        return _read(self.folder / LOG / path, f"{LOG}/{path}")

    def pieces(self, name):
        """Read a content file by mebibytes; one that grew meanwhile not much beyond its size."""
        left = self.manifest["files"][name]["bytes"]
        with _reading(name), (self.folder / name).open("rb") as file:
            while left >= 0 and (piece := file.read(MAX_LINE)):
                left -= len(piece)
                yield piece

    def lines(self, name):
        """Read the lines of a content file: where each stands, its bytes, and its value."""
        form = FORMS[name]
        with _reading(name), (self.folder / name).open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MAX_LINE), b""), 1):
                where = f"line {number} of {name}"
                if not line.endswith(b"\n"):
                    what = f"{where} is cut short or longer than {MAX_LINE} bytes"
                    raise Malformed(what, where=where)
                yield where, line[:-1], parse_form(form, line[:-1], where)

def _walk(folder, prefix):
    """List the files with their sizes in bytes."""
    with _reading(prefix or str(folder)), os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda item: item.name):
            name = f"{prefix}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(folder / entry.name, f"{name}/")
            elif entry.is_file(follow_symlinks=False):
                yield name, entry.stat(follow_symlinks=False).st_size
            else:
                raise Malformed(f"{name!r} is neither a file nor a folder", where=name)

def _read(path, name):
    with _reading(name):
        return path.read_bytes()

@contextmanager
def _reading(name):
    """Refuse a release of which something cannot be read."""
    try:
        yield
    except OSError as error:
        raise Broken(f"{name} cannot be read: {error.strerror}", where=name) from error

# == Statements: the leaves of the log, each an in-toto Statement (v1) of one kind, and their parser.

TYPE = "https://in-toto.io/Statement/v1"
URN = "urn:quarterturn:{}:v1"
HMAC, SHA = "hmac-sha256", "sha256"
STATEMENTS = {
    "commit": ("task", HMAC, {
        "spec": "version", "provenance": "hash", "public_grammar": "boolean",
    }),
    "set": ("set", SHA, {
        "month": "month", "previous": "natural|null",
        "plan": {"cohorts": "positive", "lifetime": "lifetime"},
        "count": "natural",
        "cohorts": [{
            "id": "cohort", "retires": "month", "count": "natural", "root": "hash",
            "tasks": ["task"],
        }],
        "reserve": {"*stratum": ["hash"]},
        "counts": {"unseen": "natural", "seen": "natural"},
        "servers": {"*server": "hash"},
        "public_grammar": "boolean",
        "next_draw": "hash",
        "judge?": {"anchors": "hash", "parameters": "hash", "rubric": "hash"},
        "month_key?": "hash",
        "access_log?": {"entries": "natural", "commitment": "hash"},
        "spot_check?": "hash",
        "withdrawal_keys": ["vkey"],
    }),
    "run-open": ("run", HMAC, {
        "run": "positive", "month": "month", "track": "word", "set": "hash",
        "cohorts": ["cohort"], "checkpoint": {"size": "positive", "root": "hash"},
        "judge?": "hash",
    }),
    "score": ("run", SHA, {
        "run": "positive", "month": "month", "track": "word", "count": "positive",
        "results_root": "hash", "totals": [{"cohort": "cohort", "commitment": "hash"}],
    }),
    "abort": ("run", HMAC, {"run": "positive", "month": "month", "reason": "word"}),
    "retire": ("release", SHA, {
        "month": "month", "cohort": "cohort",
        "tasks": [{"id": "task", "commitment": "hash", "sha256": "hash"}],
        "draw_seeds?": [{"set": "natural", "seed": "hash", "salt": "hash"}],
        "spot_check?": {
            "seed": "hash", "salt": "hash",
            "chosen": "natural", "judged": "natural", "differed": "natural",
        },
    }),
    "withdraw": ("task", HMAC, {
        "month": "month", "cause": "=leak,broken", "reason": "text", "replacement": "task|null",
        "signature": [{"key": "vkey", "signature": "signature"}, None],
    }),
    "key": ("text", SHA, {
        "old": "vkey", "new": "vkey", "size": "natural",
        "signatures": {"old": "signature", "new": "signature"},
    }),
}

@dataclass(frozen=True, slots=True)
class Statement:
    """A parsed leaf."""
    kind: str
    name: str
    digest: str
    predicate: Mapping[str, Any]

    @classmethod
    def parse(cls, data, what="the leaf"):
        """Read a leaf."""
        is_plain = _plain_leaf().fullmatch(data)
        document = json.loads(data.decode()) if is_plain else parse_canonical(data, what)
        try:
            if not is_plain:
                require_form(_ENVELOPE, document, "$")
            kind = document["predicateType"].split(":")[2]
            if not is_plain:
                require_form(_FORMS[kind], document, "$")
            require_form("=1", str(len(document["subject"])), "the number of items of $.subject")
        except Malformed as error:
            raise error.with_message(f"{what} is no statement: {error}", what) from None
        subject = document["subject"][0]
        digest = subject["digest"][STATEMENTS[kind][1]]
        return cls(kind, subject["name"], digest, document["predicate"])

@dataclass(frozen=True, slots=True)
class LoggedStatement:
    """A statement and its index in the log."""
    index: int
    statement: Statement

    @property
    def name(self):
        """The subject's name."""
        return self.statement.name

    @property
    def digest(self):
        """The subject's digest in hex."""
        return self.statement.digest

    @property
    def says(self):
        """The predicate."""
        return self.statement.predicate

    @property
    def where(self):
        """The place of the leaf, for evidence."""
        return f"leaf {self.index}"

    def at(self, path):
        """Return the place of a part of the predicate, for evidence."""
        return f"leaf {self.index}: $.predicate.{path}"

def statement_form(kind):
    """Return the form of a whole statement of a kind."""
    name, algorithm, predicate = STATEMENTS[kind]
    return {
        "_type": f"={TYPE}",
        "subject": [{"name": name, "digest": {algorithm: "hash"}}],
        "predicateType": f"={URN.format(kind)}",
        "predicate": predicate,
    }

_ENVELOPE = {
    "_type": f"={TYPE}",
    "subject": ["object"],
    "predicateType": f"={','.join(map(URN.format, STATEMENTS))}",
    "predicate": "object",
}
_FORMS = {kind: statement_form(kind) for kind in STATEMENTS}

@cache
def _plain_leaf():
    """Return the pattern of the leaves that need no other check."""
    return re.compile("|".join(map(json_pattern, _FORMS.values())).encode())

# == Forms of ledger documents, as plain data that the audit, its page and the JSON Schemas share.

TEXT_LIMIT = 1024  # characters
PATTERNS = {
    "hash": ("[0-9a-f]{64}", "64 lower-case hexadecimal digits"),
    "month": (r"[0-9]{4}-(0[1-9]|1[0-2])", "a month, YYYY-MM"),
    "cohort": (r"cohort-[0-9]{4}-(0[1-9]|1[0-2])", "a cohort, cohort-YYYY-MM"),
    "task": (r"t-[a-z2-7]{16}", "a task's id, t- and 16 letters or digits of base 32"),
    "run": (r"run/[1-9][0-9]*", "run/ and a number"),
    "set": (r"set/[0-9]{4}-(0[1-9]|1[0-2])", "set/ and a month"),
    "release": (r"Historical-[0-9]{4}-(0[1-9]|1[0-2])", "Historical- and a month"),
    "guid": (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "a GUID in lower case"),
    "version": (r"(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){2}", "a version such as 1.0.0"),
    "fraction": (r"(0|[1-9][0-9]{0,499})/[1-9][0-9]{0,499}", "a fraction such as 7/12"),
    "stratum": (r"[a-z0-9-]+/[a-z0-9-]+/[a-z]+", "a stratum, server/category/difficulty"),
    "server": (r"[a-z0-9-]{1,64}", "a server's name"),
    "lifetime": (r"P[1-9][0-9]{0,2}[WMY]", "a duration in weeks, months or years such as P4M"),
    "word": (r"[a-z0-9][a-z0-9-]{0,63}", "a word of small letters, digits and hyphens"),
    "tag": (r"[0-9a-f]{1,128}", "an opaque tag in lower-case hexadecimal digits"),
    "vkey": (r"[^+\x00- ]+\+[0-9a-f]{8}\+[A-Za-z0-9+/=]+", "a verifier key"),
    "signature": (r"[A-Za-z0-9+/]{85}[AQgw]==", "the 64 bytes of a signature in base64"),
}
BASIC = {
    "text": (
        lambda value: isinstance(value, str) and 1 <= len(value) <= TEXT_LIMIT,
        f"text of 1 to {TEXT_LIMIT} characters",
    ),
    "string": (lambda value: isinstance(value, str), "text"),
    "boolean": (lambda value: isinstance(value, bool), "true or false"),
    "natural": (lambda value: type(value) is int and value >= 0, "a whole number, zero or more"),
    "positive": (lambda value: type(value) is int and value >= 1, "a whole number, one or more"),
    "object": (lambda value: isinstance(value, dict), "an object"),
}
_COMPILED = {name: re.compile(pattern, re.ASCII) for name, (pattern, _) in PATTERNS.items()}

def parse_form(form, data, where):
    """Read canonical JSON of a form from a table."""
    if id(form) not in _compiled_json:
        _compiled_json[id(form)] = form, re.compile(json_pattern(form).encode())
    if _compiled_json[id(form)][1].fullmatch(data):
        return _scan(data.decode(), 0)[0]
    value = parse_canonical(data, where)
    require_form(form, value, where)
    return value

def require_form(form, value, path):
    """Refuse a value that has not a form."""
    if isinstance(form, str):
        if why := _fault(form, value):
            raise Malformed(f"{path} must be {why}", where=path)
    elif isinstance(form, list) and form[1:]:
        if value is not None:
            require_form(form[0], value, path)
    elif isinstance(form, list):
        if not isinstance(value, list):
            raise Malformed(f"{path} must be a list", where=path)
        for index, item in enumerate(value):
            require_form(form[0], item, f"{path}[{index}]")
    elif not isinstance(value, dict):
        raise Malformed(f"{path} must be an object", where=path)
    else:
        _require_members(form, value, path)

def _fault(form, value):
    """Say what a value must be where it is not; nothing where it is."""
    name, _, null = form.partition("|")
    if null and value is None:
        return ""
    if name[0] == "=":
        words = name[1:].split(",")
        return "" if isinstance(value, str) and value in words else f"one of {', '.join(words)}"
    if name in BASIC:
        return "" if BASIC[name][0](value) else BASIC[name][1]
    matches = isinstance(value, str) and _COMPILED[name].fullmatch(value)
    return "" if matches else PATTERNS[name][1]

def _require_members(form, value, path):
    for name, inner in form.items():
        if name[0] == "*":
            for key, item in value.items():
                require_form(name[1:], key, f"a key of {path}")
                require_form(inner, item, f"{path}.{key}")
            return
        if name.rstrip("?") in value:
            require_form(inner, value[name.rstrip("?")], f"{path}.{name.rstrip('?')}")
        elif name[-1] != "?":
            raise Malformed(f"{path}.{name} is missing", where=f"{path}.{name}")
    if strange := sorted(value.keys() - {name.rstrip("?") for name in form}):
        raise Malformed(f"{path}: {strange[0][:60]!r} is not a key of this format", where=path)

_NEVER = "(?!)"
_TEXT = r'"[ !#-\[\]-~]{%s}"'  # printable ASCII without a quote and a backslash
_JSON = {
    "text": _TEXT % f"1,{TEXT_LIMIT}",
    "string": _TEXT % "0,",
    "boolean": "(?:true|false)",
    "natural": "(?:0|[1-9][0-9]{0,14})",
    "positive": "[1-9][0-9]{0,14}",
}
_scan = json.JSONDecoder().raw_decode
_compiled_json = {}  # by identity: a table stays

def json_pattern(form):
    """Write a pattern that matches canonical JSON of a form, and no other; not all of it."""
    if isinstance(form, list):
        inner = json_pattern(form[0])
        return f"(?:{inner}|null)" if form[1:] else rf"\[(?:{inner}(?:,{inner})*)?\]"
    if isinstance(form, str):
        name, _, null = form.partition("|")
        if name[0] == "=":
            inner = f'"(?:{"|".join(map(re.escape, name[1:].split(",")))})"'
        elif name in PATTERNS and "[^" not in PATTERNS[name][0]:
            inner = f'"{PATTERNS[name][0]}"'
        else:
            inner = _JSON.get(name, _NEVER)
        return f"(?:{inner}|null)" if null else inner
    members, is_first = "", True
    for name in sorted(form, key=lambda name: name.rstrip("?")):
        if name[0] == "*":
            return _NEVER
        member = f'"{re.escape(name.rstrip("?"))}":{json_pattern(form[name])}'
        if name[-1] == "?":
            members += f"(?:{member},)?" if is_first else f"(?:,{member})?"
        else:
            members, is_first = f"{members}{'' if is_first else ','}{member}", False
    return _NEVER if is_first else rf"\{{{members}\}}"

# == Canonical JSON (RFC 8785, "JCS") with the standard library alone, and a strict reader of it.

MAX_DEPTH = 64
MAX_INTEGER = 2**53 - 1
_EXPONENT_FROM = 1e21  # below it a double is written in digits alone
_FRACTION = re.compile(r"(?:^|[:\[,])-?[0-9]+[.eE]")  # or a text that looks so
_WORDS = {None: "null", True: "true", False: "false"}

def canonical(value):
    """Write a value as canonical JSON."""
    try:
        return _write(value, 0).encode()
    except UnicodeEncodeError as error:
        raise Malformed("canonical JSON has no form for a lone surrogate") from error

def parse(data, what="the document"):
    """Read one JSON value from UTF-8 bytes."""
    return _parse(data, what)[0]

def parse_canonical(data, what="the document"):
    """Read one JSON value and refuse bytes that are not its canonical form."""
    value, expected = _parse(data, what)
    if expected != data:
        at = first_difference(data, expected)
        wrong = "is not canonical JSON (RFC 8785): it differs from"
        raise Malformed(f"{what} {wrong} byte {at} on", where=f"{what}: byte {at}")
    return value

def first_difference(one, other):
    """Return the index of the first byte in which two texts differ."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))

def number(value):
    """Write a double as ECMAScript's Number::toString: the shortest digits that come back."""
    if not math.isfinite(value):
        raise Malformed("a number is not finite")
    if value == 0:
        return "0"
    mantissa, _, exponent = repr(abs(value)).partition("e")  # the same digits, set differently
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        text = digits + "0" * (point - len(digits))
    elif 0 < point <= 21:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = f"{digits[0]}{'.' * (len(digits) > 1)}{digits[1:]}e{point - 1:+d}"
    return "-" * (value < 0) + text

def _parse(data, what):
    """Read one JSON value; give it and its canonical form."""
    try:
        text = data.decode()
        value = _decode(text)
        return value, data if _is_plain(text) and _write_plain(value) == text else canonical(value)
    except Malformed as error:
        raise Malformed(f"{what} is refused: {error}", where=what) from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise Malformed(f"{what} is not JSON: {error}", where=what) from None
    except RecursionError:
        raise Malformed(f"{what} is nested deeper than {MAX_DEPTH} levels", where=what) from None

def _is_plain(text):
    """Tell whether the standard library writes the value of a text as RFC 8785 asks."""
    levels = text.count("[") + text.count("{")
    return text.isascii() and levels <= MAX_DEPTH and not _FRACTION.search(text)

def _write(value, depth):
    kind = type(value)
    if kind is str:
        return encode_basestring(value)
    if value is None or kind is bool:
        return _WORDS[value]
    if kind is int and abs(value) > MAX_INTEGER:
        raise Malformed("a whole number is beyond 2^53 - 1; write it as text")
    if kind is int or kind is float:
        return number(value) if kind is float else str(value)
    if depth >= MAX_DEPTH:
        raise Malformed(f"it is nested deeper than {MAX_DEPTH} levels")
    if kind is list or kind is tuple:
        return f"[{','.join([_write(item, depth + 1) for item in value])}]"
    if kind is not dict:
        raise Malformed(f"JSON has no form for {kind.__name__}")
    if strange := [key for key in value if type(key) is not str]:
        raise Malformed(f"a key is {type(strange[0]).__name__} and not text")
    keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
    members = [f"{encode_basestring(key)}:{_write(value[key], depth + 1)}" for key in keys]
    return f"{{{','.join(members)}}}"

def _members(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Malformed("an object has the same key twice")
    return members

def _whole(digits):
    if len(digits) > len(str(MAX_INTEGER)) + 1 or abs(value := int(digits)) > MAX_INTEGER:
        raise Malformed("a whole number is beyond 2^53 - 1; write it as text")
    return value

def _double(digits):
    value = float(digits)
    if value.is_integer() and MAX_INTEGER < abs(value) < _EXPONENT_FROM:
        raise Malformed("a whole number is beyond 2^53 - 1; write it as text")
    return value

def _none(name):
    raise Malformed(f"{name} is no JSON number")

_decode = json.JSONDecoder(
    object_pairs_hook=_members, parse_int=_whole, parse_float=_double, parse_constant=_none
).decode
_write_plain = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode

# == The Merkle tree of RFC 6962, section 2.1 (the same hashes as RFC 9162): roots, and strict proofs.

HASH_BYTES = 32
EMPTY_ROOT = sha256().digest()

def leaf_hash(leaf):
    """Hash a leaf's bytes (RFC 6962, section 2.1: 0x00 before a leaf)."""
    return sha256(b"\0" + leaf).digest()

def node_hash(left, right):
    """Hash two subtrees into their parent (0x01 before a pair)."""
    return sha256(b"\1" + left + right).digest()

def level_up(hashes):
    """Hash neighbours in pairs; an odd one at the end is left out."""
    pairs = zip(hashes[::2], hashes[1::2], strict=False)
    return [sha256(b"\1" + left + right).digest() for left, right in pairs]

def root(hashes):
    """Return the root over leaf hashes; over none, the hash of nothing."""
    return root_over(peaks_of(hashes))

def root_over(peaks):
    """Return the root over the roots of perfect subtrees, the smallest (right-most) first."""
    tree = None
    for peak in peaks:
        tree = node_hash(peak, tree) if tree else peak
    return tree or EMPTY_ROOT

def add_peak(peaks, leaf, size):
    """Append a leaf hash, the `size`th, to the roots of a tree's perfect subtrees, the largest first."""
    while not size & 1:
        leaf, size = node_hash(peaks.pop(), leaf), size >> 1
    peaks.append(leaf)

def peaks_of(hashes):
    """Yield the roots of the perfect subtrees over leaf hashes, the smallest (right-most) first."""
    row = list(hashes)
    while row:
        if len(row) % 2:
            yield row[-1]
        row = level_up(row)

def verify_inclusion(leaf, index, size, proof, expected):
    """Check an inclusion proof for a leaf *hash* (RFC 9162, section 2.1.3.2)."""
    _require_hashes([leaf, expected, *proof])
    inner = (index ^ (size - 1)).bit_length()
    length = inner + (index >> inner).bit_count()
    if not 0 <= index < size or len(proof) != length:
        where, count = f"the inclusion proof of leaf {index} of {size}", len(proof)
        what = f"{where} has {length} hashes, not {count}, and there are leaves 0 to {size - 1}"
        where = f"{where}: the number of hashes"
        raise Broken(what, where=where, expected=length, found=count)
    computed, place = leaf, index
    for sibling in proof[:inner]:  # below it the paths of this leaf and of the last one differ
        pair = sibling + computed if place & 1 else computed + sibling
        computed, place = sha256(b"\1" + pair).digest(), place >> 1
    for sibling in proof[inner:]:
        computed = sha256(b"\1" + sibling + computed).digest()
    if computed != expected:
        where = f"the inclusion proof of leaf {index} of {size}"
        what = f"{where} gives the root {computed.hex()}, so the leaf is not in the tree"
        raise Broken(what, where=where, expected=expected, found=computed)

def verify_consistency(size1, size2, root1, root2, proof):
    """Check a consistency proof (RFC 9162, section 2.1.4.2)."""
    _require_hashes([root1, root2, *proof])
    what = f"the consistency proof from {size1} to {size2}"
    if not 1 <= size1 <= size2:
        sizes = f"1 to {size2}"
        raise Broken(f"{what} has no such trees", where="the old size", expected=sizes, found=size1)
    if size1 == size2:
        if proof or root1 != root2:
            heads = {"root": root1, "proof": []}, {"root": root2, "proof": [*proof]}
            two = f"two roots at one size {size1}: {root1.hex()} and {root2.hex()}"
            raise Broken(two, where=what, expected=heads[0], found=heads[1])
        return
    rest, last = size1 - 1, size2 - 1
    hashes = [root1, *proof] if size1 & rest == 0 else [*proof]
    while rest & 1:
        rest, last = rest >> 1, last >> 1
    old = new = hashes[0] if hashes else b""
    for sibling in hashes[1:]:
        if not last:  # it goes on after the root
            old = b""
        elif rest & 1 or rest == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while rest and not rest & 1:
                rest, last = rest >> 1, last >> 1
        else:
            new = node_hash(new, sibling)
        rest, last = rest >> 1, last >> 1
    if last or (old, new) != (root1, root2):
        message = f"{what} does not lead to the two roots"
        raise Broken(message, where=what, expected=[root1, root2], found=[*proof])

def set_root(commitments):
    """Return the root over commitments, sorted by their bytes: of a cohort, or of all live tasks."""
    ordered = sorted(commitments)
    if any(len(item) != HASH_BYTES for item in ordered):
        raise Malformed(f"a commitment has exactly {HASH_BYTES} bytes")
    if len(set(ordered)) != len(ordered):
        raise Malformed("the same commitment stands twice in one set")
    return root([leaf_hash(item) for item in ordered])

def _require_hashes(hashes):
    if wrong := set(map(len, hashes)) - {HASH_BYTES}:
        what, where = f"a hash in a proof has exactly {HASH_BYTES} bytes", "the size of a hash"
        raise Broken(what, where=where, expected=HASH_BYTES, found=min(wrong))

# == Merkle tree tiles as static files, C2SP tlog-tiles (https://c2sp.org/tlog-tiles).

HEAD = "checkpoint"
KEPT = "checkpoints"  # every checkpoint that was ever published, by its size: ours, not C2SP's
WIDTH = 256
HEIGHT = 8
LENGTH_BYTES = 2
_GROUP = 1000

def tile_path(level, index, width=WIDTH):
    """Return a hash tile's path below the log's folder."""
    return f"tile/{level}/{_numbered(index, width)}"

def entries_path(index, width=WIDTH):
    """Return an entry bundle's path below the log's folder."""
    return f"tile/entries/{_numbered(index, width)}"

def tiles_of(size):
    """List the hash tiles of a tree of `size` leaves as `(level, index, width)`."""
    level = 0
    while count := size >> HEIGHT * level:
        yield from ((level, index, width) for index, width in bundles_of(count))
        level += 1

def bundles_of(size, first=0):
    """List the entry bundles that hold the leaves `[first, size)` as `(index, width)`."""
    for index in range(first // WIDTH, -(-size // WIDTH)):
        yield index, min(WIDTH, size - index * WIDTH)

def unpack_entries(data, width, what="the entry bundle"):
    """Read an entry bundle of exactly `width` leaves."""
    leaves = []
    at = 0
    for number in range(width):
        start = at + LENGTH_BYTES
        at = start + int.from_bytes(data[at:start], "big")
        if at > len(data) or start > len(data):
            where = f"{what}: entry {number}"
            raise Malformed(f"{what} is cut short in entry {number} of {width}", where=where)
        leaves.append(data[start:at])
    if at != len(data):
        raise Malformed(f"{what} goes on after its {width} entries", where=f"{what}: byte {at}")
    return leaves

class Frontier:
    """The right edge of a tree: at each tile level the hashes of the tile that is not full yet."""

    def __init__(self):
        self._edge: list[list[bytes]] = []
        self._full: list[int] = []

    @property
    def size(self):
        """The number of leaves."""
        return self._full[0] * WIDTH + len(self._edge[0]) if self._edge else 0

    def extend(self, hashes, level=0):
        """Append leaf hashes; gives each tile that became full as `(level, index, hashes)`."""
        if level == len(self._edge):
            self._edge.append([])
            self._full.append(0)
        for digest in hashes:
            row = self._edge[level]
            row.append(digest)
            if len(row) == WIDTH:
                yield level, self._full[level], row
                self._edge[level] = []
                self._full[level] += 1
                yield from self.extend([root(row)], level + 1)

    def partial_tiles(self):
        """Yield the tiles that are not full, as `(level, index, hashes)`."""
        for level, hashes in enumerate(self._edge):
            if hashes:
                yield level, self._full[level], hashes

    def root(self):
        """Return the root of the whole tree."""
        return root_over(peak for hashes in self._edge for peak in peaks_of(hashes))

def _numbered(index, width):
    path = f"{index % _GROUP:03d}" + ("" if width == WIDTH else f".p/{width}")
    while index := index // _GROUP:
        path = f"x{index % _GROUP:03d}/{path}"
    return path

# == Trust policies: which logs and witnesses count, and the quorum. C2SP tlog-policy (https://c2sp.org/tlog-policy).

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
    """A checkpoint that a policy accepts."""
    checkpoint: Checkpoint
    witnesses: dict[str, int]

@dataclass
class Policy:
    """A parsed policy file."""
    logs: list[PolicyMember] = field(default_factory=list)
    witnesses: dict[str, PolicyMember] = field(default_factory=dict)
    groups: dict[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    quorum: str | None = None

    @classmethod
    def parse(cls, data):
        """Read a policy file."""
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

    def with_logs(self, keys):
        """Return a policy that knows the logs of these keys, unless this one names logs itself."""
        return self if self.logs else replace(self, logs=[PolicyMember(key) for key in keys])

    def satisfied(self, cosigned):
        """Tell whether these witnesses, by name, make the quorum."""
        return self.quorum is None or self._witnessed(self.quorum, cosigned)

    def verifiable(self):
        """Return the witnesses whose cosignatures can be verified here, by name."""
        named = {name: member.key for name, member in self.witnesses.items()}
        return {name: key for name, key in named.items() if key.kind != MLDSA44 or HAS_MLDSA44}

    def open(self, note):
        """Verify a checkpoint against the policy."""
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

    def _witnessed(self, name, cosigned):
        if name in self.witnesses:
            return name in cosigned
        least, members = self.groups[name]
        return sum(self._witnessed(member, cosigned) for member in members) >= least

    def _read(self, line):
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

    def _require_new(self, name):
        if name in {NONE, *self.witnesses, *self.groups}:
            raise Malformed(f"{name[:40]!r} is taken")

    def _require_known(self, names):
        known = self.witnesses.keys() | self.groups.keys()
        if unknown := [name for name in names if name not in known]:
            raise Malformed(f"no line before defines {unknown[0][:40]!r}")

    def _require_members(self, names):
        self._require_known(names)
        counts = Counter(chain(names, *(members for _, members in self.groups.values())))
        if again := [name for name in names if counts[name] > 1]:
            raise Malformed(f"{again[0][:40]!r} is a member already, and counts once")

    def _member(self, key, url):
        members = (*self.logs, *self.witnesses.values())
        if any(member.key.public == key.public for member in members):
            raise Malformed(f"the public key of {key.name} stands in the policy already")
        return PolicyMember(key, *url)

# == Checkpoints: the signed head of a log, C2SP tlog-checkpoint v1.0.0 (https://c2sp.org/tlog-checkpoint@v1.0.0).

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
_MAX_SIZE = 2**53 - 1  # as of all whole numbers in JSON, so that every language reads the same one
_LINES = 3

@dataclass(frozen=True)
class Checkpoint:
    """The head of a log: its origin, its number of leaves, its root (32 bytes), and extension lines."""
    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text):
        """Read a note's text."""
        lines = text.split("\n")
        if len(lines) <= _LINES or lines.pop() or not all(lines):
            what = "a checkpoint has at least three lines, ends in a newline, and has no empty line"
            raise Malformed(what, where="the lines of the checkpoint")
        origin, size, encoded, *extensions = lines
        if not _DECIMAL.fullmatch(size) or int(size) > _MAX_SIZE:
            what = "line 2 of a checkpoint is its size in decimal, at most 2^53 - 1, without leading zeros"
            raise Malformed(what, where="line 2 of the checkpoint")
        root = decode_base64(encoded, where := "line 3 of the checkpoint")
        if len(root) != HASH_BYTES or (size == "0" and root != EMPTY_ROOT):
            what = f"line 3 of a checkpoint is a root of {HASH_BYTES} bytes; the empty one of none"
            raise Malformed(what, where=where, found=root)
        return cls(origin, int(size), root, tuple(extensions))

    def format(self):
        """Write the note's text."""
        root = base64.b64encode(self.root).decode()
        return "".join(f"{line}\n" for line in (self.origin, self.size, root, *self.extensions))

def open_checkpoint(note, verifiers, witnesses=()):
    """Verify a signed checkpoint: at least one given key that bears the origin's name signed it."""
    opened = open_note(note, [*verifiers, *witnesses])
    checkpoint = Checkpoint.parse(opened.text)
    names = [key.name for key in verifiers if key.vkey in opened.verified]
    if checkpoint.origin not in names:
        what = f"the checkpoint of {checkpoint.origin} is signed by no given key of that name"
        where = "line 1 of the checkpoint"
        raise Broken(what, where=where, expected=names, found=checkpoint.origin)
    return checkpoint, opened

# == Signed notes: a text, an empty line, and lines `— <name> <base64(key id || signature)>`.

LOG_ED25519 = b"\x01"
ID_BYTES = 4
MAX_NOTE = 1 << 20
MAX_SIGNATURES = 100
_DASH = "\u2014 "
_FIRST_PRINTABLE = " "
SPACES = " \t\r\n"  # around a key; more of them would be other ones in other languages

@dataclass(frozen=True)
class Verifier:
    """A public key with its name: what a caller trusts."""
    KEY_BYTES: ClassVar[Mapping[bytes, int]] = {LOG_ED25519: 32}
    KINDS: ClassVar[str] = "Ed25519 (0x01)"

    name: str
    public: bytes
    kind: bytes = LOG_ED25519

    def __post_init__(self):
        require_name(self.name)
        where, size = f"the public key of {self.name}", len(self.public)
        if self.kind not in self.KEY_BYTES:
            raise Malformed(f"the verifier key of {self.name} is not of type {self.KINDS}")
        if size != (right := self.KEY_BYTES[self.kind]):
            raise Malformed(f"{where} has {size} bytes; one of its type has {right}", where=where)
        if size == ED25519_BYTES and (why := key_fault(self.public)):
            raise Malformed(f"{where} {why}", where=where)

    @classmethod
    def parse(cls, vkey):
        """Read a verifier key `<name>+<key id in hex>+<base64(type || public key)>`."""
        name, kind, public = read_vkey(vkey)
        return cls(name, public, kind)

    @cached_property
    def key_id(self):
        """The four bytes that stand before its signatures."""
        return key_id(self.name, self.kind, self.public)

    @cached_property
    def vkey(self):
        """The key as text, to be handed to others."""
        encoded = base64.b64encode(self.kind + self.public).decode()
        return f"{self.name}+{self.key_id.hex()}+{encoded}"

    def accepts(self, text, signature):
        """Tell whether `signature` is this key's over `text`."""
        return verifies(self.public, signature, text)

@dataclass(frozen=True)
class Note:
    """A note that was opened."""
    text: str
    verified: Mapping[str, bytes]
    ignored: tuple[str, ...]

def open_note(note, keys):
    """Verify a note."""
    text, lines = take_apart(note)
    by_id = {(key.name, key.key_id): key for key in keys}
    verified = {}
    ignored = []
    for name, identity, signature in map(read_line, lines):
        key, where = by_id.get((name, identity)), f"the signature by {name}"
        if key is None:
            ignored.append(name)
        elif key.accepts(text.encode(), signature):
            verified[key.vkey] = signature
        else:
            what = f"{where}+{identity.hex()} does not verify over the text of the note"
            expected = {"key": key.vkey, "text": text}
            raise Broken(what, where=where, expected=expected, found={"signature": signature})
    if not verified:
        signers = [f"{name}+{identity.hex()}" for name, identity, _ in map(read_line, lines)]
        what = f"no given key signed the note; it is signed by {', '.join(sorted(signers))}"
        what += ". A log that changed its key has several: give each"
        known = [key.vkey for key in keys]
        raise Broken(what, where="the signatures", expected=known, found=signers)
    return Note(text, verified, tuple(ignored))

def key_id(name, kind, public):
    """Return a key's id: the first four bytes of SHA-256(name || newline || type || key)."""
    return hashlib.sha256(name.encode() + b"\n" + kind + public).digest()[:ID_BYTES]

def read_vkey(vkey):
    """Read a verifier key as (name, type, public key)."""
    name, _, rest = vkey.strip(SPACES).partition("+")
    stated, _, encoded = rest.partition("+")
    if not (name and stated and encoded):
        raise Malformed("a verifier key reads NAME+ID+KEY; this one does not")
    data = decode_base64(encoded, "the verifier key")
    require_name(name)
    computed = key_id(name, data[:1], data[1:]).hex()
    if computed != stated:
        what = f"the verifier key of {name} says id {stated[:16]}, its key has id {computed}"
        where = f"the id of the verifier key of {name}"
        raise Malformed(what, where=where, expected=computed, found=stated)
    return name, data[:1], data[1:]

def decode_base64(text, what):
    """Decode standard base64 (RFC 4648, section 4) and refuse any but the canonical form."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise Malformed(f"{what} is not base64", where=what) from error
    if base64.b64encode(data).decode() != text:
        raise Malformed(f"{what} is not canonical base64", where=what)
    return data

def take_apart(note):
    """Split a note into its text and its signature lines, without verifying anything."""
    try:
        decoded = note if isinstance(note, str) else note.decode()
        size = len(decoded.encode())
    except UnicodeError as error:
        raise Malformed("a note is UTF-8; this one is not") from error
    if size > MAX_NOTE:
        raise Malformed(f"a note has at most {MAX_NOTE} bytes, this one {size}")
    text, separator, signatures = decoded.rpartition("\n\n")
    if not separator or not signatures.endswith("\n"):
        raise Malformed("a signed note is a text, an empty line, and lines that end in a newline")
    _require_text(text + "\n")
    lines = signatures[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise Malformed(f"a note has at most {MAX_SIGNATURES} signatures")
    return text + "\n", lines

def read_line(line):
    """Read a signature line, without its newline, as (name, key id, signature)."""
    name, space, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not space:
        raise Malformed("a signature line reads '\u2014 NAME SIGNATURE'; one in the note does not")
    require_name(name)
    data = decode_base64(encoded, "a signature in the note")
    if len(data) <= ID_BYTES:
        raise Malformed("a signature in the note is too short")
    return name, data[:ID_BYTES], data[ID_BYTES:]

def require_name(name):
    """Refuse what cannot stand as a key's name."""
    if not name or "+" in name or any(map(str.isspace, name)) or min(name) < _FIRST_PRINTABLE:
        raise Malformed("a key's name is not empty and has neither spaces nor a plus sign")
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        raise Malformed("a key's name is UTF-8; this one is not")

def _require_text(text):
    if not text.endswith("\n") or min(text.replace("\n", ""), default=" ") < _FIRST_PRINTABLE:
        raise Malformed("a note's text ends in a newline and has no other control characters")

# == Witness cosignatures under checkpoints, C2SP tlog-cosignature v1.1 (https://c2sp.org/tlog-cosignature).

COSIGNER_ED25519, MLDSA44 = b"\x04", b"\x06"
TIME_BYTES = 8
LATEST = 2**63 - 1
_LABEL = b"subtree/v1\n\0"
_LONGEST_NAME = 255

class Witness(Verifier):
    """A witness's public key with its name; each of its signatures begins with a time."""
    KEY_BYTES = {COSIGNER_ED25519: 32, MLDSA44: 1312}
    KINDS = "Ed25519 (0x04) or ML-DSA-44 (0x06) of a witness"

    def accepts(self, text, signature):
        """Tell whether `signature`, with its time, is this witness's over a checkpoint's text."""
        seconds, signed = time_of(signature), signature[TIME_BYTES:]
        if seconds > LATEST:
            return False
        try:
            message = _message(self.name, self.kind, text, seconds)
        except Malformed:  # no checkpoint
            return False
        verify = mldsa44_holds if self.kind == MLDSA44 else verifies
        if not verify(self.public, signed, message):
            return False
        if seconds == 0:
            where, right = f"the time of the cosignature by {self.name}", f"1 to {LATEST}"
            what = f"the cosignature by {self.name} has the time 0, which dates nothing"
            raise Broken(what, where=where, expected=right, found=0)
        return True

def time_of(signature):
    """Return the POSIX time, in seconds, of a cosignature."""
    return int.from_bytes(signature[:TIME_BYTES], "big")

def _message(name, kind, text, seconds):
    if kind == COSIGNER_ED25519:
        return f"cosignature/v1\ntime {seconds}\n".encode() + text
    head = Checkpoint.parse(text.decode())
    named = _LABEL + _vector(name) + seconds.to_bytes(TIME_BYTES, "big") + _vector(head.origin)
    return named + bytes(8) + head.size.to_bytes(8, "big") + head.root

def _vector(text):
    """Write an `opaque<1..255>` (RFC 8446, section 3.4)."""
    data = text.encode()
    if not 0 < len(data) <= _LONGEST_NAME:
        raise Malformed(f"a name under an ML-DSA-44 cosignature has 1 to {_LONGEST_NAME} bytes")
    return bytes([len(data)]) + data

# == Strict Ed25519 verification: one rule for the package `cryptography`, for what stands in for it, and for browsers.

ED25519_BYTES = 32
_P = 2**255 - 19
_ORDER_8 = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
_SMALL_ORDER = {1, _P - 1, 0, _ORDER_8, _P - _ORDER_8}  # y of the points of order 1, 2, 4, 8 and 8

def key_fault(point):
    """Say why these bytes are refused as a public key, as the end of a sentence; None if they are not."""
    y = int.from_bytes(point, "little") & ((1 << 255) - 1)
    if len(point) != ED25519_BYTES:
        return f"has {len(point)} bytes; an Ed25519 public key has {ED25519_BYTES}"
    if y >= _P:
        return "is not the one encoding of its point (RFC 8032, section 5.1.3)"
    if y in _SMALL_ORDER:
        return "is a point of small order, under which everybody can sign"
    return None

def verifies(public, signature, message):
    """Tell whether a signature (64 bytes) is a public key's (32 bytes) over a message."""
    strict = not (key_fault(public) or key_fault(signature[:ED25519_BYTES]))
    return strict and ed25519_holds(public, signature, message)

# == Pure-Python Ed25519 verification (RFC 8032, section 5.1.7), only for the audit as a single file.

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PublicKey
except ImportError:
    MLDSA44PublicKey = None

HAS_MLDSA44 = MLDSA44PublicKey is not None
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
_ROOT = pow(2, (P - 1) // 4, P)  # a square root of -1

def ed25519_holds(public, signature, message):
    """Tell whether a signature (64 bytes) is a public key's (32 bytes) over a message."""
    point, scalar = _decoded(public), int.from_bytes(signature[32:], "little")
    if point is None or len(signature) != 64 or scalar >= L:
        return False
    hashed = int.from_bytes(sha512(signature[:32] + public + message).digest(), "little")
    x, y, z, t = point
    negative = (-x % P, y, z, -t % P)
    return _encoded(_sum(_times(scalar, BASE), _times(hashed % L, negative))) == signature[:32]

def mldsa44_holds(public, signature, message):
    """Tell whether an ML-DSA-44 signature (FIPS 204) is a public key's over a message."""
    try:
        MLDSA44PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True

def _sum(a, b):
    """Add two points (RFC 8032, section 5.1.4)."""
    left, right = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    both, twice = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = right - left, twice - both, twice + both, right + left
    return e * f % P, g * h % P, f * g % P, e * h % P

def _times(scalar, point):
    product = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            product = _sum(product, point)
        point, scalar = _sum(point, point), scalar >> 1
    return product

def _encoded(point):
    inverse = pow(point[2], -1, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")

def _decoded(data):
    """Decode a point (RFC 8032, section 5.1.3); None if these bytes are none."""
    odd, y = divmod(int.from_bytes(data, "little"), 1 << 255)
    if len(data) != 32 or y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * _ROOT % P
    if (x * x - square) % P or (x == 0 and odd):
        return None
    x = P - x if x & 1 != odd else x
    return x, y, 1, x * y % P

BASE = (_decoded((4 * pow(5, -1, P) % P).to_bytes(32, "little"))) or (0, 1, 1, 0)

# == Exception classes of the vault: each message names the thing, the reason and the next step.

_SHOWN = 200  # characters of a value that a line of text shows

@dataclass(frozen=True, slots=True)
class Disagreement:
    """Evidence of an error: a place, the value that was expected there, and the value that was found."""
    where: str | None = None
    expected: Any = None
    found: Any = None

    def as_json(self):
        """Return it as JSON values, whole; byte strings are in lower-case hex."""
        values = {"expected": _as_json(self.expected), "found": _as_json(self.found)}
        return {"where": self.where, **values}

    def lines(self):
        """Write it as text, line by line; a long value is shortened, and its length is stated."""
        if self.expected is not None or self.found is not None:
            yield f"expected {_as_text(self.expected)}"
            yield f"found {_as_text(self.found)}"
        if self.where is not None:
            yield f"at {_as_text(self.where)}"

class VaultError(Exception):
    """Base class of all errors of the vault."""
    kind = "malformed"

    def __init__(self, message="", *, where=None, expected=None, found=None, rule=None):
        super().__init__(message)
        self.rule = rule
        known = where is not None or expected is not None or found is not None
        self.evidence = Disagreement(where, expected, found) if known else None

    def with_message(self, message, where=None):
        """Return an error of the same class and evidence under another message."""
        inner = self.evidence or Disagreement()
        place = ": ".join(place for place in (where, inner.where) if place) or None
        values = {"expected": inner.expected, "found": inner.found}
        return type(self)(message, where=place, rule=self.rule, **values)

@contextmanager
def within(where):
    """Put a place before the message, and before the place of the evidence, of an error of the block."""
    try:
        yield
    except VaultError as error:
        raise error.with_message(f"{where}: {error}", where) from None

class Malformed(VaultError):
    """A document or file that cannot be understood; the message says where."""
    kind = "malformed"

class NotFound(VaultError):
    """Nothing is stored under that name."""
    kind = "not-found"

class Broken(VaultError):
    """A signature, hash or chain does not verify."""
    kind = "no"

class Unavailable(VaultError):
    """The database cannot be reached, or was busy for too long."""
    kind = "unavailable"

def _as_json(value):
    return json.loads(json.dumps(value, default=bytes.hex))

def printable(text):
    """Return a text on one line; a release may be hostile, so control characters are escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)

def _as_text(value):
    """Write a value on one line."""
    if value is None:
        return "nothing"
    text = _as_json(value)
    if not isinstance(text, str):
        text = json.dumps(text, ensure_ascii=False, sort_keys=True)
    return printable(text[:_SHOWN]) + (f"\u2026 ({len(text)} characters)" if len(text) > _SHOWN else "")

# == Salted HMAC-SHA256 commitments: published now, opened later.

SALT_SIZE = 32
LABELS = (
    "commit", "provenance", "run-open", "result", "transcript", "totals", "draw-seed", "access-log",
    "spot-check",
)

def commitment(label, payload, salt):
    """Commit to `payload`; gives 32 bytes."""
    if label not in LABELS:
        raise Malformed(f"There is no commitment label {label!r}; there are {', '.join(LABELS)}.")
    if len(salt) != SALT_SIZE:
        raise Malformed(f"A commitment's salt has {SALT_SIZE} bytes, this one {len(salt)}.")
    return hmac.digest(salt, b"quarterturn/" + label.encode() + b"/v1\n" + payload, hashlib.sha256)

# == SSH signatures over files, as `ssh-keygen -Y verify` checks them (OpenSSH, PROTOCOL.sshsig), Ed25519 only.

MAGIC, VERSION = b"SSHSIG", 1
KIND, HASH = b"ssh-ed25519", b"sha512"

def signed_data(message, space):
    """Return the bytes that are signed for a file in a namespace."""
    return MAGIC + b"".join(map(_string, (space, b"", HASH, hashlib.sha512(message).digest())))

def _string(data):
    """Write a `string` (RFC 4251, section 5)."""
    return struct.pack(">I", len(data)) + data

# == Task variants: derives which choice of each free parameter a submitter is shown, so that a leak can be traced.

KEY_SIZE = 32
_KEY, _SEED = b"quarterturn/variant-key/v1\n", b"quarterturn/variant/v1\n"
_MONTH = 7  # characters of YYYY-MM
PLACEHOLDER = re.compile(r"\{\{([a-z][a-z0-9_]{0,31})\}\}")
_SPACE = 2 ** (8 * hashlib.sha256().digest_size)

def first(free):
    """Return the base variant: the first choice of each parameter, which everybody gets if a task is not traceable."""
    return {name: choices[0] for name, choices in free.items()}

def assigned(key, submitter, month, free):
    """Return the choice of each parameter that a submitter is shown in a month."""
    if len(key) != KEY_SIZE:
        raise Malformed(f"A variant key has {KEY_SIZE} bytes, this one {len(key)}.")
    if len(month) != _MONTH:
        raise Malformed("A variant is assigned for a month, YYYY-MM.")
    seed = hmac.digest(key, _SEED + month.encode() + b"\n" + submitter.encode(), "sha256")
    return {name: choices[_below(len(choices), seed, name)] for name, choices in free.items()}

def filled(value, values):
    """Put values in for the placeholders of any JSON value, such as a solution of the task; others stay."""
    if isinstance(value, str):
        return PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), value)
    if isinstance(value, dict):
        out = {filled(key, values): filled(part, values) for key, part in value.items()}
        if len(out) < len(value):
            raise Malformed("A value for a free parameter makes two keys of an object the same.")
        return out
    return [filled(part, values) for part in value] if isinstance(value, list) else value

def _below(n, seed, name):
    attempt, limit = 0, _SPACE - _SPACE % n
    while True:
        number = int.from_bytes(hmac.digest(seed, attempt.to_bytes(4, "big") + name.encode(), "sha256"), "big")
        if number < limit:
            return number % n
        attempt += 1

if __name__ == "__main__":
    raise SystemExit(main())
