"""Contents of a release: its files, the form of their lines, and the files that follow from others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vault.ledger.statements.forms import Form
from vault.ledger.statements.jcs import canonical
from vault.ledger.statements.results import RESULT, TOTALS, TRANSCRIPT, figures
from vault.ledger.statements.statement import TYPE

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
_FILE: Form = {"bytes": "natural", "sha256": "hash"}
# fmt: off
TASK: Form = {  # of a task's document, which is described in SPEC.md
    "id": "task", "server": "server", "category": "=single-tool,composition,recovery",
    "difficulty": "=easy,medium,hard", "max_steps": "positive",
}
OPENING: Form = {"submitter": "text", "submission": "text", "attempt": "positive"}  # of a run
FORMS: Mapping[str, Form] = {  # of the lines of each file
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
# fmt: on


def attestation(month: str, cohort: str, tasks: Iterable[tuple[str, str]]) -> bytes:
    """Make `attestation.json`: an in-toto Statement about the tasks, each with its sha256."""
    subject = [{"name": task, "digest": {"sha256": digest}} for task, digest in tasks]
    predicate = {"month": month, "cohort": cohort}
    document = {"_type": TYPE, "subject": subject, "predicateType": ATTESTED}
    return canonical({**document, "predicate": predicate})


def aggregate(month: str, cohort: str, runs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> bytes:
    """Make `aggregate.json`: totals and figures of each scored run on the retired cohort.

    Args:
        month: `YYYY-MM`.
        cohort: the retired cohort's id.
        runs: `(opening, totals)` a run, by run number.
    """
    rows = [
        {name: opening[name] for name in ("submitter", "attempt")}
        | {"run": totals["run"], "totals": totals, "figures": figures(totals)}
        for opening, totals in runs
    ]
    return canonical({"month": month, "cohort": cohort, "runs": rows})


def readme(manifest: Mapping[str, Any]) -> bytes:
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
