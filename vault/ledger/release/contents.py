"""Contents of a bundle: file names, line shapes, and the files that are computed from the others.

Writer and reader share this module and nothing else. The attestation and the aggregate are functions of what the
other files open, so a reader recomputes them and compares the bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from vault.ledger.statements.jcs import canonical
from vault.ledger.statements.results import OPENING, RESULT, TOTALS, figures
from vault.ledger.statements.shape import (
    anything,
    boolean,
    cohort,
    guid,
    list_of,
    month,
    natural,
    one_of,
    optional,
    positive,
    record,
    sha256,
    task_id,
    text,
)
from vault.ledger.statements.statement import TYPE
from vault.ledger.tree import tiles

FORMAT = "urn:quarterturn:bundle:v1"
ATTESTED = "urn:quarterturn:tasks:v1"
HEAD, KEPT, LOG = tiles.HEAD, tiles.KEPT, "log"
MANIFEST = "manifest.json"
README, TASKS, OPENINGS = "README.md", "tasks.jsonl", "openings.jsonl"
RUNS, RESULTS = "runs.jsonl", "results.jsonl"
AGGREGATE, ATTESTATION = "aggregate.json", "attestation.json"
CONTENT = (README, TASKS, OPENINGS, RUNS, RESULTS, AGGREGATE, ATTESTATION)
PAGE = "verify.html"  # checks the release in a browser; the first releases have none
WITHDRAWN = "withdrawn.jsonl"  # the tasks that left early; only where there are any
BROKEN = "broken.jsonl"  # what shows that some of these were broken; likewise

SOLUTIONS = ("reference", "mutant")
"""What shows that a task is broken: a reference solution that was judged false, or a mutant of one judged true."""

_FILE = record(bytes=natural, sha256=sha256)

MANIFEST_SHAPE = record(
    format=one_of(FORMAT),
    month=month,
    cohort=cohort,
    origin=text,
    canary=guid,
    first=natural,
    files=record({PAGE: _FILE, WITHDRAWN: _FILE, BROKEN: _FILE}, **dict.fromkeys(CONTENT, _FILE)),
)

OPENING_LINE = record(
    {"variant_key": sha256},  # 32 bytes: of the tasks whose document names its SHA-256, and of no others
    id=task_id,
    salt=sha256,  # as long as a hash: 32 bytes
    commitment=sha256,
    commit=natural,
    provenance=optional(anything),
    provenance_salt=optional(sha256),
    canary=guid,
)

BROKEN_LINE = record(
    task=task_id,
    solution=one_of(*SOLUTIONS),
    calls=list_of(record(tool=text, arguments=anything)),
    answer=optional(text),
    state=anything,  # in the form of `verifiers.formats.state_document`
    verdict=boolean,
)

RUN_LINE = record(
    run=positive,
    open=natural,
    close=natural,
    opening=OPENING,
    salt=sha256,
    totals=optional(TOTALS),
    totals_salt=optional(sha256),
)

RESULT_LINE = record(run=positive, position=natural, result=RESULT, salt=sha256, proof=list_of(sha256))


def attestation(month: str, cohort: str, tasks: Sequence[tuple[str, str]]) -> bytes:
    """Make `attestation.json`: an in-toto Statement whose subjects are the tasks with the sha256 of their bytes."""
    return canonical(
        {
            "_type": TYPE,
            "subject": [{"name": task, "digest": {"sha256": digest}} for task, digest in tasks],
            "predicateType": ATTESTED,
            "predicate": {"month": month, "cohort": cohort},
        }
    )


def aggregate(month: str, cohort: str, runs: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> Iterator[bytes]:
    """Make `aggregate.json`, piece by piece: totals and figures of each scored run on the retired cohort.

    Args:
        month: `YYYY-MM`.
        cohort: the retired cohort's id.
        runs: `(opening, totals)` a run, by run number.
    """
    begin, end = canonical({"month": month, "cohort": cohort, "runs": []}).split(b"[]")
    yield begin + b"["
    for place, (opening, totals) in enumerate(runs):
        row = {
            "run": totals["run"],
            "submitter": opening["submitter"],
            "attempt": opening["attempt"],
            "totals": dict(totals),
            "figures": figures(totals),
        }
        yield (b"," if place else b"") + canonical(row)
    yield b"]" + end


def readme(
    month: str, cohort: str, origin: str, canary: str, *, page: bool, withdrawn: bool = False, broken: bool = False
) -> str:
    """Write the README of a bundle, with or without the page that checks it, withdrawn tasks, and broken ones."""
    row, hint = (_PAGE_ROW, _PAGE_HINT) if page else ("", "")
    row = (_WITHDRAWN_ROW if withdrawn else "") + (_BROKEN_ROW if broken else "") + row
    return _README.format(month=month, cohort=cohort, origin=origin, canary=canary, row=row, hint=hint)


_WITHDRAWN_ROW = "| `withdrawn.jsonl` | the tasks that were withdrawn early; `openings.jsonl` goes on with them |\n"
_BROKEN_ROW = (
    "| `broken.jsonl` | what shows that a withdrawn task was broken, so that it counts in no figure: a solution, "
    "the state that it left, and the wrong verdict |\n"
)
_PAGE_ROW = "| `verify.html` | a page that checks this folder in a browser, from a disk and without a network |\n"
_PAGE_HINT = """\
Or open `verify.html` and drop this folder on it. Whoever does not trust a page that came with what it checks makes the
same bytes from the source: `python -m vault.ledger.browser | sha256sum`.

"""

_README = """\
# Historical-{month}

The tasks of {cohort}, which were private until {month} and count no more. Every one of them was committed to in the
public log `{origin}` before the first run that used it; this folder opens those commitments.

Benchmark data must not be in training corpora. Canary GUID of this release: {canary}

| file | what it holds |
|---|---|
| `tasks.jsonl` | one task a line: exactly the bytes that were committed to, in the promised order |
| `openings.jsonl` | for each task its salt, its commitment and the index of its `commit` leaf |
| `runs.jsonl` | every run that was served the cohort: pseudonym, attempt, and its totals on these tasks |
| `results.jsonl` | every result on these tasks, with its salt and its proof of inclusion in the run's results root |
| `aggregate.json` | the figures, as they follow from the results |
| `attestation.json` | an in-toto statement of (task id, sha256) |
{row}| `manifest.json` | the digest of each of these files; its own digest is in the log's `retire` leaf |
| `log/` | the log: signed checkpoints, all hash tiles, and the leaves from the cohort's activation on |

Check it offline, with the log's key from somewhere else than this folder:

    quarterturn audit Historical-{month} --key log.vkey

{hint}Open a commitment without any code of ours (line 1 of the two files, without the line's end):

    {{ printf 'quarterturn/commit/v1\\n'; head -n 1 tasks.jsonl | tr -d '\\n'; }} |
        openssl dgst -sha256 -mac HMAC -macopt hexkey:SALT
"""
