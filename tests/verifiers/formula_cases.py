# ruff: noqa: E501
"""Formulas to compare with a spreadsheet program's: functions times arguments over one mixed sheet, and by hand."""

import re

from verifiers.states.workbook.model import Sheet, Workbook, WorkbookCell

ROWS = [
    # A numbers, B texts, C mixed, D dates, E ascending, F groups, G ascending texts
    (3, "apple", 1, "2026-01-05", 1, "a", "ant"),
    (4.5, "Banana split", "x", "2026-01-31", 2, "b", "bee"),
    (-2, " two  blanks ", True, "2024-02-29", 4, "a", "cat"),
    (None, "", None, "2026-12-24", 8, "c", "dog"),
    (10, "12", "2026-03-01", "2025-07-04", 16, "b", "eel"),
    (7.25, "ab-cd-ef", "#DIV/0!", "2026-01-05T18:00:00", 32, "a", "fox"),
]
DATES = [(5, 3), *((row, 4) for row in range(1, 7))]
MADE = {"#DIV/0!": (None, "1/0"), "": ("", '""')}
"""Value and formula of the cells that only a formula makes so."""
NAMES = {"Rate": "S!$A$2", "Scores": "S!$A$1:$A$6", "Fixed": "0.25", "Double.Rate": "S!$A$2*2", "Größe": "S!$E$6"}
BESIDE = {(1, 1): WorkbookCell(100), (2, 1): WorkbookCell(50), (1, 2): WorkbookCell("other")}
FORMULA_COLUMN = 26
NEWER = re.compile(r"\b(IFS|SWITCH|CONCAT|TEXTJOIN|MAXIFS|MINIFS|STDEV\.[SP]|VAR\.[SP]|PERCENTILE\.INC|QUARTILE\.INC|RANK\.EQ|"
                   r"MODE\.SNGL|IFNA|XOR|NUMBERVALUE|DAYS|ISOWEEKNUM|CEILING\.MATH|FLOOR\.MATH|UNICODE|UNICHAR)\(")  # fmt: skip
"""Functions that a file names with a prefix."""

SCALARS = ("A1", "A3", "A4", "B1", "B5", "C3", "C6", "D1", "2.675", "-0.5")
OF_A_NUMBER = (
    "ABS", "INT", "SIGN", "SQRT", "EXP", "LN", "LOG10", "ROUND({},0)", "TRUNC", "NOT", "N", "YEAR", "MONTH", "DAY", "WEEKDAY", "HOUR", "VALUE",
    "-", "+",
)  # fmt: skip
OF_A_TEXT = ("LEN", "UPPER", "LOWER", "PROPER", "TRIM", "T", "CODE", "CLEAN", "LEFT", "RIGHT", "EXACT({},B1)", '{}&"!"')
OF_ANYTHING = (
    "ISNUMBER", "ISTEXT", "ISBLANK", "ISERROR", "ISNA", "ISERR", "ISLOGICAL", "ISNONTEXT", "IFERROR({},1)",
    "IFNA({},1)", "IF({},1,2)", "{}=1", '{}<"b"', "{}>A1", "{}+1", "{}*2", "{}%",
)  # fmt: skip
AREAS = ("A1:A6", "B1:B6", "C4:C5", "C4:C6", "D1:D6", "A:A", "D1:E3", "A4", "A1,5,E2", "A1:A6,E:E", "'Data 2'!1:1")
OF_AREAS = (
    "SUM", "AVERAGE", "MIN", "MAX", "COUNT", "COUNTA", "PRODUCT", "MEDIAN", "STDEV", "STDEVP", "VAR", "VAR.P", "SUMSQ",
    "AND", "OR", "XOR",
)  # fmt: skip
CRITERIA = ('"a"', '"<>a"', '">=4"', '"<>"', '""', '"="', "3", '"3"', '"b*"', '"?a*"', '"APPLE"', "TRUE", '">b"',
            "D1", '">="&D1', '">=2026-01-01"', "A4", '"~*"')  # fmt: skip
BY_CRITERION = ("COUNTIF(A1:A6,{})", "COUNTIF(B1:B6,{})", "COUNTIF(C1:C5,{})", "COUNTIF(D1:D6,{})", "COUNTIF(F:F,{})",
                "SUMIF(F1:F6,{},E1:E6)", "AVERAGEIF(F1:F6,{},E1:E6)", "SUMIFS(E:E,F:F,{},A:A,\">0\")",
                "MAXIFS(E1:E6,F1:F6,{})", "SUMIF(E1:E6,{})")  # fmt: skip
PAIRS = ((2.675, 2), (-2.5, 0), (1234.5, -2), (-7, 3), (7, -3), (0.3, 0.1), (5, 0), (0, 2), (10, 4), (2.5, 1))
OF_PAIRS = ("ROUND", "ROUNDUP", "ROUNDDOWN", "TRUNC", "MOD", "CEILING", "FLOOR", "POWER", "LOG",
            "{}/{}", "{}^{}", "{}-{}", "-{}^{}")  # fmt: skip
PARTS = ((1, 2), (0, 3), (3, 0), (-1, 2), (4, 99), (2.9, 1))
OF_PARTS = ("MID(B1,{},{})", "LEFT(B6,{})", "RIGHT(B6,{})", 'REPLACE(B1,{},{},"_")', "INDEX(A1:E6,{},{})",
            "INDEX(E1:E6,{})", "LARGE(A1:A6,{})", "SMALL(A1:A6,{})", 'REPT("ab",{})', "CHOOSE({},7,8,9)",
            "DATE(2026,{},{})", "EDATE(D2,{})", "EOMONTH(D3,{})", "TIME(10,{},{})", "CHAR(64+{})",
            "FIND(\"-\",B6,{})", "PERCENTILE(A1:A6,{})", "QUARTILE(E1:E6,{})",
            "RANK({},E1:E6)", "VLOOKUP({},E1:F6,2)", "MATCH({},E1:E6)", "LOOKUP({},E1:E6,F1:F6)")  # fmt: skip
FORMATS = ("0", "0.00", "#,##0", "#,##0.00", "0%", "0.0%", "yyyy-mm-dd", "dd/mm/yyyy", "mmm d, yyyy", "dddd", "mm",
           "hh:mm", "000", "#.##", "$#,##0.00", "h:mm AM/PM", "mmmm", "yy", "ddd", "@", '0.0" kg"')  # fmt: skip
BY_HAND = """
-2^2|2^3^2|(1+2)*3%|0.1+0.2|1-0.9-0.1|1/3|"3"+1|"x"+1|1/0|A1&A4|A2&""|1E3&""|TRUE&""|0.1&""|1/3&""|123456789012&""
1E20&""|0.00001&""|"Te"="tE"|"a"<"B"|1<"a"|"a"<TRUE|A4=0|A4=""|A4=FALSE|B4=""|1=TRUE|A1=A1:A1|D1=46027|D1>D2|D1+1|D2-D1
D1*1|SUM(D1,1)|MAX(D1:D6)-MIN(D1:D6)|D6-INT(D6)|D1&""|COUNT(D1:D6)|SUM(D1:D2)/2|AVERAGE(D1,D2)|DATE(2026,1,5)+1
DATE(2026,13,1)|DATE(26,1,1)|DATE(2026,1,0)|DATE(2026,2,30)=DATE(2026,3,2)|DAYS(D2,D1)|DATEDIF(D3,D1,"y")|DATEDIF(D3,D1,"m")
DATEDIF(D3,D1,"d")|DATEDIF(D3,D1,"ym")|DATEDIF(D3,D1,"yd")|DATEDIF(D1,D3,"d")|YEAR("2026-01-05")|DATEVALUE("2026-01-05")
DATEVALUE("x")|TIMEVALUE("18:30")|HOUR(D6)|MINUTE(0.75)|SECOND(0.7512)|WEEKDAY(D1,2)|WEEKDAY(D1,3)|WEEKDAY(D1,11)
WEEKDAY(D1,9)|WEEKNUM(D1)|WEEKNUM(D1,2)|WEEKNUM(D2,21)|ISOWEEKNUM(D4)|NETWORKDAYS(D1,D2)|NETWORKDAYS(D2,D1)
NETWORKDAYS(D1,D2,D1)|WORKDAY(D1,10,D2)|YEARFRAC(D1,D2)|DAYS360(D1,D2)|IF(A1>2,1,1/0)|IF(FALSE,1)|IF(A4,1,2)|IF("x",1,2)
IF("TRUE",1,2)|IF(1/0,1,2)|IFERROR(1/0,"none")|IFERROR(A4,1)|IFS(A1>9,1,A1>2,5)|IFS(A1>9,1)|SWITCH(A1,1,"a",3,"b","c")
SWITCH(A1,1,"a")|SWITCH(B1,"APPLE",1,2)|CHOOSE(4,1,2)|IFNA(NA(),0)|NA()|ISNA(NA())|AND(TRUE,B1)|AND(B1:B3)|OR(A1:A6)
VLOOKUP("cherry",F1:G6,2,FALSE)|VLOOKUP("B",F1:G6,2,FALSE)|VLOOKUP("b*",G1:G6,1,FALSE)|VLOOKUP(5,E1:F6,2)
VLOOKUP(5,E1:F6,2,TRUE)|VLOOKUP(0,E1:F6,2)|VLOOKUP(4,E1:F6,3,FALSE)|VLOOKUP(4,E1:F6,0,FALSE)|VLOOKUP("bee",G:G,1,FALSE)
VLOOKUP("cow",G1:G6,1)|HLOOKUP(3,A1:E2,2,FALSE)|HLOOKUP(99,A1:E2,2,FALSE)|MATCH("cat",G1:G6,0)|MATCH("c*",G1:G6,0)
MATCH("cow",G1:G6,1)|MATCH(5,E1:E6,1)|MATCH(0,E1:E6,1)|MATCH(4,E1:E6,0)|MATCH("CAT",G1:G6,0)|MATCH("",B1:B6,0)|MATCH(D2,D1:D6,0)
INDEX(A1:A6,MATCH("cat",G1:G6,0))|INDEX(A:A,2)|INDEX(A1:C3,2,2)|INDEX(A1:C3,9,1)|SUM(INDEX(A1:C3,0,1))|SUM(INDEX(A1:E6,2,0))
INDEX(A4:A4,1)|LOOKUP(5,E1:E6)|LOOKUP(0,E1:E6)|LOOKUP("cow",G1:G6,E1:E6)|LOOKUP(99,E1:F6)|SUMPRODUCT(A1:A6,E1:E6)
SUMPRODUCT((F1:F6="a")*(E1:E6))|SUMPRODUCT(--(F1:F6="a"),E1:E6)|SUMPRODUCT((F1:F6="a")*(E1:E6>1)*E1:E6)|SUMPRODUCT(A1:A6*2)
SUMPRODUCT(E1:E6/2)|SUMPRODUCT((D1:D6>=DATE(2026,1,1))*1)|SUMPRODUCT(A1:A6,E1:E5)|SUMPRODUCT((F1:F6<>"a")+0)
SUMPRODUCT((YEAR(D1:D6)=2026)*E1:E6)|COUNTIFS(F1:F6,"a",E1:E6,">1")|COUNTIFS(F:F,"a",E:E,">1")|COUNTIFS(D1:D6,">="&DATE(2026,1,1),F1:F6,"a")
SUMIFS(E1:E6,D1:D6,">="&D1,D1:D6,"<"&D4)|SUMIFS(E1:E6,F1:F5,"a")|AVERAGEIFS(E1:E6,F1:F6,"z")|AVERAGEIFS(E1:E6,F1:F6,"a")
MINIFS(E1:E6,F1:F6,"z")|SUMIF(F1:F6,"a",E1)|SUMIF(F1:F6,F2,E1:E6)|COUNTBLANK(A1:A6)|COUNTBLANK(B1:B6)|COUNTIF(A1:A6,A1)
COUNTIF(A1:A6,"<>3")|COUNTIF(A:A,"")|RANK(4,E1:E6)|RANK(4,E1:E6,1)|RANK(5,E1:E6)|RANK.EQ(2,E1:E6)|PERCENTILE(E1:E6,0.3)
PERCENTILE.INC(E1:E6,1)|QUARTILE(E1:E6,1)|QUARTILE.INC(E1:E6,3)|STDEV.S(E1:E6)|STDEV.P(E1:E6)|STDEV(A1)|VAR.S(E1:E6)|CORREL(E1:E6,D1:D6)
SLOPE(E1:E6,D1:D6)|INTERCEPT(E1:E6,A1:A6)|MODE.SNGL(1,2,2,3)|MODE(1,2,3)|MEDIAN(A1:A6)|MEDIAN(B1:B3)|TRIMMEAN(E1:E6,0.4)
LEFT(B1,2)|LEFT(B1)|RIGHT(B1,3)|MID(B2,3,4)|LEN(B3)|LEN(A2)|LEN(D1)|LEN(TRUE)|UPPER("straße")|PROPER("ada o'neil-lovelace")|TRIM(B3)
SUBSTITUTE(B6,"-","+")|SUBSTITUTE(B6,"-","+",2)|SUBSTITUTE(B6,"-","",9)|SUBSTITUTE(B6,"",1)|REPLACE(B1,2,2,"XYZ")|FIND("p",B1)|FIND("P",B1)
SEARCH("P",B1)|SEARCH("p?l",B1)|SEARCH("z",B1)|SEARCH("a*s",B2)|FIND("",B1)|CONCATENATE(B1,1,TRUE)|CONCATENATE(A1,"-",D1)|CONCAT(A1:B2)|CONCAT(F1:F6)
TEXTJOIN(", ",TRUE,F1:F6)|TEXTJOIN("-",FALSE,A1:A6)|TEXTJOIN("",TRUE,1,TRUE,"x")|REPT("-",3)|EXACT("a","A")|VALUE("12.5")|VALUE("x")|VALUE("12%")
VALUE("2026-01-05")|VALUE("1e3")|CHAR(65)|CHAR(300)|CODE("A")|CODE("")|T(A1)|T(B1)|N(B1)|N(TRUE)|NUMBERVALUE("1,5",",")|FIXED(1234.567,1)|UNICODE("é")|UNICHAR(233)
ROW(A3)|ROW()|COLUMN(C1)|COLUMN()|ROWS(A1:C3)|COLUMNS(A1:C3)|ROWS(A:A)|COLUMNS(2:2)|SUM(Scores)|Rate*2|Fixed+1|Double.Rate|größe|NoSuch+1
'Data 2'!A1+A1|SUM('Data 2'!A1:A9)|'Data 2'!B1|'Data 2'!C9|'data 2'!A1|SUM('Data 2'!A:A)|'Data 2'!B1&"x"|MAX('Data 2'!A:A,A:A)
GCD(12,18)|LCM(4,6)|FACT(5)|FACT(-1)|COMBIN(5,2)|PMT(0.05/12,12,1000)|PMT(0,12,1000)|FV(0.05,10,-100)|PV(0.05,10,-100)|NPV(0.1,100,200,300)
NPER(0.01,-100,1000)|SUBTOTAL(109,A1:A6)|CEILING(2.5)|FLOOR(2.5)|CEILING.MATH(-2.5)|FLOOR.MATH(-2.5)|ROUND(2.5)|LOG(8,2)|LOG(100)
LN(0)|SQRT(-1)|0^0|MOD(5.5,2)|MOD(-1,3)|MOD(1,0)|INT(-1.5)|PI()|SUM(1,"x")|SUM("3",2)|MAX(B1:B3)|MIN(C1:C3)|AVERAGE(C1:C5)|AVERAGE(B1:B3)|COUNT("3",TRUE,B5)
COUNT(1/0,2)|COUNTA(1/0,2,"")|SUM(C1:C6)|AVERAGEA(A1:A6)|MAXA(C1:C3)|SUM(A1:A3 A2:A5)|SUM((A1,A2))|SUM(A1:A6)-SUM(E1:E6)|IF(A1:A1=3,"yes")|IF(B4="","empty","full")
IF(AND(A1>2,F1="a"),B1,"no")|IF(OR(A1>5,A2>4),"x",)|IF(A1>2,,5)|IFERROR(VLOOKUP("q",F1:G6,2,FALSE),"none")|ROUND(AVERAGE(E1:E6),2)|ROUND(A1/A6,3)*100&"%"
TEXT(0,"#,##0")|TEXT(1234567.5,"#,##0.#")|TEXT(-1234.5,"$#,##0")|TEXT(0.004,"0.00")|TEXT(-0.004,"0.00")|TEXT(0.5,"#.0")|TEXT(B5,"0.0")|TEXT("x","0")|COUNTIF(B1:B6,"12")|COUNTIF(B1:B6,"<>12")|COUNTIF(B1:B6,12)|MATCH("*",A1:C1,0)|COUNTIF(A1:A6,"*")|TRUE+TRUE|TRUE()|NOT(FALSE())|-A3|--"5"|+"x"|-B1|-TRUE|10%|50%*A1|2^-1|2^0.5|-8^(1/3)|1E308*10|5=5.0|"5"=5|""=0|A1<>A2|1<2<3|"a"&1+2|A1*-1|2--2|A1%%
""".replace("\n", "|").strip("|").split("|")  # fmt: skip


DIFFERENT = {
    "LibreOffice has no truth values of their own: TRUE is a number with a format (OpenFormula 4.5 allows both)":
        'LEN(C3)|UPPER(C3)|LOWER(C3)|PROPER(C3)|TRIM(C3)|CODE(C3)|CLEAN(C3)|LEFT(C3)|RIGHT(C3)|C3&"!"|ISNUMBER(C3)|C3=1'
        '|C3<"b"|C3>A1|COUNTIF(C1:C5,TRUE)|SUMIF(E1:E6,TRUE)|TRUE&""|"a"<TRUE|1=TRUE|LEN(TRUE)|CONCATENATE(B1,1,TRUE)'
        '|TEXTJOIN("",TRUE,1,TRUE,"x")|AVERAGE(C1:C5)|1<2<3',
    "Excel knows no date before 1900":
        "YEAR(A3)|YEAR(-0.5)|MONTH(A3)|MONTH(-0.5)|DAY(A3)|DAY(-0.5)|WEEKDAY(A3)|WEEKDAY(-0.5)|HOUR(A3)|HOUR(-0.5)",
    "Excel: #N/A for a number that is not in the list": "RANK(3,E1:E6)|RANK(2.9,E1:E6)|RANK(5,E1:E6)",
    "Excel: the code of no letter is an error": 'CODE(A4)|CODE("")',
    "Excel: a year of two digits is in the 20th century": "DATE(26,1,1)",
    "Excel: whole hours, minutes and seconds": "TIME(10,2.9,1)",
    "Excel: a text is equal to the number that it stands for": "COUNTIF(B1:B6,12)",
    "Excel: patterns fit texts alone": 'MATCH("*",A1:C1,0)|COUNTIF(A1:A6,"*")',
    "Excel: #NUM!": "0^0",
    "Excel: an empty text is found at the start": 'FIND("",B1)',
    "Excel: an exponent of two digits": '1E20&""',
    "Excel: a text that is an argument counts as its number": 'SUM("3",2)',
}  # fmt: skip
"""Formulas of which LibreOffice has another value than the documentation of Excel, with what that says."""
NOT_CALCULATED = {
    "functions that we do not have":
        r"(YEARFRAC|DAYS360|CORREL|SLOPE|INTERCEPT|TRIMMEAN|NUMBERVALUE|FIXED|NPER|PMT|FV|PV|NPV|GCD|LCM|FACT|COMBIN|MODE|MODE\.SNGL|WORKDAY|TIMEVALUE|UNICODE|UNICHAR|CEILING\.MATH|FLOOR\.MATH|AVERAGEA|MAXA)\(",
    "dates before March 1900, of which Excel counts one too many":
        r'(YEAR|MONTH|DAY|WEEKDAY)\((A1|A4|B5|C3|2\.675)\)|TEXT\((A2|-0\.5),"[ymdh]',
    "a text with a number as a truth value": r"(NOT|IF)\(B5\b",
    "an order of texts, and patterns with ~": r'"(>b|~\*)"',
    "patterns in a search": r'SEARCH\("[^"]*[?*]',
    "roots of negative numbers": r"^-0\.3\^0\.1$|^-8\^",
    "rows and columns that would fill several cells": r"^INDEX\(A1:E6,(0,3|3,0)\)$|^INDEX\(E1:E6,0\)$",
    "numbers that are shown in one of two ways": r'0\.00001&|TEXT\(-0\.004,"0\.00"',
    "letters with capitals of several letters": "ß",
    "areas of different sizes": r"SUMIF\(F1:F6,\"a\",E1\)$",
    "a unit of DATEDIF that Excel warns of": r'"yd"',
    "one argument, where Excel wants two": r"^(CEILING|FLOOR)\(2\.5\)$",
    "unions and intersections": r"\(A1,A2\)|A1:A3 A2:A5",
}  # fmt: skip
"""What has no value here although a spreadsheet has one: a pattern of its formulas."""


def _write_call(shape: str, *arguments: object) -> str:
    if "{}" in shape:
        return shape.format(*arguments[: shape.count("{}")])
    return f"{shape}{arguments[0]}" if shape in {"-", "+"} else f"{shape}({','.join(map(str, arguments))})"


def formulas() -> list[str]:
    """List the formulas, each once."""
    listed = [_write_call(shape, value) for shape in (*OF_A_NUMBER, *OF_A_TEXT, *OF_ANYTHING) for value in SCALARS]
    listed += [_write_call(shape, area) for shape in OF_AREAS for area in AREAS]
    listed += [_write_call(shape, criterion) for shape in BY_CRITERION for criterion in CRITERIA]
    listed += [_write_call(shape, *pair) for shape in OF_PAIRS for pair in PAIRS]
    listed += [_write_call(shape, *pair) for shape in OF_PARTS for pair in PARTS]
    quoted = [code.replace('"', '""') for code in FORMATS]
    listed += [f'TEXT({value},"{code}")' for code in quoted for value in ("A2", "1234.567", "D6", "-0.5")]
    return list(dict.fromkeys([*listed, *BY_HAND]))


def workbook(listed: list[str]) -> Workbook:
    """Return the sheet with the formulas in a column of their own, none with a remembered value."""
    cells = {
        (row, column): WorkbookCell(*MADE.get(value, (value,)))
        for row, values in enumerate(ROWS, 1)
        for column, value in enumerate(values, 1)
        if value is not None
    }
    for row, formula in enumerate(listed, 1):
        cells[row, FORMULA_COLUMN] = WorkbookCell(None, NEWER.sub(r"_xlfn.\1(", formula))
    return Workbook((Sheet("S", cells), Sheet("Data 2", BESIDE)), NAMES)
