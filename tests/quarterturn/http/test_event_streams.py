"""Tests of watching submissions: one query for all watchers, each change reported once, a limited number at a time."""

from __future__ import annotations

import asyncio
import threading
from contextlib import ExitStack

import pytest

from quarterturn.http.responses import event_streams as module
from quarterturn.http.responses.event_streams import Watchers

from ...patience import PATIENCE, until


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(module, "EVERY", 0.01)


class Rows:
    """The watched rows, and the queries that were made of them."""

    def __init__(self):
        self.state, self.asked, self.broken = "queued", [], False

    def __call__(self, names):
        self.asked.append(set(names))
        if self.broken:
            raise RuntimeError("the database is away")
        return {name: (self.state, f"{name} {self.state}".encode()) for name in names}


def found(condition):
    """Wait for what the watchers' thread does, and let the event loop see it."""
    return asyncio.to_thread(until, condition, "a look")


def hear(queue):
    return asyncio.wait_for(queue.get(), PATIENCE)


def test_all_watchers_learn_of_a_change_by_one_query():
    async def story():
        rows, others = Rows(), set(threading.enumerate())
        watchers = Watchers(rows)
        with ExitStack() as stack:
            names = ["a", "a", "b"]
            heard = [
                stack.enter_context(watchers.watching(name, token, ("queued", f"{name} queued".encode())))
                for token, name in enumerate(names)
            ]
            await found(lambda: {"a", "b"} in rows.asked)
            assert [queue.empty() for queue in heard] == [True] * 3, "nothing has changed"
            rows.state = "done"
            assert [await hear(queue) for queue in heard] == [("done", f"{name} done".encode()) for name in names]
            assert sum(thread.name == "watchers" for thread in set(threading.enumerate()) - others) == 1
            looks = len(rows.asked)
            await found(lambda: len(rows.asked) > looks + 1)
            assert [queue.empty() for queue in heard] == [True] * 3, "and is said once"

    asyncio.run(story())


def test_without_watchers_nothing_is_queried():
    async def story():
        rows, others = Rows(), set(threading.enumerate())
        watchers = Watchers(rows)
        for _ in range(2):  # who comes after that gets the event again
            rows.state = "queued"
            with watchers.watching("a", 1, ("queued", b"a queued")) as heard:
                rows.state = "done"
                assert (await hear(heard))[0] == "done"
        await found(lambda: "watchers" not in {thread.name for thread in set(threading.enumerate()) - others})

    asyncio.run(story())


def test_a_failed_query_is_retried(caplog):
    async def story():
        rows = Rows()
        rows.broken = True
        with Watchers(rows).watching("a", 1, ("queued", b"")) as heard:
            await found(lambda: len(rows.asked) >= 2)
            rows.broken = False
            assert (await hear(heard))[0] == "queued"

    asyncio.run(story())
    assert "RuntimeError while looking" in caplog.text
    assert "database" not in caplog.text


def test_a_token_watches_a_few_at_a_time(site, problem, monkeypatch):
    ada = site.account("ada")
    name = site.post("/submissions", {"image": "a:1"}, ada).json()["id"]
    watchers = site.client.app.state.watchers
    token = next(one.id for one in site.house.accounts.list() if one.account == ada)

    async def crowd():
        with ExitStack() as stack:
            for _ in range(module.MOST):
                assert not watchers.crowded(token)
                stack.enter_context(watchers.watching(name, token, ("queued", b"")))
            assert watchers.crowded(token)
            assert not watchers.crowded(token + 1)
            return await asyncio.to_thread(site.get, f"/submissions/{name}/events", ada)

    said = asyncio.run(crowd())
    assert (problem(said), said.headers["retry-after"]) == ("rate", "15")
