"""Tests of a world's server that writes hostile bytes: only that server is lost."""

import asyncio
import contextlib
import json
import socket

import anyio
import pytest

from sandbox.gateway.upstream import MAX_LINE, MAX_QUEUED, WorldServers
from sandbox.strict_json import MAX_NODES
from sandbox.world import frames

from ...patience import PATIENCE

pytestmark = pytest.mark.slow

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
GOOD = {"content": [{"type": "text", "text": "well"}]}
NAMES = ("filesystem", "git")


def line(message):
    return json.dumps(message).encode() + b"\n"


def result(number, value):
    return line({"jsonrpc": "2.0", "id": number, "result": value})


async def world(end, answer):
    """Stand in for two servers: the second answers well, the first as `answer` says for a request's number."""
    reader, writer = await asyncio.open_connection(sock=end)
    cutter = frames.FrameReader()
    with contextlib.closing(writer), contextlib.suppress(OSError):
        while data := await reader.read(65536):
            for channel, payload in cutter.feed(data):
                message = json.loads(payload)
                if message.get("method") == "initialize":
                    said = result(message["id"], HELLO)
                elif "id" in message:
                    said = answer(message["id"]) if channel == 1 else result(message["id"], GOOD)
                else:
                    continue
                for start in range(0, len(said), 60_000):
                    writer.write(frames.pack(channel, said[start : start + 60_000]))
                    await writer.drain()


def called(answer, seconds=PATIENCE, log=None, call_seconds=PATIENCE):
    """Call both servers, the first for `seconds` at most, and give their replies and the log."""
    log = [] if log is None else log

    async def run():
        ours, theirs = socket.socketpair()
        upstream = WorldServers(NAMES, ours, log.append, call_seconds)
        replies = []
        async with anyio.create_task_group() as group:
            group.start_soon(world, theirs, answer)
            group.start_soon(upstream.run)
            for name, limit in zip(NAMES, (seconds, PATIENCE), strict=True):
                with anyio.fail_after(PATIENCE):
                    replies.append(await upstream.call(name, "x", {}, limit))
            group.cancel_scope.cancel()
        await asyncio.sleep(0)  # transports close themselves in the next turn
        return replies

    return asyncio.run(run()), [entry["lost"] for entry in log if "lost" in entry]


NOTICE = line({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}})


@pytest.mark.parametrize(
    "answer",
    [
        lambda _: NOTICE * (MAX_QUEUED * 20),
        lambda _: b"\n".join([b"{" * 100_000] * 30) + b"\n",
        lambda number: result(number, {**GOOD, "_meta": {"x": [0] * (2 * MAX_NODES)}}),
        lambda number: result(number, {**GOOD, "structuredContent": {str(n): {} for n in range(MAX_NODES)}}),
        lambda _: b"x" * (MAX_LINE + 1),
        lambda _: b"",
    ],
    ids=["notices", "brackets", "values", "objects", "one long line", "silence"],
)
def test_a_server_that_floods_is_an_error_and_the_next_one_answers(answer):
    (first, second), lost = called(answer, seconds=0.5)
    assert (first.is_error, second.is_error, second.text()) == (True, False, "well")
    assert lost in ([], ["filesystem"])


def test_a_server_that_does_not_answer_in_time_is_late_and_not_known_to_be_lost():
    log = []
    (first, _), lost = called(lambda _: b"", seconds=0.2, call_seconds=0.2, log=log)
    assert (first.is_error, "in time" in first.text(), lost) == (True, True, [])
    assert {"late": NAMES[0]} in log


def test_a_server_that_writes_too_much_is_lost():
    for flood in (b"x" * (MAX_LINE + 1), b"[" * (2 * MAX_NODES) + b"\n"):
        _, lost = called(lambda _, flood=flood: flood)
        assert lost == ["filesystem"]


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": "a\ud800"}],
        [{"type": "text"}],
        [{"type": "none-such", "x": 1}],
        "no list",
        [{"type": "image", "data": "=", "mimeType": "x"}],
        [{"type": "resource", "resource": {}}],
        [],
    ],
)
def test_the_caller_gets_a_reply_to_any_result(content):
    (first, second), _ = called(lambda number: result(number, {"content": content}), seconds=0.5)
    assert isinstance(first.text(), str)
    assert not second.is_error


@pytest.mark.parametrize(
    "noise",
    [
        b"\n\n",
        b"not json\n",
        b'{"jsonrpc": "1.0"}\n',
        b"\xff\xfe\n",
        NOTICE,
        line({"jsonrpc": "2.0", "id": 99, "result": {}}),
    ],
)
def test_noise_before_an_answer_does_no_harm(noise):
    (first, _), lost = called(lambda number: noise + result(number, GOOD))
    assert (first.text(), lost) == ("well", [])
