"""Tests of the calendar predicates, also on hostile calendars."""

import datetime
from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from verifiers.language.verdict import Verdict
from verifiers.states.calendar.entries import HOME
from verifiers.states.calendar.examples import calendars
from verifiers.states.calendar.ics import read_items
from verifiers.states.calendar.items import Item, later, normal
from verifiers.states.calendar.writer import write_item
from verifiers.tree import FileTree, JudgeInput, Node

from .builders import Asked

holds = Asked("calendar")


def read_item(data):
    (item,) = read_items(data)
    return item


PLAN = Item("event", "e1", "Plan", "2026-01-05T10:00:00Z", "2026-01-05T11:00:00Z")


def a_file(*lines, kind="VEVENT"):
    inside = ["BEGIN:VCALENDAR", "VERSION:2.0", f"BEGIN:{kind}", "UID:e1", *lines, f"END:{kind}", "END:VCALENDAR", ""]
    return "\r\n".join(inside).encode()


@pytest.mark.parametrize(
    ("lines", "start", "end"),
    [
        (["DTSTART:20260105T100000Z", "DTEND:20260105T110000Z"], "2026-01-05T10:00:00Z", "2026-01-05T11:00:00Z"),
        (
            ["DTSTART;TZID=Europe/Berlin:20260705T100000", "DURATION:PT1H30M"],
            *["2026-07-05T08:00:00Z", "2026-07-05T09:30:00Z"],
        ),
        (["DTSTART;VALUE=DATE:20260105"], "2026-01-05", "2026-01-06"),
        (["DTSTART:20260105T100000Z"], "2026-01-05T10:00:00Z", "2026-01-05T10:00:00Z"),
        (["DTSTART;VALUE=DATE:20260105", "DURATION:P1W"], "2026-01-05", "2026-01-12"),
    ],
)
def test_moments_are_read_in_whatever_way_they_were_written(lines, start, end):
    item = read_item(a_file(*lines))
    assert (item.start, item.end) == (start, end)


OFFICE = """BEGIN:VTIMEZONE
TZID:W. Europe Standard Time
BEGIN:STANDARD
DTSTART:16010101T030000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010101T020000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
END:DAYLIGHT
END:VTIMEZONE"""


def a_file_with_a_zone(zone, local="20260705T120000"):
    event = f"BEGIN:VEVENT\nUID:e1\nDTSTART;{zone.splitlines()[1].replace(':', '=')}:{local}\nEND:VEVENT"
    return f"BEGIN:VCALENDAR\n{event}\n{zone}\nEND:VCALENDAR\n".encode()


def in_own_zone(local, zone=OFFICE):
    return read_item(a_file_with_a_zone(zone, local)).start


@pytest.mark.parametrize("year", [1995, 2026, 2037])
def test_a_zone_that_the_file_defines_has_the_instants_of_the_same_zone_of_the_machine(year):
    zone = OFFICE if year > 1995 else OFFICE.replace("MONTH=10", "MONTH=9")  # summer ended in September until 1995
    new_year = datetime.datetime(year, 1, 1)  # noqa: DTZ001 - of the zone
    for day in (*range(0, 365, 30), *range(75, 92), *range(260, 305)):  # and around the changes
        for hour in (0, 1, 2, 3, 12):  # a skipped hour and one that occurs twice among them
            local = new_year + datetime.timedelta(days=day, hours=hour, minutes=30)
            expected = local.replace(tzinfo=ZoneInfo("Europe/Berlin")).astimezone(datetime.UTC)
            assert in_own_zone(f"{local:%Y%m%dT%H%M%S}", zone) == f"{expected:%Y-%m-%dT%H:%M:%SZ}"


MORE = OFFICE[OFFICE.index("BEGIN:DAYLIGHT") : OFFICE.index("END:VTIMEZONE")]
SPRING = "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3"


@pytest.mark.parametrize(
    ("spring", "local", "instant"),
    [
        (SPRING, "15000101T120000", "1500-01-01T11:00:00Z"),  # before any observance: the offset before the first
        ("RDATE:20260705T020000", "20260704T120000", "2026-07-04T11:00:00Z"),
        ("RDATE:20260705T020000", "20260705T120000", "2026-07-05T10:00:00Z"),
        (f"{SPRING};UNTIL=20250330T010000Z", "20250705T120000", "2025-07-05T10:00:00Z"),
        (f"{SPRING};UNTIL=20250330T010000Z", "20260705T120000", "2026-07-05T11:00:00Z"),
        (SPRING.replace("-1SU", "SU;BYMONTHDAY=8,9,10,11,12,13,14"), "20260308T120000", "2026-03-08T10:00:00Z"),
    ],
)
def test_a_zone_that_the_file_defines_counts_as_it_is_written(spring, local, instant):
    assert in_own_zone(local, OFFICE.replace(SPRING, spring)) == instant
    assert (
        in_own_zone(local, OFFICE.replace(SPRING, spring).replace("W. Europe Standard Time", "Asia/Tokyo")) == instant
    )


def test_a_byte_order_mark_and_blank_lines_are_no_fault():
    data = a_file("SUMMARY:Plan", "", "DTSTART:20260105T100000Z")
    assert read_item(b"\xef\xbb\xbf" + data + b"\r\n\r\n") == read_item(data.replace(b"\r\n\r\n", b"\r\n"))


def test_lines_are_unfolded_and_texts_unescaped():
    item = read_item(
        a_file("SUMMARY;LANGUAGE=en:a\\, b\\; c\\nd", " e", 'ATTENDEE;CN="X: Y";ROLE=CHAIR:MAILTO:Bob@Example.org')
    )
    assert item.summary == "a, b; c\nde"
    assert item.attendees == ("bob@example.org",)


def test_an_alarm_and_an_occurrence_that_was_changed_are_not_the_event():
    lines = ["SUMMARY:One", "BEGIN:VALARM", "SUMMARY:Ring", "END:VALARM", "END:VEVENT", "BEGIN:VEVENT", "UID:e1"]
    item = read_item(a_file(*lines, "RECURRENCE-ID:20260106T100000Z", "SUMMARY:Other"))
    assert item.summary == "One"


@pytest.mark.parametrize("summary", ["plain", "a;b,c\\d\ne", "ü" * 200, "BEGIN:VEVENT"])
def test_an_item_is_read_as_it_was_written(summary):
    item = Item("event", "e1", summary, "2026-01-05", "2026-01-06", "x", "y", "", {"FREQ": "DAILY"}, ("a@b.c",))
    assert replace(read_item(write_item(item)), series=None) == item


WRECKAGE = {
    "nothing": b"",
    "no calendar": b"BEGIN:VEVENT\r\nEND:VEVENT\r\n",
    "no event": b"BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n",
    "not ended": a_file("BEGIN:VALARM"),
    "no line": a_file("SUMMARY"),
    "no identity": a_file().replace(b"UID", b"DIU"),
    "no moment": a_file("DTSTART:20260230"),
    "no zone": a_file("DTSTART;TZID=../../etc/passwd:20260105T100000"),
    "no rule": a_file("RRULE:weekly"),
    "no text": a_file("SUMMARY:\xff").decode("utf-8").encode("latin-1"),
    "too long": a_file("DESCRIPTION:" + "x" * 300_000),
    "too many lines": a_file(*["X:y"] * 6000),
    "a zone without an offset": a_file_with_a_zone(OFFICE.replace("TZOFFSETTO:+0100\n", "")),
    "a zone of a monthly rule": a_file_with_a_zone(OFFICE.replace("YEARLY", "MONTHLY")),
    "a zone without observances": a_file_with_a_zone("BEGIN:VTIMEZONE\nTZID:x\nEND:VTIMEZONE"),
    "a zone of many observances": a_file_with_a_zone(OFFICE.replace("END:STANDARD\n", "END:STANDARD\n" + MORE * 100)),
    "too deep": a_file(*["BEGIN:X"] * 50, *["END:X"] * 50),
    "options without an end": a_file("SUMMARY" + ';a="' * 20_000),
}


@pytest.mark.parametrize("data", WRECKAGE.values(), ids=WRECKAGE)
def test_an_invalid_calendar_counts_against_the_agent_on_either_side_of_a_not(data):
    views = JudgeInput({"calendar": FileTree({f"{HOME}/plans/e1.ics": Node("file", data)})})
    holds.wins_nothing(views, "eventExists", summary="Plan")


def test_a_link_is_wreckage_and_what_is_hidden_or_elsewhere_is_not_looked_at():
    link = JudgeInput({"calendar": FileTree({f"{HOME}/plans/e1.ics": Node("symlink", target="/etc/passwd")})})
    assert holds.denied(link, "eventExists", summary="x") is Verdict.FALSE
    hidden = [f"{HOME}/plans/.Radicale.cache/item/e1.ics", f"{HOME}/.hidden/e1.ics", "collection-root/bob/plans/e1.ics"]
    views = JudgeInput({"calendar": FileTree({path: Node("file", b"x") for path in hidden})})
    assert holds(views, "eventCount", count=0)


def test_events_of_whole_days_touch_the_days_that_they_cover():
    views = calendars({"work": [Item("event", "e1", "Away", "2026-01-05", "2026-01-07")]})
    assert holds(views, "countOnDay", day="2026-01-06", count=1)
    assert holds(views, "countOnDay", day="2026-01-07", count=0)
    assert not holds(views, "isFree", start="2026-01-06T10:00:00Z", end="2026-01-06T11:00:00Z")
    assert holds(views, "noOverlap")


def test_events_that_only_meet_do_not_overlap():
    next_one = Item("event", "e2", "Next", "2026-01-05T11:00:00Z", "2026-01-05T12:00:00Z")
    assert holds(calendars({"work": [PLAN], "home": [next_one]}), "noOverlap")
    inside = Item("event", "e3", "In", "2026-01-05T10:30:00Z", "2026-01-05T10:30:00Z")
    assert not holds(calendars({"work": [PLAN, inside]}), "noOverlap")


def test_two_events_of_one_title_match_no_single_event():
    views = calendars({"work": [PLAN], "home": [Item("event", "e2", "Plan", PLAN.start, PLAN.end)]})
    assert not holds(views, "attendeesAre", summary="Plan", attendees=[])
    assert holds(views, "attendeesAre", summary="Plan", attendees=[], calendar="home")


def test_a_moment_has_one_text():
    assert normal("2026-01-05T11:00:00+01:00") == "2026-01-05T10:00:00Z"
    assert later("2026-01-31", datetime.timedelta(days=1)) == "2026-02-01"
    with pytest.raises(ValueError, match="10:00"):
        normal("2026-01-05T10:00:00")
