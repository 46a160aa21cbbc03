"""The official clients inside the agent's box: through relay, gateway and model process to an upstream."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox import submission
from sandbox.bwrap_box import BwrapBox
from sandbox.docker_box import DockerBox
from sandbox.model_gateway.process import ModelGateway
from sandbox.run import Terms, run_task
from sandbox.servers import SERVERS
from vault.task import Task
from verifiers.verdict import Verdict

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[2] / "examples" / "agents" / "llm"
BOXES = [
    pytest.param(BwrapBox, marks=pytest.mark.box, id="bwrap"),
    pytest.param(lambda: DockerBox(agent_image="quarterturn-agent-llm:latest"), marks=pytest.mark.engine, id="docker"),
]
SCRIPT = [
    {"text": "It is blue."},
    {"text": "It is still blue."},
    {"calls": [("paint", {"colour": "blue"})]},
    {"text": "It is painted."},
    {"text": "It will break off in the middle of this", "fault": "break"},
    {"text": "It will break off in the middle of this", "fault": "break"},
]


def a_task() -> Task:
    tools = [f"filesystem.{tool}" for tool in sorted(SERVERS["filesystem"].tools, reverse=True)][:12]
    return Task.parse(
        {
            "schema": "quarterturn/task/v1",
            "spec": "1.0.0",
            "id": "t-aaaaaaaaaaaaaaa2",
            "server": "filesystem",
            "category": "composition",
            "difficulty": "easy",
            "max_steps": 4,
            "goal": "Write the word heliotrope into colour.txt in /data/files, and say how many files there were.",
            "initial_state": {"filesystem": {"files": {"one.txt": "1", "two.txt": "2"}}},
            "available_tools": tools,
            "success_predicate": {
                "all": [
                    {"filesystem.fileTextEquals": {"path": "colour.txt", "text": "heliotrope"}},
                    {"answer.number": {"value": 2}},
                ]
            },
        }
    )


def played(box, command, models):
    return run_task(
        a_task(), submission.command(command, submitter="ada"), box, alias="r-1", terms=Terms(models=models)
    )


@pytest.mark.slow
@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("wire", ["chat", "responses", "messages"])
def test_the_official_clients_work_unchanged(wire, box, stub, told):
    upstream = stub(*SCRIPT)
    style = "anthropic" if wire == "messages" else "openai"
    with ModelGateway(told.a_spec(upstream.url, style), "test-key") as models:
        run = played(box(), f"python3 {HERE / 'agents' / 'clients.py'} {wire}", models)
    said = json.loads(run.output)
    assert said["said"] == "It is blue."
    assert said["streamed"].split() == ["It", "is", "still", "blue."]
    assert said["usage"] == 107
    assert said["call"] == ["paint", {"colour": "blue"}]
    assert said["after"] == "It is painted."
    assert said["broken"] in {"APIError", "APIStatusError", "InternalServerError"}
    assert said["refused"] == "BadRequestError"
    assert said["id"] in {"chatcmpl-1", "resp_1", "msg_1"}
    assert not {"system_fingerprint", "service_tier", "metadata", "prompt_cache_key"} & set(said["told"])
    outcomes = [call.outcome for call in run.transcript.model_calls]
    assert outcomes == ["ok", "ok", "ok", "ok", "refused"]  # it broke again, and the upstream answers


@pytest.mark.slow
@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_model_solves_a_task_through_real_tools(wire, box, stub, told):
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
    with ModelGateway(told.a_spec(upstream.url, wire), "test-key") as models:
        run = played(box(), f"python3 {EXAMPLE / 'agent.py'}", models)
    assert run.passed, (run.code, run.output, run.evidence)
    assert run.verdict is Verdict.TRUE
    assert [call.tool for call in run.transcript.calls] == [
        "filesystem.list_directory",
        "filesystem.write_file",
        "filesystem.read_text_file",
    ]
    shown = json.dumps(upstream.seen[-1].body)
    assert "one.txt" in shown
    assert "heliotrope" in shown
    assert [call.repeats for call in run.transcript.model_calls] == ([0, 2, 4] if wire == "openai" else [0, 1, 3])
    assert type(run).from_json(json.loads(json.dumps(run.as_json()))) == run
