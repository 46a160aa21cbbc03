"""Tests of the monitor of a log: it reports forks, cohorts that were never opened, and runs never closed."""

import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from vault.errors import Broken
from vault.ledger.audit.monitor import MonitorState, check_log
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.note import Signer, take_apart
from vault.ledger.tree.tiles import entries_path, folder_reader

from ..builders import carries_evidence

DECEMBER = datetime(2026, 12, 20, tzinfo=UTC)
WEEK = timedelta(days=7)


def glance(month, kept: MonitorState | None = None, now: datetime = DECEMBER, folder: Path | None = None):
    return check_log(folder_reader(folder or month.folder / "log"), [month.signer.verifier], kept, now)


@pytest.fixture
def begun(month):
    """Return a month that was committed to, with a run under way."""
    month.begin().open_run(1)
    return month


def test_a_log_that_keeps_its_promises_raises_no_alarm(begun):
    first = glance(begun)
    assert (first.alarms, first.news, first.size) == ([], [], len(begun.leaves))
    begun.score(1)
    begun.publish()
    again = glance(begun, first.seen)
    assert (again.alarms, again.size) == ([], len(begun.leaves))
    assert again.seen.open_since == {}


def test_a_run_that_nobody_closes_is_named_after_a_week(begun):
    first = glance(begun)
    assert glance(begun, first.seen, DECEMBER + WEEK).alarms == []
    later = glance(begun, first.seen, DECEMBER + WEEK + timedelta(seconds=1))
    assert later.alarms == ["run 1 has been open since 2026-12-20T00:00:00+00:00, and 7 days is the longest"]
    assert later.seen.open_since == first.seen.open_since


def test_a_cohort_that_nobody_opens_is_named_a_week_after_its_month(begun):
    begun.abort(1)
    begun.publish()
    assert glance(begun, now=datetime(2027, 1, 7, tzinfo=UTC)).alarms == []
    assert glance(begun, now=datetime(2027, 1, 9, tzinfo=UTC)).alarms == [
        "cohort-2026-12 was to be opened in 2026-12 and is not"
    ]


def test_a_cohort_that_was_opened_is_not_overdue(month):
    month.play().retire()
    assert glance(month, now=datetime(2027, 1, 20, tzinfo=UTC)).alarms == []


def test_withdrawn_tasks_are_news_once(begun):
    first = glance(begun)
    gone = begun.cohorts["cohort-2027-01"][0]
    begun.withdraw(gone, None)
    second = glance(begun, first.seen)
    assert [line.split(":")[0] for line in second.news] == [
        f"{gone} was withdrawn at leaf {len(begun.leaves) - 1} (leak)"
    ]
    assert glance(begun, second.seen).news == []


def test_a_second_history_is_an_alarm_with_both_heads(begun, new_month):
    first = glance(begun)
    other = new_month("other")
    other.begin().open_run(1, track="endpoint")
    other.abort(1)
    other.publish()
    found = glance(begun, first.seen, folder=other.folder / "log")
    (alarm,) = found.alarms
    assert alarm.startswith("there are two histories")
    assert first.seen.head in alarm
    assert (other.folder / "log" / "checkpoint").read_text() in alarm
    assert found.seen == first.seen
    kept, shown = (
        Checkpoint.parse(take_apart(note)[0]) for note in alarm.split("--- kept\n")[1].split("--- shown now\n")
    )
    assert (kept.size, shown.size) == (len(begun.leaves), len(other.leaves))
    assert found.evidence.expected == kept.root
    assert found.evidence.found != kept.root
    assert found.as_json()["evidence"] == found.evidence.as_json()


def test_a_log_that_went_back_is_an_alarm(begun, tmp_path):
    old = shutil.copytree(begun.folder / "log", tmp_path / "old")
    begun.score(1)
    begun.publish()
    assert glance(begun, glance(begun).seen, folder=old).alarms[0].startswith("the log went back from")


def test_leaves_that_are_not_what_was_signed_are_refused(begun):
    (bundle,) = (begun.folder / "log" / "tile" / "entries").rglob(f"{len(begun.leaves)}")
    assert bundle == begun.folder / "log" / entries_path(0, len(begun.leaves))
    bundle.write_bytes(bundle.read_bytes().replace(b"docker", b"dorker"))
    with pytest.raises(Broken, match="the leaves give the root") as caught:
        glance(begun)
    assert caught.value.rule == "log.root"
    assert carries_evidence(caught.value)


def test_leaves_that_were_signed_and_contradict_one_another_are_refused(begun):
    begun.open_run(1)
    with pytest.raises(Broken, match="a run is opened once") as caught:
        glance(begun)
    assert caught.value.rule == "run.once"
    assert carries_evidence(caught.value)


def test_an_error_about_a_head_names_whose_head_it_is(begun):
    shown = begun.folder / "log" / "checkpoint"
    kept = glance(begun).seen
    text = take_apart(kept.head)[0].replace("bench.example", "other.example")
    of_nobody = Signer("other.example/log", begun.signer.key).sign(text)
    with pytest.raises(Broken, match="no given key") as caught:
        glance(begun, replace(kept, head=of_nobody))
    assert caught.value.evidence.where == "the head that was kept: the signatures"
    shown.write_text(of_nobody)
    with pytest.raises(Broken, match="no given key") as caught:
        glance(begun, kept)
    assert caught.value.evidence.where == "checkpoint: the signatures"
