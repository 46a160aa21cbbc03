"""One suite for every box. What only a wall can do is left out for the fake, which has none, and says so here."""

import contextlib
import json
import os
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from sandbox import frames
from sandbox.box import SOCKET_NAME, Limits, Program
from sandbox.bwrap_box import BwrapBox
from sandbox.docker_box import DockerBox
from sandbox.errors import Lost, Malformed, Refused, SandboxError
from sandbox.fake_box import FakeBox
from sandbox.servers.server import Server
from verifiers.views import DIRECTORY, Node, Tree

pytestmark = pytest.mark.slow

MIB = 1 << 20
LIMITS = Limits(memory=128 * MIB, pids=64, tmpfs=16 * MIB, wall=60.0, output=4096)
BOXES = {"fake": FakeBox, "bwrap": BwrapBox, "docker": DockerBox}
WALLED = [pytest.param("bwrap", marks=pytest.mark.box), pytest.param("docker", marks=pytest.mark.engine)]
MADE = {}


def make(name):
    if name not in MADE:
        MADE[name] = BOXES[name]()
        MADE[name].check()
    return MADE[name]


@pytest.fixture(params=["fake", *WALLED])
def box(request):
    return make(request.param)


@pytest.fixture(params=WALLED)
def walled(request):
    """A box that is a wall; the fake is none."""
    return make(request.param)


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left():
    yield
    MADE.clear()


def server(name, *command, root="files"):
    return Server(
        name=name,
        package="none",
        version="0",
        root=root,
        command=command,
        environment={"TOLD": name},
        tools={},
        state_schema={},
        seed=lambda state: Tree({}),
        mutate=lambda tree, change: tree,
        mutations={},
    )


ANSWERING = ("/bin/cat", "/usr/bin/tr")

SEED = Tree(
    {
        "files": DIRECTORY,
        "files/a.txt": Node("file", data=b"first\n"),
        "files/empty": Node("directory", mode=0o700),
        "files/run.sh": Node("file", data=b"#!/bin/sh\n", mode=0o755),
        "files/link": Node("symlink", target="/etc/passwd"),
        "files/" + "n" * 90 + "/" + "ö" * 60: Node("file", data=bytes(range(256)) * 100),
    }
)
SEED = Tree(dict(SEED) | {"files/" + "n" * 90: DIRECTORY})


class Talk:
    """The gateway's end of a channel, read frame by frame."""

    def __init__(self, end):
        self.end, self.reader, self.heard = end, frames.Reader(), {}
        end.settimeout(120)

    def say(self, channel, data):
        self.end.sendall(frames.pack(channel, data))

    def listen(self, channel, until):
        """Read until a channel has said something; give all that it said."""
        while until not in self.heard.get(channel, b""):
            data = self.end.recv(65536)
            if not data:
                raise EOFError(self.heard)
            for number, payload in self.reader.feed(data):
                self.heard[number] = self.heard.get(number, b"") + payload
        return self.heard[channel]


@contextlib.contextmanager
def a_world(box, *servers, state=SEED, limits=LIMITS):
    """Make a world; servers that would wait for a word before they speak up are given one."""
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


def test_a_seed_comes_back_as_it_was(box):
    with a_world(box, server("cat", "/bin/cat")) as (world, _):
        frozen = world.freeze(120)
    modes = {path: node.mode for path, node in frozen.items() if node.kind != "symlink"}
    assert {path: (node.kind, node.data, node.target) for path, node in frozen.items()} == {
        path: (node.kind, node.data, node.target) for path, node in SEED.items()
    }
    assert modes == {path: node.mode for path, node in SEED.items() if node.kind != "symlink"}


def test_each_server_has_a_channel_of_its_own(box):
    with a_world(box, server("cat", "/bin/cat"), server("tr", "/usr/bin/tr", "a-z", "A-Z")) as (_, talk):
        talk.say(1, b"one\n")
        talk.say(2, b"two\n")
        talk.say(2, b"")  # the end of its input
        assert talk.listen(1, b"\n") == b"one\n"
        assert talk.listen(2, b"\n") == b"TWO\n"


def test_a_megabyte_goes_through_and_comes_back(box):
    sent = os.urandom(MIB)
    with a_world(box, server("cat", "/bin/cat")) as (_, talk):
        sender = threading.Thread(target=lambda: [talk.say(1, sent[at : at + 65536]) for at in range(0, MIB, 65536)])
        sender.start()
        got = b""
        while len(got) < MIB:
            for channel, payload in talk.reader.feed(talk.end.recv(65536)):
                got += payload if channel == 1 else b""
        sender.join()
    assert got == sent


def test_servers_start_in_their_folder_with_their_variables(box):
    with a_world(box, server("one", "/bin/sh", "-c", 'cat a.txt; echo "$TOLD"; sleep 600')) as (_, talk):
        assert talk.listen(1, b"one\n") == b"first\none\n"


def test_what_servers_did_is_in_the_frozen_state(box):
    script = "echo new > new.txt; rm a.txt; ln -s new.txt pointer; mkfifo pipe; chmod 000 empty; echo done; sleep 600"
    with a_world(box, server("sh", "/bin/sh", "-c", script)) as (world, talk):
        talk.listen(1, b"done")
        frozen = world.freeze(120).below("files")
    assert frozen["new.txt"].data == b"new\n"
    assert "a.txt" not in frozen
    assert (frozen["pointer"].kind, frozen["pointer"].target) == ("symlink", "new.txt")
    assert frozen["pipe"].kind == "other"
    assert frozen["empty"].kind == "directory"


def test_a_file_that_its_owner_locked_is_read_all_the_same(box):
    script = "echo secret > locked; chmod 000 locked; mkdir deep; echo x > deep/x; chmod 000 deep; echo done; sleep 600"
    with a_world(box, server("sh", "/bin/sh", "-c", script)) as (world, talk):
        talk.listen(1, b"done")
        frozen = world.freeze(120).below("files")
    assert frozen["locked"].data == b"secret\n"
    assert frozen["deep/x"].data == b"x\n"


def test_a_server_that_ends_is_told_and_the_world_lives_on(box):
    gone = server("gone", "/bin/sh", "-c", "echo last words >&2; exit 3")
    with a_world(box, gone, server("cat", "/bin/cat"), server("none", "/nonexistent")) as (world, talk):
        talk.say(2, b"still here\n")
        assert talk.listen(2, b"\n") == b"still here\n"
        deadline = time.monotonic() + 120
        while len(world.exits) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert {(end.server, end.code) for end in world.exits} == {("gone", 3), ("none", 127)}
        assert {end.server: end.stderr for end in world.exits}["gone"] == "last words\n"
        assert world.facts().running
        assert "files/a.txt" in world.freeze(120)


def test_the_gateway_cannot_freeze_or_restart_a_world(box):
    with a_world(box, server("cat", "/bin/cat")) as (world, talk):
        for message in ({"freeze": "guess"}, {"freeze": None}, {"start": {}}):
            talk.say(frames.CONTROL, json.dumps(message).encode())
        talk.say(frames.STATE, b"not a tar")
        talk.say(200, b"no such channel")
        talk.say(1, b"alive\n")
        assert talk.listen(1, b"\n") == b"alive\n"
        assert set(talk.heard) == {1}
        assert "files/a.txt" in world.freeze(120)


def test_a_gateway_that_talks_nonsense_is_cut_off_and_the_state_can_be_read(box):
    with a_world(box, server("cat", "/bin/cat")) as (world, talk):
        with contextlib.suppress(OSError):
            talk.end.sendall(b"\x01\xff\xff\xff\xff" + b"x" * 100_000)
        assert "files/a.txt" in world.freeze(120)


def test_a_gateway_that_never_reads_holds_nothing_up(box):
    with a_world(box, server("flood", "/bin/sh", "-c", "while :; do echo flood flood flood; done")) as (world, _):
        time.sleep(0.5)
        assert "files/a.txt" in world.freeze(120)


def test_a_server_that_never_reads_holds_nothing_up(box):
    with a_world(box, server("deaf", "/bin/sleep", "600"), server("cat", "/bin/cat")) as (world, talk):
        for _ in range(40):
            talk.say(1, b"x" * (MIB // 2))
        talk.say(2, b"hello\n")
        assert talk.listen(2, b"\n") == b"hello\n"
        assert "files/a.txt" in world.freeze(120)


def test_the_gateway_sees_the_end_when_the_world_freezes(box):
    with a_world(box, server("cat", "/bin/cat")) as (world, talk):
        world.freeze(120)
        with pytest.raises(EOFError):
            talk.listen(1, b"never")


def test_a_server_that_ignores_the_end_is_killed(box):
    stubborn = server("stubborn", "/bin/sh", "-c", "trap '' TERM HUP INT; echo up; while :; do sleep 1; done")
    with a_world(box, stubborn) as (world, talk):
        talk.listen(1, b"up")
        assert "files/a.txt" in world.freeze(120)


def test_a_state_beyond_the_caps_is_refused_and_not_cut(box):
    sparse = server("sparse", "/bin/sh", "-c", "for n in 1 2 3 4 5; do truncate -s 15M $n; done; echo done; sleep 600")
    with a_world(box, sparse) as (world, talk):
        talk.listen(1, b"done")
        with pytest.raises(Malformed, match="beyond the caps"):
            world.freeze(120)


def test_a_bottomless_folder_is_refused(box):
    deep = "i=0; while [ $i -lt 200 ]; do mkdir d; cd d; i=$((i+1)); done; echo done; sleep 600"
    with a_world(box, server("deep", "/bin/sh", "-c", deep)) as (world, talk):
        talk.listen(1, b"done")
        with pytest.raises(Malformed, match="beyond the caps"):
            world.freeze(120)


def test_a_closed_world_is_gone(box):
    world = box.world([server("cat", "/bin/cat")], SEED, LIMITS)
    with world.channel():
        world.close()
        assert not world.facts().running
        with pytest.raises(Lost):
            world.freeze(5)


def test_what_a_world_holds_is_in_no_repr(box):
    with a_world(box, server("cat", "/bin/cat")) as (world, _):
        assert "first" not in repr(world) + repr(vars(world))


# ---- worlds behind a wall ----


def test_a_daemon_left_behind_dies_before_the_state_is_read(walled):
    daemon = "setsid sh -c 'while :; do date +%s%N > tick; done' &"
    script = f"{daemon} until [ -e tick ]; do sleep 0.02; done; echo up; sleep 600"
    with a_world(walled, server("daemon", "/bin/sh", "-c", script)) as (world, talk):
        talk.listen(1, b"up")
        assert "files/tick" in world.freeze(120)


def test_nothing_in_a_world_runs_as_root_or_sees_the_host(walled):
    script = "id -u; cat /proc/net/route | wc -l; ls /proc | grep -c '^[0-9]'; echo end; sleep 600"
    with a_world(walled, server("look", "/bin/sh", "-c", script)) as (_, talk):
        uid, routes, processes, _ = talk.listen(1, b"end").split()
    assert (uid, routes) == (b"65532", b"1")
    assert int(processes) < 8


def test_a_full_disk_in_a_world_is_its_own(walled):
    script = "head -c 40000000 /dev/zero > big 2>/dev/null; wc -c < big; sleep 600"
    with a_world(walled, server("fill", "/bin/sh", "-c", script)) as (world, talk):
        size = int(talk.listen(1, b"\n"))
        assert size <= LIMITS.tmpfs
        assert len(world.freeze(120)["files/big"].data) == size


def test_a_world_that_ran_out_of_memory_is_a_fact(walled):
    if "memory" in getattr(walled, "limits_missing", tuple)():
        pytest.skip("memory is capped for each process by itself here")
    eat = "import sys; print('up', flush=True); x = [b'x' * (1 << 20) for _ in range(4000)]"
    with a_world(walled, server("eat", "/usr/bin/python3", "-c", eat), server("cat", "/bin/cat")) as (world, talk):
        with contextlib.suppress(EOFError):
            talk.listen(1, b"up")
        deadline = time.monotonic() + 120
        while not world.facts().out_of_memory and time.monotonic() < deadline:
            time.sleep(0.05)
        assert world.facts().out_of_memory


# ---- agents ----


@pytest.fixture
def asked():
    """The paths that were asked for so far."""
    return []


@pytest.fixture
def sockets(tmp_path, asked):
    """A gateway's socket, at which every request is answered with its own path."""
    folder = tmp_path / "sockets"
    folder.mkdir(mode=0o700)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / SOCKET_NAME))
    listener.listen(200)

    def answer():
        with contextlib.suppress(OSError):
            while True:
                with listener.accept()[0] as caller, contextlib.suppress(OSError):
                    caller.settimeout(60)
                    path = b"".join(caller.recv(65536).split()[1:2])
                    asked.append(path)
                    caller.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + path)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    yield folder
    listener.shutdown(socket.SHUT_RDWR)
    thread.join(5)
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


def running(mark):
    """The processes, other than this one, that have a mark on their command line."""
    return [path for path in Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in _read(path)]


def _read(path):
    with contextlib.suppress(OSError):
        return path.read_bytes() if path.parent.name != str(os.getpid()) else b""
    return b""


FETCH = """
import os, urllib.request
print(urllib.request.urlopen(os.environ["QUARTERTURN_URL"] + "/task").read().decode(), flush=True)
"""


def test_an_agent_reaches_the_gateway_and_its_exit_is_a_fact(box, sockets):
    with an_agent(box, python(FETCH + "raise SystemExit(7)"), sockets) as agent:
        facts = agent.wait(120)
    assert (facts.running, facts.exit_code, facts.out_of_memory, facts.lost) == (False, 7, False, False)
    assert agent.output() == "/task\n"


def test_nothing_of_a_program_runs_before_its_place_is_started(box, sockets, asked):
    place = box.place(python(FETCH), sockets, LIMITS)
    try:
        time.sleep(1)
        assert asked == []
        assert place.start().wait(120).exit_code == 0
        assert asked == [b"/task"]
    finally:
        place.close()


def test_a_place_that_was_never_started_goes_without_a_trace(box, sockets, asked):
    mark = f"1{os.getpid()}.{time.time_ns() % 10**6}"  # a number of seconds that no other process sleeps
    place = box.place(python(f"# {mark}\n{FETCH}"), sockets, LIMITS)
    place.close()
    place.close()
    assert not running(mark)
    assert asked == []


def test_waiting_ends_with_the_time_and_killing_ends_the_agent(box, sockets):
    with an_agent(box, python("import time; print('up', flush=True); time.sleep(600)"), sockets) as agent:
        begun = time.monotonic()
        assert agent.wait(0.3).running
        assert time.monotonic() - begun < 120
        agent.kill()
        assert not agent.wait(0).running
        assert time.monotonic() - begun < 300


def test_output_is_escaped_and_cut(box, sockets):
    code = r"import sys; sys.stdout.buffer.write(b'\x1b[2J\xe2\x80\xaeabc\xff\r\n' + b'x' * 100000)"
    with an_agent(box, python(code), sockets) as agent:
        agent.wait(120)
    text = agent.output()
    assert text.startswith("\\x1b[2J\\u202eabc\\xff\\r\n")
    assert len(text) < LIMITS.output + 200
    assert "cut" in text


def test_an_agent_that_floods_its_log_is_not_slowed_down_and_nothing_grows(box, sockets):
    code = "import sys\nfor _ in range(2000): sys.stdout.write('x' * 65536)"
    with an_agent(box, python(code), sockets) as agent:
        assert agent.wait(300).exit_code == 0
    assert len(agent.output()) < LIMITS.output + 200


def test_the_folder_of_a_submission_is_there_and_is_its_place(box, sockets, tmp_path):
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "words.txt").write_text("from the folder")
    for path in (folder, folder / "words.txt"):
        path.chmod(0o755)
    with an_agent(box, python("print(open('words.txt').read())", folder=folder), sockets) as agent:
        assert agent.wait(120).exit_code == 0
    assert agent.output() == "from the folder\n"


def test_variables_of_a_submission_arrive_but_not_over_ours(box, sockets):
    own = {"MODEL": "none", "QUARTERTURN_URL": "http://elsewhere"}
    code = "import os; print(os.environ['MODEL'], os.environ['QUARTERTURN_URL'][:17])"
    with an_agent(box, python(code, environment=own), sockets) as agent:
        agent.wait(120)
    assert agent.output() == "none http://127.0.0.1:\n"


def test_no_variable_of_the_runner_reaches_an_agent(box, sockets, monkeypatch):
    monkeypatch.setenv("QUARTERTURN_PASSPHRASE", "open sesame")
    with an_agent(box, python("import os; print(sorted(os.environ))"), sockets) as agent:
        agent.wait(120)
    assert "PASSPHRASE" not in agent.output()


def test_an_agent_without_a_gateway_is_refused(box, tmp_path):
    with pytest.raises(Refused, match="no gateway listens"):
        box.place(python("pass"), tmp_path, LIMITS)


def test_a_program_that_is_not_there_is_the_agents_failure(walled, sockets):
    with an_agent(walled, Program(command=("no-such-program",)), sockets) as agent:
        assert agent.wait(120).exit_code == 127


# ---- agents behind a wall ----


def test_an_agent_is_nobody_alone_in_an_empty_network(walled, sockets):
    code = (
        "import os; print(os.getuid(), os.getgid(), os.getgroups());"
        "print([p for p in os.listdir('/proc') if p.isdigit()]);"
        "print([l.split(':')[0].strip() for l in open('/proc/net/dev').readlines()[2:]], os.path.exists('/gw'))"
    )
    with an_agent(walled, python(code), sockets) as agent:
        assert agent.wait(120).exit_code == 0
    user, processes, rest = agent.output().splitlines()
    assert user.startswith("65534 65534")
    assert processes == "['1']"
    assert rest.endswith(" False")
    assert "'lo'" in rest
    assert "eth" not in rest


def test_two_agents_at_a_time_do_not_meet(walled, sockets):
    code = f"import time\n{FETCH}\ntime.sleep(600)"
    with an_agent(walled, python(code), sockets) as one, an_agent(walled, python(code), sockets) as other:
        deadline = time.monotonic() + 120
        while not (one.output() and other.output()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert one.output() == other.output() == "/task\n"


def test_an_agent_that_ran_out_of_memory_is_a_fact(walled, sockets):
    if "memory" in getattr(walled, "limits_missing", tuple)():
        pytest.skip("memory is capped for each process by itself here")
    with an_agent(walled, python("x = [b'x' * (1 << 20) for _ in range(4000)]"), sockets) as agent:
        facts = agent.wait(120)
    assert (facts.exit_code, facts.out_of_memory) == (137, True)


def test_children_of_an_agent_die_with_it(walled, sockets):
    mark = f"{os.getpid()}.{time.time_ns() % 10**6}"  # a number of seconds that no other process sleeps
    code = f"import os, subprocess; subprocess.Popen(['sleep', '1{mark}'], start_new_session=True); print('up')"
    with an_agent(walled, python(code), sockets) as agent:
        agent.wait(120)
    assert not running(mark)


def test_a_folder_that_the_agent_could_not_read_is_named_before_the_start(walled, sockets, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("an ordinary user's agent owns what the user owns")
    folder = tmp_path / "agent"
    folder.mkdir(mode=0o700)
    with pytest.raises(Refused, match="chmod"):
        walled.place(python("pass", folder=folder), sockets, LIMITS)


def test_only_docker_is_official():
    assert [name for name, made in BOXES.items() if made.official] == ["docker"]
    assert issubclass(Refused, SandboxError)
    assert sys.platform == "linux"
