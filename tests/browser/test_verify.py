"""Tests of verify.html opened from a file: it agrees with the audit on every frozen release, and names the place."""

from __future__ import annotations

import base64
import json
import random
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from vault.errors import Malformed
from vault.ledger import browser
from vault.ledger.audit.verify import audit
from vault.ledger.release.bundle_reader import CAPS
from vault.ledger.signatures.strict_ed25519 import key_fault, verifies
from vault.ledger.statements import jcs
from vault.ledger.statements.results import figures, totals_of

from ..vault.builders import edwards
from ..vault.ledger.bad_releases import BAD, bad_release
from ..vault.ledger.conftest import Month
from ..vault.ledger.freeze import GOOD as PLAYED
from ..vault.ledger.freeze import key_file
from ..vault.ledger.lies import LIES
from ..vault.weak_points import AGAIN, SECOND, SMALL, encoded, vkeys, weak

pytestmark = pytest.mark.slow

VECTORS = next(parent for parent in Path(__file__).parents if parent.name == "tests") / "vectors" / "ledger"
GOOD, CHANGED, LEFT = (VECTORS / name / "Historical-2026-12" for name in ("good", "key-changed", "withdrawn"))
KEY, KEYS = (VECTORS / "log.vkey").read_text().strip(), (VECTORS / "key-changed" / "log.vkey").read_text()


@pytest.fixture
def check_in_page(new_page, tmp_path):
    """Give a function that opens the page from a file and checks a release in it."""
    (tmp_path / "verify.html").write_bytes(browser.page())
    page = new_page(base_url=None)
    page_url = (tmp_path / "verify.html").as_uri()

    def check(folder, key=KEY, older=None):
        page.goto(page_url)
        page.fill("#key", key)
        if older is not None:
            page.set_input_files("#older", older)
        page.set_input_files("#folder", folder)
        page.wait_for_selector("#steps .answer")
        return page

    return check


def states(page):
    return dict(page.eval_on_selector_all("#steps ol > li", "all => all.map(one => [one.value, one.className])"))


def test_the_good_release_is_proved_as_by_the_audit(check_in_page):
    page = check_in_page(GOOD, older=VECTORS / "older-checkpoint")
    assert page.locator("#steps h2").inner_text().startswith("Yes: this release")
    report = audit(GOOD, [KEY], (VECTORS / "older-checkpoint").read_text())
    here = states(page)
    assert len(here) == len(report.steps)
    for step in report.steps:
        assert here[step.number] == step.state.replace(" ", "-"), step


def test_a_release_across_a_change_of_the_key_needs_both_keys(check_in_page):
    assert check_in_page(CHANGED, KEYS).locator("#steps h2").inner_text().startswith("Yes: this release")
    old, new = KEYS.split()
    for one, step in ((old, "checkpoint"), (new, "named checkpoints")):
        assert check_in_page(CHANGED, one).locator("#steps h2").inner_text().endswith(f", {step}")


def test_a_folder_may_be_dropped(check_in_page, drop, tmp_path):
    page = check_in_page(GOOD)
    folder, _ = bad_release("unlisted-file", tmp_path / "release")
    drop(page, "#release", folder)
    page.wait_for_selector("#steps .answer.no")
    assert page.locator("#steps h2").inner_text() == "No, at step 1, files"
    drop(page, "#release", GOOD)
    page.wait_for_selector("#steps .answer.yes")
    assert len(states(page)) == 15


def test_a_folder_may_be_dropped_where_a_browser_has_the_older_interface_alone(page, drop):
    page.add_init_script("delete DataTransferItem.prototype.getAsFileSystemHandle")
    page.route("**/page", lambda route: route.fulfill(body=browser.page(), content_type="text/html; charset=utf-8"))
    page.goto("/page")
    page.fill("#key", KEY)
    drop(page, "#release", GOOD)
    page.wait_for_selector("#steps .answer.yes")


def test_a_bad_release_is_refused_and_not_asked_about(check_in_page, tmp_path):
    for name in ("flipped-bit", "altered-figures"):
        folder, keys = bad_release(name, tmp_path / name)
        page = check_in_page(folder)
        title = page.locator("#steps h2").inner_text()
        assert title.startswith("No, at step")
        assert title.endswith(f", {audit(folder, keys.read_text().split()).failed.name}")
        assert page.locator("li.failed").count() == 1
        assert page.locator("#ask").is_hidden()
        assert "not-reached" in states(page).values()


def test_keys_that_do_not_fit_prove_nothing(check_in_page):
    for key, words in (
        ("", "no key was given"),
        ("nonsense", "reads NAME+ID+KEY"),
        (KEY.replace("+1", "+2"), "says id 2"),
        (KEY[:-1], "is not canonical base64"),
        ("other.example/log" + KEY.removeprefix("bench.example/log"), "says id"),
    ):
        assert words in check_in_page(GOOD, key).locator("li.failed").inner_text()


def test_a_folder_that_is_no_release_is_named(check_in_page, tmp_path):
    (tmp_path / "two" / "one").mkdir(parents=True)
    (tmp_path / "two" / "one" / "notes.txt").write_text("hello")
    assert "there are 0 manifests" in check_in_page(tmp_path / "two").locator("#steps h2").inner_text()
    for name in ("one", "other"):
        shutil.copytree(GOOD, tmp_path / "both" / name)
    assert "there are 2 manifests" in check_in_page(tmp_path / "both").locator("#steps h2").inner_text()


def test_it_answers_questions_about_a_release_that_holds(check_in_page, tmp_path):
    page = check_in_page(GOOD)
    line = (GOOD / "tasks.jsonl").read_bytes().splitlines()[1]
    (tmp_path / "task.json").write_text(json.dumps(json.loads(line), indent=2))
    page.set_input_files("#file", tmp_path / "task.json")
    page.wait_for_selector("#answer .answer.yes")
    said = page.locator("#answer").inner_text()
    assert "The file itself was not committed to" in said
    assert "the whole tree was rebuilt from its leaves" in said
    page.fill("#q", "0" * 64)
    page.click("text=Look it up")
    page.wait_for_selector("#answer .answer.unknown")


def test_it_says_of_a_withdrawn_task_that_it_counts_no_more_and_that_its_text_is_the_one(check_in_page):
    page = check_in_page(LEFT)
    assert page.locator("#steps h2").inner_text().startswith("Yes: this release")
    page.fill("#q", json.loads((LEFT / "withdrawn.jsonl").read_text().splitlines()[0])["id"])
    page.click("text=Look it up")
    page.wait_for_selector("#answer .answer.yes")
    said = page.locator("#answer").inner_text()
    assert "It was withdrawn at leaf 12 and counts in no figure since: it leaked." in said
    assert "as Historical-2026-12 publishes them, open the commitment" in said


def test_everybody_can_read_it(new_page, barriers, tmp_path):
    (tmp_path / "verify.html").write_bytes(browser.page())
    for how in ({"color_scheme": "light"}, {"color_scheme": "dark", "viewport": {"width": 360, "height": 740}}):
        page = new_page(**how)
        page.goto((tmp_path / "verify.html").as_uri())
        page.fill("#key", KEY)
        page.set_input_files("#folder", GOOD)
        page.wait_for_selector("#steps .answer")
        assert barriers(page) == []
        assert page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    page = new_page(java_script_enabled=False)
    page.goto((tmp_path / "verify.html").as_uri())
    assert "quarterturn audit" in page.locator("main").inner_text()


# -- the script's parts, held against the audit's --------------------------------------------------------------------

CHECK = """
async ([files, flips, key]) => {
  const data = new Map(Object.entries(files).map(([name, text]) => [name, fromBase64(text, name)]));
  const found = [];
  for (const [name, at, bit] of [["", 0, 0], ...flips]) {
    const read = async (wanted) => {
      if (!data.has(wanted)) throw new No(`${wanted} is missing`);
      if (wanted !== name) return data.get(wanted);
      const bytes = bit ? data.get(name).slice() : data.get(name).slice(0, at);
      if (bit) bytes[at] ^= bit;
      return bytes;
    };
    const size = (wanted) => (wanted === name && !bit ? at : data.get(wanted).length);
    const steps = await checkRelease({ names: [...data.keys()].sort(), read, size, key, previous: null });
    const bad = steps.find((step) => step.state === "failed");
    found.push([name, at, bit, bad ? bad.name : null, bad ? bad.told : null]);
  }
  return found;
}
"""


@pytest.fixture
def parts(page):
    """Load the functions of the page's scripts."""

    def call(function, what=None):
        if page.url == "about:blank":
            page.goto("/rotation")  # a page over http on this machine, so that it is given WebCrypto
        return page.evaluate(f"(what) => {{ {browser.library()}; return ({function})(what); }}", what)

    return call


def bytes_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


FILES = sorted(bytes_of(GOOD))


def base64_of(data):
    return base64.b64encode(data).decode()


def in_base64(data):
    return {name: base64_of(whole) for name, whole in data.items()}


def test_every_release_is_refused_at_the_step_of_the_audit(parts, tmp_path):
    releases = [(VECTORS / name / GOOD.name, key_file(name)) for name in PLAYED]
    releases += [bad_release(name, tmp_path / name) for name in BAD]
    for folder, keys in releases:
        failed = audit(folder, keys.read_text().split()).failed
        ((*_, step, told),) = parts(CHECK, [in_base64(bytes_of(folder)), [], keys.read_text()])
        assert step == (failed and failed.name), (folder.name, told)


def test_every_lie_is_refused_in_the_words_of_the_audit(parts, tmp_path):
    for place, (name, lie) in enumerate(LIES.items()):
        operator = Month(tmp_path / str(place))
        folder = lie.play(operator)
        ((*_, step, told),) = parts(CHECK, [in_base64(bytes_of(folder)), [], operator.keys[0]])
        failed = audit(folder, operator.keys).failed
        assert (step, told) == (failed.name, failed.detail), name


SIZES = """
async ([files, larger, key]) => {
  const data = new Map(Object.entries(files).map(([name, text]) => [name, fromBase64(text, name)]));
  const found = [];
  for (const [name, size] of larger) {
    const opened = [];
    const read = async (wanted) => (opened.push(wanted), data.get(wanted));
    const sizeOf = (wanted) => (wanted === name ? size : data.get(wanted).length);
    const steps = await checkRelease({ names: [...data.keys()].sort(), read, size: sizeOf, key, previous: null });
    const bad = steps.find((step) => step.state === "failed");
    found.push([bad.name, bad.told, opened]);
  }
  return found;
}
"""


def test_a_file_of_another_size_is_refused_before_it_is_read(parts):
    cap = {name: next(cap for beginning, cap in CAPS.items() if name.startswith(beginning)) for name in FILES}
    larger = [*((name, cap[name] + 1, []) for name in FILES), ("tasks.jsonl", 1, ["manifest.json"])]
    found = parts(SIZES, [in_base64(bytes_of(GOOD)), [[name, size] for name, size, _ in larger], KEY])
    assert len(found) == len(larger) > len(CAPS)
    for (name, size, read), (step, told, opened) in zip(larger, found, strict=True):
        assert (step, opened) == ("files", read), (name, told)
        assert f"{name} has {size} bytes" in told


def test_no_truncation_and_no_flipped_bit_of_any_file_goes_unnoticed(parts):
    draw = random.Random(9162)
    data, flips = bytes_of(GOOD), []
    for name, whole in data.items():
        places = {0, len(whole) // 2, len(whole) - 1, *(draw.randrange(len(whole)) for _ in range(6))}
        flips += [(name, place, bit) for place in sorted(places) for bit in (0, 1 << draw.randrange(8))]
    whole, *tried = parts(CHECK, [in_base64(data), flips, KEY])
    assert whole[3] is None
    assert len(tried) == len(flips) > 200
    for name, place, bit, _, told in tried:
        assert told, (name, place, bit)
        assert any(word in told for word in (name, "manifest", "root", "leaf")), (name, place, bit, told)


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


def test_a_key_of_small_order_is_refused_where_it_is_given(check_in_page):
    told = check_in_page(GOOD, vkeys("bench.example/log", b"\x01")[0]).locator("li.failed").inner_text()
    assert "the public key of bench.example/log is a point of small order" in told


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
