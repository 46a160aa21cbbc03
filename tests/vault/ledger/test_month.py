"""Tests of a month's files: functions of the log and the key, and a key list that OpenSSH reads in any time zone."""

import subprocess
from datetime import UTC, datetime

import pytest

from vault.ledger.release import month as months
from vault.ledger.statements.jcs import parse_canonical
from vault.ledger.statements.statement import TYPE, LoggedStatement, Statement

from ..builders import edwards

KEY = edwards()
PUBLIC = KEY.public_key().public_bytes_raw()


@pytest.fixture
def turned(month):
    """Return a month that was retired, with the set that follows it."""
    month.play().retire()
    month.state_set("2027-01", month_key=PUBLIC)

    def entry(key):
        return LoggedStatement(month.index[key], Statement.parse(month.leaves[month.index[key]]))

    return months.MonthAttestation("2026-12", month.writer.note(), entry("set/2027-01"), entry("retire"))


def test_the_same_month_gives_the_same_files(turned):
    assert months.files(turned, KEY) == months.files(turned, KEY)
    assert set(months.files(turned, KEY)) == set(months.FILES)


@pytest.mark.parametrize(("promised", "due"), [("2027-01", "2027-02-01"), ("2026-12", "2027-01-01")])
def test_the_next_turn_is_due_when_its_month_is_over(month, promised, due):
    month.commit_all()
    month.state_set(promised, month_key=PUBLIC)
    index = month.index[f"set/{promised}"]
    first = months.MonthAttestation(
        "2026-11", month.writer.note(), LoggedStatement(index, Statement.parse(month.leaves[index])), None
    )
    says = parse_canonical(months.statement(first), "the statement")
    assert (says["_type"], len(says["subject"])) == (TYPE, 1)
    assert says["predicate"]["next"] == {"month": promised, "due": due}


@pytest.mark.needs("ssh-keygen")
@pytest.mark.parametrize("zone", ["UTC", "Etc/GMT+12", "Etc/GMT-14"])
def test_a_key_is_valid_on_the_day_of_its_first_turn_all_around_the_world(turned, tmp_path, zone):
    for name, data in months.files(turned, KEY).items():
        (tmp_path / name).write_bytes(data)
    listed = months.allowed_signers("bench.example/log", [(PUBLIC, datetime.now(UTC).date())])
    (tmp_path / "allowed_signers").write_text(listed)
    command = ["ssh-keygen", "-Y", "verify", "-f", "allowed_signers", "-I", "bench.example/log"]
    command += ["-n", months.NAMESPACE, "-s", months.SIGNATURE]
    with (tmp_path / months.CHECKPOINT).open("rb") as head:
        said = subprocess.run(command, cwd=tmp_path, stdin=head, env={"TZ": zone}, capture_output=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
