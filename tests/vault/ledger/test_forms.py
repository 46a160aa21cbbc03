"""Tests of forms: what each of them takes, and the path that an error names."""

import json
import random
import re
from collections.abc import Iterator

import pytest
from jsonschema import Draft202012Validator

from freezing.statement_schemas import schema_of
from vault.errors import Malformed
from vault.ledger.release.contents import FORMS
from vault.ledger.statements.forms import BASIC, PATTERNS, TEXT_LIMIT, Form, json_pattern, require_form
from vault.ledger.statements.jcs import parse_canonical
from vault.ledger.statements.statement import statement_form

from ...browser.releases import leaves_of
from ..builders import RELEASE, VECTORS

VKEY = "bench.example/log+1cab3be0+AVVsvbxgiAide9osY6wMSOOdZ8lCOppdB9F896LMlzR0"
CASES = {  # form: (values that have it, values that have not)
    "hash": (["0f" * 32], ["0F" * 32, "0f" * 31, "0f" * 32 + "0"]),
    "month": (["2026-12", "0000-01"], ["2026-13", "2026-00", "2026-1", "26-12", "٢026-12"]),
    "cohort": (["cohort-2026-12"], ["2026-12", "cohort-2026-13", "Cohort-2026-12"]),
    "task": (["t-" + "a2" * 8], ["t-" + "a" * 15, "t-" + "a1" * 8, "T-" + "a2" * 8]),
    "run": (["run/1", "run/20"], ["run/0", "run/01", "run/", "run/1a"]),
    "set": (["set/2026-12"], ["set/2026-13", "2026-12"]),
    "release": (["Historical-2026-12"], ["historical-2026-12", "Historical-2026"]),
    "guid": (["6f1f7d7e-0f5a-4d0e-9a51-2f6f4d7a9c11"], ["6F1F7D7E-0f5a-4d0e-9a51-2f6f4d7a9c11", "6f1f7d7e"]),
    "version": (["1.0.0", "0.10.999999999"], ["1.0", "01.0.0", "1.0.0.0", "1.0.1000000000"]),
    "fraction": (["0/1", "7/12", "1/" + "9" * 500], ["7", "07/12", "7/0", "-7/12", "1/" + "9" * 501]),
    "stratum": (["git/recovery/hard"], ["git/recovery", "git/recovery/hard2", "Git/recovery/hard", "//"]),
    "server": (["git", "a-1"], ["", "Git", "a_b", "a" * 65]),
    "lifetime": (["P4M", "P52W", "P999Y"], ["P0M", "P4D", "P04M", "4M", "P1000M"]),
    "word": (["docker", "2-a"], ["", "-a", "Docker", "a b", "a" * 65]),
    "tag": (["0", "f" * 128], ["", "g", "f" * 129]),
    "vkey": ([VKEY], ["bench.example/log", VKEY.replace("+1cab3be0", "+1CAB3BE0"), "a b+1cab3be0+AA=="]),
    "signature": (["A" * 85 + "A=="], ["A" * 86, "A" * 85 + "B==", "-" * 85 + "A=="]),
    "text": (["x", "é" * TEXT_LIMIT], ["", "x" * (TEXT_LIMIT + 1), 1, None]),
    "string": (["", "x" * 2000], [1, None, []]),
    "boolean": ([True, False], [1, 0, "true", None]),
    "natural": ([0, 2**53 - 1], [-1, 1.5, True, "1", None]),
    "positive": ([1, 2**53 - 1], [0, -1, 1.5, True, "1", None]),
    "object": ([{}, {"a": [1]}], [[], "x", None]),
    "=yes,no": (["yes", "no"], ["", "yes,no", "maybe", 1, None, ["yes"]]),
    "natural|null": ([0, None], [-1, "null", ""]),
    "task|null": (["t-" + "a2" * 8, None], ["null", ""]),
}
NESTED = {"a": "natural", "b?": ["hash"], "c": [{"d": "text"}, None]}


def has_form(form, value):
    try:
        require_form(form, value, "$")
    except Malformed:
        return False
    return True


def test_each_form_has_its_cases():
    assert {*PATTERNS, *BASIC} <= CASES.keys()


@pytest.mark.parametrize("form", CASES)
def test_form_and_schema_take_the_same(form):
    schema = Draft202012Validator(schema_of(form))
    for expected, values in zip((True, False), CASES[form], strict=True):
        for value in values:
            assert has_form(form, value) is expected, value
            assert schema.is_valid(value) is expected, value


@pytest.mark.parametrize("form", [form for form in CASES if form in PATTERNS])
def test_nothing_may_stand_around_a_pattern(form):
    for value in CASES[form][0]:
        for other in (f"{value}\n", f" {value}", f"\n{value}", [value], None, 1):
            assert not has_form(form, other), other


def test_a_whole_number_in_another_type_is_none():
    assert not has_form("natural", 1.0)  # JSON Schema takes it; canonical JSON has no such bytes


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "$ must be an object"),
        ({"c": None}, "$.a is missing"),
        ({"a": -1, "c": None}, "$.a must be a whole number, zero or more"),
        ({"a": 1}, "$.c is missing"),
        ({"a": 1, "c": []}, "$.c must be an object"),
        ({"a": 1, "c": {"d": ""}}, "$.c.d must be text of 1 to 1024 characters"),
        ({"a": 1, "c": {}}, "$.c.d is missing"),
        ({"a": 1, "b": None, "c": None}, "$.b must be a list"),
        ({"a": 1, "b": ["0f" * 32, "x"], "c": None}, "$.b[1] must be 64 lower-case hexadecimal digits"),
        ({"a": 1, "c": None, "z": 1, "d": 1}, "$: 'd' is not a key of this format"),
        ({"a": 1, "c": None, "b?": ["0f" * 32]}, "$: 'b?' is not a key of this format"),
        ({"a": 1, "c": None, "y" * 999: 1}, f"$: '{'y' * 60}' is not a key of this format"),
    ],
)
def test_an_error_names_the_first_part_that_is_wrong(value, words):
    with pytest.raises(Malformed) as caught:
        require_form(NESTED, value, "$")
    assert str(caught.value) == words
    assert caught.value.evidence.where == words.split(" must be")[0].split(" is missing")[0].split(": '")[0]
    assert not Draft202012Validator(schema_of(NESTED)).is_valid(value)


@pytest.mark.parametrize("value", [{"a": 0, "c": None}, {"a": 0, "b": [], "c": {"d": "x"}}])
def test_optional_members_may_be_missing_and_null_stands_where_it_may(value):
    require_form(NESTED, value, "$")
    assert Draft202012Validator(schema_of(NESTED)).is_valid(value)


def test_free_names_are_of_their_pattern():
    form = {"*server": ["natural"]}
    for value in ({}, {"git": []}, {"git": [1], "files": [2]}):
        require_form(form, value, "$.reserve")
        assert Draft202012Validator(schema_of(form)).is_valid(value)
    for value, words in (
        ({"Git": []}, "a key of $.reserve must be a server's name"),
        ({"git": [1, -1]}, "$.reserve.git[1] must be a whole number, zero or more"),
        ({"*server": []}, "a key of $.reserve must be a server's name"),
    ):
        with pytest.raises(Malformed) as caught:
            require_form(form, value, "$.reserve")
        assert str(caught.value) == words
        assert not Draft202012Validator(schema_of(form)).is_valid(value)


def _lines() -> Iterator[tuple[Form, bytes]]:
    """Return the lines and leaves of good releases with their forms."""
    for release in sorted(VECTORS.glob(f"*/{RELEASE}")):
        for name in sorted(FORMS.keys() & {path.name for path in release.iterdir()}):
            yield from ((FORMS[name], line) for line in (release / name).read_bytes().splitlines())
        for leaf in leaves_of(release):
            yield statement_form(json.loads(leaf)["predicateType"].split(":")[2]), leaf


def test_a_line_that_matches_the_pattern_of_its_form_is_canonical_and_of_the_form():
    draw, matching = random.Random(8785), 0
    alphabet = b'0123456789abcdef"\\{}[],:.-+eE /truefalsn\x00\x7f\xc3\xa9'
    for form, line in _lines():
        pattern = re.compile(json_pattern(form).encode())
        changed = [line]
        for _ in range(40):
            at, count = draw.randrange(len(line)), draw.choice([0, 1, 1, 2])
            changed.append(line[:at] + bytes(draw.choices(alphabet, k=draw.choice([0, 1, 1, 2]))) + line[at + count :])
        for text in changed:
            if pattern.fullmatch(text):
                matching += text != line
                require_form(form, value := parse_canonical(text), "$")
                assert value == json.loads(text)
    assert matching > 100, "also of the changed lines some match"


@pytest.mark.parametrize("name", ["results.jsonl", "runs.jsonl"])
def test_the_lines_that_a_release_has_many_of_match_the_pattern(name):
    lines = (VECTORS / "good" / RELEASE / name).read_bytes().splitlines()
    assert all(re.fullmatch(json_pattern(FORMS[name]).encode(), line) for line in lines)


@pytest.mark.parametrize("text", [b'"a\\u0041"', '"\xe9"'.encode(), b'"a\n"', b'"a"b"', b'" '])
def test_a_text_with_anything_but_plain_letters_matches_no_pattern(text):
    assert not re.fullmatch(json_pattern("text").encode(), text)


@pytest.mark.parametrize("number", [b"01", b"-0", b"1.0", b"1e3", b"9007199254740993", b"-1", b""])
def test_a_number_in_other_digits_matches_no_pattern(number):
    assert not re.fullmatch(json_pattern("natural").encode(), number)
