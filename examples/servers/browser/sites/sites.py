"""Two web sites over one SQLite database: `sites.py shop|desk DATABASE PORT`. Standard library only.

The shop has orders, the desk tickets. Both are awkward as real sites are: a list arrives after its page, a few entries
at a time, and cancelling or deleting asks first. A session of the desk ends after a few requests, and what is sent then
is lost. Nothing here reads a clock or draws a number, so the same clicks leave the same database.
"""

import sqlite3
import sys
from contextlib import closing
from html import escape
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlencode, urlsplit

SITE, DATABASE, PORT = sys.argv[1:]
ENTRIES_ON_A_PAGE = 5
REQUESTS_OF_A_SESSION = 5
CARRIERS = ("Blue Line", "Red Van", "Night Post")
ORDER_CHANGES = {
    "address": "UPDATE orders SET address = :address WHERE code = :code",
    "ship": "UPDATE orders SET status = 'shipped', carrier = :carrier WHERE code = :code",
    "cancel": "UPDATE orders SET status = 'cancelled' WHERE code = :code",
}
LIST_SCRIPT = """<div id="list">Loading ...</div><script>
setTimeout(async () => {
  document.getElementById("list").innerHTML = await (await fetch("/list" + location.search)).text();
}, 2000);
</script>"""
names_of_sessions: dict[str, str] = {}  # by cookie
requests_left: dict[str, int] = {}  # by cookie


def execute(sql: str, **values: object) -> list[sqlite3.Row]:
    """Execute one statement in a transaction of its own, and return its rows."""
    with closing(sqlite3.connect(DATABASE, timeout=30)) as connection, connection:
        connection.row_factory = sqlite3.Row
        return connection.execute(sql, values).fetchall()


def options(names: list[str] | tuple[str, ...], chosen: str = "") -> str:
    """Return the options of a selection."""
    return "".join(f"<option{' selected' * (name == chosen)}>{escape(name)}</option>" for name in names)


class Site(BaseHTTPRequestHandler):
    """What both sites share: `/` lists entries, `/TABLE/CODE` shows one, `POST /TABLE/CODE/ACT` changes it."""

    table: str
    entries: str  # the statement that lists them
    statuses: tuple[str, ...]
    columns: tuple[str, ...]

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        self.values = dict(parse_qsl(address.query))
        self.route(address.path)

    def do_POST(self) -> None:
        self.values = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        self.route(urlsplit(self.path).path)

    def route(self, path: str) -> None:
        """Answer a request."""
        table, _, rest = path[1:].partition("/")
        code, _, act = rest.partition("/")
        entries = [entry for entry in execute(self.entries) if entry["code"] == code]
        if path == "/":
            self.show_list()
        elif path == "/list":
            self.send(self.list_entries())
        elif table != self.table or not entries:
            self.show("Not found", "<p>There is nothing at this address.</p>", status=404)
        elif self.command == "GET":
            self.show_entry(entries[0])
        else:
            self.change(entries[0], act)

    def show_entry(self, entry: sqlite3.Row) -> None:
        """Show an order or a ticket, with the forms that change it."""
        raise NotImplementedError

    def change(self, entry: sqlite3.Row, act: str) -> None:
        """Do what a form of an entry's page asks for."""
        raise NotImplementedError

    def matches(self) -> list[sqlite3.Row]:
        """Return the entries that a list's form asks for, in the order in which they came."""
        status, text = self.values.get("status", ""), self.values.get("q", "").casefold()
        return [
            entry
            for entry in execute(self.entries)
            if status in {"", entry["status"]} and any(text in entry[column].casefold() for column in self.columns)
        ]

    def show_list(self) -> None:
        """Show a list's page, which has all but the list."""
        status, text = self.values.get("status", ""), self.values.get("q", "")
        form = (
            f'<form><label>Search <input name="q" value="{escape(text)}"></label> <label>Status '
            f'<select name="status"><option value="">all</option>{options(self.statuses, status)}</select></label> '
            "<button>Show</button></form>"
        )
        self.show(f"{len(self.matches())} {status} {self.table}".replace("  ", " "), form + LIST_SCRIPT)

    def list_entries(self) -> str:
        """Return one page of the list."""
        entries, text = self.matches(), self.values.get("page", "")
        page = int(text) if text.isdecimal() else 1
        rows = "".join(
            f'<tr><td><a href="/{self.table}/{entry["code"]}">{entry["code"]}</a></td>'
            + "".join(f"<td>{escape(entry[column])}</td>" for column in (*self.columns[1:], "status"))
            + "</tr>"
            for entry in entries[(page - 1) * ENTRIES_ON_A_PAGE : page * ENTRIES_ON_A_PAGE]
        )
        pages = max(1, -(-len(entries) // ENTRIES_ON_A_PAGE))
        query = escape(urlencode({**self.values, "page": page + 1}))
        following = f'<a href="/?{query}">Next page</a>' if page < pages else "There are no more pages."
        return f"<table>{rows}</table><p>Page {page} of {pages}. {following}</p>"

    def form(self, entry: sqlite3.Row, act: str, label: str, fields: str = "", question: str = "") -> str:
        """Return a form that posts to an act of an entry, and perhaps asks a question first."""
        asking = f" onsubmit=\"return confirm('{question}')\"" if question else ""
        action = f"/{self.table}/{entry['code']}/{act}"
        return f'<form method="post" action="{action}"{asking}>{fields} <button>{label}</button></form>'

    def show(self, title: str, body: str, status: int = 200) -> None:
        """Send a whole page."""
        head = f'<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>{escape(title)}</title>'
        self.send(f'{head}<p><a href="/">All {self.table}</a></p><h1>{escape(title)}</h1>{body}', status)

    def send(self, text: str = "", status: int = 200, **headers: str) -> None:
        """Send a response."""
        content = text.encode()
        self.send_response(status)
        for name, value in {"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Write no log: it would have times in it."""


class Shop(Site):
    """Orders, which anybody in the house may see and change."""

    table, entries = "orders", "SELECT * FROM orders ORDER BY rowid"
    statuses = ("pending", "paid", "shipped", "cancelled")
    columns = ("code", "customer", "item")

    def show_entry(self, entry: sqlite3.Row, message: str = "") -> None:
        code, price = entry["code"], f"{entry['cents'] / 100:.2f} EUR"
        names = ("customer", "item", "address", "carrier")
        about = "".join(f"<li>{name.capitalize()}: {escape(entry[name] or '-')}</li>" for name in names)
        address = f'<label>New address <input name="address" value="{escape(entry["address"])}"></label>'
        carrier = f'<label>Carrier <select name="carrier">{options(CARRIERS)}</select></label>'
        forms = (
            self.form(entry, "address", "Save address", address),
            self.form(entry, "ship", "Ship order", carrier),
            self.form(entry, "cancel", "Cancel order", question=f"Cancel the order {code}? This cannot be undone."),
        )
        self.show(f"Order {code}: {entry['status']}, {price}", f"<p>{message}</p><ul>{about}</ul>{''.join(forms)}")

    def change(self, entry: sqlite3.Row, act: str) -> None:
        changeable = {"ship": {"paid"}, "address": {"pending", "paid"}, "cancel": {"pending", "paid"}}
        if entry["status"] not in changeable.get(act, set()):
            self.show_entry(entry, f"Nothing was changed: the order is {entry['status']}.")
            return
        values = {name: self.values.get(name, "") for name in ("address", "carrier")}
        execute(ORDER_CHANGES[act], code=entry["code"], **values)
        self.send(status=303, Location=f"/orders/{entry['code']}")


class Desk(Site):
    """Tickets, for those who have signed in."""

    table, entries = "tickets", "SELECT * FROM tickets ORDER BY rowid"
    statuses = ("open", "closed")
    columns = ("code", "customer", "subject", "owner")

    def route(self, path: str) -> None:
        cookie = SimpleCookie(self.headers.get("Cookie", "")).get("session")
        token = cookie.value if cookie else ""
        if path == "/sign-in" and self.command == "POST":
            self.sign_in()
        elif path == "/list" and token in requests_left:
            self.send(self.list_entries())
        elif requests_left.get(token, 0) > 0:
            requests_left[token] -= 1
            self.staff = names_of_sessions[token]
            super().route(path)
        else:  # back to the page with the form, and not to what it sent
            came_from = "/".join(path.split("/")[:3]) if self.command == "POST" else self.path
            ended = "Your session has ended. What you sent was not saved." if token else "You are not signed in."
            self.ask_to_sign_in(came_from, ended)

    def ask_to_sign_in(self, came_from: str, message: str) -> None:
        """Show the form to sign in, which leads back."""
        self.show(
            "Sign in",
            f'<p>{message}</p><form method="post" action="/sign-in"><input type="hidden" name="back" '
            f'value="{escape(came_from)}"><label>Name <input name="name"></label> <label>Password '
            '<input name="password" type="password"></label> <button>Sign in</button></form>',
        )

    def sign_in(self) -> None:
        """Begin a session."""
        name, password, back = (self.values.get(field, "") for field in ("name", "password", "back"))
        if not execute("SELECT 1 FROM staff WHERE name = :name AND password = :password", name=name, password=password):
            self.ask_to_sign_in(back, "The name or the password is wrong.")
            return
        token = str(len(requests_left) + 1)
        names_of_sessions[token], requests_left[token] = name, REQUESTS_OF_A_SESSION
        self.send(status=303, Location=back, Set_Cookie=f"session={token}; Path=/")

    def show_entry(self, entry: sqlite3.Row) -> None:
        code = entry["code"]
        replies = execute("SELECT author, text FROM replies WHERE ticket = :code ORDER BY id", code=code)
        thread = [(entry["customer"], entry["text"]), *((reply["author"], reply["text"]) for reply in replies)]
        messages = "".join(f"<li>{escape(author)}: {escape(text)}</li>" for author, text in thread)
        names = [row["name"] for row in execute("SELECT name FROM staff ORDER BY rowid")]
        close = '<label><input type="checkbox" name="close"> Close the ticket</label>'
        reply = f'<label>Reply <textarea name="text"></textarea></label> {close}'
        owner = f'<label>Owner <select name="owner">{options(names, entry["owner"])}</select></label>'
        forms = (
            self.form(entry, "reply", "Send reply", reply),
            self.form(entry, "owner", "Hand over", owner),
            self.form(entry, "delete", "Delete ticket", question=f"Delete the ticket {code}? This cannot be undone."),
        )
        about = f"<p>{escape(entry['subject'])}</p><p>Owner: {escape(entry['owner'])}</p>"
        self.show(f"Ticket {code}: {entry['status']}", f"{about}<ol>{messages}</ol>{''.join(forms)}")

    def change(self, entry: sqlite3.Row, act: str) -> None:
        code = entry["code"]
        if act == "delete":
            execute("DELETE FROM tickets WHERE code = :code", code=code)
            execute("DELETE FROM replies WHERE ticket = :code", code=code)
        elif act == "owner":
            sql = "UPDATE tickets SET owner = name FROM staff WHERE code = :code AND name = :owner"
            execute(sql, owner=self.values.get("owner", ""), code=code)
        else:
            if text := self.values.get("text", "").strip():
                sql = "INSERT INTO replies (ticket, author, text) VALUES (:code, :author, :text)"
                execute(sql, code=code, author=self.staff, text=text)
            if "close" in self.values:
                execute("UPDATE tickets SET status = 'closed' WHERE code = :code", code=code)
        self.send(status=303, Location="/" if act == "delete" else f"/tickets/{code}")


ThreadingHTTPServer(("127.0.0.1", int(PORT)), {"shop": Shop, "desk": Desk}[SITE]).serve_forever()
