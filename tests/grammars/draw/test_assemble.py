"""Tests that a task's list of tools tells nothing of how its conditions turn out."""

from random import Random

import pytest

from grammars.draw.sample import sample
from grammars.language.functions import mapping
from grammars.language.load import parse


def test_the_tools_of_the_way_that_is_not_taken_are_listed_too(small):
    both = """solution:
      - {tool: filesystem.create_directory}
      - {when: "secret < 5", tool: filesystem.move_file}
      - {tool: filesystem.write_file"""
    text = small.replace("solution: [{tool: filesystem.write_file", both).replace('"=text"}}]', '"=text"}}', 1)
    text = text.replace("category: single-tool", "category: composition").replace(
        "{filesystem: 11}", "{filesystem: 10}"
    )
    draft = sample(parse({"small.yaml": text}, {}), Random(3))
    assert {call["tool"] for call in draft.provenance["solutions"][0]["calls"]} == {
        "filesystem.create_directory",
        "filesystem.write_file",
    }
    assert "filesystem.move_file" in draft.task["available_tools"]


def test_a_map_is_made_of_two_lists_that_are_equally_long():
    assert mapping(["a", "b"], [1, "x"]) == {"a": 1, "b": "x"}
    with pytest.raises(ValueError, match="shorter"):
        mapping(["a", "b"], [1])
