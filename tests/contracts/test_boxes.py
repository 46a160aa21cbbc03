"""Conformance suite of the boxes that isolate."""

import array
import contextlib
import fcntl
import json
import os
import socket
import tempfile
import termios
import threading
import time
from pathlib import Path

import pytest

from sandbox.boxes.box import SOCKET_NAME, Program, ResourceLimits
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.boxes.docker.box import DockerBox
from sandbox.errors import Lost, Malformed, Refused
from sandbox.world import frames
from verifiers.tree import DIRECTORY, FileTree, Node

from ..frozen import content
from ..patience import PATIENCE, until
from ..sandbox.builders import a_server
from ..sandbox.processes import named

pytestmark = pytest.mark.slow

MIB = 1 << 20
LIMITS = ResourceLimits(memory=128 * MIB, pids=64, tmpfs=16 * MIB, wall=60.0, output=4096)
BOXES = {"bwrap": BwrapBox, "docker": DockerBox}
MADE = {}


def make(name):
    if name not in MADE:
        MADE[name] = BOXES[name]()
        MADE[name].check()
    return MADE[name]


@pytest.fixture(params=[pytest.param("bwrap", marks=pytest.mark.box), pytest.param("docker", marks=pytest.mark.engine)])
def box(request):
    return make(request.param)


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left():
    yield
    MADE.clear()


def server(name, *command):
    return a_server(name, *command, environment={"TOLD": name})


ANSWERING = ("/bin/cat", "/usr/bin/tr")

SEED = FileTree(
    {
        "files": DIRECTORY,
        "files/a.txt": Node("file", data=b"first\n"),
        "files/empty": Node("directory", mode=0o700),
        "files/run.sh": Node("file", data=b"#!/bin/sh\n", mode=0o755),
        "files/link": Node("symlink", target="/etc/passwd"),
        "files/" + "n" * 90 + "/" + "ö" * 60: Node("file", data=bytes(range(256)) * 100),
    }
)
SEED = FileTree(dict(SEED) | {"files/" + "n" * 90: DIRECTORY})


class Talk:
    """The gateway's end of a channel, read frame by frame."""

    def __init__(self, end):
        self.end, self.reader, self.heard = end, frames.FrameReader(), {}
        end.settimeout(PATIENCE)

    def say(self, channel, data):
        self.end.sendall(frames.pack(channel, data))

    def listen(self, channel, until):
        """Read until a channel has sent something; give all of it."""
        while until not in self.heard.get(channel, b""):
            data = self.end.recv(65536)
            if not data:
                raise EOFError(self.heard)
            for number, payload in self.reader.feed(data):
                self.heard[number] = self.heard.get(number, b"") + payload
        return self.heard[channel]


@contextlib.contextmanager
def a_world(box, *servers, state=SEED, limits=LIMITS):
    """Make a world, with input for servers that need some before they answer."""
    world = box.world(servers, state, limits)
    talk = Talk(world.channel())
    try:
        for number, one in enumerate(servers, 1):
            if one.command[0] not in ANSWERING:
                talk.say(number, b"\n")
        yield world, talk
    finally:
        talk.end.close()
        world.close()
        world.close()


# ---- worlds ----


def test_servers_talk_apart_and_what_comes_back_is_the_seed(box, dice):
    sent = dice.randbytes(MIB)
    with a_world(box, server("cat", "/bin/cat"), server("tr", "/usr/bin/tr", "a-z", "A-Z")) as (world, talk):
        talk.say(1, b"one\n")
        talk.say(2, b"two\n")
        talk.say(2, b"")  # the end of its input
        assert talk.listen(1, b"\n") == b"one\n"
        assert talk.listen(2, b"\n") == b"TWO\n"
        for message in ({"freeze": "guess"}, {"freeze": None}, {"start": {}}):  # the gateway cannot do these
            talk.say(frames.CONTROL, json.dumps(message).encode())
        talk.say(frames.STATE, b"not a tar")
        talk.say(200, b"no such channel")
        sender = threading.Thread(target=lambda: [talk.say(1, sent[at : at + 65536]) for at in range(0, MIB, 65536)])
        sender.start()
        talk.heard[1] = b""
        assert talk.listen(1, sent[-64:]) == sent, "a megabyte goes through and comes back"
        sender.join()
        assert set(talk.heard) == {1, 2}
        assert "first" not in repr(world) + repr(vars(world))
        frozen = content(world.freeze(PATIENCE))
        with pytest.raises(EOFError):  # the gateway sees the end
            talk.listen(1, b"never")
    modes = {path: node.mode for path, node in frozen.items() if node.kind != "symlink"}
    assert {path: (node.kind, node.data, node.target) for path, node in frozen.items()} == {
        path: (node.kind, node.data, node.target) for path, node in SEED.items()
    }
    assert modes == {path: node.mode for path, node in SEED.items() if node.kind != "symlink"}


CHANGE = "echo new > new.txt; rm run.sh; ln -s new.txt pointer; mkfifo pipe; chmod 000 empty; echo done; sleep 600"
LOCK = "echo secret > locked; chmod 000 locked; mkdir deep; echo x > deep/x; chmod 000 deep; echo done; sleep 600"


def test_what_servers_did_is_in_the_frozen_state(box):
    """Servers start in their folder with their variables; one exits, one cannot start, one ignores SIGTERM."""
    servers = (
        server("cat", "/bin/cat"),
        server("start", "/bin/sh", "-c", 'cat a.txt; echo "$TOLD"; sleep 600'),
        server("change", "/bin/sh", "-c", CHANGE),
        server("lock", "/bin/sh", "-c", LOCK),
        server("stubborn", "/bin/sh", "-c", "trap '' TERM HUP INT; echo up; while :; do sleep 1; done"),
        server("gone", "/bin/sh", "-c", "echo last words >&2; exit 3"),
        server("none", "/nonexistent"),
    )
    with a_world(box, *servers) as (world, talk):
        assert talk.listen(2, b"start\n") == b"first\nstart\n"
        for channel, word in ((3, b"done"), (4, b"done"), (5, b"up")):
            talk.listen(channel, word)
        until(lambda: len(world.exits) == 2, "the servers that end")
        assert {(end.server, end.code) for end in world.exits} == {("gone", 3), ("none", 127)}
        assert {end.server: end.stderr for end in world.exits}["gone"] == "last words\n"
        talk.say(1, b"still here\n")
        assert talk.listen(1, b"\n") == b"still here\n"
        assert world.facts().running
        frozen = content(world.freeze(PATIENCE)).below("files")
    assert frozen["new.txt"].data == b"new\n"
    assert "run.sh" not in frozen
    assert (frozen["pointer"].kind, frozen["pointer"].target) == ("symlink", "new.txt")
    assert frozen["pipe"].kind == "other"
    assert frozen["empty"].kind == "directory"
    assert frozen["locked"].data == b"secret\n", "what its owner locked is read all the same"
    assert frozen["deep/x"].data == b"x\n"


COUNTING = """
import os, pathlib, sys
for number, line in enumerate(sys.stdin, 1):
    before = sorted(os.listdir())
    pathlib.Path("made", "deep").mkdir(parents=True)
    pathlib.Path("made/deep/note").write_text(line)
    pathlib.Path("link").symlink_to("/etc")
    pathlib.Path("../stray").mkdir()
    print(number, before, flush=True)
"""


def test_a_kept_world_holds_its_next_seed_alone_while_its_servers_go_on(box):
    kept = server("kept", "/usr/bin/env", "python3", "-c", COUNTING)
    left = {"files", "files/made", "files/made/deep", "files/made/deep/note", "files/link", "stray"}
    with a_world(box, kept, state=FileTree({"files": DIRECTORY})) as (world, talk):
        for number in (1, 2, 3):
            before = [f"file-{number}"] if number > 1 else []
            if number > 1:
                talk.end.close()
                world.renew(FileTree({"files": DIRECTORY, f"files/file-{number}": Node("file", data=b"1")}))
                talk = Talk(world.channel())  # noqa: PLW2901 - another channel of the same world
                talk.say(1, b"\n")
            assert talk.listen(1, b"\n") == f"{number} {before}\n".encode()
            state = content(world.freeze(PATIENCE, keep=number < 3))
            assert state.keys() == left | {f"files/{name}" for name in before}
        talk.end.close()


def test_a_gateway_that_talks_nonsense_is_cut_off_and_the_state_can_be_read(box):
    with a_world(box, server("cat", "/bin/cat")) as (world, talk):
        with contextlib.suppress(OSError):
            talk.end.sendall(b"\x01\xff\xff\xff\xff" + b"x" * 100_000)
        assert "files/a.txt" in content(world.freeze(PATIENCE))


def test_a_gateway_that_never_reads_holds_nothing_up(box):
    with a_world(box, server("flood", "/bin/sh", "-c", "while :; do echo flood flood flood; done")) as (world, talk):
        talk.listen(1, b"flood")
        until(lambda: waits(talk.end) > 1 << 10, "what nobody reads")
        assert "files/a.txt" in content(world.freeze(PATIENCE))


def waits(end):
    """Count the bytes that wait to be read from a socket."""
    size = array.array("i", [0])
    fcntl.ioctl(end, termios.FIONREAD, size)
    return size[0]


def test_a_server_that_never_reads_holds_nothing_up(box):
    with a_world(box, server("deaf", "/bin/sleep", "600"), server("cat", "/bin/cat")) as (world, talk):
        for _ in range(40):
            talk.say(1, b"x" * (MIB // 2))
        talk.say(2, b"hello\n")
        assert talk.listen(2, b"\n") == b"hello\n"
        assert "files/a.txt" in content(world.freeze(PATIENCE))


DEEP = "i=0; while [ $i -lt 200 ]; do mkdir d; cd d; i=$((i+1)); done; echo done; sleep 600"
LARGE = "for n in 1 2 3 4 5; do truncate -s 15M $n; done; echo done; sleep 600"


@pytest.mark.parametrize("script", [LARGE, DEEP], ids=["large", "deep"])
def test_a_state_beyond_the_caps_is_refused_and_not_cut(box, script):
    with a_world(box, server("left", "/bin/sh", "-c", script)) as (world, talk):
        talk.listen(1, b"done")
        with pytest.raises(Malformed, match="beyond the caps"):
            world.freeze(PATIENCE)


def test_a_closed_world_is_gone(box):
    world = box.world([server("cat", "/bin/cat")], SEED, LIMITS)
    with world.channel():
        world.close()
        assert not world.facts().running
        with pytest.raises(Lost):
            world.freeze(5)


def test_nothing_in_a_world_is_root_or_sees_the_host_and_a_daemon_dies_before_the_state_is_read(box):
    daemon = "setsid sh -c 'while :; do date +%s%N > tick; done' &"
    look = "id -u; cat /proc/net/route | wc -l; ls /proc | grep -c '^[0-9]'"
    script = f"{look}; {daemon} until [ -e tick ]; do sleep 0.02; done; echo end; sleep 600"
    with a_world(box, server("look", "/bin/sh", "-c", script)) as (world, talk):
        uid, routes, processes, _ = talk.listen(1, b"end").split()
        assert "files/tick" in content(world.freeze(PATIENCE))
    assert (uid, routes) == (b"65532", b"1")
    assert int(processes) < 8


def test_a_full_disk_in_a_world_is_its_own(box):
    script = "head -c 40000000 /dev/zero > big 2>/dev/null; wc -c < big; sleep 600"
    with a_world(box, server("fill", "/bin/sh", "-c", script)) as (world, talk):
        size = int(talk.listen(1, b"\n"))
        assert size <= LIMITS.tmpfs
        assert len(content(world.freeze(PATIENCE))["files/big"].data) == size


@pytest.mark.needs("root")
def test_a_world_that_ran_out_of_memory_is_a_fact(box):
    eat = "import sys; print('up', flush=True); x = [b'x' * (1 << 20) for _ in range(4000)]"
    with a_world(box, server("eat", "/usr/bin/python3", "-c", eat), server("cat", "/bin/cat")) as (world, talk):
        with contextlib.suppress(EOFError):
            talk.listen(1, b"up")
        until(lambda: world.facts().out_of_memory, "the kernel's note")


# ---- agents ----


@pytest.fixture
def asked():
    """Return the paths that were requested so far."""
    return []


@pytest.fixture
def sockets(tmp_path, asked):
    """Serve a gateway's socket that answers every request with its own path."""
    folder = tmp_path / "sockets"
    folder.mkdir(mode=0o700)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / SOCKET_NAME))
    listener.listen(200)

    def answer():
        with contextlib.suppress(OSError):
            while True:
                with listener.accept()[0] as caller, contextlib.suppress(OSError):
                    caller.settimeout(PATIENCE)
                    path = b"".join(caller.recv(65536).split()[1:2])
                    asked.append(path)
                    caller.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + path)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    yield folder
    listener.shutdown(socket.SHUT_RDWR)
    thread.join(PATIENCE)
    listener.close()


def python(code, **more):
    return Program(command=("python3", "-c", code), **more)


@contextlib.contextmanager
def an_agent(box, program, sockets, limits=LIMITS):
    agent = box.place(program, sockets, limits).start()
    try:
        yield agent
    finally:
        agent.kill()
        agent.kill()


FETCH = """
import os, urllib.request
print(urllib.request.urlopen(os.environ["QUARTERTURN_URL"] + "/task").read().decode(), flush=True)
"""
LOOK = """
import json, os, time
began = time.monotonic()
import urllib.request
url = os.environ["QUARTERTURN_URL"]
interfaces = [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]]
print(json.dumps({
    "began": began,
    "url": url[:17],
    "model": os.environ["MODEL"],
    "variables": sorted(os.environ),
    "words": open("words.txt").read(),
    "user": [os.getuid(), os.getgid()],
    "processes": [name for name in os.listdir("/proc") if name.isdigit()],
    "interfaces": interfaces,
    "socket": os.path.exists("/gw"),
    "task": urllib.request.urlopen(url + "/task").read().decode(),
}))
raise SystemExit(7)
"""


def test_an_agent_has_its_folder_its_variables_and_the_gateway_once_it_is_started(
    box, sockets, asked, tmp_path, monkeypatch
):
    monkeypatch.setenv("QUARTERTURN_PASSPHRASE", "open sesame")
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "words.txt").write_text("from the folder")
    for path in (folder, folder / "words.txt"):
        path.chmod(0o755)
    own = {"MODEL": "none", "QUARTERTURN_URL": "http://elsewhere"}
    place = box.place(python(LOOK, folder=folder, environment=own), sockets, LIMITS)
    try:
        started = time.monotonic()  # the same clock on either side
        agent = place.start()
        facts = agent.wait(PATIENCE)
        said = json.loads(agent.output())
    finally:
        place.close()
    assert (facts.running, facts.exit_code, facts.out_of_memory, facts.lost) == (False, 7, False, False)
    assert said["began"] > started, "nothing of it runs before its place is started"
    assert (said["url"], said["model"], said["words"]) == ("http://127.0.0.1:", "none", "from the folder")
    assert "QUARTERTURN_PASSPHRASE" not in said["variables"]
    assert (said["task"], asked) == ("/task", [b"/task"])
    assert said["user"] == [65534, 65534]
    assert said["processes"] == ["1"]
    assert "lo" in said["interfaces"]
    assert not [name for name in said["interfaces"] if name.startswith("eth")]
    assert not said["socket"]


def test_a_place_that_was_never_started_goes_without_a_trace(box, sockets, asked):
    mark = f"1{os.getpid()}.{time.time_ns() % 10**6}"  # a number of seconds that no other process sleeps
    place = box.place(python(f"# {mark}\n{FETCH}"), sockets, LIMITS)
    place.close()
    place.close()
    assert not named(mark)
    assert asked == []


def test_waiting_ends_with_the_time_and_killing_ends_the_agent_with_its_children(box, sockets):
    mark = f"{os.getpid()}.{time.time_ns() % 10**6}"  # a number of seconds that no other process sleeps
    code = f"import subprocess, time; subprocess.Popen(['sleep', '1{mark}']); print('up', flush=True); time.sleep(600)"
    with an_agent(box, python(code), sockets) as agent:
        until(lambda: agent.output() == "up\n", "the agent's word")
        assert agent.wait(0.05).running
        assert named(mark)
        agent.kill()
        assert not agent.wait(0).running
    until(lambda: not named(mark), "the end of the agent's children")


def test_output_is_escaped_and_cut_and_whoever_floods_it_is_not_slowed_down(box, sockets):
    code = (
        r"import sys; sys.stdout.buffer.write(b'\x1b[2J\xe2\x80\xaeabc\xff\r\n');"
        r"[sys.stdout.buffer.write(b'x' * 65536) for _ in range(200)]"
    )
    with an_agent(box, python(code), sockets) as agent:
        assert agent.wait(PATIENCE).exit_code == 0
    text = agent.output()
    assert text.startswith("\\x1b[2J\\u202eabc\\xff\\r\n")
    assert len(text) < LIMITS.output + 200
    assert "cut" in text


def test_an_agent_without_a_gateway_is_refused(box, tmp_path):
    with pytest.raises(Refused, match="no gateway listens"):
        box.place(python("pass"), tmp_path, LIMITS)


def test_a_program_that_is_not_there_is_the_agents_failure(box, sockets):
    with an_agent(box, Program(command=("no-such-program",)), sockets) as agent:
        assert agent.wait(PATIENCE).exit_code == 127


def test_two_agents_at_a_time_do_not_meet(box, sockets):
    code = f"import time\n{FETCH}\ntime.sleep(600)"
    with an_agent(box, python(code), sockets) as one, an_agent(box, python(code), sockets) as other:
        until(lambda: one.output() and other.output(), "both agents' words")
        assert one.output() == other.output() == "/task\n"


@pytest.mark.needs("root")
def test_an_agent_that_ran_out_of_memory_is_a_fact(box, sockets):
    with an_agent(box, python("x = [b'x' * (1 << 20) for _ in range(4000)]"), sockets) as agent:
        facts = agent.wait(PATIENCE)
    assert (facts.exit_code, facts.out_of_memory) == (137, True)


def test_a_daemon_of_an_agent_dies_with_it(box, sockets):
    mark = f"{os.getpid()}.{time.time_ns() % 10**6}"  # a number of seconds that no other process sleeps
    code = f"import os, subprocess; subprocess.Popen(['sleep', '1{mark}'], start_new_session=True); print('up')"
    with an_agent(box, python(code), sockets) as agent:
        agent.wait(PATIENCE)
    assert not named(mark)


def test_an_agent_starts_wherever_its_folder_lies(box, sockets):
    """Root's home is closed in an image too, so a folder that is mounted at its own path below it cannot be reached."""
    with tempfile.TemporaryDirectory(prefix="übung 1: ", dir=Path.home()) as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "agent.py").write_text("import os; print(open('agent.py').read() != '', os.getcwd())")
        program = Program(command=("python3", str(folder / "agent.py")), folder=folder)
        with an_agent(box, program, sockets) as agent:
            agent.wait(PATIENCE)
            assert agent.output() == "True /submission\n"


@pytest.mark.needs("root")
def test_a_folder_that_the_agent_could_not_read_is_named_before_the_start(box, sockets, tmp_path):
    folder = tmp_path / "agent"
    folder.mkdir(mode=0o700)
    with pytest.raises(Refused, match="chmod"):
        box.place(python("pass", folder=folder), sockets, LIMITS)


def test_only_docker_is_official():
    assert [name for name, made in BOXES.items() if made.official] == ["docker"]
