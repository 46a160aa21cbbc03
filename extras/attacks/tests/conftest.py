"""Fixture of the application's tests that runs a verb."""

from tests.quarterturn.conftest import say  # noqa: F401 - pytest finds fixtures by their names
