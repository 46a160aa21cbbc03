"""Tests of captured output: capped, drained to its end, and escaped for terminals."""

import io
import threading

import pytest

from sandbox.boxes.output import CUT, CappedOutput, printable

from ...patience import PATIENCE


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain\nwords \xc3\xa9\n", "plain\nwords é\n"),
        (b"\x1b[2J\x07\r\t", "\\x1b[2J\\x07\\r\\t"),
        (b"\xff\xfe", "\\xff\\xfe"),
        ("a\u202eb\u200bc\u2028".encode(), "a\\u202eb\\u200bc\\u2028"),
        (b"\x00", "\\x00"),
    ],
)
def test_control_and_invisible_characters_are_escaped(data, text):
    assert printable(data) == text


def test_the_first_bytes_are_kept_and_the_rest_is_drained():
    source = io.BytesIO(b"abc" * 100_000)
    output = CappedOutput(source, 4)
    output.close()
    assert output.text() == "abca" + CUT
    assert source.closed


def test_the_end_is_reported_also_where_reading_fails():
    class Broken:
        def read(self, size, /):
            raise OSError

        def close(self):
            pass

    ended = threading.Event()
    output = CappedOutput(Broken(), 10, ended)
    assert ended.wait(PATIENCE)
    assert output.text() == ""
    assert threading.active_count() < 50
