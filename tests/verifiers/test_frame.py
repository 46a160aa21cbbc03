"""Tests of damaged states, and of the frame that must notice them."""

from verifiers.normal_form import NormalState
from verifiers.states.damage import damages

EVENT = ["work", "event", "e1", "Plan", "2026-01-05T10:00:00Z", "2026-01-05T11:00:00Z", "", "", "", {}, []]


def labels_of_damage(kind, before, after):
    return [change.after.label for change, _ in damages(kind, NormalState(before), NormalState(after))]


def test_what_a_server_calls_a_new_item_can_be_another_name_and_what_it_called_an_old_one_cannot():
    made = ["work", "event", "4f1c", "Review", *EVENT[4:]]
    damaged = labels_of_damage("calendar", {"items": [EVENT]}, {"items": [EVENT, made]})
    assert "work: event e1~" in damaged
    assert "work: event 4f1c~" not in damaged
    assert damaged.count("work: event 4f1c") > 1  # its other fields, and the event itself
