"""Conformance suite of the two relays: the static program of the image, and the one in Python."""

import contextlib
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sandbox.boxes.docker.box import RELAY_IMAGE, DockerBox
from sandbox.image_reference import ImageReference

from ..patience import PATIENCE, until

pytestmark = pytest.mark.slow

IMAGES = Path(__file__).parents[2] / "sandbox" / "images" / "relay"
CAP = 64
NEVER = threading.Event()


@pytest.fixture(scope="module")
def static(tmp_path_factory):
    """Return the relay of the image; it is static, so it also runs outside."""
    program = tmp_path_factory.mktemp("relay") / "relay"
    program.write_bytes(DockerBox().file_of(ImageReference.parse(RELAY_IMAGE), "/relay"))
    program.chmod(0o755)
    return [str(program)]


@pytest.fixture(params=["python", pytest.param("static", marks=pytest.mark.engine)])
def program(request):
    if request.param == "python":
        return [sys.executable, "-I", "-S", str(IMAGES / "relay.py")]
    return request.getfixturevalue("static")


class Gateway:
    """A listening socket that handles each connection with a function."""

    def __init__(self, path, serve):
        self.path, self.serve = path, serve
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(200)
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.one, args=(self.listener.accept()[0],), daemon=True).start()

    def one(self, caller):
        with caller, contextlib.suppress(OSError):
            caller.settimeout(PATIENCE)
            self.serve(caller)

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join(PATIENCE)
        self.listener.close()


def echo(caller):
    while data := caller.recv(65536):
        caller.sendall(data)


@pytest.fixture
def start(program, tmp_path):
    """Start a relay in front of a gateway, and give its port and its process."""
    with contextlib.ExitStack() as stack:

        def begin(serve=echo):
            path = tmp_path / "gateway.sock"
            if serve is not None:
                stack.callback(Gateway(path, serve).close)
            for _ in range(5):  # another process may take the port before the relay does
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", 0))
                    port = probe.getsockname()[1]
                process = subprocess.Popen([*program, str(port), str(path)], stdout=subprocess.PIPE)
                stack.callback(process.stdout.close)
                stack.callback(process.wait)
                stack.callback(process.kill)
                if said := process.stdout.readline():
                    break
            assert said == b"ready\n"
            return port, process

        yield begin


def dial(port):
    return socket.create_connection(("127.0.0.1", port), PATIENCE)


def ask(agent, words):
    """Send words and the end of them, and return all that comes back."""
    agent.sendall(words)
    agent.shutdown(socket.SHUT_WR)
    return everything(agent)


def everything(sock):
    out = b""
    while data := sock.recv(65536):
        out += data
    return out


def test_megabytes_pass_whole(start, dice):
    port, _ = start()
    sent = dice.randbytes(4 << 20)
    with dial(port) as agent:
        thread = threading.Thread(target=lambda: (agent.sendall(sent), agent.shutdown(socket.SHUT_WR)))
        thread.start()
        assert everything(agent) == sent
        thread.join()


def test_an_answer_comes_after_the_question_has_ended(start):
    def late(caller):
        question = everything(caller)  # to its end
        caller.sendall(b"you said " + question)

    port, _ = start(late)
    with dial(port) as agent:
        assert ask(agent, b"this") == b"you said this"


def test_a_gateway_that_has_said_all_still_hears(start):
    heard = []

    def listens(caller):
        caller.sendall(b"that was all")
        caller.shutdown(socket.SHUT_WR)
        heard.append(everything(caller))

    port, _ = start(listens)
    with dial(port) as agent:
        assert everything(agent) == b"that was all"
        agent.sendall(b"not from here")
        agent.shutdown(socket.SHUT_WR)
        until(lambda: heard == [b"not from here"], "what was said at last")


def test_many_connections_at_once_are_kept_apart(start, dice):
    port, _ = start()
    with contextlib.ExitStack() as stack:
        agents = [stack.enter_context(dial(port)) for _ in range(CAP)]
        said = [dice.randbytes(100_000) for _ in agents]

        def talk(agent, words):
            agent.sendall(words)
            agent.shutdown(socket.SHUT_WR)

        threads = [threading.Thread(target=talk, args=pair) for pair in zip(agents, said, strict=True)]
        for thread in threads:
            thread.start()
        assert [everything(agent) for agent in agents] == said
        for thread in threads:
            thread.join()


def test_hundreds_of_connections_after_each_other_leave_nothing_behind(start):
    port, process = start()
    before = descriptors(process.pid)
    for _ in range(200):
        with dial(port) as agent:
            agent.sendall(b"x")
            assert agent.recv(1) == b"x"
    until(lambda: descriptors(process.pid) == before, "as many descriptors as before")


def descriptors(pid):
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


@pytest.mark.parametrize("size", [1, 1000])
def test_bytes_pass_both_ways_in_order_and_their_end_too(start, size):
    port, _ = start()
    words = bytes(range(1, 251))
    with dial(port) as agent:
        for place in range(0, len(words), size):
            agent.sendall(words[place : place + size])
        agent.shutdown(socket.SHUT_WR)
        assert everything(agent) == words


def test_a_gateway_that_does_not_read_stops_nobody_else(start):
    port, _ = start(lambda caller: echo(caller) if caller.recv(1) == b"e" else NEVER.wait())
    with dial(port) as stuck, dial(port) as agent:
        sender = threading.Thread(target=push, args=(stuck, b"s" + bytes(8 << 20)))
        sender.start()
        assert ask(agent, b"e" + b"still there?") == b"still there?"
        assert sender.is_alive(), "the other has not got rid of its words"
        stuck.shutdown(socket.SHUT_RDWR)
        sender.join(PATIENCE)


def push(sock, words):
    with contextlib.suppress(OSError):
        sock.sendall(words)


def test_without_a_gateway_a_connection_is_closed_and_the_relay_lives(start):
    port, process = start(None)
    for _ in range(3):
        with dial(port) as agent, contextlib.suppress(ConnectionError):
            assert everything(agent) == b""
    assert process.poll() is None


def test_an_agent_that_does_not_read_stops_nobody_else(start):
    port, _ = start(lambda caller: [caller.sendall(bytes(65536)) for _ in range(10_000)])
    with dial(port), dial(port) as reading:
        got = 0
        while got < 4 << 20:
            got += len(reading.recv(65536))


def test_an_agent_that_resets_harms_nobody(start):
    port, process = start()
    for _ in range(20):
        agent = dial(port)
        agent.sendall(b"x" * 1000)
        agent.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        agent.close()
    with dial(port) as agent:
        assert ask(agent, b"still there?") == b"still there?"
    assert process.poll() is None


def test_connections_beyond_the_cap_are_refused_and_room_is_used_again(start):
    port, _ = start()
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(dial(port)) for _ in range(CAP)]
        for agent in held:
            agent.sendall(b"x")
            assert agent.recv(1) == b"x"
        with dial(port) as extra, contextlib.suppress(ConnectionError):
            assert extra.recv(1) == b""
        held[0].shutdown(socket.SHUT_WR)
        assert everything(held[0]) == b""
        with dial(port) as again:
            again.sendall(b"y")
            assert again.recv(1) == b"y"


@pytest.mark.parametrize("end", ["half closed", "silent", "refused to read"])
def test_waiting_uses_no_time(start, end):
    port, process = start(lambda caller: NEVER.wait() if end != "refused to read" else caller.sendall(bytes(1 << 24)))
    with dial(port) as agent:
        if end == "half closed":
            agent.shutdown(socket.SHUT_WR)
        time.sleep(0.3)

        def idle():
            before = spent(process.pid)
            time.sleep(0.6)
            return spent(process.pid) - before <= 10  # hundredths of a second

        until(idle, "a relay that only waits")  # on a slow machine it may still be at work on what came


def spent(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_it_listens_on_the_loopback_and_nowhere_else(start):
    port, process = start()
    rows = [line.split() for line in Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]]
    assert [row[1] for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "0A"] == [f"0100007F:{port:04X}"]
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", port), 1)


def test_it_has_one_port_and_no_name_that_others_could_see(start):
    port, process = start()
    own = {str(entry.readlink()) for entry in Path(f"/proc/{process.pid}/fd").iterdir()}
    inodes = {name[8:-1] for name in own if name.startswith("socket:")}
    network = Path(f"/proc/{process.pid}/net")
    ports = [row.split()[1] for kind in ("tcp", "tcp6", "udp", "udp6", "raw") if (network / kind).exists()
             for row in (network / kind).read_text().splitlines()[1:] if row.split()[9] in inodes]  # fmt: skip
    assert ports == [f"0100007F:{port:04X}"]
    assert not [row for row in (network / "unix").read_text().splitlines()[1:] if row.split()[6] in inodes]


def test_a_port_that_is_taken_is_an_end_and_not_a_wait(program, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = [*program, str(taken.getsockname()[1]), str(tmp_path / "gateway.sock")]
        done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode not in (0, None)
    assert done.stdout == b""


def test_the_relay_is_a_small_program():
    assert len((IMAGES / "relay.c").read_text().splitlines()) <= 220
