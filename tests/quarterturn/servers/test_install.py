"""Tests of the installation of a package, by the real clients, without a registry; the unpacker runs without a box."""

import json
import subprocess
import sys
from contextlib import contextmanager

import pytest

from quarterturn.errors import Malformed, Unavailable
from quarterturn.servers import install as module
from quarterturn.servers.install import install
from sandbox.images.added import unpack

HASH = "0" * 64


class NoBox:
    """What stands for the box: the unpacker as a process of its own, with no wall around it."""

    def __init__(self, run_class):
        assert run_class == "sealed"

    def check(self):
        pass

    @contextmanager
    def unpacking(self, kind, archives, place, mtime):
        command = [sys.executable, "-I", "-S", unpack.__file__, kind, archives, place, str(mtime)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            yield process.stdout


@pytest.fixture(autouse=True)
def no_box(monkeypatch):
    monkeypatch.setattr(module, "BwrapBox", NoBox)


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize("name", ["MCP_Notebook", "mcp.notebook[extra]"])
def test_a_package_is_found_however_its_name_is_spelled(tmp_path, name):
    install(tmp_path, "notebook", f"pypi:{name}", "1.0")
    assert (tmp_path / "python/bin/python").exists()
    assert (tmp_path / "requirements.txt").read_text().startswith("mcp-notebook==1.0 ")
    run = [tmp_path / "python/bin/python", "-I", "-c", "import mcp_notebook; print(mcp_notebook.__cached__)"]
    cached = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert cached.startswith(str(tmp_path / "python/lib"))
    assert not list(tmp_path.glob(".*")), "what was fetched is gone"


@pytest.mark.usefixtures("shelf")
def test_a_failure_is_one_sentence_with_what_to_mend(tmp_path):
    with pytest.raises(Unavailable) as caught:
        install(tmp_path, "notebook", "pypi:mcp-notebook", "2.0", tmp_path / "source")
    assert "\n" not in str(caught.value)
    assert "mcp-notebook==2.0" in str(caught.value)
    assert "mend package or version in the manifest" in str(caught.value)


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize(
    ("lock", "error", "says"),
    [
        (f"mcp-other==1.0 --hash=sha256:{HASH}\n", Malformed, r"source/requirements\.txt does not pin"),
        ("mcp-notebook==1.0\n", Malformed, "line 1 has no hash"),
        (f"mcp-notebook==1.0 --hash=sha256:{HASH}\n", Unavailable, "(?i)hash"),
        (b"\xff", Malformed, "is not UTF-8 text"),
        (b"#" * (9 << 20), Malformed, "which no lock has"),
    ],
)
def test_a_lock_of_a_python_package_is_kept_to(tmp_path, lock, error, says):
    (tmp_path / "requirements.txt").write_bytes(lock if isinstance(lock, bytes) else lock.encode())
    with pytest.raises(error, match=says):
        install(tmp_path, "notebook", "pypi:mcp-notebook", "1.0", tmp_path / "source")
    assert not (tmp_path / "python").exists()


def test_a_client_is_given_constraints_as_they_were_read(tmp_path, shelf):
    (tmp_path / "constraints.txt").write_text(f"-r {shelf}/other.txt\n")
    with pytest.raises(Malformed, match=r"source/constraints\.txt, line 1 is no name with its versions"):
        install(tmp_path, "notebook", "pypi:mcp-notebook", "1.0", tmp_path / "source")
    (tmp_path / "constraints.txt").write_text("mcp-notebook<1\n")
    with pytest.raises(Unavailable, match=r"mcp-notebook<1"):
        install(tmp_path, "notebook", "pypi:mcp-notebook", "1.0", tmp_path / "source")


def test_the_registry_must_have_the_bytes_that_an_npm_lock_pins(tmp_path, registry):
    integrity = registry.put("board", "1.0.0")
    entry = {"version": "1.0.0", "integrity": integrity}
    packages = {"": {"dependencies": {"board": "1.0.0"}}, "node_modules/board": entry}
    lock = tmp_path / "package-lock.json"
    lock.write_text(json.dumps({"lockfileVersion": 3, "packages": packages}))
    install(tmp_path, "board", "npm:board", "1.0.0")
    assert (tmp_path / "npm/node_modules/board/index.js").is_file()
    registry.put("board", "1.0.0", description="another")
    with pytest.raises(Unavailable, match=r"board@1\.0\.0 has another hash"):
        install(tmp_path, "board", "npm:board", "1.0.0")
    assert (tmp_path / "npm/node_modules/board/index.js").is_file(), "what was there stays"
