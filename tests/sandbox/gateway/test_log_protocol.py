"""Tests of parsing a gateway's report: the runner accepts only bytes of the right form."""

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.errors import Malformed
from sandbox.gateway.log_protocol import MAX_ENTRY, UNANSWERED, GatewayLog, pack

CALL = {"call": 1, "tool": "git.git_log", "arguments": {"repo_path": "x"}, "listed": True}
RESULT = {"result": 1, "error": False, "injected": False, "refused": False, "seconds": 0.5, "text": "log"}


def book(*entries):
    made = GatewayLog()
    for entry in entries:
        made.feed(pack(entry))
    return made


def test_a_call_is_kept_before_it_is_answered():
    transcript = book({"ready": True}, CALL).transcript("gateway-lost")
    assert transcript.ended == "gateway-lost"
    assert (transcript.calls[0].error, transcript.calls[0].result) == (True, UNANSWERED)


def test_a_whole_session_is_read_back():
    shortlist = {"shortlist": ["git.git_log"]}
    kept = book({"ready": True}, shortlist, CALL, RESULT, {"lost": "sqlite"}, {"answer": "42"}, {"ended": "answered"})
    transcript = kept.transcript("gateway-lost")
    assert (transcript.answer, transcript.ended, kept.lost) == ("42", "answered", ["sqlite"])
    assert transcript.shortlist == ("git.git_log",)
    assert transcript.calls[0].seconds == 0.5
    assert transcript.calls[0].result == "log"


def test_bytes_may_come_in_any_pieces():
    data = b"".join(map(pack, (CALL, RESULT, {"ended": "agent-exited"})))
    made = GatewayLog()
    for place in range(len(data)):
        made.feed(data[place : place + 1])
    assert made.transcript("gateway-lost").ended == "agent-exited"


@pytest.mark.parametrize(
    "entries",
    [
        [{"call": 2, "tool": "x", "arguments": {}, "listed": True}],
        [CALL, {**CALL, "call": 2}],
        [RESULT],
        [CALL, {**RESULT, "result": 2}],
        [CALL, {**RESULT, "error": 0}],
        [CALL, {**RESULT, "seconds": "1"}],
        [{**CALL, "more": 1}],
        [{**CALL, "arguments": []}],
        [{**CALL, "call": True}],
        [{"ended": "passed"}],
        [{"ended": "answered"}, {"ended": "agent-exited"}],
        [{"ended": "answered"}, {"answer": "another"}],
        [{"answer": 1}],
        [{"shortlist": "git.git_log"}],
        [{"shortlist": [1]}],
        [{"shortlist": []}, {"shortlist": []}],
        [CALL, {"shortlist": []}],
        [{}],
    ],
    ids=lambda entries: json.dumps(entries[-1])[:40],
)
def test_entries_out_of_form_or_turn_are_refused(entries):
    with pytest.raises(Malformed):
        book(*entries)


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">I", MAX_ENTRY + 1),
        struct.pack(">I", 2) + b"[]",
        struct.pack(">I", 4) + b"null",
        struct.pack(">I", 26) + b'{"ready":true,"ready":true}'[:26],
        struct.pack(">I", 3) + b"\xff\xfe\xfd",
    ],
)
def test_bytes_that_are_no_entry_are_refused(data):
    with pytest.raises(Malformed):
        GatewayLog().feed(data)


def test_late_and_lost_servers_are_recorded_apart_also_after_the_end():
    kept = book({"ready": True}, {"late": "git"}, {"ended": "answered"}, {"late": "sqlite"}, {"lost": "git"})
    assert (kept.late, kept.lost) == (["git", "sqlite"], ["git"])


@given(st.binary(max_size=400))
def test_no_bytes_do_worse_than_a_refusal(data):
    made = GatewayLog()
    try:
        made.feed(struct.pack(">I", len(data)) + data)
    except Malformed:
        assert made.transcript("gateway-lost").ended == "gateway-lost"
