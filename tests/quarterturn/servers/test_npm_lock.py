"""Tests of the parser of npm's locks: the registry's packages with their digests, and nothing from elsewhere."""

import base64
import copy
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterturn.errors import Malformed
from quarterturn.servers.npm_lock import _FULL_NAME, _PATH, _VERSION, parse

EXAMPLES = Path(__file__).parents[3] / "examples" / "servers"
HERE = {"os": "linux", "cpu": "x64", "libc": "glibc"}
DIGEST = "sha512-" + base64.b64encode(bytes(64)).decode()
LOCK = {
    "name": "quarterturn-server",
    "lockfileVersion": 3,
    "requires": True,
    "packages": {
        "": {"name": "quarterturn-server", "dependencies": {"board": "1.0.0"}},
        "node_modules/board": {"version": "1.0.0", "integrity": DIGEST, "hasInstallScript": True, "bin": {"b": "b.js"}},
        "node_modules/board/node_modules/@a/b": {"version": "2.0.0-rc.1", "integrity": DIGEST},
    },
}


def read(lock):
    return parse(json.dumps(lock).encode(), "board", "1.0.0", HERE, "source/package-lock.json")


def changed(path, **fields):
    lock = copy.deepcopy(LOCK)
    lock["packages"].setdefault(path, {"version": "1.0.0", "integrity": DIGEST}).update(fields)
    return lock


@pytest.mark.parametrize("name", ["planner", "backlog"])
def test_locks_that_npm_wrote_are_read(name):
    data = (EXAMPLES / name / "package-lock.json").read_bytes()
    (main,) = json.loads(data)["packages"][""]["dependencies"].items()
    tarballs = parse(data, *main, HERE, "the lock")
    assert len(tarballs) == len(json.loads(data)["packages"]) - 1
    assert all(len(tarball.sha512) == 128 for tarball in tarballs)


def test_an_alias_is_fetched_by_its_own_name_and_what_is_bundled_or_for_others_is_not_fetched():
    lock = changed("node_modules/alias", name="@real/name")
    lock["packages"] |= changed("node_modules/mac", optional=True, os=["darwin"])["packages"]
    lock["packages"] |= changed("node_modules/arm", optional=True, cpu=["!x64"])["packages"]
    lock["packages"] |= changed("node_modules/musl", optional=True, libc=["musl"])["packages"]
    lock["packages"] |= changed("node_modules/ours", optional=True, os=["linux"], cpu=["x64", "arm64"])["packages"]
    lock["packages"]["node_modules/board/node_modules/inside"] = {"version": "1.0.0", "inBundle": True}
    lock["packages"]["node_modules/alias"]["resolved"] = "https://registry.example.org/@real/name/-/name-1.0.0.tgz"
    assert [(tarball.path, tarball.spec) for tarball in read(lock)] == [
        ("node_modules/board", "board@1.0.0"),
        ("node_modules/board/node_modules/@a/b", "@a/b@2.0.0-rc.1"),
        ("node_modules/alias", "@real/name@1.0.0"),
        ("node_modules/ours", "ours@1.0.0"),
    ]


FROM_ELSEWHERE = ("git+ssh://git@192.0.2.1/x.git#0", "https://192.0.2.1/x.git", "http://192.0.2.1/x.tgz")
WRONG_FIELDS = {
    "resolved": ("from somewhere else", *FROM_ELSEWHERE, ["https://192.0.2.1/x.tgz"]),
    "link": ("is a link", True, "yes"),
    "version": ("no exact version", "file:../x", "git+https://192.0.2.1/x", "latest", "1.0.0\n", None),
    "name": ("a name that no npm package has", "../x", "--prefix=/", "https://192.0.2.1/x"),
    "integrity": ("no hash", None, "sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA=", "sha512-AA==", f"{DIGEST} {DIGEST}"),
}
"""What is said of a field of an entry, and values of which that is said."""
WRONG_PATHS = ("node_modules/../x", "node_modules/.bin", "node_modules/x\n", "/etc/x", "x", "node_modules//x")


@pytest.mark.parametrize(
    ("path", "fields", "says"),
    [
        *(("node_modules/x", {name: one}, says) for name, (says, *values) in WRONG_FIELDS.items() for one in values),
        ("node_modules/x", {"resolved": "file:../x"}, "from somewhere else than a registry"),
        ("node_modules/x", {"inBundle": True, "integrity": "sha1-AA=="}, "no hash"),
        *((path, {}, "no path of npm packages") for path in WRONG_PATHS),
        ("", {"dependencies": {"board": "1.0.0", "x": "file:../x"}}, "must depend on board 1.0.0 and nothing else"),
        ("", {"dependencies": {"board": "file:../x"}}, "must depend on board"),
        ("", {"workspaces": ["x"]}, "must depend on board"),
        ("", {"devDependencies": {"x": "1.0.0"}}, "must depend on board"),
        ("node_modules/board", {"version": "2.0.0"}, r"pins version '2\.0\.0' of board, and the manifest says 1\.0\.0"),
    ],
)
def test_an_entry_from_elsewhere_or_without_a_digest_is_refused_by_name(path, fields, says):
    with pytest.raises(Malformed, match=rf"^source/package-lock\.json .*{says}") as caught:
        read(changed(path, **fields))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "lock",
    [
        None,
        [],
        {},
        {**LOCK, "lockfileVersion": 2},
        {**LOCK, "dependencies": {"board": {"version": "file:../x"}}},
        {**LOCK, "packages": None},
        {**LOCK, "packages": []},
        {**LOCK, "packages": {**LOCK["packages"], "node_modules/x": None}},
        {**LOCK, "packages": {"": LOCK["packages"][""], "node_modules/board": "1.0.0"}},
    ],
)
def test_what_is_no_lock_is_refused(lock):
    with pytest.raises(Malformed, match=r"^source/package-lock\.json"):
        read(lock)
    with pytest.raises(Malformed, match="remove the lock"):
        parse(b'{"packages": {}, "packages": {}}', "board", "1.0.0", HERE, "it")


FIELDS = st.sampled_from(["version", "name", "resolved", "integrity", "link"])
VALUES = st.none() | st.booleans() | st.text(max_size=12) | st.sampled_from([DIGEST, "1.0.0", "file:x", "."])


@given(st.text(max_size=30), st.dictionaries(FIELDS, VALUES))
def test_whatever_is_read_npm_is_told_a_plain_name_and_a_version(path, fields):
    try:
        tarballs = read(changed(f"node_modules/{path}", **fields))
    except Malformed:
        return
    for tarball in tarballs:
        assert _PATH.fullmatch(tarball.path)
        assert ".." not in tarball.path.split("/")
        assert _FULL_NAME.fullmatch(tarball.name)
        assert _VERSION.fullmatch(tarball.version)
        assert not tarball.spec.startswith("-")
