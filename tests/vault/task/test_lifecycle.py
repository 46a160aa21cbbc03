"""Tests of the lifecycle of a task: the transitions of the table, and no others."""

import itertools

import pytest

from vault.errors import Malformed, NotAllowed
from vault.task.lifecycle import EVENTS, FIRST, TRANSITIONS, TaskEvent, TaskState, advance


def test_every_state_has_its_row():
    assert set(TRANSITIONS) == set(TaskState)


def test_every_state_can_be_reached_from_a_draft_and_every_event_happens_somewhere():
    reached, todo = {FIRST}, [FIRST]
    while todo:
        fresh = set(TRANSITIONS[todo.pop()].values()) - reached
        reached |= fresh
        todo += fresh
    assert reached == set(TaskState)
    assert {event for row in TRANSITIONS.values() for event in row} == set(EVENTS)


@pytest.mark.parametrize(("state", "event"), list(itertools.product(TaskState, TaskEvent)))
def test_an_event_leads_where_the_table_says_or_is_refused_with_the_states_it_is_open_from(state, event):
    if event in TRANSITIONS[state]:
        assert advance(state, event.value) is TRANSITIONS[state][event]
        return
    with pytest.raises(NotAllowed) as refusal:
        advance(state, event)
    for origin in (origin for origin, row in TRANSITIONS.items() if event in row):
        assert origin.value in str(refusal.value)


def test_nothing_is_published_that_was_not_live_and_nothing_goes_live_unreviewed():
    def ways(state, seen):
        if state is TaskState.PUBLISHED:
            yield seen
        for target in TRANSITIONS[state].values():
            yield from ways(target, [*seen, target])

    for way in ways(FIRST, [FIRST]):
        assert way[-5:] == [
            TaskState.ADMITTED,
            TaskState.REVIEWED,
            TaskState.LIVE,
            TaskState.RETIRED,
            TaskState.PUBLISHED,
        ]


def test_a_task_is_rejected_before_its_review_and_withdrawn_after_it():
    leaves = {event: {state for state, row in TRANSITIONS.items() if event in row} for event in EVENTS}
    assert leaves[TaskEvent.REJECT] == {TaskState.DRAFT, TaskState.ADMITTED}
    assert leaves[TaskEvent.WITHDRAW] == {TaskState.REVIEWED, TaskState.LIVE}


def test_an_unknown_event_is_malformed_and_the_known_ones_are_named():
    with pytest.raises(Malformed, match=r"'promote'.*withdraw"):
        advance(TaskState.DRAFT, "promote")


def test_the_table_cannot_be_changed_by_whoever_reads_it():
    with pytest.raises(TypeError):
        TRANSITIONS[TaskState.REJECTED][TaskEvent.ACTIVATE] = TaskState.LIVE
