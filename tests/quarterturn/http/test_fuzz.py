"""Fuzz test of the API: every request gets an answer that the description describes, and never a server error."""

from __future__ import annotations

from collections import Counter

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 6  # of each operation

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("who", [None, "submitter", "maintainer"])
def test_no_request_is_answered_with_anything_that_is_not_described(live, serve, who):
    with serve(live, limits={"requests_per_minute": 10**9}) as site:
        schema = schemathesis.openapi.from_asgi("/openapi.json", site.client.app)
        headers = {"authorization": f"Bearer {site.tokens[who]}"} if who else {}
        asked: Counter[str] = Counter()
        for result in schema.get_all_operations():
            ask_anything(result.ok(), headers, asked)
        assert min(asked.values()) >= 1
        assert len(asked) > 30


def ask_anything(operation, headers, asked):
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def ask(case):
        case.call_and_validate(headers=headers, checks=CHECKS)
        asked[operation.label] += 1

    ask()
