"""Tests of frozen agents: each is submitted once a month, never under another's name; a missing run is told of."""

import json
from datetime import UTC, datetime

import pytest
from sqlmodel import Session, select

from quarterturn.errors import Malformed
from quarterturn.notices.tables import NoticeRow
from quarterturn.settings import Settings, dump, load, parse

pytestmark = pytest.mark.slow

NOVEMBER, DECEMBER = datetime(2026, 12, 20, tzinfo=UTC), datetime(2027, 1, 2, tzinfo=UTC)
IMAGE, OTHER = ("sha256:" + digit * 64 for digit in "ab")
MODEL = {"wire": "openai", "url": "https://models.example/v1", "models": ["small-1"]}


@pytest.fixture
def opened(live, opened):
    """Open the home at a moment, with these frozen agents in its settings; several calls stand for processes."""

    def at(now=NOVEMBER, **images):
        path = live / "quarterturn.toml"
        tables = {name: {"image": image} for name, image in images.items()}
        path.write_text(dump(Settings.model_validate({**load(path).model_dump(), "frozen_agents": tables})))
        return opened(live, lambda: now)

    return at


def submitted(house):
    return [(one.account, one.reference, one.month, one.tasks) for one in house.submissions.store.unfinished()]


def told(house):
    with Session(house.home.engine) as session:
        rows = session.exec(select(NoticeRow.content).where(NoticeRow.key.startswith("agent.missing/"))).all()
    return [(json.loads(row) if isinstance(row, str) else row)["lines"][0] for row in rows]


def test_each_is_submitted_once_a_month_by_whoever_looks_first(opened):
    house = opened(calm=IMAGE, steady=OTHER)
    house.month.clock.look()
    house.month.clock.look()
    opened(calm=IMAGE, steady=OTHER).month.clock.look()
    month = str(house.benchmark.months.live_month())
    both = [("calm", IMAGE, month, "private"), ("steady", OTHER, month, "private")]
    assert (submitted(house), told(house)) == (both, [])
    later = opened(DECEMBER, calm=IMAGE)
    later.month.clock.look()
    assert str(later.benchmark.months.live_month()) > month, "the clock has turned the month"
    assert submitted(later) == [*both, ("calm", IMAGE, str(later.benchmark.months.live_month()), "private")]


def test_another_agent_under_its_name_is_refused_with_a_notice(opened):
    opened(calm=IMAGE).month.clock.look()
    house = opened(calm=OTHER)
    house.month.clock.look()
    assert [reference for _, reference, *_ in submitted(house)] == [IMAGE]
    month = house.benchmark.months.live_month()
    assert told(house) == [
        f"It was not submitted: a frozen agent never changes, and that of {month} had another image or model; give "
        "the new one a name of its own."
    ]


def test_one_that_fails_is_told_of_once_and_not_submitted_again(opened):
    house = opened(calm=IMAGE)
    house.month.clock.look()
    (made,) = house.submissions.store.unfinished()
    assert house.submissions.queue.finish(house.submissions.queue.claim("worker"), "not-found")
    house.month.clock.look()
    house.month.clock.look()
    assert told(house) == [
        f"Its submission {made.id} ended with the code not-found. The image, model or address was not found: push it "
        "or correct the name."
    ]
    assert submitted(house) == []


def test_one_that_no_worker_played_is_told_of_once_the_month_has_turned(opened):
    house = opened(calm=IMAGE)
    house.month.clock.look()
    month = house.benchmark.months.live_month()
    assert told(house) == []
    later = opened(DECEMBER, calm=IMAGE)
    later.month.clock.look()
    later.month.clock.look()
    assert told(later) == ["It was submitted, and no worker played it before the month turned."]
    with Session(later.home.engine) as session:
        assert session.exec(select(NoticeRow.key).where(NoticeRow.key == f"agent.missing/calm/{month}")).all()


def test_one_beyond_the_quota_of_all_is_told_of(opened):
    house = opened(calm=IMAGE)
    service = house.home.settings.service.model_copy(update={"private_in_all": 0})
    house.home.settings = house.home.settings.model_copy(update={"service": service})
    house.month.clock.look()
    (why,) = told(house)
    assert why.startswith("It was not submitted: all 0 private runs of ")
    assert submitted(house) == []


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"calm": {"image": "agent:1"}}, "'frozen_agents.calm.image' is wrong: 'agent:1' has no digest"),
        ({"calm": {"image": f"../{IMAGE}"}}, "'frozen_agents.calm.image' is wrong: '../"),
        (
            {"calm": {"image": IMAGE, "modell": "g"}},
            "'frozen_agents.calm.modell' is not a setting; did you mean 'model'",
        ),
        ({"Calm": {"image": IMAGE}}, "frozen_agents.Calm"),
        ({"calm": {"image": IMAGE, "model": "gpt"}}, "frozen_agents.calm.model names 'gpt', which is no [models.gpt]"),
        (
            {"calm": {"image": IMAGE, "model": "judge"}},
            "frozen_agents.calm.model names 'judge', which is no [models.judge] that agents may use",
        ),
    ],
)
def test_a_wrong_table_is_refused_with_its_place(table, sentence):
    document = {
        "benchmark": {"first_month": "2026-12"},
        "models": {"judge": MODEL},
        "claim_judge": {"upstream": "judge", "model": "small-1"},
        "frozen_agents": table,
    }
    with pytest.raises(Malformed) as refused:
        parse(document, "quarterturn.toml")
    assert sentence in str(refused.value)
