"""Tests of agent frameworks in the bwrap box: their clients, unchanged, play a task; packages lie beside the agent."""

from __future__ import annotations

import json

import pytest

from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.model_gateway.process import ModelGateway
from sandbox.runs import submission
from sandbox.runs.run import Terms, run_task

from ...needs import FRAMEWORKS, FRAMEWORKS_MCP1, FRAMEWORKS_NPM, VENV
from ..builders import a_task, tools
from .conftest import a_spec
from .test_clients import EXAMPLE

AGENTS = EXAMPLE.parent / "frameworks"
NODE_MODULES = VENV / "world" / "npm" / "node_modules"
FILE = "/data/files/one.txt"
PYTHON = (pytest.mark.exhaustive, pytest.mark.needs("frameworks"))

pytestmark = [pytest.mark.box, pytest.mark.slow]


def played(agent, packages, models=None, task=None):
    made = submission.command(agent, submitter="ada", packages=packages)
    return run_task(task or a_task(), made, BwrapBox(), alias="r-1", terms=Terms(models=models))


@pytest.mark.parametrize(
    ("agent", "packages"),
    [
        pytest.param(f"node {AGENTS}/typescript_sdk_agent.mjs", NODE_MODULES, id="typescript-sdk"),
        pytest.param(f"python3 {AGENTS}/fastmcp_agent.py", FRAMEWORKS, id="fastmcp", marks=PYTHON),
    ],
)
def test_a_client_without_a_model_sees_output_schemas_and_structured_content(agent, packages):
    seen = played(agent, packages)
    assert [(call.tool, call.error) for call in seen.transcript.calls] == [
        ("filesystem.list_allowed_directories", False)
    ], seen.output
    assert json.loads(seen.transcript.answer) == {"content": "Allowed directories:\n/data/files"}


@pytest.mark.parametrize(
    ("program", "packages"),
    [
        ("python3 openai_agents_agent.py", FRAMEWORKS),
        ("python3 pydantic_ai_agent.py", FRAMEWORKS),
        ("python3 autogen_agent.py", FRAMEWORKS_MCP1),
        ("python3 langgraph_agent.py", FRAMEWORKS_MCP1),
        ("python3 mcp_use_agent.py", FRAMEWORKS_MCP1),
        ("python3 smolagents_agent.py", FRAMEWORKS_MCP1),
        ("node ai_sdk_agent.mjs", FRAMEWORKS_NPM),
    ],
)
@pytest.mark.exhaustive
@pytest.mark.needs("frameworks")
def test_a_framework_lets_a_model_call_a_tool_without_its_optional_arguments_and_answers(program, packages, stub):
    final = [("final_answer", {"answer": "1"})] if "smolagents" in program else []
    upstream = stub({"calls": [("filesystem__read_text_file", {"path": FILE})]}, {"text": "1", "calls": final})
    with ModelGateway(a_spec(upstream.url), "test-key") as models:
        seen = played(program.replace(" ", f" {AGENTS}/"), packages, models)
    assert [(call.tool, call.arguments, call.error) for call in seen.transcript.calls] == [
        ("filesystem.read_text_file", {"path": FILE}, False)
    ], seen.output
    assert seen.transcript.answer == "1"


@pytest.mark.exhaustive
@pytest.mark.needs("frameworks", "postgres")
def test_smolagents_passes_an_optional_list(stub):
    query = {"sql": "SELECT $1::int + 1 AS next", "parameters": [41]}
    upstream = stub({"calls": [("postgres__query", query)]}, {"calls": [("final_answer", {"answer": "42"})]})
    task = a_task(
        "postgres",
        initial_state={"postgres": {"tables": {"t": {"columns": [["a", "integer"]], "rows": []}}}},
        available_tools=tools("postgres", 5) + tools("filesystem", 8),
        success_predicate={"answer.number": {"value": 42}},
    )
    with ModelGateway(a_spec(upstream.url), "test-key") as models:
        seen = played(f"python3 {AGENTS}/smolagents_agent.py", FRAMEWORKS_MCP1, models, task)
    assert [(call.arguments, call.error) for call in seen.transcript.calls] == [(query, False)], seen.output
    assert "42" in seen.transcript.calls[0].result
