"""Tests of display names over HTTP: chosen by owners, removed by maintainers, shown to everybody on every month."""

import html
import json
import logging
import re
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from quarterturn.app import Application
from quarterturn.display_names.store import MAX_NAMES
from quarterturn.submissions.store.requests import SubmissionRequest

from ..conftest import made_once
from .conftest import NOW, play, turned_from

pytestmark = pytest.mark.slow

HERE = {"sec-fetch-site": "same-origin"}


@pytest.fixture
def named(live, templates, tmp_path, serve):
    """Serve a home where the agents `ada/agent` and `bob/agent` are on the leaderboard; they are played once."""

    def play_two(folder):
        with closing(Application(Path(shutil.copytree(live, folder)), None, lambda: NOW)) as house:
            for place, account in enumerate(("ada", "bob")):
                request = SubmissionRequest("dev", image=f"registry.example/{account}/agent:1")
                house.auth.accounts.create(account, "submitter")
                house.submissions.store.take(account, request, month="2026-12")
                play(house, 12 - place, account)

    with serve(Path(shutil.copytree(made_once(templates / "named", play_two), tmp_path / "named"))) as site:
        site.account("ada"), site.account("bob")
        yield site


def choose(site, name, who="ada", agent="agent"):
    return site.ask("PUT", f"/display-names/{agent}", who, json={"name": name})


def shown(site, month=None):
    """Return what everybody is shown of each line: submitter, agent, display name."""
    lines = site.get("/leaderboard" + (f"?month={month}" if month else "")).json()["lines"]
    return sorted((line["submitter"], line["name"], line["display_name"]) for line in lines)


def heads(page):
    return [re.sub("<.*?>", "", row) for row in re.findall('<th scope="row"><a href="/agents/.*?</th>', page)]


def test_a_name_is_shown_to_everybody_and_changes_nothing_else(named):
    before = named.house.runs.leaderboard.of_month(named.house.benchmark.months.live_month())
    folder = named.house.home.places.view / "board"
    written = {path.name: path.read_bytes() for path in folder.iterdir()}
    log = named.get("/log/checkpoint").content
    assert shown(named) == [("ada", "agent", None), ("bob", "agent", None)]
    said = choose(named, "Falcon 7B")
    assert (said.status_code, said.json()) == (200, {"agent": "agent", "display_name": "Falcon 7B", "removed": None})
    assert shown(named) == [("ada", "agent", "Falcon 7B"), ("bob", "agent", None)]
    assert heads(named.get("/").text) == ["Falcon 7B ada/agent", "bob/agent"]
    assert "<h1>Falcon 7B</h1>" in (page := named.get("/agents/ada/agent").text)
    assert "Submitted as ada/agent" in page
    assert named.house.runs.leaderboard.of_month(named.house.benchmark.months.live_month()) == before
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == written
    assert named.get("/log/checkpoint").content == log
    assert named.house.submissions.view.behind() == []


def test_the_leaderboard_is_filtered_and_ordered_by_the_names_that_it_shows(named):
    choose(named, "Zebra"), choose(named, "Falcon", "bob")
    assert heads(named.get("/leaderboard/2026-12?sort=agent").text) == ["Falcon bob/agent", "Zebra ada/agent"]
    for text in ("zEb", "ada/"):
        assert heads(named.get(f"/leaderboard/2026-12?agent={text}").text) == ["Zebra ada/agent"]
    table = json.loads(named.get("/leaderboard/2026-12/docker.json").content)["docker"]
    assert [row["display_name"] for row in table] == ["Zebra", "Falcon"]


def test_a_name_of_an_agent_that_is_on_no_leaderboard_is_not_public(named):
    named.post("/submissions", {"image": "registry.example/ada/secret-project:1"}, "ada")
    assert choose(named, "Falcon", agent="secret-project").status_code == 200
    view = named.house.home.places.view / "names.json"
    assert json.loads(view.read_bytes()) == {"names": []}
    assert named.get("/agents/ada/secret-project").status_code == 404


def test_a_name_that_is_taken_says_so_and_nothing_of_who_has_it(named, problem):
    choose(named, "Falcon")
    for name in ("Fa1con", "Ada"):
        said = choose(named, name, "bob")
        assert (said.status_code, problem(said)) == (409, "conflict")
        assert (said.json()["state"], said.json()["field"], said.json()["given"]) == ("name-taken", "name", name)
        assert "ada" not in said.json()["detail"]
    assert shown(named)[1] == ("bob", "agent", None)


UNFIT = {"<b>Falcon</b>": "pattern", "F": "2", "F" * 41: "40", "The official agent": "official", 7: "string"}


def test_a_name_that_nobody_may_have_says_what_is_expected(named, problem):
    for name, expected in UNFIT.items():
        said = choose(named, name)
        assert (said.status_code, problem(said), said.json()["field"]) == (422, "invalid", "name")
        assert expected in said.text
    assert shown(named)[0] == ("ada", "agent", None)


def test_an_agent_that_the_caller_has_not_submitted_has_the_same_answer_as_none(named, problem):
    named.post("/submissions", {"image": "registry.example/bob/other:1"}, "bob")
    theirs, none = choose(named, "Falcon", agent="other"), choose(named, "Falcon", agent="nothing")
    assert (theirs.status_code, theirs.content) == (none.status_code, none.content)
    assert problem(theirs) == "not-found"
    assert named.ask("DELETE", "/display-names/other", "ada").status_code == 404
    agents = named.get("/display-names", "ada").json()["agents"]
    assert agents == [{"agent": "agent", "display_name": None, "removed": None}]


def test_a_maintainer_removes_a_name_for_good_and_that_is_logged(named, problem, caplog):
    choose(named, "Falcon")
    path = "/admin/display-names/ada/agent"
    for role in ("ada", "reviewer", "runner", "auditor", None):
        assert named.ask("DELETE", path, role).status_code == (401 if role is None else 403)
    with caplog.at_level(logging.INFO, "quarterturn.service"):
        assert named.ask("DELETE", path, "maintainer").json()["removed"] == "Falcon"
    assert "the display name of ada/agent was removed by maintainer" in caplog.text
    assert shown(named)[0] == ("ada", "agent", None)
    assert problem(choose(named, "falcon")) == "conflict"
    assert "The operator removed the name Falcon" in named.get("/mine", "ada").text
    assert named.ask("DELETE", path, "maintainer").status_code == 404
    assert choose(named, "Heron").json() == {"agent": "agent", "display_name": "Heron", "removed": None}


def test_an_account_has_so_many_names_and_no_more(named, problem):
    for letter in "abcdefghjkmnpqrstuvwx"[:MAX_NAMES]:
        assert choose(named, f"Falcon {letter}").status_code == 200
    said = choose(named, "Heron")
    assert (problem(said), said.json()["limit"]) == (
        "quota",
        {"name": "display_names", "value": MAX_NAMES, "unit": "names"},
    )
    assert choose(named, "Falcon a").status_code == 200


@pytest.mark.full
def test_past_months_show_the_name_of_today(live, templates, serve):
    with serve(turned_from(live, templates)) as turned:
        turned.account("ada")
        turned.post("/submissions", {"image": "registry.example/ada/agent:1"}, "ada")
        choose(turned, "Falcon")
        assert shown(turned, "2026-12") == [("ada", "agent", "Falcon")]
        release = turned.get("/releases/Historical-2026-12/files/README.md").text
        assert "Falcon" not in release


def send(site, who="ada", headers=HERE, **fields):
    given = {"agent": "agent", "name": "Falcon"} | fields
    return site.ask("POST", "/mine/display-name", who, data=given, headers=headers, follow_redirects=False)


def test_the_page_of_submissions_has_a_form_for_each_agent(named):
    said = send(named)
    assert (said.status_code, said.headers["location"]) == (303, "/mine#names")
    assert 'name="name" value="Falcon"' in named.get("/mine", "ada").text
    assert shown(named)[0] == ("ada", "agent", "Falcon")
    assert send(named, name="").status_code == 303
    assert shown(named)[0] == ("ada", "agent", None)
    assert named.ask("DELETE", "/display-names/agent", "ada").json()["display_name"] is None, "given up already"
    assert "Falcon" not in named.get("/").text
    assert "Names on the leaderboard" not in named.get("/mine", "submitter").text, "who has submitted nothing"


def test_a_mistake_is_told_in_the_form_and_changes_nothing(named):
    for name, words in {'"><b>': "A name has 2 to 40 ASCII letters", "Oracle": "reserved", "bob": "taken"}.items():
        said = send(named, name=name)
        assert said.status_code == 422
        (wrong,) = re.findall(r'id="name-1-wrong" role="alert">(.*?)<', said.text)
        assert words in html.unescape(wrong)
        assert "<b>" not in said.text.partition("names")[2].partition("</section>")[0]
    assert shown(named)[0] == ("ada", "agent", None)


def test_no_other_page_sends_the_form_and_nobody_names_an_agent_of_somebody_else(named):
    assert send(named, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert send(named, "auditor").status_code == 403
    assert send(named, None).status_code == 401
    assert send(named, agent="nothing").status_code == 404
    assert send(named, "bob").status_code == 303
    assert shown(named) == [("ada", "agent", None), ("bob", "agent", "Falcon")]
