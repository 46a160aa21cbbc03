"""Tests that no answer tells anything of a private task: no word, no hash, not whether it exists."""

import base64
import hashlib
import itertools
import json
import random
import re
import shutil
import urllib.parse
from contextlib import closing
from pathlib import Path

import pytest

from quarterturn.app import Application
from quarterturn.home.home import create
from quarterturn.http.responses.access import ACCESS
from quarterturn.http.responses.json_responses import sealed
from quarterturn.settings import BenchmarkSettings, ServiceSettings, Settings
from rotation.calendar import Month
from rotation.month.sets import DEMO
from vault.canonical import canonical
from vault.task.document import Task

from ..conftest import made_once
from ..invented_runs import submitted
from .conftest import with_dev_set

pytestmark = pytest.mark.slow

FROM_HERE = {"origin": "http://testserver"}
CANARY = "amaranthine-zephyr"
NAMES = ("docker", "changes", "cohorts", "turns", "submissions", "quotas", "figures", "tasks", "calls")
TABLES = [f"{name}.{form}" for name in NAMES for form in ("csv", "json")]
SAID = "vermilion-gyroscope"  # what the agent wrote down of a task, and the gateway with it


def planted_in(folder: Path, document) -> None:
    """Make a home whose live tasks hold a canary in every part."""
    benchmark, service = BenchmarkSettings(first_month="2026-12"), ServiceSettings(images=("",))
    create(folder, Settings(benchmark=benchmark, service=service), None)
    with closing(Application(folder, None)) as house:
        for stratum, number in itertools.product(DEMO.per_cohort, range(4)):
            made = document(stratum, number) | {"goal": f"For {CANARY}-{number}, make the folder number-{number}."}
            made["success_predicate"] = {"filesystem.directoryExists": {"path": f"{CANARY}-{number}"}}
            task, how = Task.parse(made), {"author": "ada", "public_grammar": False, "template": CANARY}
            house.home.vault.add(task, {"note": CANARY}, skeleton=f"{CANARY}/{task.id}", **how)
            house.home.vault.advance(task.id, "admit")
            house.tasks.reviews.decide(task.id, "grace", None)
        house.month.rotation.run(Month.parse("2026-11"))


@pytest.fixture
def planted(tmp_path, templates, document, serve, played):
    """Serve such a home, with a private run on these tasks that has ended and one that waits."""
    planted = made_once(templates / "planted", lambda folder: planted_in(folder, document))
    home = with_dev_set(Path(shutil.copytree(planted, tmp_path / "home")), templates)
    with serve(home) as site:
        records = site.house.home.vault.records()
        tasks = [(site.house.home.vault.open(one.id, who="tester", why="compare").task, one) for one in records]
        site.account("ada")
        number = played(site.house, 13, "ada", says=f"{SAID} {CANARY}")
        made, _ = submitted(site.house, "ada", number)
        waits = site.post("/submissions", {"image": "agent:1", "set": "private"}, "ada").json()["id"]
        yield site, tasks, made.id, waits


def spellings(text: str) -> set[bytes]:
    """Return a word in every encoding in which it might appear."""
    raw = text.encode()
    forms = {raw, raw.hex().encode(), raw.hex().upper().encode(), text[::-1].encode(), text.encode("utf-16-le")}
    forms |= {urllib.parse.quote(text, safe="").encode(), "".join(f"%{byte:02X}" for byte in raw).encode()}
    forms |= {json.dumps(text)[1:-1].encode(), "".join(f"\\u{ord(c):04x}" for c in text).encode()}
    forms |= {hashlib.new(name, raw).hexdigest().encode() for name in ("sha256", "sha1", "md5")}
    for shift in range(3):  # base64 depends on where a word begins
        whole = base64.b64encode(b"x" * shift + raw)
        forms.add(whole[4 if shift else 0 : len(whole) // 4 * 4 - 4])
    return {form for form in forms if len(form) > 8}


def addresses(site, own: str, waits: str, tasks) -> list[tuple[str, str, str]]:
    """Return every route that anybody or a submitter may request, with parameters that might reveal a secret."""
    found = []
    names = [own, waits, tasks[0][0].id, tasks[-1][0].id]
    for (method, path), scope in ACCESS.items():
        if scope not in (None, "submit") or path.endswith(("/cancel", "/events")):
            continue
        slots = re.findall(r"{(\w+)(?::path)?}", path)
        values = {"id": names, "release": ["Historical-2026-12", names[2]], "path": ["tasks.jsonl", "000.p/26"]}
        values |= {"month": ["2026-12", names[2]], "file": TABLES}
        for filling in itertools.product(*(values.get(slot, ["1", "26"]) for slot in slots)):
            filled = path
            for slot, value in zip(slots, filling, strict=True):
                filled = re.sub(rf"{{{slot}(:path)?}}", value, filled)
            found.append((method, filled, path))
    found += [("GET", f"/tasks?cursor={sealed(names[2])}", ""), ("GET", f"/tasks?set={names[2]}", "")]
    found += [("GET", f"/submissions/{own}/events", ""), ("GET", "/log/proof/inclusion?index=3", "")]
    found += [("GET", f"/log/tile/entries/{path}", "") for path in entries(site)]
    return found


def entries(site) -> list[str]:
    folder = site.house.home.places.log / "tile" / "entries"
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def test_a_slip_would_be_noticed():
    raw = CANARY.encode()
    slips = [b"prefix " + raw, raw[::-1], hashlib.sha256(raw).hexdigest().encode(), (b"-" + raw).hex().encode()]
    slips += [base64.b64encode(before + raw + b"}") for before in (b"{", b"{}", b"{}}")]
    slips += [(CANARY + "!").encode("utf-16-le")]
    assert not [slip for slip in slips if not any(form in slip for form in spellings(CANARY))]


def test_no_route_of_the_public_or_of_submitters_tells_a_word_of_a_live_task_or_names_one(planted):
    """An id tells nothing of its task, but it would show which tasks of a list exist."""
    site, tasks, own, waits = planted
    ids = {task.id.encode() for task, _ in tasks}
    secret = set().union(*map(spellings, (CANARY, SAID)))
    for task, record in tasks:
        plain = canonical(task.document)
        secret |= spellings(task.goal) | {hashlib.sha256(plain).hexdigest().encode(), base64.b64encode(plain)}
        secret |= {record.skeleton_tag.encode(), record.template_tag.encode()}
    asked = 0
    for method, path, _ in addresses(site, own, waits, tasks):
        for who in (None, "ada", "submitter"):
            body = {"image": "agent:1"} if method == "POST" else None
            said = site.ask(method, path, who, json=body, headers=FROM_HERE)
            whole = said.content + repr(sorted(said.headers.items())).encode()
            assert not [word for word in secret if word in whole], (method, path, who)
            if "entries" not in path and not path.startswith("/leaf/"):  # the log names what it commits to, by design
                assert not [name for name in ids if name in said.content], (method, path, who)
            assert said.status_code < 500
            asked += 1
    assert asked > 150


def test_a_live_id_and_an_unknown_one_are_answered_alike_to_the_byte(planted, elsewhere):
    site, tasks, _, _ = planted
    letters = random.Random(7)
    unknown = "t-" + "".join(letters.choice("abcdefghijklmnopqrstuvwxyz234567") for _ in range(16))
    forms = [
        "/tasks/{}", "/runs/{}", "/submissions/{}", "/releases/{}", "/attestations/{}",
        "/releases/{}/files/tasks.jsonl", "/releases/{}.tar", "/releases/{}.tar.sha256",
        "/months/{}/checkpoint", "/months/2026-11/{}", "/keys/{}",
        "/log/tile/{}", "/log/checkpoints/{}", "/tasks?set={}",
        "/leaderboard?month={}", "/leaderboard/{}", "/leaderboard/{}/docker.csv", "/leaderboard/2026-12/{}",
        "/rotation/{}", "/submission/{}", "/task/{}", "/static/{}",
    ]  # fmt: skip
    for form in forms:
        for method in ("GET", "HEAD", "DELETE"):
            answers = set()
            for name in (unknown, tasks[0][0].id, tasks[5][0].id, tasks[-1][0].id):
                said = elsewhere(site).request(method, form.format(name))
                answers.add((said.status_code, said.content, tuple(said.headers.items())))
            assert len(answers) == 1, (method, form)
    for form in ("/tasks?cursor={}",):
        said = [elsewhere(site).get(form.format(sealed(name))) for name in (unknown, tasks[0][0].id)]
        assert len({(one.status_code, one.content, tuple(one.headers.items())) for one in said}) == 1
    with_token = {"authorization": f"Bearer {site.tokens['ada']}"}
    for form in ("/tasks/{}", "/runs/{}", "/submissions/{}", "/submission/{}/tasks.csv", "/mine/{}"):
        said = [elsewhere(site).get(form.format(name), headers=with_token) for name in (unknown, tasks[0][0].id)]
        assert len({(one.status_code, one.content, tuple(one.headers.items())) for one in said}) == 1


def test_a_private_run_tells_its_state_and_its_figures_and_nothing_else(planted):
    site, _, own, waits = planted
    done = site.get(f"/submissions/{own}", "ada").json()
    assert set(done) == {
        "id", "set", "kind", "model", "counts", "month", "state", "place", "failure", "charged", "run", "figures",
        "score", "agent", "created_at", "started_at", "ended_at",
    }  # fmt: skip
    assert done["score"] is None, "what was passed of a private run is not counted for its owner"
    assert done["state"] == "done"
    assert {done[name][16:] for name in ("started_at", "ended_at")} == {":00+00:00"}, "no second is told"
    rate = done["figures"]["whole"]["success_rate"]
    assert (rate["n"], rate["value"]) == (24, 0.54), "13 of 24, to half a point"
    assert rate["low"] < 0.54 < rate["high"]
    for part in done["figures"].values():
        for name in ("success_rate", "efficiency", "hallucinated_tool_rate", "recovery_rate"):
            figures = [part[name][key] for key in ("value", "low", "high")]
            assert all(value is None or round(value * 200) == pytest.approx(value * 200) for value in figures)
            assert name == "success_rate" or len(str(part[name]["n"]).rstrip("0")) <= 1
    assert site.get(f"/submissions/{waits}", "ada").json()["figures"] is None


def test_a_private_run_shows_no_trace_and_cannot_be_published_while_its_tasks_live(planted, problem):
    site, _, own, _ = planted
    assert problem(site.get(f"/runs/{own}", "ada")) == "not-found"
    assert problem(site.ask("PUT", f"/runs/{own}/publication", "ada")) == "conflict"


def test_metrics_and_maintainers_routes_show_no_word_of_a_task_either(planted):
    site, tasks, _, _ = planted
    secret = set().union(*map(spellings, (CANARY, SAID, *(task.goal for task, _ in tasks))))
    for (method, path), scope in ACCESS.items():
        if method == "GET" and scope not in (None, "submit"):
            said = site.get(path.replace("{file}", "findings.csv"), "maintainer")
            assert said.status_code == 200
            assert not [word for word in secret if word in said.content], path


def test_a_run_on_retired_tasks_is_shown_to_its_owner_and_to_all_once_published(turned, problem):
    site = turned
    ada, bob = site.account("ada"), site.account("bob")
    made, _ = submitted(site.house, "ada", 1)
    retired = {task["id"] for task in site.get("/tasks?set=Historical-2026-12").json()["tasks"]}
    assert problem(site.get(f"/runs/{made.id}", ada)) == "not-found", "reading opens nothing"
    site.house.submissions.trace_release.release_all()
    mine = site.get(f"/runs/{made.id}", ada).json()
    assert {task["run"]["task_id"] for task in mine["trace"]["tasks"]} == retired
    assert (mine["public"], mine["trace"]["tasks"][0]["run"]["output"]) == (False, "what the agent said")
    opened = len(site.house.home.vault.access_log())
    site.house.submissions.trace_release.release_all()
    assert site.get(f"/runs/{made.id}", ada).json() == mine
    assert len(site.house.home.vault.access_log()) == opened, "it is opened once, and kept"
    assert problem(site.get(f"/runs/{made.id}")) == "not-found"
    assert site.ask("PUT", f"/runs/{made.id}/publication", ada).json()["public"] is True
    for who in (None, bob, ada):
        assert site.get(f"/runs/{made.id}", who).json() == mine | {"public": True}
    assert site.ask("DELETE", f"/runs/{made.id}/publication", ada).json()["public"] is False
    assert site.get(f"/runs/{made.id}", bob).status_code == 404
