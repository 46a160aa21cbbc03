"""MCP server of a city map in one SQLite database: `map_server.py DATABASE`. Distances are metres along roads.

Roads lead both ways, and a way never takes a closed one. Trips are saved ways, and lists hold places.
"""

import heapq
import sqlite3
import sys
from itertools import pairwise
from typing import Any

from mcp.server import MCPServer

DATABASE = sys.argv[1]
TABLES = """
CREATE TABLE IF NOT EXISTS places (name TEXT PRIMARY KEY, kind TEXT NOT NULL, closes_at INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS roads (
    id INTEGER PRIMARY KEY, one_end TEXT NOT NULL, other_end TEXT NOT NULL,
    metres INTEGER NOT NULL, closed INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS trips (name TEXT PRIMARY KEY, stops TEXT NOT NULL, metres INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS lists (list TEXT NOT NULL, place TEXT NOT NULL, PRIMARY KEY (list, place));
"""
server = MCPServer("map")


def execute(sql: str, **values: object) -> list[dict[str, Any]]:
    """Execute one statement in a transaction of its own, and return its rows as maps."""
    with sqlite3.connect(DATABASE) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(sql, values)]


def distances(start: str) -> dict[str, tuple[int, list[str]]]:
    """Return for each place that can be reached how far it is, and the stops of the shortest way (Dijkstra)."""
    get_place(start)
    roads = execute("SELECT * FROM roads WHERE closed = 0")
    reached: dict[str, tuple[int, list[str]]] = {}
    queue = [(0, [start])]
    while queue:
        metres, stops = heapq.heappop(queue)
        if stops[-1] in reached:
            continue
        reached[stops[-1]] = (metres, stops)
        for road in roads:
            for here, there in ((road["one_end"], road["other_end"]), (road["other_end"], road["one_end"])):
                if here == stops[-1]:
                    heapq.heappush(queue, (metres + road["metres"], [*stops, there]))
    return reached


@server.tool()
def find_places(kind: str = "") -> list[dict[str, Any]]:
    """List the places of a kind, such as pharmacy; all of them without one. They close at the full hour given."""
    return execute("SELECT * FROM places WHERE kind = :kind OR :kind = '' ORDER BY name", kind=kind)


@server.tool()
def get_place(name: str) -> dict[str, Any]:
    """Return a place by its exact name."""
    rows = execute("SELECT * FROM places WHERE name = :name", name=name)
    if not rows:
        raise ValueError(f"there is no place {name!r}")
    return rows[0]


@server.tool()
def list_roads(place: str) -> list[dict[str, Any]]:
    """List the roads at a place, also closed ones."""
    get_place(place)
    return execute("SELECT * FROM roads WHERE :place IN (one_end, other_end) ORDER BY id", place=place)


@server.tool()
def find_way(start: str, end: str) -> dict[str, Any]:
    """Return the shortest way between two places: its stops and its length."""
    get_place(end)
    reached = distances(start)
    if end not in reached:
        raise ValueError(f"no open road leads from {start} to {end}")
    metres, stops = reached[end]
    return {"stops": stops, "metres": metres}


@server.tool()
def find_nearest(start: str, kind: str) -> list[dict[str, Any]]:
    """List the places of a kind with their distance from a start, the nearest first."""
    kinds = {place["name"] for place in find_places(kind)}
    near = sorted((metres, name) for name, (metres, _) in distances(start).items() if name in kinds)
    return [{"name": name, "metres": metres} for metres, name in near]


@server.tool()
def set_road_closed(one_end: str, other_end: str, closed: bool) -> list[dict[str, Any]]:  # noqa: FBT001 - a tool's argument
    """Close the road between two neighbouring places, or open it again."""
    ends = {"one_end": one_end, "other_end": other_end}
    where = "(one_end, other_end) IN ((:one_end, :other_end), (:other_end, :one_end))"
    if not execute(f"SELECT id FROM roads WHERE {where}", **ends):  # noqa: S608 - the text above
        raise ValueError(f"no road leads from {one_end} straight to {other_end}")
    execute(f"UPDATE roads SET closed = :closed WHERE {where}", closed=int(closed), **ends)  # noqa: S608
    return list_roads(one_end)


@server.tool()
def list_trips() -> list[dict[str, Any]]:
    """List the saved trips."""
    return execute("SELECT * FROM trips ORDER BY name")


@server.tool()
def save_trip(name: str, stops: list[str]) -> dict[str, Any]:
    """Save a trip under a name, in place of the one that has it; each stop must be next to the one before it."""
    metres = 0
    for here, there in pairwise(stops):
        lengths = [road["metres"] for road in list_roads(here) if there in (road["one_end"], road["other_end"])]
        if not lengths:
            raise ValueError(f"no road leads from {here} straight to {there}")
        metres += min(lengths)
    execute("REPLACE INTO trips VALUES (:name, :stops, :metres)", name=name, stops=" > ".join(stops), metres=metres)
    return {"name": name, "stops": stops, "metres": metres}


@server.tool()
def delete_trip(name: str) -> list[dict[str, Any]]:
    """Delete a saved trip."""
    execute("DELETE FROM trips WHERE name = :name", name=name)
    return list_trips()


@server.tool()
def list_places_of(name: str) -> list[str]:
    """List the places on a list."""
    return [row["place"] for row in execute("SELECT place FROM lists WHERE list = :list ORDER BY place", list=name)]


@server.tool()
def add_to_list(name: str, place: str) -> list[str]:
    """Put a place on a list, which is made where there is none of this name."""
    get_place(place)
    execute("INSERT OR IGNORE INTO lists VALUES (:list, :place)", list=name, place=place)
    return list_places_of(name)


with sqlite3.connect(DATABASE) as city:
    city.executescript(TABLES)
server.run()
