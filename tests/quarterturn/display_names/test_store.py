"""Tests of display names as they are chosen, given up and removed: no name ever means two owners' agents."""

from datetime import UTC, datetime, timedelta

import pytest

from quarterturn.display_names.rules import ReservedName
from quarterturn.display_names.store import MAX_NAMES, NamedAgent
from quarterturn.errors import Malformed, NameTaken, NotFound, OverQuota
from quarterturn.submissions.store.requests import SubmissionRequest

from ..conftest import with_submitters

both = pytest.mark.both_databases

NOW = datetime(2026, 12, 5, 10, tzinfo=UTC)


@pytest.fixture
def house(home, opened):
    """Return a home in which ada has three agents, one of them an endpoint, and bob one of the same name."""
    seconds = iter(range(10**6))
    house = opened(home, lambda: NOW + timedelta(seconds=next(seconds)))
    with_submitters(house, "ada", "bob", "countess")
    for account, request in (
        ("ada", SubmissionRequest("dev", image="ada/mine:1")),
        ("ada", SubmissionRequest("dev", image="ada/mine:2")),
        ("ada", SubmissionRequest("dev", image="registry.example/ada/other@sha256:" + "0" * 64)),
        ("ada", SubmissionRequest("dev", endpoint="https://agent.example.org/tasks")),
        ("bob", SubmissionRequest("dev", image="bob/mine:1")),
    ):
        house.submissions.store.take(account, request, month="2026-12")
    return house


def test_versions_of_an_image_are_one_agent_and_have_one_name(house):
    assert [agent.agent for agent in house.submissions.display_names.of("ada")] == [
        "agent-example-org",
        "mine",
        "other",
    ]
    assert house.submissions.display_names.choose("ada", "mine", "Falcon") == NamedAgent("mine", "Falcon", None)
    assert house.submissions.display_names.choose("bob", "mine", "Heron").display_name == "Heron"
    assert house.submissions.display_names.shown() == {("ada", "mine"): "Falcon", ("bob", "mine"): "Heron"}
    assert house.submissions.display_names.of("countess") == []


def test_nobody_takes_a_name_that_somebody_has_or_one_that_looks_like_it(house):
    house.submissions.display_names.choose("ada", "mine", "Falcon")
    for name in ("Falcon", "FALCON", "fal-con", "Fa1con", "Falc0n"):
        for account, agent in (("bob", "mine"), ("ada", "other")):
            with pytest.raises(NameTaken):
                house.submissions.display_names.choose(account, agent, name)
    assert house.submissions.display_names.shown() == {("ada", "mine"): "Falcon"}


def test_an_owner_changes_the_case_of_a_name_and_choosing_it_again_changes_nothing(house):
    for name in ("Falcon", "falcon", "falcon"):
        assert house.submissions.display_names.choose("ada", "mine", name).display_name == name


@both
def test_a_former_name_stays_its_owners(house):
    house.submissions.display_names.choose("ada", "mine", "Falcon")
    house.submissions.display_names.choose("ada", "mine", "Heron")
    with pytest.raises(NameTaken):
        house.submissions.display_names.choose("bob", "mine", "Falcon")
    house.submissions.display_names.choose("ada", "other", "Falcon")
    assert house.submissions.display_names.shown() == {("ada", "mine"): "Heron", ("ada", "other"): "Falcon"}


def test_a_name_that_is_given_up_is_shown_no_more_and_stays_its_owners(house):
    house.submissions.display_names.choose("ada", "mine", "Falcon")
    for _ in range(2):
        assert house.submissions.display_names.give_up("ada", "mine") == NamedAgent("mine", None, None)
    with pytest.raises(NameTaken):
        house.submissions.display_names.choose("bob", "mine", "Falcon")
    assert house.submissions.display_names.choose("ada", "mine", "Falcon").display_name == "Falcon"


def test_a_removed_name_is_nobodys_and_its_owner_may_choose_another(house):
    house.submissions.display_names.choose("ada", "mine", "Falcon")
    assert house.submissions.display_names.remove("ada", "mine", by="mara") == NamedAgent("mine", None, "Falcon")
    for account in ("ada", "bob"):
        with pytest.raises(NameTaken):
            house.submissions.display_names.choose(account, "mine", "falcon")
    assert house.submissions.display_names.shown() == {}
    assert house.submissions.display_names.choose("ada", "mine", "Heron") == NamedAgent("mine", "Heron", None)
    house.submissions.display_names.remove("ada", "mine", by="mara")
    with pytest.raises(NotFound, match="ada/mine"):
        house.submissions.display_names.remove("ada", "mine", by="mara")


def test_nobody_takes_the_name_of_another_account_and_anybody_their_own(house):
    for name in ("bob", "B.o.b", "B0B", "Countess"):
        with pytest.raises(NameTaken):
            house.submissions.display_names.choose("ada", "mine", name)
    assert house.submissions.display_names.choose("ada", "mine", "Ada").display_name == "Ada"


def test_a_name_is_for_an_agent_that_the_account_has_submitted(house):
    for account, agent in (("ada", "mine-2"), ("countess", "mine"), ("bob", "other"), ("nobody", "mine")):
        with pytest.raises(NotFound):
            house.submissions.display_names.choose(account, agent, "Falcon")
        with pytest.raises(NotFound):
            house.submissions.display_names.give_up(account, agent)


def test_a_name_of_another_form_or_a_reserved_one_takes_nothing(house):
    for name, error in (("<b>", Malformed), ("official", ReservedName)):
        with pytest.raises(error):
            house.submissions.display_names.choose("ada", "mine", name)
    assert house.submissions.display_names.shown() == {}


@both
def test_an_account_cannot_hoard_names(house):
    words = [f"Falcon {letter}" for letter in "abcdefghjkmnpqrstuvwxyz"]
    for name in words[:MAX_NAMES]:
        house.submissions.display_names.choose("ada", "mine", name)
    with pytest.raises(OverQuota, match=str(MAX_NAMES)):
        house.submissions.display_names.choose("ada", "mine", words[MAX_NAMES])
    assert house.submissions.display_names.choose("ada", "mine", words[0]).display_name == words[0]
    assert house.submissions.display_names.choose("bob", "mine", words[MAX_NAMES]).display_name == words[MAX_NAMES]
