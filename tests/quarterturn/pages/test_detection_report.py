"""Tests of the detection report as a file: self-contained, safe against names, in words as well as in charts."""

import base64
import hashlib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any
from xml.etree import ElementTree

import pytest

from quarterturn.findings import detection_report
from quarterturn.pages.detection_report import canonical, page
from quarterturn.pages.drawing import charts
from rotation.calendar import Month
from rotation.detection.report.report import report
from rotation.findings.store import Finding, FindingReview

Figures = dict[str, Any]
Drawn = Callable[..., Figures]
Element = ElementTree.Element
SVG = "svg"
NOW, COMPOSED = (datetime(2027, month, day, 9, 0, tzinfo=UTC) for month, day in ((2, 20), (3, 1)))
FIRST = Month(2026, 12)
sys.path.insert(0, str(Path(__file__).parents[2] / "rotation" / "detection"))


@pytest.fixture(scope="session")
def drawn() -> Drawn:
    """Return the document from which a simulated world's last month is drawn."""
    from worlds import World, Wrong, play, stored

    def make(
        submitters: int = 8,
        rotations: int = 3,
        names: tuple[str, ...] = (),
        counted: tuple[Finding, ...] = (),
        reviews: Mapping[str, tuple[FindingReview, ...]] = MappingProxyType({}),
    ) -> Figures:
        world = World(submitters, rotations, cohort=20, families=16, absence=0, again=0.2)
        table = play(world, 3, Wrong(start=rotations, known=0.6, shortcut=0.6, copied=0.6))
        table = replace(table, submitters=(names + table.submitters)[: len(table.submitters)])
        months = [str(FIRST.plus(number)) for number in range(rotations)]
        tests = [
            replace(found, reviews=reviews.get(found.subject, ()))
            for found in (stored(table, rotations) if rotations > 1 else ())
        ]
        document = report(table, rotations, tests)
        return detection_report.composed(document, [*tests, *counted], months, "bench.example/one", COMPOSED)

    return make


@pytest.fixture(scope="module")
def figures(drawn: Drawn) -> Figures:
    return drawn()


@pytest.fixture(scope="module")
def written(figures: Figures) -> str:
    return page(figures)


@pytest.fixture(scope="module")
def tree(written: str) -> Element:
    """The page is XML as well, so that a strict parser can read it."""
    return ElementTree.fromstring(written)


def words(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())


def section(tree: Element, name: str) -> Element:
    found = tree.find(f".//section[@aria-labelledby='{name}']")
    assert found is not None, name
    return found


def test_every_part_is_there_with_its_pictures_and_its_table(tree: Element) -> None:
    for name in ("jumps", "peers", "heat", "drift", "quantiles", "scores"):
        part = section(tree, name)
        assert part.findall(".//svg"), name
        assert part.findall(".//details//table/tbody/tr"), name
    assert len(section(tree, "views").findall(".//tbody/tr")) == 8


def test_a_row_is_drawn_for_every_submitter_and_every_month(tree: Element) -> None:
    def rows(name: str) -> int:
        return len(section(tree, name).findall(".//div[@class='row']"))

    assert (rows("jumps"), rows("heat"), rows("drift")) == (8, 8, 3)
    assert rows("scores") >= 8
    assert 3 <= len(section(tree, "quantiles").findall(".//figure")) <= 4


def test_a_first_month_has_no_label_for_the_exposed_tasks_that_it_lacks() -> None:
    tasks = [{"exposed": False}, {"exposed": False}]
    drawn = str(charts.heat({"tasks": tasks, "rows": [{"submitter": "ada", "residuals": [0.1, -0.1]}]}).scale)
    assert ("fresh: hard to easy" in drawn, "exposed" in drawn) == (True, False)


def test_nothing_is_asked_of_anybody_and_nothing_is_run(tree: Element, written: str) -> None:
    style = words_of_style(tree)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = next(meta.get("content") or "" for meta in tree.iter("meta") if meta.get("http-equiv"))
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert not {"script", "link", "img", "iframe", "object", "form", "a", "use", "image"} & {e.tag for e in tree.iter()}
    names = {name for element in tree.iter() for name in element.attrib}
    assert not [name for name in names if name.startswith("on") or name in {"style", "src", "href"}]
    assert "url(" not in style
    assert "@import" not in style
    assert "//" not in written.replace("<!DOCTYPE html>", "")


def words_of_style(tree: Element) -> str:
    (style,) = tree.findall("head/style")
    return style.text or ""


def test_every_picture_has_a_name_or_stands_beside_its_words(tree: Element) -> None:
    parents = {child: parent for parent in tree.iter() for child in parent}
    for picture in tree.iter(SVG):
        if parents[picture].tag == SVG:
            continue
        if picture.get("aria-hidden") != "true":
            assert picture.get("role") == "img"
            assert picture.get("aria-label")
        else:
            assert parents[picture].get("class") == "drawn"
    identifiers = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(identifiers) == len(set(identifiers))


def test_no_mark_lies_outside_of_its_picture(tree: Element) -> None:
    places = [
        float(value.removesuffix("%"))
        for picture in tree.iter(SVG)
        for element in picture
        for name, value in element.attrib.items()
        if name in {"x", "cx", "x1", "x2", "y", "cy", "y1", "y2"} and value.endswith("%")
    ]
    assert len(places) > 200
    assert 0 <= min(places) <= max(places) <= 100


def test_names_are_words_whatever_they_hold(drawn: Drawn) -> None:
    hostile = ("</style><script>alert(1)</script>", '"><svg onload="x">', "a\u202eb\u0000c", "{{ 7 * 7 }}")
    written = page(drawn(5, 2, hostile))
    tree = ElementTree.fromstring(written)
    assert not list(tree.iter("script"))
    assert len(tree.findall("head/style")) == 1
    assert not [name for element in tree.iter() for name in element.attrib if name.startswith("on")]
    assert "\u202e" not in written
    assert "\\u202e" in written
    assert "{{ 7 * 7 }}" in written


def test_the_same_figures_give_the_same_bytes_and_their_digest_is_said(figures: Figures, written: str) -> None:
    assert page(figures) == written
    assert hashlib.sha256(canonical(figures)).hexdigest() in written


def test_too_few_peers_is_said_with_the_smallest_leak_that_could_be_seen(drawn: Drawn) -> None:
    figures = drawn(3, 2)
    text = words(ElementTree.fromstring(page(figures)))
    shares = sorted(share for share in figures["report"]["smallest"].values() if share is not None)
    assert "Too few peers. 3 of the 5 submitters that a verdict about leaks needs" in text
    assert f"detected half of the time from {100 * shares[0]:.0f}" in text
    assert not [one for one in figures["findings"] if one["kind"] == "leak"]


def test_the_first_month_says_that_there_is_nothing_to_compare(drawn: Drawn) -> None:
    tree = ElementTree.fromstring(page(drawn(6, 1)))
    assert "The first month." in words(tree)
    assert "No findings need attention" in words(section(tree, "findings"))
    assert tree.find(".//section[@aria-labelledby='jumps']") is None


def test_a_finding_is_told_in_a_sentence_with_its_figures_and_what_people_said(drawn: Drawn) -> None:
    said = (
        FindingReview("open", "detectors", NOW, ""),
        FindingReview("explained", "grace", NOW, "one <model>, two names"),
    )
    more = {"detail": "withdraw it?", "computed_at": NOW, "reviews": said[:1]}
    more |= dict.fromkeys(("p_value", "p_adj", "q", "effect", "low", "high"))
    over = Finding(2000, "exposure", "task0009", Month(2027, 2), "review", **more)
    figures = drawn(counted=(over,), reviews={"who000|who001": said})
    articles = [words(one) for one in section(ElementTree.fromstring(page(figures)), "findings").findall("article")]
    copy = next(one for one in articles if "near-duplicate" in one)
    assert "review, explained" in copy
    assert re.search(r"who000 and who001 finding \d+", copy)
    assert "explained since 2027-02-20 09:00, grace: one <model>, two names" in copy
    assert re.search(r"p (at most 10|\d).*; Holm \d.*; Benjamini-Hochberg \d", copy)
    leak = next(one for one in articles if "leaked tasks: who000" in one)
    assert re.search(r"share of the exposed tasks known: \d+.% \(\d+.% to \d+.%\)", leak)
    assert re.search(r"detected half of the time from \d+.% known on", leak)
    counted = next(one for one in articles if "task0009" in one)
    assert "counted, not tested" in counted
    assert "withdraw it?" in counted


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        ("mallory", "mallory named values that they were not shown"),
        ("upstream:acme", "Models of upstream:acme named values that they were not told"),
    ],
)
def test_an_echo_says_who_named_what_and_where_it_comes_from(drawn: Drawn, subject: str, said: str) -> None:
    month, at = Month.parse("2027-02"), datetime(2027, 2, 1, tzinfo=UTC)
    detail = "bob|2027-01, with probability 0.99; with leak: p 1e-09"
    figures = {"p_value": 1e-8, "p_adj": 1e-7, "q": 1e-7, "effect": 6.25, "low": None, "high": None}
    echo = Finding(99, "echo", subject, month, "review", **figures, detail=detail, computed_at=at, reviews=())
    text = words(section(ElementTree.fromstring(page(drawn(6, 2, counted=(echo,)))), "findings"))
    assert said in text
    assert detail in text
    assert "values of others above what was expected by chance: 6.2" in text


def test_runs_that_no_scan_has_read_are_said(drawn: Drawn, written: str) -> None:
    sentence = "has not read 2 of its"
    assert sentence not in written
    assert sentence in words(ElementTree.fromstring(page(drawn() | {"untested": 2})))
