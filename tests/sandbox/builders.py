"""Builders that the sandbox's tests share: tasks, solutions, small agents, and the box in memory with its tools."""

from __future__ import annotations

import http.client
import io
import runpy
import socket
import sqlite3
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sandbox.boxes.box import SOCKET_NAME
from sandbox.results.outcome import TaskRun
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs import run as runs
from sandbox.runs import submission
from sandbox.runs.journal import RunJournal
from sandbox.runs.run import PlannedTask, RunSetup, Solution, run_task
from sandbox.servers.registry import SERVERS
from sandbox.servers.server import Server
from sandbox.transcript import ToolCall
from vault.task.document import Task
from vault.task.variant import Free
from verifiers.tree import DIRECTORY, FileTree, Node

from .memory_box import MemoryAgent, MemoryBox, MemoryWorld, Story, Tool, ToolError

AGENTS = Path(__file__).parents[2] / "examples" / "agents"
ORACLE = runpy.run_path(str(AGENTS / "oracle" / "agent.py"), run_name="oracle")
GOAL = (
    "Write the word heliotrope into colour.txt in /data/files, and answer with the number of files there were before."
)


# ---- tasks and their solutions ----


def tools(server: str, count: int) -> list[str]:
    """Return the names of some of a server's tools."""
    return [f"{server}.{tool}" for tool in sorted(SERVERS[server].tools, reverse=True)][:count]


def a_task(server: str = "filesystem", *, number: int = 2, **changes: Any) -> Task:
    """Make a task: write one file, and answer a number."""
    document = {
        "schema": "quarterturn/task/v1",
        "spec": "1.0.0",
        "id": f"t-aaaaaaaaaaaaaaa{number}",
        "server": server,
        "category": "composition",
        "difficulty": "easy",
        "max_steps": 4,
        "goal": GOAL,
        "initial_state": {"filesystem": {"files": {"one.txt": "1", "two.txt": "2"}}},
        "available_tools": tools("filesystem", 12),
        "success_predicate": {
            "all": [
                {"filesystem.fileTextEquals": {"path": "colour.txt", "text": "heliotrope"}},
                {"answer.number": {"value": 2}},
            ]
        },
    }
    return Task.parse(document | changes)


WRITE = ToolCall("filesystem.write_file", {"path": "/data/files/colour.txt", "content": "heliotrope"})
SOLVED = Solution([ToolCall("filesystem.list_directory", {"path": "/data/files"}), WRITE], "2")


def a_written_task(number: int = 2) -> Task:
    """Make a task that is solved by writing the file."""
    wanted = {"filesystem.fileTextEquals": {"path": "colour.txt", "text": "heliotrope"}}
    return a_task(number=number, success_predicate=wanted)


def a_folder_task(**changes: Any) -> Task:
    """Make a task that the shipped rule-based agent can solve."""
    goal = "Please create the folder /data/files/kept/2012. Nothing else may change."
    predicate = {"filesystem.directoryExists": {"path": "kept/2012"}}
    return a_task(goal=goal, available_tools=tools("filesystem", 14), success_predicate=predicate, **changes)


def a_git_task() -> tuple[Task, Solution]:
    """Make a task in which a branch has to be made."""
    commits = [{"branch": "main", "message": "Begin", "files": {"a.txt": "one\n"}}]
    task = a_task(
        "git",
        goal="In the repository site, make a branch called spare from main.",
        initial_state={"git": {"repositories": {"site": {"commits": commits, "checkout": "main"}}}},
        available_tools=tools("git", 12),
        success_predicate={"git.branchAt": {"repository": "site", "branch": "spare", "same_as": "main"}},
    )
    arguments = {"repo_path": "/data/repos/site", "branch_name": "spare", "base_branch": "main"}
    return task, Solution([ToolCall("git.git_create_branch", arguments)])


def an_sqlite_task(number: int = 2) -> tuple[Task, Solution]:
    """Make a task in which a row has to be added."""
    table = {"columns": [["id", "INTEGER PRIMARY KEY"], ["name", "TEXT NOT NULL"]], "rows": [[1, "Ada"]]}
    task = a_task(
        "sqlite",
        number=number,
        goal="Add Grace to the people, with the id 2.",
        initial_state={"sqlite": {"tables": {"people": table}}},
        available_tools=tools("sqlite", 6) + tools("filesystem", 8),
        success_predicate={"sqlite.rowExists": {"table": "people", "where": {"id": 2, "name": "Grace"}}},
    )
    query = "INSERT INTO people (id, name) VALUES (2, 'Grace')"
    return task, Solution([ToolCall("sqlite.write_query", {"query": query})])


def a_server(name: str = "cat", *command: str, root: str = "files", **fields: Any) -> Server:
    """Make a server without tools; it repeats what it hears, or runs another command."""
    nothing = {"package": "none", "version": "1", "environment": {}, "tools": {}, "state_schema": {}, "mutations": {}}
    nothing |= {"command": command or ("/bin/cat",), "seed": lambda state: FileTree({})}
    return Server(name=name, root=root, **nothing | fields)


# ---- agents that are programs ----


def oracle() -> submission.Submission:
    """Return the shipped reference agent."""
    return submission.reference(f"python3 {AGENTS / 'oracle' / 'agent.py'}")


def null() -> submission.Submission:
    """Return the shipped agent that does nothing."""
    return submission.command(f"python3 {AGENTS / 'null' / 'agent.py'}", submitter="ada")


def an_agent(folder: Path, story: str) -> submission.Submission:
    """Make an agent of a few lines; it has the oracle's MCP client as `gateway`, and no solution."""
    client, _, _ = (AGENTS / "oracle" / "agent.py").read_text().partition("def main()")
    folder.mkdir(exist_ok=True)
    (folder / "agent.py").write_text(client + BEGIN + story)
    return submission.command(f"python3 {folder / 'agent.py'}", submitter="ada", name="ada")


BEGIN = """
import time

gateway = Gateway(os.environ["QUARTERTURN_URL"])
gateway.initialize()


def call(name, **arguments):
    return gateway.request("tools/call", {"name": name, "arguments": arguments})


"""
RIGHT = """
call("filesystem__list_directory", path="/data/files")
call("filesystem__write_file", path="/data/files/colour.txt", content="heliotrope")
gateway.send("POST", "/answer", {"answer": "2"})
"""


def run(task: Task, agent: submission.Submission, box: Any, **more: Any) -> TaskRun:
    """Run one task."""
    return run_task(task, agent, box, alias="r-1", **more)


def run_set(
    tasks: Iterable[Task],
    agent: submission.Submission,
    box: Any,
    *,
    solutions: Mapping[str, Solution] | None = None,
    free: Mapping[str, Free] | None = None,
    left: Mapping[str, UnjudgedResult] | None = None,
    **more: Any,
) -> list[TaskRun]:
    """Run a set; what is named as a method of the journal is one, and the rest is of the setup."""
    solutions, free, left = solutions or {}, free or {}, left or {}
    journal = RunJournal()
    for name in [name for name in more if hasattr(journal, name)]:
        setattr(journal, name, more.pop(name))
    planned = [PlannedTask(t, free.get(t.id, {}), solutions.get(t.id), left.get(t.id)) for t in tasks]
    return runs.run_set(planned, agent, RunSetup.in_box(box, **more), journal)


# ---- agents that are functions, and the tools of their worlds ----


class Hands(ORACLE["Gateway"]):  # type: ignore[misc]
    """The oracle's MCP client, driven by a function (`tests.sandbox.memory_box.MemoryAgent`)."""

    def __init__(self, agent: MemoryAgent) -> None:
        super().__init__("http://127.0.0.1:8700")
        self.agent = agent
        self.http = _Connection(agent)

    def call(self, name: str, **arguments: Any) -> Any:
        """Call a tool after the handshake; give its result."""
        if not self.number:
            self.initialize()
        return self.request("tools/call", {"name": name, "arguments": arguments})[1]

    def answer(self, text: str) -> None:
        """Send the answer."""
        self.send("POST", "/answer", {"answer": text})

    def solve(self) -> None:
        """Solve `a_task`."""
        self.list()
        self.write()
        self.answer("2")

    def list(self) -> Any:
        """List the files."""
        return self.call("filesystem__list_directory", path="/data/files")

    def write(self, word: str = "heliotrope") -> Any:
        """Write the word into its file."""
        return self.call("filesystem__write_file", path="/data/files/colour.txt", content=word)

    def look(self) -> Any:
        """Query the database."""
        return self.call("sqlite__read_query", query="SELECT 1")

    def add(self) -> Any:
        """Solve `an_sqlite_task`."""
        return self.call("sqlite__write_query", query="INSERT INTO people (id, name) VALUES (2, 'Grace')")


class _Connection(http.client.HTTPConnection):
    """HTTP over the gateway's own socket."""

    def __init__(self, agent: MemoryAgent) -> None:
        super().__init__("127.0.0.1:8700")
        self._agent = agent

    def connect(self) -> None:
        self.sock: socket.socket = self._agent.connect()


def _inside(path: str) -> str:
    return path.removeprefix("/data/")


def _write(world: MemoryWorld, path: str, content: str) -> str:
    world.nodes[_inside(path)] = Node("file", content.encode())
    return f"Successfully wrote to {path}"


def _list(world: MemoryWorld, path: str) -> str:
    names = [name for name in world.nodes if name.rpartition("/")[0] == _inside(path)]
    return "\n".join(f"[FILE] {name.rpartition('/')[2]}" for name in names)


def _make_folder(world: MemoryWorld, path: str) -> str:
    parts = _inside(path).split("/")
    world.nodes.update({"/".join(parts[:count]): DIRECTORY for count in range(1, len(parts) + 1)})
    return f"Successfully created directory {path}"


def _query(world: MemoryWorld, query: str) -> str:
    file = "sqlite/main.db"
    with closing(sqlite3.connect(":memory:")) as base:
        base.deserialize(world.nodes[file].data)
        try:
            rows = base.execute(query).fetchall()
        except sqlite3.Error as error:
            raise ToolError(str(error)) from error
        base.commit()
        world.nodes[file] = Node("file", base.serialize())
    return str(rows)


TOOLS: dict[str, Tool] = {
    "filesystem.write_file": _write,
    "filesystem.list_directory": _list,
    "filesystem.create_directory": _make_folder,
    "filesystem.list_allowed_directories": lambda _: "/data/files",
    "sqlite.read_query": _query,
    "sqlite.write_query": _query,
}


def _oracle(agent: MemoryAgent) -> None:
    hands = Hands(agent)
    solution = hands.get("/solution")
    for step in solution["calls"]:
        hands.call(step["tool"], **step["arguments"])
    if solution.get("answer") is not None:
        hands.answer(solution["answer"])


def in_memory(story: Story | None = None, **more: Tool) -> tuple[MemoryBox, submission.Submission]:
    """Make a box in memory and an agent that a function drives; without one it is the reference agent.

    `more` are tools to put in the place of the usual ones, with `__` for the dot.
    """
    named = {name.replace("__", ".", 1): tool for name, tool in more.items()}
    if story is None:
        return MemoryBox(TOOLS | named, {"oracle": _oracle}), submission.reference("oracle")
    return MemoryBox(TOOLS | named, {"ada": story}), submission.command("ada", submitter="ada", name="ada")


# ---- a gateway's socket ----


@contextmanager
def listening(folder: Path) -> Iterator[Path]:
    """Listen in a gateway's place, and answer nothing."""
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / SOCKET_NAME))
        listener.listen()
        yield folder


# ---- states on a disk ----


def unpack(tar: bytes, folder: Path) -> None:
    """Write what a tar of our own holds into a folder; Debian's Python 3.11.2 has no filter to be named in the call."""
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
