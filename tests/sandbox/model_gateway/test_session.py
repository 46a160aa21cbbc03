"""Tests of one task's model requests: counted, logged, judged and cut off."""

from __future__ import annotations

import json
import threading
from contextlib import suppress

import httpx2
import pytest

from sandbox.model_gateway.log_protocol import repeated

from ...patience import PATIENCE, until
from .conftest import CHAT, MESSAGES, PATHS, a_request, a_spec, style
from .stub import Turn

pytestmark = pytest.mark.slow


def said(document):
    """Return the text of a response, in any format."""
    if "choices" in document:
        return document["choices"][0]["message"]["content"]
    blocks = document["output"][0]["content"] if "output" in document else document["content"]
    return blocks[0]["text"]


@pytest.mark.parametrize("path", PATHS)
def test_everything_that_is_sent_is_in_the_log(path, session_for, stub):
    upstream = stub({"text": "It is blue."}, {"text": "It is red.", "calls": [("paint", {"a": 1})]})
    task = session_for(upstream, style(path))
    assert said(task.ask(path, a_request(path, "Which colour?")).json()) == "It is blue."
    task.stream(path, a_request(path, "Which colour?"))
    first, second = task.finish()
    assert (first.outcome, first.read, first.written, first.estimated) == ("ok", 100, 7, False)
    assert "Which colour?" in json.dumps(first.request)
    assert first.response[0][1] == "It is blue."
    assert second.repeats == 1
    assert "Which colour?" not in json.dumps(second.request)
    assert second.response[0][1].strip() == "It is red."
    assert [text for kind, text in second.response if kind == "tool"] == ["paint"]
    assert json.loads(second.response[-1][1]) == {"a": 1}
    logged = first.request | {"history": 0}
    assert set(upstream.seen[0].body) <= logged.keys()


@pytest.mark.parametrize("path", PATHS)
def test_a_stream_that_breaks_ends_in_an_error_and_is_counted_by_us(path, session_for, stub):
    upstream = stub({"text": "one two three four five six", "fault": "break"}, {"text": "one two three four five six"})
    task = session_for(upstream, style(path))
    events = task.stream(path, a_request(path))
    assert events[-1].get("error"), events[-1]
    assert events[-1] is not None
    (call,) = task.finish()
    assert call.outcome == "broke"  # the same request again went well
    assert call.estimated
    assert call.read > 0
    assert call.written > 0
    assert len(upstream.own()) == 2


def test_an_error_that_repeats_is_the_requests(session_for, stub):
    upstream = stub({"text": "one two three", "fault": "error"}, {"text": "one two three", "fault": "error"})
    task = session_for(upstream, "anthropic")
    events = task.stream(MESSAGES, a_request(MESSAGES))
    assert events[-1]["error"]["type"] == "api_error"
    assert "fp-of-another-run" not in json.dumps(events)
    (call,) = task.finish()
    assert call.outcome == "refused"
    assert "fp-of-another-run" in call.detail  # the sealed log keeps what the upstream said


@pytest.mark.slow
@pytest.mark.parametrize(("status", "heard"), [(400, 400), (422, 422), (500, 502), (429, 502), (401, 502), (404, 502)])
def test_an_upstream_that_answers_us_was_not_down(status, heard, session_for, stub):
    upstream = stub(*[{"fault": f"status:{status}"}] * 3)
    task = session_for(upstream)
    answer = task.ask(CHAT, a_request(CHAT))
    assert answer.status_code == heard
    assert "other-run" not in answer.text
    (call,) = task.finish()
    assert call.outcome == "refused"
    assert (call.read, call.written) == (0, 0)
    assert "other-run" in call.detail
    assert len(upstream.own()) == (3 if status in (500, 429) else 1)


@pytest.mark.slow
@pytest.mark.parametrize(("status", "outcome"), [(503, "down"), (429, "broke")])
def test_an_upstream_that_fails_us_too_is_down_unless_the_agent_may_have_asked_it_too_much(
    status, outcome, session_for, stub
):
    task = session_for(stub({"fault": f"status:{status}*"}))
    assert task.ask(CHAT, a_request(CHAT)).status_code == 502
    assert [call.outcome for call in task.finish()] == [outcome]


@pytest.mark.slow
def test_a_transient_error_is_retried_unseen(session_for, stub):
    upstream = stub({"fault": "status:500"}, {"fault": "drop"}, {"text": "It is blue."})
    task = session_for(upstream)
    assert said(task.ask(CHAT, a_request(CHAT)).json()) == "It is blue."
    (call,) = task.finish()
    assert call.outcome == "ok"
    assert len(upstream.seen) == 3


def test_an_agent_cannot_make_us_ask_the_upstream_without_end(session_for, stub):
    upstream = stub(*[{"fault": "status:400"}] * 20)
    task = session_for(upstream)
    for _ in range(12):
        task.ask(CHAT, a_request(CHAT))
    task.finish()
    assert len(upstream.seen) - len(upstream.own()) == 3


def test_the_budget_is_the_task_s(session_for, stub):
    upstream = stub()
    task = session_for(upstream, tokens=1000)
    sizes = []
    while (answer := task.ask(CHAT, a_request(CHAT, max_tokens=5000))).status_code == 200:
        sizes.append(upstream.seen[-1].body["max_tokens"])
    assert answer.status_code == 403
    assert "1000 tokens" in answer.json()["error"]["message"]
    assert sizes[0] < 1000
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == 9  # each is charged 107, as the upstream counts
    assert sum(call.read + call.written for call in task.finish()) <= 1000


def test_the_requests_are_counted(session_for, stub):
    task = session_for(stub(), "anthropic", requests=2)
    codes = [task.ask(MESSAGES, a_request(MESSAGES)).status_code for _ in range(3)]
    assert codes == [200, 200, 403]
    assert len(task.finish()) == 2


def test_many_at_a_time_cost_no_more_than_the_budget(session_for, stub):
    upstream = stub()
    task = session_for(upstream, tokens=3000)
    codes: list[int] = []

    def ask():
        codes.append(task.ask(CHAT, a_request(CHAT, max_tokens=200)).status_code)

    threads = [threading.Thread(target=ask) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes.count(200) >= 8
    assert upstream.most <= 8
    held = [one.body["max_tokens"] for one in upstream.seen]
    assert sum(held) <= 3000
    assert len(task.finish()) == codes.count(200)


def test_sessions_do_not_share_a_cache_key_or_a_budget(session_for, stub):
    upstream = stub()
    one = session_for(upstream, tokens=1000)
    other = session_for.another(one.models)
    one.ask(CHAT, a_request(CHAT))
    other.ask(CHAT, a_request(CHAT, prompt_cache_key=upstream.seen[0].body["prompt_cache_key"]))
    keys = [seen.body["prompt_cache_key"] for seen in upstream.seen]
    assert len(set(keys)) == 2
    assert (len(one.finish()), len(other.finish())) == (1, 1)


def test_an_agent_that_goes_away_takes_its_request_with_it(session_for, stub):
    task = session_for(stub({"fault": "hang"}, {"text": "It is blue."}))
    with pytest.raises(Exception, match="timed out"):
        task.ask(CHAT, a_request(CHAT), timeout=3)
    assert said(task.ask(CHAT, a_request(CHAT)).json()) == "It is blue."
    first, second = task.finish()
    assert (first.outcome, second.outcome) == ("cut", "ok")
    assert first.estimated


def test_a_request_under_way_at_the_end_is_cut_and_logged(session_for, stub):
    upstream = stub({"fault": "hang"})
    task = session_for(upstream)

    def ask():
        with suppress(httpx2.HTTPError):
            task.ask(CHAT, a_request(CHAT))

    thread = threading.Thread(target=ask)
    thread.start()
    until(lambda: upstream.seen, "the request")
    task.gateway.finish(PATIENCE)
    thread.join()
    (call,) = task.finish()
    assert call.outcome == "cut"


def test_a_model_process_that_dies_is_a_fact_and_is_started_again(session_for, stub):
    upstream = stub({"text": "one"}, {"text": "two"})
    task = session_for(upstream)
    task.ask(CHAT, a_request(CHAT))
    task.models._process.kill()
    task.models._process.wait()
    answer = task.ask(CHAT, a_request(CHAT))
    assert answer.status_code == 502
    task.finish()
    assert task.session.lost
    other = session_for.another(task.models)
    assert said(other.ask(CHAT, a_request(CHAT)).json()) == "two"
    other.finish()
    assert not other.session.lost


def test_whether_an_upstream_answers_can_be_asked(stub):
    from sandbox.model_gateway.process import ModelGateway

    upstream = stub()
    with ModelGateway(a_spec(upstream.url), "test-key") as models:
        assert models.check("small")
        upstream.script.append(Turn(fault="status:401*"))
        assert not models.check("small")


@pytest.mark.slow
def test_bad_requests_do_not_hide_that_the_upstream_went_down(session_for, stub):
    upstream = stub(*[{"fault": "status:400"}] * 5)
    task = session_for(upstream)
    for _ in range(5):
        task.ask(CHAT, a_request(CHAT))
    upstream.script.append(Turn(fault="status:503*"))
    task.ask(CHAT, a_request(CHAT))
    assert [call.outcome for call in task.finish()] == ["refused"] * 5 + ["down"]


def test_a_request_that_cannot_be_logged_is_not_sent(session_for, stub):
    """A task's log holds 16 MiB, and the system prompt is in every request."""
    upstream = stub()
    task = session_for(upstream, tokens=100_000_000, requests=100)
    said = [{"role": "system", "content": "x" * 900_000}, {"role": "user", "content": "hi"}]
    codes = []
    while len(codes) < 100:
        said[0]["content"] = f"{len(codes):03}" + said[0]["content"][3:]  # so that nothing is the same as before
        answer = task.ask(CHAT, {"model": "small", "messages": said})
        codes.append(answer.status_code)
        if answer.status_code != 200:
            break
    assert codes[-1] == 403
    assert "log of this task" in answer.json()["error"]["message"]
    assert len(upstream.seen) == len(codes) - 1 == len(task.finish())
    assert 15 <= len(codes) <= 20


@pytest.mark.parametrize("other", ['{"a": true, "b": 2}', '{"a": 1.0, "b": 2}', '{"b": 2, "a": 1}'])
def test_values_equal_in_python_alone_are_logged_again(other):
    asked = [{"messages": [{"content": json.loads(one)}, "x"]} for one in ('{"a": 1, "b": 2}', other)]
    assert repeated(asked[0], asked[0], "messages") == 2
    assert repeated(asked[0], asked[1], "messages") == 0
