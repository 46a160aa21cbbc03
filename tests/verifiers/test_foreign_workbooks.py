# ruff: noqa: E501
"""Tests of workbooks in the manner of the programs that people save them with, with their values beside them."""

import io
import zipfile

import pytest

from verifiers.errors import CorruptState
from verifiers.states.workbook.book import UNCLEAR
from verifiers.states.workbook.formula import Calculator
from verifiers.states.workbook.model import SharedFormula
from verifiers.states.workbook.reader import read_workbook

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
STRICT = ("http://purl.oclc.org/ooxml/spreadsheetml/main", "http://purl.oclc.org/ooxml/officeDocument/relationships")
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
DATES = '<numFmts><numFmt numFmtId="170" formatCode="[$-409]d\\-mmm;@"/></numFmts><cellXfs><xf/><xf numFmtId="14"/>'
DATES += '<xf numFmtId="170"/><xf numFmtId="44"/></cellXfs>'


def write_file(rows, strings="", *, names="", settings="", places=None, spaces=(MAIN, LINKS), prefix=""):
    """Return a file with one sheet; `places` are the paths of its parts and what the relations call them."""
    main, links = spaces
    called = {
        "book": ("xl/workbook.xml", "xl/workbook.xml"), "sheet": ("xl/worksheets/sheet1.xml", "worksheets/sheet1.xml"),
        "styles": ("xl/styles.xml", "styles.xml"), "strings": ("xl/sharedStrings.xml", "sharedStrings.xml"),
        **(places or {}),
    }  # fmt: skip
    folder, _, book = called["book"][0].rpartition("/")

    def relations(**kinds):
        listed = "".join(
            f'<Relationship Id="{name}" Type="{links}/{kind}" Target="{called[name][1]}" TargetMode=""/>'
            for name, kind in kinds.items()
        )
        return f'<Relationships xmlns="{PACKAGE}">{listed}</Relationships>'

    def element(name, inside, more=""):
        space = f"xmlns:{prefix[:-1]}" if prefix else "xmlns"
        return f'<{prefix}{name} {space}="{main}" xmlns:r="{links}"{more}>{inside}</{prefix}{name}>'

    sheets = f'<{prefix}sheets><{prefix}sheet name="S" state="" sheetId="1" r:id="sheet"/></{prefix}sheets>'
    parts = {
        "_rels/.rels": relations(book="officeDocument"),
        called["book"][0]: element("workbook", f"{settings}{sheets}{names}"),
        f"{folder}/_rels/{book}.rels": relations(sheet="worksheet", styles="styles", strings="sharedStrings"),
        called["styles"][0]: element("styleSheet", DATES if not prefix else ""),
        called["strings"][0]: element("sst", strings),
        called["sheet"][0]: element("worksheet", f"<{prefix}sheetData>{rows}</{prefix}sheetData>"),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in parts.items():
            archive.writestr(path, '<?xml version="1.0" encoding="UTF-8"?>\n' + text)
    return out.getvalue()


RICH = '<si><r><rPr><b/></rPr><t xml:space="preserve">two </t></r><r><t>runs</t></r></si>'
RICH += "<si><t>東京</t><rPh sb='0' eb='2'><t>トウキョウ</t></rPh><phoneticPr fontId='1'/></si>"
EXCEL = write_file(
    '<row r="1" spans="1:3"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" s="1"><v>46027</v></c></row>'
    '<row r="2"><c r="A2"><v>2</v></c><c r="B2"><f t="shared" ref="B2:B4" si="0">A2*A$2+SUM($A$2:A2)</f></c></row>'
    '<row r="3"><c r="A3"><v>3</v></c><c r="B3"><f t="shared" si="0"/></c><c r="C3" s="3"><v>1.5</v></c></row>'
    '<row r="4"><c r="A4"><v>4</v></c><c r="B4"><f t="shared" si="0"/><v>17</v></c><c r="C4" t="e"><v>#N/A</v></c></row>'
    '<row r="5"><c r="A5" cm="1"><f t="array" ref="A5">SUM(A2:A4*A2:A4)</f></c><c r="B5" s="2"><f>C1+1</f></c></row>',
    RICH,
)
GOOGLE = write_file(
    '<row r="1"><c r="A1" s="0" t="s"><v>0</v></c><c r="B1" s="2"><v>46027.75</v></c></row>'
    '<row r="2"><c r="A2" s=""/><c r="B2" t="b"><v>true</v></c><c r="C2"><f t="shared" ref="C2" si="">TOTAL*2</f></c></row>',
    "<si><t>x</t></si>",
    names="<definedNames><definedName name='TOTAL'>S!$D$1</definedName><definedName name='TOTAL' localSheetId='0'>7"
    "</definedName><definedName localSheetId='' name='Rate'>0.5</definedName></definedNames>",
)
IN_1904 = write_file(
    '<row><c s="1"><v>1</v></c><c s="1"><v>44565</v></c><c s="1"><f>A1+1</f></c><c><f>B1-A1</f></c>'
    "<c><f>YEAR(B1)</f></c><c><f>COUNTA(A1:B1)</f></c></row>",
    settings='<workbookPr date1904="1"/>',
)
STRICT_EXCEL = write_file(
    '<row r="1"><c r="A1" t="d" s="1"><v>2026-01-05</v></c><c r="B1" t="d" s="1"><v>2026-01-05T10:30:00Z</v></c>'
    '<c r="C1"><f>A1+1</f></c><c r="D1" t="inlineStr"><is><t>xmlns="http://purl.oclc.org/ooxml/spreadsheetml/main"</t></is>'
    "</c></row>",
    spaces=STRICT,
)
OPENPYXL = write_file(
    '<row r="1"><c r="A1" t="n"><v>1</v></c><c r="B1"><f t="array" ref="B1:B2">A1:A2*2</f><v/></c><c r="C1"><f>A1</f><v/></c>'
    '</row><row r="2"><c r="A2" t="inlineStr"><is><r><t>in</t></r><r><t>line</t></r></is></c></row>',
    places={"sheet": ("xl/worksheets/sheet1.xml", "/xl/worksheets/sheet1.xml")},
)
SDK = write_file('<x:row><x:c t="str"><x:v>a</x:v></x:c></x:row>', prefix="x:")
LIBREOFFICE = write_file(
    '<row r="1"><c r="A1" s="0" t="n"><v>1</v></c><c r="B1" t="str"><f aca="false">IF(A1=1,"","x")</f><v></v></c>'
    '<c r="C1" t="e"><f aca="false">1/0</f><v>#DIV/0!</v></c></row>'
)
BOOKS = {
    "Excel": (EXCEL, ["two runs", "東京", "2026-01-05", 2, 6, 3, 11, 1.5, 4, 17, "#N/A", 29, "2026-01-06"]),
    "Google Sheets": (GOOGLE, ["x", "2026-01-05T18:00:00", True, 14]),
    "Excel for Mac": (IN_1904, ["1904-01-02", "2026-01-05", UNCLEAR, UNCLEAR, UNCLEAR, 2]),
    "Excel, strict": (
        STRICT_EXCEL,
        ["2026-01-05", "2026-01-05T10:30:00", "2026-01-06", f'xmlns="{STRICT[0]}"'],
    ),
    "openpyxl": (OPENPYXL, [1, UNCLEAR, 1, "inline", UNCLEAR]),
    "the Open XML SDK": (SDK, ["a"]),
    "LibreOffice": (LIBREOFFICE, [1, "", "#DIV/0!"]),
}


@pytest.mark.parametrize(("data", "values"), BOOKS.values(), ids=BOOKS)
def test_a_workbook_of_each_program_has_its_values(data, values):
    book = read_workbook(data)
    calculator = Calculator(book)
    assert [calculator.value("S", place) for place in book.sheets[0].cells] == values
    assert not book.sheets[0].hidden


PLACES = {
    "Numbers: a whole path": {"sheet": ("xl/worksheets/sheet1.xml", "/xl/worksheets/sheet1.xml")},
    "a whole path without its slash": {"sheet": ("xl/worksheets/sheet1.xml", "xl/worksheets/sheet1.xml")},
    "a way back": {"sheet": ("xl/worksheets/sheet1.xml", "worksheets/../worksheets/./sheet1.xml")},
    "capitals": {"sheet": ("XL/Worksheets/Sheet1.XML", "worksheets/sheet1.xml")},
    "strokes of Windows": {"sheet": ("xl\\worksheets\\sheet1.xml", "worksheets/sheet1.xml")},
    "an escaped blank": {"sheet": ("xl/work sheets/sheet 1.xml", "work%20sheets/sheet%201.xml")},
    "a book elsewhere": {
        "book": ("book.xml", "/book.xml"), "sheet": ("s.xml", "s.xml"), "styles": ("t.xml", "t.xml"),
        "strings": ("u.xml", "./u.xml"),
    },
}  # fmt: skip


@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
def test_a_part_is_read_wherever_it_lies(places):
    book = read_workbook(
        write_file('<row r=""><c r="" t="s"><v>0</v></c></row>', "<si><t>here</t></si>", places=places)
    )
    assert book.sheets[0].cells[1, 1].value == "here"
    assert book.appearance == ()


def test_two_parts_of_one_name_are_refused():
    data = io.BytesIO(write_file("<row/>"))
    with zipfile.ZipFile(data, "a") as archive:
        archive.writestr("xl/WORKBOOK.xml", "<workbook/>")
    with pytest.raises(CorruptState, match="one name"):
        read_workbook(data.getvalue())


@pytest.mark.parametrize(
    ("formula", "there"),
    [
        ("A1+$B2+C$3+$D$4", "B3+$B4+D$3+$D$4"),
        ("SUM(A:B,2:3,$C:D)", "SUM(B:C,4:5,$C:E)"),
        ("'A1 B2'!A1&\"A1\"&Sheet1!B2", "'A1 B2'!B3&\"A1\"&Sheet1!C4"),
        ("LOG10(A1)+Rate1+XFD1", "LOG10(B3)+Rate1+#REF!"),
        ("Items[A1]+A1", "Items[A1]+B3"),
    ],
)
def test_a_shared_formula_moves_what_has_no_dollar(formula, there):
    assert SharedFormula(formula, (1, 1)).at((3, 2)) == there
