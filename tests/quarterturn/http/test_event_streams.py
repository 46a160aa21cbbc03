"""Tests of watching submissions: one query for all watchers, each change reported once, a limited number at a time."""

import asyncio
import threading
from contextlib import ExitStack

import pytest

from quarterturn.http.responses import event_streams as module
from quarterturn.http.responses.event_streams import Crowded, Look, Watchers

from ...patience import PATIENCE, until


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(module, "EVERY", 0.01)


class Rows:
    """The watched rows, and the queries that were made of them."""

    def __init__(self, private=""):
        self.state, self.place, self.private, self.asked, self.broken = "queued", 0, private, [], False

    def __call__(self, names):
        self.asked.append(set(names))
        if self.broken:
            raise RuntimeError("the database is away")
        return {name: look(name, self.state, self.place, private=name == self.private) for name in names}


def found(condition):
    """Wait for what the watchers' thread does, and let the event loop see it."""
    return asyncio.to_thread(until, condition, "a look")


def hear(queue):
    return asyncio.wait_for(queue.get(), PATIENCE)


def look(name, state="queued", place=0, *, private=False):
    return Look(state, f"{name} {state} {place}".encode(), private)


def test_all_watchers_learn_of_a_change_by_one_query():
    async def story():
        rows, others = Rows(), set(threading.enumerate())
        watchers = Watchers(rows)
        with ExitStack() as stack:
            names = ["a", "a", "b"]
            watched = [watchers.watching(name, f"account-{place}", look(name)) for place, name in enumerate(names)]
            heard = [stack.enter_context(one) for one in watched]
            await found(lambda: {"a", "b"} in rows.asked)
            assert [queue.empty() for queue in heard] == [True] * 3, "nothing has changed"
            rows.state = "done"
            assert [await hear(queue) for queue in heard] == [look(name, "done") for name in names]
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
            with watchers.watching("a", "ada", look("a")) as heard:
                rows.state = "done"
                assert (await hear(heard)).state == "done"
        await found(lambda: "watchers" not in {thread.name for thread in set(threading.enumerate()) - others})

    asyncio.run(story())


def test_a_failed_query_is_retried(caplog):
    async def story():
        rows = Rows()
        rows.broken = True
        with Watchers(rows).watching("a", "ada", Look("queued", b"")) as heard:
            await found(lambda: len(rows.asked) >= 2)
            rows.broken = False
            assert (await hear(heard)).state == "queued"

    asyncio.run(story())
    assert "RuntimeError while looking" in caplog.text
    assert "database" not in caplog.text


def test_of_a_private_run_states_alone_are_told():
    async def story():
        rows = Rows(private="sealed")
        watchers = Watchers(rows)
        with (
            watchers.watching("sealed", "ada", look("sealed", private=True)) as heard,
            watchers.watching("open", "ada", look("open")) as beside,
        ):
            rows.place = 3
            assert (await hear(beside)).data == b"open queued 3"
            looks = len(rows.asked)
            await found(lambda: len(rows.asked) > looks + 2)
            assert heard.empty(), "its place is not told"
            rows.state = "running"
            assert await hear(heard) == look("sealed", "running", 3, private=True)

    asyncio.run(story())


def test_an_account_watches_a_few_at_a_time(site, problem):
    ada = site.account("ada")
    site.tokens["second"] = site.house.auth.accounts.create(ada, "submitter")[0]
    name = site.post("/submissions", {"image": "a:1"}, ada).json()["id"]
    watchers = site.client.app.state.watchers

    async def crowd():
        with ExitStack() as stack:
            for _ in range(module.MAX_STREAMS_PER_ACCOUNT):
                stack.enter_context(watchers.watching(name, ada, look(name)))
            with pytest.raises(Crowded), watchers.watching(name, ada, look(name)):
                pass
            stack.enter_context(watchers.watching(name, "bob", look(name)))
            addresses = [f"/submissions/{name}/events", f"/submission/{name}/events"]
            asked = [(address, token) for address in addresses for token in (ada, "second")]
            return [await asyncio.to_thread(site.get, *one) for one in asked]

    for said in asyncio.run(crowd()):
        assert (problem(said), said.headers["retry-after"]) == ("rate", "15")
