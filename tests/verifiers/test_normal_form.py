"""Tests of the normal form as text: one text for one state, and nothing else is parsed."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.errors import Malformed
from verifiers.normal_form import MAGIC, NormalState, decode, encode

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
STATES = st.builds(NormalState, PLAIN.filter(lambda one: one is not None), st.lists(st.binary()).map(tuple))
STATES |= st.builds(NormalState, unreadable=st.text(min_size=1), steps=st.integers(0, 9), bytes=st.integers(0, 9))
STATES |= st.builds(NormalState, missing=st.text(min_size=1))


@given(st.dictionaries(st.text(max_size=5), STATES, max_size=3))
def test_the_parsed_form_equals_the_written_one(states):
    assert decode(encode(states)) == states


@given(st.dictionaries(st.sampled_from("ab"), STATES, min_size=1), st.data())
def test_a_text_that_was_changed_is_another_state_or_refused(states, data):
    text = bytearray(encode(states))
    at = data.draw(st.integers(0, len(text) - 1))
    text[at] ^= 1 << data.draw(st.integers(0, 7))
    with contextlib.suppress(Malformed):
        assert encode(decode(bytes(text))) == bytes(text)


def framed(header, blobs=b""):
    return MAGIC + len(header).to_bytes(8, "big") + header + blobs


SOUND = b'{"a":{"document":1,"unreadable":"","missing":"","steps":0,"bytes":0,"blobs":[1]}}'


@pytest.mark.parametrize(
    "data",
    [
        b"",
        MAGIC,
        framed(b""),
        framed(b"[]"),
        framed(b"[" * 100_000),
        framed(SOUND),
        framed(SOUND, b"xx"),
        framed(SOUND + b" ", b"x"),
        framed(SOUND.replace(b"[1]", b"[-1]")),
        framed(SOUND.replace(b"[1]", b"[true]"), b"x"),
        framed(SOUND.replace(b":1,", b":NaN,"), b"x"),
        framed(SOUND.replace(b":1,", b":1e999,"), b"x"),
        framed(SOUND.replace(b":1,", b":1.0e1,"), b"x"),
        framed(SOUND.replace(b":1,", b":null,"), b"x"),
        framed(SOUND.replace(b'"unreadable":""', b'"unreadable":"x"'), b"x"),
        framed(SOUND.replace(b'"steps":0', b'"steps":0,"steps":0'), b"x"),
        framed(SOUND, b"x")[:-1],
        MAGIC + b"\xff" * 8,
    ],
)
def test_texts_that_no_writer_here_makes_are_refused(data):
    assert decode(framed(SOUND, b"x"))["a"].blobs == (b"x",)
    with pytest.raises(Malformed):
        decode(data)


def test_a_state_that_is_no_plain_json_is_not_written():
    for document in (float("inf"), {1, 2}, b"x"):
        with pytest.raises((TypeError, ValueError)):
            encode({"a": NormalState(document)})
