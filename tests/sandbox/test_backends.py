"""Tests of the servers' backends: started before their server, on demand, and stopped with time to write."""

import json

import pytest

from sandbox.boxes.box import ResourceLimits
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.kinds.common.state_kind import Backend
from sandbox.world import frames
from verifiers.tree import DIRECTORY, FileTree

from ..frozen import content
from ..patience import PATIENCE, until
from .builders import a_server

pytestmark = [pytest.mark.slow, pytest.mark.box]

BOX = BwrapBox()

KEEPER = """
import pathlib, signal, sys, time
def end(*_):
    pathlib.Path("kept").write_text(pathlib.Path("said").read_text() + " and kept")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
pathlib.Path("said").write_text("started")
print("loading", flush=True)
print("ready", flush=True)
print("ready", flush=True)
time.sleep(600)
"""
SERVER = "import pathlib, sys\nfor line in sys.stdin: print(pathlib.Path('said').read_text(), line, end='', flush=True)"


@pytest.fixture
def world():
    made = []

    def make(keeper, **more):
        python = ("/usr/bin/env", "python3", "-I", "-S", "-c")
        server = a_server("kept", *python, SERVER, root="kept", backend=Backend((*python, keeper)), **more)
        made.append(BOX.world([server], FileTree({"kept": DIRECTORY}), ResourceLimits()))
        return made[-1]

    yield make
    for one in made:
        one.close()


def hear(channel):
    """Return the first frame that arrives."""
    reader = frames.FrameReader()
    channel.settimeout(PATIENCE)
    while True:
        for frame in reader.feed(channel.recv(1 << 16)):
            return frame


@pytest.mark.parametrize("on_demand", [True, False])
def test_a_server_starts_when_what_it_stands_on_is_ready_and_hears_what_was_said_before(world, on_demand):
    one = world(KEEPER, on_demand=on_demand)
    with one.channel() as channel:
        channel.sendall(frames.pack(1, b"hello\n"))
        assert hear(channel) == (1, b"started hello\n")


def test_at_the_freeze_it_gets_the_time_to_write_down_what_it_holds(world):
    one = world(KEEPER)
    with one.channel() as channel:
        channel.sendall(frames.pack(1, b"hello\n"))
        hear(channel)
        assert content(one.freeze(PATIENCE))["kept/kept"].data == b"started and kept"


def test_an_unused_backend_has_touched_nothing(world):
    one = world(KEEPER, on_demand=True)
    with one.channel():
        assert sorted(content(one.freeze(PATIENCE))) == ["kept"]


def test_one_that_ends_before_it_is_ready_is_reported_and_so_is_its_server(world):
    one = world("import sys; sys.exit('no room')")
    with one.channel() as channel:
        channel.sendall(frames.pack(1, b"hello\n"))
        assert hear(channel) == (1, b"")
        one.freeze(PATIENCE)
        assert [(end.server, end.code) for end in one.exits] == [("kept", 1)]
        assert "no room" in one.exits[0].stderr


def test_one_that_ends_later_is_reported(world):
    one = world("import pathlib; pathlib.Path('said').write_text('x'); print('ready', flush=True)")
    with one.channel() as channel:
        channel.sendall(frames.pack(1, json.dumps({}).encode() + b"\n"))
        hear(channel)
        until(lambda: one.exits, "its end")  # it still has to end by itself
        one.freeze(PATIENCE)
    assert [end.server for end in one.exits] == ["kept"]


def test_a_backend_that_does_not_stop_is_killed_and_its_state_is_read(world):
    stubborn = KEEPER.replace("signal.signal(signal.SIGTERM, end)", "signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    one = world(stubborn)
    with one.channel() as channel:
        channel.sendall(frames.pack(1, b"hello\n"))
        hear(channel)
        assert sorted(content(one.freeze(PATIENCE))) == ["kept", "kept/said"]
