"""Differential test of the three auditors: the command, the single file and the page say the same of every input.

Compared are the exit code and the whole JSON report. The page has no policy, accepts no doubt, and words in its own way
what is no rule of the log; it is asked what it can be asked, in one process for all cases.
"""

import base64
import importlib.util
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from vault.ledger import browser
from vault.ledger.signatures.note import Signer
from vault.ledger.statements.jcs import canonical
from vault.ledger.tree.merkle import MerkleTree, consistency_proof, leaf_hash, node_hash

from ...browser.releases import PLAYS, released
from ...sampling import sample
from ...vault.builders import RELEASE, VECTORS, said_by_the_page, signer
from ...vault.ledger.conftest import ORIGIN, RETIRED, Month
from ...vault.ledger.freeze import key_file
from ...vault.ledger.lies import LIES, edited
from ..conftest import Say

pytestmark = pytest.mark.slow

ROOT = next(parent for parent in Path(__file__).parents if (parent / "pyproject.toml").is_file())
NODE = Path(sys.prefix, "world", "node", "bin", "node")
EXAMPLE = "Historical-2025-12"
ALONE = ("cryptography", "cryptography.exceptions")


@dataclass(frozen=True)
class Given:
    """What an auditor is given: the release, and files from elsewhere.

    Attributes:
        options: for the command and the file alone, such as a policy; the page is not asked then.
    """

    release: Path
    keys: Sequence[Path]
    previous: Path | None = None
    consistency: Path | None = None
    evidence: Sequence[Path] = ()
    options: Sequence[object] = ()

    def words(self) -> list[str]:
        words: list[object] = [self.release, "--json", *self.options]
        for key in self.keys:
            words += ["--key", key]
        for name in ("previous", "consistency"):
            words += [f"--{name}", getattr(self, name)] if getattr(self, name) else []
        for path in self.evidence:
            words += ["--evidence", path]
        return [str(word) for word in words]

    def as_json(self) -> str:
        names = ("release", "keys", "previous", "consistency", "evidence")
        return json.dumps({name: getattr(self, name) for name in names}, default=str)


@dataclass(frozen=True)
class Outcome:
    code: int
    report: Mapping[str, Any] | None


Ask = Callable[[Given], Outcome]


@pytest.fixture(scope="session")
def file() -> Ask:
    """Run the single file in this process, as on a machine that has only Python."""
    spec = importlib.util.spec_from_file_location("audit_alone", ROOT / "docs" / "audit.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "audit_alone", module)
        for name in ALONE:
            patch.setitem(sys.modules, name, None)
        spec.loader.exec_module(module)

    def ask(given: Given) -> Outcome:
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()):
            try:
                code = module.main(given.words())
            except SystemExit as exit_:
                code = int(str(exit_.code))
        return Outcome(code, json.loads(out.getvalue()) if out.getvalue() else None)

    return ask


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Run the page's scripts in one process for all cases."""
    library = tmp_path_factory.mktemp("page") / "library.js"
    library.write_text(browser.library())
    command = [NODE, Path(__file__).with_name("page.mjs"), library]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        stdin, stdout = process.stdin, process.stdout

        def ask(given: Given) -> Outcome:
            print(given.as_json(), file=stdin, flush=True)
            return Outcome(**json.loads(stdout.readline()))

        yield ask
        stdin.close()


@pytest.fixture
def agreed(say: Say, file: Ask, page: Ask) -> Ask:
    """Return a function that asks all three, requires that they agree, and returns the outcome."""

    def ask(given: Given) -> Outcome:
        said = say("audit", *given.words())
        outcome = Outcome(said.code, said.data if said.out else None)
        assert file(given) == outcome
        if "ok" in outcome.report:
            assert (outcome.code == 0) == outcome.report["ok"] == said.object["ok"]
        if not given.options and given.release.exists() and all(map(Path.is_file, (*given.keys, *given.evidence))):
            there = page(given)
            assert there.code == outcome.code
            if there.report:
                assert said_by_the_page(there.report) == said_by_the_page(outcome.report)
        return outcome

    return ask


@pytest.fixture
def month(tmp_path: Path) -> Month:
    return Month(tmp_path)


def written(folder: Path, name: str, data: str | bytes) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
    return folder / name


def keys_of(month: Month, folder: Path) -> list[Path]:
    return [written(folder, "log.vkey", "".join(f"{key}\n" for key in month.keys))]


# -- releases


@pytest.mark.parametrize("name", PLAYS)
def test_honest_releases(agreed, name, tmp_path):
    release, keys = released(name, tmp_path)
    given = Given(release, [written(tmp_path / "given", "log.vkey", "".join(f"{key}\n" for key in keys))])
    outcome = agreed(given)
    doubts = [doubt["rule"] for doubt in outcome.report["doubts"]]
    assert (outcome.report["failed"], outcome.code) == (None, int(bool(doubts)))
    assert doubts == DOUBTS.get(name, [])
    accepted = [word for number in range(len(doubts)) for word in ("--accept", number + 1)]
    assert agreed(replace(given, options=accepted)).code == 0
    assert agreed(replace(given, options=[*accepted, "--accept", 99])).code == 2


DOUBTS = {
    "withdrawn": ["doubt.share"],
    "emptied": ["doubt.share"],
    "differing": ["doubt.differed"],
    "turns": ["doubt.share", *["doubt.withdrawn"] * 3],
}


@pytest.mark.parametrize(("release", "answer"), [(EXAMPLE, "yes"), (f"tampered/{EXAMPLE}", "no")])
def test_the_example(agreed, release, answer):
    folder = ROOT / "examples" / "release"
    given = Given(folder / release, [folder / "log.vkey"], previous=folder / "older-checkpoint")
    assert agreed(given).report["answer"] == answer


FIRST_OF_EACH_RULE = {lie.rule: name for name, lie in reversed(LIES.items())}.values()
"""Lies that are told to all three auditors; that ours finds every one is in `vault/ledger`."""


@pytest.mark.parametrize("name", sample(LIES, keep=FIRST_OF_EACH_RULE))
def test_lies(agreed, month, name, tmp_path):
    lie, folder = LIES[name], tmp_path / "given"
    given = Given(lie.play(month), keys_of(month, folder))
    if lie.policy:
        agreed(given)
        given = replace(given, options=["--policy", written(folder, "policy", lie.policy)])
    assert agreed(given).report["answer"] in {"no", "yes with doubts"}


@pytest.mark.parametrize("name", ["tasks.jsonl", "log/checkpoint", "log/tile/entries/000.p/16", "log/checkpoints/11"])
def test_a_file_that_is_missing_or_cut_short(agreed, name, tmp_path):
    release = Path(shutil.copytree(VECTORS / "good" / RELEASE, tmp_path / RELEASE))
    data = (release / name).read_bytes()
    (release / name).write_bytes(data[:-1])
    assert agreed(Given(release, [key_file("good")])).report["answer"] == "no"
    (release / name).unlink()
    assert agreed(Given(release, [key_file("good")])).report["answer"] == "no"


def test_a_sparse_file_of_a_terabyte(agreed, tmp_path):
    release = Path(shutil.copytree(VECTORS / "good" / RELEASE, tmp_path / RELEASE))
    with (release / "results.jsonl").open("ab") as results:
        results.truncate(1 << 40)
    assert agreed(Given(release, [key_file("good")])).report["failed"] == 1


def test_what_is_no_release(agreed, tmp_path):
    (tmp_path / "empty").mkdir()
    example = ROOT / "examples" / "release"
    for folder in (tmp_path / "nowhere", tmp_path / "empty", example, ROOT / "examples", VECTORS / "good"):
        outcome = agreed(Given(folder, [key_file("good")]))
        words = "no release folder"
        assert (outcome.code, words in outcome.report["error"]) == (3, True)
    words = "is no release folder: there is no manifest.json in it; name one Historical-YYYY-MM"
    assert words in agreed(Given(example, [key_file("good")])).report["error"]


def test_what_is_given_beside_the_release_and_cannot_be_used(agreed, tmp_path):
    release, key = VECTORS / "good" / RELEASE, key_file("good")
    good = Given(release, [key])
    nonsense, empty = written(tmp_path, "nonsense", "nonsense\n"), written(tmp_path, "empty", "")
    binary = written(tmp_path, "binary", b"\xff\xfe")
    for given in (
        *(replace(good, keys=[path]) for path in (nonsense, empty, binary, VECTORS / "older-checkpoint")),
        *(replace(good, previous=path) for path in (nonsense, empty, binary, key)),
        *(replace(good, consistency=path) for path in (nonsense, empty, binary, written(tmp_path, "list", "[]"))),
        replace(good, consistency=written(tmp_path, "text", '{"proof":["no base64"]}')),
        replace(good, evidence=[empty]),
        *(replace(good, options=["--policy", path]) for path in (nonsense, empty, binary, key)),
    ):
        assert agreed(given).code == 2, given
    none = tmp_path / "none"
    missing = [replace(good, options=[f"--{name}", none]) for name in ("policy", "previous", "consistency")]
    for given in (
        *(replace(good, keys=[path]) for path in (none, key / "below", tmp_path)),
        *missing,
        replace(good, evidence=[none]),
    ):
        assert agreed(given).code == 3, given
    assert agreed(replace(good, keys=[key_file("key-changed"), key])).report["ok"]


@pytest.mark.parametrize(
    ("error", "code"),
    [(PermissionError(13, "Permission denied"), 6), (KeyboardInterrupt(), 130)],
    ids=["denied", "stopped"],
)
def test_a_file_that_may_not_be_read_and_an_interrupt(say, file, error, code, monkeypatch):
    given = Given(VECTORS / "good" / RELEASE, [key_file("good")])

    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(Path, "read_bytes", refuse)
    said, outcome = say("audit", *given.words()), file(given)
    assert (said.code, outcome.code, said.data["exit"], outcome.report["exit"]) == (code,) * 4


# -- bytes that languages read differently

TEXTS: Mapping[str, tuple[str, Callable[[bytes], bytes], int]] = {
    "a key with a byte order mark": ("keys", lambda key: "\ufeff".encode() + key, 2),
    "a key with the line ends of Windows": ("keys", lambda key: key.replace(b"\n", b"\r\n"), 0),
    "keys with the line ends of old Macs": ("keys", lambda key: key.strip() + b"\r" + key, 2),
    "a key with a NEL": ("keys", lambda key: key.strip() + "\x85".encode(), 2),
    "a key with a separator": ("keys", lambda key: key.strip() + b"\x1c", 2),
    "a key with a no-break space": ("keys", lambda key: "\xa0".encode() + key, 2),
    "a key between spaces": ("keys", lambda key: b"\t " + key + b" \n", 0),
    "a head with the line ends of Windows": ("previous", lambda head: head.replace(b"\n", b"\r\n"), 2),
    "a head with one such line end": ("previous", lambda head: head[:-1] + b"\r\n", 2),
    "a head with the line ends of old Macs": ("previous", lambda head: head.replace(b"\n", b"\r"), 2),
    "a head with a signature that is none": ("previous", lambda head: head + "\u2014 w AAAA\n".encode(), 2),
    "a head signed by a NEL": ("previous", lambda head: head + "\u2014 w\x85 AAAAAAA=\n".encode(), 2),
    "a proof that stands twice": ("consistency", lambda _: b'{"proof":["AAAA"],"proof":[]}', 2),
    "a name that looks like two": ("consistency", lambda _: rb'{"a":["\"b\":",":"],"proof":[]}', 0),
    "a proof below a prototype": ("consistency", lambda _: b'{"__proto__":{"proof":[]}}', 2),
    "a proof beside 10^20": ("consistency", lambda _: b'{"old":1e20,"proof":[]}', 2),
    "a proof beside 10^21": ("consistency", lambda _: b'{"old":1e21,"proof":[]}', 0),
    "a proof at a depth": ("consistency", lambda _: b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b',"proof":[]}', 2),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_bytes_of_what_is_given_are_read_alike(agreed, name, tmp_path):
    option, change, code = TEXTS[name]
    release, key = VECTORS / "good" / RELEASE, key_file("good")
    data = (release / "log" / "checkpoint" if option == "previous" else key).read_bytes()
    path = written(tmp_path, "given", change(data))
    assert agreed(replace(Given(release, [key]), **{option: [path] if option == "keys" else path})).code == code


@pytest.mark.parametrize(
    "name", ["o'neil", 'a"b', "a\\b", "é", "\x7f", "\x9b", "\u200b", "\u202e", "\ufeff", "\U000e0001"]
)
def test_strangers_under_a_head_are_named_alike_and_visibly(agreed, name, tmp_path):
    release = Path(shutil.copytree(VECTORS / "good" / RELEASE, tmp_path / RELEASE))
    with (release / "log" / "checkpoint").open("ab") as head:
        head.write(f"\u2014 {name} AAAAAAA=\n".encode())
    proved = agreed(Given(release, [key_file("good")])).report["steps"][1]["proved"]
    assert f"signatures by {json.dumps(name)} were" in proved


def _added(*names: str) -> Callable[[Path], object]:
    def add(release: Path) -> None:
        for name in names:
            (release / name).parent.mkdir(exist_ok=True)
            shutil.copy(release / "log" / "checkpoints" / "11", release / name)

    return add


ODD_FILES: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "beyond the first plane": (_added("\uffff", "\U0001f600"), "file.listed"),
    "in the log": (_added("log/\uffff", "log/\U0001f600"), "file.listed"),
    "in other letters": (_added("Tasks.jsonl"), "file.listed"),
    "of a prototype": (_added("constructor", "log/constructor"), "file.listed"),
    "a head of another size": (_added("log/checkpoints/7"), "checkpoint.root"),
    "a head of a padded size": (_added("log/checkpoints/011"), "checkpoint.root"),
    "heads of odd names": (_added("log/checkpoints/\uffff\uffff", "log/checkpoints/\U0001f600x"), "checkpoint.root"),
    "a head in a folder": (_added("log/checkpoints/11x/11"), "checkpoint.root"),
}


@pytest.mark.parametrize("name", ODD_FILES)
def test_odd_files(agreed, name, tmp_path):
    edit, rule = ODD_FILES[name]
    release = Path(shutil.copytree(VECTORS / "good" / RELEASE, tmp_path / RELEASE))
    edit(release)
    failed = next(step for step in agreed(Given(release, [key_file("good")])).report["steps"] if not step["ok"])
    assert failed["rule"] == rule


def test_a_manifest_that_is_a_folder(agreed, tmp_path):
    release = Path(shutil.copytree(VECTORS / "good" / RELEASE, tmp_path / RELEASE))
    (release / "manifest.json").unlink()
    (release / "manifest.json").mkdir()
    assert agreed(Given(release, [key_file("good")])).code == 3


@pytest.mark.parametrize("position", [2**31 - 1, 2**31, 2**32 + 5, 2**53 - 1])
def test_positions_beyond_32_bits(agreed, month, position, tmp_path):
    release = month.play().retire(edit=edited("results.jsonl", lambda rows: rows[-1].update(position=position)))
    assert agreed(Given(release, keys_of(month, tmp_path / "given"))).report["steps"][8]["rule"] == "result.bound"


@pytest.mark.parametrize("space", ["\xa0", "\x85", "\ufeff"])
def test_second_keys_with_a_space(agreed, month, space, tmp_path):
    month.commit_all()
    month.state_set(withdrawal_keys=[f"{space}{signer(7).verifier.vkey}"])
    month.open_run(1)
    month.score(1)
    assert agreed(Given(month.retire(), keys_of(month, tmp_path / "given"))).report["failed"] == 4


# -- the checkpoint that was kept


@dataclass(frozen=True)
class Kept:
    """A release, heads of its log before and after it, and of another log under the same key."""

    given: Given
    month: Month
    folder: Path

    def at(self, size: int) -> Path:
        return self.month.folder / "log" / "checkpoints" / str(size)

    def proof(self, old: int, new: int, leaves: Sequence[bytes] | None = None) -> Path:
        """Write the proof that the log of `old` leaves is the beginning of that of `new`."""
        tree = MerkleTree(map(leaf_hash, leaves or self.month.leaves))
        proof = [base64.b64encode(part).decode() for part in consistency_proof(tree.node, old, new)]
        return written(self.folder, f"{old}-{new}", json.dumps({"old": old, "new": new, "proof": proof}))


@pytest.fixture
def kept(month, tmp_path):
    """Play a month, retire it, and go on with the next one."""
    release = month.play().turn()
    month.open_run(3)
    return Kept(Given(release, keys_of(month, tmp_path / "given")), month, tmp_path / "given")


def step_of(outcome: Outcome, name: str) -> Mapping[str, Any]:
    assert outcome.report
    (step,) = (step for step in outcome.report["steps"] if step["name"] == name)
    return step


def test_a_checkpoint_that_is_older_or_the_same_is_extended(agreed, kept):
    sizes = sorted(int(path.name) for path in (kept.month.folder / "log" / "checkpoints").iterdir())
    head = int((kept.given.release / "log" / "checkpoint").read_text().split("\n")[1])
    assert (min(sizes) < head, max(sizes) > head) == (True, True)
    for size in (size for size in sizes if size <= head):
        outcome = agreed(replace(kept.given, previous=kept.at(size)))
        assert (outcome.report["answer"], step_of(outcome, "consistency")["state"]) == ("yes", "proved")


def test_a_newer_checkpoint_is_a_doubt_that_a_consistency_proof_resolves(agreed, kept, say):
    new = max(int(path.name) for path in (kept.month.folder / "log" / "checkpoints").iterdir())
    doubted = replace(kept.given, previous=kept.at(new))
    outcome = agreed(doubted)
    assert (outcome.code, outcome.report["answer"]) == (1, "yes with doubts")
    (doubt,) = outcome.report["doubts"]
    wanted = "0 to 16, or a proof that the 16 leaves begin it (--consistency)"
    assert (doubt["rule"], doubt["evidence"]["expected"], doubt["evidence"]["found"]) == ("doubt.newer", wanted, new)
    proved = agreed(replace(doubted, consistency=kept.proof(16, new)))
    assert (proved.code, proved.report["answer"], step_of(proved, "consistency")["state"]) == (0, "yes", "proved")
    assert agreed(replace(doubted, options=["--accept", 1])).report["answer"] == "yes with doubts"
    log = kept.month.folder / "log"
    fetched = say("audit", *doubted.words(), "--log", log).data
    assert fetched == proved.report, "the command makes the proof from the log's tiles"
    (log / "checkpoint").write_bytes(kept.at(16).read_bytes())
    say("audit", *doubted.words(), "--log", log).refuses(1, "has 16 leaves, and the checkpoint that was kept has")


def test_a_shortened_or_another_log_does_not_pass_with_any_proof(agreed, kept, month, tmp_path):
    new = max(int(path.name) for path in (month.folder / "log" / "checkpoints").iterdir())
    fork = Month(tmp_path, "fork")
    fork.spares.reverse()
    release = fork.play().retire()
    outcome = agreed(replace(kept.given, release=release, previous=kept.at(new)))
    assert outcome.report["answer"] == "yes with doubts"
    longer = [*fork.leaves, *month.leaves[16:]]
    forged = [kept.proof(16, new), kept.proof(16, new, longer), kept.proof(15, new), kept.proof(16, new - 1)]
    forged += [written(kept.folder, "none", '{"proof":[]}'), written(kept.folder, "short", '{"proof":["AAAA"]}')]
    for proof in forged:
        given = replace(kept.given, release=release, previous=kept.at(new), consistency=proof)
        failed = agreed(given).report["steps"][11]
        assert (failed["state"], failed["rule"]) == ("failed", "previous.proof"), proof
    same = agreed(replace(kept.given, release=release, previous=kept.at(16)))
    assert (same.report["answer"], same.report["steps"][11]["rule"]) == ("no", "checkpoint.root"), "a fork"


@pytest.mark.parametrize("size", [2**31 + 1, 2**40, 2**53 - 1])
def test_a_newer_checkpoint_of_any_size(agreed, kept, size):
    root = MerkleTree(map(leaf_hash, kept.month.leaves)).root(16)  # a signer can make a proof up, from 2^n leaves on
    proof = [bytes([level]) * 32 for level in range((size - 1).bit_length() - 4)]
    for sibling in proof:
        root = node_hash(root, sibling)
    note = kept.month.signer.sign(f"{ORIGIN}\n{size}\n{base64.b64encode(root).decode()}\n")
    given = replace(kept.given, previous=written(kept.folder, "newer", note))
    assert agreed(given).report["answer"] == "yes with doubts"
    for parts, answer in ((proof, "yes"), (proof[:-1], "no"), ([*proof, root], "no")):
        encoded = [base64.b64encode(part).decode() for part in parts]
        path = written(kept.folder, "made-up", json.dumps({"proof": encoded}))
        assert agreed(replace(given, consistency=path)).report["answer"] == answer


def test_a_newer_checkpoint_of_more_leaves_than_browsers_count(agreed, kept):
    note = kept.month.signer.sign(f"{ORIGIN}\n{2**53}\n{base64.b64encode(bytes(32)).decode()}\n")
    assert agreed(replace(kept.given, previous=written(kept.folder, "newer", note))).code == 2


def test_a_newer_checkpoint_of_others_is_refused(agreed, kept, month, tmp_path):
    text = month.signer.sign(f"{ORIGIN}\n99\n{base64.b64encode(bytes(32)).decode()}\n").split("\n\n")[0] + "\n"
    others = [signer(9), Signer("other.example/log", month.signer.key)]
    renamed = text.replace(ORIGIN, "other.example/log")
    for place, note in enumerate((others[0].sign(text), others[1].sign(renamed))):
        outcome = agreed(replace(kept.given, previous=written(kept.folder, f"other {place}", note)))
        assert outcome.report["failed"] == 12


def test_a_key_that_was_handed_over_signs_no_newer_checkpoint(agreed, tmp_path):
    new, month = signer(7), Month(tmp_path)
    old = month.signer
    release = month.play_across(new).retire()
    root = base64.b64encode(bytes(32)).decode()
    keys = [written(tmp_path, "both", f"{old.verifier.vkey}\n{new.verifier.vkey}\n")]
    for signed_by, answer in ((old, "no"), (new, "yes with doubts")):
        newer = written(tmp_path, "newer", signed_by.sign(f"{ORIGIN}\n99\n{root}\n"))
        assert agreed(Given(release, keys, previous=newer)).report["answer"] == answer
    early = agreed(Given(release, [written(tmp_path, "one", f"{new.verifier.vkey}\n")]))
    assert early.report["steps"][4]["rule"] == "head.key"


# -- evidence


@pytest.fixture(params=[True, False], ids=["varied", "alike"])
def accused(request, month, tmp_path):
    """Play a month of two submitters; return what an auditor has, and the evidence against the first of them."""
    task = month.cohorts[RETIRED][0]
    if request.param:
        month.vary()
        free = {f"name_{n}": {"from": [f"word{n}{place}" for place in range(64)]} for n in (1, 2)}
        month.tasks[task] |= {"free": free, "goal": "Write the café {{name_1}} and {{name_2}}"}
    month.begin().play_run(1).play_run(2)
    evidence = month.evidence_against(1, task)
    return month, evidence, tmp_path / "given"


FORGERIES: Mapping[str, Callable[[dict[str, Any]], object]] = {
    "transcript": lambda e: e["transcript"]["attempts"][0].update(answer="I knew it"),
    "submitter": lambda e: e["opening"].update(submitter="agent-2"),
    "salt": lambda e: e.update(opening_salt="00" * 32),
    "result": lambda e: e["result"].update(calls=9),
    "position": lambda e: e.update(position=e["position"] + 1),
    "position beyond 32 bits": lambda e: e.update(position=2**31),
    "proof": lambda e: e["proof"].pop(),
    "another run": lambda e: e.update(run=2),
    "no run": lambda e: e.update(run=9),
    "no task": lambda e: e.update(task="t-" + "a" * 16),
    "recipients": lambda e: e.update(recipients=e.get("recipients", [])[:1]),
    "key": lambda e: e.update(variant_key="ab" * 32),
    "kind": lambda e: e.update(kind="a word"),
    "field": lambda e: e.pop("position"),
}


def test_evidence_holds_wherever_it_lies(agreed, accused):
    month, evidence, folder = accused
    line = canonical(evidence) + b"\n"
    given = Given(month.retire(), keys_of(month, folder))
    assert step_of(agreed(given), "evidence")["state"] == "not asked"
    outcome = agreed(replace(given, evidence=[written(folder, "accusation.json", line * 2)]))
    assert (outcome.code, outcome.report["answer"], step_of(outcome, "evidence")["state"]) == (0, "yes", "proved")
    words = "the evidence holds (documents: 2). line 1 of accusation.json: run 1 is one of agent-1"
    assert words in step_of(outcome, "evidence")["proved"]


@pytest.mark.parametrize("is_forged", [False, True])
def test_evidence_in_the_release_is_checked_alike(agreed, accused, is_forged):
    month, evidence, folder = accused
    second = json.loads(json.dumps(evidence))
    if is_forged:
        FORGERIES["transcript"](second)
    release = month.retire(lambda content: replace(content, evidence=[evidence, second]))
    outcome = agreed(Given(release, keys_of(month, folder)))
    assert (outcome.code, outcome.report["answer"]) == ((1, "no") if is_forged else (0, "yes"))


@pytest.mark.parametrize(
    "free", [None, [], {"10": {"from": []}, "9": {"from": []}, "\U0001f600": {"from": []}, "\uffff": {"from": []}}]
)
def test_evidence_on_a_task_with_odd_choices(agreed, month, free, tmp_path):
    task = month.cohorts[RETIRED][0]
    month.tasks[task] |= {"free": free}
    month.task_served = lambda *_: {name: part for name, part in month.tasks[task].items() if name != "free"}
    month.begin()
    month.open_run(1)
    month.score(1)
    document = canonical(month.evidence_against(1, task))
    given = Given(month.retire(), keys_of(month, tmp_path / "given"))
    assert agreed(replace(given, evidence=[written(tmp_path / "given", "e", document)])).report["failed"] == 14


def test_a_made_up_accusation_is_a_no_wherever_it_lies(agreed, accused):
    month, evidence, folder = accused
    given = Given(month.retire(), keys_of(month, folder))
    for name, forge in FORGERIES.items():
        forged = json.loads(json.dumps(evidence))
        forge(forged)
        if forged == evidence:
            continue
        honest, made_up = written(folder, "honest", canonical(evidence)), written(folder, name, canonical(forged))
        outcome = agreed(replace(given, evidence=[honest, made_up]))
        assert (outcome.code, outcome.report["answer"], outcome.report["failed"]) == (1, "no", 14), name
    for name, data in {"no JSON": "no evidence\n", "spaced": json.dumps(evidence), "line": "\n"}.items():
        assert agreed(replace(given, evidence=[written(folder, name, data)])).report["failed"] == 14
    (given.release / "tasks.jsonl").write_text("{}\n")
    outcome = agreed(replace(given, evidence=[honest]))
    assert (outcome.report["failed"], step_of(outcome, "evidence")["state"]) == (1, "not reached")
