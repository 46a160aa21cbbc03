"""Tests of the frames of a channel: any cut of the stream gives the same frames, and the size is limited."""

import runpy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.errors import Malformed
from sandbox.world import frames
from sandbox.world.frames import HEADER, MAX_PAYLOAD, FrameReader, pack

FRAMES = st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=300)), max_size=12)


def test_a_frame_is_channel_length_payload():
    assert pack(3, b"hello") == b"\x03\x00\x00\x00\x05hello"
    assert pack(64, b"") == b"\x40\x00\x00\x00\x00"


@given(FRAMES, st.lists(st.integers(1, 40), max_size=30))
def test_frames_come_out_as_they_went_in_however_the_stream_is_cut(sent, cuts):
    stream, reader, out = b"".join(pack(*frame) for frame in sent), FrameReader(), []
    for cut in cuts:
        out += reader.feed(stream[:cut])
        stream = stream[cut:]
    assert out + reader.feed(stream) == sent


def test_a_frame_that_announces_too_much_ends_the_stream():
    with pytest.raises(Malformed, match="channel 7"):
        FrameReader().feed(HEADER.pack(7, MAX_PAYLOAD + 1))


def test_the_largest_frame_is_whole_and_a_larger_one_is_not_made():
    assert FrameReader().feed(pack(1, b"x" * MAX_PAYLOAD)) == [(1, b"x" * MAX_PAYLOAD)]
    with pytest.raises(Malformed, match="several"):
        pack(1, b"x" * (MAX_PAYLOAD + 1))


def test_the_worlds_own_copy_of_the_format_is_the_same():
    path = Path(frames.__file__).parents[1] / "images" / "world" / "init.py"
    init = runpy.run_path(str(path), run_name="init")
    assert (init["HEADER"].format, init["MAX_PAYLOAD"]) == (HEADER.format, MAX_PAYLOAD)
    assert (init["CONTROL"], init["STATE"]) == (frames.CONTROL, frames.STATE)
    assert init["pack"](5, b"abc") == pack(5, b"abc")
