"""Fuzz test of the API: every request gets an answer that the description describes, whatever role sends it."""

from collections import Counter

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from quarterturn.accounts.roles import ROLES

CHECKS = [
    not_a_server_error,
    checks.allow_header_conformance,
    checks.content_type_conformance,
    checks.negative_data_rejection,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.status_code_conformance,
    checks.unsupported_method,
]
BEYOND = {
    "GET /submissions": {"cursor"},
    "GET /tasks": {"cursor"},
    "POST /submissions": {"Idempotency-Key", "endpoint", "model"},
    "POST /checks": {"Idempotency-Key", "endpoint", "model"},
    "POST /admin/tokens": {"days", "scopes"},
    "POST /runner/v1/registration": {"places", "version"},
    "PUT /display-names/{agent}": {"name"},
    "POST /admin/findings/{number}/review": {"note"},
}
"""Fields with rules that no schema has: a list's own cursors, used keys, hosts, models, a role's scopes, 90.0 days, 2.0
places, and reserved names."""
EXAMPLES = 6  # of each operation
REVOKE = "DELETE /admin/tokens/{number}"

pytestmark = pytest.mark.slow


@pytest.mark.full
def test_no_request_is_answered_with_anything_that_is_not_described(live, serve):
    with serve(live, limits={"requests_per_minute": 10**9}) as site:
        schema = schemathesis.openapi.from_asgi("/openapi.json", site.client.app)
        own = {str(token.id) for token in site.house.auth.accounts.list()}
        asked: Counter[str] = Counter()
        for result in schema.get_all_operations():
            ask_anything(site, result.ok(), own, asked)
        assert min(asked.values()) >= 1
        assert len(asked) > 30
        assert all(site.house.auth.accounts.caller(site.tokens[role]) for role in ROLES), (
            "a token was revoked on the way"
        )


def ask_anything(site, operation, own, asked):
    """Send each generated request as nobody and as every role: making it takes longer than answering it."""

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
        assume(not (operation.label == REVOKE and str(case.path_parameters["number"]) in own))
        for who in (None, *ROLES):
            headers = {"authorization": f"Bearer {site.tokens[who]}"} if who else {}
            answer = case.call(headers=headers)
            refused = answer.status_code == 422 and answer.json()["field"] in BEYOND.get(operation.label, ())
            case.validate_response(answer, checks=CHECKS if refused else [*CHECKS, checks.positive_data_acceptance])
            if answer.status_code >= 400:
                assert str(answer.status_code) in operation.definition.raw["responses"], "the description names it"
        asked[operation.label] += 1

    ask()
