"""Fixtures of the tests of keys: every passphrase is cheap to try."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def _cheap(cheap_derivation: None) -> None:
    """Derive keys at the lowest cost in each of these tests."""
