"""Tests of `--changed`: which test files it selects, in a checkout of a few files."""

from __future__ import annotations

import pytest

from ..changed import affected

FILES = {
    "vault/__init__.py": "",
    "vault/db.py": "import sqlite3\n",
    "vault/store.py": "def look():\n    from vault import db\n",
    "sandbox/place.py": "",
    "sandbox/servers/git/start.py": "OPTIONS = 'start.json'\n",
    "quarterturn/cli/__init__.py": "from quarterturn.cli import month\n",
    "quarterturn/cli/month.py": "import vault.store\nfrom quarterturn import extras\n",
    "conftest.py": "import vault.migrations\n@pytest.fixture(scope='session')\ndef migrated(): ...\n",
    "extras/export/quarterturn_export/harbor.py": "",
    "extras/export/tests/test_harbor.py": "from quarterturn_export import harbor\n",
    "quarterturn/extras.py": "",
    "tests/vault/conftest.py": "from ..builders import task\n@pytest.fixture\ndef home(tmp_path): ...\n",
    "tests/builders.py": "",
    "tests/vault/test_store.py": "from vault.store import look\ndef test_look(home): ...\n",
    "tests/vault/test_db.py": "def test_it(migrated): ...\n",
    "tests/vault/test_pages.py": "PAGE = ROOT / 'docs' / 'SPEC.md'\n",
    "tests/sandbox/test_place.py": "PROGRAM = 'python3 -m sandbox.place'\n",
    "tests/sandbox/test_git.py": "from sandbox.servers.git import start\n",
    "tests/journeys/test_demo.py": "RUN = Path(sys.prefix) / 'bin' / 'quarterturn'\n",
}
ALL = {path for path in FILES if "/test_" in path}


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        (["vault/db.py"], {"store", "demo"}),
        (["vault/store.py"], {"store", "demo"}),
        (["vault/gone.py"], set()),
        (["quarterturn/cli/month.py"], {"demo"}),
        (["extras/export/quarterturn_export/harbor.py"], {"demo", "harbor"}),
        (["sandbox/place.py"], {"place"}),
        (["sandbox/servers/git/start.json"], {"git"}),
        (["vault/migrations.py"], {"db"}),
        (["tests/builders.py"], {"store"}),
        (["tests/vault/conftest.py"], {"store", "pages", "db"}),
        (["tests/vault/test_store.py"], {"store"}),
        (["docs/SPEC.md"], {"pages"}),
        (["docs/adr/0001-x.md"], {"pages"}),
        (["CHANGELOG.md"], set()),
        ([], set()),
    ],
)
def test_dependents_of_a_change_are_selected(changed: list[str], names: set[str]) -> None:
    selected = affected(changed, FILES) & ALL
    assert {path.rpartition("/test_")[2].removesuffix(".py") for path in selected} == names


@pytest.mark.parametrize("path", ["pyproject.toml", "requirements/tests.txt", "conftest.py"])
def test_a_change_of_the_project_file_selects_everything(path: str) -> None:
    assert affected([path], FILES) >= ALL


def test_importers_of_a_removed_file_are_selected() -> None:
    without = {path: text for path, text in FILES.items() if path != "vault/db.py"}
    assert "tests/vault/test_store.py" in affected(["vault/db.py"], without)
