"""Tests of the calendar server's state: written, mutated, and changed by the real server in a boxed world."""

from __future__ import annotations

import json

import pytest

from sandbox.boxes.docker.box import DockerBox
from sandbox.errors import Malformed
from sandbox.kinds.calendar.apply_mutation import mutate
from sandbox.kinds.calendar.kind import STATE, seed
from sandbox.kinds.common.check import check
from sandbox.servers.registry import SERVERS
from verifiers.language.verdict import Verdict

from ...frozen import content
from .holding import holds_in

PLAN = {"summary": "Plan, review; all", "start": "2026-01-05T11:00:00+01:00", "end": "2026-01-05T11:00:00Z"}
BOB = ["Bob@example.org"]
WORK = {"title": "Work", "events": [{**PLAN, "location": "Bern " + "ü" * 80, "attendees": BOB}]}
HOME = {"todos": [{"summary": "Buy tea", "due": "2026-01-09T12:00:00Z"}], "events": []}
STATES = {"calendars": {"work": WORK, "home": HOME}}
NAMED = {"summary": PLAN["summary"]}


holds = holds_in("calendar")


def test_a_state_becomes_files_and_the_same_bytes_each_time():
    check(STATE, STATES, "the state")
    tree = seed(STATES)
    assert dict(tree) == dict(seed(STATES))
    assert all(len(line) <= 75 for node in tree.values() for line in node.data.split(b"\r\n")[:-1])
    assert holds(tree, "eventExists", **NAMED, start="2026-01-05T10:00:00Z", location="Bern " + "ü" * 80)
    assert holds(tree, "attendeesAre", **NAMED, attendees=["bob@example.org"])
    assert holds(tree, "eventMoved", uid="event-1", start=PLAN["start"], end=PLAN["end"])
    assert holds(tree, "todoExists", summary="Buy tea", calendar="home", status="NEEDS-ACTION")


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        ({**PLAN, "uid": "todo-1"}, "two items of the identity 'todo-1'"),
        ({**PLAN, "start": "2026-02-30"}, "a date or time of the calendar does not exist"),
        ({**PLAN, "summary": "\ud800"}, "surrogate"),
    ],
)
def test_a_state_that_contradicts_itself_is_refused(event, sentence):
    with pytest.raises(Malformed, match=sentence):
        seed({"calendars": {"work": {"events": [event]}, "home": HOME}})


@pytest.mark.parametrize(
    "change",
    [{"start": "2026-01-05T10:00:00"}, {"repeats": {"COUNT": "4"}}, {"attendees": ["nobody"]}, {"status": "COMPLETED"}],
)
def test_impossible_events_are_refused(change):
    with pytest.raises(Malformed):
        check(STATE, {"calendars": {"work": {"events": [{**PLAN, **change}]}}}, "the state")


def test_each_change_changes_one_thing():
    tree = seed(STATES)
    assert not holds(mutate(tree, {"where": {"uid": "event-1"}, "remove": True}), "eventExists", **NAMED)
    moved = mutate(tree, {"where": NAMED, "move_to": "home"})
    assert holds(moved, "eventExists", **NAMED, calendar="home")
    assert holds(moved, "eventCount", count=0, calendar="work")
    later = mutate(tree, {"where": NAMED, "set": {"start": "2026-01-05T10:30:00Z"}})
    assert holds(later, "isFree", start="2026-01-05T10:00:00Z", end="2026-01-05T10:30:00Z")
    done = mutate(tree, {"where": {"kind": "todo"}, "set": {"status": "COMPLETED", "due": "2026-01-10"}})
    assert holds(done, "todoExists", summary="Buy tea", status="COMPLETED", due="2026-01-10")
    more = mutate(tree, {"calendar": "work", "add_event": {**PLAN, "summary": "More"}})
    assert not holds(more, "noOverlap")
    assert holds(mutate(tree, {"calendar": "home", "add_todo": {"summary": "Buy milk"}}), "todoCount", count=2)
    assert holds(tree, "eventExists", **NAMED), "the original stays as it was"


@pytest.mark.parametrize(
    "change",
    [
        {"where": {"uid": "gone"}, "remove": True},
        {"where": {"uid": "event-1"}, "set": {"start": "2026-02-30"}},
        {"where": {"uid": "event-1"}},
    ],
)
def test_a_change_of_what_is_not_there_is_refused(change):
    with pytest.raises(Malformed, match="calendar"):
        mutate(seed(STATES), change)


AT_WORK, AT_HOME = {"calendarUrl": "/agent/work/"}, {"calendarUrl": "/agent/home/"}
NOON = {"start": "2026-01-06T12:00:00+01:00", "end": "2026-01-06T13:00:00+01:00"}
DAY = {"start": "2026-01-08T00:00:00Z", "end": "2026-01-08T00:00:00Z", "wholeDay": True}
WEEKLY = {"freq": "WEEKLY", "count": 4, "byday": ["TU"]}
CALLS = [
    ("list-calendars", {}),
    ("list-events", {**AT_WORK, "start": "2026-01-01", "end": "2026-02-01"}),
    ("create-event", {**AT_WORK, "summary": "Lunch; ü", **NOON, "location": "Basel", "recurrenceRule": WEEKLY}),
    ("create-event", {**AT_WORK, "summary": "Away", **DAY, "description": "one\ntwo, three"}),
    ("update-event", {**AT_WORK, "uid": "event-1", "start": "2026-01-05T14:00:00Z", "end": "2026-01-05T15:00:00Z"}),
    ("create-todo", {**AT_HOME, "summary": "Call Ann", "due": "2026-01-09T12:00:00Z", "status": "IN-PROCESS"}),
    ("list-todos", AT_HOME),
    ("update-todo", {**AT_HOME, "uid": "todo-1", "summary": "Buy green tea"}),
    ("complete-todo", {**AT_HOME, "uid": "todo-1"}),
]
DELETING = [("delete-event", {**AT_WORK, "uid": "event-1"}), ("delete-todo", {**AT_HOME, "uid": "todo-1"})]
LEFT = {
    "all": [
        {"calendar.eventExists": {"summary": "Lunch; ü", **NOON, "location": "Basel", "calendar": "work"}},
        {"calendar.eventRepeats": {"summary": "Lunch; ü", "frequency": "WEEKLY", "count": 4, "days": ["TU"]}},
        {"calendar.eventExists": {"summary": "Away", "start": "2026-01-08", "description": "one\ntwo, three"}},
        {"calendar.eventMoved": {"uid": "event-1", "start": "2026-01-05T14:00:00Z", "end": "2026-01-05T15:00:00Z"}},
        {"calendar.attendeesAre": {**NAMED, "attendees": BOB}},
        {"calendar.todoExists": {"summary": "Buy green tea", "status": "COMPLETED", "due": "2026-01-09T12:00:00Z"}},
        {"calendar.todoExists": {"summary": "Call Ann", "status": "IN-PROCESS"}},
        {"calendar.countOnDay": {"day": "2026-01-08", "count": 1}},
        {"calendar.noOverlap": {}},
    ]
}


@pytest.mark.box
def test_the_servers_writes_are_read_back(played):
    proved = played("calendar", STATES, CALLS, LEFT)
    assert [(call["arguments"].get("recurrenceRule"), call["result"]) for call in proved.log if call["error"]] == []
    assert proved.verdict is Verdict.TRUE, proved.evidence.as_json()
    assert [one["displayName"] for one in json.loads(proved.log[0]["result"])] == ["Work", "home"]


UNTIL = "2026-02-03T12:00:00+01:00"
ON_TUESDAY = {**AT_WORK, **NOON}
RULES = [
    *({"freq": freq, **end} for freq in ("DAILY", "WEEKLY", "MONTHLY", "YEARLY") for end in ({}, {"count": 3})),
    {"freq": "WEEKLY", "until": UNTIL},
    {"freq": "DAILY", "interval": 7, "count": 5, "until": UNTIL},
    {"freq": "WEEKLY", "interval": 2, "byday": ["TU", "TH", "SU"]},
    {"freq": "MONTHLY", "byday": ["2TU", "-1FR"], "count": 0},
    {"freq": "MONTHLY", "bymonthday": [1, 31, -1], "bymonth": [1, 2, 12]},
    {"freq": "YEARLY", "bymonth": [2], "bymonthday": [29]},
]
ORDINARY = [
    *(("create-event", {**ON_TUESDAY, "summary": "Rule", "recurrenceRule": rule}) for rule in RULES),
    *(("create-event", {**AT_WORK, **DAY, "summary": "Days", "recurrenceRule": rule}) for rule in RULES),
    ("create-event", {**AT_WORK, "summary": "", "start": NOON["end"], "end": NOON["start"]}),
    (
        "create-event",
        {**ON_TUESDAY, "summary": "\U0001f9d8\t" * 60, "description": 'a\r\nb: "c"\\n;' * 60, "location": "x" * 75},
    ),
    ("create-event", {**AT_WORK, "summary": "Old", "start": "1899-12-31T23:59:59.5Z", "end": "2999-01-01T00:00:00Z"}),
    ("update-event", {**AT_WORK, "uid": "event-1", "recurrenceRule": {"freq": "WEEKLY", "count": 2}}),
    ("update-event", {**AT_WORK, "uid": "event-1", "summary": "Again"}),
    ("update-event", {**AT_WORK, "uid": "event-1", "wholeDay": True, "start": DAY["start"], "end": DAY["end"]}),
    ("create-todo", {**AT_HOME, "summary": "Do;\n", "due": UNTIL, "start": NOON["start"], "description": ""}),
]


@pytest.mark.box
def test_no_tool_makes_by_ordinary_use_what_the_reader_refuses(played):
    refused = [RULES.index(rule) for rule in RULES if "until" in rule]  # the server spells the end's time wrongly
    made = 1 + sum(tool == "create-event" for tool, _ in ORDINARY) - len(refused)
    weekly = {"frequency": "WEEKLY", "count": 2, "summary": "Again"}
    left = [{"calendar.eventCount": {"count": made}}, {"calendar.eventRepeats": weekly}]
    proved = played("calendar", STATES, ORDINARY, {"all": left})
    assert [place for place, call in enumerate(proved.log) if call["error"]] == refused
    assert proved.verdict is Verdict.TRUE, proved.evidence.as_json()


@pytest.mark.full
@pytest.mark.box
def test_deleted_events_are_gone_and_missing_or_foreign_ones_are_an_error(played):
    gone = [("delete-event", {**AT_WORK, "uid": "gone"}), ("list-events", {**AT_WORK, "start": "x", "end": "y"})]
    gone += [("create-event", {"calendarUrl": "/bob/work/", "summary": "x", **NOON})]  # nobody gets into another's
    proved = played(
        "calendar",
        STATES,
        [*DELETING, *gone],
        {"all": [{"calendar.eventCount": {"count": 0}}, {"calendar.todoAbsent": {"summary": "Buy tea"}}]},
    )
    assert proved.errors == len(gone)
    assert not [path for path in content(proved.state.state) if "bob" in path]
    assert proved.verdict is Verdict.TRUE


@pytest.mark.full
@pytest.mark.box
def test_a_world_with_no_calendars_has_a_server_all_the_same(played):
    proved = played("calendar", {}, [("list-calendars", {})], {"calendar.eventCount": {"count": 0}})
    assert (proved.verdict, proved.log[0]["result"]) == (Verdict.TRUE, "[]")


def test_every_tool_is_called_by_one_of_these_stories():
    assert {tool for tool, _ in (*CALLS, *DELETING)} == set(SERVERS["calendar"].tools)


@pytest.mark.engine
@pytest.mark.slow
def test_the_image_has_the_same_server(played):
    proved = played("calendar", STATES, CALLS, LEFT, DockerBox())
    assert (proved.verdict, proved.errors) == (Verdict.TRUE, 0), proved.log
