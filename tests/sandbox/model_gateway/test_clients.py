"""Tests of the official clients inside the agent's box, through relay, gateway and model process to an upstream."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest

from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.boxes.docker.box import DockerBox
from sandbox.model_gateway.process import ModelGateway
from sandbox.runs import submission
from sandbox.runs.run import PlannedTask, RunSetup, Terms, run_set
from verifiers.language.verdict import Verdict

from ...sampling import sample
from ..builders import Hands, a_task, in_memory, run
from ..processes import below, first_of, holds
from .conftest import a_spec
from .stub import Turn

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[2] / "examples" / "agents" / "llm"
BOXES = {
    "bwrap": (BwrapBox, pytest.mark.box),
    "docker": (lambda: DockerBox(agent_image="quarterturn-agent-llm:latest"), pytest.mark.engine),
}


def in_boxes(*wires, keep):
    """Return every wire in every box; the sample has each wire in one box, since the two are independent."""
    cases = {
        (wire, name): pytest.param(wire, box, marks=mark, id=f"{wire}-{name}")
        for wire in wires
        for name, (box, mark) in BOXES.items()
    }
    return sample(cases.values(), keep=[cases[one] for one in keep])


SCRIPT = [
    {"text": "It is blue."},
    {"text": "It is still blue."},
    {"calls": [("paint", {"colour": "blue"})]},
    {"text": "It is painted."},
    {"text": "It will break off in the middle of this", "fault": "break"},
    {"text": "It will break off in the middle of this", "fault": "break"},
]


def played(box, command, models):
    setup = RunSetup.supervised(box, workers=1, terms=Terms(models=models))
    (seen,) = run_set([PlannedTask(a_task())], submission.command(command, submitter="ada"), setup)
    return seen


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize(
    ("wire", "box"),
    in_boxes("chat", "responses", "messages", keep=[("chat", "docker"), ("responses", "bwrap"), ("messages", "bwrap")]),
)
def test_the_official_clients_work_unchanged(wire, box, stub):
    upstream = stub(*SCRIPT)
    style = "anthropic" if wire == "messages" else "openai"
    with ModelGateway(a_spec(upstream.url, style), "test-key") as models:
        seen = played(box(), f"python3 {HERE / 'agents' / 'clients.py'} {wire}", models)
    said = json.loads(seen.output)
    assert said["said"] == "It is blue."
    assert said["streamed"].split() == ["It", "is", "still", "blue."]
    assert said["usage"] == 107
    assert said["call"] == ["paint", {"colour": "blue"}]
    assert said["after"] == "It is painted."
    assert said["broken"] in {"APIError", "APIStatusError", "InternalServerError"}
    assert said["refused"] == "BadRequestError"
    assert said["id"] in {"chatcmpl-1", "resp_1", "msg_1"}
    assert not {"system_fingerprint", "service_tier", "metadata", "prompt_cache_key"} & set(said["told"])
    outcomes = [call.outcome for call in seen.transcript.model_calls]
    assert outcomes == ["ok", "ok", "ok", "ok", "refused"]  # it broke again, and the upstream answers


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize(
    ("wire", "box"), in_boxes("openai", "anthropic", keep=[("openai", "bwrap"), ("anthropic", "docker")])
)
def test_a_model_solves_a_task_through_real_tools(wire, box, stub):
    upstream = stub(
        {"text": "Let me see.", "calls": [("filesystem__list_directory", {"path": "/data/files"})]},
        {
            "calls": [
                ("filesystem__write_file", {"path": "/data/files/colour.txt", "content": "heliotrope"}),
                ("filesystem__read_text_file", {"path": "/data/files/colour.txt"}),
            ]
        },
        {"text": "2"},
    )
    with ModelGateway(a_spec(upstream.url, wire), "test-key") as models:
        seen = played(box(), f"python3 {EXAMPLE / 'agent.py'}", models)
    assert seen.passed, (seen.code, seen.output, seen.evidence)
    assert seen.verdict is Verdict.TRUE
    assert [call.tool for call in seen.transcript.calls] == [
        "filesystem.list_directory",
        "filesystem.write_file",
        "filesystem.read_text_file",
    ]
    shown = json.dumps(upstream.seen[-1].body)
    assert "one.txt" in shown
    assert "heliotrope" in shown
    assert [call.repeats for call in seen.transcript.model_calls] == ([0, 2, 4] if wire == "openai" else [0, 1, 3])
    assert type(seen).from_json(json.loads(json.dumps(seen.to_sealed_json()))) == seen


@pytest.mark.box
@pytest.mark.needs("root")
def test_while_an_agent_asks_the_key_is_in_one_process_alone(stub):
    """While the upstream has the request, the agent, its relay, its world and its gateway are searched."""
    key, found, lines = "test-key-" + os.urandom(8).hex(), {}, {}

    def say(seen):
        lines.update(below(os.getpid()))
        for pid in lines:
            with suppress(OSError):
                found[pid] = holds(pid, key.encode())
        return Turn(text="2")

    upstream = stub(say=say)
    with ModelGateway(a_spec(upstream.url), key) as models:
        seen = played(BwrapBox(), f"python3 {EXAMPLE / 'agent.py'}", models)
        model = first_of(models._process)
    assert seen.transcript.model_calls[0].outcome == "ok"
    assert {pid for pid, has in found.items() if has} == {model}
    for part in ("agent.py", "relay.py", "init.py", "sandbox.gateway.forkserver"):
        assert any(part in line for line in lines.values()), part


def asking(agent):
    """Ask the model once, and exit with 1 where it gives no answer."""
    question = {"model": "small", "messages": [{"role": "user", "content": "What is it?"}]}
    Hands(agent).send("POST", "/v1/chat/completions", question)


@pytest.mark.parametrize(
    ("fault", "ruling", "outcome"),
    [
        ("status:503*", ("unclear", "upstream-down", 1, Verdict.FALSE), "down"),
        ("status:400", (None, "agent-crashed", 1, Verdict.FALSE), "refused"),
    ],
)
def test_the_cause_of_a_failure_and_each_try_are_in_the_log(stub, fault, ruling, outcome):
    upstream = stub({"fault": fault})
    box, agent = in_memory(asking)
    with ModelGateway(a_spec(upstream.url), "test-key") as models:
        played_run = run(a_task(), agent, box, terms=Terms(models=models))
    assert (played_run.failure, played_run.code, played_run.attempts, played_run.verdict) == ruling
    for one in (played_run, *played_run.earlier):
        assert {call.outcome for call in one.transcript.model_calls} == {outcome}
