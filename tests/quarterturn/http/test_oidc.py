"""Tests of maintainers who sign in at the service with OpenID Connect."""

import pytest

from quarterturn.accounts.oidc import Provider

from ..accounts.test_oidc import chosen, issuer, token

__all__ = ["issuer"]
pytestmark = pytest.mark.slow


@pytest.fixture
def ask(site, issuer):
    """Ask with a token of the provider's."""
    site.house.auth.oidc = Provider(chosen(issuer), site.house.home.now)

    def asked(method, path, **claims):
        body = claims.pop("json", None)
        site.tokens["grace"] = token(issuer, **claims)
        return site.ask(method, path, "grace", json=body)

    return asked


def test_a_role_permits_what_its_table_says(site, ask, problem):
    assert ask("GET", "/admin/turn").json() == site.get("/admin/turn", "maintainer").json()
    assert ask("GET", "/admin/findings", groups="watch").status_code == 200
    assert problem(ask("GET", "/admin/turn", groups="watch")) == "forbidden"
    assert problem(ask("GET", "/admin/turn", groups="others")) == "unauthenticated"
    assert problem(ask("GET", "/admin/turn", aud="another-client")) == "unauthenticated"


def test_they_cannot_submit_and_api_tokens_keep_working(site, ask, problem):
    assert problem(ask("POST", "/submissions", json={"image": "a:1"})) == "forbidden"
    assert site.get("/quota", site.account("ada")).status_code == 200


def test_without_a_provider_no_token_is_accepted(site, issuer, problem):
    assert site.house.auth.oidc is None
    site.tokens["grace"] = token(issuer)
    assert problem(site.get("/admin/turn", "grace")) == "unauthenticated"
    assert issuer.asked == []
