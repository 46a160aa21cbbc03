"""Tables of procrastinate on PostgreSQL, beside ours (`quarterturn.runs.postgres_executor`).

They hold only notifications, and our rows are the truth: tables of another version of procrastinate are dropped and
made again, and every process sends new notifications for the submissions that wait.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, text

from vault.errors import Unavailable

_VERSION = text("SELECT obj_description(to_regclass('procrastinate_jobs'), 'pg_class')")
_REMOVE = """
DO $$
DECLARE
    here regnamespace := current_schema()::regnamespace;
    thing text;
BEGIN
    FOREACH thing IN ARRAY ARRAY(
        SELECT 'FUNCTION ' || oid::regprocedure FROM pg_proc
        WHERE starts_with(proname, 'procrastinate_') AND pronamespace = here
    ) || ARRAY(
        SELECT CASE relkind WHEN 'r' THEN 'TABLE ' ELSE 'TYPE ' END || oid::regclass FROM pg_class
        WHERE starts_with(relname, 'procrastinate_') AND relkind IN ('r', 'c') AND relnamespace = here
    ) || ARRAY(
        SELECT 'TYPE ' || oid::regtype FROM pg_type
        WHERE starts_with(typname, 'procrastinate_') AND typtype = 'e' AND typnamespace = here
    ) LOOP
        EXECUTE 'DROP ' || thing || ' CASCADE';
    END LOOP;
END
$$
"""


def install(connection: Connection) -> None:
    """Make procrastinate's tables in the caller's transaction, anew where another version made them.

    Raises:
        Unavailable: procrastinate is missing.
    """
    if installed(connection):
        return
    from procrastinate import __version__  # noqa: PLC0415 - an extra
    from procrastinate.schema import SchemaManager  # noqa: PLC0415 - likewise

    remove(connection)
    driver: Any = connection.connection.driver_connection
    driver.execute(SchemaManager.get_schema())
    connection.execute(text(f"COMMENT ON TABLE procrastinate_jobs IS '{__version__}'"))


def installed(connection: Connection) -> bool:
    """Say whether the tables are there, as the installed version makes them.

    Raises:
        Unavailable: procrastinate is missing.
    """
    try:
        from procrastinate import __version__  # noqa: PLC0415 - an extra
    except ImportError:
        message = "The database is PostgreSQL and procrastinate is missing: install quarterturn with the extra"
        raise Unavailable(f"{message} 'postgres'.") from None
    return bool(connection.execute(_VERSION).scalar() == __version__)


def remove(connection: Connection) -> None:
    """Drop everything of procrastinate's."""
    connection.exec_driver_sql(_REMOVE)
