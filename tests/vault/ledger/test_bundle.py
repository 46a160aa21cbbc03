"""Tests of the release: absent or whole, reproducible bytes, and only what may be opened."""

import io
import json
import re
import shutil
from itertools import count
from pathlib import Path

import pytest

from vault.errors import Malformed, Refused
from vault.ledger.audit.verify import audit
from vault.ledger.release import contents
from vault.ledger.release.bundle import write_bundle
from vault.ledger.release.bundle_reader import CAPS, Bundle
from vault.ledger.statements.leaf import sha256_hex
from vault.ledger.tree.merkle import HASH_BYTES
from vault.ledger.tree.tiles import MAX_LEAF, WIDTH, pack_entries

from ..builders import RELEASE, STRIKES, refused, struck
from .conftest import with_other
from .freeze import files_of

TERABYTE = 1 << 40


def test_the_manifest_is_known_before_the_leaf_that_names_it(month):
    content = month.play().content()
    digest = content.manifest_digest()
    folder = month.retire()
    assert Bundle.read(folder).manifest_digest == digest
    assert json.loads(month.leaves[-1])["subject"][0]["digest"] == {"sha256": digest}


def test_writing_it_again_changes_nothing(month):
    folder = month.play().retire()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    write_bundle(folder, month.content(), month.folder / "log")
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_another_release_of_the_same_name_is_refused(month):
    folder = month.play().retire()
    with pytest.raises(Refused, match="something else"):
        write_bundle(folder, with_other(canary=lambda _: "0" * 8 + "-0000" * 3 + "-" + "0" * 12)(month.content()),
                     month.folder / "log")  # fmt: skip


@pytest.mark.full  # in the small size `test_append.py` strikes the log's writer
@pytest.mark.slow
@pytest.mark.parametrize("error", STRIKES)
def test_killed_or_failing_at_each_call_the_next_try_finishes_it(month, memory, monkeypatch, error):
    whole = files_of(month.play().retire())
    folder = memory / "releases" / RELEASE
    for number in count():
        more = struck(monkeypatch, lambda: write_bundle(folder, month.content(), month.folder / "log"), number, error)
        assert not folder.exists() or files_of(folder) == whole, "half a release is there"
        write_bundle(folder, month.content(), month.folder / "log")
        assert files_of(folder.parent) == {f"{RELEASE}/{name}": data for name, data in whole.items()}
        if not more:
            break
        shutil.rmtree(folder.parent)
    assert number > 50


def test_nothing_is_written_before_the_statement_is_published(month):
    month.play()
    folder = month.folder / "Historical-2026-12"
    with pytest.raises(Refused, match="record the statement"):
        write_bundle(folder, month.content(), month.folder / "log")
    assert not folder.exists()
    assert not list(month.folder.glob(".*"))


def test_no_byte_of_a_task_that_is_still_private_is_in_it(month):
    folder = month.play().retire()
    live = [task for name, tasks in month.cohorts.items() if name != "cohort-2026-12" for task in tasks]
    opened = "".join(path.read_text() for path in folder.glob("*.*"))
    for task in live:
        assert task not in opened
        assert month.salt(task).hex() not in opened
        assert month.salt("result", 1, task).hex() not in opened


@pytest.mark.parametrize(
    "change", [{"month": "2026-13"}, {"cohort": "cohort 12"}, {"canary": "none"}, {"first": -1}, {"origin": ""}]
)
def test_content_of_another_shape(month, change):
    content = month.play().content()
    with pytest.raises(Malformed):
        type(content)(**{**vars(content), **change}).manifest_digest()


def test_salts_and_tasks_are_in_no_repr(month):
    shown = repr(month.play().content())
    assert not re.search(r"salt=|goal|document=|commitments=", shown)


PAGE = b"<!DOCTYPE html><title>checks it</title>"


def test_a_release_that_carries_a_page_lists_it_and_says_so(month):
    folder = month.play().retire(with_other(page=lambda _: PAGE))
    assert (folder / contents.PAGE).read_bytes() == PAGE
    listed = json.loads((folder / contents.MANIFEST).read_text())["files"][contents.PAGE]
    assert listed == {"bytes": len(PAGE), "sha256": sha256_hex(PAGE)}
    assert f"`{contents.PAGE}`" in (folder / contents.README).read_text()
    report = audit(folder, month.keys)
    assert report.ok
    assert report.steps[0].proved.startswith("8 content files")


@pytest.fixture
def opened(monkeypatch):
    """Return the names of the files whose content was read."""
    names = []
    original = Path.open

    def recorded(path, *words, **options):
        names.append(path.name)
        return original(path, *words, **options)

    monkeypatch.setattr(Path, "open", recorded)
    return names


LARGER = [
    ("results.jsonl", "has 1099511627776 bytes; such a file has at most 1073741824"),
    ("verify.html", "has 1099511627776 bytes; such a file has at most 1073741824"),
    ("manifest.json", "has 1099511627776 bytes; such a file has at most 1048576"),
    ("log/checkpoint", "has 1099511627776 bytes; such a file has at most 1048576"),
    ("log/tile/0/000.p/16", "has 1099511627776 bytes; such a file has at most 8192"),
    ("log/tile/entries/000.p/16", "has 1099511627776 bytes; such a file has at most 16777472"),
]


@pytest.mark.parametrize(("name", "says"), LARGER)
def test_a_sparse_file_of_a_terabyte_is_refused_before_anything_is_read(month, opened, name, says):
    folder = month.play().retire()
    with (folder / name).open("ab") as file:
        file.truncate(TERABYTE)
    opened.clear()
    refused(audit(folder, month.keys), "files", f"{name} {says}")
    assert opened == []


def test_a_file_of_another_size_than_the_listed_one_is_refused_before_any_is_hashed(month, opened):
    folder = month.play().retire()
    with (folder / contents.TASKS).open("ab") as file:
        file.write(b"\n")
    opened.clear()
    refused(audit(folder, month.keys), "file.digest", f"{contents.TASKS}: number of bytes")
    assert opened == [contents.MANIFEST]


def test_a_file_that_grows_while_it_is_read_is_not_read_to_its_end(month, opened, monkeypatch):
    folder = month.play().retire()
    name, listed = contents.RESULTS, (folder / contents.RESULTS).stat().st_size
    original, read = Path.open, []

    class Growing(io.BytesIO):
        def read(self, size=-1):
            read.append(size)
            return b"x" * size

    def growing(path, *how, **options):
        return Growing() if path.name == name else original(path, *how, **options)

    monkeypatch.setattr(Path, "open", growing)
    refused(audit(folder, month.keys), "file.digest", f"{name}: sha256")
    assert sum(read) <= listed + (1 << 20)


def test_the_largest_files_that_a_log_may_have_are_below_their_caps():
    leaves = [bytes(MAX_LEAF)] * WIDTH
    assert len(pack_entries(leaves)) == CAPS["log/tile/entries/"]
    assert CAPS["log/tile/"] == WIDTH * HASH_BYTES
