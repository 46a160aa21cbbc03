"""Tests of every page: readable for everybody, on a phone, in dark mode, and without scripts."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.slow

WIDER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def test_a_page_keeps_nobody_out_and_fits_a_telephone(walk, barriers):
    page = walk(color_scheme="light", viewport={"width": 1200, "height": 900})
    assert barriers(page) == []
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate(WIDER) == 0
    assert barriers(page, "color-contrast", "target-size", "scrollable-region-focusable") == []


def test_every_page_is_read_without_a_script(new_page, walked):
    pages = {who: new_page(who=who, java_script_enabled=False) for _, who in walked}
    for address, who in walked:
        page = pages[who]
        assert page.goto(address).ok
        assert page.locator("h1").inner_text().strip(), address
        assert len(page.locator("main").inner_text()) > 100, address


def test_an_address_elsewhere_fails_a_test(new_page):
    page = new_page()
    page.goto("/rotation")
    page.evaluate("fetch('http://192.0.2.1/').catch(() => 0)")
    assert any("192.0.2.1" in one for one in page.wrong)
    page.wrong.clear()


def test_the_routes_are_dark_where_the_browser_is(new_page):
    for scheme, light in (("light", True), ("dark", False)):
        page = new_page(color_scheme=scheme)
        page.goto("/docs")
        page.wait_for_selector(".opblock-summary-path")
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        ink = page.evaluate("getComputedStyle(document.querySelector('.opblock-summary-path')).color")
        assert [_lightness(paper) > _lightness(ink), _lightness(paper) > 128] == [light, light], scheme


def _lightness(colour: str) -> float:
    """Return the mean of a computed colour's parts, of 255."""
    return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 3
