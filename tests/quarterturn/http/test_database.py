"""Tests of the service on PostgreSQL: odd input is never a server error, and an unreachable database is reported."""

import pytest

from vault.errors import Unavailable

pytestmark = pytest.mark.slow

ODD = ["%00", "s-" + "a" * 600, "9" * 40, "-1", "%F0%9F%A6%A2", "%ED%A0%80", "' OR 1=1"]


@pytest.fixture
def backend() -> str:
    return "postgresql"


@pytest.fixture
def site(home, serve):
    with serve(home) as site:
        yield site


ASKED = [
    ("GET", "/submissions/{}"),
    ("POST", "/submissions/{}/cancel"),
    ("GET", "/runs/{}"),
    ("PUT", "/runs/{}/publication"),
    ("GET", "/submissions?cursor={}"),
    ("DELETE", "/admin/tokens/{}"),
]


def test_an_odd_name_is_never_a_server_error(site):
    for method, path in ASKED:
        for odd in ODD:
            said = site.ask(method, path.format(odd), "maintainer")
            assert 400 <= said.status_code < 500, (method, path, odd)


def test_while_the_database_is_away_the_service_says_so_and_then_goes_on(site, postgres):
    assert site.get("/submissions", "submitter").status_code == 200
    postgres.stop()
    try:
        away = site.get("/submissions", "submitter")
        assert (away.status_code, away.json()["code"]) == (503, "unavailable")
        assert "postgresql" not in away.text
        assert (site.get("/healthz").status_code, site.get("/readyz").status_code) == (200, 503)
        with pytest.raises(Unavailable, match="does not answer"):
            site.house.runs.store.list()
    finally:
        postgres.start()
    assert site.get("/submissions", "submitter").status_code == 200
    assert site.get("/readyz").status_code == 200
