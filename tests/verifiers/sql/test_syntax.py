"""Tests of what is asked of a query's syntax tree."""

import pytest

from verifiers.sql.parser import parsed
from verifiers.sql.syntax import tables_in


@pytest.mark.parametrize(
    ("query", "tables"),
    [
        ("values (1)", set()),
        ("select 1 from Book b join public.author using (id)", {(None, "book"), ("public", "author")}),
        (
            "with book as (select 1 from sale) select (select 2 from author) from book",
            {(None, "sale"), (None, "author")},
        ),
        (
            "select 1 from a where exists (select from b) union select 2 from s.c",
            {(None, "a"), (None, "b"), ("s", "c")},
        ),
    ],
)
def test_the_tables_that_a_query_reads(query, tables):
    assert {(table.schema, table.name) for table in tables_in(parsed(query))} == tables
