"""Tests of loading a grammar: its digest, its dictionaries, and one sentence for each mistake."""

import re

import pytest

from grammars.errors import Malformed, NotFound
from grammars.language.load import library, load, parse


def test_the_digest_follows_what_is_said_and_not_how(small):
    digest = parse({"small.yaml": small}, {}).digest
    assert parse({"small.yaml": "# a remark\n" + small}, {"unused": "[a, b]"}).digest == digest
    assert parse({"small.yaml": small.replace("plum", "fig")}, {}).digest != digest
    fruit = small.replace("[apple, pear, plum]", "fruit")
    assert (
        parse({"small.yaml": fruit}, {"fruit": "[a]"}).digest != parse({"small.yaml": fruit}, {"fruit": "[b]"}).digest
    )


def test_the_shipped_grammars_are_found_by_name_and_nothing_else_is():
    assert {"filesystem", "git", "postgres", "sqlite"} <= set(library())
    with pytest.raises(NotFound, match=f"the shipped ones are {', '.join(library())}"):
        load("nosuch")


def test_a_grammar_of_ones_own_may_have_dictionaries_beside_it(tmp_path, small):
    (tmp_path / "dictionaries").mkdir()
    (tmp_path / "dictionaries" / "fruit.yaml").write_text("[quince]\n")
    (tmp_path / "small.yaml").write_text(small.replace("[apple, pear, plum]", "fruit"))
    assert load(tmp_path).server == "filesystem"


BROKEN = [
    ("grammar: filesystem", "gramma: x", "small.yaml: unknown key 'gramma'"),
    ("version: 1", "version: one", "must give the grammar's version, an integer"),
    ("max_steps: 3", "max_step: 3", "small.yaml: template note: unknown key 'max_step'"),
    ("category: single-tool", "category: easy", "template note: category: one of single-tool, composition, recovery"),
    ("[easy, hard]", "[easy, harder]", "template note: difficulty: one of easy, medium, hard"),
    ('"Now: {kind.phrase} {lines}"', '"{kind.Phrase} {lines}, please."', "phrasings: at least 3 different ones"),
    ("Now: {kind.phrase}", "Now:", r"note:high: phrasings: one of them does not say \{kind.phrase\}"),
    ("{integer: {easy: [1, 3]", "{integer: {easy: [3, 1]", "note: parameters.lines.integer: the range is empty"),
    ("{choice: [apple, pear, plum]}", "{choice: []}", "note: parameters.name.choice: a list that is not empty"),
    ("[low, high]", "[low, higher]", "note: nonterminals.kind: there is no production 'higher'"),
    ('["lines != 2"]', '["lines !="]', r"note: constraints\[0\]: 'lines !=' is no CEL expression"),
    ('["lines != 2"]', '["limes != 2"]', "note:high: constraints: there is no name 'limes'"),
    ('path: "out/{name}.txt"', 'path: "out/{path}.txt"', "names depend on each other in a circle: path"),
    ("{secret: {integer: [50000000, 900000000]}}", "{path: {choice: [a]}}", "the name 'path' is given twice"),
    ("filesystem.write_file, arg", "filesystem.write_fil, arg", "solutions.reference: .* do not list .*write_fil'"),
    ("{filesystem: 11}", "{filesystem: 3}", "note:high: distract: it lists 4 tools; 12 to 18 are wanted"),
    ("{filesystem: 11}", "{nosuch: 11}", "note: distract: `tools` lists none of server 'nosuch'"),
    (
        "filesystem.fileTextEquals:",
        "filesystem.fileTextIs:",
        "predicate: there is no predicate 'filesystem.fileTextIs'",
    ),
    ("- {name: emptied, filesystem: {write:", "# {name: emptied, filesystem: {write:", "mutants: at least 2"),
    ("name: removed, filesystem:", "title: removed, filesystem:", "mutants: each is a map with `name`"),
    (
        "    max_steps: 3\n",
        "    max_steps: 3\n    exact: {files/newline: x}\n",
        "note: exact: unknown key 'files/newline'",
    ),
    ("    max_steps: 3\n", "    max_steps: 3\n    exact: {files/final-newline: ''}\n", "exact: each twin has a reason"),
    ("    max_steps: 3\n", "", "template note: max_steps: it is missing"),
    ("state: [{", "state: [3, {", "note:high: state: each piece is a map from server"),
    ('["lines != 2"]', '["1 < 2"]', r"note: constraints\[0\]: '1 < 2' mentions no name"),
    ("predicate: [{filesystem.fileTextEquals:", "predicate: [{all: 3, b:", "note:high: predicate: each is a map with"),
    ("predicate: [{filesystem.fileTextEquals:", "predicate: [{all:", "note:high: predicate: all needs a list"),
    ("    mutants:\n", "    faults: [{tool: x}]\n    mutants:\n", "faults: "),
    ("category: single-tool", "category: recovery", "note:high: faults: a recovery template needs some"),
    ("category: single-tool", "category: composition", "a composition task needs 3 to 7 tools, and this one 1"),
]


@pytest.mark.parametrize(("old", "new", "says"), BROKEN, ids=[row[2][:60] for row in BROKEN])
def test_each_mistake_is_one_sentence_with_file_or_skeleton_and_field(small, old, new, says):
    assert old in small
    with pytest.raises(Malformed, match=says) as caught:
        parse({"small.yaml": small.replace(old, new, 1)}, {}, predicates={"filesystem.fileTextEquals"})
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("small.yaml: ")


def test_a_tool_that_no_server_has_is_refused(small):
    sentence = "small.yaml: tools.filesystem: no server has a tool 'filesystem.read_text_file'"
    with pytest.raises(Malformed, match=re.escape(sentence)):
        parse({"small.yaml": small}, {}, tools={"filesystem.write_file"})


def test_two_grammars_in_one_folder_and_a_file_that_is_none_are_refused(small):
    with pytest.raises(Malformed, match="one folder holds one grammar"):
        parse({"a.yaml": small, "b.yaml": "grammar: git\n"}, {})
    with pytest.raises(Malformed, match=r"b\.yaml: a map is expected here"):
        parse({"b.yaml": "[1]"}, {})
    with pytest.raises(Malformed, match="another file has one of that name"):
        parse({"a.yaml": small, "b.yaml": small.replace("version: 1", "")}, {})
