"""Container images of a test run: built while tests that need none run; the tests that need them wait."""

from __future__ import annotations

import os
from functools import cache

import pytest

from quarterturn.launcher.images import build
from quarterturn.launcher.steps import Stop


def engine_last(items: list[pytest.Item]) -> None:
    """Move the tests that need an engine behind all others, and keep the order otherwise."""
    items.sort(key=lambda item: item.get_closest_marker("engine") is not None)


def wait_for_images() -> None:
    """Wait until the images are built; another builder holds a lock, and what is missing then is built here.

    Fails the test with the last words of a build that failed.
    """
    if (failure := _failure()) is not None:
        pytest.fail(failure, pytrace=False)


@cache
def _failure() -> str | None:
    try:
        build(os.environ)
    except Stop as stop:
        return str(stop)
    return None
