"""The servers that a home has added: a folder each, with manifest, lock, recorded tools and installed programs.

    <home>/servers/<name>/server.yaml  tools.json  requirements.txt or package-lock.json  python/ or npm/
                          debian-packages.txt  system/

Nothing in it is a secret or an unsalted function of a task, so it is not sealed; each server's digest stands in the
`set` statement and in every task that is drawn for it, so a change is found.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quarterturn.errors import Malformed, NotFound, Refused, Unavailable
from quarterturn.home.paths import HomePaths
from quarterturn.launcher import pip_settings
from quarterturn.launcher.images import reach
from quarterturn.servers import debian, install
from quarterturn.servers.local_package import DIRECT, KEPT_IN, LocalPackage
from quarterturn.servers.npm_lock import MAX_LOCK_BYTES
from sandbox.boxes.box import Box
from sandbox.errors import Malformed as BadState
from sandbox.images.added.unpack import DEBIAN_LIST
from sandbox.images.build import ensure_added
from sandbox.servers import manifest
from sandbox.servers.added_servers import list_added, load_added, register_added
from sandbox.servers.registry import SERVERS
from sandbox.servers.server import LOCKS, SERVICES_FOLDER, SYSTEM_ROOT, Server, added_at
from sandbox.servers.services import KIND_PORTS
from vault.files import write_atomically
from vault.keys import private_files
from vault.task.lifecycle import TaskState
from verifiers.errors import Malformed as NotFitting
from verifiers.predicates import namespaces

if TYPE_CHECKING:
    from sandbox.runs.tool_listing import FirstStart
    from vault.store.tasks import TaskRecord

MAX_MANIFEST = 64 * 1024
ENDED = (TaskState.PUBLISHED, TaskState.REJECTED, TaskState.WITHDRAWN)


@dataclass(frozen=True, slots=True)
class ToolDifference:
    """Tools that a server lists otherwise than they are recorded, by name."""

    missing: tuple[str, ...]
    new: tuple[str, ...]
    changed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.missing or self.new or self.changed)

    def __str__(self) -> str:
        parts = (("no longer has", self.missing), ("newly has", self.new), ("describes otherwise", self.changed))
        return "; ".join(f"{words} {', '.join(names)}" for words, names in parts if names)


class HomeServers:
    """The added servers of one home.

    Args:
        folder: `<home>/servers`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        """List them, sorted."""
        return list_added(self._folder)

    def register(self) -> None:
        """Make this process know them.

        Raises:
            Malformed: a manifest cannot be understood.
            Refused: a name is taken.
        """
        register_added(self._folder)

    def server(self, name: str) -> Server:
        """Return one.

        Raises:
            NotFound: the home has added none of this name.
        """
        if name not in self.names():
            raise NotFound(f"this home has added no server {name!r}; `quarterturn server list` shows the servers")
        return load_added(self._folder / name)

    def add(self, source: Path, make_box: Callable[[], Box]) -> tuple[Server, FirstStart]:
        """Install a server, start it, record its tools, call one, and keep it; nothing is kept where a step fails.

        Args:
            source: a manifest, or a folder that holds one and perhaps its lock, constraints and recorded tools.
            make_box: gives the box that it is started in.

        Raises:
            NotFound: there is no manifest.
            Malformed: the manifest or its lock is wrong, or the tools differ from those recorded beside it.
            Refused: the name is taken.
            Unavailable: it cannot be installed, or does not start.
        """
        file = source / manifest.FILE if source.is_dir() else source
        name = self._fitting(file)
        recorded = _recorded(file.parent / manifest.TOOLS)
        shutil.rmtree(self._folder / name, ignore_errors=True)  # what an interrupted `remove` left
        self._folder.mkdir(exist_ok=True)
        with private_files.folder_beside(self._folder / name) as part:
            part.chmod(0o755)
            if text := _text(file.parent / manifest.PREDICATES):
                (part / manifest.PREDICATES).write_text(text, encoding="utf-8")
            shutil.copyfile(file, part / manifest.FILE)
            for place, package, version in _packages(_document(file)):
                (part / place).mkdir(parents=True, exist_ok=True)
                for beside in (install.lock_name(package), install.CONSTRAINTS):
                    if text := _text(file.parent / place / beside):
                        (part / place / beside).write_text(text, encoding="utf-8")
                if local := LocalPackage.of(package, file.parent):
                    local.keep(place.rpartition("/")[2] or name, version, part / place)
                install.install(part / place, f"{name}/{place}".rstrip("/"), package, version, file.parent / place)
            if text := _text(file.parent / DEBIAN_LIST):
                (part / DEBIAN_LIST).write_text(text, encoding="utf-8")
            if names := _document(file).get("system"):
                debian.install(part, name, names, file.parent)
            first = _first_start(make_box(), load_added(part, name))
            tools = first.tools
            _refuse_names(name, tools)
            if recorded is not None and (difference := compared(recorded, tools)):
                noted = file.parent / manifest.TOOLS
                raise Malformed(f"{noted} differs from what {name} lists: it {difference}; remove it or mend it")
            _write_tools(part, tools)
            try:
                part.rename(self._folder / name)
            except OSError as error:
                if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                    raise
                raise _taken(name) from None  # somebody else has added one of this name meanwhile
        self.register()
        return self.server(name), first

    def record(self, name: str, make_box: Callable[[], Box]) -> ToolDifference:
        """Install what is missing, start the server, write down its tools, and say what changed.

        Raises:
            NotFound, Unavailable: as for `add`.
        """
        server = self.server(name)
        folder = self._folder / name
        self._install_missing(name)
        tools = _first_start(make_box(), load_added(folder)).tools
        _refuse_names(name, tools)
        _write_tools(folder, tools)
        return compared(server.tools, tools)

    def check(self, name: str, make_box: Callable[[], Box]) -> ToolDifference:
        """Start a server and compare its tools with those that are recorded.

        Raises:
            NotFound: the home has added none of this name.
            Unavailable: its programs are missing, or it does not start.
        """
        server = self.server(name)
        if self.missing(name):
            raise NotFound(
                f"the programs of {name} are not installed: `quarterturn server record {name}` installs them"
            )
        return compared(server.tools, _first_start(make_box(), server).tools)

    def make_ready(self, box: str, say: Callable[[str], None]) -> None:
        """Make this process know the servers, and this machine able to play with them in the box of a name.

        What is not installed yet is installed as its lock says; for the docker box an image is built of it.

        Raises:
            NotFound: the folder has no server.
            Malformed, Refused, Unavailable: as for `add`.
        """
        if not self.names():
            raise NotFound(f"{self._folder} has no server: copy there what lies in the home's folder `servers`")
        for name in filter(self.missing, self.names()):
            say(f"installing {name}")
            self._install_missing(name)
        self.register()
        if box == "docker":
            self.build_image(say)

    def _install_missing(self, name: str) -> None:
        folder = self._folder / name
        for place, package, version in self._missing(name):
            install.install(folder / place, f"{name}/{place}".rstrip("/"), package, version)
        if self._lacks_system(name):
            debian.install(folder, name, _document(folder / manifest.FILE)["system"], folder)

    def missing(self, name: str) -> bool:
        """Say whether a server's programs are not installed, as in a home that was made of a backup."""
        return any(self._missing(name)) or self._lacks_system(name)

    def _lacks_system(self, name: str) -> bool:
        """Say whether a server has Debian packages that are not unpacked."""
        folder = self._folder / name
        return "system" in _document(folder / manifest.FILE) and not (folder / SYSTEM_ROOT).is_dir()

    def _missing(self, name: str) -> Iterator[tuple[str, str, str]]:
        """Yield those of a server's packages whose programs are not installed."""
        for place, package, version in _packages(_document(self._folder / name / manifest.FILE)):
            is_python = install.lock_name(package) == install.REQUIREMENTS
            program = "python/bin/python" if is_python else "npm/node_modules"
            if not (self._folder / name / place / program).exists():
                yield place, package, version

    def build_image(self, say: Callable[[str], None]) -> str:
        """Build the image of a world with these servers, for the docker box, if it is missing, and give its tag.

        Raises:
            NotFound: none was added.
            Unavailable: the programs of one are missing, no engine answers, or the build failed.
        """
        names = self.names()
        if not names:
            raise NotFound("this home has added no server, and the docker box has an image with the shipped ones")
        if lacking := next(filter(self.missing, names), None):
            raise Unavailable(
                f"the programs of {lacking} are not installed: `quarterturn server record {lacking}` installs them"
            )
        return ensure_added(self._folder, reach(pip_settings.read(os.environ), os.environ), say)

    def remove(self, name: str, *, used: Iterable[TaskRecord], listed: Callable[[TaskRecord], Iterable[str]]) -> None:
        """Forget a server and remove its programs.

        Args:
            name: the server.
            used: the home's tasks; those of a state that is not the end of their life still need it.
            listed: opens a task and gives the tools that it lists, of its own server or as distractors.

        Raises:
            NotFound: the home has added none of this name.
            Refused: tasks that list a tool of it are not yet published, rejected or withdrawn.
        """
        self.server(name)
        left = [record for record in used if record.state not in ENDED]
        tasks = [record for record in left if record.server == name]
        if not tasks:  # only then is a task opened
            tasks = [record for record in left if any(tool.partition(".")[0] == name for tool in listed(record))]
        if tasks:
            raise Refused(
                f"{len(tasks)} tasks that list tools of the server {name} are not published, rejected or withdrawn, "
                f"such as {tasks[0].id}: a server is removed after its tasks"
            )
        (self._folder / name / manifest.FILE).unlink()  # from now on it is none, whatever stops the rest
        shutil.rmtree(self._folder / name)

    def _fitting(self, file: Path) -> str:
        """Check all that can be known before anything is installed, and return the server's name.

        Raises:
            NotFound, Malformed, Refused: as for `add`.
        """
        document = _document(file)
        name: str = document["server"]
        for place, package, version in _packages(document):
            try:
                install.lock_name(package)
            except Malformed as error:
                raise Malformed(f"{file} at $.{f'{place}/'.lstrip('/').replace('/', '.')}package: {error}") from None
            if local := LocalPackage.of(package, file.parent):
                local.check(version)
        if name in SERVERS or name in self.names():
            raise _taken(name)
        own = file.parent / manifest.PREDICATES
        if "predicates" in document and not own.is_file():
            raise NotFound(f"{file} declares predicates, and there is no {own}")
        if own.is_file() and "predicates" not in document:
            raise Malformed(f"{own} has predicates that {file} does not declare: declare them under `predicates`")
        server = manifest.load(
            file.read_text(encoding="utf-8"), {}, str(file), added=added_at(name), predicates=_text(own)
        )
        try:
            namespaces.must_be_free(name, server.kind)
            if server.own is not None:
                server.own.check()
        except NotFitting as error:
            raise Malformed(f"{file}: {error}") from None
        try:
            server.seed(server.start_with)
        except BadState as error:
            raise Malformed(f"{file} at $.start_with: {error}") from None
        others = {other.root: other.name for other in SERVERS.values()}
        if server.root in others:
            raise Refused(
                f"{file} at $.state.folder: the server {others[server.root]} has the folder {server.root!r}, and a "
                "world may hold both: choose another"
            )
        _refuse_ports(server, str(file))
        return name


def of_home(home: Path) -> HomeServers:
    """Return the servers of a home, without opening it.

    Raises:
        NotFound: there is no home.
    """
    places = HomePaths(home.resolve())
    places.require()
    return HomeServers(places.servers)


def kept_files(folder: Path) -> list[Path]:
    """List what a backup holds of `<home>/servers`: everything but the installed programs, which a lock brings back."""
    own = (DIRECT, f"{KEPT_IN}/*")  # of a package that no registry has
    each = (install.CONSTRAINTS, *LOCKS, DEBIAN_LIST, *own)
    services = (f"{SERVICES_FOLDER}/*/{name}" for name in each)
    names = (manifest.FILE, manifest.TOOLS, manifest.PREDICATES, *each, *services)
    return [path for name in names for path in sorted(folder.glob(f"*/{name}"))]


def compared(before: Mapping[str, Any], after: Mapping[str, Any]) -> ToolDifference:
    """Compare two lists of tools."""
    return ToolDifference(
        missing=tuple(sorted(before.keys() - after.keys())),
        new=tuple(sorted(after.keys() - before.keys())),
        changed=tuple(sorted(name for name in before.keys() & after.keys() if before[name] != after[name])),
    )


def _packages(document: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """List a manifest's packages: the folder in the server's own, `package` and `version`."""
    packages = [("", document["package"], document["version"])]
    for name, about in document.get("services", {}).items():
        if "package" in about:
            packages.append((f"{SERVICES_FOLDER}/{name}", about["package"], about["version"]))
    return packages


def _refuse_ports(server: Server, what: str) -> None:
    """Refuse a service on a port that a state kind or another server has: a world may hold both."""
    taken = dict.fromkeys(KIND_PORTS, "a state kind")
    for other in SERVERS.values():
        taken |= {about["port"]: f"the server {other.name}" for about in other.services.values()}
    for name, about in server.services.items():
        if about["port"] in taken:
            raise Refused(
                f"{what} at $.services.{name}.port: {taken[about['port']]} has the port {about['port']}, and a world "
                "may hold both: choose another"
            )
        taken[about["port"]] = f"the service {name}"


def _first_start(box: Box, server: Server) -> FirstStart:
    from sandbox.runs import tool_listing  # noqa: PLC0415 - the protocol's package loads slowly, and few verbs ask

    return tool_listing.start(box, server)


def _document(file: Path) -> Mapping[str, Any]:
    if not file.is_file():
        raise NotFound(f"there is no manifest {file}; docs/how-to/add-a-server.md shows one")
    if file.stat().st_size > MAX_MANIFEST:
        raise Malformed(f"{file} is larger than {MAX_MANIFEST} bytes, which no manifest is")
    try:
        return manifest.read(file.read_text(encoding="utf-8"), str(file))
    except UnicodeError:
        raise Malformed(f"{file} is not UTF-8 text") from None


def _text(file: Path) -> str:
    """Return the text of a file beside a manifest, or nothing where there is none.

    Such a folder may be somebody else's: a link may lead to a private file, and a sparse file has any size.

    Raises:
        Malformed: it is no plain file, too large, or no UTF-8 text.
    """
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise Malformed(f"{file} cannot be read ({error.strerror}): put a plain file there, and no link") from None
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Malformed(f"{file} is no plain file: put one there, or remove it")
        data = stream.read(MAX_LOCK_BYTES + 1)
    if len(data) > MAX_LOCK_BYTES:
        raise Malformed(f"{file} has more than {MAX_LOCK_BYTES} bytes, which nothing beside a manifest has")
    try:
        return data.decode()
    except UnicodeError:
        raise Malformed(f"{file} is not UTF-8 text") from None


def _taken(name: str) -> Refused:
    return Refused(
        f"there is a server {name!r} already: choose another name, or, if this home added it, remove it first "
        f"(`quarterturn server remove {name}`)"
    )


def _recorded(file: Path) -> dict[str, Any] | None:
    """Read the tools that are recorded beside a manifest, or None where there are none.

    Raises:
        Malformed: they are no JSON object.
    """
    if not file.is_file():
        return None
    try:
        tools = manifest.tools_of(_text(file))
    except (ValueError, RecursionError):
        tools = None
    if not isinstance(tools, dict):
        raise Malformed(f"{file} is no JSON object of tools: remove it, and `quarterturn server add` records them")
    return tools


def _refuse_names(server: str, tools: Mapping[str, Any]) -> None:
    if not tools:
        raise Malformed(f"the server {server} lists no tools, so no task can use it")
    if wrong := [name for name in tools if not manifest.fits_the_wire(server, name)]:
        raise Malformed(
            f"the server {server} has a tool {wrong[0][:80]!r}, and model interfaces accept only "
            f"`{server}__TOOL` of at most 64 letters, digits, - and _: choose a shorter name for the server"
        )


def _write_tools(folder: Path, tools: Mapping[str, Any]) -> None:
    text = manifest.tools_text(tools)
    write_atomically(folder / manifest.TOOLS, text.encode(), folder / f".{manifest.TOOLS}.new")
