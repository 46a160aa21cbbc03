"""Tests of frozen releases: good ones are made again byte for byte, bad ones are refused at their step."""

import json

import pytest

from vault.ledger.audit.verify import audit
from vault.ledger.statements.results import RESULT, TOTALS
from vault.ledger.statements.statement import KINDS

from ..builders import BAD, RELEASE, VECTORS, bad_release, signer

FORMATS = VECTORS.parents[2] / "docs" / "reference" / "ledger-formats.md"


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


PLAYED = {
    "good": lambda month: month.play(),
    "key-changed": lambda month: month.play_across(signer(7)),
    "variants": lambda month: month.vary().play(),
    "withdrawn": lambda month: month.play_withdrawing(),
    "spot-checked": lambda month: month.play_checked(),
}


@pytest.mark.parametrize("name", PLAYED)
def test_the_formats_have_not_changed(month, name):
    assert files(PLAYED[name](month).retire()) == files(VECTORS / name / RELEASE)


@pytest.mark.parametrize("name", PLAYED)
def test_a_good_release_is_proved(name):
    keys = VECTORS / ("." if name == "good" else name) / "log.vkey"
    older = (VECTORS / "older-checkpoint").read_text() if name == "good" else None
    report = audit(VECTORS / name / RELEASE, keys.read_text().split(), older)
    assert report.ok, report.failed
    assert name != "good" or report.pending == "2027-03"
    words = "2 were withdrawn; more than 5 % were withdrawn: review"
    assert (words in report.steps[7].proved) == (name == "withdrawn")


SAYS = {
    "swapped-tasks": "is committed to at leaf 1, its opening says 0",
    "swapped-salts": "where it leaves, 6ab2b09cae14f15b",
    "tasks-in-another-order": "task 1 of cohort-2026-12 should be t-pb54ysd4v62n5krd, it is t-ktnnvn2ud2xytk4y",
    "task-left-out": "task 2 of cohort-2026-12 should be t-ktnnvn2ud2xytk4y, it is no task",
    "run-dropped": "opens the runs [2], the log says that [1, 2] were served",
    "altered-result": "is not under the results root",
    "altered-totals": "the results of run 1 give passed = 1, its totals say 2",
    "decomposed-letters": "do not open the commitment",
    "altered-figures": "aggregate.json differs from what was opened",
    "unclosed-run": "run 3, opened at leaf 15, has neither score nor abort",
    "changed-promise": "lists other tasks for cohort-2026-12 than were promised",
    "reordered-leaves": "leaf 0 has the hash",
    "missing-leaf": "is cut short in entry 15 of 16",
    "unlisted-file": "holds 'log.vkey', which its manifest does not list",
    "flipped-bit": "tasks.jsonl has the sha256",
    "truncated": "results.jsonl has 976 bytes, the manifest lists 1076",
    "key-signed-by-the-new-one-alone": "and the old key did not sign that",
    "key-signed-by-the-old-one-alone": "and the new key did not sign that",
    "new-key-used-too-early": "the log's key at that size is bench.example/log+1cab3be0",
    "old-key-used-after": "the log's key at that size is bench.example/log+5de4ebc6",
    "key-of-another-log": "leaf 13 hands over the log other.example/log, and this log is bench.example/log",
    "wrong-variant-key": "t-pb54ysd4v62n5krd was committed to with the variant key of sha256",
    "refilled-out-of-turn": "which was not next in the reserve of filesystem/single-tool/easy",
    "place-left-empty": "refills with nobody, though the reserve of filesystem/single-tool/easy has 2 left",
    "withdrawn-and-not-opened": "by the log that is t-pb54ysd4v62n5krd, t-unkjoy2uc4jrhedk, t-ktnnvn2ud2xytk4y",
    "withdrawn-and-counted": "aggregate.json differs from what was opened",
    "spot-check-not-opened": "promises a spot check, and leaf 15 opens none",
    "spot-check-miscounted": "chooses 1 results of 2026-12, the leaf says 0",
    "spot-check-with-another-seed": "the seed of the spot check at leaf 15 does not open",
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_release_is_refused_at_its_step(name, tmp_path):
    folder, keys = bad_release(name, tmp_path / "bundle")
    report = audit(folder, keys.read_text().split())
    assert report.failed
    assert report.failed.name == BAD[name]["step"], report.failed.detail
    assert SAYS[name] in report.failed.detail


GOOD, LEFT = (VECTORS / name / RELEASE for name in ("good", "withdrawn"))


def test_every_kind_of_statement_and_every_field_is_described():
    page = FORMATS.read_text()
    rows = [json.loads(line) for line in (GOOD / "results.jsonl").read_text().splitlines()]
    totals = json.loads((GOOD / "runs.jsonl").read_text().splitlines()[0])["totals"]
    RESULT(rows[0]["result"], "$")
    TOTALS(totals, "$")
    for name in [*KINDS, *rows[0], *rows[0]["result"], *totals, *files(LEFT).keys() - set(_log(LEFT))]:
        assert f"`{name}`" in page, name


def _log(release):
    return [name for name in files(release) if name.startswith("log/")]
