"""Tests of the middleware around every route: headers, limits, and errors as problems."""

import asyncio
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from quarterturn.http.responses.access import ACCESS, methods_of
from quarterturn.http.responses.html import PAGE
from quarterturn.http.responses.middleware import SECURITY, Guard
from quarterturn.http.responses.problems import KINDS, PROBLEMS
from quarterturn.http.responses.rate_limit import Rate
from quarterturn.submissions.store.requests import SubmissionRequest

pytestmark = pytest.mark.slow

CHECK = SubmissionRequest("check", image="sha256:" + "0" * 64)
DEPLOY = Path(__file__).parents[3] / "quarterturn" / "deploy"


def test_every_answer_has_the_headers_of_safety(site):
    for path in {path for _, path in ACCESS} | {"/nowhere", "/tasks/", "//", "/%00"}:
        said = site.get(path)
        assert not {name for name, value in SECURITY.items() if said.headers.get(name) != value} - {
            "cross-origin-resource-policy",  # what is published may be read from anywhere
            *(PAGE if said.headers["content-type"].startswith("text/html") else ()),
        }, path
        assert "server" not in said.headers


def test_no_policy_lets_a_script_run_or_anything_be_loaded():
    assert SECURITY["content-security-policy"].startswith("default-src 'none'")
    assert "unsafe" not in repr(SECURITY)


def test_only_what_is_published_may_be_read_from_other_origins(site):
    assert site.get("/leaderboard").headers["access-control-allow-origin"] == "*"
    for path, who in {
        "/quota": "submitter",
        "/admin/tokens": "maintainer",
        "/metrics": "runner",
        "/healthz": None,
    }.items():
        assert "access-control-allow-origin" not in site.get(path, who).headers


def test_a_rate_limited_client_waits_and_was_warned_before(live, serve, elsewhere, problem):
    with serve(live, limits={"requests_per_minute": 3}) as site:
        client = elsewhere(site)
        left = [client.get("/healthz").headers["ratelimit"] for _ in range(3)]
        assert left == [f'"requests";r={n};t=60' for n in (2, 1, 0)]
        said = client.get("/healthz")
        assert (said.status_code, problem(said), said.headers["retry-after"]) == (429, "rate", "60")
        assert said.headers["ratelimit-policy"] == '"requests";q=3;w=60'
        limit = {"name": "requests", "value": 3, "unit": "requests a minute", "retry_after": 60}
        assert said.json()["limit"] == limit
        assert elsewhere(site).get("/healthz").status_code == 200


def test_a_browser_gets_the_refusals_of_the_middleware_as_pages(live, serve, elsewhere, problem):
    with serve(live, limits={"requests_per_minute": 2, "body_bytes": 1024}) as site:
        client = elsewhere(site)
        large = client.post("/sign-in", content=b"x" * 2000, headers={"accept": "text/html,*/*"})
        assert (large.status_code, "Send a smaller one" in large.text) == (413, True)
        client.get("/healthz")
        refused = client.get("/", headers={"accept": "text/html,*/*"})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
        assert refused.headers["content-type"] == "text/html; charset=utf-8"
        assert "<h1>Too many requests.</h1>" in refused.text
        assert problem(client.get("/")) == "rate"


def test_a_token_asks_as_seldom_from_many_addresses_as_from_one(live, serve, elsewhere, problem):
    with serve(live, limits={"requests_per_minute": 3}) as site:
        ask = lambda who: elsewhere(site).get("/quota", headers={"authorization": f"Bearer {site.tokens[who]}"})  # noqa: E731
        site.account("ada"), site.account("bob")
        assert [ask("ada").status_code for _ in range(3)] == [200] * 3
        said = ask("ada")
        assert (problem(said), said.headers["retry-after"]) == ("rate", "60")
        assert ask("bob").status_code == 200


def test_authentication_comes_before_validation(site, problem):
    for who, code in ((None, "unauthenticated"), ("auditor", "forbidden"), ("submitter", "malformed")):
        said = site.ask("POST", "/submissions", who, content=b"{", headers={"content-type": "application/json"})
        assert problem(said) == code


def test_one_network_of_the_sixth_version_is_one_address(live, serve):
    from starlette.testclient import TestClient

    with serve(live, limits={"requests_per_minute": 1}) as site:
        ask = lambda host: TestClient(site.client.app, client=(host, 1)).get("/healthz").status_code  # noqa: E731
        assert [ask("2001:db8:0:1::1"), ask("2001:db8:0:1:ffff::2"), ask("2001:db8:0:2::1")] == [200, 429, 200]


def test_a_body_that_is_too_long_is_not_read_to_its_end(live, serve, problem):
    with serve(live, limits={"body_bytes": 2000}) as site:
        ada = site.account("ada")
        read = []

        def endless():
            for _ in range(1000):
                read.append(1)
                yield b" " * 1000

        for content in (b" " * 3000, endless()):
            said = site.ask("POST", "/submissions", ada, content=content, headers={"content-type": "application/json"})
            assert (said.status_code, problem(said)) == (413, "too-large")
            assert said.json()["limit"] == {"name": "body", "value": 2000, "unit": "bytes"}
            assert "2000 bytes" in said.json()["detail"]
        content = b" " * 1900 + b'{"image": "a"}'
        said = site.ask("POST", "/submissions", ada, content=content, headers={"content-type": "application/json"})
        assert said.status_code == 201


def test_not_found_is_a_page_for_a_browser_and_a_problem_for_a_program(site, problem):
    browser = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    said = site.get("/nowhere", headers=browser)
    assert (said.status_code, said.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert (said.headers["vary"], said.headers["cache-control"]) == ("accept", "no-store")
    assert "<h1" in said.text
    for accept in ("*/*", "application/json", "application/problem+json"):
        assert problem(site.get("/nowhere", headers={"accept": accept})) == "not-found"
    assert problem(site.get("/tasks/t-nosuch", headers=browser)) == "not-found", "of what programs ask, a problem"


def test_every_route_names_its_methods_to_whoever_uses_another(site, problem):
    for path in {path for _, path in ACCESS}:
        said = site.ask("PATCH", path)
        allowed = ", ".join(methods_of(path))
        assert (path, problem(said), said.headers["allow"]) == (path, "method-not-allowed", allowed)
        assert (said.json()["given"], said.json()["expected"]) == ("PATCH", allowed)
    assert site.ask("DELETE", "/tasks").headers["allow"] == "GET, HEAD"
    assert site.ask("PUT", "/admin/tokens", "maintainer").headers["allow"] == "GET, HEAD, POST"


def test_a_body_that_breaks_off_reaches_no_route():
    routed = []

    async def route(scope, receive, send):
        routed.append(await receive())

    messages = [{"type": "http.request", "body": b"note=it was not", "more_body": True}, {"type": "http.disconnect"}]

    async def receive():
        return messages.pop(0)

    async def send(message):
        routed.append(message)

    headers = [(b"transfer-encoding", b"chunked")]
    scope = {"type": "http", "method": "POST", "path": "/mine", "headers": headers, "client": ("192.0.2.1", 1)}
    guard = Guard(route, Rate(9, lambda: 0.0), 999, Counter(), lambda *_: None)
    asyncio.run(guard(scope, receive, send))
    assert (routed, messages) == ([], [])


def test_a_server_error_is_a_problem_without_its_message(site, problem, monkeypatch, caplog):
    def breaks():
        raise ValueError("a word of a task")

    monkeypatch.setattr(site.house.auth.accounts, "list", breaks)
    said = site.get("/admin/tokens", "maintainer")
    assert (said.status_code, problem(said)) == (500, "mistake")
    assert "word" not in said.text + caplog.text
    assert "ValueError in breaks" in caplog.text


def test_a_home_that_cannot_work_says_so(site, problem, monkeypatch):
    assert site.get("/readyz").json() == {"ok": True, "behind": False}
    site.house.home.places.head.unlink()
    site.house.home.places.head.mkdir()
    assert problem(site.get("/readyz")) == "unavailable"
    assert site.get("/healthz").status_code == 200


def test_requests_are_counted_by_route_and_name_nobody(site):
    site.get("/tasks/t-aaaaaaaaaaaaaaaa")
    text = site.get("/metrics", "runner").text
    assert 'quarterturn_requests_total{route="/tasks/{id}",method="GET",status="404"} 1' in text
    assert "t-aaaa" not in text
    assert all(line.startswith(("#", "quarterturn_")) for line in text.splitlines())


def test_the_metrics_say_when_the_next_turn_is_due_and_which_notices_are_unsent(site):
    site.house.month.clock.look()
    said = site.get("/metrics", "runner").text
    assert "quarterturn_next_turn_seconds 1798761600" in said  # 2027-01-01
    assert "quarterturn_turn_overdue 0" in said
    assert "# TYPE quarterturn_notices_given_up gauge" in said
    assert re.search(r'quarterturn_notices_unsent\{channel="log"\} \d', said) or not site.house.month.outbox.posted()


def test_the_metrics_say_how_the_queue_and_the_newest_runs_stand_and_each_alert_is_of_one_of_them(site):
    house = site.house
    house.auth.accounts.create("ada-2", "submitter")
    for _ in range(3):
        house.submissions.store.take("ada-2", CHECK, month="2026-12")
    assert house.submissions.queue.finish(house.submissions.queue.claim("w"), "machine")
    text = site.get("/metrics", "runner").text
    for line in (
        'quarterturn_submissions{state="queued"} 2',
        'quarterturn_recent_runs{outcome="machine"} 1',
        'quarterturn_recent_run_seconds{quantile="0.95"} 0',
    ):
        assert line in text
    assert re.search(r"^quarterturn_queue_age_seconds \d+$", text, re.M)
    assert re.search(r'^quarterturn_disk_free_bytes\{folder="home"\} \d+$', text, re.M)
    rules = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"][0]["rules"]
    named = {name for rule in rules for name in re.findall(r"quarterturn_\w+", rule["expr"])}
    known = set(re.findall(r"^# TYPE (\w+)", text, re.M))
    assert named <= known | {"quarterturn_runners_alive"}, "a service without registered runners counts none"


def test_every_kind_of_error_is_a_problem_of_the_table():
    kinds = {"no", "malformed", "not-found", "not-allowed", "quota", "unavailable", "locked", "refused"}
    assert kinds <= KINDS.keys()
    assert set(KINDS.values()) <= PROBLEMS.keys()
