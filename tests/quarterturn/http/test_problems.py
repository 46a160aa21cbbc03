"""Tests of what a problem explains: the field, the value, what is expected, the limit, the state; and what it hides."""

import pytest

from quarterturn.http.responses.models import EXAMPLES, WORDS
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


WRONG_FIELDS = [
    ({"image": "a b"}, "image", "a b", "the name of an image, such as ada/agent:1"),
    ({"image": 1}, "image", 1, "text"),
    ({"image": "a " * 100}, "image", "a " * 29 + "a…", "such as"),
    (AGENT | {"set": "live"}, "set", "live", "'dev' or 'private'"),
    (AGENT | {"counts": "yes"}, "counts", "yes", "true or false"),
    (AGENT | {"counts": True}, "counts", True, "`set` is private"),
    (AGENT | {"command": "rm -rf /"}, "command", None, "no field of this name"),
    ({"endpoint": "http://a.example/?key=1"}, "endpoint", None, "a URL that begins with https://"),
    (AGENT | {"set": "private", "model": "gpt"}, "model", "gpt", "a model that this service offers"),
]


def test_a_wrong_field_says_what_was_given_and_what_is_expected_and_nothing_is_submitted(site, ada, problem):
    for body, field, given, expected in WRONG_FIELDS:
        said = site.post("/submissions", body, ada)
        assert problem(said) == "invalid", body
        assert explained(said, "field", "given") == (field, given)
        assert expected in said.json()["expected"]
        assert said.json()["detail"].startswith(f"{field}: expected ")
        assert explained(said, "errors")[0][0]["expected"] == said.json()["expected"]
        assert explained(said, "errors")[0][0]["pointer"] == f"/body/{field}"
        assert "rm -rf" not in said.text
    assert problem(site.post("/submissions", [], ada)) == "invalid"
    assert site.get("/submissions", ada).json()["submissions"] == []


def test_what_may_be_a_secret_is_not_shown_and_a_digest_is():
    secrets = ["qt_abc", "user:word@registry.example/a", "https://u:p@a.example", "t-" + "a" * 16, {"a": 1}, None]
    assert [shown(value) for value in secrets] == [None] * len(secrets)
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


def test_a_query_parameter_that_a_route_does_not_have_is_refused_with_those_that_it_has(site, ada, problem):
    names = "one of this route's query parameters (set, cursor, limit)"
    for said, field, expected in (
        (site.get("/tasks?limit=5&curser=abc"), "curser", names),
        (site.get("/submissions?limt=5", ada), "limt", "(cursor, limit)"),
        (site.get("/rotations?month=2026-12"), "month", "no query parameter on this route"),
        (site.post("/submissions?set=dev", AGENT, ada), "set", "no query parameter on this route"),
        (site.get(f"/quota?{site.tokens[ada]}", ada), "a name", "no query parameter on this route"),
    ):
        assert problem(said) == "invalid"
        assert said.json()["field"] == field
        assert expected in said.json()["expected"]
        assert site.tokens[ada] not in said.text
    assert problem(site.get("/submissions?limt=5")) == "unauthenticated"
    assert site.get("/?utm_source=mail").status_code == 200
    assert site.get("/submissions", ada).json()["submissions"] == []


def test_a_form_is_said_in_words_and_not_as_a_pattern(site, ada):
    for path, expected in (
        ("/submissions?cursor=x", "the value of `next` in the page before"),
        ("/leaderboard?month=2026-13", "a month as YYYY-MM, such as 2026-12"),
    ):
        assert explained(site.get(path, ada), "expected") == (expected,)
    assert set(EXAMPLES) <= set(WORDS)


def test_what_is_not_there_names_where_to_look(site, played, problem):
    for path, words in (
        ("/submission", "GET /docs lists the routes"),
        ("/leaderboard?month=2020-01", "GET /rotations lists the turns"),
        ("/log/proof/inclusion?index=5&size=2", "`index` is below `size`"),
        ("/log/proof/consistency?from=9&to=2", "`from` is 1 to `to`"),
    ):
        said = site.get(path)
        assert (problem(said), words in said.json()["detail"]) == ("not-found", True), path


def test_a_body_without_a_content_type_is_told_to_send_one(site, ada, problem):
    said = site.ask("POST", "/submissions", ada, content=b'{"image":"a/b:1"}')
    assert problem(said) == "unsupported-media-type"
    assert explained(said, "field", "expected") == ("Content-Type", "application/json")
    assert problem(site.ask("POST", "/submissions", ada)) == "invalid", "there is no body"


def test_a_body_that_is_no_json_says_where_it_breaks(site, ada, problem):
    said = site.ask("POST", "/submissions", ada, content='{"image": }', headers={"content-type": "application/json"})
    assert (problem(said), "Expecting value (character 10)" in said.json()["detail"]) == ("malformed", True)
    for media in ("text/plain", "application/x-www-form-urlencoded"):
        said = site.ask("POST", "/submissions", ada, content="{}", headers={"content-type": media})
        assert problem(said) == "unsupported-media-type"
        assert explained(said) == ("Content-Type", media, "application/json")


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


def test_who_lacks_a_scope_is_told_which(site, ada, problem):
    said = site.get("/admin/tokens", ada)
    assert (problem(said), *explained(said, "expected", "given")) == ("forbidden", "admin", "submit")


def test_a_review_and_a_token_say_which_field_is_wrong(site, problem):
    said = site.post("/admin/findings/1/review", {"state": "explained"}, "reviewer")
    assert (problem(said), said.json()["field"]) == ("invalid", "note")
    said = site.post("/admin/tokens", {"account": "x", "role": "auditor", "scopes": ["admin"]}, "maintainer")
    assert explained(said, "field", "expected") == ("scopes", "scopes of the role auditor: findings:read")
