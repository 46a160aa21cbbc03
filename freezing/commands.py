"""Freezes the command line: every `--help`, and one JSON answer of each verb, on the home of the small month.

Each verb is called in this process with time and randomness begun anew, so that one more verb changes no other. What
would start a box, reach a model or wait for a person is given what it refuses: the refusal is its answer.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import os
import shlex
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from freezing.fixed import Held
from freezing.month import FIRST, MAINTAINERS, Played, document, key, stratum
from freezing.numbers import rounded
from grammars.admission.gates import NAMES, Admission, Gate
from grammars.language.grammar import Draft
from quarterturn.cli import NAME, run, whole_tree
from rotation.month.sets import DEMO
from sandbox.claim_judge.anchors import SHIPPED
from vault.ledger.signatures import sshsig

AT = "2027-01-15T12:00:00+00:00"
SILENT = {"serve", "worker", "log witness", "runner start", "signer"}
"""Verbs that run until they are interrupted and give no answer."""

LISTED = {"predicate list"}
"""Verbs whose answer is a list with a reference page of its own: of each part only its digest is frozen here."""


@dataclass(frozen=True)
class Said:
    """Result of one command."""

    code: int
    out: bytes
    err: bytes


def verbs() -> Iterator[tuple[str, ...]]:
    """Yield all verbs, and the groups, as words; the bare command first."""

    def walk(command: object, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        yield words
        for name, below in sorted(getattr(command, "commands", {}).items()):
            yield from walk(below, (*words, name))

    yield from walk(whole_tree(), ())


def say(words: Sequence[str], given: bytes = b"") -> Said:
    """Run a command with its standard input, and give its result."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(list(words))
    finally:
        sys.stdin = before
    out.flush(), err.flush()
    return Said(code, out.buffer.getvalue(), err.buffer.getvalue())  # type: ignore[attr-defined]


def helps() -> Iterator[tuple[str, bytes]]:
    """Yield what `--help` says, a transcript for each group of verbs."""
    pages: dict[str, bytes] = defaultdict(bytes)
    for words in verbs():
        said = say([*words, "--help"])
        pages[_page(words)] += f"$ {' '.join((NAME, *words))} --help\n".encode() + said.out + said.err + b"\n"
    for name, text in pages.items():
        yield f"help/{name}.txt", text


def _page(words: Sequence[str]) -> str:
    """Name the transcript that a verb stands in: its group's, or that of single verbs."""
    command: Any = whole_tree()
    return words[0] if words and hasattr(command.commands[words[0]], "commands") else "single"


class Answers:
    """The answers of all verbs, in an order in which each finds what it needs.

    Args:
        made: the month.
        held: this process's time and randomness.
        beside: a folder for what stands beside the home.
    """

    def __init__(self, made: Played, held: Held, beside: Path) -> None:
        self.made, self.held, self.beside = made, held, beside
        self.home = made.house.home.folder
        self.pages: dict[str, bytes] = defaultdict(bytes)
        self.calls = Counter[str]()

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield a transcript for each group of verbs.

        Raises:
            LookupError: a verb has no answer here.
        """
        self._prepare()
        for about in ("month", "tasks", "watch", "models", "tokens", "log", "alone", "keys"):
            getattr(self, f"_{about}")()
        groups = {words[:-1] for words in verbs() if words}
        wanted = {" ".join(words) for words in verbs() if words and words not in groups} - SILENT
        if missing := sorted(wanted - set(self.calls)):
            raise LookupError(f"no answer is frozen of: {', '.join(missing)}; add one in {__file__}")
        for name, text in self.pages.items():
            yield f"json/{name}.txt", text

    def ask(self, verb: str, *words: object, home: Path | None = None, given: bytes = b"") -> Any:
        """Run a verb, record its answer, and return its data."""
        label = f"{verb} {self.calls[verb]}" if verb in self.calls else verb
        self.calls[verb] += 1
        plain = [*verb.split(), *map(str, words)]
        if not verb.startswith("plumb"):
            plain.append("--json")
        if home is not None:
            plain += ["--home", str(home)]
        self.held.begin(label, AT)
        said = say(plain, given)
        self.pages[_page(plain)] += self._shown(plain, given, said, digests=verb in LISTED)
        try:
            return json.loads(said.out)["data"]
        except (ValueError, KeyError, TypeError):
            return None

    def _shown(self, words: Sequence[str], given: bytes, said: Said, *, digests: bool) -> bytes:
        """Show a command as a transcript; the temporary folder is called /test in it."""
        text = f"$ {NAME} {shlex.join(words)}\n"
        if given:
            text += f"< {given.decode()}\n"
        text += f"exit {said.code}\n{_plain(said.out, digests=digests)}\n"
        return text.replace(str(self.beside), "/test").encode()

    # -- what stands there before -------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        first = stratum()
        self.waiting, self.rejected = document(first, 100), document(first, 101)
        for task, ok in ((self.waiting, True), (self.rejected, False)):
            provenance = {
                "skeleton": f"filesystem/s-{task['id']}",
                "template": "t",
                "grammar": "filesystem",
                "solutions": [],
            }
            gates = tuple(Gate(number, name, ok, "as it should be") for number, name in NAMES.items())
            admission = Admission(task["id"], gates, {})
            self.made.house.tasks.drafts.keep(
                Draft(task, provenance), admission, author="test-ada", public_grammar=False
            )
        for name in MAINTAINERS:
            secret = key(name).private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
            self._file(f"{name}.key", secret)
        self.leak, self.live = self.made.leaked(), self.made.live
        self.made.house.close()

    def _file(self, name: str, data: bytes | str) -> Path:
        path = self.beside / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        path.chmod(0o600)
        return path

    # -- the verbs, by what they are about ----------------------------------------------------------------------------

    def _month(self) -> None:
        self.ask("turn status", home=self.home)
        self.ask("turn plan", home=self.home)
        self.ask("leaderboard", "--month", FIRST, "--linked", home=self.home)
        self.ask("release path", FIRST, home=self.home)
        release, vkey = self.home / "public/releases" / FIRST.release, self.home / "public/log.vkey"
        self.ask("audit", release, "--key", vkey)
        self.ask("access log", "--limit", 4, home=self.home)
        self.ask("access log", "--verify", home=self.home)

    def _tasks(self) -> None:
        live, waiting = self.live[0], self.waiting["id"]
        self.ask("task list", "--state", "published", home=self.home)
        self.ask("task list", "--state", "withdrawn", home=self.home)
        asked = self.ask("task show", live, "--as", "test-ada", home=self.home)
        self.ask("task review", "--as", "test-grace", home=self.home)
        self.ask("task review", waiting, "--as", "test-grace", home=self.home)
        self.ask("task review", waiting, "--approve", "--as", "test-grace", home=self.home)
        self.ask("task shred", self.rejected["id"], "--as", "test-ada", home=self.home)
        drafts = self._file("tasks.jsonl", '{"task": {}}\n')
        self.ask("task import", drafts, "--as", "test-ada", home=self.home)
        self.ask("task try", drafts)
        row = {"goal": "Make out.", "predicate": {"filesystem.directoryExists": {"path": "out"}}, "name": "made"}
        rows = self._file("rows.jsonl", json.dumps(row) + "\n")
        self.ask("task convert", "rows", rows, "--out", self.beside / "drafts.jsonl")
        self.ask("task admit", "--as", "test-ada", home=self.beside / "nowhere")
        (request,) = self.ask("approval list", home=self.home)["requests"]
        assert request["id"] in asked["error"]
        self.ask("approval show", request["id"], home=self.home)
        for name in MAINTAINERS:
            self.ask("approval sign", request["id"], "--key", self.beside / f"{name}.key", home=self.home)
        self.ask("task show", live, "--as", "test-ada", home=self.home)
        why = ("--cause", "leak", "--reason", "it was read aloud")
        self.ask("task withdraw", live, *why, "--as", "test-ada", home=self.home)
        self.ask("turn run", "--early", home=self.home)

    def _watch(self) -> None:
        month = FIRST.plus(1)
        self.ask("watch list", "--all", "--month", FIRST, home=self.home)
        self.ask("watch review", 1, "confirmed", "--as", "test-ada", "--note", "seen", home=self.home)
        self.ask("watch exposure", "--task", self.live[-1], home=self.home)
        self._evidence()
        self.ask("watch scan", self.beside / "cases", "--out", self.beside / "flags.jsonl")
        self.ask("watch trace", self._file("leak.txt", self.leak), "--as", "test-ada", home=self.home)
        self.ask("watch report", "--month", month, "--html", self.beside / "report.html", home=self.home)

    def _evidence(self) -> None:
        """Have the evidence on a task that has retired written, for which two maintainers sign."""
        file = self.beside / "evidence.json"
        words = ("1", "--task", self.live[-1], "--run", 4, "--out", file, "--as", "test-ada")
        self.ask("watch evidence", *words, home=self.home)
        (request,) = self.ask("approval list", home=self.home)["requests"]
        for name in MAINTAINERS:
            self.ask("approval sign", request["id"], "--key", self.beside / f"{name}.key", home=self.home)
        self.ask("watch evidence", *words, home=self.home)
        release = self.home / "public/releases" / FIRST.plus(1).release
        self.ask("audit", release, "--key", self.home / "public/log.vkey", "--evidence", file)

    def _models(self) -> None:
        self.ask("model list", home=self.home)
        secret = self._file("model.key", "test-key-of-a-model\n")
        self.ask("model key", "test-model", "--for", "dev", "--file", secret, home=self.home)
        self.ask("model check", "test-model", "--for", "private", home=self.home)
        self.ask("judge check", home=self.home)
        anchors = json.loads(SHIPPED.read_bytes())["anchors"]
        bare = [{name: anchor[name] for name in anchor if name != "sha256"} for anchor in anchors]
        self.ask("judge freeze", self._file("anchors.json", json.dumps({"anchors": bare})))

    def _tokens(self) -> None:
        self.ask("token create", "test-able", "--role", "submitter", home=self.home)
        self.ask("token list", home=self.home)
        self.ask("token revoke", 1, home=self.home)
        self.ask("token create", "test-fair", "--role", "submitter", home=self.home)
        self.ask("runner add", "test-north", home=self.home)
        self.ask("runner list", home=self.home)
        self.ask("runner revoke", "test-north", home=self.home)
        self.ask("token link", "test-able", "test-fair", home=self.home)
        self.ask("submit", "test-image:1", "--to", "http://127.0.0.1:1")
        self.ask("submissions", "--to", "http://127.0.0.1:1")
        self.ask("fetch", "http://test-service.invalid")
        self.ask("display-name set", "test-agent", "Test name", "--to", "http://127.0.0.1:1")
        self.ask("display-name remove", "test-agent", "--to", "http://127.0.0.1:1")
        self.ask("display-name list", "--to", "http://127.0.0.1:1")

    def _log(self) -> None:
        log, vkey = self.home / "public/log", self.home / "public/log.vkey"
        shown = self.ask("log checkpoint", home=self.home)["checkpoint"]
        proof = self.ask("log proof", 3, home=self.home)
        self.ask("log fsck", home=self.home)
        self.ask("log monitor", log, "--key", vkey, "--state", self.beside / "monitor.json")
        self.ask("log witness-key", "test-witness.example/w", "--out", self.beside / "witness.key")
        self._plumbing(shown, proof, vkey.read_text().strip())
        self.ask("log change-key", "--as", "test-ada", home=self.home)

    def _plumbing(self, checkpoint: str, proof: dict[str, Any], vkey: str) -> None:
        leaf = self.made.leaf(3)
        task = document(stratum(), 0)
        policy = f"log {vkey}\nquorum none\n"

        def plumb(name: str, **fields: object) -> Any:
            said = json.dumps(fields, sort_keys=True).encode()
            return self.ask(f"plumb {name}", given=said)

        plumb("commit", task=task, salt=_text(b"test-salt".ljust(32, b"-")))
        plumb("leaf-hash", leaf=_text(leaf))
        hashed = json.loads(say(["plumb", "leaf-hash"], json.dumps({"leaf": _text(leaf)}).encode()).out)["hash"]
        included = {"leafIdx": 3, "treeSize": proof["size"], "root": proof["root"], "proof": proof["proof"]}
        plumb("verify-inclusion", leafHash=hashed, **included)
        plumb("verify-consistency", size1=3, size2=3, root1=proof["root"], root2=proof["root"], proof=[])
        plumb("note-verify", note=checkpoint, keys=[vkey])
        plumb("checkpoint-parse", checkpoint=checkpoint)
        plumb("cosign-verify", checkpoint=checkpoint, policy=policy)
        plumb("proof-verify", proof="c2sp.org/tlog-proof@v1\nindex 3\n", leaf=_text(leaf), policy=policy)
        plumb("variant", task=task, key=_text(b"-" * 32), submitter="test-able", month=str(FIRST))
        log = self.home / "public/log"
        self.ask("plumb tiles-root", log, "--key", vkey)
        self.ask("plumb fsck", log, "--key", vkey)
        self.ask("plumb jcs", given=b'{"b": 1.0, "a": "\\u00e9"}')

    def _alone(self) -> None:
        grammar = Path(__file__).with_name("grammar.yaml")
        there = self._file("filesystem.yaml", grammar.read_bytes())
        self.ask("server list")
        wrong = self._file("server.yaml", "server: notes\npackage: npm:notes\nversion: 1\n")
        self.ask("server add", wrong, home=self.home)
        for verb in ("record", "check"):
            self.ask(f"server {verb}", "notes", home=self.home)
        self.ask("server image", home=self.home)
        self.ask("server compare", "filesystem", "--agent", "true", "--as", "test-ada", home=self.home)
        self.ask("server remove", "notes", "--as", "test-ada", home=self.home)
        self.ask("grammar list")
        self.ask("set list")
        self.ask("set show", "demo")
        self.ask("set check", self._file("set.toml", DEMO.text.replace('"demo"', '"own"').replace("24", "25")))
        self.ask("grammar check", there)
        self.ask("grammar sample", there, "--seed", 7)
        self.ask("grammar translate", there, self._file("de.yaml", Path(__file__).with_name("de.yaml").read_bytes()))
        self.ask("grammar import", there, "--as", "test-ada", home=self.home)
        (self.beside / "state" / "filesystem").mkdir(parents=True)
        (self.beside / "state" / "filesystem" / "a.txt").write_text("one\n")
        asked = self._file("predicate.json", '{"filesystem.fileTextEquals": {"path": "a.txt", "text": "two\\n"}}')
        self.ask("predicate check", "--state", self.beside / "state", "--predicate", asked)
        self.ask("predicate list")
        self.ask("init", "--month", FIRST, "--origin", "test-new.example/log", home=self.beside / "new")
        self.ask("backup", self.beside / "backup", home=self.home)
        self.ask("restore", self.beside / "backup", "--head", self.home / "head/signed", home=self.beside / "restored")
        self.ask("upgrade", home=self.home)
        self.ask("doctor", "--with-controls")
        self.ask("demo", "--box", "none")
        self.ask("run", "--as", "test-able")
        self.ask("plumb world", self.beside / "no-task.json", "--out", self.beside / "world")
        release, vkey = self.home / "public/releases" / FIRST.release, self.home / "public/log.vkey"
        for name in ("hf", "inspect", "harbor"):
            self.ask(f"export {name}", release, "--key", vkey, "--out", self.beside / name)
        self.ask("measure", release, "--run", "1", "--key", vkey)
        rows = [
            f"t-{place},{who},{rating}" for who in "ab" for place, rating in enumerate("xyxy" if who == "a" else "xyxx")
        ]
        ratings = self.beside / "ratings.csv"
        ratings.write_text("\n".join(["subject,rater,rating", *rows, ""]))
        self.ask("ratings agreement", ratings)
        claims = self.beside / "claims.csv"
        claims.write_text("submission,task,claim,score\na,t-1,1,1\na,t-1,2,0.5\nb,t-1,1,0.5\nb,t-1,2,\n")
        self.ask("ratings thresholds", claims)
        self.ask("ratings reviews", "--out", self.beside / "reviews.csv", home=self.home)
        self.ask("ratings sheet", release, "--out", self.beside / "sheet.csv")

    def _keys(self) -> None:
        self.ask("keys list", home=self.home)
        self.ask("keys rotate", "--as", "test-ada", home=self.home)
        self.ask("keys remove", "nobody", "--as", "test-ada", home=self.home)
        self.ask("keys backup", self.beside / "ring.json", home=self.home)
        self.ask("keys add passphrase", "--as", "test-ada", home=self.home)
        token = ("--module", "/test/token.so", "--token", "test-token")
        self.ask("keys add pkcs11", "--as", "test-ada", *token, home=self.home)
        self.ask("keys add command", "test-no-such-program", "--as", "test-ada", home=self.home)
        people = [f"{name}={sshsig.public_line(key(name).public_key().public_bytes_raw())}" for name in MAINTAINERS]
        named = [word for one in people for word in ("--custodian", one)]
        shares = self.beside / "shares"
        self.ask("keys split", "--as", "test-ada", "--threshold", 2, *named, "--out", shares, home=self.home)
        os.environ["QUARTERTURN_NEW_PASSPHRASE"] = "test-passphrase"
        opened = [word for name in MAINTAINERS for word in ("--identity", str(self.beside / f"{name}.key"))]
        files = [shares / f"{name}.age" for name in MAINTAINERS]
        self.ask("keys restore-from-shares", *files, *opened, "--as", "test-ada", home=self.home)


def _plain(out: bytes, *, digests: bool) -> str:
    """Show an answer over several lines; one that is no JSON object on one line with sorted keys is shown as it is."""
    try:
        value = json.loads(out)
    except ValueError:
        return out.decode()
    if out.decode() not in {f"{json.dumps(value, sort_keys=True)}\n", f"{json.dumps(value)}\n"}:
        return out.decode()
    if digests:
        value["data"] = {name: _digest(part) for name, part in value["data"].items()}
    return json.dumps(rounded(value), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
