"""Installer of `.venv` and the environments inside it, each from a hashed lock and from wheels alone.

    .venv                        the core and the extras; also what a service on PostgreSQL needs, or the tests
    .venv/world/python/<name>    one PyPI server each, because they do not agree on their own dependencies
    .venv/agents                 the official MCP client, for agents that run without an image
    .venv/consumers              libraries that read exports, for `./run test --exhaustive`

pip fetches uv by its digest, and uv installs the rest: it takes half of pip's processor time, and resolves locks for
every machine. It is never let fetch a Python.
"""

from __future__ import annotations

import functools
import re
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from quarterturn.launcher import machine, pip_settings
from quarterturn.launcher.pip_settings import PipSettings
from quarterturn.launcher.stamps import Stamps, key
from quarterturn.launcher.steps import Stop, answer, carry_out, say

MISLEADING = ("PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "UV_PYTHON", "UV_PROJECT_ENVIRONMENT")
EARLIER_TRY = re.compile(r"WARNING: Retrying \(Retry\(total=[1-9]")  # the last one says the same
EXTRAS = "extras/*/pyproject.toml"
CONTENTS = {  # of the locks of the product
    "product": "the product",
    "service": "the product and what it needs on PostgreSQL",
    "tests": "the product and its tests",
}
DESCRIBE = "import sys; print(sys.version_info >= (3, 11), sys.version.split()[0], sys.base_prefix)"


@dataclass(frozen=True)
class Installer:
    """Installs into the `.venv` of one checkout.

    Attributes:
        root: the checkout.
        environ: the variables that the launcher was started with.
        main_index_alone: pass over folders and extra indexes.
    """

    root: Path
    environ: Mapping[str, str]
    main_index_alone: bool = False

    @functools.cached_property
    def settings(self) -> PipSettings:
        """Return where packages come from, which takes pip half a second to say."""
        settings = pip_settings.read(self.environ, self.python)
        return replace(settings, extra_indexes=(), find_links=()) if self.main_index_alone else settings

    @property
    def venv(self) -> Path:
        """Return the environment's folder."""
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        """Return the product's Python."""
        return self.venv / "bin" / "python"

    @property
    def uv(self) -> Path:
        """Return the installed uv."""
        return self.venv / "uv" / "bin" / "uv"

    @property
    def stamps(self) -> Stamps:
        """Return what is done already."""
        return Stamps(self.venv / "stamps")

    def make(self) -> None:
        """Make `.venv` with nothing in it but a Python, pip and uv; one that is broken or was moved is made again."""
        self._venv()
        lock = self.root / "requirements" / "installer.txt"
        wanted = key(lock)
        if self.uv.is_file() and self.stamps.holds("uv", wanted):
            return
        self._pip()
        for note in self.settings.notes:
            say(note)
        say(f"fetching uv, the installer, from requirements/{lock.name}")
        folder = self.uv.parents[1]
        shutil.rmtree(folder, ignore_errors=True)
        hashed = ("--require-hashes", "--only-binary", ":all:", "--requirement", lock, "--target", folder)
        quiet = ("--quiet", "--no-input", "--disable-pip-version-check")
        environ = {**self._clean(), "PIP_USER": "0"}  # a machine's setting, which excludes a target
        try:
            carry_out([self.python, "-I", "-m", "pip", "install", *quiet, *hashed], "fetching uv", env=environ)
        except Stop as stop:
            words = "\n".join(line for line in str(stop).splitlines() if not EARLIER_TRY.match(line))
            message = f"{words}\nSet PIP_INDEX_URL (and PIP_CERT, where a proxy signs anew) as for pip, and start again"
            raise Stop(message) from stop
        if answer([self.uv, "--version"]) is None:
            message = f"uv does not start on this machine: look at what `{self.uv} --version` says"
            raise Stop(message)
        self.stamps.write("uv", wanted)

    def product(self, *, tests: bool, postgres: bool = False, extras: bool | None = None) -> None:
        """Install the product from its lock, or from the service's or the tests' lock, which hold the product's too.

        Args:
            tests: also what the tests need, PostgreSQL's driver among it; they need the extras.
            postgres: also what a service on PostgreSQL needs.
            extras: also what lies in `extras`; None for what the last set-up had, and all of them in the first.
        """
        kind = self.stamps.read("kind")
        if extras is None:
            extras = tests or self.stamps.read("extras") != "none"
        projects = [self.root, *(path.parent for path in sorted(self.root.glob(EXTRAS)) if extras)]
        asked = {"tests": tests, "service": postgres}  # never take away what an earlier set-up installed
        chosen = next((name for name, wanted in asked.items() if wanted or kind == name), "product")
        lock = self.root / "requirements" / f"{chosen}.txt"
        wanted = self._key(lock, *(project / "pyproject.toml" for project in projects))
        if self.stamps.holds("product", wanted):
            return
        say(f"installing {CONTENTS[chosen]} from requirements/{lock.name}")
        self.stamps.drop("product")
        self._install(self.python, lock, exactly=kind is not None)  # where somebody else began, theirs stays
        each = (word for project in projects for word in ("--editable", project))
        editable = ("--no-deps", "--no-build-isolation", *each)
        self.run_uv("pip", "install", "--quiet", "--python", self.python, *editable, what="installing this checkout")
        self.stamps.write("kind", chosen)
        self.stamps.write("extras", "all" if extras else "none")
        self.stamps.write("product", wanted)

    def environment(self, place: str, lock: Path, source: Path | None = None) -> None:
        """Make the environment `.venv/<place>` from a lock.

        Args:
            place: its folder in `.venv`.
            lock: the lock.
            source: a lock of packages that have no wheel; they are built with the setuptools of the first one.
        """
        step = place.replace("/", "-")
        wanted = self._key(lock, *([source] if source else []))
        if self.stamps.holds(step, wanted):
            return
        say(f"installing {place} from {lock.relative_to(self.root)}")
        self.stamps.drop(step)
        python = self.venv / place / "bin" / "python"
        self.run_uv("venv", "--quiet", "--clear", "--python", self.python, python.parents[1], what=f"making {place}")
        self._install(python, lock)
        if source:
            built = ("--no-deps", "--no-build-isolation", "--require-hashes", "--quiet", "--requirement", source)
            self.run_uv("pip", "install", "--python", python, *built, what=f"installing {source.name}")
        self.stamps.write(step, wanted)

    def files(self, place: str, lock: Path) -> Path:
        """Install a lock's packages, without what they depend on, as mere files into `.venv/<place>`; return that.

        Raises:
            Stop: uv failed.
        """
        step, folder = place.replace("/", "-"), self.venv / place
        if folder.is_dir() and self.stamps.holds(step, key(lock)):
            return folder
        say(f"installing {place} from {lock.relative_to(self.root)}")
        self.stamps.drop(step)
        shutil.rmtree(folder, ignore_errors=True)
        hashed = ("--no-deps", "--require-hashes", "--no-build", "--requirement", lock)
        where = ("--python", self.python, "--target", folder)
        self.run_uv("pip", "install", "--quiet", *where, *hashed, what=f"installing {place}")
        self.stamps.write(step, key(lock))
        return folder

    def run_uv(self, *arguments: str | Path, what: str) -> str:
        """Run uv with this machine's settings.

        Raises:
            Stop: it failed.
        """
        closed = ("--no-index",) if self.settings.index is None and arguments[0] == "pip" else ()
        return carry_out([self.uv, *arguments, *closed], what, env=self.uv_environ(), cwd=self.root)

    def uv_environ(self) -> dict[str, str]:
        """Return the variables that uv runs with."""
        clean = {name: value for name, value in self.environ.items() if name not in MISLEADING}
        never = {"UV_PYTHON_PREFERENCE": "only-system", "UV_PYTHON_DOWNLOADS": "never"}
        return clean | pip_settings.for_uv(self.settings, clean) | never

    def _install(self, python: Path, lock: Path, *, exactly: bool = True) -> None:
        """Install a lock, compiled: worlds mount theirs read-only, and to compile takes each process seconds."""
        how = ("sync", lock) if exactly else ("install", "--requirement", lock)
        hashed = ("--require-hashes", "--no-build", "--compile-bytecode", "--quiet", "--python", python)
        self.run_uv("pip", *how, *hashed, what=f"installing {lock.name}")

    def _key(self, *inputs: Path) -> str:
        return key(self._described() or "", *inputs)

    def _described(self) -> str | None:
        description = answer([self.python, "-c", DESCRIBE])
        return description if description and description.startswith("True") else None

    def _venv(self) -> None:
        made_at = self.stamps.read("place")
        if self._described() and made_at in {None, str(self.root)}:
            self.stamps.write("place", str(self.root))
            return
        if self.venv.exists():
            say("making .venv again: it is broken, was moved, or has a Python that is too old")
            shutil.rmtree(self.venv)
        else:
            say(f"making .venv with Python {sys.version.split()[0]}")
        base = getattr(sys, "_base_executable", sys.executable)
        carry_out([base, "-m", "venv", "--without-pip", self.venv], "making .venv", env=self._clean())
        self.stamps.write("place", str(self.root))

    def _pip(self) -> None:
        """Put pip into `.venv`, from the wheel that Python carries; Debian has that in a package of its own."""
        if answer([self.python, "-I", "-m", "pip", "--version"]) is not None:
            return
        wheel = str(Path(sysconfig.get_path("stdlib"), "ensurepip", "__main__.py"))
        machine.need({wheel: "python{}.{}-venv".format(*sys.version_info)}, "installing from a package index")
        carry_out([self.python, "-I", "-m", "ensurepip"], "installing pip", env=self._clean())

    def _clean(self) -> dict[str, str]:
        return {name: value for name, value in self.environ.items() if name not in MISLEADING}
