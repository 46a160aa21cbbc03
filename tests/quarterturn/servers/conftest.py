"""Fixtures of the tests of added servers."""

import pytest

from sandbox.servers.registry import SERVERS
from verifiers.predicates import namespaces

from .npm_registry import registry
from .shelf import notebook, shelf

__all__ = ["forgotten", "notebook", "registry", "shelf"]


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """Forget the servers that a test adds to this process."""
    for name in ("_KINDS", "_OWN", "_ENTRIES"):
        monkeypatch.setattr(namespaces, name, dict(getattr(namespaces, name)))
    monkeypatch.setattr(SERVERS, "_servers", dict(SERVERS))
