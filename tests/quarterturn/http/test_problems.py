"""Tests of what a problem explains: the field, the value, what is expected, the limit, the state; and what it hides."""

from __future__ import annotations

import pytest

from quarterturn.http.responses.problems import DETAILS, PROBLEMS, shown

pytestmark = pytest.mark.slow

AGENT = {"image": "registry.example/agent:1"}
MEMBERS = ("field", "given", "expected")


@pytest.fixture
def ada(site):
    return site.account("ada")


def explained(answer, *names):
    body = answer.json()
    return tuple(body.get(name) for name in names or MEMBERS)


def test_every_code_has_a_status_a_title_and_a_next_step():
    assert PROBLEMS.keys() == DETAILS.keys()


@pytest.mark.parametrize(
    "case",
    [
        ({"image": "a b"}, "image", "a b", "such as ada/agent:1"),
        ({"image": "a b"}, "image", "a b", "the name of an image"),
        (AGENT | {"set": "live"}, "set", "live", "'dev' or 'private'"),
        (AGENT | {"counts": "yes"}, "counts", "yes", "true or false"),
        (AGENT | {"command": "rm -rf /"}, "command", None, "no field of this name"),
        ({"endpoint": "http://a.example/?key=1"}, "endpoint", None, "such as https://agent.example.org/tasks"),
        ({"image": "a " * 100}, "image", "a " * 29 + "a…", "such as"),
        (AGENT | {"set": "private", "model": "gpt"}, "model", "gpt", "a model that this service offers"),
        (AGENT | {"counts": True}, "counts", True, "`set` is private"),
    ],
)
def test_a_wrong_field_says_what_was_given_and_what_is_expected(site, ada, problem, case):
    body, field, given, expected = case
    said = site.post("/submissions", body, ada)
    assert problem(said) == "invalid"
    assert explained(said, "field", "given") == (field, given)
    assert expected in said.json()["expected"]
    assert said.json()["detail"].startswith(f"{field}: expected ")
    assert said.json()["errors"][0]["expected"] == said.json()["expected"]


@pytest.mark.parametrize(
    "value", ["qt_abc", "user:word@registry.example/a", "https://u:p@a.example", "t-" + "a" * 16, {"a": 1}, None]
)
def test_what_may_be_a_secret_is_not_shown(value):
    assert shown(value) is None


def test_a_digest_is_shown():
    assert str(shown("a@sha256:" + "0" * 64)).startswith("a@sha256:000")


def test_a_token_in_the_wrong_place_is_not_repeated(site, ada):
    token = site.tokens[ada]
    for said in (
        site.post("/submissions", {"image": f" {token}"}, ada),
        site.get(f"/submissions?cursor={token}", ada),
        site.get(f"/submissions/{token}", ada),
        site.get("/quota", headers={"authorization": token}),
    ):
        assert said.status_code >= 400
        assert token not in said.text


def test_several_wrong_fields_are_all_listed(site, ada):
    said = site.get("/submissions?limit=0&cursor=" + "x" * 65, ada).json()
    assert [wrong["pointer"] for wrong in said["errors"]] == ["/query/cursor", "/query/limit"]
    assert "1 more in `errors`" in said["detail"]
    assert said["errors"][1]["expected"] == "a number from 1 on"


def test_a_cursor_that_was_not_given_out_is_explained(site, ada, problem):
    for path in ("/submissions?cursor=nonsense", "/tasks?cursor=nonsense"):
        said = site.get(path, ada)
        assert problem(said) == "invalid"
        assert explained(said) == ("cursor", None, "the value of `next` in the page before")


def test_a_body_that_is_no_json_says_where_it_breaks(site, ada):
    said = site.ask("POST", "/submissions", ada, content='{"image": }', headers={"content-type": "application/json"})
    assert "Expecting value (character 10)" in said.json()["detail"]
    said = site.ask("POST", "/submissions", ada, content="{}", headers={"content-type": "text/plain"})
    assert explained(said) == ("Content-Type", "text/plain", "application/json")


def test_a_long_body_says_the_limit_in_bytes(live, serve):
    with serve(live, limits={"body_bytes": 2000}) as site:
        said = site.ask("POST", "/submissions", site.account("ada"), content=b" " * 2001)
        assert said.json()["limit"] == {"name": "body", "value": 2000, "unit": "bytes"}
        assert "2000 bytes" in said.json()["detail"]


def test_too_many_requests_say_the_rate_and_the_wait(live, serve, elsewhere):
    with serve(live, limits={"requests_per_minute": 1}) as site:
        client = elsewhere(site)
        client.get("/healthz")
        limit = client.get("/healthz").json()["limit"]
        assert limit == {"name": "requests", "value": 1, "unit": "requests a minute", "retry_after": 60}


@pytest.mark.parametrize(
    "case",
    [
        ({"private_per_month": 1}, "private", "private", "2027-01-01T00:00:00+00:00"),
        ({"dev_per_day": 1}, "dev", "dev", "2026-12-06T00:00:00+00:00"),
        ({"waiting": 1}, "dev", "waiting", None),
        ({"private_in_all": 1}, "private", "private_in_all", "2027-01-01T00:00:00+00:00"),
    ],
)
def test_a_used_up_quota_is_named_with_its_reset(live, serve, problem, case):
    limits, kind, name, resets_at = case
    with serve(live, limits=limits) as site:
        ada, body = site.account("ada"), AGENT | {"set": kind}
        site.post("/submissions", body, ada)
        said = site.post("/submissions", body, ada)
        assert problem(said) == "quota"
        limit = said.json()["limit"]
        assert (limit["name"], limit["value"], limit.get("resets_at")) == (name, 1, resets_at)
        assert resets_at is None or resets_at in said.json()["detail"]


def test_a_conflict_says_the_state(site, ada, played, problem):
    made = site.post("/submissions", AGENT, ada).json()["id"]
    said = site.ask("PUT", f"/runs/{made}/publication", ada)
    assert (problem(said), said.json()["state"]) == ("conflict", "queued")
    site.ask("POST", f"/submissions/{made}/cancel", ada)
    said = site.ask("POST", f"/submissions/{made}/cancel", ada)
    assert (problem(said), said.json()["state"]) == ("conflict", "cancelled")
    assert "already ended (cancelled)" in said.json()["detail"]
    played(site.house, 5, ada)
    said = site.post("/submissions", AGENT | {"set": "private", "counts": True}, ada)
    assert (problem(said), said.json()["state"]) == ("conflict", "run-begun")


def test_without_a_live_set_the_state_says_so(stocked, serve, problem):
    with serve(stocked) as site:
        said = site.post("/submissions", AGENT | {"set": "private"}, site.account("ada"))
        assert (problem(said), said.json()["state"]) == ("not-now", "no-live-set")


def test_a_used_key_is_told_apart_from_a_run_that_has_begun(site, ada, problem):
    key, wanted = {"idempotency-key": "one"}, AGENT | {"set": "private", "counts": True}
    assert site.post("/submissions", AGENT, ada, headers=key).status_code == 201
    assert problem(site.post("/submissions", wanted, ada, headers=key)) == "key-reused"


def test_what_is_absent_and_what_is_anothers_have_one_answer(site, ada):
    made = site.post("/submissions", AGENT, site.account("bob")).json()["id"]
    for path, method in (("/submissions/{}", "GET"), ("/submissions/{}/cancel", "POST"), ("/runs/{}", "GET")):
        theirs, absent = (site.ask(method, path.format(name), ada) for name in (made, "s-" + "a" * 16))
        assert (theirs.status_code, theirs.content) == (404, absent.content)


def test_who_lacks_a_scope_is_told_which_and_a_token_says_only_that_it_is_not_valid(site, ada, problem):
    said = site.get("/admin/tokens", ada)
    assert (problem(said), *explained(said, "expected", "given")) == ("forbidden", "admin", "submit")
    revoked = site.house.accounts.create("eve", "submitter")
    site.house.accounts.revoke(revoked[1].id)
    bodies = {
        site.get("/quota", headers={"authorization": f"Bearer {token}"}).content
        for token in (revoked[0], "qt_unknown", "")
    }
    assert len(bodies) == 1
    assert "no Authorization header" in site.get("/quota").json()["detail"]


def test_an_unsupported_method_names_those_that_there_are(site):
    said = site.ask("PATCH", "/submissions")
    assert explained(said, "given", "expected") == ("PATCH", "GET, HEAD, POST")
    assert said.headers["allow"] == "GET, HEAD, POST"


def test_a_review_and_a_token_say_which_field_is_wrong(site, problem):
    said = site.post("/admin/findings/1/review", {"state": "explained"}, "reviewer")
    assert (problem(said), said.json()["field"]) == ("invalid", "note")
    said = site.post("/admin/tokens", {"account": "x", "role": "auditor", "scopes": ["admin"]}, "maintainer")
    assert explained(said, "field", "expected") == ("scopes", "scopes of the role auditor: findings:read")
