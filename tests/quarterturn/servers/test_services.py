"""Tests of helper programs beside a server: the example with an HTTP API is added and played, and each may fail."""

import json
import re
import shutil
from pathlib import Path

import pytest

from sandbox.servers.registry import SERVERS

from ..conftest import EASY, written

SHOP = Path(__file__).parents[3] / "examples" / "servers" / "shop"
FILES = [f"filesystem.{name}" for name in SERVERS["filesystem"].tools]
SITE = """\
  site:
    package: "pypi:./site"
    version: "1.0"
    command: ["{python}", -I, -m, http.server, "8041", --bind, 127.0.0.1, --directory, "{package}"]
    port: 8041
    ready: /prices.txt
"""


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    shutil.copytree(SHOP, tmp_path / "shop", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "shop"


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr("sandbox.servers.manifest.SERVICE_SECONDS", 2.0)


def change(source, before, after):
    text = (source / "server.yaml").read_text()
    assert before in text
    (source / "server.yaml").write_text(text.replace(before, after))


def add(say, source, home):
    return say("server", "add", source, "--box", "bwrap", "--home", home)


def draft(calls, predicate, **changes):
    task = written(EASY, 1) | {
        "server": "shop",
        "goal": "Order tea for Ann.",
        "initial_state": {"shop": {"document": {"orders": [{"number": 1, "customer": "Bob", "item": "milk"}]}}},
        "available_tools": ["shop.list_orders", "shop.add_order", *FILES[:12]],
        "success_predicate": predicate,
    }
    solutions = [{"name": "direct", "calls": calls, "answer": None}]
    return {
        "task": task | changes,
        "provenance": {"template": "x", "skeleton": "x/1", "solutions": solutions, "mutants": []},
    }


@pytest.mark.box
def test_the_example_is_added_and_what_its_api_keeps_is_the_frozen_state(say, home, source, tmp_path):
    (source / "site").mkdir()
    (source / "site" / "prices.txt").write_text("tea 3\n")
    change(source, 'command: ["{python}", -I, "{package}/mcp', SITE + 'command: ["{python}", -I, "{package}/mcp')
    added = add(say, source, home)
    assert added.code == 0, added.err
    assert "It answered list_orders with: []" in added.out
    assert (home / "servers/shop/services/site/python/package/prices.txt").is_file()
    calls = [{"tool": "shop.add_order", "arguments": {"customer": "Ann", "item": "tea"}}]
    wanted = [{"number": 1, "customer": "Bob", "item": "milk"}, {"number": 2, "customer": "Ann", "item": "tea"}]
    file = tmp_path / "draft.jsonl"
    file.write_text(json.dumps(draft(calls, {"shop.itemsEqual": {"pointer": "/orders", "items": wanted}})) + "\n")
    tried = say("task", "try", file, "--box", "bwrap", "--home", home)
    assert tried.code == 0, tried.out + tried.err
    unseeded = draft([calls[0]], {"shop.itemCount": {"pointer": "/orders", "count": 1}}, initial_state={})
    file.write_text(json.dumps(unseeded) + "\n")
    assert say("task", "try", file, "--box", "bwrap", "--home", home).code == 0, "it begins as the manifest says"


@pytest.mark.box
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "case",
    [
        (
            "start_with: {document: {orders: []}}",
            "",
            r"there is no orders\.json / the service api ended with code 1 before",
        ),
        (
            '"{state}/orders.json", "8040"]',
            '"{state}/orders.json", "8042"]',
            r"did not answer on 127\.0\.0\.1:8040/orders",
        ),
        ("orders_api.py", "missing.py", "can't open file .* / the service api ended with code 2 before it was ready"),
        (
            '["{python}", -I, "{package}/orders_api',
            '["/opt/nothing", "',
            "the service api cannot be started .No such file",
        ),
        ("ready: /orders", "ready: /nowhere", "did not answer on 127.0.0.1:8040/nowhere"),
    ],
)
def test_a_service_that_does_not_come_up_is_named_with_its_last_words(say, home, source, case):
    before, after, says = case
    change(source, before, after)
    added = add(say, source, home)
    assert added.code == 6
    assert re.search(says, added.err), added.err


@pytest.mark.parametrize(
    "case",
    [
        ("port: 8040", "port: 6379", r"\$\.services\.api\.port: a state kind has the port 6379"),
        ("port: 8040", "port: 80", r"\$\.services\.api\.port"),
        ("  api:", "  python:", r"\$\.services\.python: \{python\} is a place already"),
        ("{api}", "{apu}", r"\$\.environment\.SHOP_API names \{apu\}"),
        ("first_call:", "stateless: true\nfirst_call:", r"\$\.services: a stateless server"),
        (
            "    port: 8040",
            '    port: 8040\n    package: "pypi:./missing"\n    version: "1.0"',
            r"there is no .*missing",
        ),
        ("    port: 8040", '    port: 8040\n    package: "pypi:./server"', r"\$\.services\.api.*version"),
    ],
)
def test_a_service_that_cannot_be_is_refused_before_anything_is_installed(say, home, source, case):
    before, after, says = case
    change(source, before, after)
    added = add(say, source, home)
    assert added.code in {2, 3, 8}, added.err
    assert re.search(says, added.err), added.err
