"""Plays the examples whose servers need Debian packages, in both boxes: a tool of Debian's, and a browser on a site."""

import json
import shutil
from pathlib import Path

import pytest

from sandbox.servers.registry import SERVERS

from .test_docs import ROOT, play, workspace

__all__ = ["workspace"]
pytestmark = [
    pytest.mark.box,
    pytest.mark.engine,
    pytest.mark.needs("apt-get"),
    pytest.mark.slow,
    pytest.mark.exhaustive,
]

EXAMPLES = ROOT / "examples" / "servers"
ORDER = "http://127.0.0.1:8041/orders/A-1"  # of the manifest's start_with
BOOK = {"file": "books.rec", "fields": {"Title": "Emma", "Pages": "474"}}
TASKS = {
    "records": (
        [{"tool": "records.insert", "arguments": BOOK}],
        {"records.fileContains": {"path": "books.rec", "text": "Title: Emma\nPages: 474\n"}},
        "Emma",
    ),
    "browser": (
        [
            {"tool": "browser.browser_navigate", "arguments": {"url": ORDER}},
            {"tool": "browser.browser_snapshot", "arguments": {}},
        ],
        {"browser.rowCount": {"table": "orders", "count": 1}},
        "Item: teapot",
    ),
}


def draft(server: str) -> str:
    """Write a draft whose solution calls the server's tools."""
    calls, predicate, _ = TASKS[server]
    tools = sorted({call["tool"] for call in calls})
    task = {
        "schema": "quarterturn/task/v1",
        "spec": "1.0.0",
        "id": "t-aaaaaaaaaaaaaaaa",
        "server": server,
        "category": "single-tool",
        "difficulty": "easy",
        "max_steps": 6,
        "goal": "Use the server.",
        "initial_state": {},
        "available_tools": [*tools, *(f"filesystem.{name}" for name in SERVERS["filesystem"].tools)][:14],
        "success_predicate": predicate,
    }
    solutions = [{"name": "direct", "calls": calls, "answer": None}]
    return json.dumps(
        {"task": task, "provenance": {"template": "x", "skeleton": "x/1", "solutions": solutions, "mutants": []}}
    )


def test_servers_with_debian_packages_answer_in_both_boxes(workspace: Path, capfd: pytest.CaptureFixture[str]) -> None:
    play("quarterturn init --home home", capfd)
    for server, (_, _, text) in TASKS.items():
        shutil.copytree(EXAMPLES / server, workspace / server)
        play(f"quarterturn server add {server} --box bwrap --home home", capfd)
        (workspace / f"{server}.jsonl").write_text(draft(server) + "\n")
        assert text in play(f"quarterturn task try {server}.jsonl --box bwrap --home home", capfd)
    play("quarterturn server image --home home", capfd)
    for server, (_, _, text) in TASKS.items():
        assert text in play(f"quarterturn task try {server}.jsonl --box docker --home home", capfd)
