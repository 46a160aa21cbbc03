"""Tests of the rotation page: each cohort from fresh to sunset to published, and the date of the next turn."""

import json
import re

from quarterturn.pages import rotation, templates


def cohort(retires, entered, state="live"):
    return {
        "id": f"cohort-{retires}", "state": state, "entered": entered, "retires": retires, "tasks": 50,
        "public_grammar": False,
    }  # fmt: skip


TURN = {
    "month": "2026-12",
    "started_at": "2027-01-01T00:00:05Z",
    "finished": True,
    "release": "Historical-2026-12",
}
LIVE = {
    "benchmark": {"origin": "bench.example/log", "first_month": "2026-12"},
    "live": "2027-01",
    "next": {"turn": "2027-01", "due": "2027-02-01T00:00:00Z"},
    "turns": [TURN],
    "cohorts": [
        cohort("2026-12", "2026-12", "published"),
        *(cohort(month, "2026-12") for month in ("2027-01", "2027-02", "2027-03")),
        cohort("2027-04", "2027-01"),
    ],
}
BEFORE = LIVE | {"live": None, "turns": [], "cohorts": [], "next": {"turn": "2026-11", "due": "2026-12-01T00:00:00Z"}}


def drawn(found, cohort):
    return re.search(rf'title="{cohort}".*?</svg>.*?</div>', found, re.DOTALL)[0]


def test_a_cohort_sinks_from_fresh_to_sunset_and_ends_in_a_ring():
    page = rotation.page(LIVE)
    newest, oldest = drawn(page, "2027-04"), drawn(page, "2026-12")
    assert re.findall(r'<rect class="(fresh|second|third|sunset)"', newest) == ["fresh", "second", "third", "sunset"]
    assert re.findall(r'<rect class="(fresh|second|third|sunset)"', oldest) == ["sunset"]
    assert ("<circle" in oldest, "<circle" in newest) == (True, False)
    told = [re.search(r'class="told"><span>(\w+)', drawn(page, month))[1] for month in ("2026-12", "2027-01")]
    assert told == ["published", "sunset"]


def test_it_says_when_the_next_turn_is_due_and_what_leaves_with_it():
    text = re.sub(r"\s+", " ", re.sub("<.*?>", "", rotation.page(LIVE)))
    assert "due on 2027-02-01 00:00 UTC. Then cohort-2027-01 retires and its 50 tasks" in text
    assert "No cohort is live" in rotation.page(BEFORE)


def test_two_cohorts_of_which_one_retires_each_half_year_are_fresh_or_sunset():
    cohorts = [cohort("2027-05", "2026-12"), cohort("2027-11", "2026-12")]
    page = rotation.page(LIVE | {"cohorts": cohorts})
    assert set(re.findall(r'<rect class="(fresh|second|third|sunset)"', drawn(page, "2027-05"))) == {"sunset"}
    assert "live for 12 months, from fresh to sunset" in page
    assert "No cohort retires then: cohort-2027-05 is the next one" in page


def test_years_of_cohorts_are_all_in_the_table_and_the_newest_in_the_picture():
    many = [cohort(f"{2027 + n // 12}-{n % 12 + 1:02d}", f"{2027 + n // 12}-{n % 12 + 1:02d}") for n in range(40)]
    found = LIVE | {"cohorts": many, "live": many[-1]["retires"]}
    assert rotation.page(found).count('class="drawn"') - 1 == rotation.BEFORE + 1
    assert len(json.loads(rotation.grids(found)["cohorts"].as_json())["cohorts"]) == 40


def test_published_cohorts_are_linked():
    assert 'href="/release/Historical-2026-12"' in rotation.page(LIVE)


def test_no_two_ages_share_a_colour():
    rules = re.findall(r"\.(fresh|second|third|sunset){fill:(var\(--\w+\))", templates.style().decode())
    assert [name for name, _ in rules] == ["fresh", "second", "third", "sunset"]
    assert len({colour for _, colour in rules}) == 4
