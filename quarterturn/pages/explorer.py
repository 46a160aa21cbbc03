"""Log explorer page: a form to look up tasks, hashes and files; its script finds and verifies the answers. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from quarterturn.pages.templates import render

HERE = "/explorer"


def page(key: str, releases: Sequence[str]) -> str:
    """Draw the page.

    Args:
        key: the log's key, as this service knows it.
        releases: what was published, the oldest first.
    """
    return render("explorer.html.jinja", here=HERE, key=key, releases=releases)
