"""Builds our container images that are missing.

An image's tag is a digest of everything that it is built from, so one that is there is the right one; `latest` follows
it. A Dockerfile has two arguments, BASE and BUILD_BASE (`sandbox.images.bases`): final stages stand on the first, build
stages on the second, so that no image holds a trace of how this machine reaches its packages. The world's image is
based on another image of ours, whose tag is the argument SERVERS: a change of our own programs downloads nothing.

Standard library only: the launcher calls this before it starts the tests.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from sandbox.images.bases import Reach, Say, base_name, build_base, make_base
from sandbox.images.client import docker, exists, image_id

NOT_BUILT_IN = {"__pycache__", "node_modules", "README.md"}


@dataclass(frozen=True, slots=True)
class ImageSource:
    """One image of ours.

    Attributes:
        name: what it is called.
        folder: what it is built from.
        beside: files and folders that are laid into that one, by the name that they get there.
        without: what in the folder it is not built from.
        on: the image of ours that it stands on, if it is not a base.
        pinned: more of `beside`, whose digests stand in a lock there: its tag is none of their content.
    """

    name: str
    folder: Path
    beside: tuple[tuple[str, Path], ...] = ()
    without: frozenset[str] = frozenset()
    on: ImageSource | None = None
    pinned: tuple[tuple[str, Path], ...] = ()

    def tag(self, base: str) -> str:
        """Return the reference of what the folder is built into on this base."""
        digest = hashlib.sha256((self.on.tag(base) if self.on else base).encode())
        for name, path in self._inputs():
            content = path.read_bytes()
            digest.update(f"\n{name} {len(content)}\n".encode() + content)
        return f"{self.name}:{digest.hexdigest()[:16]}"

    @contextmanager
    def context(self) -> Iterator[Path]:
        """Lay everything that it is built from into one folder, for as long as that is needed."""
        with tempfile.TemporaryDirectory(prefix="quarterturn-build-") as folder:
            for name, path in (*self._inputs(), *self.pinned):
                place = Path(folder, name)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, place)
            yield Path(folder)

    def _inputs(self) -> Iterator[tuple[str, Path]]:
        for prefix, source in (("", self.folder), *self.beside):
            for path in sorted(source.rglob("*")) if source.is_dir() else [source]:
                inside = path.relative_to(source)
                unread = NOT_BUILT_IN | (frozenset() if prefix else self.without)
                if path.is_file() and not unread & set(inside.parts):
                    yield str(Path(prefix, inside)), path


HERE = Path(__file__).parent
IN_WORLD = HERE / "world"
LOCKS = ("node.txt", "npm")  # of the servers that come from npm; they lie in the world's folder
ROOT = HERE.parents[1]
FOLDERS = ROOT / "sandbox" / "servers"  # one a server
KINDS = ROOT / "sandbox" / "kinds"  # one a state kind
COMMON = (KINDS / "common" / "frozen", KINDS / "common" / "services")  # what stops clocks, and keeps services up
RELAY = ImageSource("quarterturn-relay", HERE / "relay")
SERVERS = ImageSource(
    "quarterturn-servers",
    HERE / "servers",
    (
        *((name, IN_WORLD / name) for name in LOCKS),
        *((f"python/{path.parent.name}.txt", path) for path in sorted(FOLDERS.glob("*/requirements.txt"))),
    ),
)
WORLD = ImageSource(
    "quarterturn-world",
    IN_WORLD,
    beside=tuple((f"ours/{path.relative_to(ROOT)}", path) for path in (*COMMON, *sorted(KINDS.glob("*/backend")))),
    without=frozenset({*LOCKS, "node.in"}),
    on=SERVERS,
)
RULEBOOK = ImageSource("quarterturn-agent-rulebook", ROOT / "examples" / "agents" / "rulebook")
LLM = ImageSource("quarterturn-agent-llm", ROOT / "examples" / "agents" / "llm")
IMAGES = (RELAY, SERVERS, WORLD, RULEBOOK, LLM)  # what another stands on comes before it
ADDED = "quarterturn-added"
INSTALLED_FROM = {  # in the folder of an added server -> in its folder in the image
    "python/fetched.txt": "requirements.txt",
    "npm/npm.txt": "npm.txt",
    "package/*": "",  # its own wheel or tarball, which no registry has
    "debian-packages.txt": "",
}


def ensure(reach: Reach, say: Say, images: Sequence[ImageSource] = IMAGES) -> dict[str, str]:
    """Build what is missing, and give each image's tag by its name.

    Raises:
        Unavailable: there is no Docker client or engine, or a build failed.
    """
    docker("version", what="building images")  # fails where no engine answers
    base = base_name()
    tags = {image: image.tag(base) for image in images}
    with _alone():
        lacking = [image for image in images if not exists(tags[image])]
        if lacking:
            _build_all(lacking, base, reach, say)
        for image, tag in tags.items():
            docker("tag", tag, f"{image.name}:latest", what=f"naming {tag}")
    return {image.name: tag for image, tag in tags.items()}


def added(servers: Path) -> ImageSource:
    """Return what the image of a world with the servers that a home has added is built from; its base is a world.

    Args:
        servers: `<home>/servers`, with a folder for each server: `python/fetched.txt`, or for an npm package
            `npm/npm.txt`; both were written by `quarterturn.servers.install`, and neither is a stranger's text.
            Version 0.9.0 wrote `requirements.txt` alone.
    """
    beside = [
        (f"added/{folder.relative_to(servers)}/{inside or path.name}", path)
        for server in sorted(servers.glob("[!.]*"))
        for folder in (server, *sorted(server.glob("services/*")))
        for pattern, inside in INSTALLED_FROM.items()
        for path in sorted(folder.glob(pattern))
        if path.is_file()
    ]
    older = [path for path in sorted(servers.glob("[!.]*/requirements.txt")) if not path.with_name("python").exists()]
    beside += [(f"added/{path.relative_to(servers)}", path) for path in older]
    debian = [
        (f"added/{path.parent.parent.name}/{path.name}", path) for path in sorted(servers.glob("[!.]*/system/*.deb"))
    ]
    locks = (("node.txt", IN_WORLD / "node.txt"), *beside)
    return ImageSource(ADDED, HERE / "added", locks, pinned=tuple(debian))


def ensure_added(servers: Path, reach: Reach, say: Say) -> str:
    """Build the image with the servers that a home has added, if it is missing, and give its tag.

    Raises:
        Unavailable: as for `ensure`.
    """
    world = ensure(reach, say, (SERVERS, WORLD))[WORLD.name]
    source, base = added(servers), base_name()
    tag = source.tag(image_id(world))
    with _alone():
        if not exists(tag):
            make_base(base, say)
            with build_base(base, reach) as stages:
                say(f"building the image {tag}")
                _build(source, tag, world, stages, downloads="archives")
    return tag


@contextmanager
def _alone() -> Iterator[None]:
    """Build in one process at a time; whoever waited finds the work done. The kernel lets go when a process ends."""
    name = Path(tempfile.gettempdir(), f"quarterturn-images-{os.getuid()}.lock")
    descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _build_all(images: Sequence[ImageSource], base: str, reach: Reach, say: Say) -> None:
    make_base(base, say)
    fetching = any(image.on is None for image in images)
    with build_base(base, reach) if fetching else nullcontext("") as stages:
        for image in images:
            tag = image.tag(base)
            say(f"building the image {tag}")
            _build(image, tag, base, stages)


def _build(image: ImageSource, tag: str, base: str, stages: str, downloads: str | None = None) -> None:
    """Build an image; `downloads` is the stage after which it has no network, because it unpacks what strangers wrote.

    The classic builder takes that stage from its cache the second time.
    """
    values = {"SERVERS": image.on.tag(base)} if image.on else {"BASE": base, "BUILD_BASE": stages}
    arguments = [word for name, value in values.items() for word in ("--build-arg", f"{name}={value}")]
    arguments += ["--force-rm", "--network"]
    with image.context() as folder:
        # The host's network, because the builder's own has neither a loopback proxy nor, always, a way out.
        if downloads is not None:
            docker("build", *arguments, "host", "--target", downloads, folder, what=f"downloading what {tag} holds")
        network = "host" if downloads is None else "none"
        docker("build", *arguments, network, "--tag", tag, folder, what=f"building {tag}")
