"""Tests of hostile states that no box stops: each is judged false, and each defeats the vulnerable baseline."""

import pytest

from quarterturn_attacks import hostile_states
from tests.sandbox.memory_box import MemoryBox


@pytest.mark.slow
def test_no_state_stops_the_verdict_or_turns_it():
    made = list(hostile_states.run(MemoryBox({}), hostile_states.ATTEMPTS))
    assert {attempt.name: attempt.outcome for attempt in made} == dict.fromkeys(hostile_states.ATTEMPTS, "blocked")


@pytest.mark.parametrize("name", hostile_states.ATTEMPTS)
def test_the_vulnerable_baseline_is_stopped_or_deceived(name):
    assert hostile_states.controls(MemoryBox({}), [name]) == {name: True}
