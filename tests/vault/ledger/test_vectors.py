"""Frozen releases: the good one is made again byte for byte, each bad one is refused at its step."""

import json

import pytest

from vault.ledger.audit import audit
from vault.ledger.results import RESULT, TOTALS
from vault.ledger.statement import KINDS

from ..builders import BAD, RELEASE, VECTORS, bad_release, signer

FORMATS = VECTORS.parents[2] / "docs" / "reference" / "ledger-formats.md"


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


PLAYED = {
    "good": lambda month: month.play(),
    "key-changed": lambda month: month.play_across(signer(7)),
    "variants": lambda month: month.vary().play(),
    "withdrawn": lambda month: month.play_withdrawing(),
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


@pytest.mark.parametrize("name", BAD)
def test_a_bad_release_is_refused_at_its_step(name, tmp_path):
    folder, keys = bad_release(name, tmp_path / "bundle")
    report = audit(folder, keys.read_text().split())
    assert report.failed
    assert report.failed.name == BAD[name]["step"], report.failed.detail


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
