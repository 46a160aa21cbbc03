"""Tests of signing in on pages: a cookie for the service's own pages, and forms that no other site can send."""

import itertools

import pytest
from starlette.testclient import TestClient

pytestmark = pytest.mark.slow

HERE = {"origin": "http://testserver"}


@pytest.fixture
def browser(site):
    """Return a client with a token that is not signed in."""
    site.account("ada")
    return TestClient(site.client.app, raise_server_exceptions=False, follow_redirects=False)


def sign_in(browser, token, to="", **how):
    return browser.post("/sign-in", data={"token": token, "to": to}, headers=how.pop("headers", HERE), **how)


def test_after_signing_in_a_user_returns_to_the_page_that_was_refused(site, browser):
    said = browser.get("/mine")
    assert (said.status_code, said.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert 'name="to" value="/mine"' in said.text
    said = sign_in(browser, f" {site.tokens['ada']}\n", "/mine")
    assert (said.status_code, said.headers["location"]) == (303, "/mine")
    assert "ada" in browser.get("/mine").text


def test_the_cookie_is_read_by_no_script_sent_by_no_other_site_and_gone_tomorrow(site, browser):
    kept = sign_in(browser, site.tokens["ada"]).headers["set-cookie"]
    assert kept == f"quarterturn={site.tokens['ada']}; HttpOnly; Max-Age=43200; Path=/; SameSite=strict"


def test_over_https_no_other_host_sets_it_and_it_never_goes_in_the_clear(site):
    site.account("ada")
    browser = TestClient(site.client.app, "https://testserver", follow_redirects=False)
    kept = sign_in(browser, site.tokens["ada"], headers={"origin": "https://testserver"}).headers["set-cookie"]
    assert kept.startswith("__Host-quarterturn=")
    assert "; Secure" in kept
    assert "Domain" not in kept
    assert browser.get("/mine").status_code == 200


def test_it_opens_pages_and_nothing_of_the_interface(site, browser, problem):
    sign_in(browser, site.tokens["ada"])
    assert browser.get("/mine/quotas.json").status_code == 200
    for method, path in (
        ("GET", "/quota"),
        ("GET", "/submissions"),
        ("POST", "/submissions"),
        ("GET", "/admin/tokens"),
    ):
        assert problem(browser.request(method, path, headers=HERE, json={"image": "a:1"})) == "unauthenticated"


CROSS_SITE = [
    {},
    {"origin": "null"},
    {"origin": "https://evil.example"},
    {"origin": "http://testserver.evil.example"},
    {"origin": "http://testserver", "sec-fetch-site": "cross-site"},
    {"origin": "http://testserver", "sec-fetch-site": "same-site"},
    {"sec-fetch-site": "none"},
]


def test_every_cross_site_form_is_refused(site, browser):
    sign_in(browser, site.tokens["ada"])
    made = site.post("/submissions", {"image": "agent:1"}, "ada").json()["id"]
    for headers, path in itertools.product(CROSS_SITE, ("/sign-in", "/sign-out", f"/submission/{made}/cancel")):
        said = browser.post(path, data={"token": site.tokens["ada"]}, headers=headers)
        assert (said.status_code, "set-cookie" in said.headers) == (403, False), (path, headers)
    assert site.get(f"/submissions/{made}", "ada").json()["state"] == "queued"


def test_a_submission_cancelled_on_its_page_costs_nothing(site, browser):
    sign_in(browser, site.tokens["ada"])
    made = site.post("/submissions", {"image": "agent:1"}, "ada").json()["id"]
    assert "first in the queue" in browser.get(f"/submission/{made}").text
    said = browser.post(f"/submission/{made}/cancel", headers={"sec-fetch-site": "same-origin"})
    assert (said.status_code, said.headers["location"]) == (303, f"/submission/{made}")
    assert "cancelled" in browser.get(f"/submission/{made}").text
    assert site.get(f"/submissions/{made}", "ada").json()["charged"] is False
    again = browser.post(f"/submission/{made}/cancel", headers=HERE)
    assert (again.status_code, again.headers["content-type"]) == (409, "text/html; charset=utf-8")


def test_an_invalid_token_is_refused_and_not_repeated(browser):
    for token in ("", "qt_", "qt_" + "a" * 36, "\x00", "é" * 40, "x" * 4000):
        said = sign_in(browser, token)
        assert (said.status_code, "set-cookie" in said.headers) == (422, False), token
        assert "Invalid token" in said.text
        assert len(token) < 3 or token not in said.text.replace("qt_…", "")


def test_it_redirects_only_to_pages_of_the_service(site, browser):
    for to in ("https://evil.example/", "//evil.example", "/\\evil.example", "/mine?x=1", "/mine\n", "x"):
        assert sign_in(browser, site.tokens["ada"], to).headers["location"] == "/mine", to


def test_everybody_comes_to_the_first_page_that_their_token_opens(site, browser):
    for role, page in {"auditor": "/findings/details", "runner": "/", "maintainer": "/mine"}.items():
        assert sign_in(browser, site.tokens[role]).headers["location"] == page


def test_signing_out_or_revocation_ends_a_session(site, browser):
    sign_in(browser, site.tokens["ada"])
    said = browser.post("/sign-out", headers=HERE)
    assert (said.status_code, said.headers["location"]) == (303, "/sign-in")
    assert browser.get("/mine").status_code == 401
    text, token = site.house.auth.accounts.create("bob", "submitter")
    sign_in(browser, text)
    assert browser.get("/mine").status_code == 200
    site.house.auth.accounts.revoke(token.id)
    assert browser.get("/mine").status_code == 401


def test_a_page_that_the_token_does_not_open_says_so(site, browser):
    sign_in(browser, site.tokens["ada"])
    said = browser.get("/findings/details")
    assert (said.status_code, said.headers["content-type"]) == (403, "text/html; charset=utf-8")
    assert "This route needs the scope findings:read" in said.text
    assert '<a href="/sign-in">Sign in with another token</a>' in said.text
