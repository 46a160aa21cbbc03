"""Tests of the report on structure: it names what is large or defined twice, and nothing else."""

from .notes import structure


def test_large_folders_and_class_names_that_occur_twice_are_reported(tmp_path):
    room = tmp_path / "vault"
    room.mkdir()
    for number in range(structure.MOST_MODULES):
        (room / f"m{number}.py").write_text("")
    (room / "__init__.py").write_text("")
    assert structure.report(tmp_path) == []
    (room / "one.py").write_text("class Entry: ...\nclass _Own: ...\n")
    (room / "two.py").write_text("class Entry: ...\nclass _Own: ...\n")
    (room / "errors.py").write_text("class Entry: ...\n")
    assert structure.report(tmp_path) == [
        "vault has 18 modules",
        "2 classes are named Entry: vault/one.py, vault/two.py",
    ]
