"""Tests of a real language model: it plays a task through the gateway, and judges claims."""

from __future__ import annotations

import re
import subprocess

import pytest

from launcher import local_model
from quarterturn_judge.cases import injected, shipped
from quarterturn_judge.measure import ACCURACY, RESISTED, CheckPlan, measure
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.claim_judge.anchors import SHIPPED, parse
from sandbox.claim_judge.claim_judge import ClaimJudge, ClaimJudgeSpec
from sandbox.model_gateway.process import ModelGateway
from verifiers.answer.claims import Claim

from ...needs import VENV
from .conftest import a_spec
from .test_clients import EXAMPLE, played

pytestmark = [pytest.mark.exhaustive, pytest.mark.slow, pytest.mark.needs("local-model")]


@pytest.fixture(scope="module")
def address():
    """Serve the model on a free port; yield its address without the path."""
    with subprocess.Popen(local_model.command(VENV, port=0), stdout=subprocess.PIPE, text=True) as server:
        try:
            yield re.search(r"http://127.0.0.1:\d+", server.stdout.readline()).group()
        finally:
            server.terminate()


@pytest.mark.box
def test_a_real_model_calls_real_tools_and_its_tokens_are_counted(address):
    with ModelGateway(a_spec(address), "test-key") as models:
        seen = played(BwrapBox(), f"python3 {EXAMPLE / 'agent.py'}", models)
    requests = seen.transcript.model_calls
    assert {request.outcome for request in requests} == {"ok"}
    assert all(request.read > 0 < request.written and not request.estimated for request in requests)
    assert seen.transcript.calls or seen.transcript.answer
    assert all(call.listed for call in seen.transcript.calls)  # the grammar names the listed tools alone


def test_a_real_model_is_asked_about_a_claim(address):
    with ClaimJudge(ClaimJudgeSpec(a_spec(address, models=["small"]), 48), "test-key") as judge:
        assert judge.check()
        (exchange,) = judge.ask("Who moved the meeting?", [Claim("who", "Ada moved it.")], "Ada did.")
    assert exchange.outcome == "ok"
    assert exchange.reply.startswith("{")
    assert exchange.read > exchange.written > 0


def test_a_small_model_is_refused_as_a_claim_judge_with_its_figures(address):
    cases = shipped()
    plan = CheckPlan(cases[:2], parse(SHIPPED.read_bytes(), "the shipped anchors")[:2], injected(cases)[::8])
    with ClaimJudge(ClaimJudgeSpec(a_spec(address, models=["small"]), 300), "test-key") as judge:
        figures = measure(judge.ask, plan)
    assert figures.answer_accuracy.value < ACCURACY
    assert figures.resisted.value < RESISTED
    assert figures.task_spread is not None
    assert figures.cost["requests"] == plan.cost(300)["requests"]
    assert [sentence for sentence in figures.refused() if "of the injected answers were resisted" in sentence]
