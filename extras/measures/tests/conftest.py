"""Fixtures of the application's tests, for the verbs of this extra."""

from tests.quarterturn.conftest import *  # noqa: F403 - pytest finds fixtures by their names
