"""Tests of the echo detector: what it finds, whom it names, and that chance and honest habits are not found."""

import random
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from rotation.detection.detectors.detector_result import DetectorResult
from rotation.detection.detectors.echoes import echo
from rotation.detection.statistics.exact_sums import MAX_SCORE, hypergeometric, lattice, tails
from rotation.detection.statistics.served_values import SaidValues, ServedValues
from rotation.detection.statistics.table import ResultTable

from .echo_worlds import HONEST, EchoWorld, play

CLEAR = 0.0005


def echoes(table: ResultTable, rotation: int) -> dict[str, DetectorResult]:
    return {result.subject: result for result in echo(table.recent(rotation), rotation)}


def test_tails_of_sums_are_those_of_the_binomial_and_of_enumeration():
    coin = {0: 0.9, 3: 0.1}
    reached = tails([(coin, 40)])
    assert np.allclose([reached[3 * k] for k in range(1, 20)], binom.sf(np.arange(19), 40, 0.1), rtol=1e-12)
    dice = [{0: 0.5, 2: 0.25, 9: 0.25}, {1: 0.75, 4: 0.25}, {0: 0.125, 30: 0.875}]
    by_hand = np.zeros(MAX_SCORE + 1)
    for sides in product(*(die.items() for die in dice)):
        by_hand[: sum(score for score, _ in sides) + 1] += np.prod([chance for _, chance in sides])
    assert np.allclose(tails((die, 1) for die in dice), by_hand, rtol=1e-12)


def test_small_tails_keep_their_digits_and_large_sums_are_kept_at_the_end():
    assert tails([({0: 1 - 1e-5, 7: 1e-5}, 3)])[21] == pytest.approx(1e-15, rel=1e-9)
    assert tails([({0: 0.5, 300: 0.5}, 2)])[MAX_SCORE] == pytest.approx(0.25)
    assert lattice(1e9) == MAX_SCORE
    assert lattice(-3.0) == 0


@pytest.mark.parametrize(("population", "marked", "drawn"), [(500, 70, 20), (30, 25, 20), (12, 12, 3), (8, 1, 8)])
def test_hits_are_hypergeometric(population, marked, drawn):
    scores = hypergeometric(population, marked, drawn, 2)
    assert sum(scores.values()) == pytest.approx(1)
    for score, chance in scores.items():
        assert chance == pytest.approx(hypergeom.pmf(score // 2, population, marked, drawn))


@pytest.mark.parametrize(
    ("known", "repeated", "sources"),
    [
        pytest.param(0.1, 0.3, 1, id="from one other"),
        pytest.param(0.1, 0.3, 0, id="from their own earlier month", marks=pytest.mark.full),
        pytest.param(0.2, 0.1, 1, id="seldom", marks=pytest.mark.full),
        pytest.param(0.05, 0.5, 0, id="of few tasks", marks=pytest.mark.full),
    ],
)
def test_who_repeats_a_leaked_text_is_found_and_its_source_named(known, repeated, sources):
    world = EchoWorld(known=known, repeated=repeated, sources=sources, months=3)
    found, named = Counter(), []
    for seed in range(4):
        table = play(world, seed)
        for month in (2, 3):
            guilty = echoes(table, month)["s00"]
            found[month] += guilty.p_value <= CLEAR
            named.append(guilty.detail)
    assert found[2] >= 3
    assert found[3] == 4
    assert sum(name is not None for name in named) >= 7
    book = [name for name in named if name]
    assert all(name.startswith("own earlier month" if sources == 0 else "s") for name in book)


def test_a_source_is_named_only_if_it_is_the_true_one():
    world = EchoWorld(known=0.1, repeated=0.3, months=2)
    for seed in range(5):
        source = random.Random(f"agents-{seed}").sample(range(1, world.submitters), 1)[0]
        detail = echoes(play(world, seed), 2)["s00"].detail
        assert detail is None or detail.startswith(
            (f"s{source:02}|1, with probability 0.9", f"s{source:02}|1, with probability 1")
        )


@pytest.mark.parametrize(
    "world",
    [
        pytest.param(EchoWorld(manners=HONEST, stray=60, months=3), marks=pytest.mark.full),
        pytest.param(EchoWorld(manners=HONEST, stray=60, choices=(12, 30, 64), months=2), marks=pytest.mark.full),
        pytest.param(EchoWorld(manners=("scaffold",), stray=60, months=2), marks=pytest.mark.full),
        EchoWorld(manners=("habits", "favourites"), submitters=5, choices=(4, 8, 512, 1024), months=5),
    ],
    ids=["all manners", "short lists", "one scaffold", "few submitters"],
)
def test_who_guesses_sprays_or_has_habits_is_not_found_nor_a_source_named(world):
    flagged, p_values = 0, []
    for seed in range(2):
        table = play(world, seed)
        for month in range(2, world.months + 1):
            results = echoes(table, month)
            flagged += any(result.p_value * len(results) <= 0.01 for result in results.values())
            p_values += [result.p_value for result in results.values()]
            assert not [result.detail for result in results.values() if result.detail]
    assert flagged == 0
    assert np.mean(np.array(p_values) <= 0.05) <= 0.05


def test_many_matches_that_chance_explains_name_nobody():
    table = play(EchoWorld(submitters=5, choices=(8, 16), stray=600, months=5), 3)
    results = echoes(table, 5).values()
    assert min(result.p_value for result in results) > CLEAR
    assert not [result.detail for result in results if result.detail]


@pytest.mark.full
def test_who_repeats_one_text_of_each_of_many_sources_is_found_in_later_months_too():
    world = EchoWorld(submitters=40, known=0.1, repeated=0.3, sources=39, months=5, begins=4)
    table = play(world, 0)
    assert max(echoes(table, month)["s00"].p_value for month in (4, 5)) < 1e-8


def test_a_p_value_allows_for_four_tests_and_for_the_months_that_a_match_counts_in():
    values = ServedValues("name", 512, {5: (2,), 7: (1,)}, frozenset({7}), {}, frozenset())
    table = play(EchoWorld(manners=("quiet",), months=2), 1)
    (result,) = echoes(replace(table, said=(SaidValues(2, "ada", "t", (values,)),)), 2).values()
    assert result.p_value == pytest.approx(6 / 512)


@pytest.mark.full
def test_with_the_others_values_drawn_again_even_a_leaker_is_like_everybody():
    world, p_values = EchoWorld(known=0.2, repeated=0.3, months=2, manners=HONEST, stray=60), []
    assert echoes(play(world, 0), 2)["s00"].p_value <= CLEAR
    for redrawn in range(1, 3):
        results = echoes(play(world, 0, redrawn), 2)
        p_values += [result.p_value for result in results.values()]
        assert not [result.detail for result in results.values() if result.detail]
    assert len(p_values) > 30
    assert np.mean(np.array(p_values) <= 0.05) <= 0.05


def test_later_rows_change_nothing_of_an_earlier_month():
    world = EchoWorld(known=0.2, repeated=0.3, months=4)
    table = play(world, 5)
    cut = replace(table.until(3), said=tuple(row for row in table.said if row.rotation <= 3))
    assert echoes(table, 3) == echoes(cut, 3)
    mixed = replace(table, said=tuple(random.Random(1).sample(table.said, len(table.said))))
    assert echoes(table, 3) == echoes(mixed, 3)


def test_a_value_that_the_submitter_was_ever_served_is_not_foreign():
    def row(rotation: int, own: dict[int, tuple[int, ...]]) -> SaidValues:
        values = ServedValues("name", 512, own, frozenset({7}), {7: ("bob|1",)}, frozenset({7, 8}))
        return SaidValues(rotation, "ada", "t", (values,))

    table = replace(play(EchoWorld(manners=("quiet",), months=3), 1), said=(row(3, {5: (3,)}),))
    (foreign,) = echoes(table, 3).values()
    assert foreign.effect == pytest.approx(1 - 2 / 511)
    (own,) = echoes(replace(table, said=(row(3, {5: (3,), 7: (2,)}),)), 3).values()
    assert own.effect == 0
    assert own.p_value < 0.02
    (now,) = echoes(replace(table, said=(row(3, {7: (3,)}),)), 3).values()
    assert now.p_value == 1
