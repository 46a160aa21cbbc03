"""Tests of the worked example: the page shows the values of the example release, computed from Python alone."""

from pathlib import Path

from freezing import worked_example

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "worked-example.md"


def test_the_page_shows_the_values_of_the_release():
    assert PAGE.read_text() == worked_example.page(), worked_example.COMMAND
