"""Tests of what is particular to bubblewrap; what all boxes share is in tests/contracts/test_boxes.py."""

import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from sandbox.boxes import place, policy
from sandbox.boxes.box import Program, ResourceLimits
from sandbox.boxes.bwrap import box as box_module
from sandbox.boxes.bwrap import contents
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.errors import Lost, Refused, Unavailable
from sandbox.isolation.program_copies import interpreter
from sandbox.servers.registry import SERVERS
from verifiers.tree import DIRECTORY, FileTree, Node

from ....patience import PATIENCE, until
from ...builders import a_server
from ...processes import below, is_running

pytestmark = pytest.mark.box

SERVER = a_server()
SEED = FileTree({"files": DIRECTORY, "files/a.txt": Node("file", data=b"private words")})


def test_a_missing_program_is_named_with_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="bwrap, setpriv, prlimit: install Debian's bubblewrap"):
        BwrapBox().check()


def test_archives_are_unpacked_with_no_network_no_home_in_view_and_not_as_root(tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / "archives").mkdir(parents=True)
    (home / "key").write_text("a key")
    probe = home / "archives" / "probe"
    probe.write_text(
        f"#!/bin/sh\nid -u; test -e {home} && echo home; tail -n +3 /proc/net/dev | cut -d: -f1\n"
        f"for place in / /archives /tmp; do touch $place/x && echo wrote $place; done 2>/dev/null; echo end\n"
    )
    probe.chmod(0o755)
    monkeypatch.setattr(box_module, "interpreter", lambda: "/archives/probe")
    with BwrapBox().unpacking("npm", home / "archives", "/opt/added/x/npm", 0) as files:
        assert files.read().decode().split() == [str(policy.WORLD_UID), "lo", "wrote", "/tmp", "end"]


OLD = "echo usage: bwrap --args FD --as-pid-1 --json-status-fd FD --seccomp FD"
REFUSING = f'[ "$1" = --help ] && exec {shutil.which("bwrap")} --help\nexit 1'


@pytest.mark.parametrize(
    ("lines", "sentence"), [(OLD, r"--perms, --remount-ro, --size.*0\.8 or newer"), (REFUSING, "user namespaces")]
)
def test_a_bubblewrap_that_is_old_or_not_let_is_named(monkeypatch, tmp_path, lines, sentence):
    (tmp_path / "bwrap").write_text(f"#!/bin/sh\n{lines}\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(Unavailable, match=sentence):
        BwrapBox().check()


def test_a_machine_that_starts_nothing_in_time_is_not_said_to_forbid_namespaces(monkeypatch):
    monkeypatch.setattr("sandbox.boxes.bwrap.box.PROBE_SECONDS", 0)
    with pytest.raises(Unavailable, match="longer than 0 s to start"):
        BwrapBox(Path(sys.prefix)).check()


def test_environments_that_are_not_set_up_are_named(tmp_path):
    with pytest.raises(Unavailable, match=r"world is missing: run \./run setup"):
        BwrapBox(tmp_path).check()


def test_an_image_is_refused_before_anything_starts(sockets):
    with pytest.raises(Refused, match="not an image"):
        BwrapBox().place(Program(image="anything"), sockets, ResourceLimits())
    with pytest.raises(Refused, match="not an image"):
        BwrapBox().place(Program(), sockets, ResourceLimits())


def test_a_relay_that_dies_ends_the_run_and_is_a_fact_of_its_own(sockets):
    agent = BwrapBox().place(Program(command=("sleep", "600")), sockets, ResourceLimits()).start()
    try:
        relays = [
            pid
            for pid, line in below(agent._place._process.pid).items()
            if line.split()[1:4] == ["-I", "-S", "/relay.py"]
        ]
        assert len(relays) == 1
        os.kill(relays[0], signal.SIGKILL)
        facts = agent.wait(PATIENCE)
        assert (facts.running, facts.lost, facts.relay_died) == (False, False, True)
        until(lambda: not below(agent._place._process.pid), "the end of the agent")
    finally:
        agent.kill()


def test_proc_in_a_place_has_the_numbers_by_which_bubblewrap_looks_its_child_up():
    """On a full machine another process may have such a number by chance; in a container none has."""
    shows = 'read number rest < /proc/self/stat; test "$number" = "$$" && echo ready; exec sleep 600'
    parts = {"relay": ["/bin/sh", "-c", shows], "agent": ["/bin/sleep", "600"]}
    document = {name: {"command": command, "descriptors": []} for name, command in parts.items()}
    ours, theirs = socket.socketpair()
    with ours, subprocess.Popen([sys.executable, "-I", "-S", place.__file__], stdin=theirs) as process:
        theirs.close()
        ours.send(json.dumps(document | {"patience": PATIENCE}).encode() + b"\n")
        assert json.loads(ours.recv(1000)) == {"ready": True}
        ours.shutdown(socket.SHUT_RDWR)
    assert process.returncode == 0


def test_a_world_that_was_killed_is_lost():
    world = BwrapBox().world([SERVER], SEED, ResourceLimits())
    with world.channel():
        *_, init = (pid for pid, line in below(os.getpid()).items() if "/init.py" in line)  # children after parents
        os.kill(init, signal.SIGKILL)
        until(lambda: not world.facts().running, "the end of the world")
        with pytest.raises(Lost, match="cut off"):
            world.freeze(PATIENCE)
    world.close()


def test_the_agent_shares_a_network_with_its_relay_and_nothing_else(sockets):
    agent = BwrapBox().place(Program(command=("sleep", "600")), sockets, ResourceLimits()).start()
    try:
        until(lambda: "sleep 600 " in below(agent._place._process.pid).values(), "the agent")
        pids = {line.split()[0].rpartition("/")[2]: pid for pid, line in below(agent._place._process.pid).items()}
        kinds = ("net", "pid", "mnt", "ipc", "uts")
        spaces = {
            name: {kind: (Path(f"/proc/{pids[program]}/ns") / kind).readlink() for kind in kinds}
            for name, program in (("relay", Path(interpreter()).name), ("agent", "sleep"))
        }
        shared = {kind for kind in spaces["relay"] if spaces["relay"][kind] == spaces["agent"][kind]}
        assert shared == {"net"}
        ours = {kind: (Path("/proc/self/ns") / kind).readlink() for kind in spaces["agent"]}
        assert not set(ours.values()) & {*spaces["agent"].values(), *spaces["relay"].values()}
    finally:
        agent.kill()


def test_neither_state_nor_variables_are_on_a_command_line(sockets):
    program = Program(command=("sleep", "600"), environment={"WORD": "heliotrope-secret"})
    world, agent = (
        BwrapBox().world([SERVER], SEED, ResourceLimits()),
        BwrapBox().place(program, sockets, ResourceLimits()).start(),
    )
    try:
        with world.channel():
            lines = " ".join(below(os.getpid()).values())
            assert "bwrap" in lines
            assert "heliotrope" not in lines
            assert "private words" not in lines
    finally:
        agent.kill()
        world.close()


RUNNER = """
import socket, sys, time
from pathlib import Path
sys.path[:0] = {path!r}
from sandbox.boxes.box import Program, ResourceLimits
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.servers.server import Server
from verifiers.tree import DIRECTORY, FileTree
cat = Server("cat", "p", "1", "files", ("/bin/cat",), {{}}, {{}}, {{}}, lambda s: FileTree({{}}), lambda t, c: t, {{}})
box = BwrapBox(Path({environments!r}))
{body}
"""


def a_runner(body, environments=None, python=(sys.executable,), path=sys.path, **more):
    code = RUNNER.format(path=path, environments=str(environments or sys.prefix), body=textwrap.dedent(body))
    return subprocess.Popen([*python, "-B", "-c", code], stdout=subprocess.PIPE, cwd="/", **more)


def test_nothing_outlives_a_runner_that_was_killed(sockets):
    runner = a_runner(
        f"""
        world = box.world([cat], FileTree({{"files": DIRECTORY}}), ResourceLimits())
        agent = box.place(Program(command=("sleep", "600")), Path({str(sockets)!r}), ResourceLimits()).start()
        print("up", flush=True)
        time.sleep(600)
        """
    )
    with runner:
        try:
            assert runner.stdout.readline() == b"up\n"
            until(lambda: sum("bwrap" in line for line in below(runner.pid).values()) >= 3, "both boxes")
            left = set(below(runner.pid))
        finally:
            runner.kill()
    until(lambda: not any(map(is_running, left)), "the end of all that it had started")
    BwrapBox().reap()


UNWILLING = "import ctypes, time; ctypes.CDLL(None).prctl(1, 0); print('up', flush=True); time.sleep(600)"
"""An agent that no longer dies with the process that started it."""


@pytest.mark.parametrize("killed", ["place", "relay", "wall"])
def test_when_any_part_of_a_place_is_killed_nothing_of_it_stays(sockets, killed):
    program = Program(command=("python3", "-c", UNWILLING))
    agent = BwrapBox().place(program, sockets, ResourceLimits()).start()
    try:
        until(lambda: "up" in agent.output(), "the agent")
        found = below(agent._place.pid)
        walls = [pid for pid, line in found.items() if line.split()[0].endswith("bwrap")]
        relays = [pid for pid, line in found.items() if line.split()[1:4] == ["-I", "-S", "/relay.py"]]
        victim = {"place": agent._place.pid, "relay": relays[-1], "wall": max(walls)}[killed]
        os.kill(victim, signal.SIGKILL)
        assert not agent.wait(PATIENCE).running
        until(lambda: not any(map(is_running, found)), "the end of all that was in it")
    finally:
        agent.kill()


@pytest.fixture
def closed_home():
    """Return the home of an ordinary user, who alone may enter it; its name has a space and an umlaut."""
    nobody = pwd.getpwnam("nobody")
    with tempfile.TemporaryDirectory(prefix="quarterturn nöbody ", dir="/var/tmp") as name:
        os.chown(name, nobody.pw_uid, nobody.pw_gid)
        yield Path(name)


CHECKOUT = Path(__file__).parents[4]
AS_NOBODY = """
mount --bind "$1" "$2" && shift 2 && mount -t tmpfs -o size=16m,mode=1777 none /tmp &&
exec setpriv --reuid nobody --regid nogroup --clear-groups "$@"
"""
"""Shows this checkout elsewhere, for it may lie in a home that nobody else enters; limits `/tmp`, gives root up."""


@pytest.mark.slow
@pytest.mark.needs("root")  # as an ordinary user the whole suite shows it
def test_an_ordinary_user_has_the_same_isolation_in_a_closed_home(closed_home):
    """Run as nobody from a checkout in nobody's home, with what nobody can read and a `/tmp` of 16 MB."""
    python = "/usr/bin/python3" if not sys.base_prefix.startswith("/usr") else sys.executable
    place, checkout = closed_home, closed_home / "checkout"
    checkout.mkdir()
    for name in ("world/python", "agents"):
        subprocess.run([python, "-m", "venv", "--without-pip", str(place / name)], check=True)
    (place / "world" / "node" / "bin").mkdir(parents=True)
    (place / "world" / "node" / "bin" / "node").write_text("#!/bin/sh\n")
    body = """
        from sandbox.attacks import selfcheck
        box.check()
        world = box.world([cat], FileTree({"files": DIRECTORY}), ResourceLimits())
        assert b"files" in world.freeze(300).tar
        world.close()
        print([attempt.name for attempt in selfcheck(box) if attempt.outcome == "escaped"])
"""
    words = ["unshare", "--mount", "sh", "-c", AS_NOBODY, "sh", CHECKOUT, checkout, python]
    path = [
        str(checkout / Path(name).relative_to(CHECKOUT)) for name in sys.path if Path(name).is_relative_to(CHECKOUT)
    ]
    readable = {"PYTHONPATH": "", "HOME": str(place), "TMPDIR": "/tmp", "PATH": "/usr/bin:/bin"}
    with a_runner(body, place, words, [*path, str(checkout)], env=readable) as runner:
        assert runner.stdout.read() == b"[]\n"
    assert runner.returncode == 0


def test_a_server_whose_backend_is_not_installed_is_named_with_what_to_do(tmp_path):
    with pytest.raises(Unavailable, match=r"the server postgres needs .*template\.tar: .*run setup"):
        BwrapBox(tmp_path).world([SERVERS["postgres"]], FileTree({}), ResourceLimits())


def test_the_page_about_the_box_lists_the_packages_that_an_agent_finds():
    written = (Path(CHECKOUT) / "docs" / "reference" / "agent-box.md").read_text(encoding="utf-8")
    how = "write it again: python -m sandbox.boxes.bwrap.contents > docs/reference/agent-box.md"
    listing = contents.listing()
    assert contents.packages(listing) in written, how
    assert listing["interpreters"]["node"], "agents in JavaScript find no Node"
