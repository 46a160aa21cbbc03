"""The guide to models: every command of it is run, in its order, against an upstream on this machine."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from quarterturn.wiring import House

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "let-agents-use-a-model.md"

pytestmark = [pytest.mark.box, pytest.mark.slow]


@pytest.fixture
def upstream():
    path = ROOT / "tests" / "sandbox" / "model_gateway" / "stub.py"
    spec = importlib.util.spec_from_file_location("model_stub", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    stub = module.Stub(say=lambda seen: module.Turn(text="OK"))
    yield stub
    stub.close()


def blocks(kind: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [text for name, text in found if name == kind]


def test_the_guide_to_models_works_line_by_line(live, upstream, tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (table,) = blocks("toml")
    assert "http://127.0.0.1:8000/v1" in table
    with (live / "quarterturn.toml").open("a") as file:
        file.write("\n" + table.replace("http://127.0.0.1:8000", upstream.url))
    for name in ("dev", "private"):
        (tmp_path / f"{name}.key").touch(0o600)
        (tmp_path / f"{name}.key").write_text(f"test-{name}\n")
    path = f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"
    commands = [line for block in blocks("") for line in block.splitlines()]
    assert len(commands) == 7
    for command in commands:
        done = subprocess.run(
            shlex.split(command),
            cwd=tmp_path,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            timeout=3600,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-500:]}\n{done.stderr[-500:]}"
    keys = [seen.headers["authorization"] for seen in upstream.own()]
    assert set(keys) == {"Bearer test-dev", "Bearer test-private"}
    house = House(live, None)
    shown = {task for task, _, channel, _ in house.books.exposures.totals() if channel == "upstream:local"}
    assert len(shown) == 24
    assert {run.track for run in house.runs.list()} == {"unofficial"}
    house.close()
