"""Tests of column declarations, compared as PostgreSQL prints them."""

import pytest

from verifiers.states.postgres.declarations import SPELLINGS, declared


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("int", "integer"),
        ("INT8", "bigint"),
        ("varchar(20)", "character varying(20)"),
        ("VARCHAR ( 20 )", "character varying(20)"),
        ("char", "character(1)"),
        ("decimal(8, 2)", "numeric(8,2)"),
        ("numeric(8)", "numeric(8,0)"),
        ("numeric", "numeric"),
        ("timestamptz", "timestamp with time zone"),
        ("timestamptz(3)", "timestamp(3) with time zone"),
        ("timestamp", "timestamp without time zone"),
        ("timestamp(0) with time zone", "timestamp(0) with time zone"),
        ("timestamp with time zone", "timestamp with time zone"),
        ("time", "time without time zone"),
        ("double precision", "double precision"),
        ("float8[]", "double precision[]"),
        ("text[]", "text[]"),
        ("uuid", "uuid"),
        ("mood", "mood"),
    ],
)
def test_a_type_is_what_postgresql_prints(written, printed):
    assert SPELLINGS.of(written) == printed


@pytest.mark.parametrize(
    ("declaration", "meant"),
    [
        ("text", ("text", False, False, False)),
        ("text not null", ("text", True, False, False)),
        ("serial primary key", ("integer", True, True, True)),
        ("BIGSERIAL", ("bigint", True, True, False)),
        ("integer PRIMARY KEY", ("integer", True, False, True)),
        ("numeric(8,2) DEFAULT 0 NOT NULL", ("numeric(8,2)", True, True, False)),
        ("bigint generated always as identity", ("bigint", True, True, False)),
        ("int check (x > 0)", ("integer", False, False, False)),
        ("varchar(3) unique", ("character varying(3)", False, False, False)),
    ],
)
def test_a_declaration_makes_a_column(declaration, meant):
    assert declared("x", declaration) == ("x", *meant)


@pytest.mark.parametrize("declaration", ["", "not null", "primary key", "(8)", "int; drop table x", "'text'"])
def test_declarations_without_a_type_are_refused(declaration):
    assert declared("x", declaration) is None
