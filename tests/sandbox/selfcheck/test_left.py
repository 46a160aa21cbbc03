"""Hostile states that no box stands before: each is judged false, and each stops or deceives whoever is careless."""

import pytest

from sandbox.boxes.memory_box import MemoryBox
from sandbox.selfcheck import left


@pytest.mark.slow
def test_no_state_stops_the_verdict_or_turns_it():
    made = list(left.run(MemoryBox({}), left.ATTEMPTS))
    assert {attempt.name: attempt.outcome for attempt in made} == dict.fromkeys(left.ATTEMPTS, "blocked")


@pytest.mark.parametrize("name", left.ATTEMPTS)
def test_somebody_careless_is_stopped_or_deceived(name):
    assert left.controls(MemoryBox({}), [name]) == {name: True}
