"""HTTP API of orders, kept in one JSON file: `orders_api.py FILE PORT`."""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

FILE = Path(sys.argv[1])


class Orders(BaseHTTPRequestHandler):
    """`GET /orders` lists them, `POST /orders` adds one."""

    def do_GET(self) -> None:
        self.answer(json.loads(FILE.read_text())["orders"])

    def do_POST(self) -> None:
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        document = json.loads(FILE.read_text())
        document["orders"].append({"number": len(document["orders"]) + 1, **order})
        FILE.write_text(json.dumps(document))
        self.answer(document["orders"][-1])

    def answer(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200 if self.path == "/orders" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if not FILE.exists():
    sys.exit(f"there is no {FILE.name}")
HTTPServer(("127.0.0.1", int(sys.argv[2])), Orders).serve_forever()
