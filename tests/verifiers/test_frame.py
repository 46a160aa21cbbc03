"""Tests of what a frame compares: items, changes and damage."""

from verifiers.normal_form import NormalState
from verifiers.states.changes import described
from verifiers.states.damage import damages
from verifiers.states.items import items_of

FOLDER, FILE = ["out", "directory", 0o755, ""], ["out/a.txt", "file", 0o644, 0]
EVENT = ["work", "event", "e1", "Plan", "2026-01-05T10:00:00Z", "2026-01-05T11:00:00Z", "", "", "", {}, []]


def test_a_folder_that_holds_a_file_is_there_without_an_entry_of_its_own():
    listed, implied = (NormalState({"entries": entries}, (b"a",)) for entries in ([FOLDER, FILE], [FILE]))
    assert [*items_of("filesystem", implied).items()] == [*items_of("filesystem", listed).items()]


def test_no_damage_takes_away_a_folder_and_leaves_the_file_in_it():
    baseline, final = NormalState({"entries": []}, ()), NormalState({"entries": [FOLDER, FILE]}, (b"a",))
    assert "folder out, removed" not in [described(change) for change, _ in damages("filesystem", baseline, final)]


def test_what_a_server_calls_a_new_item_can_be_another_name_and_what_it_called_an_old_one_cannot():
    made = [*EVENT[:2], "4f1c", "Review", *EVENT[4:]]
    states = NormalState({"items": [EVENT]}), NormalState({"items": [EVENT, made]})
    damaged = [change.after.label for change, _ in damages("calendar", *states)]
    assert "work: event e1~" in damaged
    assert "work: event 4f1c~" not in damaged
    assert damaged.count("work: event 4f1c") > 1  # its other fields, and the event itself
