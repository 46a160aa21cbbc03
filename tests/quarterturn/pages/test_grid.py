"""Tests of tables as HTML, JSON and CSV: the same rows, and nothing that a spreadsheet would execute."""

import csv
import io
import json

import pytest

from quarterturn.pages.drawing.grid import FORMULA, Column, Grid, briefly

COLUMNS = (Column("name", "Name", href="/named/{number}"), Column("number", "Number"), Column("told", "Told"))


def grid(*rows):
    return Grid("rows", "Rows", COLUMNS, [dict(zip(("name", "number", "told"), row, strict=True)) for row in rows])


def read(data):
    return list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))


def test_all_three_forms_show_the_same_rows_in_the_same_order():
    made = grid(("b", 2, True), ("a", 0.5, None))
    rows = [{"name": "b", "number": 2, "told": True}, {"name": "a", "number": 0.5, "told": None}]
    assert json.loads(made.as_json()) == {"rows": rows}
    assert made.as_csv() == b"name,number,told\r\nb,2,true\r\na,0.5,\r\n"
    assert [[cell.text for cell in row] for row in made.cells()] == [["b", "2", "yes"], ["a", "0.5", "\u2013"]]


@pytest.mark.parametrize("text", ['a "quoted", b', "two\r\nlines", "two\nlines", ",", '"', "\u00fc\u4e2d", " blank "])
def test_a_text_comes_back_from_csv_as_it_was(text):
    made = grid((text, 1, "x"))
    assert read(made.as_csv())[1] == [text, "1", "x"]
    assert made.as_csv().endswith(b"\r\n")


@pytest.mark.parametrize("begins", FORMULA)
def test_a_text_that_a_spreadsheet_would_run_is_a_text(begins):
    cell = read(grid((f"{begins}HYPERLINK(1)", -1, "x")).as_csv())[1]
    assert cell == [f"'{begins}HYPERLINK(1)", "-1", "x"], "and a number stays one"


def test_a_name_is_legible_and_a_long_text_is_cut_for_people_alone():
    made = grid(("\u202egnp", 1, "x"))
    assert made.cells()[0][0].text == "\\u202egnp"
    assert len(briefly("a" * 9999)) < 200
    assert "a" * 9999 in grid(("n", 1, "a" * 9999)).as_csv().decode()


def test_what_a_cell_leads_to_has_the_rows_values_and_nothing_leads_nowhere():
    assert grid(("a", 7, "x")).cells()[0][0].href == "/named/7"
    assert grid((None, 7, "x")).cells()[0][0].href == ""


def test_numbers_stand_below_a_title_that_stands_as_they_do():
    assert [head.number for head in grid(("a", 7, True)).heads()] == [False, True, False]
