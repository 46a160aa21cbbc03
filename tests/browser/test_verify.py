"""verify.html on a disk: it says what the audit says about every frozen release, and names the place."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from vault.ledger.audit import audit
from vault.ledger.browser import page as written

pytestmark = pytest.mark.slow

VECTORS = next(parent for parent in Path(__file__).parents if parent.name == "tests") / "vectors" / "ledger"
GOOD = VECTORS / "good" / "Historical-2026-12"
BAD = json.loads((VECTORS / "bad.json").read_text())
KEY = (VECTORS / "log.vkey").read_text().strip()
NOT_HERE = {"runs", "results", "figures", "full score"}


@pytest.fixture
def desk(new_page, tmp_path):
    """The page, opened from a file, and how a release is given to it."""
    (tmp_path / "verify.html").write_bytes(written())
    page = new_page(base_url=None)
    page_url = (tmp_path / "verify.html").as_uri()

    def check(folder, key=KEY, older=None):
        page.goto(page_url)
        page.fill("#key", key)
        if older is not None:
            page.set_input_files("#older", older)
        page.set_input_files("#folder", folder)
        page.wait_for_selector("#steps .answer")
        return page

    return check


def states(page):
    return dict(page.eval_on_selector_all("#steps ol > li", "all => all.map(one => [one.value, one.className])"))


def test_the_good_release_is_proved_as_by_the_audit(desk):
    page = desk(GOOD, older=VECTORS / "older-checkpoint")
    assert page.locator("#steps h2").inner_text().startswith("Yes: the tasks")
    report = audit(GOOD, [KEY], (VECTORS / "older-checkpoint").read_text())
    here = states(page)
    assert len(here) == len(report.steps)
    for step in report.steps:
        expected = "not-checked-here" if step.name in NOT_HERE else step.state
        assert here[step.number] == expected, step


def test_every_bad_release_is_refused_at_the_step_of_the_audit(desk, tmp_path):
    for name, says in BAD.items():
        folder = tmp_path / name / "Historical-2026-12"
        shutil.copytree(GOOD, folder)
        shutil.copytree(VECTORS / "bad" / name, folder, dirs_exist_ok=True)
        for path in says["without"]:
            (folder / path).unlink()
        page = desk(folder)
        title = page.locator("#steps h2").inner_text()
        if says["step"] in NOT_HERE:
            assert title.startswith("Yes")
        else:
            assert title.startswith("No, at step"), name
            assert f", {says['step']}: " in title, (name, title)
