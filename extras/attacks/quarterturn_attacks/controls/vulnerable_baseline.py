"""Deliberately vulnerable target, for tests only: proves that each attack works without its control.

The same hostile programs run as plain processes of this user, against a gateway that trusts what it is sent, over a
state in a temporary folder that is read in place. Nothing outside that folder is touched and no network but this
machine's loopback is used; programs that leave something behind run in a bubblewrap whose folders are used twice.
"""

from __future__ import annotations

import http.server
import json
import os
import secrets
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from quarterturn_attacks.harness.scenario_runner import HOSTILE, LOOK
from quarterturn_attacks.harness.scenario_task import ANSWER, TABLES
from sandbox.boxes.box import ResourceLimits

DAEMON = "stay-as-daemon"
SECONDS = 300  # for a whole program; the slowest waits for deadlines that nobody has
WORKERS = 6
TASK = {"alias": "r-1", "goal": "way out there", "max_steps": 1, "tools": []}
GIT = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "safe.directory=*")


@dataclass
class VulnerableTarget:
    """Vulnerable gateway and its world, in a folder: every call is carried out, and the log is written as it comes."""

    root: Path
    calls: list[tuple[str, Any]] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)
    met: dict[str, Any] = field(default_factory=dict)

    @property
    def solved(self) -> bool:
        """Whether any goal is reached, read in place; reading the database runs the triggers that are in it."""
        file = self.root / "files" / "colour.txt"
        written = file.exists() and file.read_text() == "heliotrope"
        return written or self._grace() or ANSWER in map(_number, self.answers)

    def _grace(self) -> bool:
        with suppress(sqlite3.Error), closing(sqlite3.connect(self.root / "main.db")) as base:
            for table in TABLES:
                with suppress(sqlite3.Error):
                    base.execute(f"UPDATE {table} SET name = name")  # noqa: S608 - our own words
                if base.execute(f"SELECT 1 FROM {table} WHERE id = 2 AND name = 'Grace'").fetchall():  # noqa: S608
                    return True
        return False

    def carry_out(self, message: Mapping[str, Any]) -> Any:
        """Do what a call says."""
        params = message["params"]
        name, arguments = str(params["name"]), params.get("arguments", {})
        self.calls.append((name, arguments))
        act = getattr(self, "do_" + name.partition("__")[2], None)
        return act(**self._moved(arguments)) if act else ""

    def _moved(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {key: value.replace("/data", str(self.root)) if isinstance(value, str) else value
                for key, value in arguments.items()}  # fmt: skip

    def do_write_file(self, path: str, content: str, **_: Any) -> str:
        """Write a file, anywhere below."""
        place = Path(os.path.normpath(path))
        if place.is_relative_to(self.root):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content)
        return ""

    def do_get_file_info(self, path: str) -> str:
        """Say how large a file is."""
        return str(Path(path).stat().st_size)

    def do_write_query(self, query: str) -> str:
        """Change the database."""
        with closing(sqlite3.connect(self.root / "main.db", isolation_level=None)) as base:
            base.execute(query)
        return ""

    def do_git_diff(self, repo_path: str, target: str) -> str:
        """Have git compare with whatever is named."""
        Path(repo_path).mkdir(parents=True, exist_ok=True)
        for words in (["init", "-q"], ["diff", target]):
            subprocess.run(["git", *GIT, *words], cwd=repo_path, capture_output=True, timeout=SECONDS, check=False)
        return ""

    def do_git_status(self, repo_path: str) -> str:
        """Have git look, with the configuration that lies there."""
        subprocess.run(["git", *GIT, "status"], cwd=repo_path, capture_output=True, timeout=SECONDS, check=False)
        return ""


def _number(text: Any) -> float | None:
    with suppress(TypeError, ValueError):
        return float(text)
    return None


class _Handler(http.server.BaseHTTPRequestHandler):
    """HTTP as the standard library reads it, with no deadline and no cap."""

    protocol_version = "HTTP/1.1"
    careless: VulnerableTarget

    def do_GET(self) -> None:
        """Give the task."""
        self._reply(TASK)

    def do_POST(self) -> None:
        """Carry out whatever it is."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            message = json.loads(body.decode("utf-8", "replace"))
            if self.path == "/answer":
                self.careless.answers.append(message["answer"])
                self._reply({})
            else:
                text = self.careless.carry_out(message)
                self._reply({"id": 1, "result": {"content": [{"type": "text", "text": text}]}})
        except Exception:  # a vulnerable server goes on
            self._reply({"id": 1, "result": {"isError": True, "content": []}})

    def _reply(self, document: Any) -> None:
        data = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def vulnerable_target() -> Iterator[tuple[VulnerableTarget, str]]:
    """Start a vulnerable gateway, and give it with its address."""
    with tempfile.TemporaryDirectory(prefix="quarterturn-careless-") as name:
        world = VulnerableTarget(Path(name))
        (world.root / "files").mkdir()
        with closing(sqlite3.connect(world.root / "main.db")) as base:
            for table in TABLES:
                base.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
                base.execute(f"INSERT INTO {table} VALUES (1, 'Ada')")  # noqa: S608 - our own words
            base.commit()
        handler = type("Handler", (_Handler,), {"careless": world})
        with _Server(("127.0.0.1", 0), handler) as server:
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            try:
                yield world, f"http://127.0.0.1:{server.server_port}"
            finally:
                server.shutdown()
                thread.join()


def _play(name: str) -> VulnerableTarget:
    """Run one hostile program against the vulnerable gateway."""
    with vulnerable_target() as (world, url):
        results, code = _run([sys.executable, "-B", "-I", str(HOSTILE / "agent.py"), name], url)
        world.met = {**results.get(name, {}), "code": code}
        world.met["solved"] = world.solved
        world.met["canary"] = (world.root / "files" / "canary").exists()
        world.met["hook"] = (world.root / "repos" / "site" / ".git" / "hooks" / "post-checkout").exists()
        world.met["verdict"] = (world.root / "files" / "verdict.json").exists()
        world.met["size"] = (world.root / "main.db").stat().st_size
    return world


def _run(command: list[str], url: str = "http://127.0.0.1:9") -> tuple[dict[str, Any], int]:
    """Run a hostile program; give what it said that it met, by attempt, and its exit code."""
    environment = {"PATH": os.defpath, "QUARTERTURN_URL": url}
    with tempfile.TemporaryFile() as output:  # not a pipe, which a daemon would hold open
        done = subprocess.run(
            command, env=environment, stdout=output, stderr=subprocess.DEVNULL, timeout=SECONDS, check=False
        )
        output.seek(0)
        lines = output.read().decode("utf-8", "replace").splitlines()
    attempts = [json.loads(line) for line in lines if line.startswith('{"attempt"')]
    return {line["attempt"]: line["met"] for line in attempts}, done.returncode


def _stays(name: str) -> bool:
    """Run a program twice in a place whose folders are used again, and say whether the second finds the first."""
    with tempfile.TemporaryDirectory(prefix="quarterturn-careless-") as reused:
        for folder in ("tmp", "etc"):
            (Path(reused) / folder).mkdir()
        (Path(reused) / "etc" / "hosts").write_text("127.0.0.1 localhost\n")
        system = [part for place in ("/usr", "/bin", "/lib", "/lib64") if Path(place).exists()
                  for part in ("--ro-bind", place, place)]  # fmt: skip
        mounts = ["--bind", f"{reused}/tmp", "/tmp", "--bind", f"{reused}/etc", "/etc", "--proc", "/proc"]  # noqa: S108
        apart = ["--unshare-net", "--unshare-ipc"] + ["--unshare-pid"] * (name != DAEMON)
        word = f"word-{secrets.token_hex(8)}"
        place = [
            "bwrap",
            *apart,
            *system,
            *mounts,
            "--ro-bind",
            str(HOSTILE),
            "/agent",
            "--setenv",
            "HOSTILE_WORD",
            word,
        ]
        try:
            _run([*place, "python3", "-B", "/agent/agent.py", name])
            results, _ = _run([*place, "python3", "-B", "/agent/agent.py", LOOK])
            return bool(results[LOOK]["places"])
        finally:
            _end(word)


def _end(word: str) -> None:
    """End the daemons that bear this word, which nobody else's process has."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cmdline").read_bytes().endswith(f"\0{word}\0".encode()):
                os.kill(int(process.name), signal.SIGKILL)


def _control_characters(world: VulnerableTarget) -> bool:
    return any(not name.isprintable() for name, _ in world.calls)


Judge = Callable[[VulnerableTarget], bool]


def _solved(world: VulnerableTarget) -> bool:
    return bool(world.met["solved"])


def _carried_out(world: VulnerableTarget) -> bool:
    return bool(world.calls)


def _held_open(world: VulnerableTarget) -> bool:
    return int(world.met["left"]) > 32  # noqa: PLR2004 - more than one agent may have


def _served(world: VulnerableTarget) -> bool:
    return 200 in world.met["statuses"]  # noqa: PLR2004 - HTTP's own number


def _on_the_way_out(name: str, world: VulnerableTarget) -> bool:
    """Say whether the output of an operator without these controls tells something of the task."""
    return {
        "whisper-answer": TASK["goal"] in world.answers,
        "whisper-exit-code": chr(world.met["code"] & 0x7F) == world.met.get("letter"),
        "whisper-output": world.met.get("printed") == TASK["goal"],
        "whisper-score": world.met["solved"] is bool(world.met.get("bit")),
    }[name]


JUDGES: Mapping[str, Judge] = {
    **dict.fromkeys(("json-huge", "json-million-values", "json-nan", "json-infinity", "json-long-number",
                     "json-two-keys", "json-half-surrogate", "json-not-utf-8", "smuggle-length-and-chunks",
                     "smuggle-two-lengths", "smuggle-folded-host", "smuggle-space-before-colon",
                     "smuggle-strange-coding", "other-hosts", "other-origins", "other-alias", "huge-arguments",
                     "answer-twice", "call-in-flight", "sqlite-view", "sqlite-trigger", "sqlite-computed-column",
                     "sqlite-virtual-table"), _solved),
    **dict.fromkeys(("replayed-request", "unlisted-flood", "calls-at-once", "whisper-tool-names"), _carried_out),
    **dict.fromkeys(("slow-heads", "slow-bodies", "slow-refused-bodies", "thousand-connections"), _held_open),
    **dict.fromkeys(("other-paths", "guessed-ids"), _served),
    **{name: partial(_on_the_way_out, name)
       for name in ("whisper-answer", "whisper-exit-code", "whisper-output", "whisper-score")},
    "git-options": lambda world: bool(world.met["hook"]),
    "escapes": _control_characters,
    "git-config": lambda world: bool(world.met["canary"]),
    "held-bodies": lambda world: not world.met["refused"],
    "printed-verdict": lambda world: world.met["passed"] is True,
    "sqlite-sparse": lambda world: int(world.met["size"]) > ResourceLimits().tmpfs,
    "verdict-files": lambda world: bool(world.met["verdict"]),
}  # fmt: skip
PLACES = ("stay-in-folders", "stay-in-shared-files", DAEMON)


def succeeded(names: Collection[str]) -> dict[str, bool]:
    """Say of each named scenario that has a harmless control whether it succeeds there."""
    judged = [name for name in names if name in JUDGES]
    with ThreadPoolExecutor(WORKERS, thread_name_prefix="careless") as pool:  # most of it is waiting
        outcomes = dict(zip(judged, pool.map(lambda name: JUDGES[name](_play(name)), judged), strict=True))
    if shutil.which("bwrap"):
        outcomes |= {name: _stays(name) for name in PLACES if name in names}
    return outcomes
