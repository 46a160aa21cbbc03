"""Verbs of `./run`; each installs what it needs first, so any of them may be the first."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import NoReturn

from launcher import announcement, backends, engine, github_openapi, local_model
from quarterturn.launcher import images, locks, machine, node
from quarterturn.launcher.installer import Installer
from quarterturn.launcher.stamps import Stamps, key
from quarterturn.launcher.steps import INTERRUPTED, MALFORMED, NO, Stop, complain, say, stop_said

ROOT = Path(__file__).resolve().parents[1]
TESTS = "tests"
STRESS = "--stress"
POSTGRES = "--with postgres"
AGENT_LOCK = "examples/agents/llm/requirements.txt"  # what the rulebook needs, and clients of language models
FRAMEWORK_LOCKS = {  # clients that play as agents in the tests; some import what version 2 of MCP's SDK has not
    "frameworks": "examples/agents/frameworks/requirements.txt",
    "frameworks-mcp1": "examples/agents/frameworks/requirements-mcp1.txt",
}
FRAMEWORKS_NPM = "frameworks-npm"  # in `.venv`
CONSUMER_LOCKS = ("requirements/consumers.txt", "requirements/consumers-source.txt")
WORLD_LOCKS = "sandbox/servers/*/requirements.txt"
QUICK = "not slow and not engine and not box"
MAX_PORT = 65535
WORKERS = ("-n", "2", "--dist", "worksteal")  # as many as the smallest machine that they are meant for has cores

USAGE = """\
usage: ./run VERB [arguments]

  setup          install everything into .venv; safe to repeat; with --core none of the extras, which are
                 verbs that a benchmark month does not need; with --with postgres also what a service on
                 PostgreSQL needs
  demo [...]     set up, then run the demo: one benchmark month (./run demo --help)
  test [...]     set up, and run the tests that need nothing but bubblewrap: of all rooms, of one
                 (./run test vault), or what depends on the changes since a commit (--changed [COMMIT]);
                 with --all also those of engine, browser, databases and other programs, after installing
                 these; with --exhaustive also the exhaustive sets; with --stress, play the files that are
                 named twenty times beside eight busy loops and on one core; other arguments go to pytest
  check          lint, format, types and the quick tests, side by side
  bench [...]    set up, then measure (--json for one object)
  images         build the container images, for `--box docker`
  local-model    install a small language model (150 MB) and serve it at http://127.0.0.1:8000/v1, or at
                 another port that is named, until it is interrupted
  lock [...]     resolve the lock files again; --upgrade takes newer versions
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
        complain("interrupted; run it again to resume")
        return INTERRUPTED


def usage(_arguments: Sequence[str]) -> int:
    """Print the usage."""
    sys.stdout.write(USAGE)
    return 0


def setup(arguments: Sequence[str]) -> int:
    """Install everything that the demo needs, the extras unless `--core` is given, and what `--with` names."""
    words = iter(arguments)
    options = {f"{word} {next(words, '')}" if word == "--with" else word for word in words}
    if options - {"--core", POSTGRES}:
        message = f"./run setup takes nothing but --core and {POSTGRES}, but was given {' '.join(arguments)!r}"
        raise Stop(message, MALFORMED)
    prepare(extras="--core" not in options, postgres=POSTGRES in options)
    say("ready: .venv/bin/quarterturn")
    return 0


def demo(arguments: Sequence[str]) -> int:
    """Run the demo, in bubblewrap unless another box is named."""
    installer = prepare(databases=False)
    if not {"-h", "--help"} & set(arguments):
        _box_for(installer, arguments)
    _become(installer.venv / "bin" / "quarterturn", "demo", *arguments)


def build_images(arguments: Sequence[str]) -> int:
    """Build the container images that are missing."""
    _nothing_after("images", arguments)
    machine.need({"docker": "docker.io"}, "building images")
    for tag in images.build(os.environ, _installer().python).values():
        say(f"ready: {tag}")
    return 0


def serve_local_model(arguments: Sequence[str]) -> int:
    """Install the local language model, and serve it."""
    if len(arguments) > 1 or not all(word.isdecimal() and int(word) <= MAX_PORT for word in arguments):
        message = f"./run local-model takes a port or nothing, but was given {' '.join(arguments)!r}"
        raise Stop(message, MALFORMED)
    with _alone():
        installer = _installer()
        local_model.install(installer)
    port = int(arguments[0]) if arguments else local_model.PORT
    program, *words = local_model.command(installer.venv, port)
    _become(Path(program), *words)


def bench(arguments: Sequence[str]) -> int:
    """Measure; where we may install an engine, also what needs one."""
    installer = prepare(tests=True)  # what we are compared with is installed with the tests
    named = [word for word in arguments if not word.startswith("-") and not word.isdigit()]
    wants_engine = not {"-h", "--help"} & set(arguments) and ("docker" in named or not named)
    with engine.provide() if wants_engine and machine.may_install() else nullcontext():
        program = str(ROOT / "bench" / "main.py")
        return subprocess.run([installer.python, program, *arguments], check=False).returncode


def check(arguments: Sequence[str]) -> int:
    """Lint, types and the quick tests; all of them run, and the answer is no if one of them says so.

    Notes on sizes, on the structure, and on the wording of changed lines, come last and change nothing.
    """
    _nothing_after("check", arguments)
    installer = prepare(tests=True)
    steps: dict[str, tuple[str, ...]] = {
        "lint": ("ruff", "check", "."),
        "format": ("ruff", "format", "--check", "."),
        "types": ("mypy", f"--cache-dir={types_cache()}", "--no-color-output"),
    }
    quick = ("pytest", "-q", "--small", *WORKERS, "-m", QUICK)
    with ThreadPoolExecutor(len(steps)) as pool:  # each says nothing until it has ended: no line lies between dots
        beside = {name: pool.submit(_heard, installer, *command) for name, command in steps.items()}
        failed = ["quick tests"] if _run(installer, "lint, format and types beside quick tests", *quick) else []
        for name, future in beside.items():
            status, output = future.result()
            if status:
                failed.insert(0, name)
                complain(f"{name} failed:\n{output}")
    for line in _heard(installer, "python", "-m", "tests.notes")[1].splitlines():
        say(f"note: {line}")
    say(f"check: {', '.join(failed)} failed" if failed else "check: all is well")
    return NO if failed else 0


def types_cache() -> Path:
    """Return mypy's cache, one for each lock: it remembers modules as missing, and another lock may have them."""
    caches = ROOT / ".venv" / "mypy"
    ours = caches / key(ROOT / "requirements" / "tests.txt", ROOT / "pyproject.toml", sys.version)[:16]
    for other in caches.glob("*"):
        if other != ours:
            shutil.rmtree(other, ignore_errors=True)
    return ours


def test(arguments: Sequence[str]) -> int:
    """Run the tests: the small size, or all of them with `--all`, `--exhaustive` or CI=true in the environment.

    The size decides what is installed and started. Where something cannot be had, pytest leaves out the tests that need
    it, says so and ends with exit 6; on CI that is an error.
    """
    on_ci = os.environ.get("CI") == "true"
    words = for_pytest(arguments)
    if on_ci or {"--all", "--exhaustive"} & set(words):
        return _test_all(words, on_ci=on_ci)
    announcement.announce(Stamps(ROOT / ".venv" / "stamps"), machine.FOR_THE_DEMO, images=False)
    with stop_said("tests that need them are not run", unless=False):
        machine.need_all(machine.FOR_THE_DEMO, "testing")
    return _play(prepare(tests=True, databases=False), words)


def _test_all(words: Sequence[str], *, on_ci: bool) -> int:
    lacks_engine = not engine.answers()  # one that answers says itself which images it has
    announcement.announce(Stamps(ROOT / ".venv" / "stamps"), machine.ALL_FOR_THE_TESTS, images=lacks_engine)
    with stop_said("tests that need them are not run", unless=on_ci):
        exhaustive = machine.FOR_EXHAUSTIVE_TESTS if "--exhaustive" in words else {}
        machine.need_all(machine.ALL_FOR_THE_TESTS | exhaustive, "testing")
    installer = prepare(tests=True, databases=False, references=True)
    if "--exhaustive" in words:
        with _alone():
            installer.environment("consumers", *(ROOT / lock for lock in CONSUMER_LOCKS))
            for place, lock in FRAMEWORK_LOCKS.items():
                installer.files(place, ROOT / lock)
            node.install_project(installer, node.FRAMEWORKS, FRAMEWORKS_NPM)
            local_model.install(installer)
    with ExitStack() as stack:
        with stop_said("tests that need one are not run", unless=on_ci):
            stack.enter_context(engine.provide())
            images.build(os.environ, installer.python)
        return _play(installer, words)


def _play(installer: Installer, words: Sequence[str]) -> int:
    if STRESS in words:
        return _run(installer, "stress", "python", "tests/stress.py", *(word for word in words if word != STRESS))
    return _run(installer, "tests", "pytest", *WORKERS, *words)


def for_pytest(arguments: Sequence[str]) -> list[str]:
    """Return pytest's words: the name of a room or an extra becomes its folder, and `--changed COMMIT` one word."""
    words: list[str] = []
    left = list(arguments)
    while left:
        word = left.pop(0)
        if word == "--changed":
            commit = left.pop(0) if left and not left[0].startswith("-") and not _folder_of(left[0]) else ""
            words.append(f"--changed={commit}")
        else:
            words.append(_folder_of(word) or word)
    return words


def _folder_of(word: str) -> str | None:
    folders = (Path(TESTS, word), Path("extras", word, TESTS))
    if word.isidentifier() and (there := [folder for folder in folders if (ROOT / folder).is_dir()]):
        return str(there[0])
    return word if (ROOT / word.partition("::")[0]).exists() else None


def lock(arguments: Sequence[str]) -> int:
    """Resolve the lock files again."""
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
    "local-model": serve_local_model,
    "lock": lock,
}


def _verb(name: str) -> Callable[[Sequence[str]], int]:
    if name not in VERBS:
        message = f"there is no verb {name!r}; ./run help lists them"
        raise Stop(message, MALFORMED)
    return VERBS[name]


def _installer() -> Installer:
    installer = Installer(ROOT, os.environ)
    installer.make()
    return installer


def prepare(
    *,
    tests: bool = False,
    databases: bool = True,
    references: bool = False,
    postgres: bool = False,
    extras: bool | None = None,
) -> Installer:
    """Install what is missing of `.venv`.

    Args:
        tests: also the packages that every test needs.
        databases: also Debian's servers.
        references: also what others wrote that tests compare with.
        postgres: also what a service on PostgreSQL needs.
        extras: also the extras; None for what the last set-up had.
    """
    with _alone():
        installer = _installer()
        installer.product(tests=tests, postgres=postgres, extras=extras)
        for source in sorted(ROOT.glob(WORLD_LOCKS)):
            installer.environment(f"world/python/{source.parent.name}", source)
        installer.environment("agents", ROOT / AGENT_LOCK)
        node.install(installer)
        with stop_said("/docs will be a plain list of the routes", unless=tests):
            node.install_swagger(installer)
        if references:
            github_openapi.install(installer)
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


def _box_for(installer: Installer, arguments: Sequence[str]) -> None:
    """Have what the demo's box needs."""
    words = " ".join(arguments).replace("=", " ")
    if "--box docker" in words or not sys.platform.startswith("linux"):
        machine.need({"docker": "docker.io"}, "the demo in Docker")
        images.build(os.environ, installer.python)
    else:
        machine.need(machine.FOR_THE_DEMO, "the demo")


def _run(installer: Installer, what: str, program: str, *arguments: str) -> int:
    say(f"{what}: {' '.join((program, *arguments))}")
    command: list[str | Path] = [installer.venv / "bin" / program, *arguments]
    return subprocess.run(command, cwd=ROOT, env=_keeping_bytecode(), check=False).returncode


def _heard(installer: Installer, program: str, *arguments: str) -> tuple[int, str]:
    """Run a program beside others, and give its status and what it said."""
    command: list[str | Path] = [installer.venv / "bin" / program, *arguments]
    heard = subprocess.PIPE
    done = subprocess.run(
        command, cwd=ROOT, env=_keeping_bytecode(), stdin=subprocess.DEVNULL, stdout=heard, stderr=heard, text=True,
        errors="replace", check=False,
    )  # fmt: skip
    return done.returncode, f"{done.stdout}{done.stderr}".strip()


def _keeping_bytecode() -> dict[str, str]:
    """Return the variables for programs that start hundreds of Pythons, each of which would else compile everything."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _become(program: Path, *arguments: str | Path) -> NoReturn:
    sys.stderr.flush()
    os.execv(program, [str(word) for word in (program, *arguments)])  # noqa: S606 - a program of our own; it takes our place and our exit code


def _nothing_after(verb: str, arguments: Sequence[str]) -> None:
    if arguments:
        message = f"./run {verb} takes no arguments, but was given {' '.join(arguments)!r}"
        raise Stop(message, MALFORMED)


def _interrupted(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
