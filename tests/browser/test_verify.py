"""Tests of verify.html opened from a file: it breaks the same rules as the audit, with the same values and doubts."""

from __future__ import annotations

import base64
import json
import random
import shutil
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from vault.errors import Malformed, VaultError
from vault.ledger import browser
from vault.ledger.audit.verify import STEPS, audit
from vault.ledger.release.bundle_reader import CAPS
from vault.ledger.signatures.strict_ed25519 import key_fault, verifies
from vault.ledger.statements import jcs
from vault.ledger.statements.forms import BASIC, PATTERNS, require_form
from vault.ledger.statements.log_state import LogState
from vault.ledger.statements.results import figures, totals_of

from ..vault.builders import edwards, said_by_the_page
from ..vault.ledger.conftest import ORIGIN
from ..vault.weak_points import AGAIN, SECOND, SMALL, encoded, vkeys, weak
from .releases import PLAYS, Edit, Mutator, Played, leaves_of, released

pytestmark = pytest.mark.slow

YES = "Yes: this release"


@pytest.fixture(scope="session")
def releases(tmp_path_factory) -> dict[str, Played]:
    """Play each release once."""
    return {name: released(name, tmp_path_factory.mktemp(name)) for name in PLAYS}


@pytest.fixture(scope="session")
def good(releases) -> Path:
    return releases["good"][0]


@pytest.fixture(scope="session")
def key(releases) -> str:
    return releases["good"][1][0]


@pytest.fixture
def check_in_page(new_tab, tmp_path, key):
    """Return a function that opens the page from a file and checks a release in it."""
    (tmp_path / "verify.html").write_bytes(browser.page())
    page = new_tab()
    page_url = (tmp_path / "verify.html").as_uri()

    def check(folder, keys=key, **files):
        page.goto(page_url)
        page.fill("#key", keys)
        for name, path in files.items():
            page.set_input_files(f"#{name}", path)
        page.set_input_files("#folder", folder)
        page.wait_for_selector("#steps .answer")
        return page

    return check


def states(page):
    return dict(page.eval_on_selector_all("#steps ol > li[value]", "all => all.map(one => [one.value, one.className])"))


def title(page):
    return page.locator("#steps h2").inner_text()


def edited(folder, copied, name="aggregate.json"):
    """Copy a release, and change a digit of one of its files."""
    shutil.copytree(folder, copied)
    data = (copied / name).read_bytes()
    (copied / name).write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
    return copied


def test_an_honest_release_is_proved_as_by_the_audit(check_in_page, good, key, tmp_path):
    kept = good / "log" / "checkpoints" / "11"
    shutil.copy(kept, tmp_path / "older")
    page = check_in_page(good, older=tmp_path / "older")
    assert title(page).startswith(YES)
    report = audit(good, [key], kept.read_text())
    here = states(page)
    assert len(here) == len(report.steps)
    for step in report.steps:
        assert here[step.number] == step.state.replace(" ", "-"), step


def test_doubts_are_listed_by_their_numbers(check_in_page, releases):
    folder, keys = releases["turns"]
    page = check_in_page(folder, "\n".join(keys))
    assert title(page).startswith("Yes, with doubts: this release")
    report = audit(folder, keys)
    shown = [text.split("\n") for text in page.locator("#doubts > li").all_inner_texts()]
    assert [lines[0] for lines in shown] == [doubt.sentence for doubt in report.doubts]
    assert [lines[1:] for lines in shown] == [list(doubt.evidence.lines()) for doubt in report.doubts]
    assert page.locator("#ask").is_visible()


def test_a_refusal_shows_what_disagrees(check_in_page, good, key, tmp_path):
    folder = edited(good, tmp_path / "edited")
    page = check_in_page(folder, key)
    assert title(page) == "No, at step 1, files"
    step = audit(folder, [key]).failed
    assert page.locator("li.failed .evidence").all_inner_texts() == list(step.evidence.lines())
    assert step.detail in page.locator("li.failed").inner_text()


def test_a_consistency_proof_and_evidence_are_taken_from_files(check_in_page, good, tmp_path):
    (tmp_path / "made-up").write_text("{}\n")
    assert title(check_in_page(good, evidence=tmp_path / "made-up")) == "No, at step 14, evidence"
    page = check_in_page(good, proof=tmp_path / "made-up")
    assert title(page).startswith("made-up cannot be used: $.proof must be a list")
    assert page.locator("#steps li").count() == 0, "that is no answer about the release"


def test_a_release_across_a_change_of_the_key_needs_both_keys(check_in_page, releases):
    folder, (old, new) = releases["key-changed"]
    assert title(check_in_page(folder, f"{old}\n{new}")).startswith(YES)
    for given, step in ((old, "checkpoint"), (new, "checkpoints")):
        assert title(check_in_page(folder, given)).endswith(f", {step}")
    assert old in check_in_page(folder, new).locator("li.failed").inner_text(), "the key that is missing"


def test_a_folder_may_be_dropped(check_in_page, drop, good, tmp_path):
    page = check_in_page(good)
    drop(page, "#release", edited(good, tmp_path / "edited"))
    page.wait_for_selector("#steps .answer.no")
    assert title(page) == "No, at step 1, files"
    drop(page, "#release", good)
    page.wait_for_selector("#steps .answer.yes")
    assert len(states(page)) == len(STEPS)


def test_a_folder_may_be_dropped_where_a_browser_has_the_older_interface_alone(new_tab, drop, good, key):
    page = new_tab()
    page.add_init_script("delete DataTransferItem.prototype.getAsFileSystemHandle")
    page.route("**/page", lambda route: route.fulfill(body=browser.page(), content_type="text/html; charset=utf-8"))
    page.goto("http://127.0.0.1/page")
    page.fill("#key", key)
    drop(page, "#release", good)
    page.wait_for_selector("#steps .answer.yes")


def test_a_bad_release_is_refused_and_not_asked_about(check_in_page, good, tmp_path):
    for name in ("aggregate.json", "log/tile/0/000.p/16"):
        page = check_in_page(edited(good, tmp_path / name, name))
        assert title(page).startswith("No, at step")
        assert page.locator("li.failed").count() == 1
        assert page.locator("#ask").is_hidden()
        assert "not-reached" in states(page).values()


def test_keys_that_do_not_fit_prove_nothing(check_in_page, good, key):
    for given, words in (
        ("", "no key was given"),
        ("nonsense", "reads NAME+ID+KEY"),
        (key.replace("+1", "+2"), "says id 2"),
        (key[:-1], "is not canonical base64"),
        ("other.example/log" + key.removeprefix(ORIGIN), "says id"),
    ):
        assert words in title(check_in_page(good, given))


def test_a_folder_that_is_no_release_is_named(check_in_page, good, tmp_path):
    (tmp_path / "two" / "one").mkdir(parents=True)
    (tmp_path / "two" / "one" / "notes.txt").write_text("hello")
    assert "two is no release folder: there is no manifest.json in it" in title(check_in_page(tmp_path / "two"))
    shutil.copytree(good, tmp_path / "above" / "one")
    assert "above is no release folder" in title(check_in_page(tmp_path / "above"))


def test_it_answers_questions_about_a_release_that_holds(check_in_page, good, tmp_path):
    page = check_in_page(good)
    line = (good / "tasks.jsonl").read_bytes().splitlines()[1]
    (tmp_path / "task.json").write_text(json.dumps(json.loads(line), indent=2))
    page.set_input_files("#file", tmp_path / "task.json")
    page.wait_for_selector("#answer .answer.yes")
    answer = page.locator("#answer").inner_text()
    assert "The file itself was not committed to" in answer
    assert "the whole tree was rebuilt from its leaves" in answer
    page.fill("#q", "0" * 64)
    page.click("text=Look it up")
    page.wait_for_selector("#answer .answer.unknown")


def test_it_says_of_a_withdrawn_task_why_and_that_its_text_is_the_one(check_in_page, releases):
    folder, keys = releases["withdrawn"]
    page = check_in_page(folder, keys[0])
    page.fill("#q", json.loads((folder / "withdrawn.jsonl").read_text().splitlines()[0])["id"])
    page.click("text=Look it up")
    page.wait_for_selector("#answer .answer.yes")
    answer = page.locator("#answer").inner_text()
    assert "It was withdrawn at leaf 12 and is served to no later run: it leaked." in answer
    assert "as Historical-2026-12 publishes them, open the commitment" in answer


def test_everybody_can_read_it(new_tab, barriers, releases, tmp_path):
    (tmp_path / "verify.html").write_bytes(browser.page())
    for how in ({"color_scheme": "light"}, {"color_scheme": "dark", "viewport": {"width": 360, "height": 740}}):
        for name, used in (("turns", 2), ("key-changed", 1)):
            folder, keys = releases[name]
            page = new_tab(**how)
            page.goto((tmp_path / "verify.html").as_uri())
            page.fill("#key", "\n".join(keys[:used]))
            page.set_input_files("#folder", folder)
            page.wait_for_selector("#steps .answer")
            assert barriers(page) == []
            assert page.evaluate("() => document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page = new_tab(java_script_enabled=False)
    page.goto((tmp_path / "verify.html").as_uri())
    assert "quarterturn audit" in page.locator("main").inner_text()


# -- the script's parts, held against the audit's --------------------------------------------------------------------

CHECK = """
async ([files, changes]) => {
  const data = new Map(Object.entries(files).map(([name, text]) => [name, fromBase64(text, name)]));
  const reports = [];
  for (const [key, others] of changes) {
    const changed = new Map(data);
    for (const [name, text] of Object.entries(others)) changed.set(name, text === null ? null : fromBase64(text, name));
    for (const [name, bytes] of changed) if (bytes === null) changed.delete(name);
    const read = async (wanted) => {
      if (!changed.has(wanted)) throw new No(`${wanted} is missing`);
      return changed.get(wanted);
    };
    const size = (wanted) => changed.get(wanted).length;
    const names = [...changed.keys()].sort();
    const verifiers = await parseKeys(key);
    reports.push(await checkRelease({ names, read, size, verifiers, previous: null, evidence: [] }));
  }
  return reports;
}
"""


@pytest.fixture
def parts(new_tab, tmp_path):
    """Load the functions of the page's scripts."""
    (tmp_path / "parts.html").write_text("<!DOCTYPE html>")  # a page from a file, so that it is given WebCrypto
    page = new_tab()

    def call(function, what=None):
        if page.url == "about:blank":
            page.goto((tmp_path / "parts.html").as_uri())
        return page.evaluate(f"(what) => {{ {browser.library()}; return ({function})(what); }}", what)

    return call


def bytes_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def base64_of(data):
    return base64.b64encode(data).decode()


def in_base64(data):
    return {name: base64_of(whole) for name, whole in data.items()}


def edits(release: Path, seed: int, each: int) -> Iterator[tuple[str, Edit]]:
    """Yield edits of single values in the lines of a release, and of a line as a whole: so many of each file's."""
    files = {path.name: path.read_bytes() for path in release.iterdir() if path.is_file()}
    draw, mutator = random.Random(seed), Mutator(files.values(), seed)

    def replaced(name: str, lines: list[bytes], end: bytes) -> Edit:
        return lambda contents: contents.update({name: b"".join(line + end for line in lines)})

    for name in sorted(files.keys() - {"README.md", "verify.html"}):
        end = b"\n" if name.endswith(".jsonl") else b""
        lines = files[name].splitlines()
        changes = changes_of(lines, draw.sample(range(len(lines)), min(8, len(lines))), mutator)
        for number, (at, count, rows) in enumerate(draw.sample(changes, min(each, len(changes)))):
            yield f"{name} {number}", replaced(name, [*lines[:at], *rows, *lines[at + count :]], end)


def changes_of(lines: list[bytes], places: Iterable[int], mutator: Mutator) -> list[tuple[int, int, list[bytes]]]:
    """Change each value of some lines; leave each out, repeat and exchange it: the place, how many go, what comes."""
    changes = []
    for place in places:
        documents = mutator.changed(json.loads(lines[place]))
        changes += [(place, 1, [jcs.canonical(document)]) for document in documents]
        changes += [(place, 1, []), (place, 0, [lines[place]]), (place, 2, lines[place : place + 2][::-1])]
    return changes


@pytest.mark.parametrize("each", [3, pytest.param(8, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("name", ["good", "withdrawn", "turns"])
def test_every_changed_line_breaks_the_rule_that_it_breaks_in_the_audit(parts, releases, tmp_path, name, each):
    data, changes, reports = bytes_of(releases[name][0]), {}, {}
    for edit_name, edit in edits(releases[name][0], 9162, each):
        try:
            changed, keys = released(name, tmp_path / edit_name, edit)
        except (KeyError, ValueError, TypeError, VaultError):
            continue  # no operator could bind this, for the retirement repeats a part of it
        there = dict.fromkeys(data) | bytes_of(changed)
        others = {file: whole for file, whole in there.items() if whole != data.get(file)}
        texts = {file: None if whole is None else base64_of(whole) for file, whole in others.items()}
        changes[edit_name] = ["\n".join(keys), texts]
        reports[edit_name] = audit(changed, keys)
    here = parts(CHECK, [in_base64(data), [*changes.values()]])
    for (edit_name, report), found in zip(reports.items(), here, strict=True):
        assert said_by_the_page(found) == said_by_the_page(report.as_json()), edit_name
    assert len({report.failed and report.failed.rule for report in reports.values()}) > 5


SIZES = """
async ([files, larger, key]) => {
  const data = new Map(Object.entries(files).map(([name, text]) => [name, fromBase64(text, name)]));
  const faults = [];
  for (const [name, size] of larger) {
    const opened = [];
    const read = async (wanted) => (opened.push(wanted), data.get(wanted));
    const sizeOf = (wanted) => (wanted === name ? size : data.get(wanted).length);
    const names = [...data.keys()].sort();
    const given = { verifiers: await parseKeys(key), previous: null, evidence: [] };
    const report = await checkRelease({ names, read, size: sizeOf, ...given });
    const bad = report.steps.find((step) => step.state === "failed");
    faults.push([bad.name, bad.evidence.where, bad.evidence.found, opened]);
  }
  return faults;
}
"""


def test_a_file_of_another_size_is_refused_before_it_is_read(parts, good, key):
    names = sorted(bytes_of(good))
    cap = {name: next(cap for beginning, cap in CAPS.items() if name.startswith(beginning)) for name in names}
    larger = [(name, cap[name] + 1, name, []) for name in names]
    larger.append(("tasks.jsonl", 1, "tasks.jsonl: number of bytes", ["manifest.json"]))
    faults = parts(SIZES, [in_base64(bytes_of(good)), [[name, size] for name, size, *_ in larger], key])
    assert len(larger) > len(CAPS)
    assert faults == [["files", where, size, read] for _, size, where, read in larger]


REPLAY = """
async ([origin, leaves, changes]) => {
  const faults = [];
  for (const change of changes) {
    const state = new LogState(origin);
    let fault = null;
    try {
      for (const leaf of leaves.toSpliced(change[0], change[1], ...change[2])) await state.take(utf8(leaf));
    } catch (error) {
      if (!(error instanceof No)) throw error;
      fault = [state.entries.length, error.rule, error.rule && { ...error }];
    }
    faults.push(fault);
  }
  return faults;
}
"""


def replayed(leaves: list[bytes]) -> list[Any] | None:
    """Return the first fault of a log: its leaf, the rule and the evidence."""
    state = LogState(ORIGIN)
    try:
        for leaf in leaves:
            state.take(leaf)
    except VaultError as error:
        evidence = error.evidence.as_json() if error.evidence else {}
        return [state.size, error.rule, error.rule and {"rule": error.rule, **evidence}]
    return None


@pytest.mark.parametrize("each", [150, pytest.param(600, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("name", ["key-changed", "withdrawn", "spot-checked", "turns"])
def test_every_changed_leaf_breaks_the_rule_that_it_breaks_in_the_audit(parts, releases, name, each):
    leaves = leaves_of(releases[name][0])
    assert replayed(leaves) is None
    commits = [place for place, leaf in enumerate(leaves) if b":commit:" in leaf]
    places = [place for place in range(len(leaves)) if place not in commits[2:]]
    changes = changes_of(leaves, places, Mutator(leaves, 6962))
    changes = random.Random(6962).sample(changes, min(each, len(changes)))
    texts = [[at, count, [leaf.decode() for leaf in rows]] for at, count, rows in changes]
    here = parts(REPLAY, [ORIGIN, [leaf.decode() for leaf in leaves], texts])
    there = [replayed([*leaves[:at], *rows, *leaves[at + count :]]) for at, count, rows in changes]
    for change, fault, expected in zip(texts, here, there, strict=True):
        assert fault == expected, change
    assert len({fault[1] for fault in there if fault}) > 10


def test_the_same_public_keys_are_refused_with_the_same_words(parts):
    keys = [encoded(number) for number in (*SMALL, *AGAIN, *SECOND)] + [bytes([9]) * 31, bytes([9]) * 32]
    found = parts("(given) => given.map((text) => faultOf(fromBase64(text, 'it')))", [*map(base64_of, keys)])
    assert found == [key_fault(key) for key in keys]


def test_the_same_signatures_are_refused(parts):
    honest = edwards(0)
    good = (honest.public_key().public_bytes_raw(), honest.sign(b"message"), b"message")
    cases = [good, (*good[:2], b"massage"), (good[0], good[1][:-1], good[2]), *weak()]
    found = parts(
        """(given) => Promise.all(given.map(([key, signature, message]) =>
            accepts({ key: fromBase64(key, "it") }, fromBase64(message, "it"), fromBase64(signature, "it"))))""",
        [[base64_of(part) for part in case] for case in cases],
    )
    assert found == [verifies(*case) for case in cases] == [True] + [False] * (len(cases) - 1)


def test_a_key_of_small_order_is_refused_where_it_is_given(check_in_page, good):
    text = title(check_in_page(good, vkeys(ORIGIN, b"\x01")[0]))
    assert f"the public key of {ORIGIN} is a point of small order" in text


FORMED = [
    None, True, 0, 1, -1, 1.5, 2**53 - 1, "", "a", "é" * 1024, "\U0001f600" * 1024, "a" * 1025, [], ["a"], {},
    {"a": 1},
]  # fmt: skip


def test_a_value_has_the_same_forms_to_both(parts):
    words = [
        "ab" * 32, "2026-12", "2026-13", "cohort-2026-12", "t-" + "a" * 16, "run/1", "run/01", "P4M", "P0M", "1.0.0",
        "7/12", "git/recovery/hard", "log+01234567+AAAA", "lo g+01234567+AAAA", "log\xa0+01234567+AA", "A" * 86 + "==",
    ]  # fmt: skip
    values = [*FORMED, *words, *(word + "\n" for word in words)]
    names = [*BASIC, *PATTERNS]
    forms = [*names, *(f"{name}|null" for name in names), *([name] for name in names), "=a,2026-12"]
    forms += [{"a?": "natural"}, {"a": "natural"}, {"*word": "natural"}, ["object", None]]

    def fault(form, value):
        try:
            require_form(form, value, "$")
        except Malformed as error:
            return str(error)
        return None

    found = parts(
        """([forms, values]) => forms.map((form) => values.map((value) => {
            try { requireForm(form, value, "$"); return null; } catch (error) {
                if (error instanceof No) return error.message; throw error; } }))""",
        [forms, values],
    )
    assert found == [[fault(form, value) for value in values] for form in forms]


DOCUMENTS = [
    b"{}", b"[]", b"null", b'{"a":1}', b'{"b":1,"a":2}', b'{"a":1,"a":1}', b'{"a":1,"a":2}', b'{"a": 1}', b" {}",
    b"{}\n", b"\"\xc3\xa9\"",
    b"1.0", b"-0", b"1e2", b"1e21", b"1e+21", b"100000000000000000000", b"9007199254740991", b"9007199254740992",
    b"-9007199254740992", b"1e400", b"NaN", b"0.1", b"1e-7", b"0.0000001", b'"\\ud800"', b'"\\u00e9"',
    b'"\\u007f"', b'"\x7f"', b'"\\/"', b'"\\n"', b'"\\u000a"', b'"\xff"', b"\xef\xbb\xbf{}",
    b"[" * 64 + b"]" * 64, b"[" * 65 + b"]" * 65, b"[" * 100_000,
    '{"\ufb33":1,"\U0001f600":2}'.encode(), '{"\U0001f600":2,"\ufb33":1}'.encode(),
    b'{"10":1,"9":2}', b'{"9":2,"10":1}', b'{"__proto__":1}', b'{"__proto__":{"a":1},"a":2}', b"", b"tru", b"truefalse",
]  # fmt: skip


def test_canonical_json_is_the_same_to_both(parts):
    given = [base64.b64encode(document).decode() for document in DOCUMENTS]
    found = parts(
        """(given) => given.map((text) => {
            try { parseCanonical(fromBase64(text, "it"), "it"); return true; } catch (error) {
                if (error instanceof No) return false; throw error; } })""",
        given,
    )
    for document, here in zip(DOCUMENTS, found, strict=True):
        try:
            jcs.parse_canonical(document)
            there = True
        except Malformed:
            there = False
        assert here == there, document[:60]


def test_figures_are_the_same_to_both(parts):
    draw = random.Random(7)
    runs = [
        [
            {
                "verdict": draw.choice(["true", "false", "unknown"]),
                "passed": draw.random() < 0.6,
                "category": draw.choice(["recovery", "composition"]),
                "saw_error": draw.random() < 0.5,
                "calls": draw.randrange(40),
                "max_steps": draw.choice([7, 8, 12, 16, 64, 97]),
                "unlisted": draw.randrange(3),
            }
            for _ in range(draw.choice([0, 1, 3, 16, 50]))
        ]
        for _ in range(60)
    ]
    found = parts(
        '(runs) => runs.map((rows) => { const sum = totalsOf(1, "c", rows); return [sum, figuresOf(sum)]; })', runs
    )
    for rows, (totals, rates) in zip(runs, found, strict=True):
        assert totals == totals_of(1, "c", rows)
        assert rates == figures(totals)


def test_a_figure_between_two_places_goes_to_the_even_one(parts):
    for part, whole in ((1, 20_000), (3, 20_000), (5, 20_000), (7, 20_000)):
        there = round(Fraction(part, whole) * 10_000)
        assert parts(f"() => rate([{part}n, 1n], {whole})") == f"0.{there:04d}"
