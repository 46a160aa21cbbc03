"""Tests of servers whose package lies beside their manifest: they are installed without a registry, and played."""

import base64
import hashlib
import json

import pytest

from quarterturn.errors import Malformed, NotFound
from quarterturn.servers.install import install
from quarterturn.servers.local_package import LocalPackage
from sandbox.servers.registry import SERVERS

from .npm_registry import SERVER, packed
from .shelf import PROGRAM, put
from .test_install import NoBox, module

STATE = "state: {kind: json_document, file: notes.json}"
PYTHON_FOLDER = {"server.py": PROGRAM.read_text(), "pyproject.toml": '[project]\nname = "x"\ndependencies = []\n'}
NODE_FOLDER = {"package.json": '{"name": "@acme/board", "version": "1.0.0"}', "index.js": SERVER}
COMMANDS = {
    "pypi:./dist/mcp_notebook-1.0-py3-none-any.whl": '["{python}", -I, -m, mcp_notebook, "{state}/notes.json"]',
    "pypi:./server": '["{python}", "{package}/server.py", "{state}/notes.json"]',
    "npm:./board.tgz": '["{node}", "{package}/index.js"]',
    "npm:./board": '["{node}", "{package}/index.js"]',
}


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.fixture
def source(tmp_path, monkeypatch):
    """Return a manifest's folder with a package of each sort; there is no index."""
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    folder = tmp_path / "source"
    (folder / "dist").mkdir(parents=True)
    put(folder / "dist")
    write(folder / "server", PYTHON_FOLDER | {".env": "PASSWORD=secret", "node_modules/x.js": ""})
    write(folder / "board", NODE_FOLDER)
    (folder / "board.tgz").write_bytes(packed({f"package/{name}": text for name, text in NODE_FOLDER.items()}))
    return folder


def manifest(folder, package, version="1.0"):
    version = "1.0.0" if package.startswith("npm:") else version
    text = f'server: local\npackage: "{package}"\nversion: "{version}"\n{STATE}\ncommand: {COMMANDS[package]}\n'
    (folder / "server.yaml").write_text(text)
    return folder


@pytest.mark.box
@pytest.mark.parametrize(
    "package",
    [
        "pypi:./server",
        "npm:./board",
        *(pytest.param(package, marks=pytest.mark.full) for package in list(COMMANDS)[::2]),
    ],
)
def test_a_package_beside_its_manifest_is_installed_started_and_kept(say, home, source, package):
    added = say("server", "add", manifest(source, package), "--box", "bwrap", "--home", home)
    assert added.code == 0, added.err
    kept = home / "servers" / "local"
    (archive,) = (kept / "package").iterdir()
    digest = hashlib.new("sha512" if package.startswith("npm") else "sha256", archive.read_bytes())
    lock = "".join(path.read_text() for path in (*kept.glob("requirements.txt"), *kept.glob("package-lock.json")))
    pins = [entry.get("integrity", "") for entry in json.loads(lock)["packages"].values()] if "npm" in package else lock
    assert digest.hexdigest() in (_hexadecimal(pins[-1]) if "npm" in package else pins)
    assert not [path for path in kept.rglob("*") if path.name in {".env", "x.js"}], "hidden files are nobody's package"
    (kept / ("npm" if "npm" in package else "python")).rename(kept / "gone")
    assert say("server", "record", "local", "--box", "bwrap", "--home", home).code == 0, "a backup has all it needs"
    assert SERVERS["local"].tools


def _hexadecimal(integrity):
    return base64.b64decode(integrity.removeprefix("sha512-")).hex()


def test_a_lock_that_pins_another_archive_is_refused(tmp_path, source, monkeypatch):
    monkeypatch.setattr(module, "BwrapBox", NoBox)
    for package, version, lock in (
        ("pypi:./server", "1.0", "requirements.txt"),
        ("npm:./board", "1.0.0", "package-lock.json"),
    ):
        home = tmp_path / package.partition("./")[2]
        home.mkdir()
        LocalPackage.of(package, source).keep("local", version, home)
        install(home, "local", package, version)
        before, pinned = next((home / "package").iterdir()).read_bytes(), (home / lock).read_text()
        next((home / "package").iterdir()).unlink()
        (home / "package").rmdir()
        LocalPackage.of(package, source).keep("local", version, home)
        assert next((home / "package").iterdir()).read_bytes() == before, "the same folder gives the same archive"
        (home / lock).write_text(pinned)
        next((home / "package").iterdir()).write_bytes(before + b"\0")
        with pytest.raises(Malformed, match=r"another hash|other bytes"):
            install(home, "local", package, version)


def test_a_folders_dependencies_are_resolved_into_its_lock(tmp_path, source, shelf, monkeypatch):
    monkeypatch.setattr(module, "BwrapBox", NoBox)
    wheel = put(shelf)
    write(source / "server", {"pyproject.toml": '[project]\nname = "x"\ndependencies = ["mcp-notebook>=1"]\n'})
    home = tmp_path / "in-home"
    home.mkdir()
    LocalPackage.of("pypi:./server", source).keep("local", "1.0", home)
    install(home, "local", "pypi:./server", "1.0")
    lock = (home / "requirements.txt").read_text()
    assert f"mcp-notebook==1.0 \\\n    --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}" in lock
    assert "local==1.0 " in lock
    assert (home / "python/fetched.txt").read_text().startswith("mcp-notebook==1.0 "), "what an image downloads"
    assert list((home / "python").glob("lib/*/site-packages/mcp_notebook/__main__.py"))
    assert list((home / "python/package").glob("__pycache__/server.*.pyc")), "no world compiles it each time"


@pytest.mark.parametrize(
    ("package", "version", "says"),
    [
        ("pypi:./missing", "1.0", "there is no .*missing, which the manifest names as pypi:./missing"),
        ("pypi:./server.yaml", "1.0", r"pypi:./server\.yaml is neither a folder nor a file \.whl"),
        ("npm:./dist/mcp_notebook-1.0-py3-none-any.whl", "1.0", r"neither a folder nor a file \.tgz"),
        ("pypi:./dist/mcp_notebook-1.0-py3-none-any.whl", "2.0", "is version 1.0, and the manifest says 2.0"),
        ("pypi:./dist/x-1.0-cp39-cp39-win_amd64.whl", "1.0", "built for another Python or machine .*cp39"),
        ("pypi:./dist/notes.whl", "1.0", "has no wheel's name"),
        ("pypi:./link", "1.0", "leads through a link"),
        ("npm:./server", "1.0", r"has no package\.json"),
        ("pypi:./server", "one", "the version 'one' is none of a Python package"),
        ("pypi:./server[all]", "1.0", "a folder has no extras"),
    ],
)
def test_a_package_that_cannot_be_taken_is_one_sentence(source, package, version, says):
    for name in ("x-1.0-cp39-cp39-win_amd64.whl", "notes.whl"):
        (source / "dist" / name).touch()
    (source / "server.yaml").touch()
    (source / "link").symlink_to("/etc")
    with pytest.raises((Malformed, NotFound), match=says):
        LocalPackage.of(package, source).check(version)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"pyproject.toml": "[project"}, "is no TOML"),
        ({"pyproject.toml": "project = 1"}, "at project is no table"),
        ({"pyproject.toml": '[project]\ndynamic = ["dependencies"]'}, "build a wheel of it"),
        ({"pyproject.toml": "[project]\ndependencies = 1"}, "is no list"),
        ({"pyproject.toml": '[project]\ndependencies = ["x @ file:///etc"]'}, "needs 'x @ file:///etc', which is no"),
        ({"requirements.txt": "mcp<2 # the old one\n-r other.txt\n"}, "needs '-r other.txt', which is no package"),
    ],
)
def test_a_folder_names_packages_of_an_index_alone(source, files, says):
    (source / "server/pyproject.toml").unlink()
    write(source / "server", files)
    with pytest.raises(Malformed, match=says):
        LocalPackage.of("pypi:./server", source).check("1.0")


def test_a_manifest_names_nothing_outside_its_folder(say, home, source):
    for package in ("pypi:./../x.whl", "pypi:/etc", "npm:.", "pypi:./.ssh"):
        (source / "server.yaml").write_text(
            f'server: local\npackage: "{package}"\nversion: "1.0"\n{STATE}\ncommand: [x]\n'
        )
        added = say("server", "add", source, "--box", "bwrap", "--home", home)
        assert (added.code, "$.package" in added.err) == (2, True)
