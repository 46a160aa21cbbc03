"""The explorer's page: a box to ask the log with. What it shows is found and checked by its script. Pure."""

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
