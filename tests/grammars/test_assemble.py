"""What a task lists says nothing of how its conditions turn out; and what grammars with a population share."""

from random import Random

import pytest

from grammars.derivation import of_template
from grammars.functions import mapping
from grammars.load import load, parse
from grammars.sample import draw, sample, skeletons

LEAST = {"single-tool": 20, "composition": 56, "recovery": 20}
RICH = ("github", "memory", "redis")


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


@pytest.mark.parametrize("server", RICH)
def test_there_are_skeletons_for_a_year_at_five_tasks_a_month(server):
    every = skeletons(load(server))
    for category, least in LEAST.items():
        assert sum(one.category == category for one in every) >= least


@pytest.mark.slow
@pytest.mark.parametrize("server", RICH)
def test_a_third_of_the_compositions_use_two_servers_and_most_templates_have_two_paths(server):
    templates = load(server).templates.values()
    assert len(templates) >= 8
    assert 3 * sum(len(one.steps.solutions) > 1 for one in templates) >= 2 * len(templates)
    composed = [one for one in templates if one.category == "composition"]
    assert 3 * sum(_servers(load(server), one) > 1 for one in composed) >= len(composed)


def _servers(grammar, template):
    skeleton = next(of_template(grammar.server, template))
    calls = draw(grammar, skeleton, skeleton.difficulties[-1], Random(1)).draft.provenance["solutions"][0]["calls"]
    return len({call["tool"].partition(".")[0] for call in calls})
