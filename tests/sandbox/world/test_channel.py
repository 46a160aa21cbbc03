"""Tests of the runner's end of a channel, against a hostile world and a hostile gateway."""

import contextlib
import io
import json
import socket
import threading
import time

import pytest

from sandbox.errors import Lost, Malformed
from sandbox.world import channel as channels
from sandbox.world import frames
from sandbox.world.channel import WorldChannel
from sandbox.world.frozen import FrozenState
from verifiers.formats.archive import tree_from_tar
from verifiers.tree import DIRECTORY, FileTree, Node

from ...patience import PATIENCE

SEED = FileTree({"files": DIRECTORY, "files/a.txt": Node("file", data=b"private words")})
SERVERS = [{"name": "one", "command": ["/one"], "environment": {}, "cwd": "/data/files"}]


class World:
    """The far end of a channel, played by a test."""

    def __init__(self):
        self.end, theirs = socket.socketpair()
        self.end.settimeout(PATIENCE)
        self.reader, self.waiting = frames.FrameReader(), []
        self.channel = WorldChannel(theirs, token="the token")
        self.channel.open(SERVERS, SEED, "/data")

    def hear(self):
        while not self.waiting:
            data = self.end.recv(65536)
            if not data:
                raise EOFError
            self.waiting += self.reader.feed(data)
        return self.waiting.pop(0)

    def hear_start(self):
        """Receive the start message and the seed."""
        message = json.loads(self.hear()[1])
        tar = b""
        while payload := self.hear()[1]:
            tar += payload
        return message, tar

    def tell(self, **message):
        self.end.sendall(frames.pack(0, json.dumps(message).encode()))

    def give(self, state, **report):
        """Answer a freeze."""
        for at in range(0, len(state), 65536):
            self.end.sendall(frames.pack(64, state[at : at + 65536]))
        self.tell(frozen=report)
        self.end.sendall(frames.pack(64, b""))


@pytest.fixture
def world():
    made = World()
    yield made
    made.channel.close()
    made.end.close()


@contextlib.contextmanager
def freezing(world, timeout=PATIENCE, **how):
    """Freeze in a thread, and give where its end will be stored."""
    end = []

    def freeze():
        try:
            end.append(world.channel.freeze(timeout, **how))
        except Exception as error:
            end.append(error)

    thread = threading.Thread(target=freeze)
    thread.start()
    try:
        yield end
    finally:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_the_start_message_and_the_seed_come_first(world):
    message, tar = world.hear_start()
    assert message == {"start": {"token": "the token", "servers": SERVERS, "data": "/data"}}
    assert dict(tree_from_tar(io.BytesIO(tar))) == dict(SEED)


def test_a_token_is_made_anew_and_is_in_no_repr():
    tokens = set()
    for _ in range(2):
        ours, theirs = socket.socketpair()
        with ours, contextlib.closing(WorldChannel(theirs)) as channel:
            channel.open([], FileTree({}), "/data")
            ours.settimeout(PATIENCE)
            [(_, start), *_] = frames.FrameReader().feed(ours.recv(65536))
            token = json.loads(start)["start"]["token"]
            assert token not in repr(channel)
            tokens.add(token)
    assert len(tokens) == 2
    assert all(len(token) >= 32 for token in tokens)


def test_bytes_of_servers_pass_both_ways(world):
    world.hear_start()
    with world.channel.gateway_end() as gateway:
        gateway.settimeout(PATIENCE)
        gateway.sendall(frames.pack(1, b"ask"))
        assert world.hear() == (1, b"ask")
        world.end.sendall(frames.pack(1, b"answer"))
        assert frames.FrameReader().feed(gateway.recv(100)) == [(1, b"answer")]


def test_only_the_servers_channels_of_a_gateway_pass(world):
    world.hear_start()
    with world.channel.gateway_end() as gateway:
        for number in (0, 64, 65, 255):
            gateway.sendall(frames.pack(number, b'{"freeze": "the token"}'))
        gateway.sendall(frames.pack(63, b"through"))
        assert world.hear() == (63, b"through")


def test_only_the_servers_channels_of_a_world_pass(world):
    world.hear_start()
    with world.channel.gateway_end() as gateway:
        gateway.settimeout(PATIENCE)
        world.tell(started=1)
        world.tell(exited={"server": "one", "code": -11, "stderr": "words"})
        for number in (64, 65, 255):
            world.end.sendall(frames.pack(number, b"state"))
        world.end.sendall(frames.pack(2, b"through"))
        assert frames.FrameReader().feed(gateway.recv(1000)) == [(2, b"through")]
    assert world.channel.started(60)
    assert [(end.server, end.code) for end in world.channel.exits] == [("one", -11)]
    assert "words" not in repr(world.channel.exits)


def test_a_frozen_state_is_handed_over_as_it_came(world):
    world.hear_start()
    with freezing(world) as end:
        assert world.hear() == (0, b'{"freeze": "the token"}')
        world.give(SEED.to_tar(), entries=2, bytes=13)
    assert end[0].tar == SEED.to_tar()


def test_a_kept_world_goes_on_with_other_data_and_the_same_token(world):
    world.hear_start()
    with freezing(world, keep=True) as end:
        assert json.loads(world.hear()[1]) == {"freeze": "the token", "keep": True}
        world.give(SEED.to_tar())
    assert end[0].tar == SEED.to_tar()
    other = FileTree({"files": DIRECTORY, "files/b.txt": Node("file", data=b"others")})
    world.channel = world.channel.renewed(other)
    message, tar = world.hear_start()
    assert message == {"renew": "the token"}
    assert dict(tree_from_tar(io.BytesIO(tar))) == dict(other)
    with world.channel.gateway_end() as gateway:
        gateway.sendall(frames.pack(1, b"ask"))
        assert world.hear() == (1, b"ask")
    with freezing(world) as end:
        assert world.hear() == (0, b'{"freeze": "the token"}')
        world.give(other.to_tar())
    assert end[0].tar == other.to_tar()
    with pytest.raises(EOFError):
        world.hear()


def test_output_of_servers_during_a_freeze_is_dropped(world):
    world.hear_start()
    with world.channel.gateway_end() as gateway:
        with freezing(world) as end:
            world.hear()
            world.end.sendall(frames.pack(1, b"too late"))
            world.give(SEED.to_tar())
        gateway.settimeout(PATIENCE)
        assert gateway.recv(100) == b""
    assert isinstance(end[0], FrozenState)


def test_a_world_that_does_not_answer_is_lost_in_time(world):
    world.hear_start()
    begun = time.monotonic()
    with pytest.raises(Lost, match=r"within 0\.3 s"):
        world.channel.freeze(0.3)
    assert time.monotonic() - begun < 60


def test_a_world_that_reads_nothing_is_lost_in_time():
    ours, theirs = socket.socketpair()
    channel = WorldChannel(theirs)
    channel.open(SERVERS, FileTree({"big": Node("file", data=bytes(20 << 20))}), "/data")
    with ours, pytest.raises(Lost):
        channel.freeze(0.3)


@pytest.mark.parametrize("when", ["before", "between", "within"])
def test_a_world_whose_stream_ends_is_lost_at_once(world, when):
    world.hear_start()
    if when == "before":
        world.end.close()
        with pytest.raises(Lost, match="cut off"):
            world.channel.freeze(PATIENCE)
        return
    begun = time.monotonic()
    with freezing(world) as end:
        world.hear()
        tar = SEED.to_tar()
        world.end.sendall(frames.pack(64, tar) if when == "between" else frames.pack(64, tar)[:100])
        world.end.close()
    assert isinstance(end[0], Lost)
    assert time.monotonic() - begun < 100


@pytest.mark.parametrize(
    "rubbish",
    [
        b"\x00\xff\xff\xff\xff",
        frames.pack(0, b"no json"),
        frames.pack(0, b"[1, 2]"),
        frames.pack(0, b"[" * 16000),
        frames.pack(0, b'{"started": "' + b"x" * 20_000 + b'"}'),
        frames.pack(0, b'{"failed": "KeyError"}'),
        frames.pack(0, b'{"exited": {"code": "x"}}'),
    ],
)
def test_an_init_that_talks_rubbish_is_lost(world, rubbish):
    world.hear_start()
    world.end.sendall(rubbish)
    with pytest.raises(Lost):
        world.channel.freeze(PATIENCE)


def test_exits_beyond_any_number_of_servers_are_not_kept(world):
    world.hear_start()
    for number in range(500):
        world.tell(exited={"server": f"s{number}", "code": 1, "stderr": ""})
    world.tell(started=1)
    assert world.channel.started(60)
    assert len(world.channel.exits) == frames.LAST_SERVER


def test_a_state_without_end_is_cut_at_the_cap_and_refused(world, monkeypatch):
    monkeypatch.setattr(channels, "MAX_TAR", 1 << 20)
    world.hear_start()
    with freezing(world) as end:
        world.hear()
        with contextlib.suppress(OSError):
            for _ in range(100):
                world.end.sendall(frames.pack(64, bytes(1 << 16)))
    assert isinstance(end[0], Malformed)


def test_a_state_that_says_it_is_too_large_is_refused(world):
    world.hear_start()
    with freezing(world) as end:
        world.hear()
        world.give(b"", error="20000 entries")
    assert isinstance(end[0], Malformed)


def push(sock, data):
    with contextlib.suppress(OSError):
        sock.sendall(data)


@pytest.mark.slow
def test_a_gateway_that_floods_waits_and_the_freeze_comes_through(world):
    world.hear_start()
    with world.channel.gateway_end() as gateway:
        flood = frames.pack(1, bytes(1 << 16)) * (8 << 4)
        sender = threading.Thread(target=push, args=(gateway, flood))
        sender.start()
        with freezing(world) as end:
            assert sender.is_alive(), "eight megabytes are not read ahead of a world that reads nothing"
            while world.hear() != (0, b'{"freeze": "the token"}'):
                pass
            world.give(SEED.to_tar())
        sender.join(PATIENCE)
    assert isinstance(end[0], FrozenState)


@pytest.mark.slow
def test_an_idle_channel_uses_no_time(world):
    world.hear_start()
    with world.channel.gateway_end() as gateway:
        gateway.shutdown(socket.SHUT_RDWR)
        time.sleep(0.1)
        before = time.process_time()
        time.sleep(0.5)
        assert time.process_time() - before < 0.2


def test_more_servers_than_channels_are_refused():
    ours, theirs = socket.socketpair()
    with ours, contextlib.closing(WorldChannel(theirs)) as channel, pytest.raises(Malformed, match="63"):
        channel.open(SERVERS * 64, SEED, "/data")
