"""A claim judge on a loopback model, with the dials that a test asks for."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from quarterturn_judge.loopback_model import Dials, LoopbackModel
from sandbox.claim_judge.claim_judge import ClaimJudge, ClaimJudgeSpec
from sandbox.model_gateway.spec import UpstreamSpec


def spec_of(url, *, wire="openai", tokens=200_000, answer_tokens=200):
    url = url if wire == "openai" else url.removesuffix("/v1")
    return ClaimJudgeSpec(UpstreamSpec("judge", wire, url, ("rules-1",), tokens, 32), answer_tokens)


@pytest.fixture
def opened():
    """Yield a function that opens a loopback model and a claim judge on it."""
    with ExitStack() as stack:

        def make(dials=None, *, marker=None, **spec):
            model = stack.enter_context(LoopbackModel(dials or Dials()))
            more = {} if marker is None else {"marker": marker}
            return stack.enter_context(ClaimJudge(spec_of(model.url, **spec), "test-key", **more)), model

        yield make
