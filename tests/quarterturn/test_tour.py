"""Tests of the tour: five journeys of at most ten stops, each stop a file that exists."""

import re
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOUR = ROOT / "docs" / "tour" / "README.md"
JOURNEYS = 5
MAX_STOPS = 12
STOP = re.compile(r"^(\d+)\. \[([^\]]+)\]\(([^)]+)\) (.+)$")


def journeys() -> dict[str, list[str]]:
    """Return the numbered lines of each journey by its heading."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in TOUR.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
            found[heading] = []
        elif heading and line:
            found[heading].append(line)
    return found


def test_the_tour_is_five_journeys_of_at_most_twelve_stops():
    tour = journeys()
    assert [heading.split(".")[0] for heading in tour] == [str(number) for number in range(1, JOURNEYS + 1)]
    assert all(1 < len(stops) <= MAX_STOPS for stops in tour.values())


def test_each_stop_is_one_file_that_exists():
    for heading, stops in journeys().items():
        for number, line in enumerate(stops, 1):
            stop = STOP.match(line)
            assert stop, f"{heading}: a stop is `N. [path](link) what happens there`: {line}"
            place, name, link, _ = stop.groups()
            assert int(place) == number
            assert link == f"../../{name}"
            assert (ROOT / name).is_file(), f"{heading}: there is no file {name}"


def test_no_journey_stops_twice_in_a_row_at_one_file():
    for stops in journeys().values():
        files = [match[2] for match in map(STOP.match, stops) if match]
        assert all(one != other for one, other in pairwise(files))
