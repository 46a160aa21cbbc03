"""Tests that the guide's complete grammar is a valid one."""

import re
from pathlib import Path
from random import Random

from grammars.admission.coverage import check
from grammars.draw.sample import sample
from grammars.language.functions import FUNCTIONS
from grammars.language.load import LIBRARY, parse
from grammars.language.ranges import KINDS
from vault.task.document import Task
from verifiers.language.catalogue import CATALOGUE
from verifiers.twins import TWINS

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "write-a-grammar.md").read_text()


def test_the_grammar_in_the_guide_loads_draws_and_is_rich_enough():
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    lists = {path.stem: path.read_text() for path in (LIBRARY / "dictionaries").glob("*.yaml")}
    grammar = parse({"guide.yaml": text}, lists, predicates=set(CATALOGUE))
    (found,) = check(grammar)
    assert found.bits > 60
    assert sum(found.skeletons.values()) == 4
    Task.parse(sample(grammar, Random(1)).task)


def test_the_guide_names_every_function_and_every_kind_of_range():
    assert [name for name in FUNCTIONS if f"{name}(" not in PAGE] == []
    assert [kind for kind in (*KINDS, "rows") if f"`{kind}:" not in PAGE] == []


def test_the_page_names_each_twin():
    listed = PAGE[PAGE.index("The names are of") :]
    for kind, names in TWINS.items():
        section = listed[listed.index(f"`{kind}/`") :].partition(";")[0]
        assert re.findall(r"`([a-z-]+)`", section) == list(names)
