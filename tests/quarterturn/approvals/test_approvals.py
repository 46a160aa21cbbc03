"""Tests of actions that need two maintainers: one is not enough, a signature counts once for one action."""

import json
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from sqlmodel import select

from quarterturn import settings
from quarterturn.app import Application
from quarterturn.approvals.request import STANDS, ApprovalRequest
from quarterturn.approvals.signatures import NAMESPACE
from quarterturn.approvals.tables import ApprovalRow
from quarterturn.cli.daily.approval import rules_lines
from quarterturn.cli.setup import home_checks
from quarterturn.errors import Malformed, NotAllowed, NotFound, Refused, Unapproved
from quarterturn.settings import ApprovalSettings, LedgerSettings
from quarterturn.wall_clock import now
from rotation.calendar import Month
from rotation.month.sets import DEMO
from vault.database import transaction
from vault.ledger.signatures import sshsig
from vault.task.lifecycle import TaskState

from ...ssh_keys import LOCKED, make_ssh_key
from ..children import Child, Gate
from ..conftest import Clock, configure

KEYS = {name: Ed25519PrivateKey.from_private_bytes(f"test-{name}".encode().ljust(32)) for name in ("ada", "bob", "cyd")}
STRANGER = Ed25519PrivateKey.from_private_bytes(b"test-eve".ljust(32))
ACTIONS = ("activate", "export", "policy", "withdraw")
FIRST = Month.parse("2026-11")
START = datetime(2026, 12, 1, 9, tzinfo=UTC)
EXPORT = ("export", "task t-x", {"state": "live"})


def lines(*names: str) -> dict[str, str]:
    return {name: f"{sshsig.public_line(KEYS[name].public_key().public_bytes_raw())} {name}@test" for name in names}


def guard(home: Path, *names: str, actions: tuple[str, ...] = ACTIONS) -> Path:
    """Write the rules that need two maintainers into a home's settings."""
    configure(home, approvals=ApprovalSettings.model_validate({"actions": actions, "maintainers": lines(*names)}))
    return home


@pytest.fixture
def opened(opened):
    """Open a home, as another process would, at a time that the test moves."""
    return lambda home, time=None: opened(home, time or Clock(START))


@pytest.fixture
def house(home, opened):
    return opened(guard(home, "ada", "bob", "cyd"))


def asked(house: Application, *what: object) -> ApprovalRequest:
    """Ask for an action that nobody has signed for, and give the request that this made."""
    with pytest.raises(Unapproved, match="takes 2 maintainers") as error:
        house.auth.approvals.require(*(what or EXPORT), who="ada")
    return house.auth.approvals.request(re.findall(r"request (\S+)", str(error.value))[0])


def sign(house: Application, one: ApprovalRequest, *names: str) -> None:
    for name in names:
        house.auth.approvals.sign(one.id, sshsig.sign(one.body, NAMESPACE, KEYS[name]))


# -- two sign, and once -----------------------------------------------------------------------------------------------


@pytest.mark.both_databases
def test_two_sign_and_then_it_is_done_once(house):
    one = asked(house)
    sign(house, one, "ada")
    assert asked(house).id == one.id, "whoever asked and signed is one, and one is not enough"
    sign(house, one, "bob")
    house.auth.approvals.require(*EXPORT, who="ada")
    assert asked(house).id != one.id, "it was used up"
    said = [(entry.who, entry.why) for entry in house.home.vault.access_log() if entry.what == f"approval/{one.id}"]
    words = "show in plain text: task t-x"
    assert said == [
        ("ada", f"ask: {words}"),
        ("ada", f"sign: {words}"),
        ("bob", f"sign: {words}"),
        ("ada", f"signed by ada, bob: {words}"),
    ]


def test_one_maintainer_who_asks_under_another_name_is_still_one(house):
    one = asked(house)
    sign(house, one, "bob")
    with pytest.raises(Refused, match=r"bob has signed request .* already; it takes 2 different maintainers"):
        sign(house, one, "bob")
    with pytest.raises(Unapproved, match="signed by bob"):
        house.auth.approvals.require(*EXPORT, who="somebody else")


@pytest.mark.parametrize(
    "what",
    [
        ("export", "task t-y", EXPORT[2]),
        ("withdraw", *EXPORT[1:]),
        (*EXPORT[:2], {"state": "reviewed"}),
        (*EXPORT[:2], EXPORT[2] | {"more": 1}),
    ],
)
def test_a_signature_for_one_action_is_worth_nothing_for_another(house, what):
    one = asked(house)
    sign(house, one, "ada", "bob")
    other = asked(house, *what)
    assert (other.id, other.signed_by) != (one.id, one.signed_by)
    for name in ("ada", "bob"):
        with pytest.raises(NotAllowed, match="no signature of a maintainer"):
            house.auth.approvals.sign(other.id, sshsig.sign(one.body, NAMESPACE, KEYS[name]))


def test_a_signature_that_says_something_else_is_not_kept(house):
    one = asked(house)
    for wrong in (
        sshsig.sign(one.body, "file", KEYS["ada"]),
        sshsig.sign(one.body, NAMESPACE, STRANGER),
        sshsig.sign(one.body + b"\n", NAMESPACE, KEYS["ada"]),
        "ssh-ed25519 AAAA",
    ):
        with pytest.raises(NotAllowed, match="nothing was kept"):
            house.auth.approvals.sign(one.id, wrong)
    assert house.auth.approvals.request(one.id).signed_by == ()


def test_a_row_that_was_changed_has_no_signatures(house):
    one = asked(house)
    sign(house, one, "ada", "bob")
    with transaction(house.home.engine) as session:
        session.exec(select(ApprovalRow)).one().asked_by = "bob"
    assert house.auth.approvals.request(one.id).signed_by == ()
    with pytest.raises(Unapproved):
        house.auth.approvals.require(*EXPORT)


def test_a_signed_request_cannot_be_made_to_stand_for_something_else(house):
    one = asked(house)
    other = asked(house, *EXPORT[:2], {"state": "reviewed"})
    sign(house, one, "ada", "bob")
    with transaction(house.home.engine) as session:
        rows = {row.id: row for row in session.exec(select(ApprovalRow)).all()}
        rows[one.id].digest, rows[other.id].digest = rows[other.id].digest, rows[one.id].digest
    assert asked(house, *EXPORT[:2], {"state": "reviewed"}).signed_by == ()


def test_a_request_expires(home, opened):
    time = Clock(START)
    house = opened(guard(home, "ada", "bob"), time)
    one = asked(house)
    sign(house, one, "ada", "bob")
    time.now += STANDS
    with pytest.raises(NotAllowed, match="is expired: whoever needs it asks again"):
        sign(house, one, "ada")
    assert asked(house).id != one.id


@pytest.mark.slow
def test_two_processes_use_one_approval_once(home, opened):
    house = opened(guard(home, "ada", "bob"), now)
    sign(house, asked(house), "ada", "bob")
    house.home.engine.dispose()
    with Gate() as ready, Gate() as begin:

        def use() -> None:
            own = Application(home, None)
            assert own.home.ring
            assert own.home.engine
            ready.open()
            begin.wait()
            own.auth.approvals.require(*EXPORT)

        both = [Child(use) for _ in range(2)]
        for _ in both:
            ready.wait()
        begin.open(2)
        said = [one() for one in both]
    assert sorted(one.code for one in said) == [0, 99]
    assert sum("Unapproved" in one.text for one in said) == 1


def test_an_action_without_a_rule_leaves_no_request(home, opened):
    house = opened(home)
    house.auth.approvals.require(*EXPORT)
    assert house.home.vault.access_log() == []
    assert home_checks.check(home)["approvals"].as_json() == {
        "ok": False,
        "level": "advice",
        "detail": "nothing takes two maintainers: one person may do everything",
        "mend": f"approvals.actions in {home}/quarterturn.toml (docs/how-to/two-people.md)",
    }


# -- the verbs --------------------------------------------------------------------------------------------------------


def key_file(folder: Path, name: str) -> Path:
    file = folder / name
    file.write_bytes(KEYS[name].private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    file.chmod(0o600)
    return file


@pytest.mark.needs("ssh-keygen")
def test_a_maintainer_signs_with_ssh_keygen_and_another_with_a_key_file(stocked, say, tmp_path):
    pair = tmp_path / "dan"
    make_ssh_key(pair, "dan")
    named = lines("ada", "bob") | {"dan": pair.with_suffix(".pub").read_text().strip()}
    configure(stocked, approvals=ApprovalSettings.model_validate({"actions": ACTIONS, "maintainers": named}))
    task = say("task", "list", "--home", stocked, "--json").data[0]["id"]
    show = ("task", "show", task, "--as", "dan", "--home", stocked)
    refused = say(*show)
    assert (refused.code, refused.out) == (4, "")
    assert "approval sign a-" in refused.sentence

    (request,) = say("approval", "list", "--home", stocked, "--json").data["requests"]
    told = say("approval", "show", request["id"], "--out", tmp_path / "asked", "--home", stocked).out
    assert f"Show in plain text: task {task}" in told
    assert "by dan" in told
    assert json.loads((tmp_path / "asked").read_bytes())["detail"] == request["detail"]
    command = ["ssh-keygen", "-q", "-Y", "sign", "-n", NAMESPACE, "-f", pair, tmp_path / "asked"]
    subprocess.run(command, check=True)
    signed = ("approval", "sign", request["id"], "--home", stocked)
    assert say(*signed, "--signature", tmp_path / "asked.sig").out.endswith("signed by dan\n")
    assert say(*signed, "--key", key_file(tmp_path, "bob")).out.endswith("signed by bob, dan\n")

    assert say(*show).code == 0
    assert say(*show).code == 4, "each time takes its own signatures"
    assert len(say("approval", "list", "--all", "--home", stocked, "--json").data["requests"]) == 2


@pytest.mark.slow
def test_errors_of_a_signer_are_named(house, say, tmp_path, dice):
    one = asked(house)
    sign = ("approval", "sign", one.id, "--home", house.home.folder)
    assert "give your --key, or a --signature" in say(*sign).sentence
    locked = tmp_path / "locked"
    locked.write_text(LOCKED)
    locked.chmod(0o600)
    assert (said := say(*sign, "--key", locked)).code == 2
    assert f"ssh-keygen -Y sign -n {NAMESPACE}" in said.sentence
    assert say(*sign, "--key", tmp_path / "none").code == 7
    (tmp_path / "noise").write_bytes(dice.randbytes(64))
    assert say(*sign, "--signature", tmp_path / "noise").code in {2, 4}
    assert say("approval", "show", "a-none", "--home", house.home.folder).code == 3
    with pytest.raises(NotFound, match="approval list"):
        house.auth.approvals.sign("a-none", "")
    with pytest.raises(Malformed, match="no canonical form"):
        house.auth.approvals.require("export", "x", {"at": START})


def test_reviewing_is_no_export_and_reading_what_is_live_is(stocked, say, opened):
    guard(stocked, "ada", "bob")
    house = opened(stocked)
    task = house.home.vault.records(TaskState.REVIEWED)[0].id
    with pytest.raises(Unapproved):
        house.tasks.reviews.open(task, "grace")
    assert say("task", "review", task, "--as", "grace", "--home", stocked).code == 4
    assert [entry.what for entry in house.home.vault.access_log() if entry.what.startswith("task/")] == []


# -- the turn ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_turn_waits_with_nothing_begun_and_then_goes(stocked, opened, say):
    house = opened(guard(stocked, "ada", "bob"), now)
    assert "2 maintainers must sign to begin the turn, once it is due." in house.month.preview.next().notes
    assert (said := say("turn", "run", "--home", stocked)).code == 4
    assert "begin the turn: turn 2026-11" in said.sentence
    assert house.benchmark.months.turns() == []
    (one,) = house.auth.approvals.requests()
    assert one.detail["retires"] is None
    assert {item["count"] for item in one.detail["enters"]} == {sum(DEMO.per_cohort.values())}
    sign(house, one, "ada")
    assert any("is signed by ada" in line for line in house.month.preview.plan().notes)
    sign(house, one, "bob")
    assert house.month.rotation.run(FIRST).finished
    says = house.log.ledger.leaf(house.log.ledger.find("set/2026-12"))
    assert all(item["root"].encode() in says for item in one.detail["enters"]), "what was signed is what is promised"


def test_an_interrupted_turn_is_resumed_under_the_same_signatures(stocked, opened, monkeypatch):
    time = Clock(START)
    house = opened(guard(stocked, "ada", "bob"), time)
    with pytest.raises(Unapproved):
        house.month.rotation.run(FIRST)
    sign(house, house.auth.approvals.requests()[0], "ada", "bob")
    monkeypatch.setattr(house.benchmark.months, "begin_turn", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        house.month.rotation.run(FIRST)  # killed between the use and the act
    time.now += 2 * STANDS
    again = opened(stocked, time)
    assert again.month.rotation.run(FIRST).finished
    assert len(again.auth.approvals.requests()) == 1


@pytest.mark.slow
def test_a_choice_that_became_another_one_is_asked_for_again(stocked, opened, stock):
    house = opened(guard(stocked, "ada", "bob"))
    with pytest.raises(Unapproved):
        house.month.rotation.run(FIRST)
    sign(house, house.auth.approvals.requests()[0], "ada", "bob")

    def more(step: str) -> None:
        if step == "publish":
            stock(opened(stocked), 3, first=50)

    with pytest.raises(Unapproved):
        house.month.rotation.run(FIRST, more)
    assert house.benchmark.months.turn(FIRST).done == ("stop", "close", "check", "retire", "publish")
    assert house.benchmark.months.cohorts() == []
    first, second = sorted(house.auth.approvals.requests(), key=lambda one: one.used_at is None)
    assert first.detail["enters"] != second.detail["enters"]
    sign(house, second, "ada", "bob")
    assert house.month.rotation.run(FIRST).finished


@pytest.mark.slow
def test_the_clock_says_that_it_waits_and_turns_once_they_have_signed(stocked, opened):
    house = opened(guard(stocked, "ada", "bob"), Clock(START))
    house.month.clock.look()
    (notice,) = house.month.outbox.posted()
    (one,) = house.auth.approvals.requests()
    assert notice.key.startswith("turn.overdue/2026-11/")
    with transaction(house.home.engine) as session:
        told = str(session.connection().exec_driver_sql("SELECT content FROM quarterturn_notice").all())
    assert one.id in told
    assert one.id in home_checks.check(stocked)["clock"].detail
    sign(house, one, "ada", "bob")
    house.month.clock.look()
    assert house.benchmark.months.turn(FIRST).finished


# -- the rules --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.both_databases
def test_changed_rules_are_refused_until_two_of_the_old_ones_sign(stocked, opened, say):
    house = opened(guard(stocked, "ada", "bob"))
    asked(house)
    guard(stocked, "cyd", "ada", actions=("export", "policy"))
    changed = opened(stocked)
    for refused in (lambda: changed.log.ledger, lambda: changed.auth.approvals.require(*EXPORT)):
        with pytest.raises(Unapproved, match="change the rules for two"):
            refused()
    for refused in (("turn", "plan"), ("serve", "--port", "0"), ("worker",)):
        assert say(*refused, "--home", stocked).code == 4
    assert "policy differ" in home_checks.check(stocked)["approvals"].detail
    listed = say("approval", "list", "--home", stocked)
    assert "2 of ada, bob sign for: activate, export, policy, withdraw" in listed.out
    (one,) = [one for one in changed.auth.approvals.requests() if one.action == "policy"]
    assert one.detail["after"]["actions"] == ["export", "policy"]
    with pytest.raises(NotAllowed):
        sign(changed, one, "cyd")
    sign(changed, one, "ada", "bob")
    assert changed.log.ledger.size == 0
    assert list(changed.auth.approvals.status().rules.actions) == ["export", "policy"]
    approval_request = asked(house)
    assert approval_request.rules == 2, "who was open before follows, too"
    with pytest.raises(NotAllowed):
        sign(changed, approval_request, "bob")
    sign(changed, approval_request, "ada", "cyd")
    changed.auth.approvals.require(*EXPORT)
    guard(stocked, "ada", "bob")
    assert asked(opened(stocked), *EXPORT).action == "policy", "back is a change, too"


def test_rules_cannot_be_taken_out_of_the_settings(home, opened):
    house = opened(guard(home, "ada", "bob"))
    asked(house)
    configure(home, approvals=ApprovalSettings())
    bare = opened(home)
    with pytest.raises(Unapproved, match="change the rules for two"):
        bare.auth.approvals.require(*EXPORT)
    (one,) = [one for one in bare.auth.approvals.requests() if one.action == "policy"]
    sign(bare, one, "ada", "bob")
    bare.auth.approvals.require(*EXPORT)
    assert rules_lines(bare.auth.approvals.status()) == ["nothing takes two maintainers: one person may do everything"]
    guard(home, "cyd", "bob")
    assert bare.auth.approvals.status().state == "proposed"
    one = asked(bare)
    assert (one.action, one.rules) == ("export", 3), "where nothing takes two, nobody is asked for new rules"


def test_the_witnesses_policy_is_one_of_the_rules(home, opened):
    (home / "policy").write_text("quorum none\n")
    configure(home, ledger=LedgerSettings(policy="policy"))
    house = opened(guard(home, "ada", "bob"))
    assert house.log.ledger.size == 0
    (home / "policy").write_text("# nobody\nquorum none\n")
    with pytest.raises(Unapproved):
        _ = opened(home).log.ledger
    (home / "policy").write_text("quorum none\n")
    assert opened(home).log.ledger.size == 0


def test_rules_that_were_written_into_the_database_are_refused(house):
    asked(house)
    with transaction(house.home.engine) as session:
        change = "UPDATE quarterturn_rules SET body = CAST(replace(body, 'ada', 'eve') AS BLOB)"
        session.connection().exec_driver_sql(change)
    with pytest.raises(Refused, match="rules 1 in the database were changed there"):
        house.auth.approvals.require(*EXPORT)


def test_rules_that_were_taken_out_of_the_database_are_missed(home, opened):
    house = opened(guard(home, "ada", "bob"))
    asked(house)
    with transaction(house.home.engine) as session:
        for table in ("quarterturn_approval", "quarterturn_rules"):
            session.connection().exec_driver_sql(f"DELETE FROM {table}")
    guard(home, "cyd", "bob")
    with pytest.raises(Refused, match="rules 1 were in force by the access log"):
        opened(home).auth.approvals.require(*EXPORT)


def test_a_request_under_old_rules_is_void_under_new_ones(home, opened):
    house = opened(guard(home, "ada", "bob"))
    old = asked(house)
    sign(house, old, "ada", "bob")
    guard(home, "ada", "bob", "cyd")
    changed = opened(home)
    sign(changed, asked(changed), "ada", "bob")
    assert asked(changed).id != old.id
    with pytest.raises(NotAllowed, match="was asked under other rules"):
        sign(changed, old, "ada")
    assert changed.auth.approvals.request(old.id).signed_by == ("ada", "bob"), "who had signed is still seen"


@pytest.mark.parametrize(
    ("actions", "named", "sentence"),
    [
        (["export"], lines("ada", "bob"), "policy belongs to the actions"),
        (["policy"], lines("ada"), "name two at least"),
        (["policy"], {"ada": lines("ada")["ada"], "bob": lines("ada")["ada"]}, "two maintainers have one key"),
        (["policy"], {"ada": "ssh-rsa AAAA"}, "is no key"),
        (["policy"], {"a b": lines("ada")["ada"]}, "approvals.maintainers"),
        (["exprot", "policy"], lines("ada", "bob"), "approvals.actions"),
    ],
)
def test_rules_that_one_person_could_meet_are_no_rules(actions, named, sentence):
    document = {"benchmark": {"first_month": "2026-12"}, "approvals": {"actions": actions, "maintainers": named}}
    with pytest.raises(Malformed, match=sentence):
        settings.parse(document, "test")
