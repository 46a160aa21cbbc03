"""Tests of frozen releases: good ones are made again byte for byte, and proved."""

import re

import pytest

from vault.ledger.release.contents import FORMS
from vault.ledger.statements.statement import STATEMENTS

from ..builders import VECTORS
from .freeze import GOOD, played

REFERENCE = VECTORS.parents[2] / "docs" / "reference"


@pytest.mark.parametrize("name", GOOD)
def test_the_formats_have_not_changed(name, tmp_path):
    for path, data in played(name, tmp_path).items():
        assert path.read_bytes() == data, f"{path}: python -m tests.vault.ledger.freeze"


def test_nothing_else_is_frozen(tmp_path):
    made = {path for name in GOOD for path in played(name, tmp_path / name)}
    assert {path for path in VECTORS.rglob("*") if path.is_file()} - made == {VECTORS / "README.md"}


def test_every_kind_of_statement_and_every_field_is_described():
    page = "".join((REFERENCE / name).read_text() for name in ("ledger-formats.md", "ledger-rules.md"))
    forms = {**{kind: predicate for kind, (_, _, predicate) in STATEMENTS.items()}, **FORMS}
    for name in {*forms, *names_in(forms)}:
        assert re.search(rf"[`.\]]{re.escape(name)}[`.\[]", page), name


def names_in(form):
    """List the names of all members in a form."""
    if isinstance(form, list):
        yield from names_in(form[0])
    elif isinstance(form, dict):
        for name, inner in form.items():
            yield from [] if name[0] == "*" else [name.rstrip("?")]
            yield from names_in(inner)
