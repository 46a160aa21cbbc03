"""Tests of the way of an archive's files: from the unpacker, which is not believed, into a server's folder."""

import hashlib
import io
import marshal
import os
import py_compile
import stat
import sys
import time
import zipfile
from pathlib import Path

import pytest

from quarterturn.errors import Malformed
from quarterturn.servers.unpacked import write_files
from sandbox.images.added import unpack
from sandbox.images.added.unpack import HEAD, Refused, unpacked, write_folder

from .npm_registry import packed
from .shelf import put

PLACE, MTIME = "/opt/added/notebook/python", 1_772_442_000 * 10**9 + 7
SITE = Path("lib", f"python{sys.version_info.major}.{sys.version_info.minor}", "site-packages")


def unpack_wheel(tmp_path, more):
    put(tmp_path, "x = 1\n", more=more)
    write_folder(unpacked("wheels", tmp_path, PLACE, MTIME), tmp_path / "out", MTIME)
    return tmp_path / "out"


def unpack_tarball(tmp_path, files, links=()):
    tarball = packed(files, links)
    digest = hashlib.sha512(tarball).hexdigest()
    cached = tmp_path / unpack.in_cache(digest)
    cached.parent.mkdir(parents=True)
    cached.write_bytes(tarball)
    (tmp_path / unpack.LIST).write_text(f"node_modules/x x@1.0.0 {digest}\n")
    write_folder(unpacked("npm", tmp_path, PLACE, MTIME), tmp_path / "out", MTIME)
    return cached


def test_a_wheel_is_laid_out_as_an_installer_does_and_compiled(tmp_path):
    out = unpack_wheel(
        tmp_path,
        {
            "bad.py": "def (",
            "mcp_notebook/__pycache__/__main__.cpython-311.pyc": b"not from the source",
            "mcp_notebook-1.0.data/scripts/go": b"#!python\nimport mcp_notebook\n",
            "mcp_notebook-1.0.data/data/share/x.txt": "x",
            "mcp_notebook-1.0.data/headers/x.h": "x",
            "mcp_notebook-1.0.dist-info/entry_points.txt": "[console_scripts]\nnb = mcp_notebook.__main__:main.run\n",
            "hook.pth": "import os\n",
        },
    )
    source = out / SITE / "mcp_notebook/__main__.py"
    compiled = next(source.parent.glob("__pycache__/__main__.*.pyc"))
    assert source.stat().st_mtime_ns == MTIME
    py_compile.compile(str(source), str(tmp_path / "ours.pyc"))
    header, code = compiled.read_bytes()[:16], marshal.loads(compiled.read_bytes()[16:])
    assert header == (tmp_path / "ours.pyc").read_bytes()[:16], "Python takes it instead of compiling anew"
    assert code == marshal.loads((tmp_path / "ours.pyc").read_bytes()[16:])
    assert code.co_filename == f"{PLACE}/{SITE}/mcp_notebook/__main__.py"
    assert (out / "bin/go").read_text() == f"#!{PLACE}/bin/python\nimport mcp_notebook\n"
    assert "from mcp_notebook.__main__ import main\nsys.exit(main.run())" in (out / "bin/nb").read_text()
    assert os.access(out / "bin/nb", os.X_OK)
    assert (out / SITE / "hook.pth").is_file()
    assert (out / "share/x.txt").is_file()
    assert not list(out.rglob("x.h"))
    assert not list(out.rglob("bad*.pyc"))


def symlink(name):
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


ELSEWHERE = [
    "../../../../canary", "/canary", "a/../../canary", "a/./canary", "a//canary", "..\\canary", "a\ncanary", "a" * 300,
    "é" * 200, "/".join("a" * 200 for _ in range(8)), "x.data/purelib/../canary", "x.data/scripts/../../canary",
    "x.data/data//canary",
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "says"),
    [
        *((name, "leads elsewhere") for name in ELSEWHERE),
        ("x.data/scripts/python", "'bin/python', which is there already"),
        ("x.data/data/pyvenv.cfg", "'pyvenv.cfg', which is there already"),
        ("x.data/purelib/mcp_notebook/__main__.py", "which is there already"),
        (symlink("link"), "neither a file nor a folder"),
    ],
)
def test_a_wheel_with_a_path_that_leads_elsewhere_or_a_link_is_refused(tmp_path, name, says):
    with pytest.raises(Refused, match=rf"^mcp_notebook-1\.0-py3-none-any\.whl holds .*{says}"):
        unpack_wheel(tmp_path, {name: "x"})
    assert not list(tmp_path.rglob("canary"))


@pytest.mark.parametrize(("cap", "limit"), [("MAX_FILES", 5), ("MAX_BYTES", 999), ("MAX_FILE_BYTES", 999)])
def test_what_is_too_much_is_refused_before_it_is_read(tmp_path, monkeypatch, cap, limit):
    monkeypatch.setattr(unpack, cap, limit)
    with pytest.raises(Refused, match=r"holds (more than|a file of more than)"):
        unpack_wheel(tmp_path, {"bomb": "0" * 100_000})


def test_folders_are_counted_as_files_are(tmp_path, monkeypatch):
    monkeypatch.setattr(unpack, "MAX_FILES", 100)
    with pytest.raises(Refused, match="more than 100 files"):
        unpack_wheel(tmp_path, {"a/" * 99 + "b": "0"})
    with pytest.raises(Malformed, match="more than 100 files"):
        write_files(stream((b"a/" * 99 + b"b", 0, b"x")), tmp_path / "other", MTIME)
    assert not (tmp_path / "other").exists()


def test_a_damaged_archive_is_refused_by_name(tmp_path):
    (tmp_path / "x-1.0.whl").write_bytes(b"PK")
    with pytest.raises(Refused, match=r"^x-1\.0\.whl cannot be unpacked \(BadZipFile\)$"):
        list(unpacked("wheels", tmp_path, PLACE, MTIME))


def test_an_npm_tarball_is_laid_out_without_its_links(tmp_path):
    links = [("package/link", "/etc"), ("package/a/l", "../..")]
    unpack_tarball(tmp_path, {"package/a/b.js": "1", "other/c.js": "2"}, links)
    out = tmp_path / "out"
    files = sorted(str(path.relative_to(out)) for path in out.rglob("*") if not path.is_dir())
    assert files == ["node_modules/x/a/b.js", "node_modules/x/c.js"]


def test_an_npm_tarball_may_have_the_same_file_twice_but_not_two_files_of_one_path(tmp_path):
    unpack_tarball(tmp_path / "same", {"package/./dist/./a.js": "1", "package/dist/a.js": "1"})
    assert [path.read_text() for path in (tmp_path / "same").rglob("a.js")] == ["1"]
    with pytest.raises(Refused, match=r"^x@1\.0\.0 holds 'node_modules/x/dist/a\.js', which is there already"):
        unpack_tarball(tmp_path / "other", {"package/./dist/a.js": "1", "package/dist/a.js": "2"})


@pytest.mark.parametrize("name", ["package/../../../canary", "package//canary", "/canary/../x", "package/a/../canary"])
def test_an_npm_tarball_with_a_path_that_leads_elsewhere_is_refused(tmp_path, name):
    with pytest.raises(Refused, match=r"^x@1\.0\.0 holds the path .*leads elsewhere"):
        unpack_tarball(tmp_path, {name: "x"})
    assert not list(tmp_path.rglob("canary"))


def test_an_npm_tarball_with_other_bytes_than_its_lock_pins_is_refused(tmp_path):
    cached = unpack_tarball(tmp_path, {"package/a.js": "1"})
    cached.write_bytes(packed({"package/a.js": "2"}))
    with pytest.raises(Refused, match="other bytes than its lock pins"):
        list(unpacked("npm", tmp_path, PLACE, MTIME))


# ---- the box is not believed ----


def stream(*files, end=b""):
    """Write what an unpacker that was taken over could write."""
    parts = [HEAD.pack(len(path), mode, len(content)) + path + content for path, mode, content in files]
    return io.BytesIO(b"".join(parts) + HEAD.pack(0, 0, len(end)) + end)


def test_files_come_into_the_folder_with_their_time_and_mode(tmp_path):
    write_files(stream((b"a/b", 1, b"x"), (b"a/c", 0, b"")), tmp_path, MTIME)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a/b", "a/c")] == [0o755, 0o644]
    assert (tmp_path / "a/b").stat().st_mtime_ns == MTIME
    with pytest.raises(Malformed, match=r"^no \\x1b\[31m such thing$"):
        write_files(stream(end=b"no \x1b[31m\nsuch thing"), tmp_path, MTIME)


@pytest.mark.parametrize(
    "lies",
    [
        stream((b"../canary", 0, b"x")),
        stream((b"/canary", 0, b"x")),
        stream(("é".encode() * 200, 0, b"x")),
        stream((b"a/../../canary", 0, b"x")),
        stream((b"bin/python", 0, b"x")),
        stream((b"bin/python/canary", 0, b"x")),
        stream((b"away/canary", 0, b"x")),
        stream((b"a", 0, b"x"), (b"a", 0, b"x")),
        stream((b"a", 0, b"x"), (b"a/b", 0, b"x")),
        stream((b"a/b", 0, b"x"), (b"a", 0, b"x")),
        io.BytesIO(HEAD.pack(1, 0, 1 << 60) + b"a"),
        io.BytesIO(HEAD.pack(1, 0, 5) + b"a1234"),
        io.BytesIO(HEAD.pack(1, 0, 6) + b"a1234"),
        io.BytesIO(HEAD.pack(60000, 0, 0) + b"a"),
        io.BytesIO(b""),
    ],
)
def test_a_box_that_lies_writes_no_file_outside_and_over_none(tmp_path, lies):
    folder = tmp_path / "folder"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "elsewhere").write_text("")
    (folder / "away").symlink_to(tmp_path / "elsewhere")
    before = Path(sys.executable).stat()
    with pytest.raises(Malformed):
        write_files(lies, folder, time.time_ns())
    assert not list(tmp_path.rglob("canary"))
    assert Path(sys.executable).stat() == before


def test_a_wheel_goes_through_the_stream_as_it_is(tmp_path, monkeypatch):
    put(tmp_path, "x = 1\n")
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer))
    unpack.write_stream(unpacked("wheels", tmp_path, PLACE, MTIME))
    files = {file.path: file for file in unpacked("wheels", tmp_path, PLACE, MTIME)}
    buffer.seek(0)
    write_files(buffer, tmp_path / "out", MTIME)
    assert {path: (tmp_path / "out" / path).read_bytes() for path in files} == {
        path: file.content for path, file in files.items()
    }
