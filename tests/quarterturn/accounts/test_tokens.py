"""Tests of API tokens: their form, what they open, and that none is stored."""

import random
import zlib
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from quarterturn.accounts import tokens
from quarterturn.accounts.roles import ROLES
from quarterturn.accounts.store import Accounts
from quarterturn.errors import Malformed, NotFound
from sandbox.errors import Malformed as NoName

NOW = datetime(2026, 12, 5, 10, tzinfo=UTC)


@pytest.fixture
def accounts(home, clock, opened):
    return Accounts(opened(home).home.engine, clock)


def test_a_token_tells_scanners_what_it_is():
    token = tokens.mint(random.Random(1).choice)
    assert token == tokens.mint(random.Random(1).choice)
    assert token.startswith("qt_")
    assert len(token) == 39
    assert tokens.well_formed(token)


def test_the_checksum_is_the_crc_of_the_random_part_in_base_62():
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    for seed in range(50):
        token = tokens.mint(random.Random(seed).choice)
        value = 0
        for digit in token[-6:]:
            value = value * 62 + digits.index(digit)
        assert value == zlib.crc32(token[3:33].encode())


def test_one_wrong_character_is_noticed_without_asking_anybody():
    token = tokens.mint()
    for place in range(len(token)):
        other = "x" if token[place] != "x" else "y"
        assert not tokens.well_formed(token[:place] + other + token[place + 1 :])
    assert not tokens.well_formed(token + "\n")
    assert not tokens.well_formed("")


def test_a_token_opens_until_it_expires(accounts, clock):
    token, made = accounts.create("ada", "submitter", days=2)
    assert accounts.caller(token).account == "ada"
    assert made.expires_at == NOW + timedelta(days=2)
    clock.now += timedelta(days=2)
    assert accounts.caller(token) is None


def test_a_revoked_token_opens_nothing_from_then_on(accounts):
    token, made = accounts.create("ada", "submitter")
    other, _ = accounts.create("ada", "submitter")
    assert accounts.revoke(made.id).revoked_at == NOW
    assert accounts.caller(token) is None
    assert accounts.caller(other) is not None
    with pytest.raises(NotFound):
        accounts.revoke(99)


def test_no_token_is_kept(accounts, home):
    token, _ = accounts.create("ada", "maintainer")
    accounts.caller(token)
    with accounts._engine.connect() as connection:
        connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
    kept = b"".join(path.read_bytes() for path in home.glob("quarterturn.db*"))
    assert tokens.digest(token).encode() in kept
    assert token.encode() not in kept
    assert token[3:33].encode() not in kept


def test_a_token_has_its_roles_scopes_or_fewer(accounts):
    _, whole = accounts.create("ada", "reviewer")
    token, less = accounts.create("ada", "maintainer", scopes=["metrics:read"])
    assert set(whole.scopes) == ROLES["reviewer"]
    assert less.scopes == ("metrics:read",)
    assert accounts.caller(token).scopes == {"metrics:read"}
    with pytest.raises(Malformed, match="no scope 'admin', only submit"):
        accounts.create("ada", "submitter", scopes=["admin"])


@pytest.mark.parametrize("name", ["", "Ada", "-ada", "a" * 41, "a b", "ada\n"])
def test_an_account_is_a_pseudonym(accounts, name):
    with pytest.raises(NoName):
        accounts.create(name, "submitter")


@pytest.mark.parametrize("days", [0, -1, 367])
def test_no_token_lasts_for_ever(accounts, days):
    with pytest.raises(Malformed, match="1 to 366 days"):
        accounts.create("ada", "submitter", days=days)


def test_use_is_written_down_to_the_hour(accounts, clock):
    token, _ = accounts.create("ada", "submitter")
    accounts.caller(token)
    clock.now += timedelta(minutes=30)
    accounts.caller(token)
    assert accounts.list()[0].used_at == NOW
    clock.now += timedelta(minutes=31)
    accounts.caller(token)
    assert accounts.list()[0].used_at == clock.now


def test_linked_accounts_are_one_submitter(accounts):
    first, _ = accounts.create("ada", "submitter")
    second, _ = accounts.create("countess", "submitter")
    accounts.link("countess", "ada")
    assert accounts.caller(second).party == accounts.caller(first).party == "ada"
    with pytest.raises(NotFound, match="no account 'bob'"):
        accounts.link("ada", "bob")


def test_the_command_line_shows_a_token_once(say, home):
    made = say("token", "create", "ada", "--role", "submitter", "--home", home, "--json")
    kept = made.data
    token = kept.pop("token")
    assert tokens.well_formed(token)
    listed = say("token", "list", "--home", home, "--json")
    assert listed.data == [kept]
    assert token not in listed.out
    assert say("token", "revoke", made.data["id"], "--home", home).code == 0
    assert "revoked" in say("token", "list", "--home", home).out


def test_for_people_the_token_is_all_of_standard_output(say, home):
    said = say("token", "create", "ada", "--role", "auditor", "--home", home)
    assert tokens.well_formed(said.out.strip())
    assert "auditor: findings:read" in said.err
