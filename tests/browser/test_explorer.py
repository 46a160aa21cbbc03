"""The explorer: what it says of a task, a hash and a file, and that it believes nobody."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def ask(page):
    """Ask the page, and give the answer's element."""

    def question(text=None, file=None):
        if page.url == "about:blank":
            page.goto("/explorer")
        if file is not None:
            page.set_input_files("#file", file)
        else:
            page.fill("#q", text)
            page.click("text=Look it up")
        page.wait_for_selector("#answer .answer")
        return page.locator("#answer .answer").inner_text()

    return question


@pytest.fixture(scope="session")
def release(site):
    return next((site.public / "releases").iterdir())


@pytest.fixture(scope="session")
def opening(release):
    return json.loads((release / "openings.jsonl").read_text().splitlines()[0])


def test_a_published_task_is_opened(ask, opening):
    said = ask(opening["id"])
    assert f"was fixed in leaf {opening['commit']}, before its first run" in said
    assert f"open the commitment {opening['commitment']}" in said
