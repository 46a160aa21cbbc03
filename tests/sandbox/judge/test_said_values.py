"""Tests of what counts as said: the order of a session, the rule on lists, models' replies, and what is believed."""

import json
import random

import pytest

from sandbox.errors import Malformed
from sandbox.isolation.forkserver import ForkServer
from sandbox.judge import JudgeFailed, StateJudge
from sandbox.judge.process import READER
from sandbox.judge.said_values import parsed, request, searched
from sandbox.results.said import SaidChoices, united
from sandbox.transcript import CallRecord, ModelCall, Transcript
from vault.task.variant import words

FREE = {
    "folder": ("amber-desk", "Mill Road", "river_notes"),
    "code": ("QX-77", "4711", "Ærø"),
    "quiet": ("ochre", "teal"),
}
GOAL = "Put the papers of amber-desk away."


def call(arguments, result="", tool="filesystem.write_file"):
    return CallRecord(tool, arguments, listed=True, error=False, injected=False, result=result, seconds=0.0)


def said(*calls, answer=None, models=(), shown=(GOAL,), free=None):
    """Search a session; give what was said by parameter, and what of it a model had replied."""
    free = free or FREE
    found = parsed(searched(request(free, shown, Transcript(calls, answer, "answered", models))), free)
    return {one.parameter: (list(one.said), list(one.replied)) for one in found}


def asked(request_text, reply, kind="text"):
    return ModelCall("chat", "m", 0, {"messages": [{"role": "user", "content": request_text}]}, ((kind, reply),))


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "/data/river_notes/x.txt"},
        {"nested": [{"deep": ["RIVER-Notes"]}]},
        {"river notes": 1},
        {"text": "a line\nriver  notes."},
    ],
)
def test_a_choice_is_said_in_any_spelling_and_at_any_depth(arguments):
    assert said(call(arguments)) == {"folder": ([2], [])}


@pytest.mark.parametrize(
    "text", ["https://x.org/a?in=Mill%20Road", "git checkout -b MillRoad", "millroad2, millroad", "a line\\nMill Road"]
)
def test_a_choice_is_said_in_a_url_a_name_of_code_and_a_quoted_text(text):
    assert said(call({"text": text})) == {"folder": ([1], [])}
    assert said(call({"text": "mill road"}), shown=(text,)) == {}
    assert said(call({"text": text}), shown=("mill road",)) == {}


def test_words_written_as_one_are_a_choice_only_if_they_are_no_other_word_of_the_lists():
    free = {"a": ("note book", "notebook-shelf"), "b": ("ab c", "a bc"), "c": ("lime tree", "limetree")}
    assert said(answer="notebook abc limetree", free=free) == {"c": ([1], [])}


def test_numbers_and_other_alphabets_are_words_too():
    assert said(call({"amount": 4711})) == {"code": ([1], [])}
    assert said(answer="from ÆRØ") == {"code": ([2], [])}
    assert said(call({}, tool="river_notes")) == {"folder": ([2], [])}


def test_what_was_shown_before_is_not_said():
    listing = call({"path": "/"}, "mill road\nQX 77")
    assert said(listing, call({"path": "/mill-road"}), answer="QX-77 of amber desk") == {}
    assert said(call({"path": "/mill-road"}), listing) == {"folder": ([1], [])}, "it is listed only afterwards"


def test_a_server_that_repeats_what_it_was_asked_shows_nothing_new():
    missing = call({"path": "/mill-road"}, "Error: no such folder: /mill-road")
    assert said(missing, missing, answer="mill road is missing") == {"folder": ([1], [])}


def test_words_of_two_texts_are_no_choice_together():
    assert said(call({"a": "mill", "b": "road"})) == {}
    assert said(call({"a": "windmill road"})) == {}


def test_choices_that_contain_each_other_are_left_out_by_the_lists_alone():
    free = {"a": ("mill road", "old mill road", "river"), "b": ("RIVER", "lake", "...")}
    assert said(answer="old mill road, river, lake", free=free) == {"b": ([1], [])}
    assert said(answer="river ... mill road", free=free) == {}


def test_any_lists_are_compared_word_by_word():
    dice, letters = random.Random(5), "abßﬁİ_-\n \u0301é"
    for _ in range(300):
        texts = ["".join(dice.choices(letters, k=dice.randrange(7))) for _ in range(12)]
        answer = "".join(dice.choices(letters, k=40))
        spoken, lists = words(answer), [words(text) for text in texts]
        phrases, as_one = [f"|{'|'.join(of)}|" for of in lists], ["".join(of) for of in lists]
        held = [
            number
            for number, phrase in enumerate(phrases)
            if lists[number] and sum(other in phrase or phrase in other for other in phrases if other != "||") == 1
            if phrase in f"|{'|'.join(spoken)}|"
            or (
                as_one[number] in spoken
                and as_one.count(as_one[number]) == 1
                and not any(as_one[number] in of for of in lists)
            )
        ]
        assert said(answer=answer, free={"a": texts}) == ({"a": (held, [])} if held else {})


def test_what_a_model_replied_first_is_marked():
    reply = asked("what now?", "look into mill-road")
    assert said(call({"path": "/mill-road"}), models=(reply,)) == {"folder": ([1], [1])}
    told = asked("my notes say river_notes", "look into river_notes")
    assert said(call({"path": "/river_notes"}), models=(told,)) == {"folder": ([2], [])}, "the agent told it first"
    assert said(call({"path": "/mill-road"}), models=(reply, told)) == {"folder": ([1], [1])}
    assert said(models=(reply,)) == {}, "what only a model says reaches no server"


def test_escapes_of_json_end_words():
    arguments = {"path": "a.txt", "text": "as asked:\nmill-road"}
    replied = asked("what now?", json.dumps(arguments), "arguments")
    assert said(call(arguments), models=(replied,)) == {"folder": ([1], [1])}, "the model's, not the agent's"
    assert said(call({}, json.dumps({"lines": "a\tmill-road"})), answer="mill road") == {}
    assert said(call({"query": json.dumps("\u2013river_notes")})) == {"folder": ([2], [])}
    assert said(answer="C:\\river_notes") == {"folder": ([2], [])}, "no escape, here"


def test_attempts_are_united_and_an_agent_that_once_needed_no_model_said_it():
    first, second = SaidChoices("a", 9, (1, 2), (1,)), SaidChoices("a", 9, (1, 3), (3,))
    assert united([[first], [second], [SaidChoices("b", 2, (0,))]]) == (
        SaidChoices("a", 9, (1, 2, 3), (3,)),
        SaidChoices("b", 2, (0,)),
    )
    assert repr(first) == "SaidChoices(choices=9)"
    assert SaidChoices.from_json(json.loads(json.dumps(first.as_json()))) == first


def test_any_choices_survive_the_way_back():
    dice, free = random.Random(3), {"a": [f"w{n}x" for n in range(1024)], "b": [f"v{n}x" for n in range(7)]}
    chosen = {name: sorted(dice.sample(range(len(of)), len(of) // 2)) for name, of in free.items()}
    spoken = " ".join(free[name][number] for name, numbers in chosen.items() for number in numbers)
    assert said(answer=spoken, free=free) == {name: (numbers, []) for name, numbers in chosen.items()}


@pytest.mark.parametrize(
    "reply",
    [
        b"", b"[]", b'{"said": {}}', b'{"said": {}, "replied": {}, "more": 1}',
        b'{"said": {"other": "1"}, "replied": {}}', b'{"said": {"folder": "8"}, "replied": {}}',
        b'{"said": {"folder": "-1"}, "replied": {}}', b'{"said": {"folder": "0x1"}, "replied": {}}',
        b'{"said": {"folder": 1}, "replied": {}}', b'{"said": {"folder": "0"}, "replied": {}}',
        b'{"said": {"folder": "1"}, "replied": {"folder": "2"}}',
        b'{"said": {"folder": "1"}, "replied": {"code": "1"}}',
    ],
)  # fmt: skip
def test_a_reply_of_another_shape_is_refused(reply):
    with pytest.raises(Malformed):
        parsed(reply, FREE)


def test_a_confined_judge_finds_the_same(judging):
    calls = (call({"path": "/mill-road"}, "Error"), call({"n": 4711, "surrogate": "\ud800"}))
    transcript = Transcript(calls, "river_notes", "answered", (asked("?", "4711"),))
    assert judging.said(FREE, [GOAL], transcript) == (
        SaidChoices("code", 3, (1,), (1,)),
        SaidChoices("folder", 3, (1, 2)),
    )


@pytest.mark.slow
def test_a_judge_that_dies_of_a_session_says_nothing():
    server = ForkServer(
        "-c", "from sandbox.isolation.forking import serve; import os; serve(lambda: None, lambda _: os._exit(1))"
    )
    with pytest.raises(JudgeFailed):
        StateJudge(READER, server).said(FREE, [GOAL], Transcript((), "x", "answered"))
    server.close()
