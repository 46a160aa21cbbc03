"""Tests of what a runner is given and hands in, as bytes: nothing is lost, and nothing else is taken."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.boxes.box import ExitFacts, Program, ResourceLimits
from sandbox.errors import Malformed
from sandbox.gateway import GatewaySpec, listing
from sandbox.gateway.log_protocol import MAX_CALLS
from sandbox.results.failure import AttemptFacts, Stage
from sandbox.servings import handed_in
from sandbox.servings.handed_in import HandIn
from sandbox.servings.run_environment import Timeouts
from sandbox.servings.serving import Serving
from sandbox.servings.state_reader import MAX_DUMP
from sandbox.transcript import CallRecord, ModelCall, ToolCall, Transcript
from sandbox.world.frozen import FrozenState

HANDLE = "s-" + "0" * 32
SPEC = GatewaySpec(
    alias="r-1",
    goal="find the kingfisher ü",
    tools=listing(["filesystem.read_text_file"]),
    servers=["filesystem"],
    max_steps=5,
    faults=[{"tool": "filesystem.read_text_file", "call": 1, "error": "busy"}],
    solution={"calls": [{"tool": "filesystem.read_text_file", "arguments": {"path": "/x"}}], "answer": None},
    model={"wire": "chat", "models": ["m"]},
    server="filesystem",
)
SERVING = Serving(
    HANDLE,
    SPEC,
    {"filesystem": {"files": {"a.txt": "1"}}},
    Program(command=["python3", "/x/agent.py"], folder=Path("/x"), environment={"A": "b"}),
    agent=ResourceLimits(wall=7.5),
    patience=Timeouts(ready=1.0),
    baseline=True,
)
CALL = CallRecord("filesystem.read_text_file", {"path": "/ü", "deep": [{"a": None}]}, True, False, False, "text", 0.25)
MODEL = ModelCall("chat", "m", 1, {"messages": []}, (("text", "hello"),), read=1, written=2, outcome="ok")
FACTS = AttemptFacts(Stage.FROZEN, "answered", ExitFacts(running=False, exit_code=0), ExitFacts(running=True))
HAND_IN = HandIn(
    FACTS,
    Transcript((CALL, CALL), "42", "answered", (MODEL,), asked=True),
    "printed",
    {"seed": 0.5},
    FrozenState(b"tar" * 1000, {"redis": b"{}"}),
    {"redis": b'{"keys": {}}'},
    AttemptFacts(Stage.WORLD, too_large=True),
)


def test_a_serving_is_read_as_it_was_written():
    read = Serving.from_bytes(SERVING.to_bytes())
    assert read.to_bytes() == SERVING.to_bytes()
    assert (read.program, read.agent, read.patience) == (
        replace(SERVING.program, command=["python3", "/x/agent.py"]),
        SERVING.agent,
        SERVING.patience,
    )
    assert "kingfisher" not in repr(read)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"handle": "../../etc/passwd"}, "32 hexadecimal digits"),
        ({"handle": "s-" + "0" * 32 + "\n"}, "32 hexadecimal digits"),
        ({"task_id": "t-1"}, r"\$\.task_id"),
        ({"baseline": 1}, r"\$\.baseline"),
        ({"agent": {"wall": "7"}}, r"\$\.agent\.wall"),
        ({"initial_state": {"redis": {}}}, r"\$\.initial_state\.redis"),
        ({"program": {"image": 3}}, r"\$\.program\.image"),
    ],
)
def test_a_serving_of_another_form_is_refused_with_its_place(change, says):
    with pytest.raises(Malformed, match=says):
        Serving.from_bytes(json.dumps(json.loads(SERVING.to_bytes()) | change).encode())


def test_a_serving_that_plays_calls_of_its_own_is_refused():
    with pytest.raises(Malformed, match="script"):
        replace(SERVING, session=replace(SPEC, script=[ToolCall("filesystem.read_text_file")]))


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"a":1,"a":2}', b"\xff", b"NaN"])
def test_what_is_no_serving_is_refused(data):
    with pytest.raises(Malformed, match="serving"):
        Serving.from_bytes(data)


SHORTLISTED = replace(HAND_IN, transcript=replace(HAND_IN.transcript, shortlist=("git.git_log", "git.git_show")))


@pytest.mark.parametrize(
    "hand_in", [HAND_IN, SHORTLISTED, HandIn(FACTS), replace(HAND_IN, transcript=None, state=None)]
)
def test_a_hand_in_is_read_as_it_was_written(hand_in):
    read = HandIn.from_bytes(hand_in.to_bytes())
    assert read == hand_in
    assert type(read.facts.stage) is Stage


def changed(hand_in: HandIn = HAND_IN, rest: bytes | None = None, **head: object) -> bytes:
    first, _, behind = hand_in.to_bytes().partition(b"\n")
    return json.dumps(json.loads(first) | head).encode() + b"\n" + (behind if rest is None else rest)


PARTS = json.loads(HAND_IN.to_bytes().partition(b"\n")[0])["parts"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "cut off"),
        (HAND_IN.to_bytes()[:-1], "not as long"),
        (HAND_IN.to_bytes() + b"x", "not as long"),
        (changed(facts={"stage": 99}), r"\$\.facts\.stage"),
        (changed(facts={"stage": 6, "ended": "as it liked"}), r"\$\.facts\.ended"),
        (changed(verdict="true"), r"\$\.verdict"),
        (changed(calls=-1), "more calls"),
        (changed(calls=MAX_CALLS + 1), "more calls"),
        (changed(calls=3), "call 2 of the hand-in"),
        (changed(calls=1), "model call 0"),
        (changed(session=None), "a session that it does not have"),
        (changed(parts=PARTS[1:]), "not as long"),
        (changed(parts=[PARTS[0], PARTS[0], *PARTS[2:]]), "twice"),
        (changed(parts=[{**PARTS[0], "size": -1}, *PARTS[1:]]), "not as long"),
        (changed(parts=[{**PARTS[0], "name": "x"}, *PARTS[1:]]), "name"),
        (changed(parts=[{**PARTS[0], "kind": "dump", "name": "x"}, *PARTS[1:]]), "a state that it does not have"),
        (changed(parts=[{"kind": "dump", "name": f"n{n}", "size": 0} for n in range(100)]), "too many"),
        (b"x" * (handed_in.MAX_HEAD + 2) + b"\n", "longer than"),
    ],
)
def test_a_hand_in_of_another_form_is_refused_in_one_sentence(data, says):
    with pytest.raises(Malformed, match=says) as error:
        HandIn.from_bytes(data)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "part", [b"nonsense", zlib.compress(b"x")[:-1], zlib.compress(b"x") + b"y", zlib.compress(bytes(MAX_DUMP + 1))]
)
def test_a_part_is_opened_within_its_cap(part):
    parts = [{"kind": "baseline", "name": "redis", "size": len(part)}]
    with pytest.raises(Malformed, match="the part baseline"):
        HandIn.from_bytes(changed(HandIn(FACTS), part, parts=parts))


def test_all_parts_together_have_a_cap(monkeypatch):
    size = HAND_IN.parts_size
    monkeypatch.setattr(handed_in, "MAX_PARTS_BYTES", size)
    assert HandIn.from_bytes(HAND_IN.to_bytes()) == HAND_IN
    monkeypatch.setattr(handed_in, "MAX_PARTS_BYTES", size - 1)
    with pytest.raises(Malformed, match="longer than"):
        HandIn.from_bytes(HAND_IN.to_bytes())


def test_arguments_as_deep_as_a_gateway_takes_them_are_handed_in():
    deep: object = None
    for _ in range(60):
        deep = [deep]
    call = replace(CALL, arguments={"path": deep})
    hand_in = HandIn(FACTS, Transcript((call,), None, "answered"))
    assert HandIn.from_bytes(hand_in.to_bytes()) == hand_in
