"""Tests of worlds with servers that a home has added: the image is built from their locks, and they start in it."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import replace
from pathlib import Path

import pytest

from quarterturn.launcher import pip_settings
from quarterturn.launcher.images import reach
from quarterturn.servers import npm_lock
from quarterturn.servers.archives import list_of, npm_machine
from sandbox.boxes.docker.box import DockerBox
from sandbox.errors import Refused, Unavailable
from sandbox.images.build import ensure_added
from sandbox.images.client import docker
from sandbox.runs.tool_listing import listed
from sandbox.servers import manifest
from sandbox.servers.server import added_at

pytestmark = pytest.mark.engine

EXAMPLES = Path(__file__).parents[4] / "examples" / "servers"


@pytest.fixture(scope="module")
def box():
    made = DockerBox()
    made.check()
    return made


@pytest.fixture
def servers(tmp_path):
    """Return a home's folder of servers, one from npm and one from PyPI, as `server add` leaves it."""
    for folder in ("planner/npm", "todo/python"):
        (tmp_path / folder).mkdir(parents=True)
    lock = (EXAMPLES / "planner/package-lock.json").read_bytes()
    ((name, version),) = json.loads(lock)["packages"][""]["dependencies"].items()
    (tmp_path / "planner/npm/npm.txt").write_text(list_of(npm_lock.parse(lock, name, version, npm_machine(), "it")))
    unique = f"# {secrets.token_hex(8)}\n"  # the engine cannot have the image yet
    (tmp_path / "todo/python/fetched.txt").write_text((EXAMPLES / "todo/requirements.txt").read_text() + unique)
    return tmp_path


@pytest.fixture
def tags():
    """Yield a list of images that are removed in the end."""
    made: list[str] = []
    yield made
    for tag in made:
        docker("image", "rm", "--force", tag, what="removing the image")


def server(folder, name):
    file, tools = (EXAMPLES / name / part for part in (manifest.FILE, manifest.TOOLS))
    made = manifest.load(
        file.read_text(), manifest.tools_of(tools.read_text()), str(file), added=added_at(name), predicates=""
    )
    return replace(made, folder=folder)


def test_added_servers_start_in_an_image_of_their_home_and_list_their_tools(box, servers, tags):
    with pytest.raises(Unavailable, match="`quarterturn server image --home"):
        listed(box, server(servers / "todo", "todo"))
    said = []
    tag = ensure_added(servers, reach(pip_settings.read(os.environ), os.environ), said.append)
    tags.append(tag)
    assert said == [f"building the image {tag}"]
    for name in ("planner", "todo"):
        added = server(servers / name, name)
        assert listed(box, added) == added.tools
    assert ensure_added(servers, reach(pip_settings.read(os.environ), os.environ), said.append) == tag
    assert len(said) == 1, "an image that is there is the right one"


def test_a_server_that_is_only_being_added_is_in_no_image(box, servers):
    with pytest.raises(Refused, match="add it in the bwrap box"):
        box.world([server(servers / ".todo.part", "todo")], None, None)
