"""Tests of failing surroundings of a run: engines absent, restarted or full, and images that cannot run here.

What would hurt others' containers is done to engines of our own, each with its own data, socket and containerd.
"""

import contextlib
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from quarterturn import cli
from quarterturn.cli.terminal.exits import exit_code
from sandbox.boxes.box import SOCKET_NAME, Program, ResourceLimits
from sandbox.boxes.docker import engine as engines
from sandbox.boxes.docker.box import RELAY_IMAGE, WORLD_IMAGE, DockerBox
from sandbox.boxes.docker.container_config import RUNNER_LABEL
from sandbox.errors import NotFound, Refused, Unavailable
from sandbox.runs import submission
from sandbox.runs.run import run_task
from verifiers.language.verdict import Verdict

from ..patience import PATIENCE, until
from .builders import a_written_task, an_agent, run_set, unpack
from .processes import named

pytestmark = pytest.mark.engine

GIB = 1 << 30
LIMITS = ResourceLimits(memory=96 << 20, pids=40, tmpfs=8 << 20)


class OwnEngine:
    """An engine of the test's own, with its data in memory and a network of its own without anything in it."""

    def __init__(self, size: str) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="qt-engine-"))
        self.data = self.root / "data"
        self.data.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", self.data], check=True)
        self.host = f"unix://{self.root}/sock"
        self.settings = {}
        self.process = None

    def start(self) -> None:
        command = ["unshare", "--net", "dockerd", "--host", self.host]
        command += ["--data-root", self.data, "--exec-root", self.root / "exec"]
        command += ["--pidfile", self.root / "pid", "--storage-driver", "overlay2", "--bridge=none"]
        command += ["--iptables=false", "--ip6tables=false", "--ip-masq=false", "--ip-forward=false"]
        (self.root / "daemon.json").write_text(json.dumps(self.settings))
        command += ["--config-file", self.root / "daemon.json"]
        with (self.root / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        until(self.answers, "an engine of our own")

    def answers(self) -> bool:
        """Return whether it answers.

        Raises:
            AssertionError: it has ended, and never will.
        """
        assert self.process.poll() is None, (self.root / "log").read_text()[-2000:]
        return (self.root / "sock").exists() and self("version").returncode == 0

    def stop(self) -> None:
        """Stop it, and everything that it runs."""
        self.process.terminate()
        self.process.wait(PATIENCE)

    def crash(self) -> None:
        """Kill it; its containerd dies with it, and the containers run on for now."""
        self.process.kill()
        self.process.wait(PATIENCE)
        for left in (self.root / "pid", self.root / "exec" / "containerd" / "containerd.pid"):
            left.unlink(missing_ok=True)  # where no init collects it, its number seems to be alive

    def load(self, *images: str) -> None:
        with subprocess.Popen(["docker", "save", *images], stdout=subprocess.PIPE) as saving:
            loaded = self("load", stdin=saving.stdout)
        assert loaded.returncode == 0, loaded.stderr

    def __call__(self, *words: str, **more) -> subprocess.CompletedProcess:
        command = ["docker", "--host", self.host, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, **more)

    def close(self) -> None:
        if self.process.poll() is None:
            self.stop()
        for shim in named(f"{self.root}/exec"):  # of a crash that nobody cleaned up after
            subprocess.run(["pkill", "--signal", "KILL", "--parent", str(shim)], check=False)
            with contextlib.suppress(ProcessLookupError):
                os.kill(shim, signal.SIGKILL)
        subprocess.run(["umount", "--recursive", "--lazy", self.data], check=False)
        shutil.rmtree(self.root, ignore_errors=True)


@contextlib.contextmanager
def an_engine(size, *images):
    engine = OwnEngine(size)
    try:
        engine.start()
        engine.load(*images)
        yield engine
    finally:
        engine.close()


@pytest.fixture(scope="module")
def whole():
    """Start an engine in which tasks can be played; agents run in the world's image, which has a Python."""
    with an_engine("2g", RELAY_IMAGE, WORLD_IMAGE) as engine:
        yield engine


@pytest.fixture
def small():
    """Start an engine with one small image, and little space."""
    with an_engine("48m", RELAY_IMAGE) as engine:
        yield engine


def a_box(engine, monkeypatch, image=WORLD_IMAGE):
    monkeypatch.setenv("DOCKER_HOST", engine.host)
    return DockerBox(world_image=image, agent_image=image)


def patient(monkeypatch):
    """Raise the time limit for an engine that restarts on a slow machine."""
    for name in ("RESTART_SECONDS", "REMOVAL_SECONDS"):
        monkeypatch.setattr(engines, name, PATIENCE)


WROTE = 'call("filesystem__write_file", path="/data/files/colour.txt", content="heliotrope")'


@pytest.fixture
def agent(tmp_path):
    return an_agent(tmp_path / "ada", WROTE)


# ---- an engine that goes away ----


@pytest.mark.slow
def test_a_set_goes_on_after_its_engine_was_restarted(whole, agent, monkeypatch):
    patient(monkeypatch)
    box, done = a_box(whole, monkeypatch), []

    def restart(run):
        done.append(run)
        if len(done) == 1:
            whole.crash()
            whole.start()

    runs = run_set([a_written_task(number) for number in range(2, 7)], agent, box, workers=2, record_outcome=restart)
    lost = {"agent-not-started", "not-frozen", "world-died", "gateway-lost", "relay-lost", "server-lost"}
    assert {run.code for run in runs} <= {"finished"} | lost, "the other worker's task may be at any stage"
    assert sum(run.passed for run in runs) >= 3, "what was just being started is a fail: it may have been begun"
    assert {one.failure for run in runs for one in run.earlier} <= {"ours"}
    assert whole("ps", "--all", "--quiet").stdout == ""


@pytest.mark.slow
@pytest.mark.exhaustive
def test_an_engine_that_is_killed_while_an_agent_waits_is_ours(whole, tmp_path, monkeypatch):
    patient(monkeypatch)
    box, crashes = a_box(whole, monkeypatch), threading.Event()
    waits = an_agent(tmp_path / "ada", f"if 'GO_ON' not in os.environ:\n    time.sleep(600)\n{WROTE}")
    place = box.place

    def going_on(program, sockets, limits):
        environment = {"GO_ON": "yes"} if crashes.is_set() else {}
        return place(replace(program, environment=environment), sockets, limits)

    def crash():
        until(lambda: whole("ps", "--quiet").stdout.count("\n") == 3, "world, relay and agent")
        crashes.set()
        whole.crash()
        whole.start()

    monkeypatch.setattr(box, "place", going_on)
    crashing = threading.Thread(target=crash)
    crashing.start()
    run = run_task(a_written_task(), waits, box, alias="r-1")
    crashing.join(PATIENCE)
    assert run.passed
    assert run.earlier
    assert {one.failure for one in run.earlier} == {"ours"}  # lost, killed with it, or not up again yet


@pytest.mark.slow
def test_a_set_ends_with_a_sentence_where_its_engine_stays_away(whole, agent, monkeypatch):
    monkeypatch.setattr(engines, "RESTART_SECONDS", 1.0)
    box = a_box(whole, monkeypatch)
    try:
        with pytest.raises(Unavailable, match=r"no Docker engine answers at unix://.*start one") as raised:
            run_set([a_written_task(n) for n in range(2, 7)], agent, box, record_outcome=lambda _: whole.crash())
    finally:
        whole.start()
    assert exit_code(raised.value) == 6
    assert not list(Path("/dev/shm").glob(f"quarterturn-{os.getpid()}-*"))
    for left in whole("ps", "--all", "--quiet").stdout.split():
        whole("rm", "--force", left)


def test_an_agent_whose_engine_is_restarted_is_lost_and_no_failure_of_its_own(small, sockets, monkeypatch):
    box = a_box(small, monkeypatch, RELAY_IMAGE)
    place = box.place(Program(command=("/relay", "9", "/gw")), sockets, LIMITS)
    agent = place.start()
    small.crash()
    try:
        assert agent.wait(PATIENCE).lost
    finally:
        small.start()
        place.close()
    facts = agent.wait(0)
    assert (facts.running, facts.exit_code, facts.lost) == (False, None, True)


def test_a_full_disk_is_named_with_what_to_do(small, sockets, monkeypatch):
    box = a_box(small, monkeypatch, RELAY_IMAGE)
    box.check()
    with contextlib.suppress(OSError), (small.data / "filling").open("wb") as file:
        while True:
            file.write(bytes(4096))
    with pytest.raises(Unavailable, match=r"no space left on device.*its disk is full: free some") as raised:
        box.check()
    assert exit_code(raised.value) == 6
    with pytest.raises(Unavailable, match="its disk is full"):
        box.place(Program(command=("/relay",)), sockets, LIMITS)
    (small.data / "filling").unlink()
    box.check()
    assert small("ps", "--all", "--quiet").stdout == ""


# ---- gVisor ----


@pytest.mark.slow
def test_a_task_is_played_under_gvisor_where_a_home_asks_for_it(whole, agent, monkeypatch):
    arguments = ["--network=host", "--platform=ptrace"]  # what is the host's there is the loopback of the place
    whole.settings = {"runtimes": {"runsc": {"path": shutil.which("runsc"), "runtimeArgs": arguments}}}
    whole.stop()
    whole.start()
    monkeypatch.setenv("DOCKER_HOST", whole.host)
    box = DockerBox(agent_image=WORLD_IMAGE, runtime="runsc")
    box.check()
    box.fits(agent.program)
    run = run_task(a_written_task(), agent, box, alias="r-gvisor")
    assert (run.passed, run.code, run.attempts) == (True, "finished", 1), run.output
    look = "print('Linux version 4.4.0' in open('/proc/version').read())"  # as every gVisor says
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener, tempfile.TemporaryDirectory() as name:
        listener.bind(f"{name}/{SOCKET_NAME}")
        listener.listen()
        place = box.place(Program(command=("python3", "-c", look)), Path(name), ResourceLimits())
        try:
            seen = place.start()
            seen.wait(PATIENCE)
        finally:
            place.close()
    assert seen.output() == "True\n"


# ---- images ----


def pretend(engine, image, size):
    """Give an image's layer another size: that of a sparse file in it."""
    [layer] = json.loads(engine("image", "inspect", image).stdout)[0]["RootFS"]["Layers"]
    engine.stop()
    known = engine.data / "image" / "overlay2" / "layerdb" / layer.replace(":", "/")
    (known / "size").write_text(str(size))
    with (engine.data / "overlay2" / (known / "cache-id").read_text() / "diff" / "weights").open("wb") as file:
        file.truncate(size)
    engine.start()


@pytest.mark.slow
def test_an_image_of_five_gigabytes_runs_and_one_beyond_the_cap_is_refused(small, sockets, monkeypatch):
    pretend(small, RELAY_IMAGE, 5 * GIB)
    assert json.loads(small("image", "inspect", RELAY_IMAGE).stdout)[0]["Size"] == 5 * GIB
    box = a_box(small, monkeypatch, RELAY_IMAGE)
    program = Program(image=RELAY_IMAGE, command=("9",))
    box.fits(program)
    place = box.place(program, sockets, LIMITS)
    try:
        agent = place.start()
        assert agent.wait(PATIENCE).exit_code == 2
        assert agent.output().startswith("usage: relay")
    finally:
        place.close()
    pretend(small, RELAY_IMAGE, 30 * GIB)
    with pytest.raises(Refused, match=r"has 30\.0 GiB; at most 20 are run here") as raised:
        a_box(small, monkeypatch, RELAY_IMAGE).fits(program)
    assert exit_code(raised.value) == 8


@pytest.fixture(scope="module")
def images():
    """Make images from the relay's that are what their names say; `foreign` is for another processor."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        saved = subprocess.run(["docker", "save", RELAY_IMAGE], capture_output=True, check=True).stdout
        unpack(saved, folder)
        [manifest] = json.loads((folder / "manifest.json").read_text())
        config = json.loads((folder / manifest["Config"]).read_text())
        made = {
            "foreign": config | {"architecture": "arm64"},
            "mute": config | {"config": {**config["config"], "Entrypoint": None, "Cmd": None}},
            "greedy": config | {"config": {**config["config"], "Volumes": {"/": {}}}},
            "hasty": config | {"config": {**config["config"], "Entrypoint": ["/relay"], "Cmd": None}},
            "hollow": config | {"config": {**config["config"], "Entrypoint": ["/no/such/program"]}},
        }
        for kind, changed in made.items():
            (folder / "config.json").write_text(json.dumps(changed))
            tags = [a_name(kind)]
            (folder / "manifest.json").write_text(json.dumps([{**manifest, "Config": "config.json", "RepoTags": tags}]))
            (folder / "repositories").unlink(missing_ok=True)
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode="w") as tar:
                tar.add(folder, ".")
            subprocess.run(["docker", "load"], input=packed.getvalue(), capture_output=True, check=True)
        yield {kind: a_name(kind) for kind in (*made, "none")}
        subprocess.run(["docker", "image", "rm", "--force", *map(a_name, made)], capture_output=True, check=True)


def a_name(kind):
    """Return an image a unique name: other processes share the engine."""
    return f"quarterturn-test-{kind}-{os.getpid()}:latest"


IMPOSSIBLE = {
    "none": (NotFound, 3, "the engine has no image .*: build it or pull it first"),
    "foreign": (Refused, 8, "is for arm64; this engine runs amd64: build it for that"),
    "mute": (Refused, 8, "names no program: give it an ENTRYPOINT"),
    "greedy": (Refused, 8, "declares a volume at '/'"),
}


@pytest.mark.parametrize("kind", IMPOSSIBLE)
def test_an_image_that_cannot_run_here_is_refused_before_anything_starts(images, sockets, kind):
    error, code, sentence = IMPOSSIBLE[kind]
    box = DockerBox()
    with pytest.raises(error, match=sentence) as raised:
        box.fits(Program(image=images[kind]))
    assert exit_code(raised.value) == code
    with pytest.raises(error, match=sentence):
        box.place(Program(image=images[kind]), sockets, LIMITS)


@pytest.fixture
def refused(capfd):
    """Return the exit code and the sentence of `run --image`, which prints nothing else."""

    def command(image):
        code = cli.run(["run", "--image", image, "--as", "ada"])
        out, err = capfd.readouterr()
        assert out == ""
        assert "Traceback" not in err
        return code, " ".join(err.split())

    return command


@pytest.mark.parametrize("kind", ["none", "foreign", "mute"])
def test_the_command_line_says_so_in_one_sentence_with_its_code(images, refused, kind):
    _, code, sentence = IMPOSSIBLE[kind]
    said = refused(images[kind])
    assert said[0] == code
    assert sentence.rpartition("; ")[2].rpartition(".*")[2].split(":")[-1].strip() in said[1]


def test_a_name_that_no_image_can_have_is_said_to_be_none(refused):
    code, said = refused("UPPER")
    assert code == 2
    assert "'UPPER' is not the name of an image: 'UPPER' is no component of a repository" in said


def test_an_absent_engine_is_one_sentence_on_the_command_line_too(refused, monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    code, said = refused("anything")
    assert code == 6
    assert "no Docker engine answers" in said


@pytest.mark.parametrize(("kind", "code"), [("hasty", 2), ("hollow", 127)])
def test_an_image_that_ends_at_once_fits_and_is_its_own_failure(images, sockets, kind, code):
    box = DockerBox()
    box.fits(Program(image=images[kind]))
    place = box.place(Program(image=images[kind]), sockets, LIMITS)
    try:
        assert place.start().wait(PATIENCE).exit_code == code
    finally:
        place.close()
    hasty = submission.image(images[kind], submitter="ada", resolve=box.digest)
    run = run_task(a_written_task(), hasty, box, alias="r-hasty")
    assert (run.verdict, run.passed, run.failure, run.attempts) == (Verdict.FALSE, False, None, 1)


def test_a_name_that_comes_to_mean_another_image_changes_no_run(images, sockets):
    box = DockerBox()
    made = submission.image(images["hasty"], submitter="ada", resolve=box.digest)
    subprocess.run(["docker", "tag", WORLD_IMAGE, images["hasty"]], check=True)
    try:
        place = box.place(made.program, sockets, LIMITS)
        try:
            assert place.start().wait(PATIENCE).exit_code == 2
        finally:
            place.close()
    finally:
        subprocess.run(["docker", "tag", made.digest, images["hasty"]], check=True)


# ---- a runner that was killed ----

RUNNER = """
import sys, time
sys.path[:0] = {path!r}
from sandbox.runs import submission
from sandbox.boxes.docker.box import DockerBox
from sandbox.runs.run import PlannedTask, RunSetup, run_set
from vault.task.document import Task
sleeper = submission.command("sleep 600", submitter="ada", name="sleeper")
tasks = [PlannedTask(Task.parse(document)) for document in {documents!r}]
run_set(tasks, sleeper, RunSetup.in_box(DockerBox(), workers=2))
"""


@pytest.mark.slow
@pytest.mark.exhaustive
def test_an_interrupt_takes_down_what_is_played_and_what_was_prepared_ahead(agent):
    def interrupt(_):
        raise KeyboardInterrupt

    tasks = [a_written_task(number) for number in range(2, 8)]
    with pytest.raises(KeyboardInterrupt):
        run_set(tasks, agent, DockerBox(), workers=2, record_outcome=interrupt)
    assert containers(os.getpid()) == {}
    assert not list(Path("/dev/shm").glob(f"quarterturn-{os.getpid()}-*"))


LEFT = ["created", *["running"] * 8]


@pytest.mark.slow
def test_leftovers_of_a_killed_runner_are_removed_at_the_next_start(tmp_path):
    documents = [a_written_task(number).document for number in range(2, 7)]
    code = RUNNER.format(path=sys.path, documents=documents)
    with subprocess.Popen([sys.executable, "-c", code]) as runner:
        try:
            # Two tasks are played and one is ready: three worlds, three relays, and three agents, of which one waits.
            until(lambda: sorted(containers(runner.pid).values()) == LEFT, "two runs and one that is ready")
            left = containers(runner.pid)
            folders = list(Path("/dev/shm").glob(f"quarterturn-{runner.pid}-*"))
        finally:
            runner.kill()
    assert len(folders) == 3
    assert sorted(left.values()) == LEFT
    DockerBox().check()
    assert containers(runner.pid) == {}
    assert not list(Path("/dev/shm").glob(f"quarterturn-{runner.pid}-*"))


def containers(pid):
    """Return the containers of the runner with that number, by their names, and the state of each."""
    shown = '{{.ID}} {{.State}} {{.Label "' + RUNNER_LABEL + '"}}'
    listed = subprocess.run(["docker", "ps", "--all", "--format", shown], capture_output=True, text=True, check=True)
    lines = [line.split() for line in listed.stdout.splitlines() if len(line.split()) == 3]
    return {name: state for name, state, label in lines if label.split(":")[2:3] == [str(pid)]}
