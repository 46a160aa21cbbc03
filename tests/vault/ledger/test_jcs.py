"""Tests of the auditor's canonicaliser: the same bytes as the library that the vault uses."""

import json
import math
import re
import struct

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from vault.errors import Malformed
from vault.ledger.statements import jcs

DOUBLES = st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0])
NUMBERS = DOUBLES.filter(math.isfinite) | st.floats(allow_nan=False, allow_infinity=False)
INTEGERS = st.integers(-(2**53) + 1, 2**53 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | INTEGERS | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_it_agrees_with_rfc8785_on_any_value(value):
    assert jcs.canonical(value) == rfc8785.dumps(value)


@given(NUMBERS)
def test_it_agrees_with_rfc8785_on_any_number(number):
    assert jcs.canonical(number) == rfc8785.dumps(number)


# Appendix B of RFC 8785, and the borders at which ECMAScript changes its notation.
@pytest.mark.parametrize(
    ("bits", "written"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555555", "333333333.3333333"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_the_numbers_of_the_rfc(bits, written):
    assert jcs.number(struct.unpack(">d", bytes.fromhex(bits))[0]) == written


def test_keys_are_sorted_by_utf16_code_units_and_not_by_code_points():
    keys = {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\u0080": 6, "\u00f6": 7}
    assert list(json.loads(jcs.canonical(keys)).values()) == [2, 4, 6, 7, 1, 5, 3]


@pytest.mark.parametrize(
    "bad", [math.nan, math.inf, 2**53, -(2**53), "\ud800", {"\udfff": 1}, {1: 2}, b"x", {"a": object()}, 10**400]
)
def test_values_without_a_canonical_form_are_refused(bad):
    with pytest.raises(Malformed):
        jcs.canonical(bad)


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{", b"nul", b"NaN", b"-Infinity", b"1e400", b"9007199254740992", b'{"a":1,"a":2}',
        b'{"a":1,"\\u0061":2}',
        b'"\\ud800"', b"[" * 65 + b"]" * 65, b"[" * 100_000, b"\xff", b"\xef\xbb\xbf{}", b"1" * 5000, b"{} {}",
    ],
)  # fmt: skip
def test_json_that_two_readers_could_read_differently(text):
    with pytest.raises(Malformed) as refusal:
        jcs.parse(text, "the paper")
    assert str(refusal.value).startswith("the paper")


@given(VALUES)
def test_canonical_bytes_come_back(value):
    data = jcs.canonical(value)
    if re.search(rb"(?<![\d.e+-])-?\d{16,}(?![\d.e])", data):
        return  # a large double without a fraction is written as a whole number, which `parse` may refuse
    assert jcs.canonical(jcs.parse_canonical(data)) == data


@pytest.mark.parametrize("text", [b'{"b":1,"a":2}', b'{"a": 1}', b"1.0", b"-0", b"1E2", b'"\\u0061"', b"[1]\n"])
def test_other_bytes_of_the_same_value_are_refused(text):
    jcs.parse(text)
    with pytest.raises(Malformed, match="not canonical"):
        jcs.parse_canonical(text)


def test_a_refusal_quotes_no_value():
    with pytest.raises(Malformed) as refusal:
        jcs.parse(b'{"goal": "the secret", "goal": "the secret"}')
    assert "secret" not in str(refusal.value)
