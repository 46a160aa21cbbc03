"""Tests of databases that hostile agents leave, played through the real servers and read by the real readers."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import pytest

from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.boxes.docker.box import DockerBox
from sandbox.errors import Lost
from sandbox.judge import JUDGING, Question
from sandbox.runs.job import Terms
from sandbox.runs.prover import BoxProver
from sandbox.runs.task_world import question_of, read_by
from sandbox.servers.registry import SERVERS
from sandbox.servings.state_reader import WRECKAGE, in_data, read_back, snapshot
from sandbox.world.frozen import FrozenState
from vault.task.document import Task
from verifiers.formats.snapshot import FILE
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict
from verifiers.tree import DIRECTORY, FileTree, Node

from ...frozen import content
from ...needs import needing

EMPTY = {"postgres": {"schemas": ["public"], "tables": []}, "redis": {"keys": {}}}
POSTGRES, REDIS = SERVERS["postgres"], SERVERS["redis"]
STOCK = {"columns": [["id", "serial primary key"], ["item", "text"], ["price", "numeric"]], "rows": [[1, "lamp", 5]]}
STATE = {"postgres": {"tables": {"stock": STOCK}}, "redis": {"strings": {"a": "1"}, "hashes": {"h": {"f": "v"}}}}
TOOLS = [
    f"{name}.{tool}" for name, count in (("postgres", 5), ("redis", 10)) for tool in list(SERVERS[name].tools)[:count]
]
TRUTH = {"postgres.rowExists": {"table": "stock", "where": {"id": 1, "item": "lamp", "price": 5}}}
LIE = {"postgres.rowExists": {"table": "stock", "where": {"item": "lie"}}}


@cache
def the_box():
    """Return a box that all tests share: it looks for its programs once."""
    return BwrapBox()


def a_task(predicate, state=STATE):
    """Make a task over both databases."""
    return {
        "schema": "quarterturn/task/v1",
        "spec": "1.0.0",
        "id": "t-aaaaaaaaaaaaaaaa",
        "server": "postgres",
        "category": "single-tool",
        "difficulty": "easy",
        "max_steps": 20,
        "goal": "Do it.",
        "initial_state": state,
        "available_tools": TOOLS,
        "faults": [],
        "success_predicate": predicate,
    }


def played(*statements, predicate=TRUTH, state=STATE):
    """Run SQL through the real server, and judge the state."""
    calls = [{"tool": "postgres.execute", "arguments": {"sql": statement}} for statement in statements]
    return BoxProver(the_box()).prove(a_task(predicate, state) | {"max_steps": len(calls) + 1}, calls, None)


def played_apart(cases, where):
    """Run each case on a table of its own, all in one world; give each case's verdict on a row of its table."""
    state = STATE | {"postgres": {"tables": {f"stock{number}": STOCK for number in range(len(cases))}}}
    rows = [{"postgres.rowExists": {"table": f"stock{number}", "where": where}} for number in range(len(cases))]
    statements = [case.replace("stock", f"stock{number}") for number, case in enumerate(cases)]
    proved = played(*statements, predicate={"all": rows}, state=state)
    assert proved.errors == 0, proved.log
    return dict(zip(cases, [child.verdict for child in proved.evidence.children], strict=True))


def read(server, folder, **more):
    return snapshot(the_box(), server, in_data(server, folder), JUDGING, limits=Terms().world, **more)


def said_of(server, dump, predicate):
    left = FrozenState(FileTree({}).to_tar()).with_dump(server.name, dump)
    question = Question(predicate, parse(predicate), {server.name: server.root})
    empty = left.with_dump(server.name, json.dumps(EMPTY[server.name]).encode())
    return JUDGING.verdict(question, left, None, lambda: empty).verdict


@pytest.mark.box
@pytest.mark.needs("databases")
def test_a_state_that_nobody_asked_for_is_read_from_its_seed():
    proved = BoxProver(the_box()).prove(
        a_task({"all": [TRUTH, {"redis.hashEquals": {"key": "h", "fields": {"f": "v"}}}]}), [], None
    )
    assert proved.verdict is Verdict.TRUE


@pytest.mark.box
@pytest.mark.needs("databases")
def test_written_rows_are_read_back_and_a_failed_statement_leaves_nothing():
    proved = played(
        "insert into stock (item, price) values ('pen', 0.5); update stock set price = 6 where id = 1",
        "delete from stock; select 1/0",
        predicate={
            "postgres.tableEquals": {
                "table": "stock",
                "columns": ["id", "item", "price"],
                "rows": [[1, "lamp", 6], [2, "pen", 0.5]],
            }
        },
    )
    assert proved.verdict is Verdict.TRUE
    assert proved.errors == 1


REFUSED = [
    "copy stock to program 'id'",
    "copy stock from program 'id'",
    "copy (select 1) to '/data/postgres/seed.sql'",
    "select pg_read_file('/data/postgres/cluster/PG_VERSION')",
    "select lo_export(1, '/data/postgres/seed.sql')",
    "alter system set session_preload_libraries = 'evil'",
    "alter database task set search_path = shadow",
    "alter role reader set search_path = shadow",
    "set role reader",
    "set session authorization reader",
    "create event trigger e on ddl_command_end execute function pg_catalog.now()",
    "create extension file_fdw",
    "create extension dblink",
    "create function f() returns int language c as '/tmp/x.so', 'f'",
    "create table pg_catalog.x (a int)",
    "create operator pg_catalog.= (leftarg = text, rightarg = text, function = texteq)",
    "load '/tmp/x.so'",
    "update pg_catalog.pg_class set relkind = 'v'",
]


@pytest.mark.box
@pytest.mark.slow
@pytest.mark.needs("databases")
def test_the_agents_role_is_nobody_special():
    calls = [{"tool": "postgres.execute", "arguments": {"sql": statement}} for statement in REFUSED]
    document = a_task(TRUTH) | {"max_steps": len(calls)}
    proved = BoxProver(the_box()).prove(document, calls, None)
    taken = [sql for sql, call in zip(REFUSED, proved.log, strict=True) if not call["error"]]
    assert taken == []
    assert proved.verdict is Verdict.TRUE


SET_BY_HAND = [
    "alter sequence fresh restart with 50",
    "alter sequence used restart with 60",
    "select setval('far', 900), setval('near', 9)",
    "alter table stock cluster on stock_pkey",
    "alter table stock set (toast.autovacuum_enabled = false)",
    "alter role agent password 'secret'",
    "select lo_create(4242)",
]


@pytest.mark.box
@pytest.mark.slow
@pytest.mark.needs("databases")
def test_what_a_statement_sets_beside_rows_is_a_change_and_a_value_that_was_used_up_is_none():
    made = [f"create sequence {name}" for name in ("fresh", "used", "far", "near", "spent")]
    counted = "select nextval('used'), nextval('far'), nextval('near')"
    state = {"tables": {"stock": STOCK}, "before": [*made, counted]}
    proved = played(
        *SET_BY_HAND, "select nextval('spent')", predicate={"postgres.unchanged": {}}, state={"postgres": state}
    )
    assert not any(call["error"] for call in proved.log)
    for named in (
        *(
            "fresh, last",
            "used, last",
            "far, last",
            "near, last",
            "options of table public.stock, added",
            "password of agent, added",
        ),
        "order of rows by index public.stock_pkey, added",
        "large object 4242, added",
    ):
        assert named in proved.evidence.found
    assert "spent" not in proved.evidence.found


LYING = [
    # a view that stands where the table was
    "alter table stock rename to old; create view stock as select 9 as id, 'lie' as item, 1 as price",
    # a rule, which makes an empty table a view
    "create table s2 (like stock); drop table stock; alter table s2 rename to stock;"
    """create rule "_RETURN" as on select to stock do instead """
    "select 9 as id, 'lie'::text as item, 1::numeric as price",
    # a table of another schema in front of the search path
    "create schema shadow; create table shadow.stock as select 9 as id, 'lie'::text as item, 1::numeric as price;"
    "alter role agent set search_path = shadow, public",
    # a temporary table, which is before every other
    "create temporary table stock as select 9 as id, 'lie'::text as item, 1::numeric as price",
    # rows of a table that inherits
    "create table heir (extra int) inherits (stock); insert into heir values (9, 'lie', 1, 1)",
    # a materialized view, and a partitioned table with its own name
    "drop table stock; create materialized view stock as select 9 as id, 'lie'::text as item, 1::numeric as price",
    # functions and operators with the names of PostgreSQL's own
    "create function public.format_type(oid, integer) returns text language sql as $$ select 'lie' $$;"
    "create function public.same(text, text) returns bool language sql as $$ select true $$;"
    "create operator public.= (leftarg = text, rightarg = text, function = public.same)",
]


@pytest.mark.box
@pytest.mark.slow
@pytest.mark.needs("databases")
def test_lookalike_rows_do_not_count():
    assert played_apart(LYING, {"item": "lie"}) == dict.fromkeys(LYING, Verdict.FALSE)


HIDING = [
    # row security that hides every row
    "alter table stock enable row level security; alter table stock force row level security;"
    "create policy p on stock using (false)",
    # a function of an index and of a constraint that fails whenever it is run
    "create function boom(int) returns int immutable language plpgsql as "
    "$$ begin if current_user <> 'agent' then raise 'boom'; end if; return 1; end $$;"
    "create index on stock (boom(1)); create index on stock (boom(id)) where boom(2) = 1;"
    "alter table stock add constraint c check (boom(3) = 1);"
    "alter table stock alter item set default boom(4)::text; create statistics st on boom(id), id from stock; analyze",
    # triggers, and a cast of a type of one's own
    "create type mood as enum ('ok'); create function txt(mood) returns text language sql as $$ select 'lie' $$;"
    "create cast (mood as text) with function txt(mood) as implicit; alter table stock add m mood default 'ok'",
    # names that could be SQL, or that end a line of a script
    'create table "a\nb"";select 1;--\\" ("c\n\\d" int, "e""f" text);'
    'insert into "a\nb"";select 1;--\\" values (1, E\'\\\\.\\n\\t\')',
    # a table without a column, and one with a computed one
    "create table empty (); insert into empty default values;"
    "create table sums (a int, b int generated always as (a + 1) stored); insert into sums values (1)",
    # what the session is started with
    "alter role agent set bytea_output = 'escape'; alter role agent set datestyle = 'German';"
    "alter role agent set default_transaction_read_only = on",
    # nothing may be read; the last, for nothing can be made in the schema after it
    "revoke all on stock from public, agent; revoke all on schema public from public, agent",
]


@pytest.mark.box
@pytest.mark.slow
@pytest.mark.needs("databases")
def test_tricks_to_hide_from_or_stop_the_reader_fail():
    assert played_apart(HIDING, {"id": 1, "item": "lamp", "price": 5}) == dict.fromkeys(HIDING, Verdict.TRUE)


BESIDE = [
    "create view v as select * from stock",
    "create materialized view m as select * from stock",
    "create sequence s",
    "create function f() returns int language sql as 'select 1'",
    "create rule r as on delete to stock do also nothing",
    "comment on table stock is 'x'",
    "comment on column stock.item is 'x'",
    "create type mood as enum ('a', 'b')",
    "create domain d as int check (value > 0)",
    "grant select on stock to public",
    "grant usage on schema public to public",
    "alter table stock enable row level security",
    "create policy p on stock using (true)",
    "alter table stock set (fillfactor = 70)",
    "alter table stock set unlogged",
    "alter table stock alter column item set statistics 500",
    "alter table stock replica identity full",
    "create statistics s on id, item from stock",
    "create table part (a int) partition by list (a)",
    "alter role agent set statement_timeout = 9",
    "alter default privileges grant select on tables to public",
    'create collation c from "C"',
    "create publication p",
    "select lo_from_bytea(0, 'x')",
    "select setval('stock_id_seq', 5000)",
    "alter sequence stock_id_seq increment by 10",
]


@pytest.mark.box
@pytest.mark.slow
@pytest.mark.needs("databases")
def test_whatever_else_is_made_in_a_database_is_a_change():
    """Most leave an item of their own, so they can share a world; what is undone leaves none."""
    undone = "; ".join(["begin", *BESIDE[:9], "insert into stock (item) values ('x')", "rollback"])
    frame = {"postgres.unchanged": {}}
    taken_back = "grant select on stock to public; revoke select on stock from public"
    assert played(undone, taken_back, predicate=frame).verdict is Verdict.TRUE
    proved = played(*BESIDE, predicate=frame)
    assert proved.errors == 0, proved.log
    assert "and 14 more" in proved.evidence.found


@pytest.mark.box
@pytest.mark.slow
@pytest.mark.needs("databases")
def test_more_than_anybody_looks_at_counts_against_the_agent():
    """Eighty megabytes compress to almost nothing."""
    fill = "create table big (t text); insert into big select repeat('x', 4000000) from generate_series(1, 20)"
    proved = played(fill, predicate={"any": [TRUTH, {"not": LIE}]})
    assert [child.verdict for child in proved.evidence.children] == [Verdict.FALSE, Verdict.FALSE]


@pytest.fixture(scope="module")
@needing("databases")
def left():
    """Return a cluster as a world left it."""
    task = Task.parse(a_task(TRUTH))
    prover = BoxProver(the_box())
    kept = {}

    def keep(box, servers, state, *rest):
        kept["tree"] = content(state)
        return read_back(box, servers, state, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sandbox.runs.prover.read_back", keep)
        sql = {"sql": "insert into stock (item) values ('pen')"}
        prover.prove(task.document, [{"tool": "postgres.execute", "arguments": sql}], None)
    return kept["tree"].below("postgres")


@pytest.mark.box
def test_a_cluster_is_left_whole_and_without_its_seed(left):
    assert "seed.sql" not in left
    assert left["cluster/PG_VERSION"].data.strip().isdigit()
    assert "cluster/postmaster.pid" not in left, "it was shut down, and not killed"
    assert sum(len(node.data) for node in left.values()) < 20_000_000


HOSTILE = {
    "cluster/postgresql.auto.conf": b"archive_mode = on\nlocal_preload_libraries = 'x'\nport = 99999\n",
    "cluster/postgresql.conf": b"nonsense = (\n",
    "cluster/pg_hba.conf": b"local all all reject\n",
    "cluster/recovery.signal": b"",
    "cluster/standby.signal": b"",
    "cluster/postmaster.pid": b"1\n/\n",
    FILE: json.dumps({"schemas": ["public"], "tables": []}).encode(),
}


@pytest.mark.box
def test_planted_configuration_is_not_obeyed(left):
    tree = FileTree({**left, **{path: Node("file", data) for path, data in HOSTILE.items()}})
    assert said_of(POSTGRES, read(POSTGRES, tree), TRUTH) is Verdict.TRUE


@pytest.mark.box
@pytest.mark.slow
@pytest.mark.parametrize("path", ["cluster/global/pg_control", "cluster/PG_VERSION", "cluster"])
def test_a_cluster_that_cannot_be_read_is_wreckage_and_not_our_failure(left, path):
    nodes = {name: node for name, node in left.items() if name != path and not name.startswith(f"{path}/")}
    tree = read(POSTGRES, FileTree({**nodes, path: Node("file", b"wreck")}))
    assert tree == WRECKAGE
    assert said_of(POSTGRES, tree, {"not": LIE}) is Verdict.FALSE


@pytest.mark.box
@pytest.mark.slow
def test_a_folder_that_holds_nothing_is_wreckage(left):
    for server, predicate in ((POSTGRES, LIE), (REDIS, {"redis.keyExists": {"key": "x"}})):
        tree = read(server, FileTree({}))
        assert said_of(server, tree, {"not": predicate}) is Verdict.FALSE


@pytest.mark.box
@pytest.mark.slow
@pytest.mark.needs("databases")
def test_a_dump_that_is_none_is_wreckage():
    tree = read(REDIS, FileTree({"dump.rdb": Node("file", b"REDIS0011nonsense")}))
    assert tree == WRECKAGE


@pytest.mark.box
def test_a_reader_that_reads_nothing_at_all_is_ours():
    broken = replace(REDIS, reader=("/bin/false",))
    with pytest.raises(Lost, match="the reader of redis"):
        read(broken, REDIS.seed({}))


@pytest.mark.box
def test_a_reader_that_does_not_end_is_not_waited_for():
    slow = replace(REDIS, reader=("/bin/sleep", "600"))
    with pytest.raises(Lost):
        read(slow, REDIS.seed({}), seconds=0.5)


def test_only_what_a_predicate_looks_at_is_read_back():
    assert read_by(Task.parse(a_task({"answer.equals": {"text": "x"}}))) == []
    assert read_by(Task.parse(a_task(TRUTH))) == [POSTGRES]


@pytest.mark.box
@pytest.mark.needs("databases")
def test_no_file_of_the_folder_passes_for_what_its_reader_says():
    forged = {"keys": {"a": {"type": "string", "value": "lie", "left": None}}}
    tree = FileTree(
        {
            "redis": DIRECTORY,
            f"redis/{FILE}": Node("file", json.dumps(forged).encode()),
            **REDIS.seed({"strings": {"a": "1"}}).under("redis"),
        }
    )
    probe = {"redis.stringEquals": {"key": "a", "value": "1"}}
    task = Task.parse(a_task(probe))
    after = read_back(the_box(), read_by(task), FrozenState(tree.to_tar()), Terms().world, JUDGING)
    assert list(after.dumps) == ["redis"]
    assert JUDGING.verdict(question_of(task), after, None, lambda: after).verdict is Verdict.TRUE


@pytest.mark.engine
def test_containers_read_back_what_containers_left():
    both = {"all": [{"postgres.rowCount": {"table": "stock", "count": 2}}, {"redis.keyCount": {"count": 3}}]}
    calls = [
        {"tool": "postgres.execute", "arguments": {"sql": "insert into stock (item) values ('pen')"}},
        {"tool": "redis.hset", "arguments": {"name": "b", "key": "f", "value": "2"}},
    ]
    prover = BoxProver(DockerBox())
    assert prover.prove(a_task(both), [], None).verdict is Verdict.FALSE
    proved = prover.prove(a_task(both), calls, None)
    assert (proved.errors, proved.verdict) == (0, Verdict.TRUE)
