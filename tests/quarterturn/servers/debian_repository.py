"""Debian repository in a folder, of which the machine's apt is told by APT_CONFIG; the real apt fetches from it."""

import hashlib
import shutil
import subprocess

import pytest

SETTINGS = """\
Dir::Etc::SourceList "{0}/sources.list";
Dir::Etc::SourceParts "{0}/none";
Dir::State::Lists "{0}/lists";
Dir::Cache "{0}/cache";
"""
ABOUT = "Package: {name}\nVersion: 1:1.0-1\nArchitecture: all\nMaintainer: A <a@example.org>\nDescription: words\n"


class DebianRepository:
    """Packages of a repository that is a folder."""

    def __init__(self, folder):
        self.folder = folder

    def put(self, name, files, *, links=(), depends="", script=""):
        """Build a package; `files` are texts by path (executable below a `bin`), `links` pairs of path and target."""
        content = self.folder / "content"
        for path, text in {"DEBIAN/control": ABOUT.format(name=name) + depends, **files}.items():
            (content / path).parent.mkdir(parents=True, exist_ok=True)
            (content / path).write_text(text)
            (content / path).chmod(0o755 if "/bin/" in f"/{path}" else 0o644)
        if script:
            (content / "DEBIAN/postinst").write_text(script)
            (content / "DEBIAN/postinst").chmod(0o755)
        for path, target in links:
            (content / path).parent.mkdir(parents=True, exist_ok=True)
            (content / path).symlink_to(target)
        archive = self.folder / f"{name}.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", content, archive], check=True, capture_output=True)
        shutil.rmtree(content)
        self._list()
        return archive

    def _list(self):
        entries = []
        for archive in sorted(self.folder.glob("*.deb")):
            about = subprocess.run(["dpkg-deb", "--field", archive], check=True, capture_output=True, text=True).stdout
            digest = hashlib.sha256(archive.read_bytes()).hexdigest()
            size = archive.stat().st_size
            entries.append(f"{about}Filename: ./{archive.name}\nSize: {size}\nSHA256: {digest}\n")
        (self.folder / "Packages").write_text("\n".join(entries))
        subprocess.run(["apt-get", "--quiet=2", "update"], check=True, capture_output=True)


@pytest.fixture
def debian_repository(tmp_path, monkeypatch):
    place = tmp_path / "apt"
    for name in ("repository", "none", "lists/partial", "cache"):
        (place / name).mkdir(parents=True)
    (place / "sources.list").write_text(f"deb [trusted=yes] file:{place}/repository ./\n")
    (place / "apt.conf").write_text(SETTINGS.format(place))
    monkeypatch.setenv("APT_CONFIG", str(place / "apt.conf"))
    return DebianRepository(place / "repository")
