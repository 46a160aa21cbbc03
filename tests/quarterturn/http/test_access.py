"""Tests of every route with every role: access is what the two tables say, and nothing else."""

import itertools

import pytest

from quarterturn.accounts.roles import ROLES
from quarterturn.http.app import skeleton
from quarterturn.http.responses.access import ACCESS, require_all, routes_of

pytestmark = pytest.mark.slow

HERE = "http://testserver"
FILLED = {
    "id": "s-" + "a" * 16,
    "release": "Historical-2026-12",
    "path:path": "README.md",
    "file": "changes.csv",
    "month": "2026-12",
    "size": "1",
    "handle": "s-" + "0" * 32,
    "number": "99",  # of none: revoking one would change who may do what
}
REQUESTS = {
    ("POST", "/submissions"): {"image": "agent:1"},
    ("POST", "/checks"): {"image": "agent:1"},
    ("POST", "/admin/tokens"): {"account": "new", "role": "auditor"},
    ("PUT", "/display-names/{agent}"): {"name": "Falcon"},
    ("POST", "/runner/v1/registration"): {
        "version": 1,
        "box": "bwrap",
        "run_class": "sealed",
        "places": 1,
        "servers": {},
    },
    ("POST", "/runner/v1/alive"): {"servings": []},
    ("POST", "/admin/findings/{number}/review"): {"state": "open"},
}
QUERIES = {"/log/proof/inclusion": "?index=0", "/log/proof/consistency": "?from=1"}


def address(path: str) -> str:
    for name, value in FILLED.items():
        path = path.replace("{" + name + "}", value)
    return path + QUERIES.get(path, "")


def test_the_table_has_every_route_and_nothing_else():
    assert routes_of(skeleton()) == set(ACCESS)


def test_an_application_with_a_route_missing_in_the_table_does_not_start():
    app = skeleton()
    app.get("/forgotten")(lambda: None)
    with pytest.raises(RuntimeError, match="/forgotten"):
        require_all(app)


def test_every_route_and_every_role(site, problem):
    wrong = []
    for (method, path), scope in ACCESS.items():
        for role in (None, *ROLES):
            options = {"json": REQUESTS.get((method, path)), "headers": {"origin": HERE}, "follow_redirects": False}
            said = site.ask(method, address(path), role, **options)
            expected = None if scope is None or (role and scope in ROLES[role]) else 403 if role else 401
            found = said.status_code if said.status_code in (401, 403) else None
            if found != expected or said.status_code >= 500:
                wrong.append((method, path, role, said.status_code))
            if expected and not said.headers["content-type"].startswith("text/html"):
                assert problem(said) == {401: "unauthenticated", 403: "forbidden"}[expected]
    assert not wrong


def test_a_token_of_fewer_scopes_opens_less(site):
    site.tokens["narrow"] = site.house.auth.accounts.create("narrow", "maintainer", scopes=["metrics:read"])[0]
    assert site.get("/metrics", "narrow").status_code == 200
    assert site.get("/quota", "narrow").status_code == 403


def test_a_bad_token_is_nobody(site, problem):
    assert "no Authorization header" in site.get("/quota").json()["detail"]
    for header in ("", "Bearer", "Bearer ", "Basic {}", "bearer {} x", "Bearer qt_", "{}", "Bearer {}x"):
        said = site.get("/quota", headers={"authorization": header.format(site.tokens["submitter"])})
        assert (said.status_code, problem(said)) == (401, "unauthenticated"), header
        assert said.headers["www-authenticate"].startswith("Bearer")


def test_revoked_expired_and_unknown_tokens_get_the_same_answer(site, problem):
    gone = site.house.auth.accounts.create("gone", "submitter")
    site.house.auth.accounts.revoke(gone[1].id)
    tokens = (gone[0], "qt_" + "a" * 36, gone[0][:-1] + "x")
    said = [site.get("/quota", headers={"authorization": f"Bearer {token}"}) for token in tokens]
    assert len({one.content for one in said}) == 1
    assert problem(said[0]) == "unauthenticated"


def test_a_scheme_has_no_case_and_a_token_has(site):
    token = site.tokens["submitter"]
    assert site.get("/quota", headers={"authorization": f"bearer {token}"}).status_code == 200
    assert site.get("/quota", headers={"authorization": f"BEARER {token.lower()}"}).status_code == 401


def test_two_tokens_are_none(site):
    tokens = [("authorization", f"Bearer {site.tokens[role]}") for role in ("auditor", "submitter")]
    assert site.client.request("GET", "/quota", headers=tokens).status_code == 401


def test_nobody_sees_or_touches_what_is_somebody_elses(site, problem):
    ada, bob = site.account("ada"), site.account("bob")
    made = site.post("/submissions", {"image": "agent:1"}, ada).json()["id"]
    unknown = "s-" + "b" * 16
    for method, path in (
        ("GET", "/submissions/{}"),
        ("GET", "/submissions/{}/events"),
        ("POST", "/submissions/{}/cancel"),
        ("GET", "/runs/{}"),
        ("PUT", "/runs/{}/publication"),
        ("DELETE", "/runs/{}/publication"),
    ):
        theirs, none = (site.ask(method, path.format(name), bob) for name in (made, unknown))
        assert (theirs.status_code, theirs.content) == (none.status_code, none.content)
        assert problem(theirs) == "not-found"
    assert site.get("/submissions", bob).json()["submissions"] == []
    assert site.get(f"/submissions/{made}", ada).json()["state"] == "queued"


def test_the_same_routes_are_open_to_a_role_whoever_has_it():
    """The guide's table shows which role has a scope beside those that need one."""
    opened = {role: {row for row, scope in ACCESS.items() if scope is None or scope in ROLES[role]} for role in ROLES}
    assert opened["maintainer"] == {row for row, scope in ACCESS.items() if scope != "play"}, "a machine alone plays"
    for one, other in itertools.permutations(set(ROLES) - {"maintainer", "reviewer"}, 2):
        assert opened[one] - opened[other] or one == other
