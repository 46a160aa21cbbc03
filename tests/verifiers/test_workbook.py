"""Tests of hostile workbooks: each is refused at once, for its own fault, and counts against the agent."""

import io
import re
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState
from verifiers.states.workbook.book import same_formula
from verifiers.states.workbook.formula import Calculator
from verifiers.states.workbook.model import Sheet, Workbook, WorkbookCell, area_of, name_of, place_of
from verifiers.states.workbook.reader import read_workbook
from verifiers.states.workbook.wildcard import Wildcard
from verifiers.states.workbook.writer import write_workbook
from verifiers.tree import FileTree, JudgeInput, Node

from .builders import Asked

asked = Asked("spreadsheet", path="a.xlsx", sheet="S")

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
SOUND = write_workbook(Workbook((Sheet("S", {(1, 1): WorkbookCell("a")}),)))
SHEET = "xl/worksheets/sheet1.xml"


def with_parts_replaced(parts, data=SOUND, how=zipfile.ZIP_DEFLATED):
    """Return a workbook with some of its parts replaced, or removed where they are None."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as sound, zipfile.ZipFile(out, "w", how) as made:
        for name in dict.fromkeys([*sound.namelist(), *parts]):
            content = parts.get(name, sound.read(name) if name in sound.namelist() else b"")
            if content is not None:
                made.writestr(name, content)
    return out.getvalue()


def a_sheet(rows, more=""):
    return f"<worksheet {MAIN}><sheetData>{rows}</sheetData>{more}</worksheet>"


ENTITIES = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>' + a_sheet("<row><c><v>&b;</v></c></row>")
WRECKAGE = {
    "no zip": b"PK\x03\x04 nothing",
    "empty": b"",
    "no workbook": with_parts_replaced({"_rels/.rels": None}),
    "no sheet": with_parts_replaced({SHEET: None}),
    "no xml": with_parts_replaced({SHEET: "<worksheet"}),
    "entities": with_parts_replaced({SHEET: ENTITIES}),
    "a bomb": with_parts_replaced({SHEET: a_sheet("<row/>" * 1_300_000)}),
    "swells": with_parts_replaced({SHEET: a_sheet("<row/>" * 400_000)}),
    "too many parts": with_parts_replaced({f"x/{n}": b"" for n in range(1001)}),
    "too many cells": with_parts_replaced(
        {SHEET: a_sheet('<row r="1">' + "<c/>" * 100_001 + "</row>")}, how=zipfile.ZIP_STORED
    ),
    "packed with bzip2": with_parts_replaced({}, how=zipfile.ZIP_BZIP2),
    "beyond the last column": with_parts_replaced({SHEET: a_sheet('<row r="1"><c r="XFE1"><v>1</v></c></row>')}),
    "a number that is none": with_parts_replaced({SHEET: a_sheet('<row r="1"><c r="A1"><v>nan</v></c></row>')}),
    "a text that is not there": with_parts_replaced({SHEET: a_sheet('<row r="1"><c r="A1" t="s"><v>7</v></c></row>')}),
    "cut off": SOUND[:-30],
}


@pytest.mark.slow
@pytest.mark.parametrize("data", WRECKAGE.values(), ids=WRECKAGE)
def test_an_invalid_workbook_counts_against_the_agent_on_either_side_of_a_not(data):
    with pytest.raises(CorruptState):
        read_workbook(data)
    views = JudgeInput({"spreadsheet": FileTree({"a.xlsx": Node("file", data)})})
    asked.wins_nothing(views, "cellEquals", cell="A1", value="x")


def test_a_merged_area_over_everything_is_a_text_and_is_not_expanded():
    merged = '<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>'
    book = read_workbook(with_parts_replaced({SHEET: a_sheet('<row r="1"><c r="A1"><v>1</v></c></row>', merged)}))
    assert book.sheets[0].merged == ("A1:XFD1048576",)


def test_a_link_to_elsewhere_is_not_followed():
    link = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" '
        'Type="x/table" Target="../../../../etc/passwd" TargetMode="External"/></Relationships>'
    )
    book = read_workbook(with_parts_replaced({"xl/worksheets/_rels/sheet1.xml.rels": link}))
    assert book.sheets[0].tables == ()


def test_every_kind_of_cell_is_read():
    strings = f"<sst {MAIN}><si><t>one</t></si><si><r><t>t</t></r><r><t>wo</t></r><rPh><t>no</t></rPh></si></sst>"
    rows = (
        '<row r="2"><c r="B2" t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="b"><v>1</v></c><c t="e"><v>#N/A</v></c>'
        '<c t="str"><f>A1</f><v>x_x000D_</v></c><c><v>1E3</v></c><c><v>-0.5</v></c><c s="1"><v>46027.4375</v></c>'
        '<c s="1"><v>0.5</v></c><c t="inlineStr"><is><t>in</t></is></c><c/></row><row><c><v>7</v></c></row>'
    )
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    links = zipfile.ZipFile(io.BytesIO(SOUND)).read("xl/_rels/workbook.xml.rels").decode()
    more = f'<Relationship Id="rId9" Type="{kinds}/sharedStrings" Target="/xl/strings.xml"/></Relationships>'
    parts = {"xl/strings.xml": strings, SHEET: a_sheet(rows)}
    parts["xl/_rels/workbook.xml.rels"] = links.replace("</Relationships>", more)
    cells = read_workbook(with_parts_replaced(parts)).sheets[0].cells
    values = ["one", "two", True, "#N/A", "x\r", 1000, -0.5, "2026-01-05T10:30:00", "12:00:00", "in"]
    assert [cell.value for place, cell in cells.items() if place[0] == 2] == values
    assert cells[2, 6].formula == "A1"
    assert cells[3, 1].value == 7


@pytest.mark.parametrize("text", ["plain", "_x000D_", "a<b>&\"'", "tab\tline\n", "\x07", " ends ", "é", ""])
def test_a_text_is_read_as_it_was_written(text):
    book = Workbook(
        (Sheet("S & '1'", {(1, 1): WorkbookCell(text), (9, 30): WorkbookCell(0.1)}),), {"n": "'S & ''1'''!$A$1"}
    )
    assert read_workbook(write_workbook(book)) == book


@pytest.mark.parametrize(("text", "place"), [("A1", (1, 1)), ("$B$3", (3, 2)), ("XFD1048576", (1048576, 16384))])
def test_a_place_has_one_name(text, place):
    assert place_of(text) == place
    assert name_of(place) == text.replace("$", "")
    assert area_of(f"{text}:A1") == ((1, 1), place)


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("A1+A2*2", 12),
        ("-2^2", 4),
        ("2^3^2", 64),
        ("(1+2)*3%", 0.09),
        ("0.1+0.2", 0.3),
        ("A1&A4", "3"),
        ("A4+1", 1),
        ('"3"+1', 4),
        ('"x"+1', "#VALUE!"),
        ("1/0", "#DIV/0!"),
        ("SUM(A1:A9,1)", 8.5),
        ("COUNTA(A1:A3)", 3),
        ("AVERAGE(Z1:Z9)", "#DIV/0!"),
        ("IF(A1>2,1,1/0)", 1),
        ("IF(FALSE,1)", False),
        ('IFERROR(VLOOKUP("no",A1:A3,1,FALSE),"none")', "none"),
        ("INDEX(A1:A3,MATCH(4.5,A1:A3,0))", 4.5),
        ("ROUND(2.345,2)", 2.35),
        ("ROUND(-2.5,0)", -3),
        ('"Te"="tE"', True),
        ("Other!A1", "#REF!"),
        ("'S'!$A$1", 3),
        ("half", 1.5),
        ("MOD(-3,2)", 1),
        ("MEDIAN(1,5,2)", 2),
        ('TRIM("  a  b ")', "a b"),
        ('MID("abcd",2,2)', "bc"),
        ("SUM(A:A)", 7.5),
        ("SUBTOTAL(109,A:A)", 7.5),
        ("SUM($A:$A,3:3)", 7.5),
        ('COUNTIF(A:A,"x")', 1),
        ('COUNTIF(A:A,"<>x")', 1048575),
        ("COUNTBLANK(A:A)", 1048573),
        ("INDEX(A:A,500)", 0),
        ("INDEX(A:A,MATCH(4.5,A:A,0))", 4.5),
        ('SUMIFS(A:A,A:A,">3",A:A,"<9")', 4.5),
        ("XFE:XFE", "#REF!"),
        ("DATE(2026,13,1)", "2027-01-01"),
        ("YEAR(DATE(2026,2,30))&MONTH(46083)&DAY(46083)", "202632"),
        ("DAYS(DATE(2026,3,1),DATE(2026,2,1))", 28),
        ("DATE(2026,1,5)+1", "2026-01-06"),
        ("EOMONTH(DATE(2024,1,31),1)", "2024-02-29"),
        ("EDATE(DATE(2024,1,31),1)", "2024-02-29"),
        ("WEEKDAY(DATE(2026,1,5),2)", 1),
        ("WEEKDAY(DATE(2026,1,4))", 1),
        ("IFS(A1>9,1/0,A1>2,5)", 5),
        ("IFS(A1>9,1)", "#N/A"),
        ("CHOOSE(2,1/0,7)", 7),
        ("CHOOSE(3,1,2)", "#VALUE!"),
        ('SWITCH(A1,1,"a",3,"b","c")', "b"),
        ('SWITCH(A1,1,"a","c")', "c"),
        ("IFNA(MATCH(9,A1:A3,0),0)", 0),
        ("IFNA(1/0,0)", "#DIV/0!"),
        ("ISERROR(1/0)", True),
        ("ISNUMBER(1/0)", False),
        ("ISNUMBER(A1)", True),
        ("ISTEXT(A3)", True),
        ("ISBLANK(A4)", True),
        ("SQRT(A1+6)", 3),
        ("IFERROR(SQRT(-1),8)", 8),
        ("POWER(2,10)", 1024),
        ("CEILING(0.3,0.1)", 0.3),
        ("CEILING(-2.5,1)", -2),
        ("FLOOR(-2.5,-1)", -2),
        ("FLOOR(7.9,2)", 6),
        ("LARGE(A1:A3,2)", 3),
        ("SMALL(A1:A3,3)", "#NUM!"),
        ("RANK(3,A1:A2)", 2),
        ("MATCH(4,A1:A2)", 1),
        ("MATCH(1,A1:A2)", "#N/A"),
        ("VLOOKUP(9,A1:A2,1)", 4.5),
        ("HLOOKUP(3,A1:A2,2,FALSE)", 4.5),
        ("XLOOKUP(4.5,A1:A2,A2:A3)", "x"),
        ('XLOOKUP(9,A1:A2,A2:A3,"no")', "no"),
        ("PERCENTILE(A1:A2,0.5)", 3.75),
        ("QUARTILE(A1:A2,1)", 3.375),
        ("STDEV(1,2,3,4)", 1.29099444873581),
        ("VAR.P(1,2,3,4)", 1.25),
        ("LOG(8,2)", 3),
        ("LOG10(1000)", 3),
        ("LN(1)", 0),
        ("TRUNC(-2.7)", -2),
        ("SIGN(-3)", -1),
        ('SUBSTITUTE("a-b-c","-","+",2)', "a-b+c"),
        ('SUBSTITUTE("a-b-c","-","")', "abc"),
        ('FIND("c","abc")&SEARCH("C","abc")', "33"),
        ('FIND("C","abc")', "#VALUE!"),
        ('TEXTJOIN(", ",TRUE,"a","","b")', "a, b"),
        ('REPT("ab",2)', "abab"),
        ('EXACT("a","A")', False),
        ('PROPER("ada lovelace")', "Ada Lovelace"),
    ],
)
def test_a_formula_comes_to(formula, value):
    cells = {
        (1, 1): WorkbookCell(3),
        (2, 1): WorkbookCell(4.5),
        (3, 1): WorkbookCell("x"),
        (1, 2): WorkbookCell(None, formula),
        (1, 3): WorkbookCell(1.5),
    }
    book = Calculator(Workbook((Sheet("S", cells),), {"Half": "S!$C$1"}))
    assert book.value("S", (1, 2)) == value
    assert type(book.value("S", (1, 2))) is type(value)


@pytest.mark.parametrize(
    "formula",
    [
        "XLOOKUP(1,A1:A3,A1:A3,0,-1)", "B1", "SUM(A:B)", "TODAY()",
        'YEAR("5 May")', "A1:A3", "SUM(", "=", "1+", "Items[n]", "(" * 100 + "1" + ")" * 100,
        "SUM(A1:XFD1048576)", "SUBTOTAL(9,B1:B2)",
        'SUBSTITUTE(REPT("a",30000),"a",REPT("b",30000))', 'COUNTIF(A1:A3,"*a*a*a*a*a*b")', "9^9^9^9",
    ],
)  # fmt: skip
def test_a_formula_that_cannot_be_calculated_counts_against_the_agent(formula):
    data = write_workbook(Workbook((Sheet("S", {(1, 1): WorkbookCell("aaaa"), (1, 2): WorkbookCell(None, formula)}),)))
    views = JudgeInput({"spreadsheet": FileTree({"a.xlsx": Node("file", data)})})
    assert not asked(views, "cellEquals", cell="B1", value=1)
    if formula != "9^9^9^9" and "SUBST" not in formula:  # which are errors, as in a spreadsheet, and so not 1
        asked.wins_nothing(views, "cellEquals", cell="B1", value=1)


def test_a_circle_and_a_long_chain_end():
    cells = {(row, 1): WorkbookCell(None, f"A{row + 1}+1") for row in range(1, 200)}
    cells |= {(1, 2): WorkbookCell(None, "C1"), (1, 3): WorkbookCell(None, "B1")}
    book = Calculator(Workbook((Sheet("S", cells),)))
    assert [repr(book.value("S", place)) for place in ((1, 2), (1, 1))] == ["a value that only a spreadsheet knows"] * 2


@given(st.text("ab", max_size=12), st.text("ab?*", max_size=8))
def test_a_wildcard_matches_what_a_slow_search_finds(text, pattern):
    shape = "".join({"*": ".*", "?": "."}.get(letter, letter) for letter in pattern)
    assert Wildcard(pattern).matches(text.upper()) == bool(re.fullmatch(shape, text, re.DOTALL))


def test_a_text_and_a_number_stay_what_a_cell_can_hold():
    cells = {(1, 1): WorkbookCell("x" * 20_000), (2, 1): WorkbookCell(99_999_999), (1, 2): WorkbookCell(None, "A1&A1")}
    cells |= {(row, 3): WorkbookCell(None, f"C{row - 1}*C{row - 1}" if row > 1 else "A2*A2") for row in range(1, 9)}
    book = Calculator(Workbook((Sheet("S", cells),)))
    assert book.value("S", (1, 2)) == "#VALUE!"
    assert [book.value("S", (row, 3)) for row in (1, 6)] == [9.9999998e15, "#NUM!"]


def test_formulas_are_the_same_whatever_their_blanks_and_case_outside_of_texts():
    assert same_formula("=sum( $B$2:B3 )", "SUM(B2:B3)", ReadingBudget())
    assert not same_formula('="a b"', '="ab"', ReadingBudget())
    assert not same_formula('="A"', '="a"', ReadingBudget())
