"""Tests of the occurrences of series: equal ones are equal however they are written, and none costs without bound."""

import datetime
import itertools
import random
from pathlib import Path

import pytest
import yaml
from dateutil.rrule import rrulestr

from verifiers.budget import ReadingBudget
from verifiers.language.verdict import Verdict
from verifiers.states.calendar.entries import HOME
from verifiers.states.calendar.ics import MAX_STEPS, read_items
from verifiers.states.calendar.rules import DAYS, CalendarRefused, list_starts, read_rule
from verifiers.states.readers import read
from verifiers.tree import FileTree, JudgeInput, Node

from .builders import Asked
from .test_frame import framed

holds = Asked("calendar")
FOREIGN = yaml.safe_load((Path(__file__).parents[1] / "vectors" / "calendars.yaml").read_text(encoding="utf-8"))


def event(*lines, start="DTSTART:20260106T090000Z", uid="e1"):
    length = "DURATION:PT1H" if "T0" in start else "DURATION:P1D"
    return ["BEGIN:VEVENT", f"UID:{uid}", "SUMMARY:Yoga", start, length, *lines, "END:VEVENT"]


def change(*lines, of="20260120T090000Z", uid="e1"):
    return ["BEGIN:VEVENT", f"UID:{uid}", f"RECURRENCE-ID:{of}", "SUMMARY:Yoga", *lines, "END:VEVENT"]


def file(*components):
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", *itertools.chain(*components), "END:VCALENDAR", ""]).encode()


def left(*files, **others):
    """Return views of calendars: `work` with these files, and others by name."""
    nodes = {f"{HOME}/work/{place}.ics": Node("file", data) for place, data in enumerate(files)}
    nodes |= {f"{HOME}/{name}/0.ics": Node("file", data) for name, data in others.items()}
    return JudgeInput({"calendar": FileTree(nodes)})


@pytest.mark.parametrize("vector", FOREIGN, ids=[vector["manner"].split(",")[0] for vector in FOREIGN])
def test_files_in_the_manner_of_other_programs_are_read_rightly(vector):
    data = vector["file"].replace("\n", "\r\n").encode()
    items = read_items(data)
    made = [[item.kind, item.summary, item.start, item.end, item.status] for item in items]
    assert made == [[str(part) for part in item] for item in vector["right"]]
    series = [item.series.occurrences for item in items if item.series]
    assert [part for texts in series for part in (texts[0], texts[-1], len(texts))] == vector.get("series", [])


FIVE = ["RRULE:FREQ=WEEKLY;COUNT=5"]
BETWEEN = [f"20260{1 + day // 32}{(day - 1) % 31 + 1:02}" for day in range(7, 34) if day not in {13, 20, 27}]
TWINS = [
    FIVE,
    ["RRULE:FREQ=WEEKLY;BYDAY=TU;INTERVAL=1;WKST=SU;COUNT=5"],
    ["RRULE:FREQ=WEEKLY;UNTIL=20260203T090000Z"],
    ["RRULE:FREQ=WEEKLY;UNTIL=20260203"],
    ["RRULE:FREQ=WEEKLY;UNTIL=2026-02-03T23:59:59Z"],
    ["RRULE:FREQ=DAILY;INTERVAL=7;COUNT=5"],
    ["RRULE:FREQ=HOURLY;INTERVAL=168;COUNT=5"],
    ["RRULE:FREQ=DAILY;BYDAY=TU;COUNT=5"],
    ["RRULE:FREQ=MONTHLY;BYDAY=TU;COUNT=5"],
    ["RDATE:20260113T090000Z,20260120T090000Z", "RDATE:20260127T090000Z,20260203T090000Z"],
    ["RRULE:FREQ=WEEKLY;COUNT=4", "RDATE:20260203T100000Z", "EXDATE:20260203T100000Z", "RDATE:20260203T090000Z"],
    ["RRULE:FREQ=WEEKLY;COUNT=6", "EXDATE;VALUE=DATE:20260210"],
    ["RRULE:FREQ=DAILY;COUNT=29", f"EXDATE;VALUE=DATE:{','.join(BETWEEN)}"],
    ["DTEND:20260106T100000Z", *FIVE],
]
OTHERS = [
    [],
    ["RRULE:FREQ=WEEKLY"],
    ["RRULE:FREQ=WEEKLY;COUNT=4"],
    ["RRULE:FREQ=WEEKLY;COUNT=6"],
    ["RRULE:FREQ=WEEKLY;UNTIL=20260203T085959Z"],
    ["RRULE:FREQ=WEEKLY;COUNT=5;BYDAY=TU,WE,TH"],
    ["RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=5"],
    ["RRULE:FREQ=DAILY;COUNT=5"],
    [*FIVE, "EXDATE:20260120T090000Z"],
    [*FIVE, "RDATE:20260107T090000Z"],
    [*FIVE, "END:VEVENT", *change("DTSTART:20260121T090000Z", "DURATION:PT1H")[:-1]],
    [*FIVE, "END:VEVENT", *change("DTSTART:20260120T090000Z", "DURATION:PT2H")[:-1]],
    [*FIVE, "END:VEVENT", *change("STATUS:CANCELLED")[:-1]],
]


@pytest.mark.parametrize("lines", TWINS)
def test_series_with_the_same_occurrences_are_equal(lines):
    views = left(file(event(*lines)))
    assert holds(views, "eventRepeats", summary="Yoga", frequency="WEEKLY", count=5)
    assert holds(views, "eventRepeats", summary="Yoga", frequency="DAILY", interval=7)


@pytest.mark.parametrize("lines", OTHERS)
def test_series_with_other_occurrences_are_not(lines):
    views = left(file(event(*lines)))
    assert holds.evidence(views, "eventRepeats", summary="Yoga", frequency="WEEKLY", count=5).verdict is Verdict.FALSE


@pytest.mark.parametrize("zone", ["", ";TZID=Europe/Berlin"])
def test_a_series_repeats_by_the_clock_of_its_zone(zone):
    views = left(file(event("RRULE:FREQ=WEEKLY;COUNT=8", start=f"DTSTART{zone}:20260303T090000{'' if zone else 'Z'}")))
    assert holds(views, "eventRepeats", summary="Yoga", frequency="WEEKLY", count=8)
    summer = "2026-03-31T07:30:00Z" if zone else "2026-03-31T09:30:00Z"
    assert not holds(views, "isFree", start=summer, end=summer)


BUSY = [
    ([], False),
    (["STATUS:TENTATIVE"], False),
    (["STATUS:CANCELLED"], True),
    (["TRANSP:TRANSPARENT"], True),
    (["TRANSP:OPAQUE"], False),
    (["EXDATE:20260120T090000Z"], True),
    (["END:VEVENT", *change("DTSTART:20260121T090000Z", "DURATION:PT1H")[:-1]], True),
    (["END:VEVENT", *change("STATUS:CANCELLED", "DTSTART:20260120T090000Z")[:-1]], True),
    (["END:VEVENT", *change("TRANSP:TRANSPARENT", "DTSTART:20260120T090000Z", "DURATION:PT1H")[:-1]], True),
]


@pytest.mark.parametrize(("lines", "free"), BUSY)
def test_an_occurrence_takes_time_as_its_series_or_its_own_change_says(lines, free):
    series = event("RRULE:FREQ=WEEKLY;COUNT=5", *lines)
    at = {"start": "2026-01-20T09:30:00Z", "end": "2026-01-20T10:30:00Z"}
    assert holds(left(file(series)), "isFree", **at) is free
    other = event(start="DTSTART:20260120T093000Z", uid="e2")
    assert holds(left(file(series), file(other)), "noOverlap", day="2026-01-20") is free
    assert holds(left(file(series), file(other)), "noOverlap") is free
    there = 1 if not free or "TRANSPARENT" in str(lines) else 0
    assert holds(left(file(series)), "countOnDay", day="2026-01-20", count=there)


def test_an_event_of_whole_days_takes_them_unless_it_says_otherwise():
    days = event("RRULE:FREQ=MONTHLY;COUNT=3", start="DTSTART;VALUE=DATE:20260106")
    at = {"start": "2026-03-06T09:00:00Z", "end": "2026-03-06T10:00:00Z"}
    assert not holds(left(file(days)), "isFree", **at)
    assert holds(left(file([*days[:-1], "TRANSP:TRANSPARENT", days[-1]])), "isFree", **at)


@pytest.mark.parametrize(("day", "left_over"), [("20260106", 2), ("20260107", 3), ("20260113", 2)])
def test_a_day_takes_away_what_begins_on_it_by_the_clock_of_the_series(day, left_over):
    late = "DTSTART;TZID=America/Los_Angeles:20260106T160000"  # midnight of the next day, in UTC
    (item,) = read_items(file(event("RRULE:FREQ=WEEKLY;COUNT=3", f"EXDATE;VALUE=DATE:{day}", start=late)))
    assert len(item.series.occurrences) == left_over


def test_an_absent_event_has_no_occurrence_then():
    views = left(file(event(*FIVE)))
    assert not holds(views, "eventAbsent", summary="Yoga", start="2026-02-03T09:00:00Z")
    assert holds(views, "eventAbsent", summary="Yoga", start="2026-02-10T09:00:00Z")


def test_a_series_that_goes_on_is_known_for_years_and_then_counts_against_whoever_asks():
    views = left(file(event("RRULE:FREQ=DAILY")))
    assert not holds(views, "isFree", start="2031-01-01T09:00:00Z", end="2031-01-01T09:30:00Z")
    holds.wins_nothing(views, "isFree", start="2041-01-01T00:00:00Z", end="2041-01-01T01:00:00Z")


def test_one_unreadable_file_is_no_fault_of_its_neighbours():
    sound, broken = file(event()), b"BEGIN:VCALENDAR\r\nnot a line\r\nEND:VCALENDAR\r\n"
    views = left(sound, home=broken)
    assert holds(views, "eventExists", summary="Yoga")
    assert holds(views, "eventCount", count=1, calendar="work")
    told = holds.evidence(views, "eventExists", summary="Yoga", calendar="home")
    assert (told.verdict, "home/0.ics" in told.found) == (Verdict.FALSE, True)
    for name, arguments in {
        "eventAbsent": {"summary": "Tea"},
        "eventCount": {"count": 1},
        "todoAbsent": {"summary": "x"},
    }.items():
        holds.wins_nothing(views, name, **arguments)
    holds.wins_nothing(left(sound, broken), "eventExists", summary="Yoga", calendar="work")
    assert framed(views, views).verdict is Verdict.TRUE
    assert framed(views, left(sound)).found.endswith("home: file 0.ics, added")
    assert framed(left(sound, home=broken.replace(b"not", b"now")), views).found.endswith(
        "home: file 0.ics, digest changed"
    )


@pytest.mark.parametrize(
    ("lines", "changed"),
    [
        (["TRANSP:TRANSPARENT"], "status"),
        (["EXDATE:20260120T090000Z"], "repeats"),
        (
            ["END:VEVENT", *change("DTSTART:20260120T090000Z", "DURATION:PT1H", "LOCATION:Bern")[:-1]],
            "changed occurrences",
        ),
    ],
)
def test_the_frame_sees_what_changes_in_a_series_and_not_how_it_is_written(lines, changed):
    before = left(file(event(*FIVE)))
    assert framed(left(file(event(*FIVE, *lines))), before).found.endswith(f"work: event e1, {changed} changed")
    for twin in TWINS:
        assert framed(left(file(event(*twin))), before).verdict is Verdict.TRUE


MANY = ",".join(f"202601{1 + place // 1440:02}T{place // 60 % 24:02}{place % 60:02}00Z" for place in range(10_000))
HOSTILE = {
    "each second for ten thousand years": ["RRULE:FREQ=SECONDLY;UNTIL=99991231T000000Z"],
    "each minute": ["RRULE:FREQ=MINUTELY"],
    "a day that never comes": ["RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"],
    "a day that never comes, looked for each day": ["RRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"],
    "a place that no year has": ["RRULE:FREQ=YEARLY;BYDAY=MO;BYSETPOS=366"],
    "all parts at once": [
        f"RRULE:FREQ=YEARLY;BYDAY={','.join(DAYS)};BYYEARDAY={','.join(map(str, range(1, 367)))};BYSETPOS=366"
        ";BYHOUR=1,2,3,4,5,6,7,8,9,10;BYMINUTE=1,2,3,4,5,6,7,8,9,10"
    ],
    "every second of a day": [f"RRULE:FREQ=DAILY;BYSECOND={','.join(map(str, range(60)))};BYMINUTE=1,2"],
    "two rules": ["RRULE:FREQ=DAILY", "RRULE:FREQ=WEEKLY"],
    "ten thousand dates": [f"RDATE:{MANY}"],
    "a count of thousands of digits": ["RRULE:FREQ=DAILY;COUNT=" + "9" * 5000],
    "an interval of no days": ["RRULE:FREQ=DAILY;INTERVAL=0"],
    "a count of none": ["RRULE:FREQ=DAILY;COUNT=0"],
}


@pytest.mark.parametrize("lines", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_series_costs_little_and_is_a_fault_of_its_file(lines):
    views = left(file(event(*lines)), home=file(event(uid="e2")))
    budget = ReadingBudget()
    state = read("calendar", views.states["calendar"], budget)
    assert budget.steps < 2 * MAX_STEPS
    ((place, name, reason, _),) = state.document["unreadable"]
    assert (place, name, bool(reason)) == ("work", "0.ics", True)
    assert holds(views, "eventExists", summary="Yoga", calendar="home")
    holds.wins_nothing(views, "eventRepeats", summary="Yoga", frequency="DAILY", calendar="work")


@pytest.mark.parametrize("scope", ["", ";RANGE=THISANDFUTURE"])
def test_a_thousand_changes_of_one_series_cost_no_more_than_their_number(scope):
    changes = [
        ["BEGIN:VEVENT", "UID:e1", f"RECURRENCE-ID{scope}:{moment}", f"DTSTART:{moment}", "END:VEVENT"]
        for moment in MANY.split(",")[:900]
    ]
    budget = ReadingBudget()
    (item,) = read_items(file(event("RRULE:FREQ=DAILY"), *changes), budget)
    assert len(item.series.occurrences) > 2000
    assert budget.steps < 4 * MAX_STEPS


def a_rule(draw):
    """Draw a rule of which python-dateutil and RFC 5545 think alike."""
    frequency = draw.choice(["DAILY", "WEEKLY", "MONTHLY", "YEARLY", "HOURLY"])
    long = frequency in {"MONTHLY", "YEARLY"}
    numbers = {
        "BYMONTH": (range(1, 13), 4, True),
        "BYMONTHDAY": ([*range(1, 32), -1, -2, -31], 4, frequency != "WEEKLY"),
        "BYYEARDAY": ([1, 60, 100, 200, 365, 366, -1, -366], 3, frequency in {"DAILY", "YEARLY"}),
        "BYHOUR": (range(24), 2, True),
        "BYMINUTE": (range(60), 2, frequency != "HOURLY"),
        "BYSETPOS": ([1, 2, -1, -2, 3], 2, long),
    }
    rule = {"FREQ": frequency, "INTERVAL": str(draw.choice([1, 1, 2, 3, 5, 7, 13])), "WKST": draw.choice(DAYS)}
    for name, (choices, most, possible) in numbers.items():
        if possible and draw.random() < 0.3:
            rule[name] = ",".join(map(str, draw.sample(choices, draw.randint(1, most))))
    if draw.random() < 0.4:
        places = draw.choice([[""], ["1", "2", "-1", "+3"] if long else [""]])
        rule["BYDAY"] = ",".join(draw.choice(places) + day for day in draw.sample(DAYS, draw.randint(1, 3)))
    return rule


@pytest.mark.parametrize("rules", [20, pytest.param(120, marks=pytest.mark.full)])
def test_rules_have_the_occurrences_that_another_library_finds(rules):
    draw, compared = random.Random(f"{rules} rules"), 0
    while compared < rules:
        rule = a_rule(draw)
        first = datetime.datetime(draw.randint(1990, 2030), draw.randint(1, 12), draw.randint(1, 28), 9, 30)  # noqa: DTZ001
        try:
            ours = list(itertools.islice(list_starts(read_rule(rule), first, ReadingBudget(10**7)), 20))
        except CalendarRefused:
            continue
        text = ";".join(f"{name}={value}" for name, value in rule.items())
        theirs = (moment for moment in rrulestr(text, dtstart=first) if moment > first)
        assert ours == [first, *itertools.islice(theirs, 19)], text
        compared += 1
