"""Tests that no code of a package runs outside the box while its server is added: each package plants a canary.

A canary lies below /tmp, which a box has for itself. So code that runs in the box leaves none that a test can see.
"""

import hashlib
import io
import secrets
import shutil
import tarfile
from pathlib import Path

import pytest

from quarterturn.errors import Unavailable
from quarterturn.launcher import node
from quarterturn.launcher.installer import Installer
from quarterturn.servers.archives import run_npm
from quarterturn.servers.install import install
from sandbox.kinds.common.state_kind import ROOT
from sandbox.servers.registry import SERVERS

from .shelf import PROGRAM, put

pytestmark = pytest.mark.box


@pytest.fixture
def canary():
    """Yield the path of a file that only code of a package would make."""
    path = Path(f"/tmp/quarterturn-canary-{secrets.token_hex(8)}")
    yield path
    path.unlink(missing_ok=True)


def add(say, source, home):
    return say("server", "add", source, "--box", "bwrap", "--home", home)


def test_a_pth_file_of_a_wheel_takes_effect_in_the_box_alone(say, home, notebook, shelf, canary):
    seen = f"import os, sys\nif not os.path.exists({str(canary)!r}): sys.exit('its .pth file had no effect')\n"
    hook = f"import pathlib; pathlib.Path({str(canary)!r}).write_text('ran')\n"
    put(shelf, seen + PROGRAM.read_text(), more={"canary.pth": hook})
    added = add(say, notebook, home)
    assert not canary.exists()
    assert added.code == 0, added.err
    assert say("server", "check", "notebook", "--box", "bwrap", "--home", home).code == 0
    assert not canary.exists()


def test_a_lock_that_asks_for_a_source_distribution_is_refused_and_builds_nothing(say, home, notebook, shelf, canary):
    built = shelf / "x-1.0.tar.gz"
    backend = f"import pathlib; pathlib.Path({str(canary)!r}).write_text('ran')\n"
    project = "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n"
    with tarfile.open(built, "w:gz") as archive:
        for name, text in (("pyproject.toml", project), ("backend.py", backend)):
            info = tarfile.TarInfo(f"x-1.0/{name}")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    pin = hashlib.sha256(next(shelf.glob("*.whl")).read_bytes()).hexdigest()
    source = hashlib.sha256(built.read_bytes()).hexdigest()
    (notebook / "requirements.txt").write_text(
        f"--no-binary x\nmcp-notebook==1.0 --hash=sha256:{pin}\nx @ {built.as_uri()} --hash=sha256:{source}\n"
    )
    added = add(say, notebook, home)
    assert not canary.exists()
    assert added.code == 2
    assert "requirements.txt, line 1" in added.err


@pytest.mark.full
def test_an_npm_packages_install_script_does_not_run(say, home, tmp_path, registry, canary):
    registry.put("mcp-board", "1.0.0", scripts={"preinstall": f"touch {canary}", "prepare": f"touch {canary}"})
    board = board_of(tmp_path)
    added = add(say, board, home)
    assert added.code == 0, added.err
    assert not canary.exists()
    assert (home / "servers/board/npm/node_modules/mcp-board/index.js").is_file()
    shutil.copyfile(home / "servers/board/package-lock.json", board / "package-lock.json")
    assert say("server", "remove", "board", "--as", "ada", "--home", home).code == 0
    SERVERS._servers.pop("board")
    assert add(say, board, home).code == 0, "a lock that was written is one that is kept to"
    assert not canary.exists()


SHA = "a" * 40


@pytest.mark.parametrize(
    "elsewhere",
    [
        f"github:evil/x#{SHA}",
        pytest.param(f"https://gitlab.com/evil/x.git#{SHA}", marks=pytest.mark.full),
        f"git+file:///nowhere#{SHA}",
        "{registry}/x.tgz",
        "file:..",
    ],
)
def test_a_dependency_from_elsewhere_than_the_registry_is_not_fetched(tmp_path, registry, elsewhere, monkeypatch):
    """npm fetches the first two without git, and then runs itself in the repository, whose `.npmrc` it reads."""
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    registry.put("mcp-board", "1.0.0", dependencies={"x": elsewhere.format(registry=registry.address)})
    with pytest.raises(Unavailable, match="have been disabled"):
        install(tmp_path, "board", "npm:mcp-board", "1.0.0")
    assert registry.asked == {"/mcp-board"}


def test_an_npm_that_does_not_know_these_options_is_not_asked(tmp_path, monkeypatch):
    old = tmp_path / "npm"
    old.write_text("#!/bin/sh\necho 11.13.9\n")
    old.chmod(0o755)
    asked = []
    monkeypatch.setattr(node, "carry_out", lambda command, *_, **__: asked.append(command[0]))
    monkeypatch.setattr(node, "wheel_node", lambda _: tmp_path / "wheel" / "bin" / "node")
    installer = Installer(ROOT, {"PATH": f"{tmp_path}:/usr/bin:/bin"})
    run_npm(installer, "install", folder=tmp_path, what="it")
    old.write_text("#!/bin/sh\necho 12.0.1\n")
    run_npm(installer, "install", folder=tmp_path, what="it")
    assert asked == [tmp_path / "wheel" / "bin" / "node", str(old)]


def board_of(tmp_path):
    """Return a folder with the manifest of a server from the npm registry."""
    folder = tmp_path / "board"
    folder.mkdir()
    (folder / "server.yaml").write_text(
        'server: board\npackage: "npm:mcp-board"\nversion: "1.0.0"\nstate: {kind: json_document, file: notes.json}\n'
        'command: ["{node}", "{modules}/mcp-board/index.js"]\n'
    )
    return folder
