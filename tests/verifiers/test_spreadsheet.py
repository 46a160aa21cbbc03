"""Tests of the spreadsheet predicates."""

import pytest

from verifiers.language.verdict import Verdict
from verifiers.states.workbook.examples import workbook
from verifiers.tree import FileTree, JudgeInput, Node

from .builders import Asked

holds = Asked("spreadsheet")

AT = {"path": "a.xlsx", "sheet": "S"}
ROWS = [[None, None], ["item", "n"], ["tea", 2], ["Tea", "2"], [None, None], ["sum", "=B3*1"]]


@pytest.fixture
def views():
    return workbook("a.xlsx", {"S": ROWS})


def test_a_number_is_no_text_and_case_counts(views):
    assert holds(views, "rowExists", **AT, where={"item": "tea", "n": 2})
    assert not holds(views, "rowExists", **AT, where={"item": "Tea", "n": 2})
    assert holds(views, "rowCount", **AT, count=1, where={"n": "2"})


def test_the_first_row_that_is_not_empty_names_the_columns_and_empty_rows_do_not_count(views):
    assert holds(views, "rowCount", **AT, count=3)
    assert not holds(views, "rowCount", **AT, count=3, where={"gone": 1})


def test_a_formula_counts_with_what_it_comes_to_and_a_text_is_not_added_up(views):
    assert holds(views, "columnSum", **AT, column="n", sum=4)
    assert holds(views, "cellEquals", **AT, cell="B6", value=2)
    assert not holds(views, "hasFormula", **AT, cell="B3")


def test_an_area_has_its_shape(views):
    assert holds(views, "rangeEquals", **AT, area="B4:A3", rows=[["tea", 2], ["Tea", "2"]])
    assert not holds(views, "rangeEquals", **AT, area="A3:B4", rows=[["tea", 2]])
    assert not holds(views, "rangeEquals", **AT, area="A1:XFD1048576", rows=[[None]])
    assert not holds(views, "cellEquals", **AT, cell="ZZZ1", value=None)


def test_a_whole_sheet_has_nothing_besides(views):
    assert holds(views, "sheetEquals", **AT, rows=[*ROWS[:5], ["sum", 2]])
    assert holds(views, "sheetEquals", **AT, rows=[*ROWS[:5], ["sum", 2, None], []])
    assert not holds(views, "sheetEquals", **AT, rows=ROWS[:5])
    far = workbook("a.xlsx", {"S": [[1]]}, merged="A1:B1")
    assert holds(far, "sheetEquals", **AT, rows=[[1]])


def test_a_tolerance_is_for_numbers_alone(views):
    assert holds(views, "cellEquals", **AT, cell="B3", value=2.04, tolerance=0.05)
    assert not holds(views, "cellEquals", **AT, cell="B4", value=2, tolerance=5)


def test_a_workbook_that_is_not_there_is_no_wreckage_and_a_link_is_none(views):
    assert holds.denied(views, "workbookExists", path="b.xlsx") is Verdict.TRUE
    link = JudgeInput({"spreadsheet": FileTree({"b.xlsx": Node("symlink", target="a.xlsx")})})
    assert not holds(link, "workbookExists", path="b.xlsx")
    assert not holds(link, "workbookAbsent", path="b.xlsx")


def test_a_file_that_is_left_over_is_noticed_and_a_folder_is_none(views):
    assert holds(views, "workbooksAre", paths=["a.xlsx"])
    tree = FileTree({"in": Node("directory"), "in/b.xlsx": Node("file"), "in/a.csv": Node("file")})
    assert holds(JudgeInput({"spreadsheet": tree}), "workbooksAre", paths=["in/b.xlsx", "in/a.csv"])
    assert not holds(JudgeInput({"spreadsheet": tree}), "workbooksAre", paths=["in/b.xlsx"])
