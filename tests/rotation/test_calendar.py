"""Tests of months as values: parsing, arithmetic, and the names derived from them."""

from datetime import UTC, datetime

import pytest

from rotation.calendar import Month, is_release
from rotation.errors import Malformed


def test_a_month_reads_as_it_is_written():
    assert str(Month.parse("2026-12")) == "2026-12"
    assert Month.of(datetime(2026, 11, 30, 23, 59, tzinfo=UTC)) == Month.parse("2026-11")


def test_months_roll_over_the_year_in_both_directions():
    assert Month.parse("2026-12").plus(1) == Month.parse("2027-01")
    assert Month.parse("2026-01").plus(-1) == Month.parse("2025-12")
    assert Month.parse("2026-11").plus(26) == Month.parse("2029-01")


def test_a_month_names_its_cohort_and_its_release():
    assert Month.parse("2026-12").cohort == "cohort-2026-12"
    assert Month.parse("2026-12").release == "Historical-2026-12"


@pytest.mark.parametrize(
    "text", ["2026-13", "2026-00", "26-12", "2026-1", "2026-12 ", "", "٢٠٢٦-12", "2026-12\n", "1999-12", "../2026-12"]
)
def test_a_malformed_month_is_refused_by_name_and_names_no_release(text):
    with pytest.raises(Malformed, match="not a month"):
        Month.parse(text)
    assert not is_release(f"Historical-{text}")
