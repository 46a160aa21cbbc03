"""Tests of supervisors in a real box: what was left arrives whatever becomes of the runner, and holds no secret."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from quarterturn.boxes import choose_box
from sandbox.boxes.box import ResourceLimits
from sandbox.errors import Malformed, NotAllowed
from sandbox.results.failure import Stage
from sandbox.runs.attempt import serving_of
from sandbox.runs.job import Job, PlannedTask, RunSetup, Terms
from sandbox.servings.runner import Runner, SealedServing
from sandbox.servings.sealing import KEY_BYTES, decrypt_serving, encrypt_serving, open_hand_in
from sandbox.servings.spool import AGENT_STARTED, Spool
from sandbox.servings.supervisor import SupervisorRequest, Supervisors

from ...patience import until
from ..builders import RIGHT, a_task, an_agent, in_memory
from ..processes import below, holds, is_running

PRIVATE = X25519PrivateKey.generate()
PUBLIC = PRIVATE.public_key().public_bytes_raw()
SLEEP = "call('filesystem__list_directory', path='/data/files')\ntime.sleep(600)"

NUMBERS = itertools.count(1)


def request_of(folder, story, *, wall=60.0, task=None):
    terms = Terms(agent=ResourceLimits(wall=wall))
    setup = RunSetup.in_box(in_memory()[0], terms=terms)  # whose player is not asked
    job = Job(PlannedTask(task or a_task()), an_agent(folder / "ada", story), setup, "r-1")
    serving = serving_of(job, f"s-{next(NUMBERS):032x}")
    key = b"test-key".ljust(KEY_BYTES, b".")
    return SupervisorRequest(serving.handle, encrypt_serving(serving, key), key, PUBLIC, folder / "spool")


def wait_for(request):
    spool = Spool(request.spool)
    until(lambda: spool.states().get(request.handle) == "finished", "a sealed hand-in")
    with spool.open(request.handle) as sealed:
        return open_hand_in(request.handle, sealed.read(), PRIVATE)


def supervisor_of(request) -> int:
    """Return the process that plays a serving, once its agent has called a tool or its world is up."""
    lock = request.spool / f"{request.handle}.lock"
    until(lambda: lock.is_file() and lock.read_text(), "a supervisor")
    return int(lock.read_text().split(":")[2])


@pytest.fixture
def supervisors():
    made = Supervisors()
    yield made
    made.close()


@pytest.mark.parametrize(
    "box",
    [
        pytest.param("bwrap", marks=pytest.mark.box),
        pytest.param("docker", marks=[pytest.mark.engine, pytest.mark.slow]),
    ],
)
def test_what_was_left_arrives_although_the_runner_and_the_warm_parent_were_killed(tmp_path, box):
    request = request_of(tmp_path, f"time.sleep(3)\n{RIGHT}")
    (tmp_path / "request").write_bytes(request.to_bytes())
    program = (
        "import sys, time; from pathlib import Path;"
        "from sandbox.servings.supervisor import SupervisorRequest, Supervisors;"
        f"made = Supervisors({box!r});"
        "made.start(SupervisorRequest.from_bytes(Path(sys.argv[1]).read_bytes()));"
        "print(made._process.pid, flush=True); time.sleep(600)"
    )
    runner = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "request")], stdout=subprocess.PIPE)
    warm_parent = int(runner.stdout.readline())
    supervisor = supervisor_of(request)
    for process in (runner.pid, warm_parent):
        os.kill(process, signal.SIGKILL)
    runner.communicate()
    assert is_running(supervisor)
    assert Spool(request.spool).states() == {request.handle: "playing"}
    choose_box(box)  # a runner that is started again does so, and the box removes what dead ones left
    left = wait_for(request)
    assert (left.facts.stage, left.transcript.ended, left.transcript.answer) == (Stage.FROZEN, "answered", "2")
    assert [call.tool for call in left.transcript.calls] == ["filesystem.list_directory", "filesystem.write_file"]
    assert left.state.size > 0
    until(lambda: not is_running(supervisor), "its end")


@pytest.mark.box
def test_an_agent_is_ended_at_its_deadline_and_nobody_else_can_read_what_was_left(tmp_path, supervisors):
    request = request_of(tmp_path, SLEEP, wall=2.0)
    supervisors.start(request)
    left = wait_for(request)
    assert (left.facts.stage, left.transcript.ended) == (Stage.FROZEN, "time-exceeded")
    sealed = (request.spool / f"{request.handle}.sealed").read_bytes()
    assert b"list_directory" not in sealed
    for handle, key in ((request.handle, X25519PrivateKey.generate()), ("s-" + "1" * 32, PRIVATE)):
        with pytest.raises(Malformed, match="not sealed to this service"):
            open_hand_in(handle, sealed, key)


@pytest.mark.box
def test_a_serving_that_is_not_wanted_any_more_is_ended(tmp_path, supervisors):
    request = request_of(tmp_path, SLEEP, wall=600.0)
    supervisors.start(request)
    supervisor = supervisor_of(request)
    until(lambda: any("bwrap" in words for words in below(supervisor).values()), "a world")
    assert not any("sandbox.judge" in words for words in below(supervisor).values())  # no fork server of its own
    with pytest.raises(NotAllowed, match="being played already"):
        supervisors.start(request)
    Spool(request.spool).end(request.handle)
    assert wait_for(request).facts.stage < Stage.FROZEN


@pytest.mark.box
def test_a_supervisor_that_is_killed_while_its_agent_plays_is_known_to_be_dead_at_once(tmp_path, supervisors):
    request = request_of(tmp_path, SLEEP, wall=600.0)
    supervisors.start(request)
    supervisor = supervisor_of(request)
    until(lambda: AGENT_STARTED in (request.spool / f"{request.handle}.lock").read_bytes(), "its agent's start")
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: Spool(request.spool).states() == {request.handle: "died"}, "a free lock")


@pytest.mark.box
@pytest.mark.slow
@pytest.mark.needs("root")
def test_no_key_no_predicate_and_no_task_id_is_in_a_supervisors_memory(tmp_path, monkeypatch, dice):
    wanted = f"the-{dice.getrandbits(64):016x}-of-margarethe"
    task = a_task(success_predicate={"filesystem.fileTextEquals": {"path": "colour.txt", "text": wanted}})
    canary = f"test-{dice.getrandbits(128):032x}"
    monkeypatch.setenv("QUARTERTURN_PASSPHRASE", canary)
    private = PRIVATE.private_bytes_raw()
    request, supervisors = request_of(tmp_path, SLEEP, wall=600.0, task=task), Supervisors()
    supervisors.start(request)
    supervisor = supervisor_of(request)
    goal, secret = task.goal.encode(), [canary.encode(), wanted.encode(), task.id.encode(), private]
    until(lambda: holds(supervisor, goal) == [goal], "the goal in its memory")  # it plays, and its memory can be read
    assert holds(supervisor, *secret) == []
    assert holds(supervisors._process.pid, *secret, goal) == []
    Spool(request.spool).end(request.handle)
    wait_for(request)
    supervisors.close()


@pytest.mark.box
def test_a_serving_that_cannot_be_decrypted_is_handed_in_as_never_begun(tmp_path, supervisors):
    request = request_of(tmp_path, RIGHT)
    wrong = SupervisorRequest(request.handle, request.ciphertext, bytes(KEY_BYTES), PUBLIC, request.spool)
    supervisors.start(wrong)
    left = wait_for(wrong)
    assert (left.facts.stage, left.transcript) == (Stage.NOTHING, None)


def test_a_serving_opens_with_its_key_and_under_its_handle_alone(tmp_path):
    request = request_of(tmp_path, RIGHT)
    assert decrypt_serving(request.handle, request.ciphertext, request.key).handle == request.handle
    for handle, ciphertext, key in (
        ("s-" + "1" * 32, request.ciphertext, request.key),
        (request.handle, request.ciphertext[:-1], request.key),
        (request.handle, b"", request.key),
        (request.handle, request.ciphertext, bytes(KEY_BYTES)),
        (request.handle, request.ciphertext, b"short"),
    ):
        with pytest.raises(Malformed, match="serving"):
            decrypt_serving(handle, ciphertext, key)


class OneServing:
    """A service that has one serving to give (`sandbox.servings.runner.RunnerService`)."""

    def __init__(self, request) -> None:
        self.request, self.given, self.handed_in = request, False, {}

    def register(self, document):
        return {"public_key": self.request.public_key.hex()}

    def take(self, seconds):
        given, self.given = self.given, True
        return None if given else SealedServing(self.request.handle, self.request.ciphertext)

    def start(self, handle):
        return self.request.key

    def alive(self, handles):
        return handles

    def hand_in(self, handle, sealed):
        self.handed_in[handle] = open_hand_in(handle, sealed.read(), PRIVATE)


@pytest.mark.box
def test_a_runner_that_is_started_again_hands_in_what_its_predecessor_started(tmp_path, supervisors):
    request = request_of(tmp_path, RIGHT)
    service, spool = OneServing(request), Spool(request.spool)
    Runner(service, spool, {}, supervisors).step()
    assert spool.states() == {request.handle: "playing"}
    supervisors.close()
    again = Runner(service, spool, {}, supervisors)
    until(lambda: again.step() or service.handed_in, "what was handed in")
    assert service.handed_in[request.handle].transcript.answer == "2"
    assert list(request.spool.iterdir()) == []
