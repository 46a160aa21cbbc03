"""Tests of the strict JSON parser: values are counted before any is built."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.strict_json import MAX_NODES, nodes, strict_object
from vault.errors import Malformed

MIB = 1 << 20
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


def really(value):
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(really, inside))


@pytest.mark.slow
@given(VALUES, st.booleans())
def test_the_count_is_at_least_the_number_of_values_and_at_most_twice_it(value, ascii_only):
    counted = nodes(json.dumps(value, ensure_ascii=ascii_only).encode())
    assert really(value) <= counted <= 2 * really(value)


@given(st.binary(max_size=200))
def test_any_bytes_can_be_counted(data):
    assert nodes(data) >= 1


@pytest.mark.parametrize(
    "bomb",
    [b"[" * MIB, b"[],".join([b"["] * (MIB // 4)), b'{"a":' * (MIB // 5), b"0," * (MIB // 2), b"{}," * (MIB // 3)],
    ids=["brackets", "lists", "objects", "numbers", "empty"],
)
def test_a_million_values_are_refused_before_one_is_built(bomb):
    with pytest.raises(Malformed, match="holds more than"):
        strict_object(bomb, "the request", max_size=MIB)


@pytest.mark.parametrize("text", [b'"' * MIB, b'\\"' * (MIB // 2), b'"\\' * (MIB // 2), b'"' + b"\\" * MIB])
def test_no_text_takes_longer_than_its_length(text):
    started = time.process_time()
    nodes(text)
    assert time.process_time() - started < 20, "a quadratic count would take an hour"


def test_a_long_text_is_one_value_whatever_is_in_it():
    document = {"content": 'a,[{"' * 20_000}
    assert nodes(json.dumps(document).encode()) == 2
    assert strict_object(json.dumps(document).encode(), "the request", max_size=MIB) == document


def test_a_document_at_the_cap_is_read():
    document = {"a": [0] * (MAX_NODES - 3)}
    assert strict_object(json.dumps(document).encode(), "the request", max_size=MIB) == document


@pytest.mark.parametrize("text", [b'{"a": NaN}', b'{"a": 1, "a": 2}', b"[]", b'{"a": "\\ud800"}', b"{}" + b" " * MIB])
def test_it_is_strict(text):
    with pytest.raises(Malformed):
        strict_object(text, "the request", max_size=MIB)
