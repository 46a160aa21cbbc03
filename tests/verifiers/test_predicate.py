"""Tests of parsing the predicate language: what is refused, where the message points, and what it never quotes."""

import pytest

from verifiers.errors import Malformed
from verifiers.language.predicate import MAX_DEPTH, AllOf, AnyOf, Not, Probe, in_words, namespaces, parse

EXISTS = {"filesystem.fileExists": {"path": "out/a.txt"}}
ANSWERED = {"answer.number": {"value": 42, "tolerance": 0.5}}


def test_a_document_becomes_a_tree():
    tree = parse({"all": [EXISTS, {"any": [ANSWERED, {"not": EXISTS}]}]})
    exists = Probe("filesystem.fileExists", {"path": "out/a.txt"})
    answered = Probe("answer.number", {"value": 42, "tolerance": 0.5})
    assert tree == AllOf((exists, AnyOf((answered, Not(exists)))))
    assert namespaces(tree) == {"filesystem", "answer"}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], r"^\$: a predicate is an object"),
        ("x", r"^\$: a predicate is an object"),
        ({}, r"^\$: .*exactly one key, this one has 0"),
        ({**EXISTS, "not": EXISTS}, r"^\$: .*exactly one key, this one has 2"),
        ({"all": []}, r"^\$\.all: needs a list of one or more"),
        ({"any": []}, r"^\$\.any: needs a list of one or more"),
        ({"all": EXISTS}, r"^\$\.all: needs a list"),
        ({"not": [EXISTS]}, r"^\$\.not: a predicate is an object"),
        ({"all": [EXISTS, {"any": [{}]}]}, r"^\$\.all\[1\]\.any\[0\]: .*exactly one key"),
        ({"filesystem.fileExist": {"path": "a"}}, r'^\$\["filesystem\.fileExist"\]: .*near it: filesystem\.fileExists'),
        ({"sqlite.qqqqqqqqqqqqqqqqq": {}}, r"near it: sqlite\."),
        ({"postgress.rowExists": {}}, r"near it: postgres\.rowExists"),
        ({"ALL": [EXISTS]}, r"no predicate of this name"),
        ({"filesystem.fileExists": {}}, r'^\$\["filesystem\.fileExists"\]: lacks path'),
        ({"filesystem.fileExists": "a"}, r"must be of type object"),
        ({"filesystem.fileExists": {"path": "a", "mode": 1}}, r"unknown key \(mode\); it takes path"),
        ({"filesystem.fileExists": {"path": 3}}, r'^\$\["filesystem\.fileExists"\]\.path: must be of type string'),
        ({"git.headMessage": {"repository": "r", "branch": "b"}}, r"needs exactly one of equals, contains"),
        (
            {"sqlite.rowExists": {"table": "t", "where": {"a": [1]}}},
            r"\.where\.a: must be of type string or number or null",
        ),
        ({"sqlite.rowExists": {"table": "t", "where": {"a": True}}}, r"\.where\.a: must be of type"),
    ],
)
def test_a_malformed_document_is_refused_at_its_place(document, message):
    with pytest.raises(Malformed, match=message):
        parse(document)


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "a/../b", "a//b", "a/", "./a", "", "a/..", "a\0b"])
def test_a_path_that_could_leave_the_folder_is_refused(path):
    with pytest.raises(Malformed, match=r"\.path: (is not a relative path|breaks the rule minLength)"):
        parse({"filesystem.fileExists": {"path": path}})


@pytest.mark.parametrize("path", ["a", "..a", "a..", ".hidden", "a/.git/b", "naïve file.txt", "out/{{customer}}.txt"])
def test_an_odd_but_harmless_path_is_taken(path):
    assert parse({"filesystem.fileExists": {"path": path}}) == Probe("filesystem.fileExists", {"path": path})


@pytest.mark.parametrize("name", ["--upload-pack=x", "-b", "a..b", "main:secret", "@{1}", "a b", "main^"])
def test_a_ref_cannot_be_an_option_or_an_expression(name):
    with pytest.raises(Malformed, match="ref: is not a"):
        parse({"git.fileAbsentAtRef": {"repository": "r", "ref": name, "path": "p"}})


def test_the_place_of_the_whole_document_can_be_given():
    with pytest.raises(Malformed, match=r"^\$\.success_predicate\.all: needs"):
        parse({"all": []}, "$.success_predicate")


def test_nesting_ends_somewhere():
    def nested(levels):
        return EXISTS if levels == 0 else {"not": nested(levels - 1)}

    assert parse(nested(MAX_DEPTH - 1))
    with pytest.raises(Malformed, match=f"deeper than {MAX_DEPTH}"):
        parse(nested(MAX_DEPTH))


def test_no_message_and_no_repr_quotes_a_value():
    secret = "the-vault-is-behind-the-painting"
    wrong = [
        {"filesystem.fileTextEquals": {"path": f"/{secret}", "text": secret}},
        {"filesystem.fileSha256": {"path": "a", "sha256": secret}},
        {"filesystem.directoryHasOnly": {"path": "a", "names": [secret, secret]}},
        {"answer.number": {"value": secret}},
        {"all": secret},
        secret,
    ]
    for document in wrong:
        with pytest.raises(Malformed) as caught:
            parse(document)
        assert secret not in str(caught.value)
    assert secret not in repr(parse({"not": {"answer.contains": {"text": secret}}}))


def test_a_reviewer_reads_sentences():
    document = {"all": [EXISTS, {"not": {"any": [ANSWERED]}}]}
    assert in_words(parse(document)) == (
        "all of these hold:\n"
        '  there is a file at "out/a.txt"\n'
        "  it is not so that\n"
        "    at least one of these holds:\n"
        "      the one number in the answer is 42 (tolerance: 0.5)"
    )


def test_a_predicate_with_placeholders_is_described_and_not_held_against_its_schema():
    unfilled = {"git.commitCount": {"repository": "r", "branch": "{{topic}}", "count": 2}}
    with pytest.raises(Malformed, match="is not a branch or tag name"):
        parse({"all": [unfilled]})
    assert '"{{topic}}"' in in_words(parse({"all": [unfilled]}, filled=False))
    with pytest.raises(Malformed, match="lacks path"):
        parse({"not": {"filesystem.fileExists": {}}}, filled=False)
