"""Checks of a home for `doctor`: each opens the home by itself, so that one that fails hides no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

from quarterturn.app import Application
from quarterturn.cli.daily import leaderboard_text
from quarterturn.cli.daily.approval import rules_lines
from quarterturn.cli.setup.check_result import CheckResult, advice, ok, wrong
from quarterturn.cli.terminal.secrets import PASSPHRASE
from quarterturn.errors import ApplicationError, home_option
from quarterturn.home import policies
from quarterturn.home.paths import HomePaths
from quarterturn.keys import key_locks
from quarterturn.month.turn_preview import NextTurn
from vault.errors import Locked, VaultError, kind_of, reason_and_step
from vault.keys.unlocking import protected
from vault.ledger.tree.tiles import HEAD

LOCKED = f"put the key ring's passphrase into {PASSPHRASE}, and its file back if that is missing"
Check = Callable[[Application], CheckResult]


def check(folder: Path, database: str | None = None, passphrase: bytes | None = None) -> dict[str, CheckResult]:
    """Check a home; where there is none, that is the one finding.

    `database` is an address that wins over the home's settings, or None; without the passphrase less can be said.
    """
    chosen = CHECKS if HomePaths(folder).settings.is_file() else {"home": home}
    return {name: _opened(folder, database, passphrase, look) for name, look in chosen.items()}


def _opened(folder: Path, database: str | None, passphrase: bytes | None, look: Check) -> CheckResult:
    """Look at an open home; where it cannot be opened, that is what is found."""
    try:
        app = Application(folder, passphrase, database=database)
        try:
            return look(app)
        finally:
            app.close()
    except (ApplicationError, VaultError) as error:
        return _failed(folder, error)
    except OSError as error:
        return wrong(f"{error.filename or folder}: {reason_and_step(error)}", f"the mode or the disk of {folder}")


def _failed(folder: Path, error: Exception) -> CheckResult:
    """Say what keeps a home from being looked at."""
    places, sentence = HomePaths(folder), str(error)
    if not places.settings.is_file():
        return advice(sentence, "--home FOLDER" if folder.is_file() else f"quarterturn init {home_option(folder)}")
    mends = {
        "locked": LOCKED,
        "malformed": f"correct {places.settings}",
        "not-found": "put the file back, or quarterturn restore BACKUP --home NEW",
        "refused": "the version of quarterturn, or the database, that belongs to this home",
        "unavailable": f"database.url in {places.settings}, or start what does not answer",
    }
    level = advice if kind_of(error) == "locked" and places.ring.is_file() else wrong
    return level(sentence, mends.get(str(kind_of(error)), f"quarterturn log fsck {home_option(folder)}"))


def home(app: Application) -> CheckResult:
    """Say which home it is, and what the scores of its live tasks are worth."""
    benchmark, caveats = (
        app.home.settings.benchmark,
        [
            *leaderboard_text.public_grammar(app.runs.caveats.public_cohorts()),
            *leaderboard_text.untraceable(app.runs.caveats.untraceable()),
        ],
    )
    summary = f"{app.home.folder}, set '{benchmark.set}', first month {benchmark.first_month}"
    return ok("; ".join([summary, *caveats]))


def keys(app: Application) -> CheckResult:
    """Say which locks there are, and where a single lock opens the home or nothing protects it."""
    locks, ring = key_locks.locks_of(app.home.places), app.home.places.ring
    if not protected(ring):
        return advice(
            f"whoever can read {ring} has all keys",
            f"quarterturn keys add passphrase --as NAME {home_option(app.home.folder)}",
        )
    sentence = f"the key ring opens with {' or '.join(lock['name'] for lock in locks)}"
    if len(locks) == 1 and locks[0]["kind"] != "custodians":
        return advice(
            f"{sentence} alone; nobody else can open this home",
            "quarterturn keys add, another lock, or quarterturn keys split, among custodians "
            f"({home_option(app.home.folder)})",
        )
    return ok(sentence)


def witnesses(app: Application) -> CheckResult:
    """Say who cosigns the log, and whether they did."""
    if app.log.policy is None:
        return advice(
            "nobody cosigns the log: order and time are the operator's word",
            f"ledger.policy in {app.home.places.settings}, a file that names witnesses (docs/how-to/run-a-witness.md)",
        )
    quorum, path = app.log.policy.quorum, app.home.places.log / HEAD
    if not path.exists():
        return ok(f"the quorum '{quorum}' has to cosign the log's first head")
    if names := policies.cosigners(app.log.policy, path.read_bytes()):
        return ok(f"the log's head is cosigned by {', '.join(names)}")
    is_turning = app.benchmark.calendar.begun(app.benchmark.calendar.next()[0])
    command = f"quarterturn turn run {home_option(app.home.folder)}" if is_turning else "the command that was refused"
    return wrong(
        f"the log's head waits for the quorum '{quorum}', and nothing goes live before it has cosigned",
        f"{command}, which asks again and names the witnesses that do not answer",
    )


def approvals(app: Application) -> CheckResult:
    """Say what takes two maintainers, and whether the settings say the same."""
    status = app.auth.approvals.status()
    sentence, listed = "; ".join(rules_lines(status)), f"quarterturn approval list {home_option(app.home.folder)}"
    if status.state == "changed":
        return wrong(sentence, listed)
    if status.state == "proposed":
        return advice(sentence, listed)
    if not status.rules.actions:
        return advice(sentence, f"approvals.actions in {app.home.places.settings} (docs/how-to/two-people.md)")
    return ok(sentence)


def clock(app: Application) -> CheckResult:
    """Say when the next turn is due, what it lacks, and which notices were not delivered."""
    month, due = app.benchmark.calendar.next()
    now, made = app.home.now(), app.benchmark.calendar.made()
    if made and now < made[-1].started_at:
        return wrong(
            f"this machine's clock says {now:%Y-%m-%d %H:%M} UTC, and the turn of {made[-1].month} was made at "
            f"{made[-1].started_at:%Y-%m-%d %H:%M}: one of the two times is wrong",
            "set the clock (timedatectl set-ntp true) before anything is written to the log",
        )
    coming, first = app.month.clock.coming(), not made
    is_due, soon = now >= due, now >= due - timedelta(days=app.home.settings.clock.remind_days)
    if first and is_due:
        sentences = ["the first set is due: no turn was made yet, so no task is live"]
    else:
        sentences = [f"the turn of {month} {'is overdue since' if is_due else 'is due on'} {due:%Y-%m-%d at %H:%M} UTC"]
    sentences += [*coming.lacks, *coming.notes] or ["Nothing is missing for it"]
    failed = [notice for notice in app.month.outbox.posted() if notice.error and not notice.sent]
    if failed:
        last, rest = failed[-1], "it was given up" if failed[-1].given_up else "it will be tried again"
        sentences.append(f"The notice {last.key} was not delivered by {last.channel} ({last.error}); {rest}")
    detail = ". ".join(sentence.rstrip(".") for sentence in sentences)
    if is_due:
        return (advice if first else wrong)(detail, _next_step(app, coming, first=first))
    if soon and coming.lacks:
        return advice(detail, _next_step(app, coming, first=first))
    return advice(detail, f"[notify] in {app.home.places.settings}") if failed else ok(detail)


def _next_step(app: Application, coming: NextTurn, *, first: bool) -> str:
    """Return the command that the next turn waits for."""
    where = f"{home_option(app.home.folder)}"
    if not coming.lacks:
        run = f"quarterturn turn run {where}"
        return run if first else f"{run}, and check that `quarterturn serve` runs, without --no-clock"
    try:
        waiting = app.tasks.reviews.waiting()
    except Locked:
        return LOCKED
    return f"quarterturn task {'review' if waiting else 'admit'} --as NAME {where}"


def public_view(app: Application) -> CheckResult:
    """Say which public files are not what the home's rows say."""
    try:
        behind = app.submissions.view.behind() if app.home.places.view.is_dir() else []
    except Locked:
        return ok("not compared: the key ring is locked")
    if not behind:
        return ok("current, as far as it was written")
    return wrong(
        f"behind: {', '.join(behind)}",
        f"quarterturn serve {home_option(app.home.folder)}, which writes it when it starts; its log says what failed",
    )


CHECKS: Mapping[str, Check] = {
    "home": home,
    "keys": keys,
    "witnesses": witnesses,
    "approvals": approvals,
    "clock": clock,
    "public view": public_view,
}
