"""Tests of the table of fields: each field of a statement is checked or the operator's word, by rules that exist."""

from pathlib import Path

from freezing import ledger_rules as fields
from vault.ledger.statements.rules import RULES

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "reference" / "ledger-rules.md"


def test_each_field_has_its_entry_and_no_other():
    assert list(fields.CHECKED) == [name for name, _ in fields.statement_fields()]


def test_each_entry_names_rules_that_exist():
    for entry in fields.CHECKED.values():
        rules = entry.partition(fields.WORD)[0].rstrip("; ").split()
        assert set(rules) <= RULES.keys(), entry
        assert rules or entry.startswith(fields.WORD), entry


def test_the_page_is_what_the_tables_make():
    assert PAGE.read_text() == fields.page(), "python -m freezing.ledger_rules > docs/reference/ledger-rules.md"
