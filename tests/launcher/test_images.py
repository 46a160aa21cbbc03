"""Tests of image builds: names follow the inputs, and nothing of the building machine is in an image."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from quarterturn.launcher.images import build, reach
from quarterturn.launcher.pip_settings import PipSettings
from sandbox.errors import Unavailable
from sandbox.images import bases
from sandbox.images.bases import CERTIFICATES, PULLED, Reach
from sandbox.images.build import IMAGES, RELAY, SERVERS, WORLD, ImageSource, added


def in_image(reference: str, script: str) -> str:
    command = ["docker", "run", "--rm", "--network", "none", "--entrypoint", "sh", reference, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def inspect(reference: str, template: str) -> str:
    command = ["docker", "image", "inspect", "--format", template, reference]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_tag_names_what_the_image_is_built_from(tmp_path: Path) -> None:
    image = ImageSource("quarterturn-test", tmp_path)
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    first = image.tag("a-base")
    assert first.startswith("quarterturn-test:")
    assert image.tag("another-base") != first
    (tmp_path / "README.md").write_text("a word to the reader changes nothing")
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "x.pyc").write_bytes(b"nor does this")
    assert image.tag("a-base") == first
    (tmp_path / "Dockerfile").write_text("FROM scratch\nUSER 1\n")
    assert image.tag("a-base") != first


def test_a_base_that_could_not_be_made_has_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine makes an empty image of an empty stream, and the next build would stand on it."""
    calls = tmp_path / "calls"
    engine = f'echo "$*" >> {calls}; case $1 in image) exit 1;; import) cat > /dev/null; echo sha256:empty;; esac'
    for name, script in (("mmdebstrap", "echo no mirror >&2; exit 25"), ("docker", engine)):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(bases, "_sources", lambda: tmp_path / "docker")
    base = f"quarterturn-base:{bases._codename()}"
    with pytest.raises(Unavailable, match="no mirror"):
        bases.make_base(base, lambda _: None)
    assert calls.read_text().splitlines() == [f"image inspect {base}", "import -"]


@pytest.mark.parametrize("image", [image for image in IMAGES if image.on is None], ids=lambda image: image.name)
def test_a_dockerfile_builds_with_the_public_base_and_with_ours(image: ImageSource) -> None:
    lines = (image.folder / "Dockerfile").read_text(encoding="utf-8").splitlines()
    assert f"ARG BASE={PULLED}" in lines
    assert "ARG BUILD_BASE=${BASE}" in lines
    assert [line for line in lines if line.startswith("FROM ")][-1] in {"FROM ${BASE}", "FROM scratch"}


def test_a_change_of_our_own_programs_leaves_what_was_fetched(tmp_path: Path) -> None:
    assert WORLD.on is SERVERS
    assert IMAGES.index(SERVERS) < IMAGES.index(WORLD)
    copy = replace(WORLD, folder=tmp_path / "world")
    shutil.copytree(WORLD.folder, copy.folder)
    assert copy.tag("a-base") == WORLD.tag("a-base")
    (copy.folder / "node.txt").write_text("a lock is read by the other image")
    assert copy.tag("a-base") == WORLD.tag("a-base")
    (copy.folder / "init.py").write_text("changed")
    assert copy.tag("a-base") != WORLD.tag("a-base")
    lines = (WORLD.folder / "Dockerfile").read_text(encoding="utf-8").splitlines()
    assert f"ARG SERVERS={SERVERS.name}:latest" in lines
    assert next(line for line in lines if line.startswith(("FROM ", "RUN "))) == "FROM ${SERVERS}"


def test_a_changed_lock_changes_what_stands_on_it(tmp_path: Path) -> None:
    changed = replace(SERVERS, beside=(("node.txt", tmp_path / "node.txt"), *SERVERS.beside[1:]))
    (tmp_path / "node.txt").write_text("another lock")
    assert changed.tag("a-base") != SERVERS.tag("a-base")
    assert replace(WORLD, on=changed).tag("a-base") != WORLD.tag("a-base")


def test_the_image_of_added_servers_follows_their_locks_and_the_world(tmp_path: Path) -> None:
    for name in ("todo/requirements.txt", "planner/package-lock.json", "planner/npm/npm.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    first = added(tmp_path).tag("sha256:1")
    assert added(tmp_path).tag("sha256:2") != first
    (tmp_path / "todo" / "server.yaml").write_text("no program is installed from it")
    (tmp_path / ".todo.part").mkdir()
    (tmp_path / ".todo.part" / "requirements.txt").write_text("nor from what an interrupted add has left")
    assert added(tmp_path).tag("sha256:1") == first
    with added(tmp_path).context() as folder:
        assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()) == [
            "Dockerfile",
            "added/planner/npm.txt",
            "added/todo/requirements.txt",
            "lay_below.py",
            "node.txt",
            "unpack.py",
        ]
    (tmp_path / "todo" / "requirements.txt").write_text("another lock")
    assert added(tmp_path).tag("sha256:1") != first


def test_files_that_are_alike_become_one(tmp_path: Path) -> None:
    for name, text in {"a/x": "same", "b/x": "same", "b/y": "other", "c": "same"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "c").chmod(0o755)
    subprocess.run([sys.executable, SERVERS.folder / "hardlink.py", tmp_path], check=True)
    assert (tmp_path / "a/x").samefile(tmp_path / "b/x")
    assert [(tmp_path / name).stat().st_nlink for name in ("a/x", "b/y", "c")] == [2, 1, 1]


def test_pips_settings_become_a_build_stages_own(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.crt"
    bundle.write_text("certificates")
    settings = PipSettings(
        index="https://me:hunter2@a.test/simple",
        extra_indexes=("file:///opt/simple", "https://b.test/simple"),
        find_links=("file:///opt/wheels",),
        cert=str(bundle),
    )
    made = reach(settings, {"NPM_CONFIG_REGISTRY": "https://c.test/", "https_proxy": "http://d.test:3128"})
    assert made == Reach(
        certificates=bundle,
        pip="[global]\nindex-url = https://me:hunter2@a.test/simple\nextra-index-url = https://b.test/simple\n",
        npm="registry=https://c.test/\n",
        environment={"https_proxy": "http://d.test:3128"},
    )
    assert "hunter2" not in repr(made)


@pytest.fixture(scope="module")
def tags() -> dict[str, str]:
    return build(os.environ)


@pytest.mark.engine
def test_the_world_has_its_servers_and_runs_as_nobody(tags: dict[str, str]) -> None:
    world = tags[WORLD.name]
    assert inspect(world, "{{.Config.User}} {{.Config.Entrypoint}}") == "65532:65532 [python3 -I /opt/world/init.py]"
    assert in_image(world, "id -u; stat -c %u /data; git --version | cut -c 1-11").split() == [
        "65532",
        "65532",
        "git",
        "version",
    ]
    programs = (
        "/opt/world/node/bin/node --version && ls /opt/world/npm/node_modules/@modelcontextprotocol/server-filesystem"
    )
    assert "package.json" in in_image(world, programs)
    for name in ("git", "sqlite"):
        in_image(world, f"/opt/world/python/{name}/bin/python -c 'import mcp_server_{name}'")


@pytest.mark.engine
def test_the_relay_is_a_program_and_nothing_else(tags: dict[str, str]) -> None:
    relay = tags[RELAY.name]
    assert int(inspect(relay, "{{.Size}}")) < 4 << 20
    assert inspect(relay, "{{.Config.User}} {{len .RootFS.Layers}}") == "65533:65533 1"


@pytest.mark.engine
@pytest.mark.parametrize("name", [image.name for image in IMAGES if image is not RELAY])
def test_an_image_keeps_no_trace_of_how_it_was_built(tags: dict[str, str], name: str) -> None:
    left = in_image(tags[name], f"ls {CERTIFICATES} /etc/pip.conf /etc/npmrc /root/.npmrc 2>/dev/null; env; true")
    for trace in ("/etc/", "PIP_", "NPM_", "CERT", "proxy", "PROXY"):
        assert trace not in left
    command = ["docker", "history", "--no-trunc", "--format", "{{.CreatedBy}}", tags[name]]
    history = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "quarterturn-build" not in history
    assert "certificates" not in history


@pytest.mark.engine
def test_an_existing_image_is_not_built_again(tags: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert build(os.environ) == tags
    assert capsys.readouterr().err == ""
    for name, tag in tags.items():
        assert inspect(f"{name}:latest", "{{.Id}}") == inspect(tag, "{{.Id}}")
