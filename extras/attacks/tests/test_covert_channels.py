"""Tests of the covert channels: their computed capacities, and the page that lists them."""

import math
from pathlib import Path

import pytest

from quarterturn.settings import ServiceSettings
from quarterturn_attacks import scenarios
from quarterturn_attacks.covert_channels import (
    GOAL,
    RUNS,
    TASKS,
    SharedKernelState,
    bits_of,
    ceiling,
    shared,
    shared_table,
    table,
    total,
)
from sandbox.results.failure import CODES

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "covert-channels.md"


def test_the_page_says_what_the_code_says():
    text = PAGE.read_text()
    assert "\n".join(table(ceiling())) in text


def test_the_page_says_what_was_measured_between_runs():
    assert "\n".join(shared_table(shared())) in PAGE.read_text()


def test_a_fixed_quantity_has_no_capacity_and_others_by_their_steps_over_their_noise():
    closed, moved = SharedKernelState("a", "b"), SharedKernelState("a", "b", steps=7000, noise=1000)
    assert (closed.bits, moved.bits) == (0, 3)
    assert SharedKernelState("a", "b", steps=7000, noise=7000).bits == 1


def test_every_covert_scenario_has_its_channel_and_every_such_channel_its_scenario():
    tried = {channel.attempt for channel in ceiling() if channel.attempt}
    assert tried == {name for name, spec in scenarios.ATTEMPTS.items() if spec.group == "covert"}
    assert all(bits_of(name) in scenarios.ATTEMPTS[name].control for name in tried)


def test_a_channel_is_the_logarithm_of_what_could_be_said():
    named = {channel.name: channel for channel in ceiling(tasks=4, steps=1)}
    assert named["success rate"].bits == math.log2(4) + math.log2(2)
    assert named["the other three figures"].bits == 3 * (math.log2(201) + 2 * math.log2(21))
    assert named["counts beside the figures"].bits == pytest.approx(2 * math.log2(5) + math.log2(9))
    many = {channel.name: channel for channel in ceiling(tasks=200, steps=40)}
    assert many["success rate"].bits == math.log2(151) + math.log2(51)
    assert many["counts beside the figures"].bits == pytest.approx(2 * math.log2(21) + math.log2(36))
    assert named["state and code"].bits == math.log2(3 + len(CODES))
    assert named["answer"].state == "closed"
    assert named["success rate"].state == "bounded"


def test_two_runs_say_twice_as_much_and_none_says_nothing():
    assert total(ceiling(2)) == 2 * total(ceiling(1))
    assert total(ceiling(0)) == 0


def test_more_tasks_and_steps_never_say_less():
    assert (
        total(ceiling(tasks=50, steps=10)) < total(ceiling(tasks=200, steps=10)) < total(ceiling(tasks=200, steps=40))
    )


def test_all_runs_of_a_month_together_say_less_than_half_of_what_the_goals_are():
    goals = TASKS * GOAL
    assert ServiceSettings().private_in_all == RUNS
    assert total(ceiling(RUNS)) < goals / 2 < goals < total(ceiling(1000)), "a thousand would say all of it"
