"""Tests of allocating tasks to cohorts and the reserve: the same mix everywhere, and no skeleton split."""

import hashlib
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotation.errors import Refused
from rotation.month.cohort import Candidate, _Filling, allocate
from rotation.month.sets import SetSpec, Stratum

pytestmark = pytest.mark.slow

A, B = Stratum("git", "composition", "medium"), Stratum("sqlite", "recovery", "hard")
SPEC = SetSpec("two strata", {A: 2, B: 1}, reserve={A: 2, B: 2})
NAMES = ["cohort-1", "cohort-2", "cohort-3", "cohort-4"]


def candidate(number: int, stratum: Stratum, skeleton: str | None = None) -> Candidate:
    digest = hashlib.sha256(str(number).encode()).digest()
    return Candidate(f"t-{number}", stratum, skeleton or f"s-{number}", digest)


def enough() -> list[Candidate]:
    return in_order([candidate(i, A) for i in range(11)] + [candidate(100 + i, B) for i in range(7)])


def in_order(candidates: list[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda c: c.commitment)


def test_every_cohort_gets_the_same_mix():
    cohorts = allocate(enough(), SPEC, NAMES).cohorts
    assert {Counter(c.stratum for c in held) == Counter(SPEC.per_cohort) for held in cohorts.values()} == {True}


def test_promised_tasks_are_in_the_order_of_their_commitments():
    allocation = allocate(enough(), SPEC, NAMES)
    for held in (*allocation.cohorts.values(), *allocation.reserve.values()):
        assert [c.commitment for c in held] == sorted(c.commitment for c in held)


def pool_of(count: int, each: int, apart: int) -> list[Candidate]:
    """Make `count` candidates of both strata, `each` of a skeleton; without `apart` some skeletons are of both."""
    pool = [candidate(i, A, f"s-{i // each}") for i in range(count)]
    pool += [candidate(1000 + i, B, f"s-{(apart + i) // each}") for i in range(count)]
    return in_order(pool)


@given(
    st.integers(11, 300),
    st.integers(0, 2),
    st.integers(1, 4),
    st.sampled_from([0, 1000]),
    st.dictionaries(st.integers(0, 40), st.booleans()),
)
def test_stopping_early_chooses_the_same_tasks(count, reserve, each, apart, barred):
    spec = replace(SPEC, reserve={A: reserve, B: reserve})
    pool = pool_of(count, each, apart)
    read = iter(pool)
    known = {f"s-{i}" for i, seen in barred.items() if seen}
    live = {f"s-{i}": "cohort-old" for i, seen in barred.items() if not seen}
    filling = _Filling(spec, NAMES, live, known)
    for one in pool:
        filling.take(one)
    try:
        whole = filling.allocation()
    except Refused:
        with pytest.raises(Refused):
            allocate(read, spec, NAMES, seen=known, taken=live)
        return
    found = allocate(read, spec, NAMES, seen=known, taken=live)
    assert found.cohorts == whole.cohorts
    assert {s: found.reserve.get(s, ()) for s in spec.per_cohort} == {
        s: whole.reserve.get(s, ()) for s in spec.per_cohort
    }
    unread = list(read)
    assert count < 100 or each > 1 or unread, "it stopped reading"
    last = max((c for held in found.cohorts.values() for c in held), key=lambda c: c.commitment)
    assert reserve or pool[len(pool) - len(unread) - 1] is last, "it read no further than the last that it chose"


@pytest.mark.parametrize(
    ("reserve", "chosen"),
    [
        (0, "bdd2a92e951568ed06b0a2884cda9d1a84939f8d254b9a35ff841d18395ae8fe"),
        (2, "b0b3a185c4632c73433bb4ac0c8b9abfe193a51f816997ba9ce5cf6bd7b0fc03"),
    ],
)
def test_the_same_candidates_are_chosen_as_ever(reserve, chosen):
    live, known = {f"s-{i}": "cohort-old" for i in range(0, 50, 3)}, {f"s-{i}" for i in range(1, 50, 3)}
    spec = replace(SPEC, per_cohort={A: 5, B: 3}, reserve={A: reserve, B: reserve})
    found = allocate(pool_of(200, 2, 0), spec, NAMES, seen=known, taken=live)
    held = (*found.cohorts.values(), *found.reserve.values())
    words = "\n".join(" ".join(c.id for c in one) for one in held)
    assert hashlib.sha256(words.encode()).hexdigest() == chosen


def test_the_reserve_shares_no_skeleton_with_the_live_set_and_is_no_longer_than_asked():
    allocation = allocate(in_order([*enough(), candidate(500, A, "s-0")]), SPEC, NAMES)
    live = {c.skeleton for held in allocation.cohorts.values() for c in held}
    assert all(len(rest) <= 2 for rest in allocation.reserve.values())
    assert not live & {c.skeleton for rest in allocation.reserve.values() for c in rest}


def test_seen_skeletons_are_passed_over():
    seen = {"s-0", "s-100"}
    cohorts = allocate(enough(), SPEC, NAMES, seen=seen).cohorts
    assert not seen & {c.skeleton for held in cohorts.values() for c in held}


def test_a_skeleton_that_is_live_elsewhere_cannot_enter_a_new_cohort():
    taken = {f"s-{i}": "cohort-old" for i in range(9)}
    cohorts = allocate(enough(), SPEC, ["cohort-new"], taken=taken).cohorts
    assert not set(taken) & {c.skeleton for c in cohorts["cohort-new"]}


def test_too_few_tasks_name_the_stratum_and_the_number():
    pool = in_order([candidate(i, A) for i in range(8)] + [candidate(100 + i, B) for i in range(2)])
    with pytest.raises(Refused, match=r"sqlite/recovery/hard lacks 2"):
        allocate(pool, SPEC, NAMES)


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from([A, B]), st.integers(0, 12)), min_size=20, max_size=60))
def test_no_skeleton_is_ever_split(rows):
    pool = in_order([candidate(i, stratum, f"{stratum}-{skeleton}") for i, (stratum, skeleton) in enumerate(rows)])
    try:
        cohorts = allocate(pool, SPEC, NAMES).cohorts
    except Refused:
        return
    homes: dict[str, set[str]] = {}
    for name, held in cohorts.items():
        for c in held:
            homes.setdefault(c.skeleton, set()).add(name)
    assert all(len(names) == 1 for names in homes.values())
