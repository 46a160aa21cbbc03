"""Argument schemas and example tables that PostgreSQL's predicates share."""

from __future__ import annotations

from functools import partial

from verifiers.states.postgres.examples import postgres_database

VALUE = {"type": ["string", "number", "boolean", "null"]}
TOLERANCE = {"type": "number", "minimum": 0}
ROWS = {
    "type": "array",
    "items": {"type": "array", "items": VALUE},
    "description": "list of rows, each a list of values",
}

MAKE = {"stock": [["id", "integer primary key"], ["item", "text not null"], ["price", "numeric(8,2)"]]}
TWO = partial(postgres_database, MAKE, {"stock": [["1", "lamp", "9.50"], ["2", "desk", "80.00"]]})
ONE = partial(postgres_database, MAKE, {"stock": [["1", "lamp", "10.00"]]})
