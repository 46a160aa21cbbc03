"""Folder of packages that stands for a registry: pip's own settings name it, so the real installer installs from it."""

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("notebook.py")
MANIFEST = """\
server: notebook
package: "pypi:mcp-notebook"
version: "1.0"
state: {kind: json_document, file: notes.json}
command: ["{python}", -I, -m, mcp_notebook, "{state}/notes.json"]
"""


def put(
    folder: Path, program: str | None = None, version: str = "1.0", more: Mapping[str, str | bytes] | None = None
) -> Path:
    """Put a release of the package `mcp-notebook` onto the shelf; `more` are further files of its wheel."""
    info = f"mcp_notebook-{version}.dist-info"
    files = {
        "mcp_notebook/__init__.py": "",
        "mcp_notebook/__main__.py": PROGRAM.read_text() if program is None else program,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: mcp-notebook\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = [
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},"
        for name, text in files.items()
    ]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,"]) + "\n"
    path = folder / f"mcp_notebook-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, content in (files | dict(more or {})).items():
            wheel.writestr(name, content)
    return path


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """Return a shelf with the package, which is all that there is to install."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    put(folder)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def notebook(tmp_path, shelf):
    folder = tmp_path / "notebook"
    folder.mkdir()
    (folder / "server.yaml").write_text(MANIFEST)
    return folder
