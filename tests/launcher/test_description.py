"""Tests of extracting the description of GitHub's API from a package that is not unpacked."""

import base64
import hashlib
import io
import tarfile

import pytest

from launcher.github_openapi import MEMBER, extract
from quarterturn.launcher.steps import Stop


def packed(path):
    with tarfile.open(path, "w:gz") as tar:
        for name, data in {"package/huge.json": b"not wanted", MEMBER: b'{"openapi": "3.0.3"}'}.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path, base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()


def test_only_the_one_file_is_taken_out(tmp_path):
    archive, digest = packed(tmp_path / "package.tgz")
    extract(archive, tmp_path / "out" / "github.json", digest)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["github.json"]
    assert (tmp_path / "out" / "github.json").read_bytes() == b'{"openapi": "3.0.3"}'


def test_another_package_than_the_pinned_one_is_refused(tmp_path):
    archive, _ = packed(tmp_path / "package.tgz")
    with pytest.raises(Stop, match="SHA-512"):
        extract(archive, tmp_path / "out" / "github.json")
    assert not (tmp_path / "out").exists()
