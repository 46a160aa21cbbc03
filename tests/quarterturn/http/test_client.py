"""Tests of the client and of the verbs on it, against a service at an address."""

import itertools
import json
import re
import shlex
import socket
import subprocess
from types import SimpleNamespace

import pytest

from quarterturn import client as clients
from quarterturn.client import ApiError, Client
from quarterturn.client.documents import Submission
from quarterturn.submissions.store.requests import SubmissionRequest
from rotation.generation import shipped_dev_sets
from rotation.month.sets import DEMO
from sandbox.remote_document import InvalidAnswer, read_document

from ..guides import ROOT, blocks, commands
from ..invented_runs import submitted
from ..loopback import serving
from .conftest import play

pytestmark = pytest.mark.slow

GUIDE = "submit-an-agent.md"
OUTCOMES = (("true", True), ("false", False), ("true", False), ("true", True))  # the third made a call too many
TASKS = {
    "tasks": [
        {"run": {"task_id": f"t-{number}", "verdict": verdict, "passed": passed}}
        for number, (verdict, passed) in enumerate(OUTCOMES)
    ]
}


LATER = object()
"""What a step returns that has to be taken again."""


@pytest.fixture
def service(live, request, monkeypatch):
    """Return the address of a service, its home, and ada's token, which each command finds in the environment."""
    settings = live / "quarterturn.toml"
    text = settings.read_text()
    assert 'images = [""]' in text
    settings.write_text(text.replace('images = [""]', 'images = ["{account}/"]'))
    url, house = request.getfixturevalue("at_an_address")
    token = house.auth.accounts.create("ada", "submitter")[0]
    monkeypatch.setenv("QUARTERTURN_SERVICE", url)
    monkeypatch.setenv("QUARTERTURN_TOKEN", token)
    return url, house, token


@pytest.fixture
def client(service):
    """Yield a client of the service, with ada's token; one that pauses is made after `steps`."""
    url, _, token = service
    with Client(url, token) as client:
        yield client


@pytest.fixture
def steps(service, monkeypatch):
    """Yield a list of what happens at the service, one thing in each pause of a client."""
    todo, pauses = [], []

    def pause(seconds):
        pauses.append(seconds)
        if todo and (step := todo.pop(0))() is LATER:
            todo.insert(0, step)

    monkeypatch.setattr("quarterturn.client.transport.time", SimpleNamespace(sleep=pause))
    yield (todo, pauses)
    assert not todo


def end(house, code=None, trace=None):
    """Claim the next submission and end it; where a busy service has not taken one yet, do so at the next pause."""
    claim = house.submissions.queue.claim("w")
    if claim is None:
        return LATER
    if trace:
        house.submissions.trace_store.keep(claim.id, trace)
    assert house.submissions.queue.finish(claim, code)
    return None


def test_a_submission_is_typed_and_waited_for(service, steps, client):
    queue, (todo, pauses) = service[1].submissions.queue, steps
    seen, claims = [], []
    todo += [lambda: None, lambda: claims.append(queue.claim("w")), lambda: queue.finish(claims[0], None)]
    made = client.submit(image="ada/agent:1")
    assert (made.state, made.set, made.place, made.ended) == ("queued", "dev", 0, False)
    ended = client.wait(made.id, on_change=lambda now: seen.append(now.state))
    assert client.submissions().submissions == (ended,)
    assert client.quotas()["dev"]["used"] == 1
    assert seen == ["queued", "running", "done"], "each state once"
    assert pauses == [clients.connection.PAUSE] * 3


def test_a_check_and_a_cancelled_one(client):
    made = client.submit(image="ada/agent:1", set="check")
    assert made.set == "check"
    assert client.cancel(made.id).state == "cancelled"
    with pytest.raises(ApiError) as raised:
        client.cancel(made.id)
    problem = raised.value.problem
    assert (problem.state, problem.status, raised.value.kind) == ("cancelled", 409, "not-allowed")


def test_one_key_submits_once(client):
    made = [client.submit(image="ada/agent:1", idempotency_key="k").id for _ in range(2)]
    assert made[0] == made[1] != client.submit(image="ada/agent:1").id


def test_pages_follow_their_cursor_and_have_no_gap(client):
    made = [client.submit(image="ada/agent:1").id for _ in range(5)]
    page = client.submissions(limit=2)
    found = [*page.submissions]
    while page.next and len(found) < len(made):
        page = client.submissions(limit=2, cursor=page.next)
        found += page.submissions
    assert ([one.id for one in found], page.next) == (made[::-1], None)


def test_a_refusal_carries_its_problem(client):
    for how, code, kind in (
        ({"image": "a b"}, "invalid", "malformed"),
        ({"image": "bob/agent:1"}, "not-yours", "refused"),
        ({"image": "ada/agent:1", "model": "gpt"}, "invalid", "malformed"),
    ):
        with pytest.raises(ApiError) as raised:
            client.submit(**how)
        problem = raised.value.problem
        assert (problem.code, raised.value.kind) == (code, kind)
        assert problem.expected in str(raised.value)


def test_a_token_goes_nowhere_in_the_clear_and_into_no_error():
    token = "qt_secret"
    for url in (
        "http://bench.example.org",
        "ftp://a.example",
        "https://u:p@a.example",
        "bench.example.org",
        "https://",
    ):
        with pytest.raises(ValueError, match="https://NAME") as raised:
            Client(url, token)
        assert token not in str(raised.value)
    with pytest.raises(ValueError, match="copy it as it was printed"):
        Client("https://a.example", f"{token} ")


@pytest.fixture
def odd():
    """Yield a server that answers what it is told, and counts."""
    answers, asked = [], []

    def reply(request):
        asked.append(request.path)
        status, headers, body = answers.pop(0)
        request.answer(status, body, **headers)

    with serving(reply) as url:
        yield url, answers, asked


BUSY = json.dumps({"code": "rate", "title": "Too many requests.", "detail": "Wait."}).encode()


def test_a_busy_service_is_asked_again_when_it_says(odd):
    url, answers, asked = odd
    answers += [(429, {"retry-after": "7"}, BUSY), (503, {}, BUSY.replace(b"rate", b"unavailable")), (200, {}, b"{}")]
    pauses = []
    with Client(url, "qt_x", sleep=pauses.append) as client:
        assert client.quotas() == {}
    assert (pauses, len(asked)) == ([7.0, 2.0], 3)


def test_a_service_that_stays_busy_is_given_up(odd):
    url, answers, _ = odd
    answers += [(429, {"retry-after": "99999"}, BUSY)] * 4
    pauses = []
    with Client(url, "qt_x", sleep=pauses.append) as client, pytest.raises(ApiError) as raised:
        client.quotas()
    assert (raised.value.kind, pauses) == ("quota", [300.0] * 3)


@pytest.mark.parametrize(
    "answer",
    [
        (302, {"location": "http://127.0.0.1:1/"}, b""),
        (200, {}, b"<html>"),
        (200, {}, b"[]"),
        (404, {}, b'{"code": 7}'),
    ],
)
def test_an_answer_that_is_none_of_ours_is_one_sentence(odd, answer):
    url, answers, _ = odd
    answers += [answer] * 4
    with Client(url, "qt_x", sleep=lambda _: None) as client, pytest.raises(ApiError) as raised:
        client.submissions()
    assert (raised.value.problem.code, raised.value.kind) == ("no-answer", "unavailable")


@pytest.mark.parametrize(("status", "kind"), [(400, "malformed"), (500, "unavailable")])
def test_a_problem_of_an_unknown_code_and_without_words_is_a_sentence(odd, status, kind):
    url, answers, _ = odd
    answers.append((status, {}, b'{"code": ""}'))
    with Client(url, "qt_x") as client, pytest.raises(ApiError, match=f"answers with status {status}") as raised:
        client.quotas()
    assert raised.value.kind == kind


@pytest.mark.parametrize("document", [{}, {"id": "s-a", "figures": 1}])
def test_a_document_of_another_form_is_one_sentence(document):
    with pytest.raises(InvalidAnswer, match="another form"):
        read_document(Submission, json.dumps(document).encode(), "the service", max_bytes=1000)


def test_submit_says_where_it_waits(service, say):
    said = say("submit", "ada/agent:1")
    assert said.code == 0, said.err
    assert re.match(r"s-[a-z2-7]{16}  \S+ \S+ UTC  dev      2026-12  waiting \(queue position 1\)$", said.out.strip())


def test_submit_and_wait_shows_changes_alone_and_the_score(service, steps, say, monkeypatch):
    _, house, token = service
    steps[0].extend([lambda: None, lambda: end(house, trace=TASKS)])
    said = say("submit", "ada/agent:1", "--wait", "--json")
    assert (said.code, said.data["state"]) == (0, "done")
    assert said.data["score"] == {"passed": 2, "attempted": 4}
    assert [line.partition(": ")[2] for line in said.err.splitlines()[1:]] == ["waiting (queue position 1)", "done"]
    assert token not in said.out + said.err
    monkeypatch.setenv("QUARTERTURN_TOKEN", token)
    assert "done  2 of 4 passed" in say("submissions").out


def test_a_submission_that_failed_is_a_no(service, steps, say):
    _, house, _ = service
    steps[0].append(lambda: end(house, "machine"))
    said = say("submit", "ada/agent:1", "--wait")
    assert said.code == 1
    assert "failed (machine): " in said.out
    assert said.out.strip().endswith("Not charged.")


def test_a_private_score_is_the_rate_that_is_ranked(service, say):
    _, house, _ = service
    made, _ = submitted(house, "ada", play(house, 12))
    said = say("submissions", "--json")
    (shown,) = said.data
    figures = shown["figures"]["sealed"]["success_rate"]
    assert (shown["id"], shown["score"]["value"]) == (made.id, figures["value"])


def test_a_refusal_is_one_sentence_with_the_exit_code_of_the_contract(service, say, monkeypatch):
    for words, code, sentence in (
        (("submit", "bob/agent:1"), 8, "The image may be somebody else's"),
        (("submit", "a b"), 2, "such as ada/agent:1"),
        (("submit", "a", "--to", "http://bench.example.org"), 2, "must be https://NAME"),
        (("submit", "a", "--token-file", "nowhere"), 7, "There is no"),
        (("submissions", "--limit", "201"), 2, "--limit"),
    ):
        monkeypatch.setenv("QUARTERTURN_TOKEN", service[2])
        said = say(*words)
        assert (said.code, sentence in said.err) == (code, True), said.err
        assert len(said.err.strip().splitlines()) == 1


def test_the_quota_and_a_bad_token_have_their_codes(service, say, monkeypatch, tmp_path):
    _, house, token = service
    for _ in range(10):
        house.submissions.store.take("ada", SubmissionRequest("dev", image="a"), month="2026-12")
    assert say("submit", "ada/agent:1").code == 5
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text(f"{token[:-1]}\n")
    said = say("submissions", "--token-file", file)
    assert (said.code, "unknown, expired or revoked" in said.err) == (4, True)
    assert say("submissions").code == 2, "the variable is taken out of the environment, so the token is missing now"
    file.chmod(0o644)
    assert say("submissions", "--token-file", file).code == 7


def test_a_service_that_does_not_answer_is_unavailable(say, monkeypatch):
    monkeypatch.setattr("quarterturn.client.transport.time", SimpleNamespace(sleep=lambda _: None))
    monkeypatch.setenv("QUARTERTURN_TOKEN", "qt_x")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # nobody listens there
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        said = say("submissions", "--to", url)
    step = "check the address, or try again later."
    assert (said.code, said.sentence) == (6, f"quarterturn: {url} does not answer (no connection): {step}")


def test_an_agent_is_named_and_every_refusal_says_why(service, client, say, monkeypatch):
    _, house, token = service

    def verb(*words):
        monkeypatch.setenv("QUARTERTURN_TOKEN", token)  # a command takes it out of the environment
        return say("display-name", *words)

    assert client.agents() == ()
    client.submit(image="ada/agent:1")
    named = client.choose_display_name("agent", "Falcon")
    assert (named.agent, named.display_name, named.removed) == ("agent", "Falcon", None)
    assert client.agents() == (named,)
    house.auth.accounts.create("bob", "submitter")
    for agent, name, code, words in (
        ("agent", "bob", 4, "taken"),
        ("agent", "Official", 2, "reserved"),
        ("agent", "<b>", 2, "Falcon 7B"),
        ("agent-2", "Heron", 3, "You have submitted no agent of this name"),
    ):
        said = verb("set", agent, name)
        assert (said.code, words in said.err, said.out) == (code, True, ""), said.err
    house.submissions.display_names.remove("ada", "agent", by="mara")
    assert verb("list").out == "agent: no display name; the operator removed the name Falcon\n"
    assert verb("set", "agent", "Heron", "--json").data["display_name"] == "Heron"
    assert verb("remove", "agent").out == "agent: no display name\n"
    assert client.give_up_display_name("agent").display_name is None


def leave_named(words, monkeypatch):
    """Leave of the dev set the tasks that a command names: each that is played costs as much as the next."""
    named = tuple(value for word, value in itertools.pairwise(words) if word == "--task")
    drafts = [draft for draft in shipped_dev_sets.drafts(DEMO) if draft.id.startswith(named)]
    assert len(drafts) == len(named)
    monkeypatch.setattr(shipped_dev_sets, "drafts", lambda _: drafts)


@pytest.mark.box
@pytest.mark.full
def test_the_guide_to_submitting_works_line_by_line(service, steps, say, monkeypatch, tmp_path):
    url, house, token = service
    steps[0].extend([lambda: end(house, trace=TASKS)] * 3)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    lines, shown = commands(GUIDE), ""
    assert len(lines) == 10
    for line in lines:
        monkeypatch.setenv("QUARTERTURN_TOKEN", token)
        program, *words = shlex.split(line)
        if program == "cp":
            subprocess.run([program, *words], check=True)
        else:
            said = say(*words)
            assert (program, said.code) == (".venv/bin/quarterturn", 0), said.err
            if "--task" in words:
                shown = said.out
                leave_named(words, monkeypatch)
    assert shown.splitlines()[-2:] == blocks(GUIDE, "text")[0].splitlines()
    assert said.out == "agent: Falcon 7B\n"
    (program,) = blocks(GUIDE, "python")
    printed = []
    names = {"token": token, "print": lambda *words: printed.append(words)}
    exec(program.replace("https://bench.example.org", url), names)
    assert printed[-1][0] == "done"
