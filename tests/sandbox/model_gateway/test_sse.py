"""Tests of server-sent events: the same however the stream is cut, and never held without limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.errors import Malformed
from sandbox.model_gateway.formats import sse
from sandbox.model_gateway.formats.sse import MAX_LINE, Parser

STREAM = (
    b': hello\r\n\r\nevent: a\ndata: {"n": 1}\n\nretry: 5\nid: 7\ndata: one\ndata:two\r\rdata: \xc3\xa9\r\n\r\ndata'
)
EVENTS = [b'{"n": 1}', b"one\ntwo", "é".encode()]


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_a_stream_reads_the_same_wherever_it_is_cut(cuts):
    parser, found, last = Parser(), [], 0
    for cut in [*sorted(cuts), len(STREAM)]:
        found += parser.feed(STREAM[last:cut])
        last = cut
    assert found == EVENTS


def feed(chunk):
    parser = Parser()
    for _ in range(MAX_LINE // 65536 + 2):
        list(parser.feed(chunk))


@pytest.mark.slow
def test_a_line_without_end_is_given_up():
    with pytest.raises(Malformed, match="a line of more than"):
        feed(b"x" * 65536)


def test_an_event_without_end_is_given_up():
    with pytest.raises(Malformed, match="an event of more than"):
        feed(b"data: " + b"x" * 65536 + b"\n")


def test_any_event_is_written_as_one_line():
    text = sse.event({"said": "a\r\n\r\nevent: b\ndata: c\u2028\x85"}, "message")
    assert text.count("\n") == 3
    assert text.isascii()
    assert list(Parser().feed(text.encode()))
