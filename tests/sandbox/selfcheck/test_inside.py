import contextlib
import json
import runpy
import socket
import subprocess
import sys

import pytest

from sandbox.box import Facts
from sandbox.bwrap_box import BwrapBox
from sandbox.docker_box import DockerBox
from sandbox.errors import Lost
from sandbox.selfcheck import selfcheck
from sandbox.selfcheck.inside import ATTEMPTS, PROBES

PROBE = PROBES / "probe.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    "box", [pytest.param(BwrapBox, marks=pytest.mark.box), pytest.param(DockerBox, marks=pytest.mark.engine)]
)
def test_nothing_gets_out(box):
    made = selfcheck(box())
    assert [attempt for attempt in made if attempt.outcome == "escaped"] == []
    assert made[0].name == "egress-canary"
    assert made[0].outcome == "blocked"
    assert {attempt.name for attempt in made if attempt.outcome == "bounded"} >= {"memory", "processes", "disk"}


def test_every_attempt_has_its_control_and_every_control_its_attempt():
    probe = runpy.run_path(str(PROBE), run_name="probe")
    assert list(probe["ATTEMPTS"]) == list(ATTEMPTS)
    assert {spec.group for spec in ATTEMPTS.values()} == {"network", "kernel", "files", "resources"}


def unprotected(*names):
    """Run some attempts out here. The attempts themselves send nothing where there is a way out."""
    done = subprocess.run([sys.executable, str(PROBE), *names], capture_output=True, text=True, timeout=60, check=True)
    return {line["name"]: line["outcome"] for line in map(json.loads, done.stdout.splitlines())}


def test_without_the_wall_the_same_attempts_succeed_so_that_blocked_proves_something():
    names = ("interfaces", "routes", "egress-canary", "udp", "af-netlink", "other-processes", "ptrace")
    endings = unprotected(*names)
    assert endings["af-netlink"] == "escaped"
    assert endings["other-processes"] == "escaped"
    assert endings["ptrace"] == "escaped"
    if endings["interfaces"] == "escaped" or endings["routes"] == "escaped":
        assert endings["egress-canary"] == "escaped"
        assert endings["udp"] == "escaped"


def test_no_address_in_the_probe_is_a_real_one():
    text = PROBE.read_text()
    addresses = [word.strip("\"'(),") for word in text.split() if word.count(".") == 3 and word[1:2].isdigit()]
    allowed = ("192.0.2.", "198.51.100.", "203.0.113.", "127.0.0.", "0.0.0.0")
    assert addresses
    assert all(address.startswith(allowed) for address in addresses)


class Scripted:
    """A box whose agent prints what a test wants it to."""

    name = "scripted"

    def __init__(self, lines, facts=None):
        self.lines, self.facts = lines, facts or Facts(running=False, exit_code=0)

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


ALL = [{"name": name, "outcome": "blocked", "detail": ""} for name in ATTEMPTS]


@pytest.mark.parametrize(
    ("lines", "facts"),
    [
        ([], None),
        (ALL, None),
        ([{"reached": "something else"}, *ALL], None),
        ([{"reached": "something else"}, *ALL], Facts(running=True)),
        ([{"reached": "something else"}, *ALL], Facts(running=False, lost=True)),
    ],
)
def test_a_check_that_did_not_reach_its_relay_or_its_end_proves_nothing(lines, facts):
    with pytest.raises(Lost):
        selfcheck(Scripted(lines, facts))


class Reaching(Scripted):
    """One that says that it reached the relay."""

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
    with pytest.raises(Lost, match="stopped before core-dump"):
        selfcheck(Reaching(ALL[:-1]))


def test_an_escape_is_handed_on():
    lines = [{**line, "outcome": "escaped"} if line["name"] == "tcp" else line for line in ALL]
    assert [attempt.name for attempt in selfcheck(Reaching(lines)) if attempt.outcome == "escaped"] == ["tcp"]
