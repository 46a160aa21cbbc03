"""Tests of the predicates over query results: rows, tolerance, order, counts, and the views of the catalogue."""

import pytest

from verifiers.errors import Malformed
from verifiers.language.in_process import judge
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict
from verifiers.states.postgres.examples import postgres_database

TABLES = {
    "sale": [["id", "integer primary key"], ["kind", "text"], ["total", "numeric(8,2)"], ["day", "date"]],
    "report": [["kind", "text"], ["average", "numeric"], ["number", "bigint"], ["share", "double precision"]],
}
ROWS = {
    "sale": [
        ["1", "web", "10.00", "2024-01-01"],
        ["2", "web", "20.01", "2024-01-02"],
        ["3", "shop", "5.00", "2024-02-01"],
    ],
    "report": [["shop", "5.00", "1", "0.25"], ["web", "15.00", "2", "0.75"]],
}
REPORT = "SELECT kind, average, number FROM report ORDER BY kind"
TRUTH = "SELECT kind, AVG(total), COUNT(*) FROM sale GROUP BY kind ORDER BY kind"


def shop(**rows):
    return postgres_database(TABLES, ROWS | rows, indexes={"sale": [["kind", "day"]]})


def holds(name, state=None, **arguments):
    verdict = judge(parse({f"postgres.{name}": arguments}), state or shop()).verdict
    assert verdict is not Verdict.UNKNOWN
    return verdict is Verdict.TRUE


@pytest.mark.parametrize(
    ("tolerance", "tolerant", "same"),
    [
        ({}, {}, False),
        ({"tolerance": 0.001}, {}, False),
        ({"tolerance": 0.01}, {}, True),
        ({"tolerance": 0.01}, {"tolerant": ["numeric:numeric"]}, True),
        ({"tolerance": 0.01}, {"tolerant": ["float:numeric", "numeric:float", "numeric:integer"]}, False),
    ],
)
def test_numerics_may_differ_by_the_tolerance_where_it_applies(tolerance, tolerant, same):
    assert holds("queryRows", query=REPORT, same_as=TRUTH, **tolerance, **tolerant) is same


def test_a_double_and_a_numeric_are_a_mixed_pair():
    query = {"query": "SELECT share FROM report ORDER BY share", "same_as": "VALUES (0.26), (0.75)"}
    assert holds("queryRows", **query, tolerance=0.1, tolerant=["float:numeric"])
    assert not holds("queryRows", **query, tolerance=0.1, tolerant=["numeric:float", "float:float"])


def test_an_integer_is_exact_unless_it_is_named():
    query = {"query": "SELECT number FROM report WHERE kind = 'web'", "same_as": "SELECT 2.05", "tolerance": 0.1}
    assert holds("queryRows", **query)
    assert not holds("queryRows", **query, tolerant=["numeric:integer", "numeric:numeric"])
    assert holds("queryRows", **query, tolerant=["integer:numeric"])


def test_the_order_counts_unless_it_may_be_any():
    rows = [["web", 2], ["shop", 1]]
    assert not holds("queryRows", query="SELECT kind, number FROM report ORDER BY kind", rows=rows)
    assert holds("queryRows", query="SELECT kind, number FROM report ORDER BY kind", rows=rows, any_order=True)
    assert not holds("queryRows", query="SELECT kind FROM sale", rows=[["web"], ["shop"], ["shop"]], any_order=True)


@pytest.mark.parametrize(
    ("cell", "same"), [("2024-01-01", True), ("2024-01-02", False), (20240101, False), (None, False)]
)
def test_a_text_in_rows_is_a_date_that_is_written_so(cell, same):
    assert holds("queryRows", query="SELECT day FROM sale WHERE id = 1", rows=[[cell]]) is same


def test_a_truth_value_is_no_number():
    assert holds("queryRows", query="SELECT COUNT(*) > 2 FROM sale", rows=[[True]])
    assert not holds("queryRows", query="SELECT COUNT(*) > 2 FROM sale", rows=[[1]])


def test_a_query_that_fails_makes_it_false_and_a_count_of_0_or_more_says_so():
    gone = "SELECT a FROM gone"
    assert not holds("queryRows", query=gone, rows=[])
    assert not holds("queryRows", query="SELECT 1", same_as=gone)
    assert not holds("queryCount", query=gone, count=0, at_least=True)
    assert holds("queryCount", query="SELECT 1 FROM sale WHERE false", count=0, at_least=True)
    assert holds("queryCount", query="SELECT 1 FROM sale", count=3)
    assert not holds("queryCount", query="SELECT 1 FROM sale", count=4, at_least=True)


def test_a_date_beyond_all_dates_spoils_only_what_reads_it():
    state = shop(sale=[["1", "web", "10.00", "infinity"]])
    assert holds("queryRows", state, query="SELECT kind FROM sale", rows=[["web"]])
    assert not holds("queryCount", state, query="SELECT day FROM sale", count=1)
    assert not holds("queryCount", state, query="SELECT * FROM sale", count=1)


def test_views_of_the_catalogue():
    where = "FROM pg_indexes WHERE schemaname = 'public' AND tablename = 'sale'"
    assert holds("queryCount", query=f"SELECT indexname {where} AND indexdef LIKE '%kind%'", count=1)
    assert holds("queryCount", query=f"SELECT indexname {where} AND indexdef LIKE '%total%'", count=0)
    exists = "SELECT EXISTS (SELECT FROM information_schema.tables WHERE table_name = '{}')"
    assert holds("queryRows", query=exists.format("sale"), rows=[[True]])
    assert holds("queryRows", query=exists.format("gone"), rows=[[False]])
    columns = "SELECT column_name, data_type, is_nullable FROM information_schema.columns WHERE table_name = 'sale'"
    rows = [["id", "integer", "NO"], ["kind", "text", "YES"], ["total", "numeric", "YES"], ["day", "date", "YES"]]
    assert holds("queryRows", query=columns, rows=rows)
    keys = (
        "SELECT k.column_name FROM information_schema.table_constraints c JOIN information_schema.key_column_usage k "
        "USING (constraint_name) WHERE c.constraint_type = 'PRIMARY KEY' AND c.table_name = 'sale'"
    )
    assert holds("queryRows", query=keys, rows=[["id"]])


def test_a_query_that_is_not_evaluated_is_refused_with_the_predicate():
    with pytest.raises(Malformed, match=r"queryRows.*query: the query calls a function"):
        parse({"postgres.queryRows": {"query": "SELECT pg_sleep(1)", "rows": []}})
    with pytest.raises(Malformed, match="exactly one of rows, same_as"):
        parse({"postgres.queryRows": {"query": "SELECT 1"}})


def test_a_date_is_compared_by_its_text_where_that_is_asked_for():
    query = {"query": "SELECT day FROM sale WHERE id = 1", "same_as": "VALUES ('2024-01-01')"}
    assert holds("queryRows", **query, dates_as_text=True)
    assert not holds("queryRows", **query)


def test_a_truth_value_equals_a_number_of_another_query_as_it_does_in_python():
    assert holds("queryRows", query="SELECT 1", same_as="SELECT true")
