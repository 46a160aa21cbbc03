"""Tests of agent frameworks in the bwrap box: their clients, unchanged, play a task; packages lie beside the agent."""

from __future__ import annotations

import pytest

from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.model_gateway.process import ModelGateway
from sandbox.runs import submission
from sandbox.runs.run import Terms, run_task

from ...needs import FRAMEWORKS, FRAMEWORKS_MCP1, VENV
from ..builders import a_task
from .conftest import a_spec
from .test_clients import EXAMPLE

AGENTS = EXAMPLE.parent / "frameworks"
NODE_MODULES = VENV / "world" / "npm" / "node_modules"
PYTHON = (pytest.mark.exhaustive, pytest.mark.needs("frameworks"))

pytestmark = [pytest.mark.box, pytest.mark.slow]


def played(agent, packages, models=None):
    made = submission.command(agent, submitter="ada", packages=packages)
    return run_task(a_task(), made, BwrapBox(), alias="r-1", terms=Terms(models=models))


@pytest.mark.parametrize(
    ("agent", "packages"),
    [
        pytest.param(f"node {AGENTS}/typescript_sdk_agent.mjs", NODE_MODULES, id="typescript-sdk"),
        pytest.param(f"python3 {AGENTS}/fastmcp_agent.py", FRAMEWORKS, id="fastmcp", marks=PYTHON),
    ],
)
def test_a_client_without_a_model_calls_a_tool_and_answers(agent, packages):
    seen = played(agent, packages)
    assert [(call.tool, call.error) for call in seen.transcript.calls] == [
        ("filesystem.list_allowed_directories", False)
    ], seen.output
    assert "/data/files" in seen.transcript.answer


@pytest.mark.parametrize(
    ("name", "packages"),
    [
        ("openai_agents", FRAMEWORKS),
        ("pydantic_ai", FRAMEWORKS),
        ("autogen", FRAMEWORKS_MCP1),
        ("langgraph", FRAMEWORKS_MCP1),
        ("mcp_use", FRAMEWORKS_MCP1),
        ("smolagents", FRAMEWORKS_MCP1),
    ],
)
@pytest.mark.exhaustive
@pytest.mark.needs("frameworks")
def test_a_framework_lets_a_model_call_a_tool_and_answers(name, packages, stub):
    final = [("final_answer", {"answer": "2"})] if name == "smolagents" else []
    upstream = stub({"calls": [("filesystem__list_directory", {"path": "/data/files"})]}, {"text": "2", "calls": final})
    with ModelGateway(a_spec(upstream.url), "test-key") as models:
        seen = played(f"python3 {AGENTS}/{name}_agent.py", packages, models)
    assert [(call.tool, call.error) for call in seen.transcript.calls] == [("filesystem.list_directory", False)], (
        seen.output
    )
    assert seen.transcript.answer == "2"
