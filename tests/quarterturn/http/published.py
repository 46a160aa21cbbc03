"""A service with a release that the tests of a module only read, so that it is made and served once for all of them."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..conftest import copy_of
from .conftest import Site, served, turned_from


@pytest.fixture(scope="module")
def published(templates: Path, memory: Path) -> Iterator[Site]:
    """Serve a home with a release."""
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        live = copy_of(templates, "live", Path(folder) / "home", tasks=5, live=True)
        with served(turned_from(live, templates)) as site:
            yield site
