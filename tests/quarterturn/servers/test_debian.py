"""Tests of a server's Debian packages: apt finds them in a repository of the test; the box unpacks and uses them."""

import hashlib
import re

import pytest

from quarterturn.errors import Malformed, Unavailable
from quarterturn.servers import debian
from sandbox.images.added import unpack

from .debian_repository import debian_repository

__all__ = ["debian_repository"]
pytestmark = pytest.mark.needs("apt-get")

MANIFEST = """\
server: greeter
package: "pypi:./server"
version: "1.0"
system: [greeting]
state: {kind: files}
command: ["{python}", -I, "{package}/server.py"]
"""
SERVER = """\
import json, os, subprocess, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = {"tools": [{"name": "greet", "description": "Greet.", "inputSchema": {"type": "object"}}]}
    if request["method"] == "initialize":
        version = request["params"]["protocolVersion"]
        about = {"name": "greeter", "version": "1.0"}
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if request["method"] == "tools/call":
        done = subprocess.run(["greeting"], capture_output=True, text=True)
        left_out = ("/marker", "/etc/ld.so.preload", "/usr/share/man/man1/greeting.1")
        seen = [path for path in left_out if os.path.exists(path)]
        text = f"{done.stdout}{done.stderr} {os.path.getsize('/usr/bin/env') > 1000} {seen}"
        result = {"content": [{"type": "text", "text": text}]}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    folder = tmp_path / "greeter"
    (folder / "server").mkdir(parents=True)
    (folder / "server" / "server.py").write_text(SERVER)
    (folder / "server.yaml").write_text(MANIFEST)
    return folder


def add(run_cli, source, home):
    return run_cli("server", "add", source, "--box", "bwrap", "--home", home)


@pytest.mark.box
def test_programs_settings_and_libraries_of_packages_are_in_the_world_and_no_script_has_run(
    say, home, source, debian_repository
):
    data = {
        "usr/share/greeting/words": "hello from the package",
        "usr/bin/env": "#!/bin/sh\necho replaced\n",
        "etc/greeting/name": "Ann",
        "etc/ld.so.preload": "/usr/lib/spy.so",
        "usr/share/man/man1/greeting.1": "manual",
    }
    debian_repository.put("greeting-data", data)
    program = "#!/bin/sh\ncat /usr/lib/greeting/words /etc/greeting/name\n"
    debian_repository.put(
        "greeting",
        {"bin/greeting": program},
        links=[("lib/greeting", "../share/greeting")],
        depends="Depends: greeting-data\n",
        script="#!/bin/sh\ntouch /marker\n",
    )
    added = add(say, source, home)
    assert added.code == 0, added.err
    assert "hello from the packageAnn True []" in added.out
    lock = (home / "servers/greeter/debian-packages.txt").read_text()
    assert re.fullmatch(
        r"release \S+\ngreeting 1:1\.0-1 all [0-9a-f]{64}\ngreeting-data 1:1\.0-1 all [0-9a-f]{64}\n", lock
    )


@pytest.mark.parametrize(
    "case",
    [
        ({"usr/share/x\\y": ""}, [], r"greeting\.deb holds the path 'usr/share/x\\\\y', which leads elsewhere"),
        ({}, [("usr/share/x", "/etc")], r"greeting-more\.deb holds a path through the link 'usr/share/x'"),
    ],
)
def test_a_package_that_would_write_elsewhere_is_refused(debian_repository, case):
    files, links, says = case
    archives = [
        debian_repository.put("greeting", files, links=links),
        debian_repository.put("greeting-more", {"usr/share/x/y": "through a link"}),
    ]
    write_list(debian_repository.folder, archives)
    with pytest.raises(unpack.Refused, match=says):
        list(unpack.unpacked("debian", debian_repository.folder, "/", 0))


def test_a_damaged_archive_is_refused(debian_repository):
    archive = debian_repository.put("greeting", {"usr/share/x": "x" * 100_000})
    archive.write_bytes(archive.read_bytes()[:-50])
    write_list(debian_repository.folder, [archive])
    with pytest.raises(unpack.Refused, match=r"greeting\.deb (holds|cannot be unpacked)"):
        list(unpack.unpacked("debian", debian_repository.folder, "/", 0))


def write_list(folder, archives):
    lines = [f"{path.stem} 1 all {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in archives]
    (folder / unpack.DEBIAN_LIST).write_text("\n".join(["release x", *lines]) + "\n")


def test_a_package_that_apt_does_not_know_is_named_with_the_next_step(say, home, source, debian_repository):
    debian_repository.put("other", {})
    added = add(say, source, home)
    assert added.code == 6
    assert "Unable to locate package greeting; mend `system` in the manifest, or run `apt-get update`" in added.err


def test_a_package_with_another_digest_or_version_than_its_lock_pins_is_refused(debian_repository, tmp_path):
    debian_repository.put("greeting", {"usr/share/x": "x"})
    lock = tmp_path / "debian-packages.txt"
    lock.write_text(f"release {debian.release_name()}\ngreeting 1:1.0-1 all {'0' * 64}\n")
    with pytest.raises(Unavailable, match=r"apt has another greeting 1:1\.0-1 than .*debian-packages\.txt pins"):
        debian.install(tmp_path, "greeter", ["greeting"], tmp_path)
    lock.write_text(lock.read_text().replace("1:1.0-1", "2.0"))
    with pytest.raises(
        Unavailable, match=r"Version '2\.0' for 'greeting' was not found; .*remove .*debian-packages\.txt"
    ):
        debian.install(tmp_path, "greeter", ["greeting"], tmp_path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "begins with ''"),
        ("release sid\n", "begins with 'release sid', and this machine has `release bookworm`"),
        ("release bookworm\n", "lacks jq, which the manifest names"),
        ("release bookworm\njq 1.6 amd64\n", "line 2 is no name, version, architecture and SHA-256"),
        (f"release bookworm\njq -o/x amd64 {'0' * 64}\n", "line 2 is no name"),
        (f"release bookworm\njq 1.6 amd64 {'0' * 64}\njq 1.7 amd64 {'0' * 64}\n", "lists a package twice"),
        ("release bookworm\n" + f"jq 1.6 amd64 {'0' * 64}\n" * 501, "more than 500 packages"),
    ],
)
def test_a_lock_that_is_none_is_refused(text, says):
    with pytest.raises(Malformed, match=re.escape(says)):
        debian.parse(text, "bookworm", ["jq"], "the lock")


@pytest.mark.parametrize("name", ["-o", "jq-", "jq=1.6", "JQ", "a/b", ""])
def test_a_name_that_apt_would_read_as_something_else_is_refused(say, home, source, name):
    (source / "server.yaml").write_text(MANIFEST.replace("[greeting]", f'["{name}"]'))
    added = add(say, source, home)
    assert added.code == 2
    assert "$.system[0]" in added.err
