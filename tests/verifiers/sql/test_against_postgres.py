"""Tests of queries against PostgreSQL: the same rows, values, types and scales, and errors where it has errors."""

from pathlib import Path

import psycopg
import pytest

from verifiers.errors import VerifierError

from .tables import ask, statements

QUERIES = (Path(__file__).parent / "queries.sql").read_text().splitlines()
FAILED = "it fails"


@pytest.fixture(scope="module")
def connection(postgres):
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
        connection.execute("create database queries template template0 locale_provider libc locale 'C'")
    with psycopg.connect(postgres.url("queries"), autocommit=True) as connection:
        connection.execute("set timezone = 'UTC'")
        for statement, rows in statements():
            for row in rows:
                connection.execute(statement, row or None)
        yield connection


def exactly(rows):
    return [[(type(value), value, str(value)) for value in row] for row in rows]


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_gives_what_postgresql_gives(connection, query):
    try:
        theirs = exactly(connection.execute(query).fetchall())
    except psycopg.Error:
        theirs = FAILED
    try:
        ours = exactly(ask(query).rows)
    except VerifierError:
        ours = FAILED
    assert ours == theirs
