"""What holds for every page: everybody can read it, on a telephone too, in the dark too, and without a script."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

WIDER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_keeps_nobody_out(new_page, barriers, address, scheme):
    page = new_page(color_scheme=scheme, viewport={"width": 1200, "height": 900})
    assert page.goto(address).ok
    assert barriers(page) == []


def test_a_page_fits_a_telephone(new_page, address):
    page = new_page(viewport={"width": 360, "height": 740})
    page.goto(address)
    assert page.evaluate(WIDER) == 0


def test_a_page_is_read_without_a_script(new_page, address):
    page = new_page(java_script_enabled=False)
    page.goto(address)
    assert page.locator("h1").inner_text().strip()
    assert len(page.locator("main").inner_text()) > 100


def test_an_address_elsewhere_fails_a_test(new_page):
    page = new_page()
    page.goto("/rotation")
    page.evaluate("fetch('http://192.0.2.1/').catch(() => 0)")
    assert any("192.0.2.1" in one for one in page.wrong)
    page.wrong.clear()
