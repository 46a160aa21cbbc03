"""Tests that every sampled set is listed in tests/README.md."""

from __future__ import annotations

import pytest

from .places import TESTS, name_of, python_files
from .sampling import sample

OWN = {"sampling.py", "test_sampling.py"}


def test_every_exhaustive_set_stands_in_the_readme_with_what_every_run_keeps():
    sets = {
        name_of(path)
        for path in python_files()
        if path.name not in OWN and any(sign in path.read_text() for sign in ("mark.exhaustive", "sampling import"))
    }
    rows = [line.split("|") for line in (TESTS / "README.md").read_text().splitlines() if line.startswith("| `")]
    listed = {cells[1].strip(" `"): cells[2:4] for cells in rows if cells[1].strip(" `").endswith(".py")}
    assert set(listed) == sets
    assert all(adds.strip() and keeps.strip() for adds, keeps in listed.values())


def test_a_sample_keeps_what_is_named_and_each_nth():
    def marked(case) -> bool:
        return any(mark.name == "exhaustive" for mark in getattr(case, "marks", ()))

    assert [marked(case) for case in sample("abcd", keep=["b"])] == [True, False, True, True]
    assert [marked(case) for case in sample("abcd", every=2)] == [False, True, False, True]
    both = sample([("a", 1), pytest.param("b", 2, id="two", marks=pytest.mark.slow)])
    assert [(case.values, case.id) for case in both] == [(("a", 1), None), (("b", 2), "two")]
    assert [mark.name for mark in both[1].marks] == ["slow", "exhaustive"]


def test_a_sample_cannot_name_what_is_not_there():
    with pytest.raises(ValueError, match="none of the cases"):
        sample("ab", keep=["c"])
