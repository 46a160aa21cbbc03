"""`./run bench [--json] [--rounds N] [NAME...]`: runs the benchmarks and prints tables, or one JSON object.

`./run bench --outdated` measures nothing: it lists the documents' figures whose packages have changed since.

Exit codes: 0; 1 where what was to be measured did not do its work; 2 for a name that there is none of; 6 where
something that a bench needs is missing. What could be measured is printed all the same, and one sentence on standard
error says what could not.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Sequence

import provenance
from report import CAVEAT, Failed, Found, Missing, as_json, as_table, machine

from quarterturn.cli.terminal.exits import EXITS, INTERRUPTED, exit_code

QUICK = (
    *(
        "control",
        "sealing",
        "sampling",
        "duplicates",
        "predicates",
        "verdicts",
        "measures",
        "worlds",
        "ledger",
        "audit",
    ),
    *("verbs", "bwrap", "docker", "load", "spotcheck"),
)
ON_DEMAND = (
    "scans",
    "scale",
    "service",
    "queue",
    "tracing",
    "watch",
    "echoes",
    "anchors",
    "set",
    "chaos",
    "chaos-postgres",
)  # some take an hour and more
NAMES = QUICK + ON_DEMAND
MODULES = {
    "chaos-postgres": "chaos_postgres",
    "queue": "claims",
    "docker": "in_docker",
    "bwrap": "in_bwrap",
    "set": "whole_set",
}  # the others are called as their module is


def main(arguments: Sequence[str]) -> int:
    """Run the benches that were asked for, or all."""
    options = _options(arguments)
    if options.outdated:
        _print("\n".join(provenance.outdated()) or "no figure depends on what has changed since it was measured")
        return 0
    names = options.names or list(QUICK)
    if unknown := [name for name in names if name not in NAMES]:
        return _complain(f"there is no bench {unknown[0]!r}; there are {', '.join(NAMES)}", EXITS["malformed"])
    about, start, code = machine(), time.monotonic(), 0
    found: dict[str, Found] = {}
    lacking: dict[str, str] = {}
    for name in names:
        _say(f"measuring {name}")
        try:
            found[name] = importlib.import_module(MODULES.get(name, name)).bench(options.rounds)
        except Exception as error:
            lacking[name], code = str(error), _code(error)
        if name in found and not options.json:
            _print(as_table(name, found[name]))
    about["seconds"] = round(time.monotonic() - start)
    if options.json:
        benches = {name: as_json(seen) for name, seen in found.items()}
        data = {"machine": about, "caveat": CAVEAT, "benches": benches, "lacking": lacking}
        _print(json.dumps({"ok": not lacking, "data": data}, indent=1))
    else:
        _print(f"{CAVEAT}\n\n" + ", ".join(f"{name} {value}" for name, value in about.items()))
    for name, sentence in lacking.items():
        _complain(f"{name} was not measured: {sentence}", code)
    return code


def _code(error: Exception) -> int:
    """Return the exit code of an error that a bench may raise; any other error is raised again."""
    if isinstance(error, Missing):
        return EXITS["unavailable"]
    code = EXITS["no"] if isinstance(error, Failed) else exit_code(error)
    if code is None:
        raise error
    return code


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run bench", description="Measure ratios, side by side.")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"what to measure: {', '.join(NAMES)}; or all but {', '.join(ON_DEMAND)}",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--rounds",
        type=_rounds,
        default=0,
        metavar="N",
        help="play N rounds; N cases of each kind (tracing, watch, echoes, anchors); N cohorts (set)",
    )
    parser.add_argument(
        "--outdated",
        action="store_true",
        help="measure nothing; list the documents' figures whose packages have changed since they were measured",
    )
    return parser.parse_args(arguments)


def _rounds(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rounds; give 1 or more")
    return int(text)


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _say(text: str) -> None:
    sys.stderr.write(f"· {text}\n")
    sys.stderr.flush()


def _complain(sentence: str, code: int) -> int:
    sys.stderr.write(f"bench: {sentence}\n")
    return code


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(_complain("interrupted; start it again to measure anew", INTERRUPTED))
