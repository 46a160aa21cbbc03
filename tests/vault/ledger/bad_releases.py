"""Bad releases: what is wrong with each, how it is made, and the step or the rule of the audit that refuses it.

Most are played by an operator who holds the log's key and signs, binds and publishes them as the truth would be; some
are edits of a good release that anybody could make who passes it on.
"""

import json
import shutil
import tempfile
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from vault.ledger.release import contents
from vault.ledger.release.bundle import BundleContent
from vault.ledger.signatures.note import Signer
from vault.ledger.statements import leaf
from vault.ledger.statements.jcs import canonical
from vault.ledger.tree.tiles import pack_entries, unpack_entries

from ..builders import RELEASE, VECTORS, signer, turned
from .conftest import COHORTS, RETIRED, Month
from .freeze import GOOD, key_file

NEW = signer(7)
Files = dict[str, bytes]


@dataclass(frozen=True)
class BadRelease:
    """A bad release.

    Attributes:
        of: the good release whose keys an auditor has.
        why: the step or the rule that refuses it.
        play: makes it, in a month of its own.
        edit: changes a copy of the good release's folder instead.
    """

    of: str
    why: str
    play: Callable[[Month], Path] | None = None
    edit: Callable[[Path], object] | None = None


def edited(name: str, change: Callable[[list], object]) -> Callable[[Files], None]:
    """Edit the lines of a file, before the operator binds it as if it were true."""

    def edit(files: Files) -> None:
        rows = [json.loads(line) for line in files[name].splitlines()]
        files[name] = b"".join(canonical(row) + b"\n" for row in change(rows) or rows)

    return edit


def _bound(of: str, edit: Callable[[Files], object]) -> Callable[[Month], Path]:
    """Play the month of a good release, with files that are edited before they are bound."""
    return lambda month: GOOD[of](month).retire(edit=edit)


def _opened(of: str, **fields: Callable[[BundleContent], object]) -> Callable[[Month], Path]:
    """Play the month of a good release, and open something else."""
    return lambda month: GOOD[of](month).retire(
        lambda content: replace(content, **{name: field(content) for name, field in fields.items()})
    )


def _texts_swapped(content: BundleContent) -> list:
    first, second = content.tasks
    texts = [{**other.document, "id": task.document["id"]} for task, other in ((first, second), (second, first))]
    return [replace(task, document=text) for task, text in zip(content.tasks, texts, strict=True)]


def _salts_swapped(rows: list) -> None:
    rows[0]["salt"], rows[1]["salt"] = rows[1]["salt"], rows[0]["salt"]


def _decomposed(files: Files) -> None:
    text = files[contents.TASKS].decode()
    files[contents.TASKS] = unicodedata.normalize("NFD", text).encode()


def _rate(files: Files) -> None:
    files[contents.AGGREGATE] = files[contents.AGGREGATE].replace(b"0.5000", b"0.9000")


def _unclosed(month: Month) -> Path:
    month.play().open_run(3)
    return month.retire()


def _promise_changed(month: Month) -> Path:
    """State the next set with another order of a cohort that stays."""
    content = month.play().content()
    files = content.files()
    month.log_retirement(content, files)
    month.cohorts.pop(RETIRED)
    month.cohorts["cohort-2027-04"] = [month.invent(f"new {place}", place) for place in (0, 1)]
    month.commit(*month.cohorts["cohort-2027-04"])
    month.cohorts[COHORTS[1]].reverse()
    month.state_set("2027-01")
    folder = month.folder / RELEASE
    month.write(folder, files)
    return folder


def _leaves(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        (path,) = (folder / "log" / "tile" / "entries").rglob("*.p/*")
        path.write_bytes(pack_entries(change(unpack_entries(path.read_bytes(), int(path.name), "the leaves"))))

    return edit


def _file(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


def _signed_by_one(word: str) -> Callable[[Month], Path]:
    """Hand the log over with a signature of the key that `word` names, and the same again for the other."""

    def play(month: Month) -> Path:
        month.play_half()
        statement = json.loads(leaf.key(old=month.signer, new=NEW, size=len(month.leaves)))
        signatures = statement["predicate"]["signatures"]
        signatures.update(dict.fromkeys(signatures, signatures[word]))
        month.hand_over(NEW, canonical(statement), careless=True)
        month.open_run(2)
        month.abort(2)
        return month.retire()

    return play


def _new_key_too_early(month: Month) -> Path:
    old = month.play_half().signer
    month.sign_with(NEW, careless=True)
    month.open_run(2)
    month.open_run(3)  # under a head that the new key signed
    month.hand_over(NEW, leaf.key(old=old, new=NEW, size=len(month.leaves)), careless=True)
    month.abort(2)
    month.abort(3)
    return month.retire()


def _old_key_after(month: Month) -> Path:
    old = month.signer
    month.play_across(NEW).sign_with(old, careless=True)
    return month.retire()


def _key_of_another_log(month: Month) -> Path:
    names = [Signer("other.example/log", key.key) for key in (month.signer, NEW)]
    data = leaf.key(old=names[0], new=names[1], size=13)
    return month.play_across(NEW, data, careless=True).retire()


def _broken_and_counted(month: Month) -> Path:
    month.begin().open_run(1)
    gone = month.cohorts[RETIRED][0]
    before = {name: list(tasks) for name, tasks in month.cohorts.items()}
    month.withdraw(gone, month.spares[0], cause="broken")
    month.score(1, before)
    shown = {"task": gone, "solution": "reference", "calls": [], "answer": None, "state": {}, "verdict": False}

    def counted(files: Files) -> None:
        files[contents.AGGREGATE] = replace(month.content(), broken=[]).files()[contents.AGGREGATE]

    return month.retire(lambda content: replace(content, broken=[shown]), counted)


def _spot_check(**fields: object) -> Callable[[Month], Path]:
    def play(month: Month) -> Path:
        month.play_checked().check(**fields)
        return month.retire()

    return play


def _spot_check_hidden(month: Month) -> Path:
    month.play_checked().retirement = {}
    return month.retire()


BAD: Mapping[str, BadRelease] = {
    "swapped-tasks": BadRelease("good", "task.commitment", _opened("good", tasks=_texts_swapped)),
    "swapped-salts": BadRelease("good", "task.commitment", _bound("good", edited(contents.OPENINGS, _salts_swapped))),
    "tasks-in-another-order": BadRelease("good", "retire.tasks", _opened("good", tasks=lambda of: of.tasks[::-1])),
    "task-left-out": BadRelease("good", "retire.tasks", _opened("good", tasks=lambda of: of.tasks[:1])),
    "run-dropped": BadRelease("good", "opened.runs", _opened("good", runs=lambda of: of.runs[1:])),
    "altered-result": BadRelease(
        "good",
        "result.bound",
        _bound("good", edited(contents.RESULTS, lambda rows: rows[0]["result"].update(calls=1))),
    ),
    "altered-totals": BadRelease(
        "good", "result.totals", _bound("good", edited(contents.RUNS, lambda rows: rows[0]["totals"].update(passed=2)))
    ),
    "decomposed-letters": BadRelease("good", "task.commitment", _bound("good", _decomposed)),
    "altered-figures": BadRelease("good", "figures.files", _bound("good", _rate)),
    "unclosed-run": BadRelease("good", "retire.runs", _unclosed),
    "changed-promise": BadRelease("good", "set.live", _promise_changed),
    "reordered-leaves": BadRelease("good", "log.tiles", edit=_leaves(lambda leaves: [*leaves[1::-1], *leaves[2:]])),
    "missing-leaf": BadRelease("good", "root", edit=_leaves(lambda leaves: leaves[:-1])),
    "unlisted-file": BadRelease(
        "good", "file.listed", edit=lambda folder: shutil.copy(key_file("good"), folder / "log.vkey")
    ),
    "flipped-bit": BadRelease("good", "file.digest", edit=_file(contents.TASKS, lambda data: turned(data, 800))),
    "truncated": BadRelease("good", "file.digest", edit=_file(contents.RESULTS, lambda data: data[:-100])),
    "key-signed-by-the-new-one-alone": BadRelease("key-changed", "key.signatures", _signed_by_one("new")),
    "key-signed-by-the-old-one-alone": BadRelease("key-changed", "key.signatures", _signed_by_one("old")),
    "new-key-used-too-early": BadRelease("key-changed", "head.key", _new_key_too_early),
    "old-key-used-after": BadRelease("key-changed", "head.key", _old_key_after),
    "key-of-another-log": BadRelease("key-changed", "key.names", _key_of_another_log),
    "wrong-variant-key": BadRelease(
        "variants",
        "task.variant",
        _bound("variants", edited(contents.OPENINGS, lambda rows: rows[0].update(variant_key="33" * 32))),
    ),
    "refilled-out-of-turn": BadRelease(
        "withdrawn", "withdraw.refill", lambda month: month.play_withdrawing(refill=1).retire()
    ),
    "place-left-empty": BadRelease("withdrawn", "task.refill", lambda month: month.play_withdrawing(None).retire()),
    "withdrawn-and-not-opened": BadRelease("withdrawn", "task.lines", _opened("withdrawn", withdrawn=lambda of: [])),
    "broken-and-counted": BadRelease("withdrawn", "figures.files", _broken_and_counted),
    "spot-check-not-opened": BadRelease("spot-checked", "retire.spot_check", _spot_check_hidden),
    "spot-check-miscounted": BadRelease("spot-checked", "spot_check.chosen", _spot_check(chosen=0, judged=0)),
    "spot-check-with-another-seed": BadRelease("spot-checked", "retire.spot_check", _spot_check(seed="44" * 32)),
}


def bad_release(name: str, to: Path) -> tuple[Path, Path]:
    """Make a bad release in a folder that is not there yet; give it, and the file of the keys for its audit."""
    bad = BAD[name]
    if bad.edit:
        bad.edit(shutil.copytree(VECTORS / bad.of / RELEASE, to))
    elif bad.play:
        with tempfile.TemporaryDirectory() as folder:
            shutil.move(bad.play(Month(Path(folder))), to)
    return to, key_file(bad.of)
