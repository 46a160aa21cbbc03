"""Fixtures of the tests of boxes."""

import pytest

from .builders import listening


@pytest.fixture
def sockets(tmp_path):
    with listening(tmp_path / "sockets") as folder:
        yield folder
