"""Separate copies of the host's programs for each class of runs, so that classes share no page cache.

Two places that read the same file share its cached pages, and which of them are cached is a message that one run can
leave and a later one can read (`mincore`, `preadv2(RWF_NOWAIT)`, or a clock). So a place never sees the host's own
/usr. It sees a copy of the little that it needs, and another class has a copy of its own.

1. A recipe names programs, folders and files; shared libraries are added as the host's loader resolves them.
2. A copy lies in a folder that only its owner writes, under the class, the recipe's name and the digest of its list: of
   every source its path, kind, size, time of change, and where it points. It holds programs and nothing of a task.
3. A copy is used as long as every source on that list is unchanged, at which a box looks at most once a minute. Else it
   is made again, in a folder that is renamed when it is complete; one process makes it, and others wait.
4. A copy that is out of date is removed once no process holds it.

Nothing in a copy is set-user-ID, and everybody may read all of it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path

from sandbox.errors import Unavailable

WHERE = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")  # programs are looked up here
LINKED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")  # on most hosts links into /usr
BASICS = (
    "[", "arch", "awk", "b2sum", "base32", "base64", "basename", "bash", "bc", "bzip2", "cal", "cat", "chgrp",
    "chmod", "chown", "cksum", "cmp", "column", "comm", "cp", "csplit", "cut", "dash", "date", "dd", "df", "diff",
    "diff3", "dir", "dirname", "du", "echo", "egrep", "env", "expand", "expr", "factor", "fallocate", "false",
    "fgrep", "file", "find", "flock", "fmt", "fold", "gawk", "getopt", "grep", "gunzip", "gzip", "head", "hexdump",
    "hostname", "id", "install", "ionice", "join", "jq", "kill", "less", "link", "ln", "ls", "lscpu", "mawk",
    "md5sum", "mkdir", "mkfifo", "mknod", "mktemp", "more", "mv", "nice", "nl", "nohup", "nproc", "numfmt", "od",
    "paste", "patch", "pathchk", "pgrep", "pkill", "pr", "printenv", "printf", "prlimit", "ps", "ptx", "pwd",
    "readlink", "realpath", "rev", "rm", "rmdir", "sed", "seq", "setpriv", "setsid", "sh", "sha1sum", "sha256sum",
    "sha512sum", "shred", "shuf", "sleep", "sort", "split", "stat", "stdbuf", "stty", "sum", "sync", "tac", "tail",
    "tar", "taskset", "tee", "test", "timeout", "touch", "tr", "true", "truncate", "tsort", "tty", "uname",
    "unexpand", "uniq", "unlink", "unzip", "vdir", "wc", "which", "whoami", "xargs", "xxd", "xz", "yes", "zcat",
    "zip",
)  # fmt: skip
SHARED = ("/etc/alternatives", "/etc/ld.so.cache", "/usr/lib/locale/C.utf8", "/usr/share/zoneinfo")
NOT_STANDARD = ("site-packages", "dist-packages", "test", "idlelib", "turtledemo", "ensurepip", "config-*")  # of Python
NOT_NEEDED = ("llvmjit.so", "bitcode")  # PostgreSQL's compiler, which takes LLVM with it
LOADED_LATER = ("libgcc_s.so.1",)  # by a name that no file says it needs
ELF, BATCH = b"\x7fELF", 200
COMPILED = "__pycache__"
LIST, HELD = "list.json", "held"

Entry = tuple[str, str, str, int, int, str]
"""Place, source, kind, size, time of change in ns; where a link points, or the digest of the names in a folder."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What one kind of place reads of the host.

    Attributes:
        name: `agent` or `world`.
        programs: names of programs; one that this host has not is left out.
        folders: folders and files by where a place sees them; one that this host has not is left out.
        links: more links, by where a place sees them; one that the host has as well is ours.
        library: the folder of Python's standard library, or None; what is not of the standard is left out of it.
        base: a copy that this one has all of, by hard links.
        below: folders with a /usr and an /etc of strangers, whose files are where nothing of the base is.
    """

    name: str
    programs: Sequence[str] = ()
    folders: Mapping[str, Path] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    library: Path | None = None
    base: Copy | None = None
    below: Sequence[Path] = ()


def interpreter() -> str:
    """Return the interpreter that places use: the one that our own environment is based on."""
    programs = Path(sys.base_prefix).resolve() / "bin"
    exact = programs / f"python{sys.version_info.major}.{sys.version_info.minor}"  # another one may be called python3
    return str(exact if exact.exists() else programs / "python3")


def recipe(name: str, folders: Mapping[str, Path], programs: Sequence[str] = (), own: Sequence[str] = ()) -> Recipe:
    """Return a recipe that holds our interpreter, its library and the basic programs.

    Args:
        name: what it is for.
        folders: see `Recipe`.
        programs: more programs, by their names.
        own: more folders and files, which keep their places.
    """
    python = Path(interpreter())
    places = {place: Path(place) for place in (*SHARED, *own)}
    names = (str(python), str(python.parent / "python3"), *BASICS, *programs)
    links = {} if python.is_relative_to("/usr") else {"/usr/bin/python3": str(python)}
    return Recipe(name, names, places | dict(folders), links, Path(os.__file__).resolve().parent)


@dataclass(frozen=True)
class Copy:
    """A copy that this process holds: it stays until the process ends, whatever becomes of its sources.

    Attributes:
        folder: where it lies.
        entries: what it is made of.
    """

    folder: Path
    entries: Sequence[Entry] = field(repr=False)

    def at(self, place: str) -> Path:
        """Return where a file or folder lies in it that a place sees at `place`."""
        return self.folder / place.lstrip("/")

    @cached_property
    def roots(self) -> Sequence[str]:
        """The folders of the host that a place sees from it: /usr, the interpreter's own, and those of stray files."""
        base = str(Path(sys.base_prefix).resolve())
        roots = ["/usr"] if base == "/usr" or base.startswith("/usr/") else ["/usr", base]
        roots += [f"/{name}" for name in LINKED if (self.folder / name).is_dir()]
        for place, source, *_ in self.entries:
            if place == source and not place.startswith("/etc/") and not _under(place, roots):
                roots.append(str(Path(place).parent))
        return roots


class Copies:
    """The copies of one class, on this machine and of this user.

    Args:
        folders: where copies may lie; the first is taken that can be written, and is ours alone.
        name: the class.
    """

    def __init__(self, folders: Sequence[Path], name: str) -> None:
        self._folders, self._name = folders, name

    def get(self, wanted: Recipe, fresh_for: float = 0) -> Copy:
        """Return the copy of a recipe, and make it where there is none that is up to date.

        Args:
            wanted: the recipe.
            fresh_for: seconds for which this process uses a copy that was up to date and does not look again.

        Raises:
            Unavailable: it cannot be made; the message says what is missing.
        """
        folder = self._folder() / self._name / wanted.name
        key = _key(wanted)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with _locked(folder / "lock"):
                copy, seen = _SEEN.get((folder, key), (None, 0.0))
                if copy is not None and time.monotonic() < seen + fresh_for and (copy.folder / LIST).exists():
                    return copy
                copy = self._up_to_date(folder, wanted, key)
                _SEEN[folder, key] = copy, time.monotonic()
                return copy
        except OSError as error:
            raise Unavailable(
                f"the programs that {wanted.name}s read cannot be copied to {folder} ({error.strerror}): free some "
                "space there, and let this user read them"
            ) from error

    def _up_to_date(self, folder: Path, wanted: Recipe, key: str) -> Copy:
        for made in sorted(folder.iterdir()):
            if made.is_dir() and (copy := _current(made, key)) is not None:
                return copy
        copy = _make(folder, wanted, key)
        _remove_old(folder, copy.folder)
        return copy

    def _folder(self) -> Path:
        for folder in self._folders:
            with contextlib.suppress(OSError):
                folder.mkdir(mode=0o755, parents=True, exist_ok=True)
                status = folder.lstat()
                ours = status.st_uid == os.geteuid() and stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o022
                if ours and os.access(folder, os.W_OK):
                    return folder
        places = ", ".join(map(str, self._folders))
        raise Unavailable(f"nowhere to keep copies of the programs that places read: make one of {places} writable")


def usual_folders(environments: Path) -> Sequence[Path]:
    """Say where copies may lie: beside the installed environments, or else where this user keeps what can be remade."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    own = Path(tempfile.gettempdir()) / f"quarterturn-copies-{os.geteuid()}"
    return [environments / "copies", cache / "quarterturn" / "copies", own]


def _current(folder: Path, key: str) -> Copy | None:
    """Hold a copy if it is one of this recipe, whole, and up to date."""
    with contextlib.suppress(OSError, ValueError):
        document = json.loads((folder / LIST).read_text())
        entries = [(place, source, kind, size, at, to) for place, source, kind, size, at, to in document["entries"]]
        if document["recipe"] == key and all(
            _entry(entry[0], entry[1]) == entry
            for entry in entries
            if COMPILED not in entry[0]  # which is made anew when it does not fit
        ):
            return _held(Copy(folder, entries))
    return None


def _key(wanted: Recipe) -> str:
    folders = {place: [str(source), source.exists()] for place, source in wanted.folders.items()}
    parts = [
        list(wanted.programs),
        folders,
        dict(wanted.links),
        str(wanted.library),
        str(wanted.base and wanted.base.folder),
        [str(folder) for folder in wanted.below],
        NOT_STANDARD,
        NOT_NEEDED,
        LOADED_LATER,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _make(folder: Path, wanted: Recipe, key: str) -> Copy:
    for left in folder.glob("*.part"):  # of a process that was killed: the lock is ours
        shutil.rmtree(left, ignore_errors=True)
    sources = {place: source for place, source in _Gathered(wanted).sources.items() if place not in wanted.links}
    entries = [entry for place, source in sources.items() if (entry := _entry(place, str(source)))]
    text = json.dumps({"recipe": key, "entries": entries})
    copy_folder = folder / hashlib.sha256(text.encode()).hexdigest()[:32]
    part = folder / f"{secrets.token_hex(8)}.part"
    part.mkdir(mode=0o755)
    try:
        linked: dict[tuple[int, int], Path] = {}
        for place, target in wanted.links.items():
            link = part / place.lstrip("/")
            link.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            link.symlink_to(target)
        for entry in entries:
            with contextlib.suppress(FileNotFoundError) if COMPILED in entry[0] else contextlib.nullcontext():
                _write(part, entry, linked, wanted.base)
        (part / HELD).touch()
        (part / LIST).write_text(text)
        shutil.rmtree(copy_folder, ignore_errors=True)  # one of that name was not up to date: it was damaged
        part.rename(copy_folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return _held(Copy(copy_folder, entries))


def _write(folder: Path, entry: Entry, linked: dict[tuple[int, int], Path], base: Copy | None) -> None:
    """Write one entry; `linked` has what was written of each file that has more than one name."""
    place, source, kind, _, at, to = entry
    target = folder / place.lstrip("/")
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    if kind == "link":
        target.symlink_to(to)
    elif kind == "folder":
        target.mkdir(mode=0o755, exist_ok=True)
    elif base is not None and base.at(place).exists():
        target.hardlink_to(base.at(place))
    else:
        status = Path(source).stat()
        inode = (status.st_dev, status.st_ino)
        if status.st_nlink > 1 and inode in linked:
            target.hardlink_to(linked[inode])
            return
        linked[inode] = target
        shutil.copyfile(source, target)
        target.chmod(0o755 if status.st_mode & 0o111 else 0o644)
        os.utime(target, ns=(at, at))  # compiled Python goes by the time of its source


def _entry(place: str, source: str) -> Entry | None:
    """Return what a source is now, or None where it is gone or is no file, folder or link.

    Each check of a box asks this of some 35,000 sources: a `Path` for each would take half a second more.
    """
    try:
        status = os.lstat(source)
    except OSError:
        return None
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFREG:
        return place, source, "file", status.st_size, status.st_mtime_ns, ""
    if kind == stat.S_IFLNK:
        return place, source, "link", 0, 0, str(Path(source).readlink())
    if kind == stat.S_IFDIR:
        with os.scandir(source) as inside:
            names = "/".join(sorted(path.name for path in inside if path.name != COMPILED))
        return place, source, "folder", 0, 0, hashlib.sha256(os.fsencode(names)).hexdigest()
    return None


class _Gathered:
    """The sources of a recipe by where a place sees them: folders before what is in them."""

    def __init__(self, wanted: Recipe) -> None:
        self.sources: dict[str, Path] = {}
        if wanted.base is not None:
            self.sources |= {place: Path(source) for place, source, *_ in wanted.base.entries}
        self._moved = [source.resolve() for place, source in wanted.folders.items() if place != str(source)]
        for name in wanted.programs:
            for path in [Path(name)] if "/" in name else [Path(folder) / name for folder in WHERE]:
                if path.exists():
                    self._file(path)
        for place, source in wanted.folders.items():
            self._folder(place, source)
        if wanted.library is not None:
            self._folder(str(wanted.library), wanted.library, NOT_STANDARD)
        # Not for an added server's folder: `ldd` starts the loader, as us, and it runs the libraries that an ELF file
        # names as its auditors (DT_AUDIT). No world sees what would be found, either.
        if wanted.programs:
            self._libraries()
        for folder in wanted.below:
            self._below(folder)

    def _file(self, path: Path) -> None:
        """Take a file, and every link on the way to it."""
        for _ in range(40):
            path = Path(os.path.realpath(path.parent)) / path.name
            self.sources[str(path)] = path
            if not path.is_symlink():
                return
            path = path.parent / path.readlink()

    def _folder(self, place: str, source: Path, without: Collection[str] = ()) -> None:
        if not source.is_dir():
            if source.exists():
                self.sources[place] = source
            return
        for folder, folders, files in os.walk(source):
            skipped = (*NOT_NEEDED, *(without if folder == str(source) else ()))
            folders[:] = sorted(name for name in folders if not any(fnmatch(name, pattern) for pattern in skipped))
            below = os.path.relpath(folder, source)
            at = place if below == "." else f"{place}/{below}"
            self.sources[at] = Path(folder)
            links = [name for name in folders if Path(folder, name).is_symlink()]
            for name in (*sorted(set(files) - set(NOT_NEEDED)), *links):
                self.sources[f"{at}/{name}"] = Path(folder) / name

    def _below(self, root: Path) -> None:
        """Take what lies in a folder where this has nothing: a place's own programs stay what they are.

        Some of them start as root, before the place's user takes over. Nothing is laid through a link either.
        """
        for folder, folders, files in os.walk(root):
            at = folder.removeprefix(str(root))
            kept = self.sources.get(at)
            if kept is not None and (kept.is_symlink() or not kept.is_dir()):
                folders.clear()
                continue
            links = [name for name in folders if Path(folder, name).is_symlink()]
            folders.sort()
            for name in sorted((*files, *links)):
                self.sources.setdefault(f"{at}/{name}", Path(folder, name))

    def _libraries(self) -> None:
        programs = [str(path) for path in self.sources.values() if _is_program(path)]
        libraries: set[Path] = set()
        for start in range(0, len(programs), BATCH):
            libraries.update(_needed(programs[start : start + BATCH]))
        beside = {folder / name for folder in {path.parent for path in libraries} for name in LOADED_LATER}
        for path in sorted(libraries | {path for path in beside if path.exists()}):
            if not any(path.resolve().is_relative_to(folder) for folder in self._moved):
                self._file(path)


def _needed(programs: Sequence[str]) -> Iterator[Path]:
    """Name the shared libraries of some programs and libraries, as the loader finds them."""
    listing = subprocess.run(
        ["ldd", *programs], capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin"}
    )
    for line in listing.stdout.splitlines():
        words = line.split()
        library = words[2:3] if words[1:2] == ["=>"] else words[:1] if line.startswith("\t") else []
        if library and library[0].startswith("/"):
            yield Path(library[0])


def _is_program(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    if not (os.access(path, os.X_OK) or ".so" in path.name):
        return False
    with path.open("rb") as file:
        return file.read(4) == ELF


def _under(place: str, roots: Sequence[str]) -> bool:
    return any(place.startswith(f"{root}/") for root in roots)


# ---- who holds what ----

_HELD: dict[Path, int] = {}
_SEEN: dict[tuple[Path, str], tuple[Copy, float]] = {}
"""The copies that were up to date, by folder and digest of the recipe, and when that was seen."""


def _held(copy: Copy) -> Copy:
    """Let nobody remove it while this process lives."""
    if copy.folder not in _HELD:
        descriptor = os.open(copy.folder / HELD, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        _HELD[copy.folder] = descriptor
    return copy


def _remove_old(folder: Path, current: Path) -> None:
    for old in folder.iterdir():
        if old.is_dir() and old != current:
            _if_not_held(old, lambda old=old: shutil.rmtree(old, ignore_errors=True))  # type: ignore[misc]


def _if_not_held(folder: Path, do: Callable[[], None]) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(folder / HELD, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            do()
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
