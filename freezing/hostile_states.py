"""Writes the binary states that hostile agents leave: `tests/vectors/hostile/<kind>/<what is wrong>.<ext>`.

    .venv/bin/python -m freezing.hostile_states

They are an input: made once and then only read, because other versions of zlib and SQLite write them in another way. A
text beside them is its own source. A `.tar` is a whole state; where any other file lies says `tests.verifiers.hostile`.
"""

from __future__ import annotations

import hashlib
import io
import sqlite3
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from verifiers.states.git.examples import repository
from verifiers.states.workbook.model import Sheet, Workbook, WorkbookCell
from verifiers.states.workbook.writer import write_workbook
from verifiers.tree import FileTree, Node, tree_of

FOLDER = Path(__file__).parents[1] / "tests" / "vectors" / "hostile"
Made = Mapping[str, Callable[[], bytes]]

# --- git -------------------------------------------------------------------------------------------------------------


def _site(**files: bytes) -> bytes:
    """Return a valid repository with some of its files replaced; a name's `__` stands for a slash."""
    tree = dict(repository([("main", "Start", {"index.html": "<p>hi</p>\n"})], tags={"v1": "main"}).states["git"])
    tip = tree["site/.git/refs/heads/main"].data
    for path, data in files.items():
        tree["site/.git/" + path.replace("__", "/")] = Node("file", data.replace(b"{tip}", tip.strip()))
    return FileTree(tree).to_tar()


def _objects(*contents: tuple[str, bytes]) -> tuple[dict[str, bytes], str]:
    """Return the files of loose objects, and the name of the last."""
    files, name = {}, ""
    for kind, data in contents:
        whole = f"{kind} {len(data)}\0".encode() + data
        name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
        files[f"objects__{name[:2]}__{name[2:]}"] = zlib.compress(whole, 9)
    return files, name


def _commit(tree: str, parent: str = "") -> tuple[str, bytes]:
    more = f"parent {parent}\n" if parent else ""
    return "commit", f"tree {tree}\n{more}author A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nx\n".encode()


def _endless_folder() -> bytes:
    made: list[tuple[str, bytes]] = [("tree", b"")]
    for _ in range(12):
        name = _objects(made[-1])[1]
        entry = b"40000 %c\0" + bytes.fromhex(name)
        made.append(("tree", b"".join(entry.replace(b"%c", bytes([letter])) for letter in b"abcdefghijklmnop")))
    files, top = _objects(*made, _commit(_objects(made[-1])[1]))
    return _site(**files, refs__heads__main=f"{top}\n".encode())


def _bomb() -> bytes:
    blob = ("blob", bytes(34 << 20))
    tree = ("tree", b"100644 a\0" + bytes.fromhex(_objects(blob)[1]))
    files, top = _objects(blob, tree, _commit(_objects(tree)[1]))
    return _site(**files, refs__heads__main=f"{top}\n".encode())


def _pack(*entries: bytes) -> bytes:
    body = b"PACK" + (2).to_bytes(4, "big") + len(entries).to_bytes(4, "big") + b"".join(entries)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _entry(kind: int, data: bytes, base: bytes = b"", size: int | None = None) -> bytes:
    size = len(data) if size is None else size
    head, size = [kind << 4 | size & 15], size >> 4
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7F)
        size >>= 7
    return bytes(head) + base + zlib.compress(data, 9)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _packed(*entries: bytes) -> bytes:
    name = "a" * 40
    pack = {f"objects__pack__pack-{name}.pack": _pack(*entries), f"objects__pack__pack-{name}.idx": b"x"}
    return _site(**pack, refs__heads__packed=b"b" * 40 + b"\n")


def _growing_deltas() -> bytes:
    """Return a pack in which 64 KiB become a mebibyte, and that becomes 32 of them sixty times."""
    small, large = bytes(1 << 16), bytes(1 << 20)
    names = [bytes.fromhex(_objects(("blob", data))[1]) for data in (small, large)]
    grow = _varint(1 << 16) + _varint(1 << 20) + b"\x80" * 16
    again = _varint(1 << 20) + _varint(32 << 20) + b"\xf0\0\0\x10" * 32
    return _packed(_entry(3, small), _entry(7, grow, names[0]), *[_entry(7, again, names[1])] * 60)


GIT: Made = {
    "branch-name-with-a-line-separator.tar": lambda: _site(**{"refs__heads__a\u2028b\x85c": b"{tip}\n"}),
    "branch-that-leads-to-itself.tar": lambda: _site(refs__heads__main=b"ref: refs/heads/main\n"),
    "folder-in-folders-without-end.tar": _endless_folder,
    "index-of-four-thousand-million-entries.tar": lambda: _site(index=b"DIRC\0\0\0\2\xff\xff\xff\xff" + bytes(400)),
    "object-that-unpacks-into-34-mebibytes.tar": _bomb,
    "pack-of-deltas-that-grow.tar": _growing_deltas,
    "pack-of-objects-without-end.tar": lambda: _packed(_entry(3, bytes(9), size=1 << 40)),
    "packed-refs-of-zeros.tar": lambda: _site(**{"packed-refs": bytes(100)}),
    "ref-to-an-object-that-is-missing.tar": lambda: _site(refs__tags__v2=b"c" * 40),
}

# --- databases -------------------------------------------------------------------------------------------------------

STOCK = "CREATE TABLE stock (id INTEGER PRIMARY KEY, item TEXT NOT NULL, price REAL)"


def _database(*statements: str, change: Callable[[bytes], bytes] = bytes) -> bytes:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
        return change(connection.serialize())


def _beside(end: str, data: bytes) -> bytes:
    return tree_of({"main.db": _database(STOCK), f"main.db{end}": data}).to_tar()


SQLITE: Made = {
    "journal-of-a-page-that-is-not-there.tar": lambda: _beside(
        "-journal", bytes.fromhex("d9d505f920a163d7") + b"\xff" * 8 + b"\xff" * 4 + b"\0\0\2\0\0\0\x10\0" + bytes(5000)
    ),
    "log-of-another-page-size.tar": lambda: _beside("-wal", bytes.fromhex("377f0682002de218") + b"\xff" * 4000),
    "numbers-beyond-a-double.db": lambda: _database(
        STOCK, "INSERT INTO stock VALUES (1, 'lamp', 1.7e308), (2, 'lamp', 1.7e308), (3, 'desk', 9e999)"
    ),
    "rows-of-nothing.db": lambda: _database(
        "CREATE TABLE stock (id, item, price)",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000) "
        "INSERT INTO stock SELECT 1, '', 1e-300 FROM n",
    ),
    "table-of-600-columns.db": lambda: _schema(3, 600),
    "schema-of-indexes-without-end.db": lambda: _database(
        STOCK,
        "PRAGMA writable_schema = ON",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) INSERT INTO sqlite_master "
        "SELECT 'index', 'i' || i, 'stock', 2, 'CREATE INDEX i' || i || ' ON stock (id)' FROM n",
    ),
    "schema-that-is-a-circle.db": lambda: _database(
        STOCK, "PRAGMA writable_schema = ON", "UPDATE sqlite_master SET rootpage = 1 WHERE name = 'stock'"
    ),
    "table-name-that-is-not-utf-8.db": lambda: _database(
        STOCK,
        "CREATE TABLE zzz (yyy)",
        change=lambda data: data.replace(b"zzz", b"z\xff\xfe").replace(b"yyy", b"\xffy\xff"),
    ),
}


def _schema(tables: int, columns: int) -> bytes:
    return _database(
        STOCK, *(f"CREATE TABLE t{n} ({','.join(f'c{at}' for at in range(columns))})" for n in range(tables))
    )


# --- office ----------------------------------------------------------------------------------------------------------


def _formulas(*formulas: str, **texts: str | float) -> Callable[[], bytes]:
    """Return a workbook with formulas in column B of the sheet that predicates read, and values in other cells."""

    def made() -> bytes:
        cells = {(1, 1): WorkbookCell("item"), (1, 2): WorkbookCell("n"), (2, 1): WorkbookCell("tea")}
        cells |= {(row, 2): WorkbookCell(None, text) for row, text in enumerate(formulas, 2)}
        cells |= {(row, 4): WorkbookCell(value) for row, value in enumerate(texts.values(), 1)}
        return write_workbook(Workbook((Sheet("Stock", cells),)))

    return made


def _parts(**parts: str) -> bytes:
    """Return a workbook with some parts replaced; a name's `__` stands for a slash, and `_xml` for its ending."""
    out = io.BytesIO()
    named = {name.replace("__", "/").replace("_xml", ".xml"): text for name, text in parts.items()}
    sound = write_workbook(Workbook((Sheet("Stock", {(1, 1): WorkbookCell("n"), (2, 1): WorkbookCell(1)}),)))
    with zipfile.ZipFile(io.BytesIO(sound)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in dict.fromkeys([*old.namelist(), *named]):
            new.writestr(zipfile.ZipInfo(name), named.get(name) or old.read(name).decode(), zipfile.ZIP_DEFLATED)
    return out.getvalue()


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def _one_part_for_each_sheet() -> bytes:
    sheets = "".join(f'<sheet name="S{n}" sheetId="{n}" r:id="rId1"/>' for n in range(150))
    rows = "<row><c><v>1</v></c></row>" * 600
    return _parts(
        xl__workbook_xml=f'<workbook xmlns="{MAIN}" xmlns:r="{LINKS}"><sheets>{sheets}</sheets></workbook>',
        xl__worksheets__sheet1_xml=f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>',
    )


def _chain(formula: str, start: str | float) -> Callable[[], bytes]:
    chain = [formula.replace("?", "D1"), *(formula.replace("?", f"B{row}") for row in range(2, 50))]
    return _formulas(*chain, D1=start)


WORKBOOK: Made = {
    "brackets-of-a-date-format.xlsx": lambda: _parts(
        xl__styles_xml=f'<styleSheet xmlns="{MAIN}"><numFmts>'
        f'<numFmt numFmtId="164" formatCode="{"[" * 3000}"/></numFmts></styleSheet>'
    ),
    "formula-of-wildcards.xlsx": _formulas(*['COUNTIF(D1,"*a*a*b")'] * 9, 'COUNTIF(D1,"*?a?a?*?a?b")', D1="a" * 30_000),
    "formulas-that-double-a-text.xlsx": _chain("?&?", "x" * 1000),
    "formulas-that-square-a-number.xlsx": _chain("?*?", 99_999_999),
    "formulas-that-shout-a-text.xlsx": _formulas(
        *["CONCAT(UPPER(D1:D1),REPT(D1))", "PRODUCT(B3:B9)"] * 4, D1="\xdf" * 30_000
    ),
    "name-of-a-namespace-without-end.xlsx": lambda: _parts(
        xl__worksheets__sheet1_xml=f'<worksheet xmlns="{"n" * 20_000}">' + "<row/>" * 2000 + "</worksheet>"
    ),
    "numbers-beyond-a-double.xlsx": _formulas("SUM(D1:D2)", "D1+D2", "MAX(D1,D2)", D1=1.7e308, D2=1.7e308),
    "rows-of-4000-digits.xlsx": lambda: _parts(
        xl__worksheets__sheet1_xml=f'<worksheet xmlns="{MAIN}"><sheetData><row r="{"9" * 4000}"/>'
        + "<row><c><v>1</v></c></row>" * 500
        + "</sheetData></worksheet>"
    ),
    "rows-before-the-first.xlsx": lambda: _parts(
        xl__worksheets__sheet1_xml=f'<worksheet xmlns="{MAIN}"><sheetData><row r="-7"><c><v>1</v></c></row></sheetData>'
        "</worksheet>"
    ),
    "one-part-for-every-sheet.xlsx": _one_part_for_each_sheet,
}


FILES: Made = {
    "names-that-are-six-times-as-long-when-written.tar": lambda: tree_of({"\x7f" * 200: b"", "a": b""}).to_tar(),
    "name-that-is-not-utf-8.tar": lambda: tree_of({"out/a\udcff\u2028.txt": b"\xff", "a": b"\xff\xfe\n" * 50}).to_tar(),
    "path-through-a-file.tar": lambda: FileTree({"a": Node("file", b"x"), "a/b": Node("file", b"y")}).to_tar(),
}

CASES: Mapping[str, Made] = {"filesystem": FILES, "git": GIT, "spreadsheet": WORKBOOK, "sqlite": SQLITE}


if __name__ == "__main__":
    for kind, cases in CASES.items():
        for name, make in cases.items():
            (FOLDER / kind / name).write_bytes(make())
