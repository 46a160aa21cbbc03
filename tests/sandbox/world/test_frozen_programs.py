"""Tests of the programs that stop a server's clock and repeat its random values, on the real interpreters."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.kinds.common.state_kind import FROZEN

NODE = Path(sys.prefix) / "world" / "node" / "bin" / "node"
CLOCK = "2026-03-02T09:00:00Z"
PYTHON = """
import asyncio, datetime, json, os, random, secrets, sqlite3, sys, time, uuid
from datetime import date, datetime as moment

class Later(moment):
    pass

base = sqlite3.connect(":memory:")
base.execute("CREATE TABLE t (a DEFAULT CURRENT_TIMESTAMP, b DEFAULT (datetime('now')), c)")
base.execute("INSERT INTO t (c) VALUES (?)", (moment(2020, 1, 2),))
before = time.monotonic()
asyncio.run(asyncio.sleep(0.05))
print(json.dumps({
    "clock": [time.time(), str(moment.now()), str(moment.now(datetime.UTC)), str(date.today()), time.strftime("%F %T"),
        *base.execute("SELECT a, b, c, strftime('%Y'), date('now', '+1 day'), date('2020-02-03') FROM t").fetchone()],
    "random": [str(uuid.uuid4()), uuid.uuid1().hex, os.urandom(4).hex(), secrets.token_hex(4), random.random(),
        random.Random().random()],
    "sound": [isinstance(moment.now(), moment), isinstance(moment.now(), date), not isinstance(date.today(), moment),
        type(Later(2020, 1, 1)) is Later, issubclass(moment, date), moment(2020, 1, 1) < moment.now(),
        time.monotonic() - before >= 0.05],
    "argv": sys.argv[1:],
}))
"""
JAVASCRIPT = """
import crypto, { randomUUID, webcrypto, randomBytes, randomFillSync, getRandomValues } from "node:crypto";
class Later extends Date {}
const before = performance.now();
await new Promise((done) => setTimeout(done, 50));
await new Promise((done) => crypto.randomBytes(4, (error, bytes) => done(bytes)));
console.log(JSON.stringify({
  clock: [Date.now() / 1000, new Date().toISOString(), Date(), new Later().toISOString(), new Date(0).getTime()],
  random: [randomUUID(), globalThis.crypto.randomUUID(), Math.random(), randomBytes(4), crypto.randomInt(5, 9),
    randomFillSync(new Uint32Array(2)), getRandomValues(new Uint8Array(3)),
    webcrypto.getRandomValues(new Uint8Array(3))],
  sound: [new Date() instanceof Date, new Later() instanceof Date, new Date().constructor === Date,
    performance.now() - before >= 45],
  argv: process.argv.slice(2),
}));
"""


def python(folder, *options):
    (folder / "program.py").write_text(PYTHON)
    return [sys.executable, *options, str(FROZEN / "frozen.py"), str(folder / "program.py"), "-x", "y"]


def node(folder):
    (folder / "program.mjs").write_text(JAVASCRIPT)
    return [str(NODE), "--require", str(FROZEN / "frozen.cjs"), str(folder / "program.mjs"), "-x", "y"]


def said(command, **freeze):
    variables = {"PATH": os.defpath, "TZ": "UTC", "QUARTERTURN_FREEZE": json.dumps(freeze)}
    return json.loads(subprocess.run(command, env=variables, check=True, capture_output=True).stdout)


@pytest.fixture(params=["python", pytest.param("python -I", marks=pytest.mark.full), "node"])
def command(request, tmp_path):
    return node(tmp_path) if request.param == "node" else python(tmp_path, *request.param.split()[1:])


def test_clocks_stand_still_and_random_values_are_the_same_in_each_process(command):
    first, second = (said(command, clock=CLOCK, ids=True) for _ in "ab")
    assert first == second
    assert first["clock"][0] == 1772442000
    assert "2026-03-02" in first["clock"][1]
    assert all(first["sound"])
    assert first["argv"] == ["-x", "y"]
    assert len({str(value) for value in first["random"]}) == len(first["random"])


def test_what_the_manifest_does_not_name_is_left_alone(command):
    clock, ids = said(command, clock=CLOCK), said(command, ids=True)
    assert clock["random"] != ids["random"]
    assert clock["clock"] != ids["clock"]
    assert said(command, clock=CLOCK)["random"] != clock["random"]
    assert said(command, ids=True)["random"][0] == ids["random"][0]


def test_sqlite_takes_the_frozen_moment_for_now(tmp_path):
    clock = said(python(tmp_path), clock=CLOCK)["clock"]
    assert clock[5:] == ["2026-03-02 09:00:00"] * 2 + ["2020-01-02 00:00:00", "2026", "2026-03-03", "2020-02-03"]


@pytest.mark.parametrize("words", [["-c", "import sys; print([sys.argv, __name__])"], ["-m", "shown"], ["shown.py"]])
def test_a_program_is_run_as_the_interpreter_would_run_it(tmp_path, words):
    (tmp_path / "shown.py").write_text("import beside, sys; print([sys.argv, __name__])")
    (tmp_path / "beside.py").touch()
    variables = {"QUARTERTURN_FREEZE": "{}", "PYTHONDONTWRITEBYTECODE": "1"}
    outputs = [
        subprocess.run(
            [sys.executable, *through, *words, "x"], env=variables, cwd=tmp_path, check=True, capture_output=True
        ).stdout
        for through in ([], [FROZEN / "frozen.py"])
    ]
    assert outputs[0] == outputs[1]
