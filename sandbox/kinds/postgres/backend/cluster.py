"""PostgreSQL cluster of one world: `cluster.py keep`, `cluster.py read` or `cluster.py template FILE`.

Standard library only. `keep` and `read` work in the current folder, which holds either `seed.sql` alone (nobody has
asked for a database yet) or the folder `cluster`.

- `keep` copies the template, loads the seed as the role `agent`, removes it, writes `ready` and keeps the server up
  until SIGTERM, when it is shut down with a checkpoint. A cluster beside a seed is one that was never ready.
- `read` starts a server on the cluster, or on a copy of the template with the seed, and writes the database as one JSON
  document (`verifiers.states.postgres.tables`). The cluster may be hostile, so its own configuration is ignored: the
  files beside this one are used, and the command line overrides both. It is read as the role `reader`, who may read
  everything and owns nothing, and nothing of the agent's is run: rows of base tables come from COPY of the
  table, which knows no rule, policy, planner, operator or cast, and columns of a type that is not PostgreSQL's own are
  left out by name. Every name that is looked up is a name of `pg_catalog`.
- `template` makes the template once, as a tar, when a world's programs are installed.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))  # in a world it has no package around it

from sandbox.kinds.common.backend.program import (
    BackendFailed,
    OutputTooLarge,
    answer,
    await_up,
    run,
    serve,
    stop,
)

HERE = Path(__file__).resolve().parent
TEMPLATE = Path("/opt/world/postgres/template.tar")
INSTALLED = Path("/usr/lib/postgresql")
SOCKETS, DATABASE = "/tmp", "task"  # noqa: S108 - a world's own
NOBODY = 65534
START_SECONDS = 60.0
MAX_OUTPUT = 32 << 20
FILES = {"config_file": "postgresql.conf", "hba_file": "pg_hba.conf", "ident_file": "pg_ident.conf"}
# Above every configuration file, so also above what somebody wrote into the cluster.
LOOKING = {
    "archive_mode": "off",
    "default_transaction_read_only": "on",
    "jit": "off",
    "listen_addresses": "",
    "local_preload_libraries": "",
    "session_preload_libraries": "",
    "shared_preload_libraries": "",
    "unix_socket_directories": SOCKETS,
}
# Above what a role or a database was given to start its sessions with.
SESSION = {
    "bytea_output": "hex",
    "client_encoding": "UTF8",
    "datestyle": "ISO, YMD",
    "default_transaction_read_only": "on",
    "extra_float_digits": "1",
    "intervalstyle": "iso_8601",
    "lc_monetary": "C",
    "row_security": "off",
    "search_path": "pg_catalog",
    "standard_conforming_strings": "on",
    "statement_timeout": "0",
    "timezone": "UTC",
    "xmlbinary": "base64",
}

CATALOGUE = """
COPY (
WITH spaces AS (
    SELECT oid, nspname FROM pg_namespace
    WHERE nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND nspname !~ '^pg_(toast_)?temp_'
), kinds AS (
    SELECT t.oid, t.typname, t.typnamespace = 'pg_catalog'::regnamespace OR t.typtype = 'e' AS plain,
           t.typtype, t.typbasetype, t.typelem, t.typcategory
    FROM pg_type t
), known AS (
    SELECT k.oid, coalesce(b.typname, k.typname) AS base,
           k.plain OR (k.typtype = 'd' AND b.plain) OR (k.typcategory = 'A' AND e.plain) AS plain
    FROM kinds k LEFT JOIN kinds b ON b.oid = k.typbasetype AND k.typtype = 'd'
                 LEFT JOIN kinds e ON e.oid = k.typelem
), columns AS (
    SELECT a.attrelid, json_agg(json_build_object(
        'name', a.attname, 'type', format_type(a.atttypid, a.atttypmod), 'base', k.base,
        'not_null', a.attnotnull, 'default', pg_get_expr(d.adbin, d.adrelid), 'identity', a.attidentity <> '',
        'computed', a.attgenerated <> '', 'readable', k.plain AND a.attgenerated = ''
    ) ORDER BY a.attnum) AS list
    FROM pg_attribute a JOIN known k ON k.oid = a.atttypid
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attnum > 0 AND NOT a.attisdropped GROUP BY a.attrelid
), constraints AS (
    SELECT c.conrelid, json_agg(json_build_object(
        'name', c.conname, 'kind', c.contype, 'definition', pg_get_constraintdef(c.oid), 'valid', c.convalidated,
        'columns', (SELECT json_agg(a.attname ORDER BY u.place) FROM unnest(c.conkey) WITH ORDINALITY u(number, place)
                    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = u.number),
        'to', (SELECT json_build_array(n.nspname, f.relname) FROM pg_class f JOIN pg_namespace n
               ON n.oid = f.relnamespace WHERE f.oid = c.confrelid),
        'to_columns', (SELECT json_agg(a.attname ORDER BY u.place)
                       FROM unnest(c.confkey) WITH ORDINALITY u(number, place)
                       JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = u.number)
    ) ORDER BY c.conname) AS list
    FROM pg_constraint c WHERE c.conrelid <> 0 AND c.contype IN ('p', 'u', 'f', 'c', 'x') GROUP BY c.conrelid
), indexes AS (
    SELECT i.indrelid, json_agg(json_build_object(
        'name', x.relname, 'unique', i.indisunique, 'valid', i.indisvalid, 'partial', i.indpred IS NOT NULL,
        'definition', pg_get_indexdef(i.indexrelid),
        'columns', (SELECT json_agg(a.attname ORDER BY u.place)
                    FROM unnest(i.indkey::int2[]) WITH ORDINALITY u(number, place)
                    LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = u.number
                    WHERE u.place <= i.indnkeyatts)
    ) ORDER BY x.relname) AS list
    FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid GROUP BY i.indrelid
), parts AS (  -- what else can be made, each as catalogue, oid and what tells of it
    SELECT 'pg_class'::regclass AS class, r.oid, CASE r.relkind
        WHEN 'S' THEN (SELECT concat_ws(' ', format_type(q.seqtypid, NULL), q.seqstart, q.seqincrement, q.seqmin,
                                        q.seqmax, q.seqcache, q.seqcycle) FROM pg_sequence q WHERE q.seqrelid = r.oid)
        WHEN 'p' THEN pg_get_partkeydef(r.oid) ELSE pg_get_viewdef(r.oid) END AS definition
    FROM pg_class r JOIN spaces s ON s.oid = r.relnamespace WHERE r.relkind IN ('v', 'm', 'S', 'p', 'f', 'c')
    UNION ALL SELECT 'pg_class'::regclass, i.indexrelid, pg_get_indexdef(i.indexrelid)
    FROM pg_index i JOIN pg_class r ON r.oid = i.indrelid AND r.relkind <> 'r' JOIN spaces s ON s.oid = r.relnamespace
    UNION ALL SELECT 'pg_proc'::regclass, f.oid,
        concat_ws(' ', CASE f.prokind WHEN 'a' THEN '' ELSE pg_get_functiondef(f.oid) END, f.proacl)
    FROM pg_proc f JOIN spaces s ON s.oid = f.pronamespace
    UNION ALL SELECT 'pg_trigger'::regclass, oid, concat_ws(' ', pg_get_triggerdef(oid), tgenabled)
    FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT 'pg_rewrite'::regclass, oid, concat_ws(' ', pg_get_ruledef(oid), ev_enabled)
    FROM pg_rewrite WHERE oid >= 16384 AND rulename <> '_RETURN'
    UNION ALL SELECT 'pg_policy'::regclass, oid, concat_ws(' ', polcmd, polpermissive, polroles,
        pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)) FROM pg_policy
    UNION ALL SELECT 'pg_type'::regclass, t.oid, concat_ws(' ', t.typtype, format_type(t.typbasetype, t.typtypmod),
        t.typnotnull, t.typdefault, t.typacl,
        (SELECT json_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = t.oid),
        (SELECT json_agg(pg_get_constraintdef(c.oid) ORDER BY c.conname) FROM pg_constraint c WHERE c.contypid = t.oid))
    FROM pg_type t JOIN spaces s ON s.oid = t.typnamespace
    WHERE t.typtype IN ('b', 'd', 'e', 'p', 'r') AND t.typelem = 0
    UNION ALL SELECT 'pg_statistic_ext'::regclass, oid, pg_get_statisticsobjdef(oid) FROM pg_statistic_ext
    UNION ALL SELECT 'pg_largeobject'::regclass, oid, '' FROM pg_largeobject_metadata  -- anybody may choose its number
    UNION ALL SELECT DISTINCT d.classid::regclass, d.objid, '' FROM (
        SELECT classid, objid FROM pg_depend UNION SELECT classid, objid FROM pg_shdepend WHERE dbid <> 0
    ) d WHERE d.objid >= 16384 AND d.classid NOT IN ('pg_class'::regclass, 'pg_proc'::regclass, 'pg_trigger'::regclass,
        'pg_rewrite'::regclass, 'pg_policy'::regclass, 'pg_type'::regclass, 'pg_statistic_ext'::regclass,
        'pg_largeobject'::regclass,
        'pg_constraint'::regclass, 'pg_attrdef'::regclass, 'pg_namespace'::regclass, 'pg_default_acl'::regclass)
), objects AS (
    SELECT pg_describe_object(class, oid, 0) AS name, definition FROM parts
    UNION ALL SELECT 'comment on ' || pg_describe_object(classoid, objoid, objsubid), description FROM pg_description
    WHERE objoid >= 16384 OR (classoid, objoid) = ('pg_namespace'::regclass, 'public'::regnamespace)
    UNION ALL SELECT 'setting of ' || coalesce(r.rolname, 'all roles'), array_to_string(v.setconfig, chr(10))
    FROM pg_db_role_setting v LEFT JOIN pg_roles r ON r.oid = v.setrole
    UNION ALL SELECT 'privileges by default', concat_ws(' ', defaclnamespace::regnamespace, defaclobjtype, defaclacl)
    FROM pg_default_acl
    UNION ALL SELECT 'privileges on schema ' || n.nspname, n.nspacl::text
    FROM pg_namespace n JOIN spaces USING (oid) WHERE n.nspacl IS NOT NULL
    UNION ALL SELECT 'password of ' || rolname, '' FROM pg_authid WHERE rolpassword IS NOT NULL
    UNION ALL SELECT concat_ws(' ', 'membership of', member::regrole, 'in', roleid::regrole), admin_option::text
    FROM pg_auth_members
    UNION ALL SELECT 'order of rows by ' || pg_describe_object('pg_class'::regclass, i.indexrelid, 0), ''
    FROM pg_index i JOIN pg_class r ON r.oid = i.indexrelid JOIN spaces s ON s.oid = r.relnamespace
    WHERE i.indisclustered
    -- of a table and its columns, what is not as PostgreSQL makes them
    UNION ALL SELECT 'options of ' || pg_describe_object('pg_class'::regclass, r.oid, 0), o.definition
    FROM pg_class r JOIN spaces s ON s.oid = r.relnamespace,
        acldefault(CASE r.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", r.relowner) AS a(usual),
        concat_ws(' ', CASE WHEN r.relpersistence = 'u' THEN 'unlogged' END,
            CASE WHEN r.relrowsecurity THEN 'row security' END, CASE WHEN r.relforcerowsecurity THEN 'forced' END,
            CASE WHEN r.relreplident NOT IN ('d', 'n') THEN concat('replica identity ', r.relreplident) END,
            r.reloptions, (SELECT x.reloptions FROM pg_class x WHERE x.oid = r.reltoastrelid),
            CASE WHEN NOT r.relacl @> a.usual OR NOT r.relacl <@ a.usual THEN r.relacl END,
            (SELECT 'inherits ' || string_agg(inhparent::regclass::text, ' ' ORDER BY inhseqno) FROM pg_inherits
             WHERE inhrelid = r.oid)) AS o(definition)
    WHERE r.relkind <> 'i' AND o.definition <> ''
    UNION ALL SELECT 'options of ' || pg_describe_object('pg_class'::regclass, a.attrelid, a.attnum), o.definition
    FROM pg_attribute a JOIN pg_class r ON r.oid = a.attrelid JOIN spaces s ON s.oid = r.relnamespace
    JOIN pg_type t ON t.oid = a.atttypid,
        concat_ws(' ', CASE WHEN a.attidentity = 'a' THEN 'always' END,
            CASE WHEN a.attcollation <> t.typcollation THEN a.attcollation::regcollation END,
            CASE WHEN a.attstorage <> t.typstorage THEN concat('storage ', a.attstorage) END,
            CASE WHEN a.attcompression <> '' THEN concat('compression ', a.attcompression) END,
            CASE WHEN a.attstattarget >= 0 THEN concat('statistics ', a.attstattarget) END,
            a.attoptions, a.attacl) AS o(definition)
    WHERE a.attnum > 0 AND NOT a.attisdropped AND r.relkind IN ('r', 'v', 'm', 'p') AND o.definition <> ''
)
SELECT json_build_object(
    'objects', (SELECT coalesce(json_agg(json_build_array(name, coalesce(definition, '')) ORDER BY name, definition),
        '[]') FROM objects),
    'sequences', (SELECT coalesce(json_agg(json_build_array(pg_describe_object('pg_class'::regclass, r.oid, 0),
        s.nspname, r.relname) ORDER BY r.relname), '[]')
    FROM pg_class r JOIN spaces s ON s.oid = r.relnamespace WHERE r.relkind = 'S'),
    'schemas', (SELECT coalesce(json_agg(nspname ORDER BY nspname), '[]') FROM spaces),
    'tables', (SELECT coalesce(json_agg(json_build_object(
        'schema', s.nspname, 'name', r.relname, 'columns', coalesce(c.list, '[]'),
        'constraints', coalesce(o.list, '[]'), 'indexes', coalesce(i.list, '[]')
    ) ORDER BY s.nspname, r.relname), '[]')
    FROM pg_class r JOIN spaces s ON s.oid = r.relnamespace LEFT JOIN columns c ON c.attrelid = r.oid
    LEFT JOIN constraints o ON o.conrelid = r.oid LEFT JOIN indexes i ON i.indrelid = r.oid
    WHERE r.relkind = 'r' AND r.relpersistence IN ('p', 'u'))
)
) TO STDOUT;
"""


def programs(version: str) -> Path:
    """Return the folder with the programs of a version."""
    return INSTALLED / version / "bin"


class Cluster:
    """A cluster and the server that runs on it."""

    def __init__(self, folder: Path, settings: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.settings = {name: str(HERE / file) for name, file in FILES.items()} | (settings or {})
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def bin(self) -> Path:
        """The programs that its files are for."""
        return programs((self.folder / "PG_VERSION").read_text().strip())

    def start(self) -> None:
        """Start the server and wait until it takes connections; its pid file says so, as for pg_ctl."""
        status = self.folder / "postmaster.pid"
        status.unlink(missing_ok=True)  # of a server that was killed elsewhere
        words = [word for name, value in self.settings.items() for word in ("-c", f"{name}={value}")]
        self.process = subprocess.Popen(
            [self.bin / "postgres", "-D", self.folder, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            **nobody(),
        )
        await_up(
            self.process,
            lambda: status.is_file() and status.read_text(errors="replace").rstrip().endswith("ready"),
            START_SECONDS,
        )

    def stop(self) -> None:
        """Shut it down in the fast way: sessions are cut, and everything is written down."""
        if self.process is not None:
            stop(self.process, signal.SIGINT, signal.SIGQUIT)
        self.process = None

    def psql(self, role: str, script: str | Path, *options: str, database: str = DATABASE) -> Iterator[str]:
        """Run a script (a text or a file) and give what it prints line by line.

        Raises:
            BackendFailed: a statement failed.
            OutputTooLarge: it printed more than MAX_OUTPUT bytes.
        """
        command = [str(self.bin / "psql"), "-X", "-q", "-A", "-t", "-w", "-v", "ON_ERROR_STOP=1", *options]
        command += ["-h", SOCKETS, "-U", role, "-d", database, "-f", str(script) if isinstance(script, Path) else "-"]
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PGCLIENTENCODING": "UTF8"}
        if role == "reader":
            settings = (f"-c {name}={value.replace(' ', chr(92) + ' ')}" for name, value in SESSION.items())
            environment["PGOPTIONS"] = " ".join(settings)
        with tempfile.TemporaryFile() as script_file:
            script_file.write(b"" if isinstance(script, Path) else script.encode())
            script_file.seek(0)
            with subprocess.Popen(command, env=environment, stdin=script_file, stdout=subprocess.PIPE) as process:
                assert process.stdout is not None  # noqa: S101 - it was asked for
                try:
                    for line in within(process.stdout, MAX_OUTPUT):
                        yield line.decode("utf-8", "surrogateescape").removesuffix("\n")
                except BaseException:
                    process.kill()
                    raise
        if process.returncode:
            raise BackendFailed("psql failed")


def within(stream: IO[bytes], cap: int) -> Iterator[bytes]:
    """Yield lines for as long as they stay within the cap together.

    Raises:
        OutputTooLarge: they do not.
    """
    while line := stream.readline(cap + 1):
        cap -= len(line)
        if cap < 0:
            raise OutputTooLarge
        yield line


def unpacked(folder: Path) -> Cluster:
    """Copy the template there."""
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(TEMPLATE) as tar:
        tar.extractall(folder)  # noqa: S202 - a tar of our own, and Debian's Python 3.11.2 knows no filter
    folder.chmod(0o700)
    return Cluster(folder)


def load(cluster: Cluster, seed: Path) -> None:
    """Load the seed whole, or not at all."""
    for _ in cluster.psql("agent", seed, "-1"):
        pass


def keep() -> None:
    """Keep the cluster of this folder up until somebody ends us."""
    folder, seed = Path("cluster").absolute(), Path("seed.sql").absolute()
    fresh = seed.exists()
    cluster = unpacked(folder) if fresh else Cluster(folder)
    try:
        cluster.start()
        if fresh:
            load(cluster, seed)
            seed.unlink()
        if cluster.process is not None:
            serve(cluster.process)
    finally:
        cluster.stop()


def read() -> None:
    """Write the database as a JSON document."""
    folder, seed = Path("cluster").absolute(), Path("seed.sql").absolute()
    if seed.exists():
        cluster = unpacked(folder)
        cluster.start()
        load(cluster, seed)
        cluster.stop()
    for left in (folder / "postgresql.auto.conf", *folder.glob("*.signal")):
        left.unlink(missing_ok=True)
    cluster = Cluster(folder, LOOKING)
    try:
        cluster.start()
        document = look(cluster)
    except OutputTooLarge:
        document = {"wreckage": f"the database prints as more than {MAX_OUTPUT} bytes"}
    finally:
        cluster.stop()
    answer(document)


def look(cluster: Cluster) -> dict[str, Any]:
    """Read the catalogue, then each sequence and the rows of each base table, in one transaction that cannot write."""
    lines = list(cluster.psql("reader", CATALOGUE))
    document: dict[str, Any] = json.loads(unescaped(lines[0]) or "")
    tables = document["tables"]
    script = io.StringIO("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;\n")
    script.seek(0, io.SEEK_END)
    for _, schema, name in document["sequences"]:
        place = f"{quoted(schema)}.{quoted(name)}"
        script.write(f"COPY (SELECT last_value, is_called, log_cnt FROM {place}) TO STDOUT;\n")  # noqa: S608 - quoted
    for table in tables:
        names = ", ".join(quoted(column["name"]) for column in table["columns"] if column["readable"])
        place = f"{quoted(table['schema'])}.{quoted(table['name'])}"
        source = f"{place} ({names})" if names else f"(SELECT FROM ONLY {place})"
        script.write(f"COPY {source} TO STDOUT;\n\\echo '\\\\.'\n")
    rows = iter(cluster.psql("reader", script.getvalue()))
    document["sequences"] = [[name, counted(next(rows))] for name, *_ in document["sequences"]]
    for table in tables:
        table["rows"] = [cells(line) for line in iter(lambda: next(rows), "\\.")]
    return document


def counted(line: str) -> str:
    """Return the last value of a sequence, and how many more are logged; of one that gave out none, how it starts."""
    last, is_called, logged = line.split("\t")
    return f"{last}, {logged} logged" if is_called == "t" else f"starts at {last}"


def cells(line: str) -> list[str | None]:
    """Take a row of COPY's text format apart (PostgreSQL's manual, COPY, "Text Format")."""
    return [unescaped(cell) for cell in line.split("\t")] if line else []


ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def unescaped(cell: str) -> str | None:
    """Return what a cell of COPY's text format stands for."""
    if cell == "\\N":
        return None
    head, *rest = cell.split("\\")
    out, escaped = [head], True
    for part in rest:
        if not escaped:  # the second of two backslashes
            out.append(part)
            escaped = True
        elif part:
            out.append(ESCAPES.get(part[0], part[0]) + part[1:])
        else:
            out.append("\\")
            escaped = False
    return "".join(out)


def quoted(name: str) -> str:
    """Quote a name."""
    return '"' + name.replace('"', '""') + '"'


def template(place: str) -> None:
    """Make the template and write it as a tar, whole or not at all."""
    target = Path(place)
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(target.name + ".new")
    with tempfile.TemporaryDirectory(prefix="quarterturn-postgres-") as home:
        Path(home).chmod(0o755)
        work = Path(home, "work")
        shutil.copytree(HERE, work)
        if os.geteuid() == 0:  # PostgreSQL refuses root
            os.chown(work, NOBODY, NOBODY)
        make(work)
        with tarfile.open(draft, "w") as tar:
            tar.add(work / "cluster", ".", filter=plain)
    draft.chmod(0o644)
    draft.replace(target)


def make(work: Path) -> None:
    """Make the template's cluster in a folder, with the newest PostgreSQL that is installed."""
    version = max((path.name for path in INSTALLED.glob("[0-9]*") if (path / "bin/initdb").exists()), key=int)
    folder = work / "cluster"
    options = ("--wal-segsize=1", "--encoding=UTF8", "--locale=C", "--username=postgres", "--auth=trust", "--no-sync")
    initdb = [str(programs(version) / "initdb"), "-D", str(folder), *options, "--no-instructions"]
    subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd=work, **nobody())
    (work / "pg_hba.conf").write_text("local all postgres trust\n")
    cluster = Cluster(
        folder, {name: str(work / file) for name, file in FILES.items()} | {"unix_socket_directories": str(work)}
    )
    cluster.start()
    try:
        command = [str(cluster.bin / "psql"), "-X", "-q", "-w", "-v", "ON_ERROR_STOP=1", "-h", str(work)]
        command += ["-U", "postgres", "-d", "postgres", "-f", str(work / "template.sql")]
        subprocess.run(command, check=True, cwd=work)
    finally:
        cluster.stop()


def nobody() -> dict[str, Any]:
    """Say as whom to start PostgreSQL: not as root."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


def plain(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Forget who made a file and when."""
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = 0
    return None if info.name.endswith(("postmaster.opts", "postmaster.pid")) else info


if __name__ == "__main__":
    sys.exit(run({"keep": keep, "read": read, "template": template}, sys.argv[1:]))
