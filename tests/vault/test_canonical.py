"""Tests of canonical JSON: no two readers understand a document differently, and a refusal quotes nothing."""

import hashlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.canonical import MAX_INTEGER, MAX_SIZE, canonical, digest, json_path, parse, parse_object
from vault.errors import Malformed

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers(-MAX_INTEGER, MAX_INTEGER) | st.floats(-1e15, 1e15) | st.floats(1e21, 1e300)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


def test_the_sample_of_rfc_8785_comes_out_as_printed_there():
    source = (
        rb'{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],'
        rb'"string":"\u20ac$\u000F\u000aA' + rb"'\u0042\u0022\u005c\\\"\/" + rb'","literals":[null,true,false]}'
    )
    expected = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical(parse(source)) == expected.encode()


@given(VALUES)
def test_written_documents_are_read_back_and_written_the_same(value):
    written = canonical(value)
    assert parse(written) == value
    assert canonical(parse(written)) == written


REFUSED = {
    "a key twice": (b'{"a": {"b": 1, "c": 2, "b": 3}}', "$.a", "twice"),
    "a key twice in an escape": (b'[{"b": 1, "\\u0062": 3}]', "$[0]", "twice"),
    "NaN": (b'{"a": [1, NaN]}', "$.a[1]", "NaN"),
    "Infinity": (b"[-Infinity]", "$[0]", "Infinity"),
    "a float that overflows": (b'{"a b": 1e999}', '$["a b"]', "finite"),
    "an integer that a double rounds": (b"[9007199254740993]", "$[0]", "2^53"),
    "an integer of a megabyte": (b"[" + b"9" * 10_000 + b"]", "$[0]", "2^53"),
    "a float that would come back as such an integer": (b"[1e20]", "$[0]", "2^53"),
    "a lone surrogate": (b'{"x": ["\\ud800"]}', "$.x[0]", "surrogate"),
    "a lone surrogate in a key": (b'{"\\udfff": 1}', '$["\\udfff"]', "surrogate"),
    "one level too deep": (b"[" * 65 + b"]" * 65, "$" + "[0]" * 64, "64 levels"),
}


def test_a_digest_is_that_of_the_canonical_bytes():
    assert digest({"b": 1, "a": [2.0]}) == hashlib.sha256(b'{"a":[2],"b":1}').hexdigest()
    with pytest.raises(Malformed, match="the task"):
        digest({"a": math.nan}, "the task")


@pytest.mark.parametrize("name", REFUSED)
def test_ambiguous_documents_are_refused_at_their_place(name):
    data, place, reason = REFUSED[name]
    with pytest.raises(Malformed) as refusal:
        parse(data, "the grammar")
    assert str(refusal.value).startswith(f"the grammar is malformed at {place}: ")
    assert reason in str(refusal.value)


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (b'{"a": 1,}', "line 1, column [89]"),  # Python 3.13 names the comma
        (b"{'a': 1}", "line 1, column 2"),
        (b'{"a":\n 1} x', "line 2, column 5"),
        (b'["\x01"]', "line 1"),
        (b"", "line 1"),
        (b'["\xff"]', "byte 2 is not UTF-8"),
        (b"\xef\xbb\xbf[]", "BOM"),
        ("[]".encode("utf-16"), "UTF-8"),
        (b"[" * 200_000, "64 levels"),
    ],
)
def test_invalid_json_is_refused_with_line_and_column(data, hint):
    with pytest.raises(Malformed, match=hint):
        parse(data)


def test_sixty_four_levels_and_the_largest_size_are_still_read():
    assert parse(b"[" * 64 + b"]" * 64)
    assert parse(b'"' + b"x" * (MAX_SIZE - 2) + b'"')
    with pytest.raises(Malformed, match="262145 bytes; 262144 are allowed"):
        parse(b'"' + b"x" * (MAX_SIZE - 1) + b'"')


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"a": [math.nan]}, "$.a[0]"),
        ({"a": {"b": b"bytes"}}, "$.a.b"),
        ([{1: 2}], "$[0]"),
        ({"a": {1, 2}}, "$.a"),
        (["\ud800"], "$[0]"),
        ([2**60], "$[0]"),
    ],
)
def test_a_value_without_a_canonical_form_is_refused_at_its_place(value, place):
    with pytest.raises(Malformed) as refusal:
        canonical(value, "the provenance")
    assert str(refusal.value).startswith(f"the provenance is malformed at {place}: ")


@given(st.sampled_from([b'{"goal": "%s", "x": NaN}', b'{"goal": "%s" "x"}', b'["%s", "%s", 1e999]']))
def test_no_refusal_quotes_a_value_nor_carries_the_document_along(shape):
    with pytest.raises(Malformed) as refusal:
        parse(shape.replace(b"%s", b"a heron by the weir"))
    error: BaseException | None = refusal.value
    assert error.__context__ is None
    assert error.__cause__ is None
    assert "heron" not in repr(error)


def test_an_object_is_asked_for_where_one_is_needed():
    assert parse_object(b'{"a": 1}') == {"a": 1}
    with pytest.raises(Malformed, match="must be a JSON object at"):
        parse_object(b"[]", "the task")


def test_many_keys_one_of_them_twice_are_refused_without_delay():
    keys = ",".join(f'"{n}":0' for n in range(20_000))
    with pytest.raises(Malformed, match="twice"):
        parse(f'{{{keys},"19999":1}}'.encode())


def test_a_path_shows_odd_keys_quoted_and_long_ones_cut():
    assert json_path(["a", 0, "b c", "d.e"]) == '$.a[0]["b c"]["d.e"]'
    assert len(json_path(["x" * 5000])) < 100
