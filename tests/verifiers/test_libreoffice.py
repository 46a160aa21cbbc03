"""Comparison of our calculation of formulas with LibreOffice's, over a sheet of mixed cells."""

import math
import re
import subprocess
from pathlib import Path

import pytest

from verifiers.budget import ReadingBudget
from verifiers.states.workbook.book import UNCLEAR
from verifiers.states.workbook.formula import CALCULATED, Calculator
from verifiers.states.workbook.model import DateText
from verifiers.states.workbook.operands import Unknown
from verifiers.states.workbook.reader import read_workbook
from verifiers.states.workbook.writer import write_workbook

from .formula_cases import DATES, DIFFERENT, FORMULA_COLUMN, NOT_CALCULATED, formulas, workbook

MIN_COMPARED, MANY = 1300, 100  # formulas, functions
SPEC = Path(__file__).parents[2] / "docs" / "SPEC.md"
MOST_USED = """
SUM IF AVERAGE COUNT MAX MIN VLOOKUP COUNTIF SUMIF ROUND IFERROR INDEX MATCH AND OR NOT COUNTA SUMIFS COUNTIFS TEXT
LEFT RIGHT MID LEN TRIM CONCATENATE CONCAT TEXTJOIN DATE TODAY NOW YEAR MONTH DAY WEEKDAY SUMPRODUCT HLOOKUP XLOOKUP
LOOKUP OFFSET INDIRECT ADDRESS ROW COLUMN ROWS COLUMNS ABS INT MOD ROUNDUP ROUNDDOWN SQRT POWER PRODUCT SUBTOTAL RANK
LARGE SMALL MEDIAN MODE STDEV VAR AVERAGEIF AVERAGEIFS MAXIFS MINIFS COUNTBLANK ISBLANK ISERROR ISNUMBER ISTEXT ISNA
NA IFNA IFS SWITCH CHOOSE FIND SEARCH SUBSTITUTE REPLACE REPT UPPER LOWER PROPER EXACT VALUE CHAR EDATE EOMONTH
DATEDIF NETWORKDAYS WORKDAY WEEKNUM HOUR MINUTE TIME PMT NPV RAND RANDBETWEEN PERCENTILE QUARTILE CEILING FLOOR
TRANSPOSE UNIQUE FILTER SORT CELL HYPERLINK
"""
"""The functions that sheets use most, as we see it."""
ENOUGH = ReadingBudget(10**9, 10**9)


def test_each_formula_of_the_tables_is_calculated_or_named():
    """The sample of every run: LibreOffice is not asked."""
    listed = formulas()
    values = calculate(write_workbook(workbook(listed), [("S", place) for place in DATES]), listed)
    unclear = {formula for formula, value in values.items() if value is UNCLEAR}
    reasons = {
        formula: [why for why, shape in NOT_CALCULATED.items() if re.search(shape, formula)] for formula in unclear
    }
    assert [formula for formula, why in reasons.items() if not why] == []
    assert {why for reason in reasons.values() for why in reason} == set(NOT_CALCULATED)
    assert len(listed) - len(unclear) >= MIN_COMPARED


def test_the_specification_lists_what_is_calculated_and_what_is_not():
    written = SPEC.read_text(encoding="utf-8")
    assert f"The functions are {', '.join(sorted(CALCULATED))}." in written
    assert f"no value here: {', '.join(sorted({*MOST_USED.split()} - CALCULATED))}." in written
    assert len({*MOST_USED.split()}) >= MANY


@pytest.mark.exhaustive
@pytest.mark.needs("soffice")
def test_formulas_come_to_what_libreoffice_calculates(tmp_path):
    listed = formulas()
    data = write_workbook(workbook(listed), [("S", place) for place in DATES])
    (tmp_path / "in.xlsx").write_bytes(data)
    profile = f"-env:UserInstallation={tmp_path.as_uri()}/profile"
    convert = ["soffice", "--headless", profile, "--convert-to", "xlsx", "--outdir", "out", "in.xlsx"]
    subprocess.run(convert, cwd=tmp_path, check=True, capture_output=True)
    theirs = read_workbook((tmp_path / "out/in.xlsx").read_bytes(), ENOUGH).sheets[0].cells
    ours = calculate(data, listed)
    different = {
        formula: (ours[formula], their)
        for row, formula in enumerate(listed, 1)
        if ours[formula] is not UNCLEAR
        and not are_same(ours[formula], their := number_of(getattr(theirs.get((row, FORMULA_COLUMN)), "value", None)))
    }
    named = {formula for formulas in DIFFERENT.values() for formula in formulas.split("|")}
    assert {formula: values for formula, values in different.items() if formula not in named} == {}
    assert named <= different.keys()


def calculate(data, listed):
    book = Calculator(read_workbook(data, ENOUGH), ENOUGH)
    book._left = 10**9  # more than the formulas of one real workbook may take

    def value(row):
        try:
            return number_of(book.known("S", (row, FORMULA_COLUMN)))
        except Unknown:
            return UNCLEAR

    return {formula: value(row) for row, formula in enumerate(listed, 1)}


def number_of(value):
    """Compare a date as its number: which cells are shown as dates is a question of formats."""
    return value.number if isinstance(value, DateText) else value


def are_same(ours, theirs):
    if isinstance(ours, bool | str) or isinstance(theirs, bool | str | None):
        # LibreOffice writes errors that only it has, such as 502 for an argument, as #VALUE!
        is_their_own = theirs == "#VALUE!" and isinstance(ours, str) and ours.startswith("#")
        return is_their_own or (type(ours) is type(theirs) and ours == theirs)
    return math.isclose(ours, theirs, rel_tol=1e-12, abs_tol=1e-14)
