"""Tests of queries that are refused or stopped: nothing but SELECT, nothing of the clock, within the budget."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifiers.budget import BudgetSpent, ReadingBudget
from verifiers.errors import VerifierError
from verifiers.language.in_process import judge
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict
from verifiers.sql.errors import NotSupported, QueryFailed
from verifiers.sql.parser import parsed
from verifiers.sql.plan import StoredTable, rows_of
from verifiers.states.postgres.examples import postgres_database

from .tables import ask


@pytest.mark.parametrize(
    "query",
    [
        "",
        "delete from author",
        "select 1; drop table author",
        "select 1 into x",
        "with x as (delete from author returning *) select * from x",
        "select now()",
        "select current_date - born from author",
        "select random()",
        "select pg_read_file('/etc/passwd')",
        "select * from generate_series(1, 10)",
        "select * from author for update",
        "with recursive t as (select 1) select * from t",
        "select 'a' ~ 'b'",
        "select e'\\n'",
        "select interval '1 day'",
        "select $1",
        "select row_number() from author",
        "select lower(distinct name) from author",
        "select " + "(" * 100 + "1" + ")" * 100,
        "select " + "not " * 3000 + "true",
        "select 1 -- " + "x" * 20_000,
    ],
)
def test_what_is_no_plain_query_is_refused_before_anything_is_read(query):
    with pytest.raises(NotSupported):
        parsed(query)


def test_a_message_quotes_nothing_of_the_query():
    for query in ("select secret_function(1)", "select a from b where 'secret' 'secret'", "select secret ? 1"):
        with pytest.raises(NotSupported) as refused:
            parsed(query)
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "query",
    [
        "select title from nosuch",
        "select nosuch from author",
        "select name + 1 from author",
        "select id from author, book",
        "select title from book group by author_id",
        "select sum(count(id)) from author",
        "select (select id from author)",
        "select 1 union select 1, 2",
        "select 9223372036854775807 + 1",
        "select 1 from author order by 2",
        "select 1 limit -1",
        "select 1 from author x join book x on true",
    ],
)
def test_what_fails_in_postgresql_fails_here(query):
    with pytest.raises(QueryFailed):
        ask(query)


class Large:
    """Tables of many rows, of long texts and of long numbers."""

    def table(self, schema, name):
        match name:
            case "many":
                return StoredTable([("n", "int4"), ("t", "text")], [(n, f"t{n}") for n in range(20_000)])
            case "long":
                return StoredTable([("t", "text")], [("ab" * 200_000,)] * 20)
        return StoredTable([("d", "numeric")], [(Decimal("7" * 4000 + "." + "7" * 4000),)] * 20)


@pytest.mark.parametrize(
    "query",
    [
        "select count(*) from many a, many b",
        "select count(*) from many a, many b, many c, many d",
        "select count(*) from many a join many b on a.n < b.n",
        "select n, (select count(*) from many b where b.n < a.n) from many a",
        "select count(*) from many a where exists (select 1 from many b where b.t = a.t || 'x')",
        "select sum(n) over (order by n) from many",
        "select count(*) from long a, long b where a.t like '%_' || b.t",
        "select replace(replace(replace(t, 'a', 'bbbbbbbb'), 'b', 'cccccccc'), 'c', 'dddddddd') from long",
        "select string_agg(t, ',') from long, many",
        "select d * d * d * d from digits",
        "select d / d / d from digits a, many",
        "select round(d, 100000000) from digits",
        "select max(x.t || y.t || z.t) from long x, long y, long z",
    ],
)
def test_a_query_costs_no_more_than_its_steps(query):
    with pytest.raises((BudgetSpent, QueryFailed)):
        rows_of(parsed(query), Large(), ReadingBudget())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.one_of(st.none(), st.text(max_size=12))] * 3), max_size=4))
def test_whatever_a_cell_holds_a_verdict_comes(rows):
    made = postgres_database({"t": [["a", "integer"], ["b", "numeric"], ["c", "text"]]}, {"t": rows})
    query = "select a + 1, b / 3, upper(c), sum(a) over (), c like '%a_' from t where a is null or b > 2 order by c, a"
    for document in (
        {"postgres.queryRows": {"query": query, "same_as": query, "tolerance": 0.1}},
        {"postgres.queryCount": {"query": "select count(*), avg(b), max(a) from t group by c", "count": 1}},
    ):
        try:
            assert judge(parse(document), made).verdict is not Verdict.UNKNOWN
        except VerifierError as error:
            pytest.fail(str(error))
