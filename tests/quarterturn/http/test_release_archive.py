"""Tests of a release in one file over HTTP: its bytes and digest, ranges, versions, and what else names it."""

from __future__ import annotations

import hashlib
import io
import tarfile

import pytest

from vault.ledger.audit.verify import audit

RELEASE = "Historical-2026-12"
PATH = f"/releases/{RELEASE}.tar"
pytestmark = pytest.mark.slow


def test_the_archive_is_the_release_and_can_be_audited(turned, tmp_path):
    answer, mine = turned.get(PATH), tmp_path / "mine"
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-tar")
    assert answer.headers["content-disposition"] == f'attachment; filename="{RELEASE}.tar"'
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as tar:
        tar.extractall(mine, filter="data")
    listed = {f"{RELEASE}/{file['name']}" for file in turned.get(f"/releases/{RELEASE}").json()["files"]}
    assert {path.relative_to(mine).as_posix() for path in mine.rglob("*") if path.is_file()} == listed
    assert audit(mine / RELEASE, [turned.get("/keys/log.vkey").text.strip()]).ok


def test_its_size_and_digest_stand_in_lists_in_a_file_and_on_the_page(turned):
    content = turned.get(PATH).content
    digest = hashlib.sha256(content).hexdigest()
    archive = {"url": PATH, "bytes": len(content), "sha256": digest}
    assert [item["archive"] for item in turned.get("/releases").json()["releases"]] == [archive]
    assert turned.get(f"/releases/{RELEASE}").json()["archive"] == archive
    assert turned.get(f"{PATH}.sha256").text == f"{digest}  {RELEASE}.tar\n"
    page = turned.get(f"/release/{RELEASE}").text
    assert f'<a href="{PATH}">{RELEASE}.tar</a>, {len(content)} bytes' in page
    assert digest in page
    assert turned.get(PATH).headers["etag"] == f'"{digest}"'


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=512-1023", 512, 1024),
        ("bytes=1000-", 1000, None),
        ("bytes=-700", -700, None),
        ("bytes=0-999999999", 0, None),
        ("bytes=-999999999", 0, None),
    ],
)
def test_a_part_is_answered_with_its_place(turned, asked, start, end):
    whole = turned.get(PATH)
    answer = turned.get(PATH, headers={"range": asked})
    first, last = start % len(whole.content), (end or len(whole.content)) - 1
    assert answer.status_code == 206
    assert answer.content == whole.content[start:end]
    assert answer.headers["content-range"] == f"bytes {first}-{last}/{len(whole.content)}"
    assert answer.headers["content-length"] == str(len(answer.content))
    assert answer.headers["etag"] == whole.headers["etag"]


@pytest.mark.parametrize("asked", ["bytes=0-1,5-6", "bytes=5-2", "lines=0-1", "bytes=", "bytes=-", "0-1", "bytes=٣-"])
def test_what_is_no_single_range_of_bytes_is_ignored(turned, asked):
    answer = turned.get(PATH, headers={"range": asked.encode()})
    assert (answer.status_code, answer.content) == (200, turned.get(PATH).content)


def test_a_part_beyond_the_end_is_refused_with_the_length(turned, problem):
    size = len(turned.get(PATH).content)
    for asked in (f"bytes={size}-", "bytes=-0"):
        answer = turned.get(PATH, headers={"range": asked})
        assert problem(answer) == "range"
        assert (answer.status_code, answer.headers["content-range"]) == (416, f"bytes */{size}")
        assert answer.json()["expected"] == f"0-{size - 1}"


def test_a_part_of_another_version_is_not_answered(turned):
    tag = turned.get(PATH).headers["etag"]
    for given, status in ((tag, 206), (f"W/{tag}", 200), ('"other"', 200), ("Sat, 05 Dec 2026 10:00:00 GMT", 200)):
        assert turned.get(PATH, headers={"range": "bytes=1-", "if-range": given}).status_code == status, given


def test_a_known_version_is_not_sent_again_and_head_sends_no_body(turned):
    whole = turned.get(PATH)
    again = turned.get(PATH, headers={"if-none-match": whole.headers["etag"], "range": "bytes=1-"})
    assert (again.status_code, again.content) == (304, b"")
    head = turned.ask("HEAD", PATH)
    assert (head.status_code, head.content) == (200, b"")
    names = ("content-length", "etag", "cache-control", "accept-ranges")
    assert [head.headers[name] for name in names] == [whole.headers[name] for name in names]
    assert "immutable" in whole.headers["cache-control"]


def test_ranges_are_answered_where_answers_are_cached(turned, monkeypatch):
    monkeypatch.setattr("quarterturn.http.responses.response_cache.YOUNG", -1e9)
    whole = turned.get(PATH).content
    assert turned.get(PATH, headers={"range": "bytes=512-"}).content == whole[512:]
    assert turned.get(PATH).content == whole


@pytest.mark.parametrize(
    "name", ["Historical-2026-11", "Historical-2026-12.tar", "..", "view", "Historical-2026-12%2F"]
)
def test_nothing_else_is_an_archive(turned, problem, name):
    for suffix in (".tar", ".tar.sha256"):
        assert problem(turned.get(f"/releases/{name}{suffix}")) == "not-found"


def test_it_is_made_once_and_made_again_where_it_is_missing(turned):
    archives = turned.house.places.view / "archives"
    path, digest = archives / f"{RELEASE}.tar", archives / f"{RELEASE}.tar.sha256"
    before = path.stat().st_mtime_ns
    turned.house.refresh_public_view()
    assert path.stat().st_mtime_ns == before
    data, line = path.read_bytes(), digest.read_bytes()
    for file in (path, digest):
        file.unlink()
        assert turned.get("/releases").json()["releases"][0]["archive"] is None
        assert turned.get(PATH).status_code == 404
        assert f"{RELEASE}.tar</a>" not in turned.get(f"/release/{RELEASE}").text
        assert turned.house.public_view.behind() == [f"archives/{file.name}"]
        turned.house.refresh_public_view()
        assert (path.read_bytes(), digest.read_bytes()) == (data, line)
