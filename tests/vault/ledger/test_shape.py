"""Tests of the fast parser of lines: it never accepts what the full one refuses, and gives the same value."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vault.ledger.statements.shape import (
    anything,
    list_of,
    matching,
    natural,
    one_of,
    positive,
    record,
    sha256,
    text,
)

from vault.errors import Malformed
from vault.ledger.release import contents
from vault.ledger.statements.jcs import canonical, parse_canonical
from vault.ledger.statements.statement import KINDS

from ..builders import RESULT_ROW, flips

pytestmark = pytest.mark.slow

LINES = {"result": contents.RESULT_LINE, "run": contents.RUN_LINE, "opening": contents.OPENING_LINE}
STATEMENTS = {kind: shape for kind, (_, _, shape) in KINDS.items() if shape.written is not None}
SHAPES = LINES | STATEMENTS
RESULT = {
    "position": 3,
    "proof": ["ab" * 32, "cd" * 32],
    "result": RESULT_ROW,
    "run": 1,
    "salt": "ef" * 32,
}


def the_long_way(shape, data):
    value = parse_canonical(data, "it")
    shape(value, "it")
    return value


def test_most_shapes_have_a_short_way():
    assert {"result", "run", "opening", "commit", "run-open", "score", "retire"} <= {
        name for name, shape in SHAPES.items() if shape.written
    }


@pytest.mark.parametrize("name", SHAPES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_every_matching_line_is_canonical_and_of_the_shape(name, data):
    shape = SHAPES[name]
    line = data.draw(st.from_regex(shape.written.encode(), fullmatch=True))
    assert shape.parse(line, "it") == the_long_way(shape, line)


def test_a_changed_line_is_read_as_the_long_way_reads_it_or_refused_with_its_sentence():
    line, draw = canonical(RESULT), random.Random(8785)
    assert contents.RESULT_LINE.parse(line, "it") == RESULT
    more = [bytearray(line) for _ in range(3_000)]
    for changed in more:
        place = draw.randrange(len(line))
        changed[place : place + draw.randint(0, 2)] = bytes(
            draw.choice(b'{}[],:"0189-.eE\\u tfn\xff') for _ in range(2)
        )
    for changed in [*flips(line), *map(bytes, more)]:
        assert outcome(contents.RESULT_LINE.parse, changed, "it") == outcome(
            the_long_way, contents.RESULT_LINE, changed
        )


def outcome(read, *arguments):
    try:
        return json.dumps(read(*arguments))
    except Malformed as error:
        return str(error)


@pytest.mark.parametrize(
    ("shape", "line", "value"),
    [
        (record(a=natural), b'{"a":9007199254740991}', {"a": 2**53 - 1}),
        (record(a=text), '{"a":"é"}'.encode(), {"a": "é"}),
        (record(a=text), b'{"a":"\\"\\\\"}', {"a": '"\\'}),
        (record({"a": natural}, b=natural), b'{"a":1,"b":2}', {"a": 1, "b": 2}),
        (record({"b": anything}, a=natural), b'{"a":1,"b":{"c":1.5}}', {"a": 1, "b": {"c": 1.5}}),
        (list_of(one_of("é")), '["é"]'.encode(), ["é"]),
    ],
)
def test_lines_that_the_pattern_leaves_out_are_valid_too(shape, line, value):
    assert shape.parse(line, "it") == value


@pytest.mark.parametrize(
    "line",
    [
        b'{"b":1,"a":1}',
        b'{"a":1,"a":1,"b":1}',
        b'{"a":01,"b":1}',
        b'{"a":1.0,"b":1}',
        b'{"a":-0,"b":1}',
        b'{"a":1, "b":1}',
        b'{"a":1,"b":1}\n',
        b'{"a":1,"b":1}}',
    ],
)
def test_other_bytes_for_the_same_are_refused(line):
    with pytest.raises(Malformed):
        record(a=natural, b=natural).parse(line, "it")


def test_a_pattern_that_could_leave_its_text_has_no_short_way():
    assert matching(r"[^+]+", "anything without a plus sign").written is None
    assert record(a=matching(r"[^+]+", "so"), b=sha256).written is None


@pytest.mark.parametrize("shape", [natural, positive])
@pytest.mark.parametrize("value", [True, 1.0, "1", None])
def test_what_equals_a_whole_number_in_python_is_none(shape, value):
    with pytest.raises(Malformed, match="must be a whole number"):
        shape(value, "$.size")
