"""Tests of log files: one line per event, and no word of a task in it, whatever path it takes."""

import asyncio
import io
import json
import logging
import re
import threading
import warnings
from datetime import timedelta

import pytest

from quarterturn import logs
from quarterturn.app import Application
from quarterturn.redactor import DROPPED, KEYS, Redactor
from quarterturn.runs.jobs import WorkerThreads
from quarterturn.submissions.store.requests import SubmissionRequest
from vault.task.document import Task

from ..patience import PATIENCE, until


@pytest.fixture
def written(tmp_path):
    """Log to a file as a service does, and read it back by lines."""
    root, hook, level = logging.getLogger(), threading.excepthook, logging.getLogger("quarterturn").level
    handlers, root_level, loud = list(root.handlers), root.level, logging.raiseExceptions
    file = (tmp_path / "log").open("w+", encoding="utf-8")
    logs.configure(file)

    def lines() -> list[dict[str, object]]:
        file.flush()
        return [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]

    yield lines
    root.handlers[:], threading.excepthook, logging.raiseExceptions = handlers, hook, loud
    root.setLevel(root_level)
    logging.getLogger("quarterturn").setLevel(level)
    logging.captureWarnings(capture=False)
    file.close()


@pytest.fixture
def task(live, opened):
    """Open a live task of a home, as a worker does."""
    vault = opened(live).home.vault
    return vault.open(vault.records("live")[0].id, who="runner", why="a test").task


def none_of(task: Task, lines: list[dict[str, object]]) -> None:
    said = json.dumps(lines, ensure_ascii=False).casefold()
    assert task.goal.casefold() not in said
    for first, second, third in zip(*(re.findall(r"\w+", task.goal.casefold())[n:] for n in range(3)), strict=False):
        assert not re.search(rf"{first}\W+{second}\W+{third}", said)


def test_a_line_is_an_object_with_its_time_its_level_and_who_said_it(written):
    logging.getLogger("quarterturn.wall_clock").info("step %s is done", "retire")
    logging.getLogger("library").info("nobody wants to know")
    logging.getLogger("library").warning("look", extra={"count": 3, "ratio": 0.5, "none": None, "names": ["a", b"b"]})
    first, second = written()
    shown = {name: first[name] for name in ("event", "level", "logger")}
    assert shown == {"event": "step retire is done", "level": "info", "logger": "quarterturn.wall_clock"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", str(first["timestamp"]))
    assert (second["count"], second["ratio"], second["none"], second["names"]) == (3, 0.5, None, ["a", "b"])


def test_people_on_a_terminal_get_lines_to_read(written):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    logs.configure(terminal)
    logging.getLogger("quarterturn.wall_clock").info("the turn of 2026-12 begins")
    assert "the turn of 2026-12 begins" in terminal.getvalue()
    assert not terminal.getvalue().startswith("{")


def test_no_error_of_a_worker_writes_a_word_of_its_tasks(written, live, monkeypatch):
    """A real private run fails in many ways, and every error quotes the opened tasks."""
    house, opened, tried = Application(live, None), [], threading.Event()
    monkeypatch.setattr("quarterturn.submissions.store.queue.LEASE", timedelta(hours=1))  # the job is met once
    house.auth.accounts.create("ada", "submitter")
    house.submissions.store.take("ada", SubmissionRequest("private", image="ada/agent:1"), month="2026-12")

    def work(_claim, _stopping) -> None:
        tasks = [
            house.home.vault.open(record.id, who="runner", why="run 1").task
            for record in house.home.vault.records("live")
        ]
        opened.extend(house.home.vault.served(task, "ada", "2026-12") for task in tasks)
        try:
            for task in opened:
                logging.getLogger("library").error("cannot do %r", task.goal)
                logging.getLogger("library").error("cannot do", extra={"note": [{"inner": task.goal.upper()}]})
                logging.getLogger("library").warning(f"{json.dumps(dict(task.document))}")
            {}[opened[0].goal]
        except KeyError as error:
            logging.getLogger("library").exception("this broke: %s", error)  # noqa: TRY401 - as libraries do
            tried.set()
            raise

    executor = WorkerThreads(house.submissions.queue, work, 1)
    executor.start()
    assert tried.wait(PATIENCE)
    until(lambda: any(line["logger"] == "quarterturn.worker" for line in written()), "a worker's line")
    executor.stop()
    house.close()
    lines = written()
    assert len(opened) == 24
    for task in opened:
        none_of(task, lines)
    assert [line["event"] for line in lines].count(DROPPED) == 49
    assert any(str(line.get("error", "")).startswith("KeyError in work (test_logs.py:") for line in lines)
    assert any(str(line["event"]).startswith("KeyError in work") for line in lines)


def test_neither_a_thread_nor_a_forgotten_future_nor_a_warning_nor_a_broken_record_shows_it(written, task, capfd):
    def end() -> None:
        raise RuntimeError(task.goal)

    thread = threading.Thread(target=end)
    thread.start()
    thread.join()

    async def forget() -> None:
        asyncio.get_running_loop().create_task(asyncio.sleep(0))
        asyncio.get_running_loop().call_exception_handler(
            {"message": "forgotten", "exception": RuntimeError(task.goal), "future": task.goal}
        )

    asyncio.run(forget())
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn(task.goal, stacklevel=1)
    logging.getLogger("library").error("%d", task.goal)
    lines = written()
    assert any("a thread ended: RuntimeError in end" in str(line["event"]) for line in lines)
    none_of(task, lines)
    assert task.goal not in "".join(capfd.readouterr())


def test_any_value_under_a_tasks_keys_is_dropped():
    for key in KEYS:
        event = Redactor()(None, "error", {"event": "look", key: "unknown words", "deep": {"down": [{key: 1}]}})
        assert event == {"event": "look", key: DROPPED, "deep": {"down": [{key: DROPPED}]}}


def test_words_that_are_no_tasks_pass(task):
    redactor = Redactor()
    redactor.learn(task)
    said = {"event": "the turn of 2026-12 is done", "count": 3, "path": "/srv/home", "error_kind": ValueError("x")}
    assert redactor(None, "info", dict(said)) == said | {"error_kind": "ValueError"}


def test_the_catalogue_of_spellings_that_are_caught(task):
    redactor = Redactor()
    redactor.learn(task)
    goal = task.goal
    spellings = [goal, goal.upper(), repr(goal), json.dumps(goal), goal.replace(" ", "\n\t"), goal.encode(), goal[:-4]]
    for spelling in spellings:
        assert redactor(None, "info", {"event": spelling})["event"] == DROPPED, spelling
