"""Tests of the shipped sets: their strata, sizes and names."""

from collections import Counter

import pytest

from rotation.errors import NotFound
from rotation.month.sets import DEMO, MCPBENCH, SETS, named


def test_the_demo_has_twenty_four_tasks_in_four_cohorts_of_six():
    assert (DEMO.cohort_size, DEMO.size) == (6, 24)


def test_the_benchmark_has_two_hundred_live_tasks_and_fifty_for_everybody_over_ten_servers():
    assert (MCPBENCH.cohort_size, MCPBENCH.size, sum(MCPBENCH.dev.values())) == (50, 200, 50)
    assert len(MCPBENCH.servers) == 10
    for mix, each in ((MCPBENCH.per_cohort, 5), (MCPBENCH.dev, 5)):
        a_server = Counter(dict.fromkeys(MCPBENCH.servers, 0))
        for stratum, count in mix.items():
            a_server[stratum.server] += count
        assert set(a_server.values()) == {each}


@pytest.mark.parametrize("spec", SETS.values(), ids=lambda spec: spec.name)
def test_a_dev_set_has_a_task_of_every_stratum_of_its_set(spec):
    assert set(spec.dev) == set(spec.per_cohort)


def test_an_unknown_set_is_named_with_the_known_ones():
    with pytest.raises(NotFound, match="no set 'mcpbenhc'; the shipped sets are: demo, mcpbench"):
        named("mcpbenhc")


def test_a_dev_set_that_cannot_be_drawn_says_whose_grammars_are_missing():
    MCPBENCH.require_dev_grammars(MCPBENCH.servers)
    with pytest.raises(NotFound, match="'mcpbench' has tasks of calendar, email, which have no shipped grammar"):
        MCPBENCH.require_dev_grammars(set(MCPBENCH.servers) - {"calendar", "email"})
