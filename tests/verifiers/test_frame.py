"""Tests of what a frame compares: items, changes and damage."""

from verifiers.normal_form import NormalState
from verifiers.states.damage import damages
from verifiers.states.items import items_of

FOLDER, FILE = ["out", "directory", 0o755, ""], ["out/a.txt", "file", 0o644, 0]


def test_a_folder_that_holds_a_file_is_there_without_an_entry_of_its_own():
    listed, implied = (NormalState({"entries": entries}, (b"a",)) for entries in ([FOLDER, FILE], [FILE]))
    assert [*items_of("filesystem", implied).items()] == [*items_of("filesystem", listed).items()]


def test_no_damage_takes_away_a_folder_and_leaves_the_file_in_it():
    baseline, final = NormalState({"entries": []}, ()), NormalState({"entries": [FOLDER, FILE]}, (b"a",))
    assert "folder out, removed" not in dict(damages("filesystem", baseline, final))
