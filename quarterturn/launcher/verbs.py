"""The launcher's verbs. Each makes what it needs first, so that any of them may be the first."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import NoReturn

from quarterturn.launcher import backends, description, images, locks, machine, node, pip_settings
from quarterturn.launcher.installer import Installer
from quarterturn.launcher.steps import INTERRUPTED, MALFORMED, NO, Stop, complain, say

ROOT = Path(__file__).resolve().parents[2]
AGENT_LOCK = "examples/agents/llm/requirements.txt"  # what the rulebook needs, and clients of language models
WORLD_LOCKS = "sandbox/images/world/python"
QUICK = "not slow and not engine and not box"
WORKERS = ("-n", "2", "--dist", "worksteal")  # as many as the smallest machine that they are meant for has cores

USAGE = """\
usage: ./run VERB [arguments]

  setup          install everything into .venv; safe to repeat
  demo [...]     set up, then play one benchmark month (./run demo --help)
  test [...]     set up, install what the tests need, and run them all; arguments go to pytest
  check          lint, types and the quick tests
  bench [...]    set up, then measure (--json for one object)
  images         build the container images, for `--box docker`
  lock [...]     resolve the locks anew; --upgrade takes newer versions
  help           this page

After any of them .venv/bin/quarterturn works.
"""


def main(arguments: Sequence[str]) -> int:
    """Carry out one verb and give the exit code."""
    signal.signal(signal.SIGTERM, _interrupted)
    try:
        return _verb(arguments[0] if arguments else "help")(arguments[1:])
    except Stop as stop:
        complain(str(stop))
        return stop.code
    except KeyboardInterrupt:
        complain("interrupted; start it again to go on")
        return INTERRUPTED


def usage(_arguments: Sequence[str]) -> int:
    """Say what there is."""
    sys.stdout.write(USAGE)
    return 0


def setup(arguments: Sequence[str]) -> int:
    """Install everything that the demo needs."""
    _nothing_after("setup", arguments)
    _prepare()
    say("ready: .venv/bin/quarterturn")
    return 0


def demo(arguments: Sequence[str]) -> int:
    """Play one benchmark month, in bubblewrap where there is no other wish."""
    _prepare(databases=False)
    if not {"-h", "--help"} & set(arguments):
        _box_for(arguments)
    _become(ROOT / ".venv" / "bin" / "quarterturn", "demo", *arguments)


def build_images(arguments: Sequence[str]) -> int:
    """Build the container images that are missing."""
    _nothing_after("images", arguments)
    machine.need({"docker": "docker.io"}, "building images")
    for tag in images.build(os.environ).values():
        say(f"ready: {tag}")
    return 0


def bench(arguments: Sequence[str]) -> int:
    """Measure; where we may install an engine, also what needs one."""
    installer = _prepare(tests=True)  # what we are compared with is installed with the tests
    named = [word for word in arguments if not word.startswith("-") and not word.isdigit()]
    wants_engine = not {"-h", "--help"} & set(arguments) and ("docker" in named or not named)
    with machine.engine() if wants_engine and machine.may_install() else nullcontext():
        program = str(ROOT / "tests" / "bench" / "main.py")
        return subprocess.run([installer.python, program, *arguments], check=False).returncode


def check(arguments: Sequence[str]) -> int:
    """Lint, types and the quick tests; all of them run, and the answer is no if one of them says so."""
    _nothing_after("check", arguments)
    installer = _prepare(tests=True)
    steps: dict[str, tuple[str, ...]] = {
        "lint": ("ruff", "check", "."),
        "format": ("ruff", "format", "--check", "."),
        "types": ("mypy", "--no-incremental"),  # its cache remembers modules that were missing when they no longer are
        "quick tests": ("pytest", "-q", *WORKERS, "-m", QUICK),
    }
    failed = [name for name, command in steps.items() if _run(installer, name, *command)]
    say(f"check: {', '.join(failed)} failed" if failed else "check: all is well")
    return NO if failed else 0


def test(arguments: Sequence[str]) -> int:
    """Run the tests, all of them unless told otherwise, against a real engine and a real bubblewrap."""
    installer = _prepare(tests=True)
    with machine.engine():
        images.build(os.environ)
        return _run(installer, "tests", "pytest", *WORKERS, "--durations=40", *arguments)


def lock(arguments: Sequence[str]) -> int:
    """Resolve the locks anew."""
    if set(arguments) - {"--upgrade"}:
        message = "./run lock takes nothing but --upgrade"
        raise Stop(message, MALFORMED)
    with _alone():
        locks.resolve(_installer(), upgrade="--upgrade" in arguments)
    return 0


VERBS: dict[str, Callable[[Sequence[str]], int]] = {
    "help": usage,
    "-h": usage,
    "--help": usage,
    "setup": setup,
    "demo": demo,
    "test": test,
    "check": check,
    "bench": bench,
    "images": build_images,
    "lock": lock,
}


def _verb(name: str) -> Callable[[Sequence[str]], int]:
    if name not in VERBS:
        message = f"there is no verb {name!r}; ./run help lists them"
        raise Stop(message, MALFORMED)
    return VERBS[name]


def _installer() -> Installer:
    settings = pip_settings.read(os.environ)
    installer = Installer(ROOT, os.environ, settings)
    installer.make()
    return installer


def _prepare(*, tests: bool = False, databases: bool = True) -> Installer:
    with _alone():
        installer = _installer()
        installer.product(tests=tests)
        for source in sorted((ROOT / WORLD_LOCKS).glob("*.txt")):
            installer.environment(f"world/python/{source.stem}", source)
        installer.environment("agents", ROOT / AGENT_LOCK)
        node.install(installer)
        if tests:
            description.install(installer)
            node.install_for_tests(installer)
        backends.install(installer, needed=databases)
    return installer


@contextmanager
def _alone() -> Iterator[None]:
    """Let one launcher at a time install into this checkout; the kernel lets go when the process ends."""
    descriptor = os.open(ROOT, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another ./run in this checkout")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _box_for(arguments: Sequence[str]) -> None:
    """Have what the demo's box needs; git is read from outside whatever the box."""
    words = " ".join(arguments).replace("=", " ")
    if "--box docker" in words or not sys.platform.startswith("linux"):
        machine.need({"git": "git", "docker": "docker.io"}, "the demo in Docker")
        images.build(os.environ)
    else:
        machine.need(machine.FOR_THE_DEMO, "the demo")


def _run(installer: Installer, what: str, program: str, *arguments: str) -> int:
    say(f"{what}: {' '.join((program, *arguments))}")
    return subprocess.run([installer.venv / "bin" / program, *arguments], cwd=ROOT, check=False).returncode


def _become(program: Path, *arguments: str | Path) -> NoReturn:
    sys.stderr.flush()
    os.execv(program, [str(word) for word in (program, *arguments)])  # noqa: S606 - a program of our own; it takes our place and our exit code


def _nothing_after(verb: str, arguments: Sequence[str]) -> None:
    if arguments:
        message = f"./run {verb} takes no arguments, but was given {' '.join(arguments)!r}"
        raise Stop(message, MALFORMED)


def _interrupted(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
