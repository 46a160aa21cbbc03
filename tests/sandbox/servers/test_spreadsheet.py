"""Tests of the spreadsheet server's state: workbooks written, mutated, and changed by the server in a boxed world."""

from __future__ import annotations

import json

import pytest

from sandbox.boxes.docker.box import DockerBox
from sandbox.errors import Malformed
from sandbox.kinds.common.check import check
from sandbox.kinds.workbook.apply_mutation import mutate
from sandbox.kinds.workbook.kind import STATE, seed
from sandbox.servers.registry import SERVERS
from verifiers.language.verdict import Verdict
from verifiers.states.workbook.reader import read_workbook

from ...frozen import content
from .holding import holds_in

ROWS = [["item", "n", "sum", "day"], ["tea", 2, "=B2*3", {"date": "2026-01-05"}], ["milk", 3.5, "=B3*3", None]]
STOCK = {"name": "Stock", "rows": ROWS, "tables": [{"name": "Items", "area": "A1:B3"}]}
NOTES = {"name": "Notes", "rows": [["a", True]], "merged": ["D1:E1"], "hidden": True}
STATES = {"workbooks": {"in/stock.xlsx": {"sheets": [STOCK, NOTES], "names": {"total": "Stock!$B$3"}}}}
BOOK = {"path": "in/stock.xlsx"}
SHEET = {**BOOK, "sheet": "Stock"}
TRUTH = {"spreadsheet.workbookExists": BOOK}


holds = holds_in("spreadsheet")


def test_a_state_becomes_workbooks_and_the_same_bytes_each_time():
    check(STATE, STATES, "the state")
    tree = seed(STATES)
    assert tree["in/stock.xlsx"].data == seed(STATES)["in/stock.xlsx"].data
    assert holds(tree, "sheetsAre", **BOOK, sheets=["Stock", "Notes"])
    assert holds(tree, "sheetExists", **BOOK, sheet="Notes", hidden=True)
    assert holds(tree, "rangeEquals", **SHEET, area="A2:D2", rows=[["tea", 2, 6, "2026-01-05"]])
    assert holds(tree, "formulaIs", **SHEET, cell="C3", formula="=b3 * 3")
    assert holds(tree, "tableExists", **SHEET, name="items", area="A1:B3", columns=["item", "n"])
    assert holds(tree, "cellsMerged", **BOOK, sheet="Notes", area="D1:E1")
    assert holds(tree, "namedRangeIs", **BOOK, name="Total", refers_to="Stock!B3")
    assert dict(seed({})) == {}


@pytest.mark.parametrize(
    ("sheets", "sentence"),
    [
        ([STOCK, {"name": "stock"}], "two sheets of one name"),
        ([{"name": "A", "hidden": True}], "no sheet that is not hidden"),
        ([{"name": "A", "rows": [["a"]], "tables": [{"name": "T", "area": "A1:B2"}]}], "no text above"),
        ([{"name": "A", "rows": [[{"date": "2026-02-30"}]]}], "a date that is none"),
        ([{"name": "A", "rows": [["\ud800"]]}], "surrogate"),
    ],
)
def test_a_state_that_contradicts_itself_is_refused(sheets, sentence):
    with pytest.raises(Malformed, match=sentence):
        seed({"workbooks": {"a.xlsx": {"sheets": sheets}}})


@pytest.mark.parametrize("path", ["/etc/a.xlsx", "../a.xlsx", "a.txt", "a/.xlsx/../b.xlsx"])
def test_a_workbook_lies_below_the_folder(path):
    with pytest.raises(Malformed):
        check(STATE, {"workbooks": {path: {"sheets": [STOCK]}}}, "the state")


def test_each_change_changes_one_thing():
    tree = seed(STATES)
    more = mutate(tree, {"write": {**SHEET, "cell": "B2", "value": 9}})
    assert holds(more, "columnSum", **SHEET, column="n", sum=12.5)
    emptied = mutate(tree, {"write": {**SHEET, "cell": "B2", "value": None}})
    assert holds(emptied, "cellEquals", **SHEET, cell="B2", value=None)
    assert holds(mutate(tree, {"add_row": {**SHEET, "values": {"item": "jam"}}}), "rowCount", **SHEET, count=3)
    gone = mutate(tree, {"remove_rows": {**SHEET, "where": {"item": "tea"}}})
    assert not holds(gone, "rowExists", **SHEET, where={"item": "tea"})
    renamed = mutate(tree, {"rename_sheet": {**SHEET, "to": "stock"}})
    assert holds(renamed, "sheetsAre", **BOOK, sheets=["stock", "Notes"])
    assert holds(mutate(tree, {"remove_sheet": SHEET}), "sheetsAre", **BOOK, sheets=["Notes"])
    moved = mutate(tree, {"move": {"from": "in/stock.xlsx", "to": "b.xlsx"}})
    assert holds(moved, "workbookAbsent", **BOOK)
    assert holds(moved, "workbookExists", path="b.xlsx")
    nameless = mutate(tree, {"name": {**BOOK, "name": "TOTAL", "refers_to": None}})
    assert not holds(nameless, "namedRangeIs", **BOOK, name="total", refers_to="Stock!B3")
    assert holds(tree, "columnSum", **SHEET, column="n", sum=5.5), "the original stays as it was"


@pytest.mark.parametrize(
    "change",
    [
        {"remove": "gone.xlsx"},
        {"write": {**BOOK, "sheet": "Gone", "cell": "A1", "value": 1}},
        {"add_row": {**SHEET, "values": {"gone": 1}}},
        {"write": {**SHEET, "cell": "1A", "value": 1}},
    ],
)
def test_a_change_of_what_is_not_there_is_refused(change):
    with pytest.raises(Malformed, match="the spreadsheet change"):
        mutate(seed(STATES), change)


READING = [
    ("list_workbooks", {}),
    ("describe_workbook", BOOK),
    ("describe_sheet", SHEET),
    ("read_range", SHEET),
    ("find_cells", {**BOOK, "query": "tea"}),
    ("trace_formula", {**SHEET, "range": "C2", "direction": "precedents"}),
    ("export_workbook", BOOK),
    ("transform_range", {**SHEET, "range": "A1:B3", "transform": {"operation": "remove_duplicates"}}),
]
WRITING = [
    ("create_workbook", {"path": "new.xlsx"}),
    ("create_sheet", {**BOOK, "new_name": "More"}),
    ("rename_sheet", {**BOOK, "sheet": "More", "new_name": "Less"}),
    ("copy_sheet", {**BOOK, "sheet": "Less", "new_name": "Least"}),
    ("delete_sheet", {**BOOK, "sheet": "Less"}),
    ("write_range", {**SHEET, "at": "A4", "rows": [["jam", 4, "=B4*3", "2026-01-07"]]}),
    ("insert_rows_or_columns", {**SHEET, "axis": "rows", "start": 5}),
    ("write_range", {**SHEET, "at": "A6", "rows": [["end", 9], ["tea", 1]]}),
    ("delete_rows_or_columns", {**SHEET, "axis": "rows", "start": 5}),
    ("sort_range", {**SHEET, "range": "A5:B6", "sort_by": [{"column": "B"}], "has_header": False}),
    ("replace_cells", {**SHEET, "query": "jam", "replacement": "Jam"}),
    ("copy_range", {**SHEET, "range": "A4", "at": "F1"}),
    ("clear_range", {**SHEET, "range": "F1"}),
    ("goal_seek", {**SHEET, "cell": "C2", "target": 12, "changing_cell": "B2"}),
    ("export_csv", {**SHEET, "csv_path": "out.csv"}),
    ("import_csv", {**BOOK, "sheet": "Least", "csv_path": "out.csv"}),
    ("set_defined_name", {**BOOK, "name": "first", "refers_to": "Stock!$A$2"}),
    ("delete_defined_name", {**BOOK, "name": "total"}),
]
POSITIVE = {"type": "whole", "operator": "greaterThan", "minimum": "0"}
PIVOT = {"row_fields": ["item"], "value_fields": [{"field": "n"}], "name": "Pivot"}
DUPLICATES = {"type": "duplicate", "fill_color": "FF0000"}
LOOKS = [
    ("format_range", {**SHEET, "range": "A1:D1", "style": {"bold": True}}),
    ("merge_cells", {**SHEET, "range": "H1:I1"}),
    ("set_sheet_layout", {**SHEET, "layout": {"freeze_panes": "A2"}}),
    ("set_workbook_settings", {**BOOK, "settings": {"doc_properties": {"title": "Stock"}}}),
    ("set_note", {**SHEET, "cell": "A1", "text": "see"}),
    ("delete_note", {**SHEET, "cell": "A1"}),
    ("create_chart", {**SHEET, "chart_type": "column", "source": "A1:B3", "at": "H5", "name": "Chart"}),
    ("delete_chart", {**SHEET, "name": "Chart"}),
    ("add_sparklines", {**SHEET, "range": "G2", "source": "B2:B3"}),
    ("delete_sparklines", {**SHEET, "range": "G2"}),
    ("add_data_validation", {**SHEET, "range": "B2:B3", "rule": POSITIVE}),
    ("add_conditional_format", {**SHEET, "range": "B2:B3", "rule": DUPLICATES}),
    ("set_table", {**SHEET, "name": "Items", "options": {"style": "TableStyleLight1"}}),
    ("create_pivot_table", {**SHEET, "at": "K1", "source": "Stock!A1:B3", **PIVOT}),
    ("delete_pivot_table", {**SHEET, "name": "Pivot"}),
    (
        "add_slicer",
        {**SHEET, "target": {"sheet": "Stock", "name": "Items"}, "field": "item", "at": "K9", "name": "Slice"},
    ),
    ("delete_slicer", {**SHEET, "name": "Slice"}),
]
IMAGES = [
    ("insert_image", {**SHEET, "image_path": "none.png", "at": "A9"}),
    ("delete_image", {**SHEET, "name": "none"}),
    ("read_vba", BOOK),
    ("import_workbook", {"path": "b.xlsx", "content_base64": "bm9uZQ=="}),
]


def failed(proved):
    return [(call["tool"], call["result"]) for call in proved.log if call["error"]]


@pytest.mark.box
def test_written_values_are_read_back(played):
    proved = played(
        "spreadsheet",
        STATES,
        WRITING,
        {
            "all": [
                {"spreadsheet.sheetsAre": {**BOOK, "sheets": ["Stock", "Notes", "Least"]}},
                {"spreadsheet.rangeEquals": {**SHEET, "area": "A4:D4", "rows": [["Jam", 4, 12, "2026-01-07"]]}},
                {"spreadsheet.rangeEquals": {**SHEET, "area": "A5:B6", "rows": [["tea", 1], ["end", 9]]}},
                {"spreadsheet.formulaIs": {**SHEET, "cell": "C4", "formula": "B4*3"}},
                {"spreadsheet.cellEquals": {**SHEET, "cell": "B2", "value": 4, "tolerance": 0.001}},
                {"spreadsheet.cellEquals": {**SHEET, "cell": "F1", "value": None}},
                {"spreadsheet.namedRangeIs": {**BOOK, "name": "first", "refers_to": "=Stock!$A$2"}},
                {"not": {"spreadsheet.namedRangeIs": {**BOOK, "name": "total", "refers_to": "Stock!$B$3"}}},
                {"spreadsheet.workbookExists": {"path": "new.xlsx"}},
            ]
        },
    )
    assert not failed(proved)
    assert proved.verdict is Verdict.TRUE, proved.evidence.as_json()


@pytest.mark.box
def test_every_tool_that_reads_can_be_called_and_what_is_not_there_or_lies_outside_is_an_error(played):
    outside = [("create_workbook", {"path": "/data/x.xlsx"}), ("describe_workbook", {"path": "../memory/x.xlsx"})]
    wrong = [*IMAGES, *outside]
    proved = played("spreadsheet", STATES, [*READING, *wrong], TRUTH)
    assert [call["error"] for call in proved.log] == [False] * len(READING) + [True] * len(wrong)
    assert proved.verdict is Verdict.TRUE


@pytest.mark.box
def test_formatting_tools_leave_a_readable_workbook(played):
    proved = played(
        "spreadsheet",
        STATES,
        LOOKS,
        {
            "all": [
                {"spreadsheet.cellsMerged": {**SHEET, "area": "H1:I1"}},
                {"spreadsheet.tableExists": {**SHEET, "name": "Items"}},
                {"spreadsheet.rowCount": {**SHEET, "count": 2}},
            ]
        },
    )
    assert not failed(proved)
    assert proved.verdict is Verdict.TRUE, proved.evidence.as_json()


def test_every_tool_is_called_by_one_of_these_stories():
    assert {tool for tool, _ in (*READING, *WRITING, *LOOKS, *IMAGES)} == set(SERVERS["spreadsheet"].tools)


FORMULAS = [
    *("=SUM(B2:B3)", "=AVERAGE(B2:B3)", '=COUNTIF(A2:A3,"te*")', "=ROUND(B3/3,2)", '=IF(B2>1,"yes","no")'),
    *('=A2&"-"&B2', '=VLOOKUP("milk",A2:B3,2,FALSE)', "=MAX(B2:B3)-MIN(B2:B3)", "=1/0", "=total*2", "=-2^2"),
    *('=SUMIFS(B2:B3,A2:A3,"milk")', "=10%*B2", '=IFERROR(1/0,"none")', "=SUMPRODUCT(B2:B3,B2:B3)", "=LEN(UPPER(A2))"),
    *('=MAXIFS(B2:B3,A2:A3,"<>milk")', '=MINIFS(B2:B3,A2:A3,"milk",B2:B3,">3")', "=1+CONCAT(B2,B3)"),
]


@pytest.mark.box
def test_a_formula_comes_to_what_the_server_says_that_it_comes_to(played):
    area = f"H1:H{len(FORMULAS)}"
    calls = [("write_range", {**SHEET, "at": "H1", "rows": [[one] for one in FORMULAS]})]
    proved = played("spreadsheet", STATES, [*calls, ("read_range", {**SHEET, "range": area})], TRUTH)
    tree, rows = content(proved.state.state).below("workbooks"), json.loads(proved.log[1]["result"])["values"]
    assert read_workbook(tree["in/stock.xlsx"].data).sheets[0].cells[1, 8].formula == "SUM(B2:B3)"
    assert holds(tree, "rangeEquals", **SHEET, area=area, rows=rows, tolerance=1e-9), rows
    assert holds(tree, "formulaIs", **SHEET, cell=f"H{len(FORMULAS)}", formula=FORMULAS[-1])


@pytest.mark.engine
@pytest.mark.slow
def test_the_image_has_the_same_server(played):
    proved = played("spreadsheet", STATES, WRITING[:6], {"spreadsheet.rowCount": {**SHEET, "count": 3}}, DockerBox())
    assert not failed(proved)
    assert proved.verdict is Verdict.TRUE
