"""Tests of how pages format names, numbers and figures."""

import pytest

from quarterturn.pages.drawing import formatting
from quarterturn.pages.drawing.figures import draw_figure


@pytest.mark.parametrize(
    ("p", "said"),
    [
        (None, "\u2013"),
        (1.0, "1"),
        (0.0312, "0.031"),
        (0.00079, f"7.9{formatting.TIMES}10⁻⁴"),
        (2e-12, f"2{formatting.TIMES}10⁻¹²"),
        (1e-15, "at most 10⁻¹⁵"),
    ],
)
def test_small_p_values_are_written_as_powers(p: float | None, said: str) -> None:
    assert formatting.chance(p) == said


def test_a_minus_is_a_minus_and_nought_has_no_sign() -> None:
    assert formatting.points(-0.1234) == "\u221212.3"
    assert formatting.points(0.05) == "+5.0"
    assert formatting.points(-0.0001) == "0.0"
    assert formatting.points(None) == formatting.percent(None) == "\u2013"
    assert formatting.percent(0.256) == "26\u202f%"


def test_invisible_characters_of_a_name_are_escaped() -> None:
    assert formatting.legible("a\u202eb\n") == "a\\u202eb\\n"
    assert formatting.legible("e" + "\u0301" * 4) == "e\u0301\u0301\\u0301\\u0301"
    assert formatting.legible("数据 é ñ") == "数据 é ñ"


def test_a_long_name_is_cut_for_a_chart() -> None:
    assert formatting.short("W" * 60) == "W" * 25 + "…"
    assert formatting.short("who001") == "who001"


def test_a_figure_is_written_to_a_tenth_with_its_interval() -> None:
    shown = draw_figure("Success", {"value": 0.545, "low": 0.33, "high": 0.74, "n": 24})
    assert (shown.value, shown.between) == ("54.5\u202f%", "33.0 to 74.0")
    assert draw_figure("Success", None).value == formatting.NONE
