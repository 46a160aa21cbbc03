"""The public task that drills are played on: done as soon as any one of its goals is reached, and no drill reaches one.

It has three servers, and a goal for each of them and for the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sandbox.servers import SERVERS
from vault.task import Task

STEPS = 40
GOAL = "Public drill: write heliotrope into colour.txt, or Grace into people, or answer how long that word is."
ANSWER = 10
TOOLS: Mapping[str, Sequence[str]] = {
    "filesystem": (
        "create_directory",
        "get_file_info",
        "list_allowed_directories",
        "list_directory",
        "move_file",
        "read_text_file",
        "write_file",
    ),
    "git": ("git_add", "git_branch", "git_checkout", "git_commit", "git_create_branch", "git_diff", "git_status"),
    "sqlite": ("create_table", "list_tables", "read_query", "write_query"),
}
for _server, _names in TOOLS.items():
    assert set(_names) <= SERVERS[_server].tools.keys()  # noqa: S101 - a server that changed shows at the import


def drill_task(goal: str = GOAL) -> Task:
    """Give the public task that drills are played on: true as soon as one of its goals is reached."""
    tools = [f"{server}.{tool}" for server, names in TOOLS.items() for tool in names]
    people = {"columns": [["id", "INTEGER PRIMARY KEY"], ["name", "TEXT NOT NULL"]], "rows": [[1, "Ada"]]}
    commits = [{"branch": "main", "message": "Begin", "files": {"a.txt": "one\n"}}]
    return Task.parse(
        {
            "schema": "quarterturn/task/v1",
            "spec": "1.0.0",
            "id": "t-aaaaaaaaaaaaaaaa",
            "server": "filesystem",
            "category": "composition",
            "difficulty": "easy",
            "max_steps": STEPS,
            "goal": goal,
            "initial_state": {
                "filesystem": {"files": {"one.txt": "1"}},
                "git": {"repositories": {"site": {"commits": commits, "checkout": "main"}}},
                "sqlite": {"tables": {"people": people}},
            },
            "available_tools": tools,
            "success_predicate": {
                "any": [
                    {"filesystem.fileTextEquals": {"path": "colour.txt", "text": "heliotrope"}},
                    {"sqlite.rowExists": {"table": "people", "where": {"id": 2, "name": "Grace"}}},
                    {"git.headMessage": {"repository": "site", "branch": "main", "contains": "heliotrope"}},
                    {"answer.number": {"value": ANSWER}},
                ]
            },
        }
    )
