"""Tests of the attempts from inside a box: none succeeds in a real box, and each succeeds without one."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys

import pytest

from sandbox.attacks.harness.catalogue import HOGS, ROWS
from sandbox.attacks.harness.probing import PROBES
from sandbox.attacks.inside_suite import ATTEMPTS, run
from sandbox.attacks.probes import __main__ as probes
from sandbox.attacks.probes import foreign_abis, raw_system_calls
from sandbox.attacks.suite import selfcheck
from sandbox.boxes.box import ExitFacts
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.boxes.docker.box import DockerBox
from sandbox.errors import Lost
from sandbox.isolation.system_calls import NUMBERS

BOXES = [pytest.param(BwrapBox, marks=pytest.mark.box), pytest.param(DockerBox, marks=pytest.mark.engine)]
SHORT = [name for name, spec in ATTEMPTS.items() if spec.short]


@pytest.mark.parametrize("box", BOXES)
def test_nothing_gets_out_in_the_short_form(box):
    made = selfcheck(box())
    assert [attempt for attempt in made if attempt.outcome == "escaped"] == []
    assert made[0].name == "egress-canary"
    assert made[0].outcome == "blocked"
    assert {attempt.name for attempt in made if attempt.outcome == "bounded"} >= {"memory", "processes", "disk"}
    assert len(made) > 100


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.needs("root")
def test_no_form_of_memory_and_no_writable_file_is_left_out(box):
    names = [name for name, row in ROWS.items() if not row.short and not row.apart]
    made = {attempt.name: attempt for attempt in run(box(), names)}
    assert [attempt for attempt in made.values() if attempt.outcome == "escaped"] == []
    assert made["memory-files"].detail.startswith("stopped at 1")  # of 128 MiB
    assert list(made) == names


def test_every_attempt_has_its_row_and_every_row_its_attempt():
    assert set(probes.ATTEMPTS) == set(ROWS)
    assert {row.group for row in ROWS.values()} == {"network", "kernel", "files", "resources"}


def test_the_probes_and_the_filter_mean_the_same_calls():
    ours = {name: numbers for name, numbers in raw_system_calls.NUMBERS.items() if name in NUMBERS}
    assert len(ours) > 12
    assert {name: NUMBERS[name] for name in ours} == ours


def unprotected(*names):
    """Make some attempts outside a box; they send nothing where there is a way out."""
    command = [sys.executable, "-m", "sandbox.attacks.probes", *names]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PROBES.parents[1])
    return {line["name"]: line["outcome"] for line in map(json.loads, done.stdout.splitlines())}


def test_without_the_box_the_same_attempts_succeed_so_that_blocked_proves_something():
    names = ("interfaces", "routes", "egress-canary", "udp", "af-netlink", "other-processes", "ptrace")
    endings = unprotected(*names)
    assert endings["af-netlink"] == "escaped"
    assert endings["other-processes"] == "escaped"
    assert endings["ptrace"] == "escaped"
    if endings["interfaces"] == "escaped" or endings["routes"] == "escaped":
        assert endings["egress-canary"] == "escaped"
        assert endings["udp"] == "escaped"


def test_target_addresses_are_documentation_addresses():
    text = "".join((PROBES / name).read_text() for name in ("network.py", "foreign_abis.py", "network_exits.py"))
    four = re.findall(r"(?<![\d.])\d+\.\d+\.\d+\.\d+(?![\d.])", text)
    six = re.findall(r'"([0-9a-f]+:[0-9a-f:]+)"', text)
    allowed = ("192.0.2.", "198.51.100.", "203.0.113.", "233.252.0.", "127.0.0.", "0.0.0.0")
    assert len(four) > 10
    assert all(address.startswith(allowed) for address in four)
    assert {address for address in six if not address.startswith("2001:db8:")} == {"fd00:ec2::254", "fd20:ce::254"}
    only_asked = text.split('@attempt("metadata-address")')[1].split("@attempt")[0]
    assert "routed(" in only_asked
    assert "fd20:ce::254" in only_asked


@pytest.mark.needs("root")
def test_asking_for_a_route_sends_nothing_to_whoever_is_there():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 9))
        from sandbox.attacks.probes.network_exits import routed

        assert routed("127.0.0.1")[0] == "escaped"
        listener.setblocking(False)  # on a loopback a datagram has come once it was sent
        with pytest.raises(BlockingIOError):
            listener.recv(1)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="there are no such programs for this machine")
def test_the_foreign_program_is_a_real_one():
    elf = foreign_abis.program([(foreign_abis.GETPID_32,)])
    assert elf[:5] == b"\x7fELF\x01"
    said = foreign_abis.run([(foreign_abis.GETPID_32,), (foreign_abis.SOCKET, socket.AF_INET, socket.SOCK_STREAM, 0)])
    assert said[0] > 0
    assert said[1] == 3


class Scripted:
    """A box whose agent prints a test's text."""

    name = "scripted"

    def __init__(self, lines, facts=None):
        self.lines, self.facts = lines, facts or ExitFacts(running=False, exit_code=0)

    def place(self, program, sockets, limits):
        return self

    def start(self):
        return self

    def wait(self, timeout):
        return self.facts

    def kill(self):
        pass

    def output(self):
        return "\n".join(json.dumps(line) for line in self.lines)


ALL = [{"name": name, "outcome": "blocked", "detail": ""} for name in SHORT]


@pytest.mark.parametrize(
    ("lines", "facts"),
    [
        ([], None),
        (ALL, None),
        ([{"reached": "something else"}, *ALL], None),
        ([{"reached": "something else"}, *ALL], ExitFacts(running=True)),
        ([{"reached": "something else"}, *ALL], ExitFacts(running=False, lost=True)),
    ],
)
def test_a_check_that_did_not_reach_its_relay_or_its_end_proves_nothing(lines, facts):
    with pytest.raises(Lost):
        list(run(Scripted(lines, facts), SHORT))


def test_a_check_whose_program_cannot_be_read_names_the_cause():
    class Closed(Scripted):
        def output(self):
            return "python: can't open file '/submission/main.py': [Errno 13] Permission denied\n"

    with pytest.raises(Lost, match=r"relay.*: its program ended with status 2 and printed last: .*Permission denied$"):
        list(run(Closed([], ExitFacts(running=False, exit_code=2)), SHORT))
    with pytest.raises(Lost, match=r"its program ended without a status and printed nothing$"):
        list(run(Scripted([], ExitFacts(running=False)), SHORT))


class Reaching(Scripted):
    """A scripted box that reports reaching the relay."""

    def place(self, program, sockets, limits):
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(sockets / "gateway.sock"))
            caller.sendall(b"GET / HTTP/1.0\r\n\r\n")
            said = b""
            with contextlib.suppress(OSError):
                while data := caller.recv(1000):
                    said += data
        self.lines = [{"reached": said.decode()}, *self.lines]
        return self


def test_an_attempt_that_is_missing_is_named():
    with pytest.raises(Lost, match=f"stopped before {SHORT[-1]}"):
        list(run(Reaching(ALL[:-1]), SHORT))


def test_an_escape_is_handed_on():
    lines = [{**line, "outcome": "escaped"} if line["name"] == "tcp" else line for line in ALL]
    made = run(Reaching(lines), SHORT)
    assert [attempt.name for attempt in made if attempt.outcome == "escaped"] == ["tcp"]


def test_use_of_gvisors_own_kernel_is_bounded_and_use_of_ours_is_an_escape():
    lines = [{**line, "outcome": "escaped"} if line["name"] in ("tcp", "priority") else line for line in ALL]
    box = Reaching(lines)
    together = [name for name in SHORT if name not in HOGS]
    box.runtime = "runsc"
    made = {attempt.name: attempt.outcome for attempt in run(box, together)}
    assert (made["tcp"], made["priority"]) == ("escaped", "bounded")
    box.runtime = "runc"
    assert {attempt.name for attempt in run(box, together) if attempt.outcome == "escaped"} == {"tcp", "priority"}
