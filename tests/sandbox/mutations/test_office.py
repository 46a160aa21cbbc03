"""Tests of mutations of workbooks, calendars and mail: derived from what the solution changed."""

from __future__ import annotations

from sandbox.kinds.calendar import proposed_mutations as calendar
from sandbox.kinds.mailbox import proposed_mutations as email
from sandbox.kinds.workbook import proposed_mutations as spreadsheet
from sandbox.mutations.mutators import mutate
from sandbox.servers.registry import SERVERS

from .builders import mistakes_of


def left(server, state, *changes):
    """Return the state before and after some changes."""
    before = after = SERVERS[server].seed(state)
    for change in changes:
        after = mutate(server, after, change)
    return before, after


def test_with_workbooks():
    sheets = [{"name": "S", "rows": [["item", "n"], ["Tea", 2]]}, {"name": "T", "rows": [["x"]]}]
    state = {"workbooks": {"a.xlsx": {"sheets": sheets}, "b.xlsx": {"sheets": sheets}}}
    at = {"path": "a.xlsx", "sheet": "S"}
    before, after = left(
        "spreadsheet",
        state,
        {"write": {**at, "cell": "B2", "value": 3}},
        {"write": {**at, "cell": "A3", "value": "Milk"}},
        {"add_sheet": {"path": "a.xlsx", "name": "New"}},
        {"create": "c.xlsx"},
        {"name": {"path": "a.xlsx", "name": "total", "refers_to": "S!$B$2"}},
    )
    assert mistakes_of(spreadsheet, "spreadsheet", before, after) == {
        *("left-out", "wrong-place", "wrong-case", "off-by-one", "number-as-text", "also-beside"),
        *("other-cell-lost", "row-too-many", "name-left-out", "other-workbook-lost", "workbook-too-many"),
    }


def test_with_calendars():
    hour = {"start": "2026-01-05T10:00:00Z", "end": "2026-01-05T11:00:00Z"}
    weekly = {"repeats": {"FREQ": "WEEKLY", "COUNT": "3"}}
    events = [{"summary": name, **hour, **weekly} for name in ("Plan", "Keep", "Drop")]
    state = {"calendars": {"work": {"events": events}, "home": {"todos": [{"summary": "Buy"}]}}}
    before, after = left(
        "calendar",
        state,
        {"where": {"uid": "event-1"}, "set": {"start": "2026-01-05T09:00:00Z"}},
        {"where": {"uid": "event-3"}, "remove": True},
        {"where": {"uid": "todo-1"}, "set": {"status": "COMPLETED"}},
        {"calendar": "work", "add_event": {"summary": "New", **hour}},
    )
    assert mistakes_of(calendar, "calendar", before, after) == {
        *("left-out", "wrong-place", "wrong-case", "off-by-an-hour", "off-by-a-day", "off-by-a-year"),
        *("another-one-lost", "event-too-many"),
    }


def test_with_mail():
    message = {"from": "bob@example.org", "to": ["agent@example.org"], "text": "x", "date": "2026-01-05T10:00:00Z"}
    state = {"folders": {"INBOX": [{**message, "subject": subject} for subject in ("One", "Two", "Three")]}}
    letter = {"to": ["bob@example.org"], "cc": ["carol@example.org"], "subject": "Re: One 1", "text": "Yes\nNo\n"}
    before, after = left(
        "email",
        state,
        {"send": {**letter, "in_reply_to": "message-1@example.org"}},
        {"where": {"id": "message-2@example.org"}, "move_to": "Archive"},
        {"where": {"id": "message-3@example.org"}, "flags": "S"},
        {"put": {"subject": "Offer"}, "folder": "Drafts"},
    )
    assert mistakes_of(email, "email", before, after) == {
        *("not-sent", "sent-twice", "wrong-recipient", "another-recipient-too", "no-reply", "cc-left-out"),
        *("wrong-case", "off-by-one", "last-line-left-out", "first-and-last-line-swapped"),
        *("left-out", "wrong-place", "copied-and-not-moved", "another-one-lost"),
    }


def test_text_that_the_server_quotes_below_a_forwarded_message_is_not_mutated():
    quoted = "\n\n---------- Forwarded message ----------\nDate: Mon, 05 Jan 2026\n\nPay 5.\n"
    before, after = left(
        "email", {}, {"send": {"subject": "Fwd: Bill", "text": f"Paid 7{quoted}", "attachment": "a.txt"}}
    )
    texts = {
        change["resend"]["text"] for name, change in email.mistakes(before, after) if "text" in change.get("resend", {})
    }
    assert texts == {f"pAID 7{quoted}", f"Paid 8{quoted}"}
    assert "wrong-file" in mistakes_of(email, "email", before, after)


def test_an_unchanged_state_gives_few_mutations():
    for module, server in ((spreadsheet, "spreadsheet"), (calendar, "calendar"), (email, "email")):
        before, after = left(server, {})
        assert list(module.mistakes(before, after)) == []
