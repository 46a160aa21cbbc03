"""Tests of the explorer: what it shows of a task, a hash and a file, and that it verifies instead of trusting."""

from __future__ import annotations

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vault.ledger.signatures.note import Signer

pytestmark = pytest.mark.slow


@pytest.fixture
def ask(page):
    """Look something up in the page, and give the answer's text; a key may replace the one in its field."""

    def question(text=None, file=None, key=None):
        if page.url == "about:blank":
            page.goto("/explorer")
        page.evaluate("() => document.querySelector('#answer').replaceChildren()")
        if key is not None:
            page.evaluate("() => (document.querySelector('details').open = true)")
            page.fill("#key", key)
        if file is not None:
            page.set_input_files("#file", file)
        else:
            page.fill("#q", text)
            page.click("text=Look it up")
        page.wait_for_selector("#answer .answer")
        return page.locator("#answer .answer").inner_text()

    return question


@pytest.fixture(scope="session")
def release(site):
    return next((site.public / "releases").iterdir())


@pytest.fixture(scope="session")
def opening(release):
    return json.loads((release / "openings.jsonl").read_text().splitlines()[0])


@pytest.fixture(scope="session")
def line(release):
    return (release / "tasks.jsonl").read_bytes().splitlines()[0]


def test_a_published_task_is_opened(ask, opening):
    said = ask(opening["id"])
    assert f"was fixed in leaf {opening['commit']}, before its first run" in said
    assert f"open the commitment {opening['commitment']}" in said
    assert "its inclusion proof of" in said
    proved, unproved = said.split("What was not")
    assert "The first run that was served it is run 1 of December 2026" in proved
    assert "nobody had seen the task" in unproved
    assert "the key is the operator's" in unproved


def test_a_file_is_hashed_in_the_page_and_sent_nowhere(page, ask, tmp_path, opening, line):
    asked = []
    page.on("request", lambda request: asked.append((request.method, request.post_data, request.url)))
    (tmp_path / "task.json").write_bytes(line)
    said = ask(file=tmp_path / "task.json")
    assert f"The text of {opening['id']} was fixed in leaf {opening['commit']}, before its first run" in said
    assert f"The file has {len(line)} bytes" in said
    assert len(asked) > 5
    assert {(method, body) for method, body, _ in asked} == {("GET", None)}
    (tmp_path / "with-its-end.json").write_bytes(line + b"\n")
    assert "The file itself was not committed to" in ask(file=tmp_path / "with-its-end.json")
    (tmp_path / "other.json").write_bytes(line.replace(b"Make", b"Take", 1))
    assert "Nothing in this log has this hash" in ask(file=tmp_path / "other.json")


def test_a_file_may_be_dropped(page, drop, release):
    page.goto("/explorer")
    drop(page, "#ask", release / "tasks.jsonl")
    page.wait_for_selector("#answer .answer.yes")
    assert "These are the bytes of tasks.jsonl" in page.locator("#answer").inner_text()


def test_files_hashes_and_ids_that_the_log_knows(site, ask, release, opening):
    assert f"These are the bytes of results.jsonl of {release.name}." in ask(file=release / "results.jsonl")
    assert f"These are the bytes of verify.html of {release.name}." in ask(file=release / "verify.html")
    assert "the hash is the manifest of the release" in ask(file=release / "manifest.json")
    assert f"The hash is the commitment to {opening['id']}" in ask(f"sha256:{opening['commitment'].upper()}")
    live = site.house.benchmark.months.cohorts("live")[0].tasks[0]
    assert "its text is not published" in ask(live)
    assert "No leaf of this log commits to t-aaaaaaaaaaaaaaaa" in ask("t-aaaaaaaaaaaaaaaa")
    assert "neither a task's id nor a hash" in ask("hello")
    assert "they cannot be found" in ask("0" * 64) or "no hash of a text finds them" in ask("0" * 64)


def test_an_address_may_hold_the_question(page, opening):
    page.goto(f"/explorer?q={opening['id']}")
    page.wait_for_selector("#answer .answer.yes")


def test_the_question_is_written_into_the_address_and_gone_back_to(page, ask, tmp_path, opening):
    ask(opening["id"])
    assert page.url.endswith(f"/explorer?q={opening['id']}")
    assert "neither a task's id nor a hash" in ask(" a&b ")
    assert page.url.endswith("/explorer?q=a%26b")
    page.go_back()
    page.wait_for_selector("#answer .answer.yes")
    assert page.input_value("#q") == opening["id"]
    page.evaluate("() => (location.hash = 'main')")
    assert page.locator("#answer .answer.yes").count() == 1, "a place within the page asks nothing"
    (tmp_path / "some").write_bytes(b"some")
    ask(file=tmp_path / "some")
    assert "?" not in page.url
    page.go_back()
    page.wait_for_selector("#answer .answer.yes")


def test_a_key_from_elsewhere_is_believed_and_no_other(site, ask, opening):
    said = ask(opening["id"], key=f"  {site.house.home.places.log_vkey.read_text()}")
    assert "the key is the operator's" not in said
    signer = Signer(site.house.log.ledger.origin, Ed25519PrivateKey.generate())
    assert "is not signed by a given key" in ask(opening["id"], key=signer.verifier.vkey)
    assert "reads NAME+ID+KEY" in ask(opening["id"], key="")


TAMPERED = {
    "**/log/checkpoint": (lambda data: data.replace(b"\n3", b"\n2", 1), "signature"),
    "**/log/tile/entries/**": (lambda data: data.replace(b"1.0.0", b"1.0.1", 1), "the leaves give"),
    "**/log/proof/**": (lambda data: data.replace(b'"proof":["', b'"proof":["AAAA', 1), "the inclusion proof of leaf"),
    "**/manifest.json": (lambda data: data.replace(b"2026-12", b"2026-11", 1), "sha256 of manifest.json"),
    "**/tasks.jsonl": (lambda data: data.replace(b"Make", b"Take", 1), "at tasks.jsonl: sha256"),
    "**/openings.jsonl": (lambda data: data[:-1], "at openings.jsonl: number of bytes"),
}


@pytest.mark.parametrize("where", TAMPERED)
def test_an_answer_that_was_tampered_with_is_a_no_that_names_the_place(page, ask, opening, where):
    change, words = TAMPERED[where]

    def tamper(route):
        answer = route.fetch()
        changed = change(answer.body())
        assert changed != answer.body()
        route.fulfill(response=answer, body=changed)

    page.route(where, tamper)
    said = ask(opening["id"])
    assert said.startswith("No: ")
    assert words in said


def test_over_plain_http_it_says_what_is_missing(new_page, site):
    page = new_page(base_url=site.url.replace("127.0.0.1", "plain.test"))
    page.goto("/explorer")
    said = page.locator("#answer").inner_text()
    assert "Browsers give WebCrypto to pages over https" in said
    assert "verify.html" in said
    assert page.locator("#ask").is_hidden()
    assert all("Cross-Origin-Opener-Policy" in one for one in page.wrong)  # which browsers keep over https only
    page.wrong.clear()


def test_a_browser_without_ed25519_says_so(page, ask, opening):
    page.add_init_script(
        "const real = SubtleCrypto.prototype.importKey;"
        "SubtleCrypto.prototype.importKey = function (format, key, how, ...rest) {"
        "  if (how.name === 'Ed25519') return Promise.reject(new DOMException('none', 'NotSupportedError'));"
        "  return real.call(this, format, key, how, ...rest);"
        "};"
    )
    said = ask(opening["id"])
    assert said.startswith("This browser has no Ed25519")
    assert "What was proven" not in said


def test_a_service_that_went_away_proves_nothing(page, ask, opening):
    page.route("**/log/tile/**", lambda route: route.abort())
    assert "could be checked" in ask(opening["id"])
    page.wrong.clear()  # the browser's own words about it
