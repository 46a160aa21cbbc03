"""Unpacker of downloaded packages: wheels, npm tarballs and Debian packages become files; nothing is imported or run.

It runs where nothing can be reached, in the box or in the build of an image, because archives, metadata and sources
come from strangers. It is started alone, with the standard library:

    unpack.py wheels FOLDER PLACE MTIME [INTO]   every FOLDER/*.whl, for an environment that a world sees at PLACE
    unpack.py npm FOLDER PLACE MTIME [INTO]      what FOLDER/npm.txt lists, from npm's cache in FOLDER
    unpack.py debian FOLDER PLACE MTIME [INTO]   what FOLDER/debian-packages.txt lists: programs and settings, no script

It writes files on standard output, each as lengths, path and content, and ends with an empty path: the process that
reads them has nothing to parse (`quarterturn.servers.unpacked`). In the build of an image it writes them into INTO.
MTIME, in nanoseconds, is the time of each file, which compiled Python goes by: wheels' modules are compiled here.
"""

from __future__ import annotations

import configparser
import hashlib
import importlib.util
import marshal
import os
import posixpath
import re
import stat
import struct
import subprocess
import sys
import tarfile
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HEAD = struct.Struct(">HBQ")  # bytes of the path, what it is (below), bytes of the content
PLAIN, EXECUTABLE, LINK = range(3)  # the content of a link is where it points
MAX_FILES = 100_000  # with their folders, which cost a disk as much
MAX_BYTES = 2 << 30
MAX_FILE_BYTES = 384 << 20  # a browser is one program of 300 MB
MAX_PATH_BYTES = 1000
MAX_NAME_BYTES = 255  # what file systems take
DEBIAN_LIST = "debian-packages.txt"  # the release, and a line for each package: name, version, architecture, SHA-256
LIST = "npm.txt"  # a line for each tarball: where it goes, what npm calls it, its SHA-512 in hexadecimal
SITE_PACKAGES = "lib/python{}.{}/site-packages".format(*sys.version_info)
LOCAL = "file:"  # how the list calls a tarball that no registry has
PACKAGE_TARBALL = "package.tgz"  # that tarball, in FOLDER
FOLDER = "package"  # where an environment, or node_modules, has the files of a server's own folder
ENVIRONMENT = ("bin/python", "pyvenv.cfg")  # made by whoever lays the files out, and no package's to replace
NAME = re.compile(r"[^/\\\x00-\x1f\x7f]+")
ENTRY_POINT = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_]\w*)([\w.]*)\s*(?:\[.*\])?")  # module:function
DPKG_DEB = "/usr/bin/dpkg-deb"
LAID_OUT = re.compile(r"(usr|etc)/.+")
LEFT_OUT = re.compile(
    # Documents, but not licences, and what only a running system reads. Settings of the loader, and libraries that it
    # prefers: they would reach programs that start before the world's user takes over.
    r"usr/share/(man|info|locale|lintian)/.*|usr/share/doc/(?!.*/copyright$).*|usr/lib/systemd/(system|user)/.*"
    r"|etc/ld\.so\..*|.*/glibc-hwcaps/.*"
)
SCRIPT = "#!{}\nimport sys\nfrom {} import {}\nsys.exit({}())\n"


class File(NamedTuple):
    """One file that comes out."""

    path: str
    content: bytes
    executable: bool = False
    link: bool = False

    @property
    def kind(self) -> int:
        """What it is, as `HEAD` says it."""
        return LINK if self.link else int(self.executable)


class Refused(Exception):
    """An archive holds something that no package needs; the message names it."""


def is_plain(path: str) -> bool:
    """Say whether a path stays below the folder that it is joined to, on every system."""
    try:
        names = [(name, len(name.encode())) for name in path.split("/")]
    except UnicodeEncodeError:
        return False
    return sum(size + 1 for _, size in names) <= MAX_PATH_BYTES and all(
        NAME.fullmatch(name) and size <= MAX_NAME_BYTES and name not in {".", ".."} for name, size in names
    )


class Tally:
    """What has come out so far: each path once, and everything counted."""

    def __init__(self) -> None:
        self._paths, self._folders, self._bytes = set(ENVIRONMENT), set[str](), 0
        self._links = set[str]()

    def add(self, path: str, size: int, *, link: bool = False) -> None:
        """Count a file or a link.

        Raises:
            Refused: its path leads elsewhere, through a link perhaps, or is there already, or it or its folders are too
                many.
        """
        if not is_plain(path):
            raise Refused(f"the path {path[:100]!r}, which leads elsewhere")
        if path in self._paths or path in self._folders:
            raise Refused(f"{path[:100]!r}, which is there already")
        self._paths.add(path)
        self._bytes += size
        if link:
            self._links.add(path)
        while (path := path.rpartition("/")[0]) and path not in self._folders:
            if path in self._links:
                raise Refused(f"a path through the link {path[:100]!r}, which may lead elsewhere")
            self._folders.add(path)
        require_size(size)
        if len(self._paths) + len(self._folders) > MAX_FILES or self._bytes > MAX_BYTES:
            raise Refused(f"more than {MAX_FILES} files or {MAX_BYTES >> 20} MiB, with what came before it")


def unpacked(kind: str, folder: Path, place: str, mtime: int) -> Iterator[File]:
    """Unpack everything.

    Raises:
        Refused: an archive is damaged, or holds something that no package needs; the message names it.
    """
    tally = Tally()
    for name, files in archives(kind, folder, place, mtime):
        try:
            for file in files:
                tally.add(file.path, len(file.content), link=file.link)
                yield file
        except Refused as error:
            raise Refused(f"{name} holds {error}") from None
        except Exception as error:  # whatever a damaged archive makes a reader raise
            raise Refused(f"{name} cannot be unpacked ({type(error).__name__})") from None


def archives(kind: str, folder: Path, place: str, mtime: int) -> Iterator[tuple[str, Iterator[File]]]:
    """List the archives: what each is called, and its files."""
    if kind == "wheels":
        for wheel in sorted(folder.glob("*.whl")):
            yield wheel.name, wheel_files(wheel, place, mtime)
        return
    if kind == "debian":
        laid_out = set[str]()
        for line in (folder / DEBIAN_LIST).read_text(encoding="ascii").splitlines()[1:]:
            name, _, _, digest = line.split()
            yield f"{name}.deb", debian_files(folder / f"{name}.deb", digest, laid_out)
        return
    for line in (folder / LIST).read_text(encoding="ascii").splitlines():
        prefix, spec, digest = line.split()
        archive = PACKAGE_TARBALL if spec.startswith(LOCAL) else in_cache(digest)
        yield spec, tarball_files(folder / archive, digest, prefix)


def in_cache(digest: str) -> str:
    """Return where npm's cache keeps the content of a SHA-512."""
    return f"_cacache/content-v2/sha512/{digest[:2]}/{digest[2:4]}/{digest[4:]}"


def tarball_files(archive: Path, digest: str, prefix: str) -> Iterator[File]:
    """Yield the files of an npm tarball below `prefix`, without the folder that everything in it lies in.

    Links and devices are left out, as npm leaves them out. `./` in a path counts for nothing, and a file that is there
    once more with the same bytes counts once: agent-base 7.1.4 has `dist/index.js` and `./dist/index.js`.
    """
    digests: dict[str, bytes] = {}
    with archive.open("rb") as opened:
        if hashlib.file_digest(opened, "sha512").hexdigest() != digest:
            raise Refused("other bytes than its lock pins")
        opened.seek(0)
        with tarfile.open(fileobj=opened, mode="r:gz") as tar:
            for member in tar:
                inner = "/".join(name for name in member.name.partition("/")[2].split("/") if name != ".")
                if member.isreg() and inner:
                    require_size(member.size)
                    reader = tar.extractfile(member)
                    content = reader.read() if reader else b""
                    content_digest = hashlib.sha256(content).digest()
                    if digests.get(inner) != content_digest:
                        digests[inner] = content_digest
                        yield File(f"{prefix}/{inner}", content, bool(member.mode & 0o111))


def debian_files(archive: Path, digest: str, laid_out: set[str]) -> Iterator[File]:
    """Yield the files and links of a Debian package that a world can use; `laid_out` has those of packages before it.

    A hard link becomes a link, and what lies in /lib comes into /usr/lib, where it is since Debian 12. Scripts of the
    package's maintainer are in another part of it, which is not opened.
    """
    with archive.open("rb") as opened:
        if hashlib.file_digest(opened, "sha256").hexdigest() != digest:
            raise Refused("other bytes than its lock pins")
    with (
        subprocess.Popen([DPKG_DEB, "--fsys-tarfile", archive], stdout=subprocess.PIPE) as reader,
        tarfile.open(fileobj=reader.stdout, mode="r|") as tar,
    ):
        for member in tar:
            path = merged(member.name)
            if path in laid_out or not LAID_OUT.fullmatch(path) or LEFT_OUT.fullmatch(path):
                continue
            if member.isreg():
                require_size(member.size)
                content = tar.extractfile(member)
                file = File(path, content.read() if content else b"", executable=bool(member.mode & 0o111))
            elif member.issym() or member.islnk():
                target = member.linkname
                if member.islnk():
                    target = posixpath.relpath(merged(target), posixpath.dirname(path))
                file = File(path, target.encode("utf-8", "surrogateescape"), link=True)
            else:
                continue
            laid_out.add(path)
            yield file
    if reader.returncode:
        raise Refused("something that dpkg-deb cannot read")


def merged(path: str) -> str:
    """Return where a path of a Debian package lies below the root, with /bin, /lib and /sbin in /usr."""
    path = path.removeprefix("./").rstrip("/")
    return f"usr/{path}" if path.startswith(("bin/", "lib/", "lib32/", "lib64/", "sbin/")) else path


def wheel_files(archive: Path, place: str, mtime: int) -> Iterator[File]:
    """Yield the files of a wheel (PEP 427) below an environment, with its scripts and its modules compiled."""
    with zipfile.ZipFile(archive) as wheel:
        for member in wheel.infolist():
            mode = member.external_attr >> 16
            if member.is_dir() or "__pycache__" in member.filename.split("/"):
                continue  # modules are compiled here, from the sources that a reader can see
            if stat.S_IFMT(mode) not in {0, stat.S_IFREG}:
                raise Refused(f"{member.filename[:100]!r}, which is neither a file nor a folder")
            require_size(member.file_size)
            content = wheel.read(member)
            file = placed(File(member.filename, content, bool(mode & 0o111)), place)
            if file is None:
                continue
            yield file
            if file.path.startswith((f"{SITE_PACKAGES}/", f"{FOLDER}/")) and file.path.endswith(".py"):
                yield from compiled(file, place, mtime)
            if re.fullmatch(r"[^/]+\.dist-info/entry_points\.txt", member.filename):
                yield from scripts(content, place)


def require_size(size: int) -> None:
    """Refuse a file that is too large before it is read."""
    if size > MAX_FILE_BYTES:
        raise Refused(f"a file of more than {MAX_FILE_BYTES >> 20} MiB")


def placed(file: File, place: str) -> File | None:
    """Put one file of a wheel where its scheme says; headers are left out."""
    data = re.fullmatch(r"[^/]+\.data/([^/]+)/(.+)", file.path)
    match data.groups() if data else ("purelib", file.path):
        case ("purelib" | "platlib", path):
            return file._replace(path=f"{SITE_PACKAGES}/{path}")
        case ("scripts", path):
            first, _, rest = file.content.partition(b"\n")
            content = f"#!{place}/bin/python\n".encode() + rest if first.startswith(b"#!python") else file.content
            return File(f"bin/{path}", content, executable=True)
        case ("data", path):
            return file._replace(path=path)
    return None


def scripts(text: bytes, place: str) -> Iterator[File]:
    """Yield a program for each console script that `entry_points.txt` declares."""
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign] # names keep their case
    parser.read_string(text.decode())
    for name, target in parser.items("console_scripts") if parser.has_section("console_scripts") else ():
        if entry := ENTRY_POINT.fullmatch(target.strip()):
            module, function, attributes = entry.groups()
            script = SCRIPT.format(f"{place}/bin/python", module, function, function + attributes)
            yield File(f"bin/{name.strip()}", script.encode(), executable=True)


def compiled(file: File, place: str, mtime: int) -> Iterator[File]:
    """Compile a module as Python does when it is first imported; what is none is passed over."""
    try:
        code = marshal.dumps(compile(file.content, f"{place}/{file.path}", "exec", dont_inherit=True))
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return  # installers pass over them as well: templates, and code for other versions
    fields = (0, mtime // 10**9 & 0xFFFFFFFF, len(file.content) & 0xFFFFFFFF)  # PEP 552: by time and size
    header = importlib.util.MAGIC_NUMBER + struct.pack("<III", *fields)
    yield File(importlib.util.cache_from_source(file.path), header + code)


def write_stream(files: Iterator[File]) -> None:
    """Write files on standard output, and in the end why no more come, or nothing."""
    message = b""
    try:
        for file in files:
            path = file.path.encode()
            head = HEAD.pack(len(path), file.kind, len(file.content))
            sys.stdout.buffer.write(head + path)
            sys.stdout.buffer.write(file.content)
    except Refused as error:
        message = str(error).encode("utf-8", "replace")[:MAX_PATH_BYTES]
    sys.stdout.buffer.write(HEAD.pack(0, 0, len(message)) + message)
    sys.stdout.buffer.flush()


def write_folder(files: Iterator[File], folder: Path, mtime: int) -> None:
    """Write files into a folder."""
    for file in files:
        target = folder / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.link:
            target.symlink_to(os.fsdecode(file.content))
            continue
        with target.open("xb") as opened:
            opened.write(file.content)
        target.chmod(0o755 if file.executable else 0o644)
        os.utime(target, ns=(mtime, mtime))


def main() -> None:
    """Unpack what the arguments name."""
    warnings.simplefilter("ignore")  # of sources that are compiled
    kind, folder, place, mtime, *into = sys.argv[1:]
    files = unpacked(kind, Path(folder), place, int(mtime))
    if not into:
        write_stream(files)
        return
    try:
        write_folder(files, Path(into[0]), int(mtime))
    except (Refused, OSError) as error:
        sys.exit(f"{place}: {error}")


if __name__ == "__main__":
    main()
