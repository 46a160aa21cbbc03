"""Tests of the draw seeds that retirements open: when, which, once, and not while a task of the draw is private."""

from itertools import pairwise
from typing import Any

import pytest

from rotation.calendar import Month
from rotation.errors import Refused
from rotation.month.set_file import COHORTS
from rotation.month.sets import Stratum
from rotation.turn.draw_seeds import draw_seed
from vault.commitment import commitment
from vault.ledger.statements.leaf import Statement
from vault.task.document import Task
from vault.task.lifecycle import TaskState

from ..conftest import BEFORE, FIRST, RECOVERY, SMALL, Benchmark, Killed, OwnHome, begun, document, killed, with_reserve

pytestmark = pytest.mark.slow

SPARED = RECOVERY
LAST = 0xF0  # the first byte of the commitments of tasks that enter last
FIRST_DRAW = FIRST.plus(COHORTS)  # when the first cohort retires that was drawn from a promised seed
WITH_RESERVE = with_reserve(1)


@pytest.fixture
def reserve_home(own_home: OwnHome) -> Benchmark:
    """Return a home whose first set is live, with one spare task of each stratum and no other task."""
    return own_home(begun, WITH_RESERVE)[0]


def turn(home: Benchmark, month: Month, stock: int = 1) -> None:
    home.stock(stock)
    home.rotation.run(month)
    home.audited(month)


def leaves(home: Benchmark) -> list[Statement]:
    return [Statement.parse(leaf) for leaf in home.ledger.leaves()]


def openings(home: Benchmark) -> dict[str, list[dict[str, Any]]]:
    """Return what each retirement opens, by its month."""
    retirements = [statement.predicate for statement in leaves(home) if statement.kind == "retire"]
    return {says["month"]: says.get("draw_seeds", []) for says in retirements}


def opened_sets(home: Benchmark) -> dict[str, list[str]]:
    """Return the months of the sets whose seeds each retirement opens; those that open none are left out."""
    log = leaves(home)
    return {
        month: [log[opening["set"]].predicate["month"] for opening in opened]
        for month, opened in openings(home).items()
        if opened
    }


def due(home: Benchmark) -> dict[str, list[str]]:
    """Return the same as it follows from the public log alone."""
    log, expected, opened = leaves(home), {}, set()
    for place, retirement in enumerate(log):
        if retirement.kind != "retire":
            continue
        before = log[:place]
        left = {task["id"] for statement in log[: place + 1] if statement.kind == "retire"
                for task in statement.predicate["tasks"]}  # fmt: skip
        left |= {statement.name for statement in before if statement.kind == "withdraw"}
        sets = [index for index, statement in enumerate(before) if statement.kind == "set"]
        for start, end in pairwise(sets):
            drawn = {statement.name for statement in log[start:end] if statement.kind == "commit"}
            if start not in opened and drawn <= left:
                opened.add(start)
                expected.setdefault(retirement.predicate["month"], []).append(log[start].predicate["month"])
    return expected


def test_a_seed_is_opened_when_the_cohort_of_its_draw_retires_and_is_in_no_leaf_before(begun_home):
    for number in range(COHORTS + 3):
        turn(begun_home, FIRST.plus(number))
    expected = {str(FIRST_DRAW.plus(number)): [str(FIRST.plus(number))] for number in range(3)}
    assert opened_sets(begun_home) == expected == due(begun_home)
    log = leaves(begun_home)
    for opened in openings(begun_home).values():
        for opening in opened:
            says = log[opening["set"]].predicate
            seed, salt = bytes.fromhex(opening["seed"]), bytes.fromhex(opening["salt"])
            assert commitment("draw-seed", seed, salt).hex() == says["next_draw"]
            assert seed == draw_seed(Month.parse(says["month"]), begun_home.vault, who="ada")
    text = b"".join(begun_home.ledger.leaves())
    for number in range(COHORTS + 4):
        seed = draw_seed(FIRST.plus(number), begun_home.vault, who="ada")
        assert (seed.hex().encode() in text) == (number < len(expected))


def test_a_draw_of_nothing_is_opened_after_the_next_set(reserve_home):
    """The reserve enters, so that no task is committed to between the first two sets."""
    turn(reserve_home, FIRST, stock=0)
    assert openings(reserve_home) == {str(FIRST): []}
    turn(reserve_home, FIRST.plus(1))
    assert opened_sets(reserve_home) == {str(FIRST.plus(1)): [str(FIRST)]} == due(reserve_home)


def committed_at(home: Benchmark, month: Month) -> set[str]:
    """Return the tasks whose `commit` leaves stand between the set of a month and the next one."""
    log = leaves(home)
    start, end = (home.ledger.index_of(f"set/{each}") for each in (month, month.plus(1)))
    return {statement.name for statement in log[start:end] if statement.kind == "commit"}


def reserve(home: Benchmark) -> set[str]:
    return {record.id for record in home.vault.records(TaskState.REVIEWED)}


def add(home: Benchmark, stratum: Stratum, *, last: bool = False, drawn_for: Month | str = "") -> str:
    """Add a reviewed task that enters before all that are `last`, or after all others; commitments have the say."""
    others = [record.commitment for record in home.vault.records(TaskState.REVIEWED)]
    while True:
        number, home.stocked = home.stocked, home.stocked + 1
        task, skeleton = Task.parse(document(number, stratum)), f"s-{number}"
        about = {"author": "ada", "public_grammar": True, "skeleton": skeleton, "template": "t"}
        record = home.vault.add(task, {}, drawn_for=str(drawn_for), **about)
        is_last = record.commitment[0] >= LAST and record.commitment > max(others, default=b"")
        if is_last if last else record.commitment[0] < LAST:
            for event in ("admit", "approve"):
                home.vault.advance(record.id, event)
            return record.id


def supply(home: Benchmark, each: int = 1, *, but: Stratum | None = None, drawn_for: Month | str = "") -> None:
    for stratum in SMALL.per_cohort:
        for _ in range(each * (stratum != but)):
            add(home, stratum, drawn_for=drawn_for)


def _before_the_first_opening(home: Benchmark) -> str:
    supply(home, COHORTS)
    home.rotation.run(BEFORE)
    spare = add(home, SPARED, last=True, drawn_for=FIRST)
    for number in range(COHORTS):
        supply(home, drawn_for=FIRST.plus(number))
        turn(home, FIRST.plus(number), stock=0)
    return spare


@pytest.fixture
def spare_home(own_home: OwnHome) -> tuple[Benchmark, str]:
    """Return a home before the turn that would open the first promised draw, and a spare task of that draw."""
    return own_home(_before_the_first_opening, WITH_RESERVE)


@pytest.mark.parametrize("withdrawn", [False, pytest.param(True, marks=pytest.mark.full)])
def test_a_task_in_the_reserve_keeps_its_seed_closed_until_it_is_withdrawn(spare_home, withdrawn):
    home, spare = spare_home
    assert spare in committed_at(home, FIRST)
    if withdrawn:
        home.withdrawals.withdraw([spare], "it leaked", cause="leak", who="ada")
    supply(home)
    turn(home, FIRST_DRAW, stock=0)
    assert opened_sets(home) == ({str(FIRST_DRAW): [str(FIRST)]} if withdrawn else {}) == due(home)
    supply(home)
    turn(home, FIRST_DRAW.plus(1), stock=0)
    assert opened_sets(home)[str(FIRST_DRAW.plus(1))] == [str(FIRST.plus(1))], "each seed waits for its own tasks alone"
    if not withdrawn:
        home.withdrawals.withdraw([spare], "it leaked", cause="leak", who="ada")
        supply(home)
        turn(home, FIRST_DRAW.plus(2), stock=0)
        assert opened_sets(home)[str(FIRST_DRAW.plus(2))] == [str(FIRST), str(FIRST.plus(2))], "by index"
    assert opened_sets(home) == due(home)


@pytest.mark.full
def test_a_task_of_the_reserve_that_enters_later_keeps_its_seed_closed_until_it_retires(spare_home):
    home, spare = spare_home
    supply(home, but=SPARED)
    turn(home, FIRST_DRAW, stock=0)
    assert home.vault.record(spare).state is TaskState.LIVE
    for number in range(1, COHORTS + 1):
        assert str(FIRST) not in str(opened_sets(home).values())
        supply(home)
        turn(home, FIRST_DRAW.plus(number), stock=0)
    assert home.vault.record(spare).state is TaskState.PUBLISHED
    assert str(FIRST) in opened_sets(home)[str(FIRST_DRAW.plus(COHORTS))]
    assert opened_sets(home) == due(home)


def test_a_withdrawn_live_task_keeps_no_seed_closed(spare_home):
    """Its place is taken by the spare task of the same draw, which retires with the cohort."""
    home, spare = spare_home
    drawn = next(task for task in committed_at(home, FIRST) - {spare} if Stratum.of(home.vault.record(task)) == SPARED)
    home.withdrawals.withdraw([drawn], "it leaked", cause="leak", who="ada")
    assert home.vault.record(spare).state is TaskState.LIVE
    supply(home)
    turn(home, FIRST_DRAW, stock=0)
    assert opened_sets(home) == {str(FIRST_DRAW): [str(FIRST)]} == due(home)


def test_a_drawn_task_that_was_not_promised_at_its_turn_never_enters(begun_home):
    """Its seed is opened when the others have left, and whoever has the seed can draw it."""
    late = add(begun_home, SPARED, last=True, drawn_for=FIRST)
    turn(begun_home, FIRST, stock=0)
    assert not begun_home.ledger.find(f"commit/{late}"), "the set has no reserve"
    supply(begun_home, but=SPARED)
    with pytest.raises(Refused, match=f"too few reviewed tasks of unseen skeletons: {SPARED} lacks 1"):
        begun_home.rotation.run(FIRST.plus(1))
    for number in range(1, COHORTS + 1):
        begun_home.stock(1)
        turn(begun_home, FIRST.plus(number), stock=0)
    assert opened_sets(begun_home) == {str(FIRST_DRAW): [str(FIRST)]}
    assert begun_home.vault.record(late).state is TaskState.REVIEWED
    assert not begun_home.ledger.find(f"commit/{late}")


def _before_the_first_draw_is_due(home: Benchmark) -> None:
    begun(home)
    for number in range(COHORTS):
        turn(home, FIRST.plus(number))
    home.stock(1)


@pytest.mark.parametrize("after", ["recorded", "moved"])
def test_a_retirement_that_was_killed_opens_the_same_seed_again(own_home, monkeypatch, after):
    home, _ = own_home(_before_the_first_draw_is_due)
    recorded, real = [], home.ledger.record

    def record(key, leaf, session=None):
        recorded.append((key, leaf))
        return real(key, leaf, session)

    with monkeypatch.context() as patch:
        patch.setattr(home.ledger, "record", record)
        patch.setattr(*{"recorded": (home.vault, "advance"), "moved": (home.months, "move")}[after], killed)
        with pytest.raises(Killed):
            home.rotation.run(FIRST_DRAW)
    assert [key for key, _ in recorded] == [f"retire/{FIRST_DRAW}"]
    home.reopen()
    assert home.ledger.find(f"retire/{FIRST_DRAW}") is None, "nothing of a killed step stands in the log"
    home.rotation.run(FIRST_DRAW)
    home.audited(FIRST_DRAW)
    assert home.ledger.leaf(home.ledger.index_of(f"retire/{FIRST_DRAW}")) == recorded[0][1]
    assert opened_sets(home) == {str(FIRST_DRAW): [str(FIRST)]}


@pytest.mark.full
@pytest.mark.parametrize("tries", [0, *(pytest.param(number, marks=pytest.mark.full) for number in (1, 2))])
def test_whatever_the_reserve_does_seeds_are_opened_as_the_public_log_tells(reserve_home, tries):
    for number in range(COHORTS + 4):
        turn(reserve_home, FIRST.plus(number))
        gone = {1: sorted(reserve(reserve_home)), 2: reserve_home.months.cohorts("live")[1].tasks}.get(number % 3, ())
        reserve_home.withdrawals.withdraw(gone[:1], "it leaked", cause="leak", who="ada")
    assert opened_sets(reserve_home) == due(reserve_home)
    private = reserve(reserve_home) | {record.id for record in reserve_home.vault.records(TaskState.LIVE)}
    for months in opened_sets(reserve_home).values():
        for month in months:
            assert not committed_at(reserve_home, Month.parse(month)) & private
