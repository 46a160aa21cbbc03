"""Positive controls: each attempt again without the one control that should stop it, where that is harmless.

Most run in one *weakened* place: an agent's place of the same box, without the controls that a process can set for
itself (user, capabilities, filter), with caps lifted tenfold, a writable root, stand-ins for what should never be
there, and a wire to a namespace of our own. Each attempt's process then applies all of those controls but one
(`sandbox.attacks.probes.weakened_process`). So one place serves them all, and each attempt lacks exactly its own
control.

Nothing of this reaches the host: what is mounted writable is a copy or in memory, the capabilities that would reach
beyond a namespace (SYS_TIME, SYS_MODULE, SYS_BOOT, SYS_RAWIO, SYSLOG) are never given, and no address is a real one.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from quarterturn_attacks.controls import network_link
from quarterturn_attacks.controls.weakened_box import CAPABILITIES, WeakenedBox, grantable, weakened
from sandbox.attacks.harness import isolated_attempts
from sandbox.attacks.harness.catalogue import ROWS, Setting, Without
from sandbox.attacks.harness.probing import GOALS, LIMITS, PROBES, answering, endings, program
from sandbox.attacks.probes import raw_system_calls
from sandbox.boxes import policy
from sandbox.boxes.box import Box
from sandbox.errors import Lost
from sandbox.isolation.filters import CONDITIONS
from sandbox.isolation.program_copies import interpreter
from sandbox.isolation.seccomp import Rule, allowing
from sandbox.isolation.system_calls import NUMBERS

OTHER_ERRNO = 33  # EDOM: no call that is attempted gives it of itself
SECONDS = 120.0


def controls(box: Box, names: Collection[str]) -> dict[str, bool]:
    """Say of each named attempt whether it succeeds where its control was left out.

    A name that is missing has no harmless control, or none in this box.

    Raises:
        Unavailable: this machine does not let us make and wire namespaces.
        Lost: a control's place broke.
    """
    wanted = {
        name: row.positive
        for name in names
        if isinstance((row := ROWS[name]).positive, Without) and set(row.positive.capabilities) <= set(grantable())
    }
    if not wanted:
        return {}
    network_link.require()
    outcomes: dict[str, str] = {}
    for setting, make in (("lowered", _lowered), ("processes", _lowered), ("outside", _outside)):
        chosen = {name: without for name, without in wanted.items() if without.setting == setting}
        if chosen:
            outcomes |= make(box, chosen)
    for name, without in wanted.items():
        if without.setting == "alone":
            outcomes[name] = isolated_attempts.make(box, name, lifted=True)[0]
    return {name: outcome == "escaped" for name, outcome in outcomes.items()}


def document(wanted: Mapping[str, Without]) -> str:
    """Write down for `sandbox.attacks.probes.weakened_process` what each attempt is made without."""
    usual = policy.rlimits(LIMITS)
    del usual["cpu"], usual["fsize"]  # the place has more of these, for there is more of everything
    filters = [_filter(Without())]
    without = {}
    for name, lifted in wanted.items():
        code = _filter(lifted)
        if code not in filters:
            filters.append(code)
        without[name] = {
            "filter": filters.index(code),
            "capabilities": [CAPABILITIES[capability] for capability in lifted.capabilities],
            "root": lifted.root,
            "new-privileges": lifted.privileges,
            "limits": {name: value for name, value in usual.items() if name not in lifted.limits},
            "environment": dict(lifted.environment),
        }
    text = json.dumps({"without": without, "filters": filters}).encode()
    return base64.b64encode(zlib.compress(text)).decode()


def _filter(without: Without) -> str:
    if not without.filtered:
        return ""
    named = {call: NUMBERS.get(call) or raw_system_calls.NUMBERS[call] for call in without.calls}
    if without.other_errno:
        conditions = [replace(rule, error=OTHER_ERRNO) if rule.call in named else rule for rule in CONDITIONS]
        conditions += [Rule(call, error=OTHER_ERRNO) for call in named if call not in NUMBERS]
    else:
        conditions = [rule for rule in CONDITIONS if rule.call not in named]
    return allowing({**NUMBERS, **named}, conditions, refused=OTHER_ERRNO if without.unnamed else None).hex()


def _lowered(box: Box, wanted: Mapping[str, Without]) -> dict[str, str]:
    """Make controls in one place of the same box."""
    setting: Setting = next(iter(wanted.values())).setting
    with _copied() as folder, answering() as (sockets, word):
        weak_box = weakened(box, sockets, folder, shared=setting == "processes")
        if weak_box is None:
            return {}
        environment = {"PROBE_CONTROL": document(wanted)} if setting == "lowered" else {}
        made = program(wanted, folder, environment)
        results = _results(weak_box, made, sockets, wire_it=setting == "lowered")
    if not results.get("reached", ("", ""))[1].endswith(word):
        raise Lost(f"the controls in the {box.name} box did not reach their own relay, so they prove nothing")
    return {name: results[name][0] if name in results else "missing" for name in wanted}


def _results(other: WeakenedBox, made: Any, sockets: Path, *, wire_it: bool) -> dict[str, tuple[Any, str]]:
    place = other.place(made, sockets, isolated_attempts.limits(lifted=True))
    try:
        with network_link.wired(other.process(place)) if wire_it else nullcontext():
            agent = place.start()
            agent.wait(SECONDS)
            agent.kill()
            return endings(agent.output())
    finally:
        place.close()


def _outside(_: Box, wanted: Mapping[str, Without]) -> dict[str, str]:
    """Make controls outside of any box, in namespaces of their own: no box can be had without these walls."""
    words = ["unshare", "--net", "--ipc", "--uts", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "--"]
    words += [interpreter(), "-m", "sandbox.attacks.probes", *wanted]
    environment = {**GOALS, "PROBE_CONTROL": document(wanted), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    with _copied() as folder:
        environment["PYTHONPATH"] = str(folder.parents[2])
        done = subprocess.run(words, env=environment, capture_output=True, timeout=SECONDS, check=False, cwd="/")
    results = endings(done.stdout.decode(errors="replace"))
    return {name: results[name][0] if name in results else "missing" for name in wanted}


@contextmanager
def _copied() -> Iterator[Path]:
    """Copy the probes to a folder that may be written and that holds a pipe; it ends in the same names."""
    with tempfile.TemporaryDirectory(prefix="quarterturn-control-") as name:
        folder = Path(name) / "sandbox" / "attacks" / "probes"
        shutil.copytree(PROBES, folder, ignore=shutil.ignore_patterns("__pycache__"))
        os.mkfifo(folder / "pipe")
        for path in (Path(name), *Path(name).rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        yield folder
