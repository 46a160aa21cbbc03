"""Tests that the model gateway's reference page says what its tables say."""

from __future__ import annotations

from pathlib import Path

from sandbox.model_gateway.formats.registry import WIRES
from sandbox.model_gateway.reference import page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "model-gateway.md"


def test_the_page_is_the_one_that_the_tables_give():
    written = PAGE.read_text(encoding="utf-8")
    assert written == page(), f"{PAGE.name} differs: write sandbox.model_gateway.reference.page() into it"


def test_every_field_of_every_format_is_on_it():
    written = PAGE.read_text(encoding="utf-8")
    for path, wire in WIRES.items():
        part = written.partition(f"`POST {path}`")[2].partition("\n## ")[0]
        for name, known in wire.request.fields.items():
            begin = f"- *{known.rule}*" + (f" ({known.why})" if known.why else "") + ": "
            assert any(line.startswith(begin) and f"`{name}`" in line for line in part.splitlines())
