"""Runs the guide to models: every command, in its order, against an upstream on this machine."""

from __future__ import annotations

import pytest

from quarterturn.app import Application
from rotation.month import sets

from ..sandbox.model_gateway.stub import Stub, Turn
from .conftest import with_files
from .guides import GuideShell, blocks, commands
from .scenes import EASY

PAGE = "let-agents-use-a-model.md"

pytestmark = [pytest.mark.box, pytest.mark.full]


@pytest.fixture
def upstream():
    stub = Stub(say=lambda seen: Turn(text="OK"))
    yield stub
    stub.close()


@pytest.fixture
def playable(copy, monkeypatch):
    """Give a home with a live set of four tasks, each of which an agent can play, and with one public task."""
    monkeypatch.setitem(sets.SETS, "one", sets.SetSpec("one", {EASY: 1}, {EASY: 1}))
    return copy("one", of="one", tasks=4, live=True, write=with_files)


def test_the_guide_to_models_works_line_by_line(playable, upstream, say, monkeypatch):
    shell = GuideShell(playable.parent, say, monkeypatch)
    (table,) = blocks(PAGE, "toml")
    assert "http://127.0.0.1:8000/v1" in table
    with (playable / "quarterturn.toml").open("a") as file:
        file.write("\n" + table.replace("http://127.0.0.1:8000", upstream.url))
    for name in ("dev", "private"):
        (shell.folder / f"{name}.key").touch(0o600)
        (shell.folder / f"{name}.key").write_text(f"test-{name}\n")
    assert len(commands(PAGE)) == 7
    for command in commands(PAGE):
        shell.type(command)
    keys = [seen.headers["authorization"] for seen in upstream.own()]
    assert set(keys) == {"Bearer test-dev", "Bearer test-private"}
    house = Application(playable, None)
    shown = {task for task, _, channel, _ in house.exposures.totals() if channel == "upstream:local"}
    assert len(shown) == house.spec.size
    assert {run.track for run in house.runs.list()} == {"unofficial"}
    house.close()
