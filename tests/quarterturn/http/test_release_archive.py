"""Tests of a release in one file over HTTP: its bytes and digest, ranges, versions, and what else names it."""

import hashlib
import io
import tarfile

import pytest

RELEASE = "Historical-2026-12"
PATH = f"/releases/{RELEASE}.tar"
pytestmark = pytest.mark.slow


def test_the_archive_holds_the_files_of_the_release_and_is_saved_under_its_name(published):
    answer = published.get(PATH)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-tar")
    assert answer.headers["content-disposition"] == f'attachment; filename="{RELEASE}.tar"'
    listed = {f"{RELEASE}/{file['name']}" for file in published.get(f"/releases/{RELEASE}").json()["files"]}
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as tar:
        assert {item.name for item in tar if item.isfile()} == listed


def test_its_size_and_digest_stand_in_lists_in_a_file_and_on_the_page(published):
    content = published.get(PATH).content
    digest = hashlib.sha256(content).hexdigest()
    archive = {"url": PATH, "bytes": len(content), "sha256": digest}
    assert [item["archive"] for item in published.get("/releases").json()["releases"]] == [archive]
    assert published.get(f"/releases/{RELEASE}").json()["archive"] == archive
    assert published.get(f"{PATH}.sha256").text == f"{digest}  {RELEASE}.tar\n"
    page = published.get(f"/release/{RELEASE}").text
    assert f'<a href="{PATH}">{RELEASE}.tar</a>, {len(content)} bytes' in page
    assert digest in page
    assert published.get(PATH).headers["etag"] == f'"{digest}"'


PARTS = [
    ("bytes=0-0", 0, 1),
    ("bytes=512-1023", 512, 1024),
    ("bytes=1000-", 1000, None),
    ("bytes=-700", -700, None),
    ("bytes=0-999999999", 0, None),
    ("bytes=-999999999", 0, None),
]


def test_a_part_is_answered_with_its_place(published):
    whole = published.get(PATH)
    for asked, start, end in PARTS:
        answer = published.get(PATH, headers={"range": asked})
        first, last = start % len(whole.content), (end or len(whole.content)) - 1
        assert (answer.status_code, answer.content) == (206, whole.content[start:end]), asked
        assert answer.headers["content-range"] == f"bytes {first}-{last}/{len(whole.content)}"
        assert answer.headers["content-length"] == str(len(answer.content))
        assert answer.headers["etag"] == whole.headers["etag"]


def test_what_is_no_single_range_of_bytes_is_ignored(published):
    whole = published.get(PATH).content
    for asked in ("bytes=0-1,5-6", "bytes=5-2", "lines=0-1", "bytes=", "bytes=-", "0-1", "bytes=٣-"):
        answer = published.get(PATH, headers={"range": asked.encode()})
        assert (answer.status_code, answer.content) == (200, whole), asked


def test_a_part_beyond_the_end_is_refused_with_the_length(published, problem):
    size = len(published.get(PATH).content)
    for asked in (f"bytes={size}-", "bytes=-0"):
        answer = published.get(PATH, headers={"range": asked})
        assert problem(answer) == "range"
        assert (answer.status_code, answer.headers["content-range"]) == (416, f"bytes */{size}")
        assert answer.json()["expected"] == f"0-{size - 1}"


def test_a_part_of_another_version_is_not_answered(published):
    tag = published.get(PATH).headers["etag"]
    for given, status in ((tag, 206), (f"W/{tag}", 200), ('"other"', 200), ("Sat, 05 Dec 2026 10:00:00 GMT", 200)):
        assert published.get(PATH, headers={"range": "bytes=1-", "if-range": given}).status_code == status, given


def test_a_known_version_is_not_sent_again_and_head_sends_no_body(published):
    whole = published.get(PATH)
    again = published.get(PATH, headers={"if-none-match": whole.headers["etag"], "range": "bytes=1-"})
    assert (again.status_code, again.content) == (304, b"")
    head = published.ask("HEAD", PATH)
    assert (head.status_code, head.content) == (200, b"")
    names = ("content-length", "etag", "cache-control", "accept-ranges")
    assert [head.headers[name] for name in names] == [whole.headers[name] for name in names]
    assert "immutable" in whole.headers["cache-control"]


def test_ranges_are_answered_where_answers_are_cached(turned, monkeypatch):
    monkeypatch.setattr("quarterturn.http.responses.response_cache.YOUNG", -1e9)
    whole = turned.get(PATH).content
    assert turned.get(PATH, headers={"range": "bytes=512-"}).content == whole[512:]
    assert turned.get(PATH).content == whole


def test_nothing_else_is_an_archive(published, problem):
    for name in ("Historical-2026-11", "Historical-2026-12.tar", "..", "view", "Historical-2026-12%2F"):
        for suffix in (".tar", ".tar.sha256"):
            assert problem(published.get(f"/releases/{name}{suffix}")) == "not-found"


def test_it_is_made_once_and_made_again_where_it_is_missing(turned):
    archives = turned.house.home.places.view / "archives"
    path, digest = archives / f"{RELEASE}.tar", archives / f"{RELEASE}.tar.sha256"
    before = path.stat().st_mtime_ns
    turned.house.submissions.refresh_view()
    assert path.stat().st_mtime_ns == before
    data, line = path.read_bytes(), digest.read_bytes()
    for file in (path, digest):
        file.unlink()
        assert turned.get("/releases").json()["releases"][0]["archive"] is None
        assert turned.get(PATH).status_code == 404
        assert f"{RELEASE}.tar</a>" not in turned.get(f"/release/{RELEASE}").text
        assert turned.house.submissions.view.behind() == [f"archives/{file.name}"]
        turned.house.submissions.refresh_view()
        assert (path.read_bytes(), digest.read_bytes()) == (data, line)
