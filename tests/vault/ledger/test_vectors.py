"""Frozen releases: the good one is made again byte for byte, each bad one is refused at its step."""

import json
import shutil
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vault.ledger.audit import audit
from vault.ledger.note import Signer
from vault.ledger.results import RESULT, TOTALS
from vault.ledger.statement import KINDS

VECTORS = next(parent for parent in Path(__file__).parents if parent.name == "tests") / "vectors" / "ledger"
BASES = ("good", "key-changed", "variants", "withdrawn")
GOOD, CHANGED, VARIED, LEFT = (VECTORS / name / "Historical-2026-12" for name in BASES)
NEW = Signer("bench.example/log", Ed25519PrivateKey.from_private_bytes(b"\7" * 32))
BAD = json.loads((VECTORS / "bad.json").read_text())
FORMATS = VECTORS.parents[2] / "docs" / "reference" / "ledger-formats.md"


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_formats_have_not_changed(month):
    assert files(month.play().retire()) == files(GOOD)


def test_the_format_of_a_change_of_the_logs_key_has_not_changed(month):
    assert files(month.play_across(NEW).retire()) == files(CHANGED)


def test_the_format_of_an_opened_variant_key_has_not_changed(month):
    assert files(month.vary().play().retire()) == files(VARIED)


def test_the_format_of_what_was_withdrawn_has_not_changed(month):
    assert files(month.play_withdrawing().retire()) == files(LEFT)


def test_the_good_release_is_proved():
    report = audit(GOOD, [(VECTORS / "log.vkey").read_text()], (VECTORS / "older-checkpoint").read_text())
    assert report.ok, report.failed
    assert report.pending == "2027-03"
    report = audit(CHANGED, (CHANGED.parent / "log.vkey").read_text().split())
    assert report.ok, report.failed
    report = audit(VARIED, (VARIED.parent / "log.vkey").read_text().split())
    assert report.ok, report.failed
    report = audit(LEFT, (LEFT.parent / "log.vkey").read_text().split())
    assert report.ok, report.failed
    assert "2 were withdrawn; more than 5 % were withdrawn: review" in report.steps[7].proved


@pytest.mark.parametrize("name", BAD)
def test_a_bad_release_is_refused_at_its_step(name, tmp_path):
    folder = tmp_path / "bundle"
    good = VECTORS / BAD[name].get("of", "good") / "Historical-2026-12"
    keys = good.parent / "log.vkey" if "of" in BAD[name] else VECTORS / "log.vkey"
    shutil.copytree(good, folder)
    shutil.copytree(VECTORS / "bad" / name, folder, dirs_exist_ok=True)
    for path in BAD[name]["without"]:
        (folder / path).unlink()
    report = audit(folder, keys.read_text().split())
    assert report.failed
    assert report.failed.name == BAD[name]["step"], report.failed.detail


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
