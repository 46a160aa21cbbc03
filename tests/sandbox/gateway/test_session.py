"""Tests of a session: what it counts, refuses, injects and logs, with servers that answer at once."""

import asyncio

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.gateway import session
from sandbox.gateway.log_protocol import GatewayLog, pack
from sandbox.gateway.session import MAX_ARGUMENTS, MAX_RESULT, AgentSession, ToolReply, printable
from sandbox.gateway.spec import GatewaySpec, listing

READ, WRITE = "filesystem__read_text_file", "filesystem__write_file"


class Recorder:
    """Servers that record the calls that reached them."""

    def __init__(self, reply=None, turns=0):
        self.seen, self.reply, self.turns = [], reply or ToolReply([{"type": "text", "text": "done"}]), turns

    async def call(self, server, tool, arguments, seconds):
        self.seen.append((server, tool, dict(arguments)))
        for _ in range(self.turns):
            await anyio.lowlevel.checkpoint()  # others have their turn
        return self.reply


class Scene:
    """A session, its servers and the runner's record of it, under a clock that the test moves."""

    def __init__(self, servers=None, **changes):
        tools = listing(["filesystem.read_text_file", "filesystem.write_file"])
        values = {"alias": "r-1", "goal": "do", "tools": tools, "servers": ("filesystem",), "max_steps": 5, **changes}
        self.now = 0.0
        self.book, self.entries = GatewayLog(), []
        self.servers = servers or Recorder()
        self.session = AgentSession(GatewaySpec(**values), self.servers, self.emit, clock=lambda: self.now)

    def emit(self, entry):
        self.entries.append(entry)
        self.book.feed(pack(entry))

    def play(self, *calls):
        async def all_calls():
            return [await self.session.call(*call) for call in calls]

        return asyncio.run(all_calls())

    @property
    def transcript(self):
        return self.book.transcript("agent-exited")


def test_a_listed_call_reaches_its_server_under_its_own_name():
    scene = Scene()
    (reply,) = scene.play((READ, {"path": "a"}))
    assert scene.servers.seen == [("filesystem", "read_text_file", {"path": "a"})]
    assert reply.text() == "done"
    (call,) = scene.transcript.calls
    assert (call.tool, call.listed, call.error, call.result) == ("filesystem.read_text_file", True, False, "done")


def test_an_unlisted_call_is_counted_and_no_server_sees_it():
    scene = Scene(max_steps=2)
    first, second, third = scene.play(("git__git_log", {}), ("rm\x1b[2J -rf\u202e", None), (READ, {}))
    assert all(reply.is_error for reply in (first, second, third))
    assert scene.servers.seen == []
    assert scene.transcript.unlisted == 2
    assert scene.transcript.calls[1].tool == "rm\\x1b[2J -rf\\u202e", "nothing in a log can move a cursor"
    assert scene.transcript.ended == "steps-exceeded"


def test_the_call_after_the_last_step_ends_the_session_and_the_next_is_not_even_counted():
    scene = Scene(max_steps=2)
    replies = scene.play(*[(READ, {"path": str(number)}) for number in range(4)])
    assert [reply.is_error for reply in replies] == [False, False, True, True]
    assert len(scene.servers.seen) == 2
    assert len(scene.transcript.calls) == 3
    assert scene.transcript.ended == "steps-exceeded"
    assert not scene.session.answer("too late")
    assert scene.transcript.answer is None


def test_a_session_takes_one_shortlist_and_none_after_a_call():
    """Later ones could tell what calls have shown, and recall would measure that."""
    scene = Scene()
    assert scene.session.take_shortlist([WRITE, READ])
    assert not scene.session.take_shortlist([READ])
    assert scene.transcript.shortlist == ("filesystem.write_file", "filesystem.read_text_file")
    late = Scene()
    late.play((READ, {"path": "a"}))
    assert not late.session.take_shortlist([READ])
    assert late.transcript.shortlist is None
    ended = Scene()
    ended.session.answer("42")
    assert not ended.session.take_shortlist([READ])


def test_a_scheduled_fault_hits_its_call_and_never_the_server():
    scene = Scene(faults=[{"tool": "filesystem.write_file", "call": 2, "error": "disk is on fire"}])
    replies = scene.play((WRITE, {"n": 1}), (READ, {}), (WRITE, {"n": 2}), (WRITE, {"n": 3}))
    assert [reply.is_error for reply in replies] == [False, False, True, False]
    assert replies[2].text() == "disk is on fire"
    assert [arguments for _, tool, arguments in scene.servers.seen if tool == "write_file"] == [{"n": 1}, {"n": 3}]
    assert [call.injected for call in scene.transcript.calls] == [False, False, True, False]
    assert scene.transcript.errors == 1


def test_the_log_says_of_each_call_whether_a_server_saw_it():
    """A replay repeats only what was passed on, so its servers see what the first ones saw."""
    scene = Scene(max_steps=4, faults=[{"tool": "filesystem.write_file", "call": 1, "error": "busy"}])
    scene.play((WRITE, {}), ("no__such", {}), (WRITE, {"path": "x" * MAX_ARGUMENTS}), (WRITE, {"n": 3}), (READ, {}))
    assert [call.passed_on for call in scene.transcript.calls] == [False, False, False, True, False]
    assert [call.refused for call in scene.transcript.calls] == [False, True, True, False, True]
    assert [arguments for *_, arguments in scene.servers.seen] == [{"n": 3}]


def test_a_refused_call_shifts_no_fault():
    scene = Scene(faults=[{"tool": "filesystem.write_file", "call": 1, "error": "disk is on fire"}])
    replies = scene.play(
        ("filesystem.write_file", {}), (WRITE, {"path": "x" * MAX_ARGUMENTS}), (WRITE, {}), (WRITE, {})
    )
    assert [reply.is_error for reply in replies] == [True, True, True, False]
    assert [call.injected for call in scene.transcript.calls] == [False, False, True, False]
    assert [call.refused for call in scene.transcript.calls] == [True, True, False, False]


def test_all_arguments_together_are_capped_so_that_the_runner_can_keep_them(monkeypatch):
    monkeypatch.setattr(session, "MAX_ALL_ARGUMENTS", 1000)
    scene = Scene()
    replies = scene.play(*[(READ, {"path": "x" * 400})] * 3, (READ, {}))
    assert [reply.is_error for reply in replies] == [False, False, True, True]
    assert scene.transcript.calls[2].arguments == {}


def test_every_logged_call_gets_a_result():
    class Mad(Recorder):
        async def call(self, *_):
            raise KeyError("nonsense")

    scene = Scene(Mad())
    assert [reply.is_error for reply in scene.play((READ, {}), (READ, {}))] == [True, True]
    assert len(scene.transcript.calls) == 2


def test_an_answer_ends_the_session_once():
    scene = Scene()
    assert scene.session.answer("42")
    assert not scene.session.answer("43")
    assert (scene.transcript.answer, scene.transcript.ended) == ("42", "answered")
    (reply,) = scene.play((READ, {}))
    assert reply.is_error
    assert scene.transcript.calls == ()


def test_the_wall_clock_starts_with_the_first_request_and_not_before():
    scene = Scene(wall=10.0)
    scene.now = 1000.0
    scene.play((READ, {}))
    scene.now = 1009.0
    assert not scene.play((READ, {}))[0].is_error
    scene.now = 1010.0
    assert scene.play((READ, {}))[0].is_error
    assert not scene.session.answer("late")
    assert scene.transcript.ended == "time-exceeded"
    assert len(scene.transcript.calls) == 2


@pytest.mark.parametrize(("seconds", "taken"), [(9.9, True), (10.0, False)])
def test_an_answer_is_taken_while_there_is_time(seconds, taken):
    scene = Scene(wall=10.0)
    scene.now = 1000.0
    scene.session.begin()
    scene.now += seconds
    assert scene.session.answer("42") is taken
    ends = [{"answer": "42"}, {"ended": "answered"}] if taken else [{"ended": "time-exceeded"}]
    assert scene.entries == [{"asked": True}, *ends], "the first request is logged, once"


@pytest.mark.parametrize(
    "arguments",
    [{"path": "x" * MAX_ARGUMENTS}, {"a": [[[[[[[[{"b": [[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]}]]]]]]]]}],
)
def test_arguments_beyond_the_caps_reach_no_server_and_no_log(arguments):
    scene = Scene()
    (reply,) = scene.play((WRITE, arguments))
    assert reply.is_error
    assert scene.servers.seen == []
    assert scene.transcript.calls[0].arguments == {}
    assert scene.transcript.calls[0].listed


def test_a_result_that_is_too_long_is_an_error_and_half_a_surrogate_can_be_logged():
    long = Scene(Recorder(ToolReply([{"type": "text", "text": "x" * MAX_RESULT}])))
    assert long.play((READ, {}))[0].is_error
    structured = Scene(Recorder(ToolReply([], structured={"text": "x" * MAX_RESULT})))
    assert structured.play((READ, {}))[0].is_error
    odd = Scene(Recorder(ToolReply([{"type": "text", "text": "a\ud800b"}])))
    odd.play((READ, {}))
    assert odd.transcript.calls[0].result == "a?b"


@pytest.mark.parametrize(
    ("texts", "structured", "shown"),
    [
        (['{"n": 5}'], {"n": 5}, '{"n": 5}'),
        (["five"], {"result": "five"}, "five"),
        (["5"], {"result": 5}, "5"),
        (["a", "b"], {"result": ["a", "b"]}, "a\nb"),
        (["[1", "]"], {"n": 5}, '[1\n]\n{"n": 5}'),
        ([], {"n": 5}, '{"n": 5}'),
        (["null"], {"n": 5}, 'null\n{"n": 5}'),
        (["{" * 3000], None, "{" * 3000),
        (["{}"], {}, "{}"),
    ],
)
def test_structured_content_is_logged_where_no_block_repeats_it(texts, structured, shown):
    scene = Scene(Recorder(ToolReply([{"type": "text", "text": text} for text in texts], structured=structured)))
    (reply,) = scene.play((READ, {}))
    assert (reply.structured, scene.transcript.calls[0].result) == (structured, shown)


def test_calls_at_once_reach_the_servers_one_after_the_other():
    scene = Scene(Recorder(turns=9))

    async def both():
        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(scene.session.call, READ, {"n": number})

    asyncio.run(both())
    assert [call.arguments for call in scene.transcript.calls] == [seen[2] for seen in scene.servers.seen]
    assert all(call.result == "done" for call in scene.transcript.calls)


def test_a_call_whose_agent_hangs_up_is_still_logged_with_its_result():
    scene = Scene(Recorder(turns=9))

    async def hang_up():
        async with anyio.create_task_group() as group:
            group.start_soon(scene.session.call, READ, {})
            while not scene.servers.seen:
                await anyio.lowlevel.checkpoint()
            assert scene.transcript.calls[0].result != "done"
            group.cancel_scope.cancel()

    asyncio.run(hang_up())
    assert scene.transcript.calls[0].result == "done"


@given(st.text(max_size=300))
def test_no_name_can_hold_control_characters_in_the_log(name):
    assert printable(name).rstrip("… (cut)").isascii()
    assert printable(name).isprintable()
    assert len(printable(name)) <= 140


def test_a_specification_survives_its_way_and_shows_no_goal():
    scene = Scene(goal="the secret goal", solution={"calls": [], "answer": "a"})
    spec = scene.session.spec
    assert GatewaySpec.from_bytes(spec.to_bytes()).goal == "the secret goal"
    assert "secret" not in repr(spec)
