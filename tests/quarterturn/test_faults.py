"""Tests of failed disk calls behind each step of each verb: a clear sentence, nothing forgotten, finished once.

The import of tasks, which needs a box, is in `test_crashes.py`.
"""

import re
from functools import partial
from pathlib import Path

import pytest

from . import faults
from .crashes import TABLE, start, state
from .faults import LONG, OF_A_TURN, SHORT, Found
from .scenes import Scene

pytestmark = [pytest.mark.slow, pytest.mark.needs("strace")]

KINDS = {
    "init": ("fsync home/keys", "write home/keys/.log.key.*", "link home/keys/.ring.json.*", "fdatasync home/quarter"),
    "task review": ("fdatasync home/quarterturn.db-wal", "pwrite64 home/quarterturn.db-wal"),
    "turn run": (
        "fdatasync home/quarterturn.db-wal",
        "fsync home/head",
        "fsync home/public/months",
        "fsync home/public/releases",
    ),
    "release path": ("fsync home/public/releases", "rename home/public/releases/.Historical-2026-12.new"),
    "keys rotate": ("fsync home/keys", "rename home/keys/.ring.json.*", "write home/keys/.log.key.*"),
    "backup": ("fsync .", "rename .copy.*", "fdatasync .copy.*/rows.db-journal"),
    "restore": ("fsync .", "rename .new.*", "fsync .new.*/quarterturn.db"),
}
"""Calls of each verb that have to be among those that failed; more do."""


def played(tmp_path: Path, templates: Path, name: str, wanted: faults.Wanted) -> Found:
    base, other = tmp_path / "base", tmp_path / "other"
    base.mkdir()
    other.mkdir()
    said = start(Scene(other, templates).set(name))()
    assert said.code == 0, said.text
    scene = Scene(base, templates)
    return faults.play(scene, name, wanted, state(other), partial(scene.set, name))


@pytest.mark.parametrize("name", [name for name in TABLE if name != "task import"])
def test_a_verb_reports_a_failing_disk_and_the_next_one_finishes_it(name, tmp_path, templates):
    found = played(tmp_path, templates, name, OF_A_TURN if name == "turn run" else SHORT)
    assert found.wrong == []
    for kind in KINDS[name]:
        assert any(call.startswith(kind) for call in found.calls), (kind, found.calls)


LEFT_SO = re.compile(r"\['fsync home/keys'\]: \S+/home/keys was not forced to the disk again")
"""What the page tells of: the removal of a key file's former version that cannot be made durable."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name in TABLE if name != "task import"])
def test_a_verb_reports_any_of_twelve_failing_calls_of_each_kind_and_the_next_one_finishes_it(
    name, tmp_path, templates
):
    found = played(tmp_path, templates, name, LONG)
    assert [one for one in found.wrong if not LEFT_SO.search(one)] == []


def test_a_release_that_is_believed_to_be_there_after_its_name_was_lost_is_found_out(tmp_path, templates, monkeypatch):
    """Checks the test itself: if the name stays, the second try keeps the first one's loss."""
    monkeypatch.setattr(Path, "rename", without_taking_back)
    found = played(tmp_path, templates, "release path", (("sync", 1),))
    assert [one for one in found.wrong if "home/public/releases was not forced to the disk again" in one]


def without_taking_back(self: Path, target: Path, real=Path.rename) -> Path:
    return Path(target) if target.name.startswith(".") else real(self, target)
