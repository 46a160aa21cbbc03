"""Tests of submitting over HTTP: idempotent, within the quotas, and shown only what may be disclosed."""

import io
import json
import secrets
import tarfile
from contextlib import closing
from datetime import UTC, datetime

import docker
import pytest

from quarterturn.failure_codes import CODES
from quarterturn.submissions.service import SubmissionPolicy
from quarterturn.submissions.store.requests import SubmissionRequest
from rotation.month.sets import DEMO
from sandbox.boxes.docker.box import DockerBox
from sandbox.errors import Malformed, NotFound
from sandbox.image_reference import ImagePattern, ImageReference
from sandbox.runs import submission

from .conftest import with_dev_set

pytestmark = pytest.mark.slow

AGENT = {"image": "registry.example/agent:1"}


@pytest.fixture
def ada(site):
    return site.account("ada")


def test_a_submission_is_made_and_says_where_it_is(site, ada):
    made = site.post("/submissions", AGENT, ada)
    assert made.status_code == 201
    body = made.json()
    assert made.headers["location"] == f"/submissions/{body['id']}"
    shown = {name: body[name] for name in ("state", "set", "kind", "place", "charged")}
    assert shown == {"state": "queued", "set": "dev", "kind": "image", "place": 0, "charged": True}
    assert site.get(made.headers["location"], ada).json() == body
    assert made.headers["cache-control"] == "no-store"
    assert "etag" not in made.headers


def test_submitters_may_name_their_own_images_or_unguessable_ones():
    patterns = [ImagePattern.parse(pattern) for pattern in ("{account}/", "registry.example/{account}/")]
    policy = SubmissionPolicy(patterns, (), endpoints=False)
    own = ["ada/agent:1", "registry.example/ada/agent"]
    unguessable = ["sha256:" + "a" * 64, "registry.example/bob/agent@sha256:" + "a" * 64]
    others = ["bob/agent:1", "adam/agent", "ada", "agent:1", "agent:sha256-" + "a" * 64]
    named = [image for image in own + unguessable + others if policy.may_name("ada", ImageReference.parse(image))]
    assert named == own + unguessable


def test_an_image_of_another_is_not_run_nor_one_whose_name_an_engine_would_read_otherwise(live, serve, problem):
    with serve(live, limits={"images": ("{account}/",)}) as site:
        mallory = site.account("mallory")
        for path in ("/submissions", "/checks"):
            assert problem(site.post(path, {"image": "ada/agent:1"}, mallory)) == "not-yours"
            for image in ("mallory/../ada/x:1", "mallory//../ada/x:1", "mallory/x:1:2", "mallory/X"):
                answer = site.post(path, {"image": image}, mallory)
                assert (answer.status_code, problem(answer)) == (422, "invalid"), image
                assert answer.json()["detail"].startswith("image: ")
                assert answer.json()["expected"] == "the name of an image, such as ada/agent:1"
        assert site.get("/submissions", mallory).json()["submissions"] == []
        assert site.post("/submissions", {"image": "mallory/agent:1"}, mallory).status_code == 201


@pytest.mark.engine
def test_another_ones_image_is_not_run_by_a_path_that_the_engines_client_normalizes(live, serve, problem):
    """The engine's own client is asked for each name first, and finds ada's image."""
    empty, repository, resolve = io.BytesIO(), f"ada/quarterturn-test-{secrets.token_hex(4)}", DockerBox().digest
    tarfile.open(fileobj=empty, mode="w").close()
    with closing(docker.from_env()) as engine, serve(live, limits={"images": ("{account}/",)}) as site:
        mallory, name = site.account("mallory"), f"{repository}:1"
        engine.api.import_image_from_data(empty.getvalue(), repository=repository, tag="1")
        try:
            ada = engine.api.inspect_image(name)["Id"]
            for form in ("mallory/../{}", "mallory//../{}", "mallory/x/../../{}"):
                assert engine.api.inspect_image(form.format(name))["Id"] == ada
                answer = site.post("/submissions", {"image": form.format(name)}, mallory)
                assert (answer.status_code, problem(answer), answer.json()["field"]) == (422, "invalid", "image")
                with pytest.raises(Malformed, match="is not the name of an image"):
                    submission.image(form.format(name), submitter="mallory", resolve=lambda _: pytest.fail("was asked"))
            assert site.get("/submissions", mallory).json()["submissions"] == []
            assert problem(site.post("/submissions", {"image": name}, mallory)) == "not-yours"
            for text in (name, f"index.docker.io/{name}", ada):
                assert submission.image(text, submitter="ada", resolve=resolve).program.image == ada
            short = ada.removeprefix("sha256:")[:12]
            assert engine.api.inspect_image(short)["Id"] == ada, "the beginning of an id is a name to it"
            with pytest.raises(NotFound):
                submission.image(short, submitter="mallory", resolve=resolve)
        finally:
            engine.api.remove_image(name)


@pytest.mark.both_databases
def test_what_is_no_name_in_a_path_is_not_found(home, serve, problem):
    """PostgreSQL takes no NUL, so a store that was asked for one would say something else."""
    with serve(home) as site:
        ada, maintainer = site.account("ada"), site.account("grace", "maintainer")
        just = "s-" + "a" * 16
        for name in ("%00", f"{just[:-1]}%00", f"{just}%0a", f"{just}a", f"s-%D0%B0{just[3:]}"):
            assert problem(site.get(f"/submissions/{name}", ada)) == "not-found"
            assert problem(site.get(f"/runs/{name}")) == "not-found"
            assert problem(site.ask("DELETE", f"/display-names/{name}", ada)) == "not-found"
            for path in (f"{name}/mine", f"ada/{name}"):
                assert problem(site.ask("DELETE", f"/admin/display-names/{path}", maintainer)) == "not-found"


def test_asking_twice_with_one_key_submits_once(site, ada, problem):
    key = {"idempotency-key": "try-1"}
    first = site.post("/submissions", AGENT, ada, headers=key)
    again = site.post("/submissions", AGENT, ada, headers=key)
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    assert problem(site.post("/submissions", AGENT | {"set": "private"}, ada, headers=key)) == "key-reused"
    assert len(site.get("/submissions", ada).json()["submissions"]) == 1
    assert problem(site.post("/submissions", AGENT, ada, headers={"idempotency-key": "x" * 201})) == "invalid"


def test_the_quota_is_shown_before_it_bites(live, serve, problem):
    with serve(live, limits={"private_per_month": 1, "dev_per_day": 2}) as site:
        ada = site.account("ada")
        site.account("countess")
        site.house.auth.accounts.link("countess", ada)
        private = AGENT | {"set": "private"}
        assert site.get("/quota", ada).json()["private"] == {
            "limit": 1, "used": 0, "left": 1, "until": "2027-01-01T00:00:00+00:00",
        }  # fmt: skip
        made = site.post("/submissions", private, ada).json()
        assert site.get("/quota", "countess").json()["private"]["left"] == 0
        assert problem(site.post("/submissions", private, "countess")) == "quota"
        assert site.post(f"/submissions/{made['id']}/cancel", None, ada).json()["charged"] is False
        assert site.get("/quota", ada).json()["private"]["left"] == 1
        assert site.post("/submissions", private, "countess").status_code == 201


def test_a_private_run_needs_a_live_set_and_a_dev_run_does_not(stocked, serve, problem):
    with serve(stocked) as site:
        ada = site.account("ada")
        refused = site.post("/submissions", AGENT | {"set": "private"}, ada)
        assert (problem(refused), refused.json()["state"]) == ("not-now", "no-live-set")
        assert site.post("/submissions", AGENT, ada).status_code == 201


def test_why_it_came_to_nothing_is_a_code_with_a_hint(site, ada):
    made = site.post("/submissions", AGENT, ada).json()
    site.house.submissions.queue.finish(site.house.submissions.queue.claim("w"), "machine")
    failed = site.get(f"/submissions/{made['id']}", ada).json()
    assert failed["failure"] == {"code": "machine", "hint": CODES["machine"].hint, "ours": True}
    assert failed["charged"] is False


def events_of(site, made, **headers):
    """Return the status of the page's event stream, and the states that it tells."""
    with site.client.stream("GET", f"/submission/{made['id']}/events", headers=headers) as said:
        states = [json.loads(line[6:])["state"] for line in said.iter_lines() if line.startswith("data: ")]
        return said.status_code, states


def test_a_page_watches_with_its_cookie_what_is_its_owners(site, ada):
    made = site.post("/submissions", AGENT, ada).json()
    site.house.submissions.queue.finish(site.house.submissions.queue.claim("w"), None)
    cookie = {"cookie": f"quarterturn={site.tokens[ada]}"}
    assert events_of(site, made, **cookie) == (200, ["done"])
    assert events_of(site, made) == (401, [])
    assert events_of(site, made, cookie=f"quarterturn={site.tokens['submitter']}") == (404, [])
    assert site.get(f"/submissions/{made['id']}/events", headers=cookie).status_code == 401, "the interface takes none"


def test_a_private_run_tells_the_minutes_of_its_start_and_its_end(live, templates, serve):
    with serve(with_dev_set(live, templates), now=lambda: datetime(2026, 12, 5, 10, 7, 31, 25, tzinfo=UTC)) as site:
        for of, written in (("private", "2026-12-05T10:07:00+00:00"), ("dev", "2026-12-05T10:07:31.000025+00:00")):
            made = site.post("/submissions", AGENT | {"set": of}, "submitter").json()
            site.house.submissions.queue.finish(site.house.submissions.queue.claim("w"), "machine")
            told = site.get(f"/submissions/{made['id']}", "submitter").json()
            assert (told["started_at"], told["ended_at"], told["agent"]) == (written, written, AGENT["image"])


def test_a_check_costs_nothing_of_the_other_quotas(site, ada):
    assert site.post("/checks", AGENT, ada).json()["set"] == "check"
    quota = site.get("/quota", ada).json()
    assert (quota["dev"]["used"], quota["check"]["used"]) == (0, 1)


def test_the_dev_set_gives_everything_and_its_owner_may_show_it(site, ada, problem):
    made = site.post("/submissions", AGENT, ada).json()["id"]
    assert problem(site.get(f"/runs/{made}", ada)) == "not-found"
    site.house.submissions.trace_store.keep(made, {"tasks": [{"run": {"task_id": "t-x", "passed": True}}]})
    assert site.get(f"/submissions/{made}", ada).json()["score"] == {"passed": 1, "attempted": 1}
    assert site.get(f"/runs/{made}", ada).json()["trace"]["tasks"]
    assert site.get(f"/runs/{made}").status_code == 404
    assert site.ask("PUT", f"/runs/{made}/publication", ada).status_code == 200
    assert site.get(f"/runs/{made}").json()["public"] is True


def test_maintainers_routes_give_what_the_verbs_give(site, ada, say):
    site.post("/submissions", AGENT, ada)
    assert [one["account"] for one in site.get("/admin/queue", "runner").json()["submissions"]] == [ada]
    status = say("turn", "status", "--home", site.house.home.folder, "--json").data
    assert site.get("/admin/turn", "maintainer").json() == status
    listed = say("watch", "list", "--all", "--home", site.house.home.folder, "--json").data
    assert site.get("/admin/findings?all=true", "auditor").json() == listed
    assert site.post("/admin/findings/7/review", {"state": "open"}, "reviewer").status_code == 404
    made = site.post("/admin/tokens", {"account": "new", "role": "auditor"}, "maintainer").json()
    assert site.get("/admin/findings", headers={"authorization": f"Bearer {made['token']}"}).status_code == 200
    assert site.ask("DELETE", f"/admin/tokens/{made['id']}", "maintainer").json()["revoked_at"]
    assert site.get("/admin/findings", headers={"authorization": f"Bearer {made['token']}"}).status_code == 401
    assert made["token"] not in site.get("/admin/tokens", "maintainer").text


def test_a_request_has_a_digest_of_its_content_and_hides_the_endpoint_in_its_repr():
    assert SubmissionRequest("dev", image="a").digest() != SubmissionRequest("private", image="a").digest()
    assert "a.example" not in repr(SubmissionRequest("dev", endpoint="https://a.example/secret"))


def test_an_endpoint_that_could_not_call_back_is_refused_at_the_door(site, ada):
    refused = site.post("/submissions", {"endpoint": "https://agent.example.org/tasks"}, ada)
    assert refused.status_code == 409
    problem = refused.json()
    assert (problem["code"], problem["field"], problem["state"]) == ("conflict", "endpoint", "no-endpoints")
    assert "runs no hosted endpoints" in problem["detail"]


def test_a_private_run_of_no_track_of_the_set_is_refused_at_the_door(live, serve):
    (live / "set.toml").write_text(DEMO.text.replace("size = 24", 'size = 24\ntracks = ["docker-model-gateway"]'))
    with serve(live) as site:
        ada = site.account("ada")
        refused = site.post("/submissions", {"image": "ada/agent:1", "set": "private"}, ada)
        problem = refused.json()
        assert (problem["code"], problem["field"], problem["state"]) == ("conflict", "image", "no-track")
        assert "its tracks are: docker-model-gateway. Submit to the dev set" in problem["detail"]
        assert site.post("/submissions", {"image": "ada/agent:1"}, ada).status_code == 201
