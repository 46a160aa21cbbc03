"""Tests of the HTML pages: drawn from public data, linked to what exists, and nothing in them runs."""

import csv
import html
import io
import json
import re
from xml.etree import ElementTree

import pytest

from quarterturn.http.responses.html import PAGE
from quarterturn.http.routes.account_pages import LIVE

from .conftest import play, served_release

pytestmark = pytest.mark.slow

PUBLIC = (
    "/", "/leaderboard/2027-01", "/leaderboard/2026-12", "/rotation", "/release/Historical-2026-12",
    "/agents/ada/agent", "/leaf/1", "/sign-in",
)  # fmt: skip
LINK = re.compile(r'(?:href|action)="([^"]*)"')


@pytest.fixture(scope="module")
def populated(templates, memory):
    """Serve a home with a release, a leaderboard with a line, and a submission, to who asks for hundreds of pages."""
    with served_release(templates, memory, limits={"requests_per_minute": 10**9}) as site:
        play(site.house, 9)
        site.account("ada")
        site.made = site.post("/submissions", {"image": "agent:1"}, "ada").json()["id"]
        yield site


@pytest.fixture(scope="module")
def walked(populated):
    """Return every page that anybody, a submitter or a maintainer reaches by following links, by (path, who)."""
    found, ahead = {}, [("/", None), ("/mine", "ada"), ("/findings/details", "maintainer")]
    while ahead:
        path, who = ahead.pop()
        if (path, who) in found:
            continue
        said = found[path, who] = populated.get(path, who)
        if said.headers["content-type"].startswith("text/html"):
            ahead += [(html.unescape(link), who) for link in LINK.findall(said.text) if not link.startswith("#")]
    return found


def test_every_link_of_every_page_leads_somewhere_here(populated, walked):
    forms = {"/sign-out", "/mine/display-name#names", f"/submission/{populated.made}/cancel"}
    wrong = {(path, who, said.status_code) for (path, who), said in walked.items() if said.status_code != 200}
    assert {(path, who) for path, who, _ in wrong if path not in forms} == {
        ("/mine", None),
        ("/findings/details", None),
        ("/findings/details", "ada"),
    }, "which are for those who may"
    paths = {path for path, _ in walked}
    assert all(path.startswith("/") and not path.startswith("//") for path in paths)
    assert {
        "/leaderboard/2026-12",
        "/leaderboard/2027-01/docker.csv",
        "/rotation/turns.json",
        "/mine/quotas.csv",
        "/agents/ada/agent",
        "/agents/ada/agent/runs.csv",
        "/release/Historical-2026-12/files.json",
        "/release/Historical-2026-12/tasks.csv",
        "/release/Historical-2026-12/agents.csv",
        "/leaf/0",
    } < paths
    assert f"/submission/{populated.made}" in paths


def line_of(site, file, task):
    """Return the one line of a task in a file of the release."""
    lines = site.get(f"/releases/Historical-2026-12/files/{file}").text.splitlines()
    (line,) = (line for line in lines if task in line)
    return line


def test_the_front_page_says_what_it_is_and_where_to_go_on(populated):
    page = populated.get("/").text
    assert "This benchmark measures" in page
    assert "Its public log is quarterturn.example/log" in page
    assert {"/mine", "/explorer", "#reading"} <= set(LINK.findall(page))
    assert "This benchmark measures" not in populated.get("/leaderboard/2027-01").text


def test_a_released_task_and_its_leaf_have_pages(populated):
    (task, *_) = populated.get("/tasks?set=Historical-2026-12").json()["tasks"]
    whole = populated.get(f"/tasks/{task['id']}").json()
    page = populated.get(f"/task/{task['id']}")
    for text in (whole["task"]["goal"], whole["opening"]["commitment"], whole["opening"]["salt"]):
        assert html.escape(text) in page.text
    passed = int(json.loads(line_of(populated, "results.jsonl", task["id"]))["result"]["passed"])
    assert f"{passed} of 1 runs that were served it passed." in page.text
    leaf = populated.get(f"/leaf/{whole['opening']['commit']}")
    assert f'href="/leaf/{whole["opening"]["commit"]}"' in page.text
    assert whole["opening"]["commitment"] in leaf.text
    assert "In the log" in populated.get(f"/task/{populated.get('/tasks?set=dev').json()['tasks'][0]['id']}").text
    for path in ("/task/t-" + "a" * 16, "/leaf/99999999", "/leaf/-1", "/leaf/one"):
        assert populated.get(path).status_code in (404, 422), path


def test_a_link_to_json_says_so(walked):
    silent = []
    for (path, who), said in walked.items():
        if said.headers["content-type"].startswith("text/html"):
            for link, words in re.findall(r'<a [^>]*href="(/[^"]*)"[^>]*>(.*?)</a>', said.text):
                media = walked[html.unescape(link), who].headers["content-type"]
                silent += [(path, link)] if "json" in media and "json" not in words.lower() else []
    assert not silent


def test_every_page_has_the_policy_and_nothing_that_needs_a_weaker_one(walked):
    for (path, _), said in walked.items():
        if path.startswith("/explorer"):
            continue
        if not said.headers["content-type"].startswith("text/html") or path in ("/docs", "/verify.html"):
            continue
        policy = LIVE if path.startswith("/submission/") and said.status_code == 200 else PAGE
        assert {name: said.headers[name] for name in policy} == policy, path
        assert "unsafe" not in said.headers["content-security-policy"]
        scripts = ['<script src="/static/submission.js" defer="defer"></script>'] if policy is LIVE else []
        assert re.findall(r"<script.*?</script>", said.text, re.DOTALL) == scripts, path
        assert not re.findall(r"<style|\sstyle=|\son\w+=|(?:src|href|action)=.?https?://", said.text), path


def test_every_table_is_json_and_csv_too_with_as_many_rows(walked):
    tables = [(path.removesuffix(".csv"), who) for path, who in walked if path.endswith(".csv")]
    assert {path.rpartition("/")[2] for path, _ in tables} >= {
        "docker", "changes", "cohorts", "turns", "submissions", "quotas",
    }  # fmt: skip
    for path, who in tables:
        csv_, json_ = walked[f"{path}.csv", who], walked[f"{path}.json", who]
        assert csv_.headers["content-type"].startswith("text/csv")
        rows = list(csv.reader(io.StringIO(csv_.text, newline=""), strict=True))
        (listed,) = json_.json().values()
        assert len(rows) - 1 == len(listed), path
        assert all(rows[0] == list(row) for row in listed)


def test_an_unchanged_public_page_answers_304_and_a_private_one_is_not_stored(populated):
    for path in ("/", "/rotation", "/leaderboard/2026-12/docker.csv", "/feeds/releases.atom", "/static/style.css"):
        first = populated.get(path)
        assert first.headers["cache-control"].startswith("public")
        again = populated.get(path, headers={"if-none-match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b""), path
    for path in ("/mine", "/mine/quotas.csv", f"/submission/{populated.made}"):
        said = populated.get(path, "ada")
        assert said.headers["cache-control"] == "no-store"
        assert "etag" not in said.headers


def test_a_public_page_is_the_same_to_everybody(populated):
    for path in PUBLIC:
        assert populated.get(path).content == populated.get(path, "maintainer").content


def test_not_found_is_a_page_for_people_and_a_problem_for_programs(populated, problem):
    said = populated.get("/leaderboard/2031-01")
    assert (said.status_code, said.headers["content-type"]) == (404, "text/html; charset=utf-8")
    tables = ("/leaderboard/2031-01/docker.csv", "/leaderboard/2027-01/docker.xml")
    for path in (*tables, "/rotation/nothing.csv", "/rotation/cohorts"):
        assert problem(populated.get(path)) == "not-found"
    other = populated.get("/submission/s-" + "b" * 16, "ada")
    assert (other.status_code, "you have no access" in other.text) == (404, True)
    assert populated.get(f"/submission/{populated.made}", "submitter").content == other.content


def test_a_home_where_nothing_was_ever_live_has_pages(home, serve):
    with serve(home) as site:
        assert "No month yet" in site.get("/").text
        assert "No cohort is live" in site.get("/rotation").text
        assert ElementTree.fromstring(site.get("/feeds/releases.atom").content) is not None


def test_feeds_tell_of_what_is_published(turned):
    names = {"a": "http://www.w3.org/2005/Atom"}
    releases = ElementTree.fromstring(turned.get("/feeds/releases.atom").content)
    assert [link.get("href") for link in releases.findall("a:entry/a:link", names)] == ["/releases/Historical-2026-12"]
    checkpoints = ElementTree.fromstring(turned.get("/feeds/checkpoints.atom").content)
    links = [link.get("href") for link in checkpoints.findall("a:entry/a:link", names)]
    notes = [entry.text for entry in checkpoints.findall("a:entry/a:summary", names)]
    assert len(links) == len(set(links)) > 1
    assert [turned.get(link).text for link in links] == notes
    assert notes[0] == turned.get("/log/checkpoint").text
