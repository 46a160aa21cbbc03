"""Tests of the installation of a package, by the real clients, without a registry."""

import json

import pytest

from quarterturn.errors import Malformed, Unavailable
from quarterturn.servers.install import install

LOCKED = {"": {}, "node_modules/board": {"version": "1.0.0", "integrity": "sha512-AA=="}}


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize("name", ["mcp-notebook", "MCP_Notebook", "mcp.notebook[extra]"])
def test_a_package_is_found_however_its_name_is_spelled(tmp_path, name):
    install(tmp_path, f"pypi:{name}", "1.0")
    assert (tmp_path / "python/bin/python").exists()
    assert (tmp_path / "requirements.txt").read_text().startswith("mcp-notebook==1.0 ")


@pytest.mark.usefixtures("shelf")
def test_a_failure_is_one_sentence_with_what_to_mend(tmp_path):
    with pytest.raises(Unavailable) as caught:
        install(tmp_path, "pypi:mcp-notebook", "2.0", tmp_path / "source")
    assert "\n" not in str(caught.value)
    assert "mcp-notebook==2.0" in str(caught.value)
    assert "mend package or version in the manifest" in str(caught.value)


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize(
    ("lock", "error", "says"),
    [
        ("mcp-other==1.0 --hash=sha256:00\n", Malformed, r"source/requirements\.txt does not pin"),
        ("mcp-notebook==1.0\n", Unavailable, "must have a hash"),
        (f"mcp-notebook==1.0 --hash=sha256:{'0' * 64}\n", Unavailable, "(?i)hash"),
    ],
)
def test_a_lock_of_a_python_package_is_kept_to(tmp_path, lock, error, says):
    (tmp_path / "requirements.txt").write_text(lock)
    with pytest.raises(error, match=says):
        install(tmp_path, "pypi:mcp-notebook", "1.0", tmp_path / "source")


@pytest.mark.parametrize(
    ("packages", "says"),
    [
        (None, "pins version none of board"),
        ([], "pins version none of board"),
        ({**LOCKED, "node_modules/board": {"version": "2.0.0"}}, r"pins version 2\.0\.0 of board"),
        ({**LOCKED, "node_modules/other": {"version": "1.0.0"}}, "no hash .* for node_modules/other"),
        ({"node_modules/board": {"version": "1.0.0"}}, "no hash .* for node_modules/board"),
    ],
)
def test_a_lock_of_an_npm_package_must_pin_it_and_hash_everything(tmp_path, packages, says):
    (tmp_path / "package-lock.json").write_text(json.dumps({"packages": packages}))
    with pytest.raises(Malformed, match=f"source/package-lock.json .*{says}|source/package-lock.json {says}"):
        install(tmp_path, "npm:board", "1.0.0", tmp_path / "source")
