"""Tests of the lock files: every environment is pinned by digest, and no lock names where its files came from."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from quarterturn.launcher import node
from quarterturn.launcher.locks import LOCKS
from sandbox.servers.registry import SERVERS

ROOT = Path(__file__).parents[2]
NPM = ROOT / "sandbox" / "images" / "world" / "npm"
NPM_PROJECTS = [ROOT / place for place in node.PROJECTS]
PINNED = re.compile(r"^[a-z0-9][a-z0-9._-]*==\S+( ; .*)? \\$")
DIGEST = re.compile(r"^    --hash=sha256:[0-9a-f]{64}( \\)?$")
# Spelled apart, so that this file does not find itself.
REGISTRIES = [
    ".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("debian", "org"))
]


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def pins(lock: str) -> dict[str, str]:
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    return dict(line.removesuffix(" \\").split("==", 1) for line in lines if not line.startswith(" "))


@pytest.mark.parametrize("lock", sorted(LOCKS))
def test_a_lock_is_pins_and_digests_and_nothing_else(lock: str) -> None:
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    assert lines
    assert [line for line in lines if not (PINNED.match(line) or DIGEST.match(line))] == []
    pinned = [number for number, line in enumerate(lines) if PINNED.match(line)]
    assert all(DIGEST.match(lines[number + 1]) for number in pinned)


@pytest.mark.parametrize("name", ["product", "service", "tests"])
def test_a_pin_has_the_digests_of_more_than_one_machines_files(name: str) -> None:
    """A lock that was resolved from one machine's folder of wheels would have a single digest here."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    block = text[text.index("cryptography==") :].split("\n")
    digests = next(number for number, line in enumerate(block[1:], 1) if not line.startswith("    --hash"))
    assert digests > 10


def test_the_service_and_the_tests_run_on_what_the_product_runs_on() -> None:
    locks = (pins(f"requirements/{name}.txt") for name in ("product", "service", "tests"))
    product, service, tests = ({name: pin.partition(" ")[0] for name, pin in lock.items()} for lock in locks)
    assert product.items() <= service.items() <= tests.items()


def test_the_pinned_servers_are_those_that_the_runner_describes() -> None:
    locks = [lock for lock in LOCKS if lock.startswith("sandbox/servers/")]
    locked = {name: version for lock in locks for name, version in pins(lock).items()}
    packages = json.loads((NPM / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    for server in SERVERS.values():
        registry, _, name = server.package.partition(":")
        if registry == "ours":
            continue
        version = packages[f"node_modules/{name}"]["version"] if registry == "npm" else locked[name].split(" ")[0]
        assert server.version == version, f"{server.name}: {name} is locked at {version}"


@pytest.mark.parametrize("place", NPM_PROJECTS)
def test_the_npm_lock_has_versions_and_digests_and_no_addresses(place: Path) -> None:
    text = (place / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in text
    packages = json.loads(text)["packages"]
    assert [
        name for name, entry in packages.items() if name and not entry.get("integrity", "").startswith("sha512-")
    ] == []


@pytest.mark.parametrize("place", [ROOT, *NPM_PROJECTS])
def test_npm_is_told_to_leave_addresses_out(place: Path) -> None:
    assert "omit-lockfile-registry-resolved=true" in (place / ".npmrc").read_text(encoding="utf-8").splitlines()


def test_no_lock_that_records_addresses_is_kept() -> None:
    assert [path for path in tracked() if path.name in {"uv.lock", "pylock.toml", "poetry.lock", "yarn.lock"}] == []


@pytest.mark.slow
def test_no_file_names_a_registry() -> None:
    named = [
        f"{path.relative_to(ROOT)} names {host}"
        for path in tracked()
        for text in [path.read_text(encoding="utf-8", errors="replace")]
        for host in REGISTRIES
        if host in text and re.search(rf"(?<![\w]){re.escape(host)}|\.{re.escape(host)}", text)
    ]
    assert named == []
