"""MCP server of a payment ledger in one SQLite database: `payments_server.py DATABASE`. Amounts are whole cents.

A payment is authorised, then captured or cancelled. What was captured can be refunded, never more than that. A customer
has a limit for each day, and can be blocked. A payment and a refund have an idempotency key: a request that is repeated
with its key gets the first one's result, and nothing is made again.
"""

import sqlite3
import sys
from datetime import UTC, datetime
from typing import Any

from mcp.server import MCPServer

DATABASE = sys.argv[1]
TABLES = """
CREATE TABLE IF NOT EXISTS customers (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, daily_limit INTEGER NOT NULL, blocked INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS payments (
    id TEXT PRIMARY KEY, customer TEXT NOT NULL, amount INTEGER NOT NULL, status TEXT NOT NULL,
    reference TEXT NOT NULL, day TEXT NOT NULL, key TEXT UNIQUE);
CREATE TABLE IF NOT EXISTS refunds (
    id TEXT PRIMARY KEY, payment TEXT NOT NULL, amount INTEGER NOT NULL, reason TEXT NOT NULL, key TEXT UNIQUE);
"""
server = MCPServer("payments")


def execute(sql: str, **values: object) -> list[dict[str, Any]]:
    """Execute one statement in a transaction of its own, and return its rows as maps."""
    with sqlite3.connect(DATABASE) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(sql, values)]


def today() -> str:
    """Return the day, on which limits count."""
    return str(datetime.now(UTC).date())


def earlier_result(sql: str, request: dict[str, Any]) -> dict[str, Any] | None:
    """Return what an earlier request with this idempotency key made.

    Raises:
        ValueError: the earlier request asked for something else.
    """
    rows = execute(sql, key=request["key"])
    if rows and any(rows[0][name] != value for name, value in request.items()):
        raise ValueError(f"the idempotency key {request['key']!r} belongs to another request")
    return rows[0] if rows else None


@server.tool()
def find_customers(name: str = "") -> list[dict[str, Any]]:
    """List customers whose name contains this text; all of them without one."""
    return execute("SELECT * FROM customers WHERE instr(name, :name) OR :name = '' ORDER BY id", name=name)


@server.tool()
def get_customer(customer: str) -> dict[str, Any]:
    """Return a customer by id, with the cents that were authorised or captured today."""
    rows = execute(
        "SELECT customers.*, (SELECT coalesce(sum(amount), 0) FROM payments WHERE customer = :id AND day = :day"
        " AND status != 'cancelled') AS spent_today FROM customers WHERE id = :id",
        id=customer,
        day=today(),
    )
    if not rows:
        raise ValueError(f"there is no customer {customer!r}")
    return rows[0]


@server.tool()
def list_payments(customer: str, status: str = "") -> list[dict[str, Any]]:
    """List a customer's payments by customer id, perhaps only those that are authorised, captured or cancelled."""
    get_customer(customer)
    sql = "SELECT id FROM payments WHERE customer = :customer AND (status = :status OR :status = '') ORDER BY id"
    return [get_payment(payment["id"]) for payment in execute(sql, customer=customer, status=status)]


@server.tool()
def get_payment(payment: str) -> dict[str, Any]:
    """Return a payment by id, with the cents that were refunded of it."""
    rows = execute(
        "SELECT payments.*, (SELECT coalesce(sum(amount), 0) FROM refunds WHERE payment = :id) AS refunded"
        " FROM payments WHERE id = :id",
        id=payment,
    )
    if not rows:
        raise ValueError(f"there is no payment {payment!r}")
    return rows[0]


@server.tool()
def list_refunds(payment: str) -> list[dict[str, Any]]:
    """List the refunds of a payment."""
    get_payment(payment)
    return execute("SELECT * FROM refunds WHERE payment = :payment ORDER BY id", payment=payment)


@server.tool()
def create_payment(customer: str, amount: int, reference: str, idempotency_key: str) -> dict[str, Any]:
    """Authorise a payment of so many cents. It is refused for blocked customers and above the limit of the day."""
    account = get_customer(customer)
    request = {"customer": customer, "amount": amount, "reference": reference, "key": idempotency_key}
    if earlier := earlier_result("SELECT * FROM payments WHERE key = :key", request):
        return earlier
    if account["blocked"]:
        raise ValueError(f"{customer} is blocked")
    if not 0 < amount <= account["daily_limit"] - account["spent_today"]:
        raise ValueError(f"{account['daily_limit'] - account['spent_today']} cents are left of today's limit")
    execute(
        "INSERT INTO payments SELECT printf('pay_%04d', count(*) + 1), :customer, :amount, 'authorised', :reference,"
        " :day, :key FROM payments",
        **request,
        day=today(),
    )
    return execute("SELECT * FROM payments WHERE key = :key", key=idempotency_key)[0]


@server.tool()
def capture_payment(payment: str) -> dict[str, Any]:
    """Capture an authorised payment."""
    return settle(payment, "captured")


@server.tool()
def cancel_payment(payment: str) -> dict[str, Any]:
    """Cancel an authorised payment."""
    return settle(payment, "cancelled")


def settle(payment: str, status: str) -> dict[str, Any]:
    """Give an authorised payment its last status."""
    if (current := get_payment(payment)["status"]) != "authorised":
        raise ValueError(f"{payment} is {current}, not authorised")
    execute("UPDATE payments SET status = :status WHERE id = :id", status=status, id=payment)
    return get_payment(payment)


@server.tool()
def refund_payment(payment: str, amount: int, reason: str, idempotency_key: str) -> dict[str, Any]:
    """Refund so many cents of a captured payment, at most what is left of it."""
    entry = get_payment(payment)
    request = {"payment": payment, "amount": amount, "reason": reason, "key": idempotency_key}
    if earlier := earlier_result("SELECT * FROM refunds WHERE key = :key", request):
        return earlier
    if entry["status"] != "captured":
        raise ValueError(f"{payment} is {entry['status']}, not captured")
    if not 0 < amount <= entry["amount"] - entry["refunded"]:
        raise ValueError(f"{entry['amount'] - entry['refunded']} cents of {payment} can be refunded")
    execute(
        "INSERT INTO refunds SELECT printf('ref_%04d', count(*) + 1), :payment, :amount, :reason, :key FROM refunds",
        **request,
    )
    return execute("SELECT * FROM refunds WHERE key = :key", key=idempotency_key)[0]


@server.tool()
def set_daily_limit(customer: str, amount: int) -> dict[str, Any]:
    """Set how many cents a customer may pay each day."""
    execute("UPDATE customers SET daily_limit = :amount WHERE id = :id", amount=amount, id=customer)
    return get_customer(customer)


@server.tool()
def block_customer(customer: str) -> dict[str, Any]:
    """Refuse a customer's new payments from now on."""
    execute("UPDATE customers SET blocked = 1 WHERE id = :id", id=customer)
    return get_customer(customer)


with sqlite3.connect(DATABASE) as ledger:
    ledger.executescript(TABLES)
server.run()
