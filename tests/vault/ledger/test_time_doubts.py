"""Tests of doubts about time: what witnesses saw, held against the months that leaves state, up to the last second."""

from calendar import timegm
from itertools import count

import pytest

from vault.ledger.audit.verify import audit
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.note import take_apart
from vault.ledger.signatures.policy import Policy

from ..builders import WITNESSES, cosigned_at
from .conftest import WITNESS

POLICY = Policy.parse(
    "".join(f"witness {name} {key.witness.vkey}\n" for name, key in WITNESSES.items()).encode() + b"quorum none\n"
)
DAY, WEEK = 86_400, 7 * 86_400
BEGIN, END = timegm((2026, 12, 1, 0, 0, 0)), timegm((2027, 1, 1, 0, 0, 0))  # of the month
SET, OPEN, SCORE, ABORT, RETIRE = 11, 12, 14, 15, 16  # leaves under the first head over each of them
HONEST = {SET: BEGIN, OPEN: BEGIN + DAY, SCORE: BEGIN + 2 * DAY, ABORT: END - DAY, RETIRE: END}


@pytest.fixture
def folder(month):
    """Return the release of a month in which a head was published after each step."""
    month.play().publish()
    return month.retire()


@pytest.fixture
def doubts(month, folder):
    """Return a function that lets witnesses cosign heads, `{size: {witness: time}}`, and audits the release."""

    def audited(seen):
        for size, times in seen.items():
            name = "checkpoint" if size == RETIRE else f"checkpoints/{size}"
            note = (month.folder / "log" / name).read_text()
            head = Checkpoint.parse(take_apart(note)[0])
            lines = (cosigned_at(WITNESSES[witness], head, seconds) for witness, seconds in times.items())
            (folder / "log" / name).write_text(note + "".join(lines))
        report = audit(folder, month.keys, policy=POLICY)
        assert not report.failed, report.failed
        assert report.answer == ("yes with doubts" if report.doubts else "yes")
        return report.doubts

    return audited


def by(witness, times):
    return {size: {witness: seconds} for size, seconds in times.items()}


def places(found):
    return [(doubt.rule, doubt.evidence.where) for doubt in found]


def test_heads_that_were_cosigned_in_time_leave_no_doubt(doubts):
    assert doubts(by("A", HONEST)) == []


def test_cosignatures_that_were_removed_are_missed_where_no_quorum_asks_for_them(doubts):
    found = places(doubts({}))
    assert {rule for rule, _ in found} == {"doubt.time", "doubt.before"}
    assert len(found) == 7


def test_a_set_may_be_promised_early(doubts):
    assert doubts(by("A", HONEST | {SET: BEGIN - 60 * DAY})) == []


@pytest.mark.parametrize(
    ("size", "limit", "beyond", "place"),
    [
        (OPEN, BEGIN - DAY, -1, "leaf 11: the first cosignature over run-open run/1"),
        (ABORT, END + DAY + WEEK, 1, "leaf 14: the first cosignature over abort run/2"),
        (RETIRE, END + DAY + WEEK, 1, "leaf 15: the first cosignature over retire Historical-2026-12"),
    ],
)
def test_a_leaf_is_cosigned_within_a_day_before_its_month_and_a_late_turn_after_it(doubts, size, limit, beyond, place):
    times = HONEST | {SET: BEGIN - 9 * DAY, size: limit}
    times[RETIRE] = max(times[RETIRE], times[ABORT])
    assert doubts(by("A", times)) == []
    times[size] += beyond
    times[RETIRE] = max(times[RETIRE], times[ABORT])
    assert ("doubt.time", place) in places(doubts(by("A", times)))


def test_what_is_too_early_or_late_is_shown_beside_the_limits(doubts):
    (doubt,) = doubts(by("A", HONEST | {SET: BEGIN - 9 * DAY, OPEN: BEGIN - DAY - 1}))
    assert doubt.evidence.expected == "2026-11-30T00:00:00Z to 2027-01-09T00:00:00Z"
    assert doubt.evidence.found == "2026-11-29T23:59:59Z"


def test_a_month_that_was_made_up_in_one_second_is_doubted_at_each_leaf(doubts):
    found = doubts(by("A", dict.fromkeys(HONEST, END + 60 * DAY)))
    assert {doubt.rule for doubt in found} == {"doubt.time"}
    assert [place.split(":")[0] for _, place in places(found)] == [f"leaf {n}" for n in (10, 11, 12, 13, 14, 15)]


def test_the_slowest_witness_counts(doubts):
    seen = by("A", HONEST)
    seen[RETIRE] |= {"B": END + DAY + WEEK + 1}
    assert places(doubts(seen)) == [("doubt.time", "leaf 15: the first cosignature over retire Historical-2026-12")]


def test_a_head_that_nobody_cosigned_leaves_its_leaves_without_a_time(doubts):
    times = {size: seconds for size, seconds in HONEST.items() if size != RETIRE}
    (doubt,) = doubts(by("A", times))
    assert (doubt.rule, doubt.evidence.found) == ("doubt.time", None)
    assert doubt.evidence.where.startswith("leaf 15")


def test_a_run_that_no_witness_saw_before_its_score_is_doubted(doubts):
    times = {size: seconds for size, seconds in HONEST.items() if size != OPEN}
    (doubt,) = doubts(by("A", times))
    assert (doubt.rule, doubt.evidence.where) == ("doubt.before", "leaf 11: run/1")
    assert doubt.evidence.expected == "a cosigned checkpoint of 12 to 12 leaves"
    assert doubt.evidence.found == [SET, SCORE, ABORT, RETIRE]


def test_the_clock_of_one_witness_never_goes_back(doubts):
    same = HONEST | {SCORE: HONEST[OPEN]}
    assert doubts(by("A", same)) == []
    (doubt,) = doubts(by("A", same | {SCORE: HONEST[OPEN] - 1}))
    assert (doubt.rule, doubt.evidence.where) == ("doubt.clock", "the cosignature of A at size 14")
    assert (doubt.evidence.expected, doubt.evidence.found) == ("2026-12-02T00:00:00Z or later", "2026-12-01T23:59:59Z")


@pytest.mark.parametrize(("behind", "doubted"), [(300, False), (301, True)])
def test_the_clocks_of_two_witnesses_may_differ_by_five_minutes(doubts, behind, doubted):
    seen = by("A", HONEST)
    seen[SCORE] = {"B": HONEST[OPEN] - behind}
    found = places(doubts(seen))
    assert found == ([("doubt.clock", "the cosignature of B at size 14")] if doubted else [])


def test_a_clock_that_went_back_once_is_compared_with_its_latest_time(doubts):
    times = {SET: BEGIN + 9 * DAY, OPEN: BEGIN, SCORE: BEGIN + DAY, ABORT: BEGIN + 9 * DAY, RETIRE: END}
    found = places(doubts(by("A", times)))
    assert found == [("doubt.clock", f"the cosignature of A at size {size}") for size in (OPEN, SCORE)]


@pytest.mark.parametrize(
    ("quorum", "first"),
    [
        ("group either any old A\nquorum either\n", {}),
        ("quorum A\n", {"track": "endpoint", "cohorts": ["cohort-2026-12"]}),
    ],
    ids=["either of them, where a run of the cohort is older", "the new one, where none is"],
)
def test_a_release_after_the_witnesses_changed_has_no_doubt(month, quorum, first):
    month.clock = count(BEGIN, 60)
    month.begin().open_run(1, **first)
    month.publish()
    month.score(1)
    month.turn()
    month.witness, month.clock = WITNESSES["A"], count(END, 60)
    month.publish()
    month.open_run(2)
    month.publish()
    month.score(2)
    named = {"old": WITNESS, "A": WITNESSES["A"]}.items()
    policy = "".join(f"witness {name} {key.witness.vkey}\n" for name, key in named) + quorum
    report = audit(month.retire(), month.keys, policy=Policy.parse(policy))
    assert (report.failed, report.doubts, report.answer) == (None, [], "yes")
