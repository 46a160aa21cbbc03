"""Tests of the public view over HTTP: retired tasks, leaderboards, releases that an auditor can check, the log."""

import base64
import hashlib
import json
import re

import pytest

from quarterturn.http.app import DOCS
from quarterturn.http.responses import swagger
from quarterturn.http.responses.public_view import PublicView
from vault.canonical import canonical
from vault.ledger.audit.verify import audit
from vault.ledger.signatures import sshsig
from vault.ledger.signatures.checkpoint import open_checkpoint
from vault.ledger.signatures.note import Verifier
from vault.ledger.statements.leaf import Statement
from vault.ledger.tree.merkle import leaf_hash, verify_consistency, verify_inclusion
from vault.ledger.tree.tiles import unpack_entries

from ...envelopes import opened

RELEASE = "Historical-2026-12"
pytestmark = pytest.mark.slow


def every(site, path: str, what: str, limit: int = 5) -> list:
    """Follow the pages of a list to its end."""
    found, cursor = [], None
    while True:
        page = site.get(f"{path}{'&' if '?' in path else '?'}limit={limit}" + (f"&cursor={cursor}" if cursor else ""))
        assert page.status_code == 200, page.text
        found += page.json()[what]
        cursor = page.json()["next"]
        if cursor is None:
            return found


def test_the_dev_set_is_public_from_the_start(site):
    tasks = every(site, "/tasks", "tasks")
    assert len(tasks) == 12
    assert {task["set"] for task in tasks} == {"dev"}
    for task in tasks:
        whole = site.get(f"/tasks/{task['id']}").json()
        assert whole["task"]["goal"]
        assert hashlib.sha256(canonical(whole["task"])).hexdigest() == task["sha256"]


def test_a_retired_set_is_public_with_its_openings(published):
    tasks = every(published, f"/tasks?set={RELEASE}", "tasks")
    assert len(tasks) == 6
    assert len(every(published, "/tasks", "tasks")) == 18
    whole = published.get(f"/tasks/{tasks[0]['id']}").json()
    assert whole["set"] == RELEASE
    assert len(bytes.fromhex(whole["opening"]["salt"])) == 32


def test_a_cursor_is_one_that_was_given_out(site, problem):
    for path in ("/tasks", "/submissions"):
        for cursor in ("x", "%%%", base64.urlsafe_b64encode(b"t-aaaaaaaaaaaaaaaa").decode(), "é", "nonsense"):
            said = site.get(path, "submitter", params={"cursor": cursor})
            assert (problem(said), said.json()["field"], said.json().get("given")) == ("invalid", "cursor", None)
        assert said.json()["expected"] == "the value of `next` in the page before"


def test_a_query_that_is_wrong_is_named_by_its_place(site, problem):
    for name, value in (("limit", "0"), ("limit", "201"), ("limit", "x"), ("set", "a" * 33)):
        said = site.get(f"/tasks?{name}={value}")
        assert problem(said) == "invalid"
        assert (said.json()["errors"][0]["pointer"], said.json()["given"]) == (f"/query/{name}", value)


def test_a_known_version_answers_304(site):
    for path in ("/tasks", "/leaderboard", "/rotations", "/findings", "/log/checkpoint", "/openapi.json"):
        first = site.get(path)
        tag = first.headers["etag"]
        for given in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            again = site.get(path, headers={"if-none-match": given})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag), path
        assert site.get(path, headers={"if-none-match": '"other"'}).content == first.content


def test_head_is_get_without_a_body(site):
    for path in ("/tasks", "/leaderboard", "/healthz", "/nowhere"):
        got, head = site.get(path), site.ask("HEAD", path)
        assert (head.status_code, head.content) == (got.status_code, b"")
        assert head.headers["content-length"] == got.headers["content-length"]


def test_the_leaderboard_is_that_of_the_command_line(site, played, say):
    played(site.house, 20, "ada")
    played(site.house, 3, "bob")
    leaderboard = site.get("/leaderboard").json()
    shown = say("leaderboard", "--home", site.house.home.folder, "--json").data
    assert [line | {"public_grammar": []} for line in leaderboard["lines"]] == shown
    assert {line["name"]: line["runs"] for line in leaderboard["lines"]} == {"agent": 1}
    assert site.get("/leaderboard?month=2026-12&track=endpoint").json()["lines"] == []
    assert site.get("/leaderboard?month=2031-01").status_code == 404
    assert site.get("/leaderboard?month=2031").status_code == 422


def test_the_next_turn_has_a_date(published):
    found = published.get("/rotations").json()
    assert found["live"] == "2027-01"
    assert found["next"] == {"turn": "2027-01", "due": "2027-02-01T00:00:00Z"}
    assert [turn["release"] for turn in found["turns"]] == [None, RELEASE]
    assert {cohort["state"]: cohort["tasks"] for cohort in found["cohorts"]} == {"published": 6, "live": 6}


def test_findings_are_counted_of_months_that_are_over(published):
    found = published.get("/findings").json()["months"]
    assert list(found) == ["2026-11", "2026-12"]
    assert all(set(counts) == {"clean", "watching", "review"} for kinds in found.values() for counts in kinds.values())


def test_a_release_can_be_fetched_without_an_account_and_audited(published, tmp_path):
    assert [one["release"] for one in published.get("/releases").json()["releases"]] == [RELEASE]
    listed = published.get(f"/releases/{RELEASE}").json()
    for file in listed["files"]:
        said = published.get(file["url"])
        assert said.status_code == 200
        assert len(said.content) == file["bytes"]
        target = tmp_path / RELEASE / file["name"]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(said.content)
    key = (published.house.home.places.log_vkey).read_text().strip()
    report = audit(tmp_path / RELEASE, [key])
    assert not report.failed, [step.detail for step in report.steps if not step.ok]
    assert published.get(f"/attestations/{RELEASE}").json()["predicate"]["month"] == "2026-12"
    named = {name for name, file in listed["manifest"]["files"].items() if file["sha256"]}
    assert named <= {file["name"] for file in listed["files"]}


def test_a_turns_signed_files_can_be_fetched_without_an_account_and_checked(published):
    listed = {one["month"]: one["files"] for one in published.get("/months").json()["months"]}
    assert list(listed) == ["2026-11", "2026-12"]
    note, signature, envelope = (published.get(url) for url in listed["2026-12"])
    assert envelope.headers["content-type"] == "application/json"
    assert "immutable" in note.headers["cache-control"]
    open_checkpoint(note.content, [Verifier.parse(published.get("/keys/log.vkey").text.strip())])
    public = base64.b64decode(published.get("/keys/allowed_signers").text.split()[-1])[-32:]
    sshsig.verify(note.content, "quarterturn-checkpoint", signature.text, public)
    assert json.loads(opened(envelope.content, public))["predicate"]["month"] == "2026-12"


OUTSIDE = [
    f"/releases/{RELEASE}/files/../../../quarterturn.toml",
    f"/releases/{RELEASE}/files/%2e%2e/%2e%2e/%2e%2e/quarterturn.toml",
    f"/releases/{RELEASE}/files//etc/passwd",
    "/releases/..%2f..%2fkeys/files/ring.json",
    "/releases/../files/log.vkey",
    "/log/tile/../../../../quarterturn.toml",
    "/log/tile/%2e%2e/checkpoint",
    "/log/checkpoints/..",
    "/attestations/%2e%2e%2flog",
    "/months/%2e%2e/log.vkey",
    "/months/2026-12/..%2f..%2flog.vkey",
    "/keys/%2e%2e%2fquarterturn.toml",
    "/keys/endpoint.key",
]


def test_no_path_leads_out_of_what_is_published(published):
    for path in OUTSIDE:
        said = published.get(path)
        assert said.status_code in (404, 422), (path, said.text)


def test_a_link_in_a_release_is_not_followed(turned):
    (turned.house.home.places.releases / RELEASE / "stray").symlink_to(turned.house.home.places.settings)
    assert turned.get(f"/releases/{RELEASE}/files/stray").status_code == 404


def test_the_log_is_served_as_tiles_and_proofs_that_verify(published):
    key = Verifier.parse(published.house.home.places.log_vkey.read_text().strip())
    head, _ = open_checkpoint(published.get("/log/checkpoint").text, [key])
    width = f".p/{head.size}" if head.size < 256 else ""
    leaves = unpack_entries(published.get(f"/log/tile/entries/000{width}").content, head.size)
    assert {Statement.parse(leaf).kind for leaf in leaves} >= {"commit", "set", "run-open", "score", "retire"}
    for index in (0, head.size // 2, head.size - 1):
        said = published.get(f"/log/proof/inclusion?index={index}").json()
        verify_inclusion(leaf_hash(leaves[index]), index, head.size, decoded(said), head.root)
    tree = published.get(f"/log/tile/0/000{width}").content
    assert tree[:32] == leaf_hash(leaves[0])
    earlier = sorted(int(path.name) for path in (published.house.home.places.log / "checkpoints").iterdir())[0]
    old, _ = open_checkpoint(published.get(f"/log/checkpoints/{earlier}").text, [key])
    said = published.get(f"/log/proof/consistency?from={earlier}").json()
    verify_consistency(old.size, head.size, old.root, head.root, decoded(said))


def decoded(said) -> list[bytes]:
    return [base64.b64decode(part) for part in said["proof"]]


WRONG_LOG_PATHS = {
    404: (
        "proof/inclusion?index=100000", "proof/inclusion?index=0&size=100000", "proof/consistency?from=0",
        "proof/consistency?from=9&to=3", "tile/0/000", "tile/entries", "checkpoints/999",
    ),
    422: ("proof/inclusion?index=-1", "proof/inclusion", "checkpoints/-1", f"checkpoints/{'9' * 300}"),
}  # fmt: skip


def test_missing_and_malformed_log_paths_give_the_right_status(site):
    for status, paths in WRONG_LOG_PATHS.items():
        for path in paths:
            assert site.get(f"/log/{path}").status_code == status, path


def test_an_empty_home_serves_nothing(home):
    view = PublicView(home / "public")
    assert (view.tasks(), view.task("t-aaaaaaaaaaaaaaaa"), view.leaderboard("2026-12")) == ([], None, None)
    assert (list(view.releases()), view.months(), view.rotations()) == ([], [], None)


def test_new_publications_are_served_without_a_restart(site, played):
    before = site.get("/leaderboard")
    played(site.house, 9)
    after = site.get("/leaderboard", headers={"if-none-match": before.headers["etag"]})
    assert (after.status_code, len(after.json()["lines"])) == (200, 1)


def test_the_description_page_loads_nothing_from_elsewhere(site):
    page = site.get("/docs")
    assert page.headers["content-security-policy"] == DOCS["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]
    assert "http" not in page.headers["content-security-policy"]
    assert "/submissions/{id}/events" in page.text
    loaded = re.findall(r'(?:src|rel="stylesheet" href)="([^"]+)"', page.text)
    assert loaded == [f"/docs/{file}" for file in ("swagger-ui.css", "page.css", "swagger-ui-bundle.js", "start.js")]
    assert not [word for word in ("<style", "http://", "https://", " on") if word in page.text.partition("<body>")[0]]
    for path in loaded:
        said = site.get(path)
        assert (said.status_code, said.headers["content-type"]) == (200, swagger.MEDIA[path.rpartition("/")[2]])
        assert site.get(path, headers={"if-none-match": said.headers["etag"]}).status_code == 304
    assert b"data:" not in site.get("/docs/swagger-ui.css").content
    assert "http" not in site.get("/docs/start.js").text


def test_no_other_file_of_the_package_is_served(site, problem):
    for path in ("/docs/package.json", "/docs/index.html", "/docs/..%2Fpackage.json", "/docs/swagger-ui.css.map"):
        assert problem(site.get(path)) == "not-found"


def test_without_swagger_ui_the_page_is_a_list(site, monkeypatch, problem):
    monkeypatch.setattr(swagger, "files", dict)
    page = site.get("/docs")
    assert "/submissions/{id}/events" in page.text
    assert 'href="/openapi.json"' in page.text
    assert not [word for word in ("<script", "<style", "src=", "http://", "https://") if word in page.text]
    assert problem(site.get("/docs/swagger-ui.css")) == "not-found"


def test_files_that_are_not_installed_are_none(tmp_path):
    assert swagger.files(tmp_path) == {}
