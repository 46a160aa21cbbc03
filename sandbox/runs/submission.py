"""Submission: what is run, and the digest that a `run-open` leaf binds it to.

Four kinds:

- `image`: a container image. Its digest is the one that the engine reports, never computed here.
- `command`: an argument vector and the folder that it may read. Its digest covers every file in that folder (names and
  bytes, in order) and the vector, so changing either is another submission.
- `endpoint`: the URL of an agent that stays where it is. Its digest covers the URL and nothing more: what answers there
  can change between two tasks, and nobody but its owner knows.
- `reference`: an agent that is handed the solutions. It plays in admission and in the demo; `must_be_submittable`
  refuses it everywhere else, and it can be made by `reference()` alone, never from something a user typed.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from sandbox.boxes.box import Program
from sandbox.endpoint.address import Target
from sandbox.errors import Malformed, NotFound, Refused
from sandbox.image_reference import ImageReference
from sandbox.pseudonyms import require_pseudonym
from sandbox.runner_identity import own_folder

Kind = Literal["image", "command", "endpoint", "reference"]

MAX_FILES = 100_000  # of an agent's folder; folders are not counted. node_modules of large frameworks have 20,000
MAX_BYTES = 1024**3

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_SCRIPTS = frozenset((".py", ".js", ".mjs", ".ts", ".sh", ".rb", ".pl"))
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/opt")  # a program found here is an interpreter, not the agent


@dataclass(frozen=True, slots=True)
class Submission:
    """One thing that can be run against a set.

    Attributes:
        kind: `image`, `command`, `endpoint` or `reference`.
        name: its name on the leaderboard.
        submitter: the pseudonym of whoever answers for it.
        program: what a box starts; of an endpoint there is nothing to start.
        digest: `sha256:` and 64 hexadecimal digits.
    """

    kind: Kind
    name: str
    submitter: str
    program: Program
    digest: str

    def __post_init__(self) -> None:
        """Refuse names that could not stand on a leaderboard or in a statement.

        Raises:
            Malformed: the name, the pseudonym or the digest has another form.
        """
        require_pseudonym(self.name, "name")
        require_pseudonym(self.submitter, "submitter")
        if not _DIGEST.fullmatch(self.digest):
            raise Malformed(f"the digest {self.digest!r} of {self.name} is not 'sha256:' and 64 hexadecimal digits")

    @property
    def submittable(self) -> bool:
        """Whether it may be run for a score of its own."""
        return self.kind != "reference"


def must_be_submittable(submission: Submission) -> None:
    """Refuse a submission that is handed the solutions.

    Raises:
        Refused: it is the reference agent.
    """
    if not submission.submittable:
        raise Refused(f"{submission.name} is handed the solutions and cannot be submitted; it only checks a set")


def image(
    reference: str, *, submitter: str, resolve: Callable[[ImageReference], str], name: str | None = None
) -> Submission:
    """Make a submission of a container image; `resolve` asks the engine for the image's digest.

    What runs is what has that digest, and not what is called by the name by then. A digest that the reference itself
    names is a registry's, which an engine knows below the image's name only.

    Raises:
        Malformed: it is no image's name.
    """
    parsed = ImageReference.parse(reference)
    digest = resolve(parsed)
    program = Program(image=str(parsed) if parsed.digest == digest else digest)
    return Submission("image", name or image_name(parsed), submitter, program, digest)


def image_name(reference: ImageReference) -> str:
    """Return an image's name on the leaderboard: its repository, without registry, account, version and digest."""
    return _slug(reference.repository[-1] if reference.repository else str(reference).partition(":")[0])


def command(line: str, *, submitter: str, name: str | None = None, packages: Path | None = None) -> Submission:
    """Make a submission of a command line, `python3 examples/agents/rulebook/agent.py` for one.

    The folder of the first argument that names a file becomes the one folder of ours that the agent may read. A folder
    of packages is put beside its files, under its own name: Node finds `node_modules` there, and Python is told of it.

    Raises:
        Malformed: the line cannot be split, or is empty; or there are packages, and no folder to put them in.
        NotFound: its program, or the script that is its first argument, is a path and is not there; nor are packages.
        Refused: the folder is one that no agent should be given, or holds something of the packages' name.
    """
    arguments, folder = _parse(line)
    name = name or _slug(folder.name if folder else Path(arguments[0]).name)
    if packages is not None and folder is None:
        raise Malformed("--packages lie beside an agent's files, and this command names no file of its own")
    program = _copied(arguments, folder, packages) if folder else Program(command=arguments)
    return Submission("command", name, submitter, program, _digest(program))


def endpoint(target: Target, *, submitter: str, name: str | None = None) -> Submission:
    """Make a submission of a hosted endpoint."""
    digest = hashlib.sha256(b"quarterturn/endpoint/v1\n" + target.url.encode()).hexdigest()
    return Submission("endpoint", name or endpoint_name(target), submitter, Program(), f"sha256:{digest}")


def endpoint_name(target: Target) -> str:
    """Return a hosted endpoint's name on the leaderboard: its host."""
    return _slug(target.host)


def reference(line: str, *, name: str = "oracle") -> Submission:
    """Make the agent that is handed the solutions, for admission and the demo."""
    return replace(command(line, submitter="reference", name=name), kind="reference")


def _parse(line: str) -> tuple[tuple[str, ...], Path | None]:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise Malformed(f"the agent's command cannot be split into words ({error}); check its quotes") from error
    if not words:
        raise Malformed("the agent's command is empty; give one such as 'python3 agent.py'")
    if "/" in words[0] and not Path(words[0]).is_file():
        raise NotFound(f"the agent's program {words[0]} is not a file; give a path from here, or a name on PATH")
    if "/" in words[0] and not os.access(words[0], os.X_OK):
        raise Malformed(
            f"the agent's program {words[0]} is not executable: `chmod +x {words[0]}`, or name its interpreter first"
        )
    if len(words) > 1 and _looks_like_a_path(words[1]) and not Path(words[1]).is_file():
        what = "is a folder; name the file in it" if Path(words[1]).is_dir() else "is not there; give a path from here"
        raise NotFound(f"the agent's command names {words[1]}, which {what}")
    index = next((i for i, word in enumerate(words) if _names_a_file(word, first=i == 0)), None)
    if index is None:
        return tuple(words), None
    file = Path(words[index]).resolve()
    words[index] = str(file)
    return tuple(words), _readable(file.parent)


def _looks_like_a_path(word: str) -> bool:
    """Whether a program's first argument can only be a file: options, and what other programs take, are left alone."""
    return (Path(word).suffix in _SCRIPTS and not word.startswith("-")) or Path(word).is_dir()


def _names_a_file(word: str, *, first: bool) -> bool:
    if first and ("/" not in word or Path(word).absolute().is_relative_to(sys.prefix)):
        return False
    if first and any(Path(word).absolute().is_relative_to(root) for root in _SYSTEM):
        return False
    return Path(word).is_file()


def _readable(folder: Path) -> Path:
    """Refuse a folder that holds more than an agent: the agent reads all of it."""
    if folder in (Path("/"), Path.home().resolve(), Path("/tmp"), Path("/dev/shm")):  # noqa: S108 refused, not used
        raise Refused(f"the agent would be given all of {folder}; put its files into a folder of their own")
    if (folder / "quarterturn.toml").exists():
        raise Refused(f"the agent would be given the home {folder} with its keys; put its files somewhere else")
    return folder


def _copied(arguments: tuple[str, ...], folder: Path, packages: Path | None) -> Program:
    """Copy the folder to one of our own, which no other process has open, and point the arguments there.

    What was hashed is then what is run. And nobody can leave a socket or a pipe in it: a read-only mount keeps neither
    from carrying bytes out of a box.
    """
    own = own_folder("agent")  # whoever starts next removes it, should this process be killed
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    copy = own / "program"
    _copy_files(folder, copy)
    if packages is not None:
        packages = packages.resolve()
        if not packages.is_dir():
            raise NotFound(f"--packages {packages} is no folder of packages; make it with pip install --target, or npm")
        beside = copy / packages.name
        if os.path.lexists(beside):
            raise Refused(f"the agent's folder already holds {packages.name}: leave --packages out, or rename one")
        _copy_files(_readable(packages), beside)
    for path in (copy, *(path for path in copy.rglob("*") if path.is_dir() and not path.is_symlink())):
        path.chmod(0o755)
    inside = (word if not Path(word).is_absolute() or not Path(word).is_relative_to(folder) else
              str(copy / Path(word).relative_to(folder)) for word in arguments)  # fmt: skip
    program = Program(command=tuple(inside), folder=copy)
    if packages is None:
        return program
    return replace(program, environment={"PYTHONPATH": f"{program.seen_at}/{packages.name}"})


def _copy_files(folder: Path, copy: Path) -> None:
    copy.mkdir()
    for name, content in _files(folder):
        source, target = folder / name, copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(source.readlink())
        elif source.is_file():
            target.write_bytes(content)
            target.chmod(0o755 if source.stat().st_mode & 0o111 else 0o644)


def _digest(program: Program) -> str:
    """Hash the argument vector (paths relative to the folder) and every file, each part with its length before it."""
    folder = program.folder
    state = hashlib.sha256(b"quarterturn/command/v1\n")
    for name, value in program.environment.items():  # of packages; a command without any has the digest that it had
        _absorb(state, f"\0{name}={value}".encode())  # no argument can hold a zero byte
    for word in program.command:
        inside = folder is not None and Path(word).is_absolute() and Path(word).is_relative_to(folder)
        _absorb(state, (Path(word).relative_to(folder).as_posix() if inside and folder else word).encode())
    _absorb(state, b"")  # no argument of a command is the end of the vector: the files follow
    for name, content in _files(folder) if folder else ():
        _absorb(state, name.encode(errors="surrogateescape"))
        _absorb(state, content)
    return "sha256:" + state.hexdigest()


def _absorb(state: hashlib._Hash, part: bytes) -> None:
    state.update(len(part).to_bytes(8, "big") + part)


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield each file's relative name and bytes; of a link, where it points (it leads nowhere inside the box)."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    count = total = 0
    for name in names:
        path = folder / name
        content = b"-> " + str(path.readlink()).encode() if path.is_symlink() else b""
        if not path.is_symlink() and not path.is_file() and not path.is_dir():
            raise Refused(f"the agent's folder holds {name}, a socket, pipe or device; leave files only in it")
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
        total += len(content)
        count += path.is_symlink() or not path.is_dir()
        if count > MAX_FILES or total > MAX_BYTES:
            raise Refused(
                f"the agent's folder {folder} holds more than {MAX_FILES:,} files or {MAX_BYTES // 1024**2:,} MiB; "
                "leave in it only what the agent needs when it runs, such as packages without caches and tests"
            )
        yield name, content


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40] or "agent"
