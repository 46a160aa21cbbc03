"""Tests that no mutated line of a release passes, and that each refusal carries evidence.

Flipped bits and cut files are in `test_verify.py`, each bit of a head in `test_note.py`.
"""

import random
import shutil
from copy import copy

import pytest

from vault.errors import VaultError
from vault.ledger.audit.audit_state import AuditState
from vault.ledger.audit.report import AuditReport, Step
from vault.ledger.audit.verify import STEPS
from vault.ledger.release import contents
from vault.ledger.signatures.policy import Policy
from vault.ledger.statements.leaf import sha256_hex

from ..builders import RELEASE, VECTORS, carries_evidence

KEY = (VECTORS / "log.vkey").read_text()
ON_STEPS = list(STEPS)
READ_IN = {"tasks.jsonl": "tasks", "openings.jsonl": "tasks", "runs.jsonl": "runs", "results.jsonl": "results"}


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(VECTORS / "good" / RELEASE, tmp_path / "bundle")


def case_before(folder, step):
    """Return an audit that has reached a step."""
    case = AuditState(folder, [KEY], None, Policy())
    for name in ON_STEPS[: ON_STEPS.index(step)]:
        STEPS[name](case)
    return case


def refusal(case, *steps):
    """Return the error with which one of these steps refuses, or None; the case stays as it is."""
    case = copy(case)
    try:
        for step in steps:
            STEPS[step](case)
    except VaultError as error:
        return error
    return None


def put(path, data):
    """Overwrite a file in place: a file that is truncated first is flushed to the disk each time."""
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()


@pytest.mark.slow
@pytest.mark.parametrize("number", [500, pytest.param(9_500, marks=pytest.mark.exhaustive)])
def test_ten_thousand_mutations_of_lines_are_refused_with_a_sentence(folder, number):
    """The operator binds each of them: the manifest's and the log's digests are taken as right."""
    draw = random.Random(number)
    cases = {step: case_before(folder, step) for step in {*READ_IN.values(), "figures"}}
    whole = {name: (folder / name).read_bytes() for name in contents.ALWAYS}
    for _ in range(number):
        name = draw.choice(contents.ALWAYS)
        data = bytearray(whole[name])
        for _ in range(draw.randint(1, 3)):
            place = draw.randrange(len(data))
            data[place : place + draw.randint(0, 2)] = bytes(draw.choices(b'{}[],:"0189-.eE\\u \n\xff', k=2))
        if data == whole[name]:
            continue
        put(folder / name, data)
        step = READ_IN.get(name, "figures")
        listed = cases[step].bundle.manifest["files"]
        kept, listed[name] = listed[name], {"bytes": len(data), "sha256": sha256_hex(data)}
        error = refusal(cases[step], *ON_STEPS[ON_STEPS.index(step) : ON_STEPS.index("consistency")])
        assert error, (name, bytes(data))
        assert carries_evidence(error), (error, error.evidence)
        put(folder / name, whole[name])
        listed[name] = kept
    for step, case in cases.items():
        assert not refusal(case, *ON_STEPS[ON_STEPS.index(step) :])


def test_a_name_in_a_release_writes_no_line_of_the_report():
    report = AuditReport([Step(1, "files", "proved", "run 1 is one of a\nyes\n\x1b[2J")])
    assert list(report.lines())[1:3] == [r"    run 1 is one of a\nyes\n\x1b[2J", "yes"]
