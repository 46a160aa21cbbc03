"""Tests of the runner as its own program: it plays an official run without a home, and what it holds is one serving."""

import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Queue

import pytest

from quarterturn.app import Application
from quarterturn.boxes import choose_box
from quarterturn.http.serve import make_server
from quarterturn.progress import NullProgress
from quarterturn.runners.hand_in_key import HandInKey
from quarterturn.runners.remote_player import RemotePlayer
from quarterturn.runners.runner_box import RunnerBox
from quarterturn.runs.jobs import WorkerThreads
from quarterturn.runs.private_runs import PrivateRuns
from quarterturn.servers.home_servers import kept_files
from quarterturn.settings import RunSettings
from quarterturn.submissions.store.requests import SubmissionRequest
from rotation.calendar import Month
from rotation.turn.turn_facts import spot_check_lines
from sandbox.boxes.docker.box import AGENT_IMAGE
from sandbox.errors import NotAllowed
from sandbox.model_gateway.process import ModelGateway
from sandbox.runs import submission
from sandbox.runs.run import PlannedTask, RunSetup, Terms, run_set
from sandbox.runs.store import RunState
from sandbox.servings.handed_in import HandIn
from sandbox.servings.spool import AGENT_STARTED
from sandbox.world.frozen import FrozenState
from vault.keys import signing
from verifiers.tree import DIRECTORY, FileTree

from ...patience import PATIENCE, until
from ...sandbox.builders import a_task, a_written_task, an_agent, tools
from ...sandbox.model_gateway.conftest import KEY, a_spec
from ...sandbox.model_gateway.stub import Stub, Turn
from ...sandbox.processes import holds
from ..servers.conftest import forgotten, notebook, shelf

__all__ = ["forgotten", "notebook", "shelf"]

pytestmark = [pytest.mark.box, pytest.mark.slow]

QUARTERTURN = Path(sys.prefix) / "bin" / "quarterturn"
MAKES_FOLDERS = """
import asyncio, json, os, re, time, urllib.request
from mcp.client import Client

URL = os.environ["QUARTERTURN_URL"]
with urllib.request.urlopen(f"{URL}/task") as response:
    name = re.search("number-[0-9]+", json.load(response)["goal"])[0]
time.sleep(PAUSE)


async def work():
    async with Client(f"{URL}/mcp") as client:
        await client.call_tool("filesystem__create_directory", {"path": f"/data/files/{name}"})

if int(name[7:]) % 2:
    asyncio.run(work())
"""
"""An agent that does what the goal says where its number is odd."""
INVENTED = FrozenState(FileTree({"files": DIRECTORY, "files/invented": DIRECTORY}).to_tar())


@dataclass
class Service:
    """A home that is served over a socket, with runners."""

    house: Application
    url: str

    def play(self, agent: str, box=None, **how):
        """Play an official run of a command, on the runners if no box is given; return its row and its results."""
        box = box or RunnerBox(self.house.runners.store, "open")
        submitted = submission.command(agent, submitter="ada")
        opened, results = self.house.execution.private_runs.play(submitted, box, NullProgress(), **how)
        return self.house.runs.store.get(opened.record.number), results


@contextmanager
def served(home: Path) -> Iterator[Service]:
    with closing(Application(home, None)) as house:
        house.home.settings = house.home.settings.model_copy(
            update={"run": RunSettings(runners=("sealed", "open"), wall_seconds=20)}
        )
        addresses: Queue[str] = Queue()
        app = house.http(WorkerThreads(house.submissions.queue, house.execution.job_worker.work, 0))
        server = make_server(app, "127.0.0.1", 0, ready=addresses.put)
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield Service(house, addresses.get(timeout=PATIENCE))
        finally:
            server.should_exit = True
            thread.join()


class Interrupted:
    """A lease that its worker loses the moment that so many servings have started."""

    def __init__(self, service: Service, servings: int) -> None:
        self._service, self._servings, self.run = service, servings, 0

    def status(self) -> str:
        started = self._service.house.runners.store.servings(run=self.run) if self.run else ()
        return "stopped" if len(started) >= self._servings else "held"

    def record_run(self, run, session) -> None:
        self.run = run.number

    def outlast(self, write) -> None:
        write()

    def wait_to_close(self) -> None:
        """Close at once."""


class RunnerProgram:
    """`quarterturn runner start` as a process with a folder of its own and no home."""

    def __init__(self, service: Service, folder: Path, name: str = "north") -> None:
        self.service, self.folder, self.name = service, folder, name
        folder.mkdir(exist_ok=True)
        self.servers = folder / "servers"
        token = folder / "token"
        token.touch(mode=0o600)
        token.write_text(service.house.runners.store.add(name, 90))
        self.spool = folder / "spool"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, box: str = "bwrap", run_class: str = "open") -> None:
        words = ["runner", "start", "--to", self.service.url, "--box", box, "--only", run_class]
        words += ["--spool", str(self.spool), "--token-file", str(self.folder / "token")]
        words += ["--servers", str(self.servers)] if self.servers.is_dir() else []
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LC_ALL": "C.UTF-8"}
        environment |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        self.process = subprocess.Popen([QUARTERTURN, *words], cwd=self.folder, env=environment)
        until(self.service.house.runners.store.alive, "a runner that lives")

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self.process:
            self.process.send_signal(how)
            self.process.wait(PATIENCE)
            self.process = None


@pytest.fixture
def service(playable) -> Iterator[Service]:
    with served(playable) as service:
        yield service


@pytest.fixture
def runner(service, tmp_path) -> Iterator[RunnerProgram]:
    program = RunnerProgram(service, tmp_path / "machine")
    program.start()
    yield program
    program.end()


@pytest.fixture
def agent(tmp_path) -> Callable[..., str]:
    def written(pause: float = 0.0) -> str:
        program = tmp_path / "agent" / "agent.py"
        program.parent.mkdir()
        program.write_text(MAKES_FOLDERS.replace("PAUSE", str(pause)))
        return f"python3 {program}"

    return written


@pytest.fixture
def runner_with_notebook(service, notebook, tmp_path) -> Iterator[RunnerProgram]:
    """Run a runner that has what a backup holds of the home's servers, and no program of them."""
    servers = service.house.home.servers
    servers.add(notebook, lambda: choose_box("bwrap"))
    program = RunnerProgram(service, tmp_path / "machine")
    for file in kept_files(folder := service.house.home.places.servers):
        copy = program.servers / file.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    program.start()
    yield program
    program.end()


def outcomes(results) -> dict[str, tuple[bool, int]]:
    return {result.task: (result.passed, result.calls) for result in results}


def test_a_run_is_played_on_a_runner_and_scored_as_one_that_is_played_here(service, runner, agent):
    command = agent()
    record, results = service.play(command)
    assert (record.state, record.box) == (RunState.DONE, "bwrap")
    _, here = service.play(command, box=choose_box("bwrap"))
    assert outcomes(results) == outcomes(here)
    assert {passed for passed, _ in outcomes(results).values()} == {True, False}
    rows = service.house.runners.store.servings(run=record.number)
    assert {row.task for row in rows} == set(outcomes(results))
    assert {row.state for row in rows} == {"closed"}
    assert not list(service.house.home.places.handed_in.iterdir())
    until(lambda: not list(runner.spool.iterdir()), "a spool without what was handed in")


def test_a_service_that_is_started_again_takes_what_was_played_meanwhile(service, runner, agent, monkeypatch):
    monkeypatch.setattr(PrivateRuns, "_after_stop", lambda *_: None)  # as where the process was killed
    command, lease = agent(pause=1.5), Interrupted(service, 2)
    with pytest.raises(NotAllowed, match="ended from outside"):
        service.play(command, lease=lease)
    begun = {row.task for row in service.house.runners.store.outstanding(lease.run)}
    assert len(begun) == 2
    monkeypatch.undo()
    record, results = service.play(command, resume=lease.run, lease=Interrupted(service, 100))
    _, here = service.play(command, box=choose_box("bwrap"))
    assert outcomes(results) == outcomes(here)
    served = service.house.benchmark.exposures.of_run(record.number)
    assert {servings.times for servings in served.values()} <= {1, 2}, "one whose key was lost is served again"


def lets_an_agent_go(runner: RunnerProgram) -> bool:
    """Say whether an agent plays on a runner, or has played."""
    with suppress(FileNotFoundError):  # what is handed in is removed
        return any(AGENT_STARTED in lock.read_bytes() for lock in runner.spool.glob("*.lock"))
    return False


@pytest.mark.exhaustive
def test_a_runner_that_is_killed_while_it_plays_costs_no_agent_a_point(service, runner, agent):
    command = agent(pause=1.5)
    with ThreadPoolExecutor(1) as pool:
        playing = pool.submit(service.play, command)
        until(lambda: lets_an_agent_go(runner), "an agent that plays")
        runner.end(signal.SIGKILL)
        runner.start()
        record, results = playing.result()
    _, here = service.play(command, box=choose_box("bwrap"))
    assert record.state == RunState.DONE
    assert outcomes(results) == outcomes(here)


@pytest.mark.needs("root")  # another process's memory is read
def test_no_key_no_task_and_no_result_is_in_a_runners_memory_or_on_its_disk(service, runner, agent):
    house, command = service.house, agent(pause=1.0)
    places, vault = house.home.places, house.home.vault
    keys = [house.home.ring._held.root, house.runners.fleet.key._load().private_bytes_raw()]
    keys.append(signing.load(places.log_key, house.home.ring).private_bytes_raw())
    tasks = [vault.open(record.id, who="test", why="look for it").task for record in vault.records()]
    words = [word.encode() for task in tasks for word in (task.id, task.goal)]
    token = (runner.folder / "token").read_bytes()
    seen: set[bytes] = set()
    with ThreadPoolExecutor(1) as pool:
        playing = pool.submit(service.play, command)
        until(lambda: lets_an_agent_go(runner), "an agent that plays")
        while not playing.done():
            seen.update(holds(runner.process.pid, token, *keys, *words))
            for file in runner.folder.rglob("*"):
                with suppress(OSError):  # a folder, or handed in and removed
                    content = file.read_bytes()
                    seen.update(word for word in (*keys, *words) if word in content)
        _, results = playing.result()
    assert {result.passed for result in results} == {True, False}
    assert seen == {token}, "its own token, which shows that memory was read"


@pytest.mark.usefixtures("runner_with_notebook", "forgotten")
def test_a_task_of_an_added_server_is_played_on_a_runner_that_has_the_same_by_its_lock(service, tmp_path):
    task = a_task(
        "notebook",
        initial_state={},
        available_tools=[*tools("notebook", 3), *tools("filesystem", 11)],
        success_predicate={"notebook.itemExists": {"pointer": "/notes", "fields": {"title": "kingfisher"}}},
    )
    agent = an_agent(tmp_path / "ada", "call('notebook__add_note', title='kingfisher')")
    player = RemotePlayer(service.house.runners.fleet, RunnerBox(service.house.runners.store, "open"))
    (outcome,) = run_set([PlannedTask(task)], agent, RunSetup(player))
    assert outcome.passed, outcome.as_json()


ASKS_A_MODEL = """
import urllib.request

url = os.environ["QUARTERTURN_URL"]
request = {"model": "small", "messages": [{"role": "user", "content": "Which bird?"}]}
body = json.dumps(request).encode()
asked = urllib.request.Request(f"{url}/v1/chat/completions", body, {"content-type": "application/json"})
with urllib.request.urlopen(asked) as response:
    said = json.load(response)["choices"][0]["message"]["content"]
call("filesystem__write_file", path="/data/files/colour.txt", content=said)
"""


def test_an_agent_on_a_runner_asks_a_language_model_whose_calls_are_in_the_log_of_the_service(
    service, runner, tmp_path
):
    stub = Stub([Turn(text="heliotrope")])
    with ModelGateway(a_spec(stub.url), KEY) as models:
        fleet, box = service.house.runners.fleet, RunnerBox(service.house.runners.store, "open")
        setup = RunSetup(RemotePlayer(fleet, box, models=models), Terms(models=models))
        agent = an_agent(tmp_path / "ada", ASKS_A_MODEL)
        (outcome,) = run_set([PlannedTask(a_written_task())], agent, setup)
    stub.close()
    assert outcome.passed, outcome.as_json()
    (call,) = outcome.transcript.model_calls
    assert (call.model, call.outcome) == ("small", "ok")
    assert [seen.headers["authorization"] for seen in stub.seen] == [f"Bearer {KEY}"]
    assert not fleet.models._relays


@pytest.mark.engine
def test_a_check_of_an_image_is_played_in_containers_on_a_runner(service, tmp_path):
    image = ["docker", "image", "inspect", "--format", "{{.Id}}", "quarterturn-agent-rulebook:latest"]
    digest = subprocess.run(image, capture_output=True, text=True, check=True).stdout.strip()
    house, runner = service.house, RunnerProgram(service, tmp_path / "machine")
    runner.start("docker")
    house.auth.accounts.create("ada", "submitter")
    request = SubmissionRequest("check", image=digest)
    made, _ = house.submissions.service.submit("ada", request, idempotency_key=None)
    house.execution.job_worker.work(house.submissions.queue.claim("worker"), threading.Event())
    runner.end()
    assert house.submissions.store.get(made.id).state == "done"
    trace = house.submissions.traces.own(made.id, "ada")["trace"]
    assert (trace["box"], len(trace["tasks"])) == ("docker", 1)
    assert trace["tasks"][0]["run"]["transcript"]["calls"]
    assert [row.state for row in house.runners.store.servings()] == ["closed"]


@pytest.fixture
def folders_image() -> Iterator[str]:
    """Build an image of the agent that makes folders, without a registry, and give its id; remove it in the end."""
    steps = f'FROM {AGENT_IMAGE}\nCOPY agent.py /\nUSER 65534:65534\nENTRYPOINT ["python3", "/agent.py"]\n'
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        for name, text in {"Dockerfile": steps, "agent.py": MAKES_FOLDERS.replace("PAUSE", "0")}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    build = ["docker", "build", "-q", "--network=none", "-"]
    done = subprocess.run(build, input=context.getvalue(), capture_output=True, check=True)
    digest = done.stdout.decode().strip()
    yield digest
    subprocess.run(["docker", "image", "rm", "-f", digest], capture_output=True, check=False)


@pytest.mark.engine
@pytest.mark.exhaustive
def test_a_private_run_of_an_image_is_played_in_containers_on_a_runner_and_ends_with_a_score(
    service, folders_image, tmp_path
):
    house, runner = service.house, RunnerProgram(service, tmp_path / "machine")
    runner.start("docker", "sealed")
    house.auth.accounts.create("ada", "submitter")
    request = SubmissionRequest("private", image=folders_image)
    made, _ = house.submissions.service.submit("ada", request, idempotency_key=None)
    house.execution.job_worker.work(house.submissions.queue.claim("worker"), threading.Event())
    runner.end()
    submission_row = house.submissions.store.get(made.id)
    assert submission_row.state == "done", submission_row
    record = house.runs.store.get(submission_row.run)
    assert (record.state, record.box, record.official) == (RunState.DONE, "docker", True)
    results = house.runs.store.results(record.number, who="test", why="test")
    assert {outcome.passed for outcome in results} == {True, False}
    assert {outcome.played_by for outcome in results} == {"north"}
    disclosed = house.runs.scores.disclosed(record.number)
    assert disclosed["whole"]["success_rate"]["value"] == sum(outcome.passed for outcome in results) / len(results)


@pytest.mark.exhaustive
def test_a_runner_that_hands_in_another_state_than_its_calls_lead_to_is_found_at_the_turn(
    service, runner, agent, monkeypatch
):
    monkeypatch.setattr("vault.ledger.statements.spot_check.ONE_IN", 1)
    open_hand_in, opened = HandInKey.open, []

    def open_invented(*arguments) -> HandIn:
        """Open a hand-in, the first one with a state that no call led to, as a runner could have sealed it."""
        opened.append(open_hand_in(*arguments))
        return replace(opened[-1], state=INVENTED) if len(opened) == 1 else opened[-1]

    monkeypatch.setattr(HandInKey, "open", open_invented)
    house, command = service.house, agent()
    record, results = service.play(command)
    service.play(command, box=choose_box("bwrap"))
    sealed = [house.runs.store.players(number, who="test", why="test") for number in (record.number, record.number + 1)]
    assert [set(players.values()) for players in sealed] == [{("north",)}, {("the service",)}]
    house.month.rotation.run(Month.parse(record.month))
    lines = spot_check_lines(house.benchmark.months.turn(Month.parse(record.month)))
    assert f"  transcripts from runners: {len(results)} chosen, {len(results) - 1} lead to the same state" in lines
    assert [finding.kind for finding in house.benchmark.findings.all() if finding.p_adj is None] == ["replay"]
