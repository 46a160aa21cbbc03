"""Tests of the explorer as served: a page with a narrow content security policy, its script, and a page to download."""

import hashlib

import pytest

from quarterturn.http.responses.middleware import SECURITY
from vault.ledger import browser

pytestmark = pytest.mark.slow


@pytest.mark.full
def test_only_the_explorers_own_script_runs_and_it_reaches_this_service_alone(published):
    said = published.get("/explorer")
    have = dict(one.split(" ", 1) for one in said.headers["content-security-policy"].split("; "))
    strict = dict(one.split(" ", 1) for one in SECURITY["content-security-policy"].split("; "))
    assert have | strict == have | {"form-action": "'none'"}
    own = {name: have[name] for name in have.keys() - strict.keys()}
    assert own == dict.fromkeys(("script-src", "connect-src", "style-src"), "'self'")
    assert said.text.count("<script") == 1
    assert published.get("/static/explorer.js").content == browser.explorer()
    assert published.get("/static/explorer.js").headers["content-type"] == "text/javascript; charset=utf-8"


def test_the_page_knows_the_logs_key_and_names_every_release(published):
    text = published.get("/explorer").text
    assert f'value="{published.house.home.places.log_vkey.read_text().strip()}"' in text
    assert 'href="/release/Historical-2026-12"' in text


def test_before_the_first_release_it_says_so(site):
    assert "Nothing has been released yet." in site.get("/explorer").text


def test_the_page_to_take_away_is_the_one_of_the_release_and_is_never_run_here(published):
    said = published.get("/verify.html")
    assert said.content == browser.page()
    assert said.headers["content-disposition"] == 'attachment; filename="verify.html"'
    released = published.get("/releases/Historical-2026-12/files/verify.html")
    assert released.content == said.content
    assert released.headers["content-type"] == "application/octet-stream"
    for one in (said, released):
        assert one.headers["content-security-policy"] == SECURITY["content-security-policy"]
    listed = published.get("/releases/Historical-2026-12").json()["manifest"]["files"]["verify.html"]
    assert listed == {"bytes": len(said.content), "sha256": hashlib.sha256(said.content).hexdigest()}
