"""Tests of a submission's page in a browser: it follows its submission by itself, and without a script by a link."""

from __future__ import annotations

import httpx2
import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def made(site):
    bearer = {"authorization": f"Bearer {site.tokens['maintainer']}"}
    return httpx2.post(f"{site.url}/checks", json={"image": "agent:2"}, headers=bearer).json()["id"]


def test_the_page_follows_its_submission_to_its_end(site, new_page, made):
    page = new_page(who="maintainer")
    page.goto(f"/submission/{made}")
    page.wait_for_selector("text=This page updates itself")
    assert "waiting" in page.locator("main").inner_text()
    httpx2.post(
        f"{site.url}/submissions/{made}/cancel", headers={"authorization": f"Bearer {site.tokens['maintainer']}"}
    )
    page.wait_for_selector("text=Cancelled with the code cancelled")
    assert page.locator("#live").count() == 0


def test_without_a_script_there_is_a_link(new_page, made):
    page = new_page(who="maintainer", java_script_enabled=False)
    page.goto(f"/submission/{made}")
    assert "updates itself" not in page.locator("main").inner_text()
    page.click("text=Refresh")
    assert "waiting" in page.locator("main").inner_text()
    page.click("button:has-text('Cancel')")
    page.wait_for_selector("text=Cancelled with the code cancelled")


def test_a_form_submits_and_says_what_is_wrong_without_a_script(new_page):
    page = new_page(who="maintainer", java_script_enabled=False)
    page.goto("/mine")
    page.fill("#agent", "two words")
    page.click("button:has-text('Submit')")
    page.wait_for_selector("#agent-wrong")
    assert page.input_value("#agent") == "two words"
    page.wrong.clear()  # the status of the answer, 422
    page.fill("#agent", "agent:3")
    page.check("input[value=check]")
    page.click("button:has-text('Submit')")
    page.wait_for_selector("text=Image on one task of the dev set")
    assert page.locator("h1").inner_text() == "agent:3"
