"""Tests of the catalogue: every predicate is documented, and its example holds."""

import inspect
import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from verifiers.errors import VerifierError
from verifiers.language.catalogue import CATALOGUE, reference
from verifiers.language.in_process import judge
from verifiers.language.predicate import in_words, parse
from verifiers.language.verdict import Verdict
from verifiers.predicates.registry import NOTHING, REGISTRY, TEXT, Example, predicate
from verifiers.tree import JudgeInput

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "predicates.md"


@pytest.mark.parametrize("name", CATALOGUE)
def test_its_example_holds_on_one_state_and_fails_on_the_other(name):
    example = CATALOGUE[name].example
    tree = parse({name: dict(example.arguments)})
    assert judge(tree, example.holds()).verdict is Verdict.TRUE
    failed = judge(tree, example.fails())
    assert failed.verdict is Verdict.FALSE
    assert failed.found


@pytest.mark.parametrize("name", CATALOGUE)
def test_its_schema_is_a_schema_and_its_probe_takes_what_the_schema_lets_through(name):
    entry = CATALOGUE[name]
    Draft202012Validator.check_schema(entry.schema)
    required, takes = entry.schema["required"], inspect.signature(entry.probe).bind
    takes(None, **dict.fromkeys(entry.schema["properties"]))
    takes(None, **dict.fromkeys(required))
    for lacking in required:
        with pytest.raises(TypeError):
            takes(None, **{other: None for other in required if other != lacking})


@pytest.mark.parametrize("name", CATALOGUE)
def test_its_sentence_names_every_argument_that_the_example_gives(name):
    example = CATALOGUE[name].example
    words = in_words(parse({name: dict(example.arguments)}))
    assert all(json.dumps(value) in words for value in example.arguments.values())


def test_the_reference_page_is_what_the_catalogue_says():
    written = PAGE.read_text(encoding="utf-8")
    assert written == reference(), "docs/reference/predicates.md differs: write reference() into it"
    for name, entry in CATALOGUE.items():
        section = written.partition(f"### {name}\n")[2].partition("\n#")[0]
        assert all(f"`{argument}" in section for argument in entry.schema["properties"]), name
        assert section


def test_a_predicate_that_says_nothing_or_is_there_already_cannot_be_registered():
    example = Example({}, JudgeInput, JudgeInput)

    def silent(context):
        raise NotImplementedError

    with pytest.raises(VerifierError, match=r"answer\.silent"):
        predicate("answer.silent", words="", takes={"text": TEXT}, produces=NOTHING, example=example)(silent)
    with pytest.raises(VerifierError, match=r"answer\.equals is registered twice"):
        predicate("answer.equals", words="", takes={}, produces=NOTHING, example=example)(
            CATALOGUE["answer.json"].probe
        )


def test_a_predicate_must_say_which_of_its_arguments_the_agent_produces():
    example = Example({}, JudgeInput, JudgeInput)
    probe = CATALOGUE["answer.json"].probe
    with pytest.raises(TypeError, match="produces"):
        predicate("answer.new", words="", takes={"text": TEXT}, example=example)(probe)
    with pytest.raises(VerifierError, match=r"answer\.new produces \['txt'\], which it does not take"):
        predicate("answer.new", words="", takes={"text": TEXT}, produces=("txt",), example=example)(probe)
    assert "answer.new" not in REGISTRY
