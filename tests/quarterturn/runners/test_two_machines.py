"""Test of a service and a runner that share nothing: each in a network of its own, with certificates on both sides."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ...certificates import make_certificate

pytestmark = [pytest.mark.box, pytest.mark.slow, pytest.mark.needs("netns")]

SERVICE, RUNNER = "192.0.2.1", "192.0.2.2"
ROOT = Path(__file__).parents[3]
QUARTERTURN = Path(sys.prefix) / "bin" / "quarterturn"
SERVES = """
import json, socket, ssl, sys, threading, time
from contextlib import closing
from pathlib import Path
from queue import Queue
from quarterturn.app import Application
from quarterturn.http.serve import make_server
from quarterturn.progress import NullProgress
from quarterturn.runners.runner_box import RunnerBox
from quarterturn.runs.jobs import WorkerThreads
from quarterturn.settings import RunSettings
from sandbox.runs import submission

home, address, folder, command = sys.argv[1:]


def pass_on(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def end_tls(listener, port):
    while True:
        try:
            outside, _ = listener.accept()
        except ssl.SSLError:  # one without a certificate that we trust
            continue
        inside = socket.create_connection(("127.0.0.1", port))
        for ends in ((outside, inside), (inside, outside)):
            threading.Thread(target=pass_on, args=ends, daemon=True).start()


with closing(Application(Path(home), None)) as house:
    played = RunSettings(runners=("open",), wall_seconds=20)
    house.home.settings = house.home.settings.model_copy(update={"run": played})
    urls = Queue()
    jobs = WorkerThreads(house.submissions.queue, house.execution.job_worker.work, 0)
    server = make_server(house.http(jobs), "127.0.0.1", 0, ready=urls.put)
    serving = threading.Thread(target=server.run, daemon=True)
    serving.start()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=f"{folder}/runner/certificate.pem")
    context.load_cert_chain(f"{folder}/service/certificate.pem", f"{folder}/service/key.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    listener = context.wrap_socket(socket.create_server((address, 443)), server_side=True)
    port = int(urls.get().rpartition(":")[2])
    threading.Thread(target=end_tls, args=(listener, port), daemon=True).start()
    print(house.runners.store.add("north", 90), flush=True)
    while not house.runners.store.alive():
        time.sleep(0.1)
    box = RunnerBox(house.runners.store, "open")
    run, results = house.execution.private_runs.play(submission.command(command, submitter="ada"), box, NullProgress())
    print(json.dumps([result.passed for result in results]), flush=True)
    server.should_exit = True
    serving.join()
"""
"""A home that is served in its network alone, with something in front that ends TLS and asks for a certificate."""
MAKES_FOLDERS = """
import json, os, re, urllib.request

URL = os.environ["QUARTERTURN_URL"]
with urllib.request.urlopen(f"{URL}/task") as response:
    name = re.search("number-[0-9]+", json.load(response)["goal"])[0]
if int(name[7:]) % 2:
    import asyncio
    from mcp.client import Client

    async def work():
        async with Client(f"{URL}/mcp") as client:
            await client.call_tool("filesystem__create_directory", {"path": f"/data/files/{name}"})

    asyncio.run(work())
"""

ASKS = """
import sys, urllib.request
try:
    urllib.request.urlopen("https://192.0.2.1/livez")
except OSError:
    sys.exit(1)
"""


@contextmanager
def machine(*hides: Path) -> Iterator[Sequence[str]]:
    """Make a network and a view of the disk without some folders; give the words that run a command there."""
    hiding = "".join(f"mount -t tmpfs tmpfs {folder}; " for folder in hides)
    words = ["unshare", "--net", "--mount", "sh", "-ec", f"{hiding}ip link set lo up; echo made; exec sleep infinity"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"made\n"
            yield ["nsenter", f"--target={process.pid}", "--net", "--mount", f"--wd={ROOT}", "--"]
        finally:
            process.kill()


@contextmanager
def running(words: Sequence[object], **how: Any) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([str(word) for word in words], **how) as program:
        try:
            yield program
        finally:
            program.terminate()


def join(service: Sequence[str], runner: Sequence[str]) -> None:
    """Put a cable between two machines."""
    other = runner[1].removeprefix("--target=")
    for words in (
        [*service, "ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", other],
        [*service, "ip", "address", "add", f"{SERVICE}/24", "dev", "cable"],
        [*runner, "ip", "address", "add", f"{RUNNER}/24", "dev", "cable"],
        *([*own, "ip", "link", "set", "cable", "up"] for own in (service, runner)),
    ):
        subprocess.run(words, check=True)


def test_a_run_is_played_on_a_machine_that_shares_nothing_with_the_service(playable, tmp_path):
    agent = tmp_path / "agent"
    agent.mkdir()
    (agent / "agent.py").write_text(MAKES_FOLDERS)
    for name, address in (("service", SERVICE), ("runner", RUNNER)):
        (tmp_path / name).mkdir()
        make_certificate(tmp_path / name, address)
    own = tmp_path / "runner"
    pem = own / "both.pem"
    pem.write_bytes((own / "key.pem").read_bytes() + (own / "certificate.pem").read_bytes())
    token = own / "token"
    token.touch(mode=0o600)
    with machine() as service, machine(playable) as runner:
        join(service, runner)
        words = [*service, sys.executable, "-c", SERVES, playable, SERVICE, tmp_path, f"python3 {agent}/agent.py"]
        with running(words, stdout=subprocess.PIPE, text=True) as served:
            token.write_text(served.stdout.readline())
            words = [*runner, QUARTERTURN, "runner", "start", "--to", f"https://{SERVICE}", "--box", "bwrap"]
            words += ["--only", "open", "--spool", own / "spool", "--token-file", token]
            environment = {"PATH": os.environ["PATH"], "HOME": str(own), "LC_ALL": "C.UTF-8"}
            environment["SSL_CERT_FILE"] = str(tmp_path / "service" / "certificate.pem")
            without = subprocess.run([*runner, sys.executable, "-c", ASKS], check=False, env=environment)
            assert without.returncode == 1, "whoever shows no certificate is not answered"
            with running([*words, "--certificate", pem], env=environment):
                passed = json.loads(served.stdout.readline())
    assert set(passed) == {True, False}
