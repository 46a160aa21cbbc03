"""Tests of the store of findings and reviews: figures may change, numbers and people's words never do."""

from datetime import UTC, datetime, timedelta

import pytest

from quarterturn import migrations
from rotation.calendar import Month
from rotation.errors import Malformed, NotFound
from rotation.findings.store import Findings, NewFinding, ScanRecord, counts_by_kind
from vault.database import open_engine

pytestmark = pytest.mark.both_databases
NOW = datetime(2027, 1, 5, tzinfo=UTC)
JANUARY, FEBRUARY = Month(2027, 1), Month(2027, 2)


@pytest.fixture
def findings(migrated):
    engine = open_engine(migrated)
    migrations.upgrade(engine)
    yield Findings(engine)
    engine.dispose()


def leak(p_adj, subject="mallory", month=JANUARY):
    return NewFinding("leak", subject, month, p_adj / 10, p_adj, p_adj / 5)


def scan(runs=6, month=JANUARY, at=NOW):
    return ScanRecord(month, at, runs, 6, None)


@pytest.mark.parametrize(
    ("p_adj", "status", "state"),
    [(0.01, "review", "open"), (0.011, "watching", None), (0.05, "watching", None), (0.051, "clean", None)],
)
def test_the_adjusted_p_says_how_much_attention_a_finding_wants(findings, p_adj, status, state):
    findings.keep([scan()], [leak(p_adj)], NOW)
    (found,) = findings.all()
    assert (found.status, found.state, found.subject, found.p_adj) == (status, state, "mallory", p_adj)


@pytest.mark.slow
def test_a_count_without_a_test_needs_a_review(findings):
    findings.keep([scan()], [NewFinding("exposure", "t-a", JANUARY, detail="served to ada 81 times")], NOW)
    (found,) = findings.all()
    assert (found.status, found.state, found.p_value, found.detail) == (
        "review",
        "open",
        None,
        "served to ada 81 times",
    )


def test_the_same_again_changes_nothing(findings):
    findings.keep([scan()], [leak(0.001), leak(0.2, "ada")], NOW)
    before = findings.all()
    findings.keep([scan()], [leak(0.001), leak(0.2, "ada")], NOW + timedelta(days=1))
    assert findings.all() == before


def test_an_explained_finding_is_reopened_by_another_month_alone(findings):
    findings.keep([scan()], [leak(0.001)], NOW)
    number = findings.all()[0].number
    findings.review(number, "explained", who="grace", note="their own dev tasks", now=NOW)
    findings.keep([scan(7)], [leak(0.0001)], NOW + timedelta(days=1))
    (found,) = findings.all()
    assert (found.number, found.state, found.p_adj) == (number, "explained", 0.0001)
    findings.keep([scan(7), scan(month=FEBRUARY)], [leak(0.0001), leak(0.002, month=FEBRUARY)], NOW)
    assert [(one.month, one.state) for one in findings.all()] == [(JANUARY, "explained"), (FEBRUARY, "open")]


def test_every_word_of_a_review_is_kept(findings):
    findings.keep([scan()], [leak(0.001)], NOW)
    number = findings.all()[0].number
    for hours, (state, note) in enumerate([("confirmed", "they said so"), ("open", ""), ("explained", "they did not")]):
        findings.review(number, state, who="grace", note=note, now=NOW + timedelta(hours=hours))
    words = findings.all()[0].reviews
    assert [(word.state, word.who) for word in words] == [
        ("open", "detectors"),
        ("confirmed", "grace"),
        ("open", "grace"),
        ("explained", "grace"),
    ]
    assert words[-1].at == NOW + timedelta(hours=2)


def test_a_finding_that_fades_keeps_its_review(findings):
    findings.keep([scan()], [leak(0.001)], NOW)
    findings.keep([scan(7)], [leak(0.4)], NOW)
    findings.keep([scan(8)], [], NOW)
    (found,) = findings.all()
    assert (found.status, found.p_adj, found.state) == ("clean", None, "open")


def test_an_older_scan_does_not_overwrite_a_newer_one(findings):
    findings.keep([scan(7)], [leak(0.001)], NOW)
    findings.keep([scan(6)], [leak(0.4), leak(0.003, "ada")], NOW)
    assert [(one.subject, one.p_adj) for one in findings.all()] == [("mallory", 0.001)]
    assert [one.runs for one in findings.scans()] == [7]


@pytest.mark.parametrize(
    ("state", "note"), [("explained", " "), ("confirmed", ""), ("open", "x" * 501), ("open", "a\nb")]
)
def test_a_word_without_a_reason_is_not_taken(findings, state, note):
    findings.keep([scan()], [leak(0.001)], NOW)
    with pytest.raises(Malformed):
        findings.review(findings.all()[0].number, state, who="grace", note=note, now=NOW)
    assert len(findings.all()[0].reviews) == 1


def test_a_finding_that_is_not_there_is_named(findings):
    with pytest.raises(NotFound, match="no finding 7"):
        findings.review(7, "explained", who="grace", note="why", now=NOW)
    assert findings.all() == []


def test_a_failed_scan_is_recorded_without_its_message_until_one_succeeds(findings):
    findings.failed(JANUARY, ValueError("a secret goal"), NOW)
    assert [(one.month, one.failed) for one in findings.scans()] == [(JANUARY, "ValueError")]
    findings.keep([scan()], [], NOW)
    assert [one.failed for one in findings.scans()] == [None]


def test_the_sum_names_nobody(findings):
    findings.keep([scan()], [leak(0.001), leak(0.03, "ada"), leak(0.5, "bob")], NOW)
    assert counts_by_kind(findings.all()) == {"leak": {"clean": 1, "watching": 1, "review": 1}}
