"""Fixtures of a small benchmark: four cohorts of two tasks, a log, runs, retirements, fixed randomness.

`Month` plays the operator for a month, or for several (`turn`). Each of its steps can be played falsely, with
everything else signed and sealed as an operator who holds the key would do it; that is what an auditor is for.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Concatenate, ParamSpec, TypeVar

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vault.commitment import commitment
from vault.ledger.release import contents
from vault.ledger.release.bundle import BundleContent, ResultOpening, RunOpening, TaskOpening, write_bundle
from vault.ledger.release.openings import result_lines
from vault.ledger.signatures import sshsig
from vault.ledger.signatures.cosignature import Cosigner
from vault.ledger.signatures.note import Signer
from vault.ledger.statements import leaf
from vault.ledger.statements.jcs import canonical
from vault.ledger.statements.log_state import WITHDRAWAL, month_number, month_text, withdrawal_text
from vault.ledger.statements.results import in_order, results_root, totals_of
from vault.ledger.statements.spot_check import is_chosen
from vault.ledger.tree.merkle import set_root
from vault.ledger.write.append import LogWriter
from vault.task import variant

P, S, R = ParamSpec("P"), TypeVar("S"), TypeVar("R")

ORIGIN = "bench.example/log"
COHORTS = ("cohort-2026-12", "cohort-2027-01", "cohort-2027-02", "cohort-2027-03")
RETIRED = COHORTS[0]
STRATA = (("filesystem", "single-tool", "easy"), ("git", "recovery", "hard"))
CANARY = "6f1f7d7e-0f5a-4d0e-9a51-2f6f4d7a9c11"


def deferred(act: Callable[Concatenate[S, P], R]) -> Callable[P, Callable[[S], R]]:
    """Take all arguments but the first now, and later the first: whom or what it acts on."""
    return lambda *args, **named: lambda subject: act(subject, *args, **named)


def dice(*names: object) -> bytes:
    return hashlib.sha256("/".join(map(str, names)).encode()).digest()


def drawn_signer(seed: str, name: str = ORIGIN) -> Signer:
    """Return the signer of this name whose key is drawn from a seed."""
    return Signer(name, Ed25519PrivateKey.from_private_bytes(dice(seed)))


def task_document(name: str, place: int) -> dict:
    server, category, difficulty = STRATA[place]
    return {
        "schema": "quarterturn/task/v1",
        "id": name,
        "server": server,
        "category": category,
        "difficulty": difficulty,
        "max_steps": 12,
        "goal": f"Write the café's number {place} into out.txt",
        "initial_state": {server: {"files": {"a.txt": "é"}}},
        "success_predicate": {"filesystem.fileExists": {"path": "out.txt"}},
    }


JUDGE = {name: dice("judge", name).hex() for name in ("anchors", "parameters", "rubric")}
JUDGE_DIGEST = leaf.sha256_hex(canonical(JUDGE))
SPOT_SEED = dice("spot", 3)  # chooses one of the eight results


SECOND, OTHER_SECOND = (drawn_signer(name, name) for name in ("cyd", "dan"))
WITNESS = Cosigner("witness.example/w", drawn_signer("witness").key)
WRONG_VERDICT = {"solution": "reference", "calls": [], "answer": None, "state": {}, "verdict": False}
"""What shows a task to be broken: its reference solution fails."""


def second_signature(signer: Signer, withdrawal: bytes, origin: str = ORIGIN) -> dict[str, str]:
    """Sign a `withdraw` leaf as a second person."""
    text = withdrawal_text(origin, leaf.Statement.parse(withdrawal))
    armored = sshsig.sign(text, WITHDRAWAL, signer.key)
    signature = sshsig.verify(text, WITHDRAWAL, armored, signer.verifier.public)
    return {"key": signer.verifier.vkey, "signature": base64.b64encode(signature).decode()}


def solved(month: "Month", task: str) -> list[dict]:
    """Commit to two solutions of a task with a free value; give their calls with its first choice."""
    month.tasks[task]["free"] = {"name": {"from": ['the "first"', "other"]}}
    calls = [{"tool": "git.commit", "arguments": {"message": f"{word} {{{{name}}}}"}} for word in ("one", "two")]
    month.solutions[task] = [{"calls": [call], "answer": "{{name}}", "name": "direct"} for call in calls]
    return [{"tool": "git.commit", "arguments": {"message": f'{word} the "first"'}} for word in ("one", "two")]


@dataclass(frozen=True)
class PlayedRun:
    """A run as its operator knows it: all of its results, of every cohort that it was served."""

    run: int
    open_leaf: int
    close_leaf: int
    opening: dict
    salt: bytes
    cohorts: Sequence[str]
    tree: Sequence[bytes] = ()
    results: Sequence[ResultOpening] = ()
    totals: Sequence[tuple[str, dict, bytes]] = ()  # (cohort, totals, salt)

    def opened(self, cohort: str) -> RunOpening:
        """Return what the release of a cohort opens of it."""
        rows = [row for row in self.results if row.result["cohort"] == cohort]
        pair = next(((totals, salt) for name, totals, salt in self.totals if name == cohort), (None, None))
        return RunOpening(self.run, self.open_leaf, self.close_leaf, self.opening, self.salt, self.tree, rows, *pair)


class PermissiveWriter(LogWriter):
    """A writer without the rules on keys: a dishonest operator who holds the keys."""

    def _require_epoch(self, head: object, fresh: object) -> None:
        pass


class Month:
    def __init__(self, folder: Path, name: str = "home") -> None:
        self.folder = folder / name
        self.signer = drawn_signer("key")
        self.keys = [self.signer.verifier.vkey]  # with all that signed later
        self.writer = LogWriter(self.folder / "log", self.folder / "head" / "signed", self.signer, ORIGIN)
        self.leaves: list[bytes] = []
        self.index: dict[str, int] = {}
        self.month = "2026-12"
        self.plan = {"cohorts": 4, "lifetime": "P4M"}
        self.tasks: dict[str, dict] = {}
        self.places: dict[str, int] = {}
        self.cohorts: dict[str, list[str]] = {}
        for number, cohort in enumerate(COHORTS):
            self.cohorts[cohort] = [self.invent(f"{number}{place}", place) for place in (0, 1)]
        self.spares = [self.invent(f"r{place}", 0) for place in (0, 1)]
        self.last_set: int | None = None
        self.set_root = b""
        self.drawn: dict[int, tuple[str, list[str]]] = {}  # by set: its month, and what was drawn from its seed
        self.gone: dict[str, str | None] = {}  # withdrawn and not opened yet, with the cohort that it left
        self.left: set[str] = set()
        self.served: dict[int, dict[str, list[str]]] = {}
        self.tracks: dict[int, str] = {}
        self.submitters: dict[int, tuple[str, int]] = {}  # with the number of the attempt
        self.evidence: list[dict] = []
        self.solutions: dict[str, list[dict]] = {}  # of tasks whose provenance is opened when they are withdrawn
        self.own_grammars: set[str] = set()  # tasks of grammars that are not public
        self.runs: list[PlayedRun] = []
        self.named: set[int] = set()
        self.retirement: dict[str, object] = {}
        self.second: Signer | None = None  # whose key the sets name, and who signs withdrawals
        self.witness = WITNESS
        self.clock: Iterator[int] | None = None  # seconds at which the witness cosigns each head, if it does

    @property
    def sunset(self) -> str:
        """The cohort that retires at the end of the month."""
        return f"cohort-{self.month}"

    def invent(self, seed: str, place: int) -> str:
        letters = "abcdefghijklmnopqrstuvwxyz234567"
        name = "t-" + "".join(letters[byte % 32] for byte in dice("id", seed)[:16])
        self.tasks[name] = task_document(name, place)
        self.places[name] = place
        return name

    def salt(self, *names: object) -> bytes:
        return dice("salt", *names)

    def provenance(self, task: str) -> dict:
        return {"grammar": task} | ({"solutions": self.solutions[task]} if task in self.solutions else {})

    def promised(self, task: str) -> bytes:
        return commitment("commit", canonical(self.tasks[task]), self.salt(task))

    def log(self, key: str, data: bytes) -> int:
        self.index[key] = len(self.leaves)
        self.leaves.append(data)
        return self.index[key]

    def publish(self) -> None:
        head = self.writer.append(self.leaves, 0)
        if self.clock is not None:
            self.writer.put_under(self.writer.note() or "", self.witness.cosign(head, next(self.clock)))

    def commit(self, *tasks: str, **other: object) -> None:
        for task in tasks:
            provenance = commitment("provenance", canonical(self.provenance(task)), self.salt("provenance", task))
            facts = {"spec": "1.0.0", "provenance": provenance, "public_grammar": task not in self.own_grammars}
            self.log(task, leaf.commit(task, self.promised(task), **(facts | other)))
            if self.last_set is not None:
                self.drawn[self.last_set][1].append(task)

    def commit_all(self) -> None:
        self.commit(*(task for tasks in self.cohorts.values() for task in tasks), *self.spares)
        self.publish()

    def draw_seed(self, month: str) -> tuple[bytes, bytes]:
        """Return the seed that a month's set commits to, and its salt."""
        words = () if month == "2026-12" else (month,)
        return dice("seed", *words), self.salt("draw", *words)

    def state_set(self, month: str | None = None, **other: object) -> None:
        self.month = month or self.month
        live = {task for tasks in self.cohorts.values() for task in tasks}
        self.set_root = set_root(map(self.promised, live))
        facts = {
            "month": self.month,
            "root": self.set_root,
            "previous": self.last_set,
            "cohorts": [self.as_cohort(name) for name in self.cohorts],
            "reserve": self.reserve(live),
            "counts": {"unseen": 0, "seen": len(live)},
            "next_draw": commitment("draw-seed", *self.draw_seed(self.month)),
            "public_grammar": True,
            "plan": self.plan,
            "servers": {server: dice("server", server).hex() for server, *_ in STRATA},
            "withdrawal_keys": [self.second.verifier.vkey] if self.second else [],
        }
        self.last_set = self.log(f"set/{self.month}", leaf.set_of_tasks(**(facts | other)))
        self.drawn[self.last_set] = (self.month, [])
        self.publish()

    def reserve(self, live: set[str]) -> dict[str, list[str]]:
        rest = sorted((task for task in self.spares if task not in live | self.left), key=self.promised)
        strata = {"/".join(words): [t for t in rest if self.places[t] == at] for at, words in enumerate(STRATA)}
        spare = {self.places[task] for task in self.spares} | {0}
        return {
            "/".join(words): [self.promised(task).hex() for task in strata["/".join(words)]]
            for at, words in enumerate(STRATA)
            if at in spare
        }

    def as_cohort(self, name: str) -> dict:
        tasks = self.cohorts[name]
        return {
            "id": name,
            "retires": name.removeprefix("cohort-"),
            "count": len(tasks),
            "root": set_root(map(self.promised, tasks)).hex(),
            "tasks": tasks,
        }

    def open_run(self, number: int, **other: object) -> None:
        head = self.writer.checkpoint()
        facts = {
            "run": number,
            "commitment": commitment("run-open", canonical(self.opening(number)), self.salt("run", number)),
            "month": self.month,
            "track": "docker",
            "set_root": self.set_root,
            "cohorts": list(self.cohorts),
            "size": head.size,
            "root": head.root,
        } | other
        self.named.add(facts["size"])
        self.served[number] = {name: list(self.cohorts[name]) for name in facts["cohorts"] if name in self.cohorts}
        self.tracks[number] = facts["track"]
        self.log(f"open/{number}", leaf.run_open(**facts))
        self.publish()

    def opening(self, number: int) -> dict:
        name, attempt = self.submitters.get(number, (f"agent-{number}", 1))
        return {"submitter": name, "submission": "sha256:" + dice("image").hex(), "attempt": attempt}

    def result(self, number: int, cohort: str, task: str) -> dict:
        document = self.tasks[task]
        passed = document["category"] == "single-tool"
        return {
            "run": number,
            "task": task,
            "cohort": cohort,
            "category": document["category"],
            "verdict": "true" if passed else "false",
            "passed": passed,
            "calls": 7,
            "max_steps": 12,
            "unlisted": 1,
            "saw_error": not passed,
            "skeleton": dice("skeleton", task).hex()[:32],
            "transcript": commitment(
                "transcript", canonical(self.transcript(number, task)), self.salt("transcript", number, task)
            ).hex(),
        }

    def transcript(self, number: int, task: str) -> dict:
        """Return the transcript that the result of a task in a run commits to."""
        call = {"tool": "filesystem.read_file", "arguments": '{"path":"a.txt"}', "result": "é", "error": False}
        served = self.task_served(number, task)
        return {
            "goal": served["goal"],
            "served": hashlib.sha256(canonical(served)).hexdigest(),
            "attempts": [{"ended": "answered", "answer": "done", "calls": [call] * 7}],
        }

    def task_served(self, number: int, task: str) -> dict:
        """Return a task as a run is served it, in the variant of its submitter."""
        document = self.tasks[task]
        free = {name: choice["from"] for name, choice in document.get("free", {}).items()}
        values = variant.first(free)
        if "variant_key" in document:
            values = variant.assigned(dice("variant", task), f"agent-{number}", "2026-12", free)
        plain = {name: part for name, part in document.items() if name not in ("free", "variant_key")}
        return variant.filled(plain, values)

    def evidence_against(self, number: int, task: str) -> dict:
        """Return the evidence against a run's submitter: the result on a task, opened, and its transcript."""
        run = next(run for run in self.runs if run.run == number).opened(RETIRED)
        line = next(line for line in map(json.loads, result_lines(run)) if line["result"]["task"] == task)
        document = line | {
            "finding": 3,
            "kind": "leak",
            "task": task,
            "opening": self.opening(number),
            "opening_salt": self.salt("run", number).hex(),
            "transcript": self.transcript(number, task),
            "transcript_salt": self.salt("transcript", number, task).hex(),
        }
        if "variant_key" in self.tasks[task]:
            shown = sorted((run.opening["submitter"], "2026-12") for run in self.runs)
            document["recipients"] = [{"submitter": who, "month": month} for who, month in shown]
            document["variant_key"] = dice("variant", task).hex()
        return document

    def score(self, number: int, members: dict[str, list[str]] | None = None, **other: object) -> None:
        members = members or self.served[number]
        served = [(cohort, task) for cohort, tasks in members.items() for task in tasks]
        rows = [self.result(number, cohort, task) for cohort, task in served]
        salts = [self.salt("result", number, task) for _, task in served]
        bound = [commitment("result", canonical(row), salt) for row, salt in zip(rows, salts, strict=True)]
        tree = in_order(zip((self.promised(task) for _, task in served), bound, strict=True))
        totals = [
            (name, totals_of(number, name, [r for r in rows if r["cohort"] == name]), self.salt("totals", number, name))
            for name in members
        ]
        facts = {
            "run": number,
            "month": self.month,
            "track": self.tracks[number],
            "count": len(rows),
            "results_root": results_root(tree),
            "totals": [(name, commitment("totals", canonical(total), salt)) for name, total, salt in totals],
        }
        closing = self.log(f"score/{number}", leaf.score(**(facts | other)))
        opened = [
            ResultOpening(tree.index(item), row, salt) for row, salt, item in zip(rows, salts, bound, strict=True)
        ]
        self._closed(number, closing, list(members), tree, opened, totals)

    def abort(self, number: int, **other: object) -> None:
        hidden = commitment("run-open", canonical(self.opening(number)), self.salt("run", number))
        facts = {"run": number, "month": self.month, "reason": "ours", "commitment": hidden} | other
        self._closed(number, self.log(f"abort/{number}", leaf.abort(**facts)), list(self.served[number]))

    def _closed(self, number: int, closing: int, *rest: object) -> None:
        opening, salt = self.opening(number), self.salt("run", number)
        self.runs.append(PlayedRun(number, self.index[f"open/{number}"], closing, opening, salt, *rest))

    def withdraw(self, gone: str, refill: str | None, **other: object) -> None:
        facts = {"month": self.month, "cause": "leak", "reason": "it leaked", "replacement": refill} | other
        if self.second and "signature" not in other:
            unsigned = leaf.withdraw(gone, self.promised(gone), **facts)
            facts["signature"] = second_signature(self.second, unsigned)
        self.log(f"withdraw/{gone}", leaf.withdraw(gone, self.promised(gone), **facts))
        self.gone[gone] = next((name for name, tasks in self.cohorts.items() if gone in tasks), None)
        self.left.add(gone)
        for name, tasks in self.cohorts.items():
            self.cohorts[name] = [refill if t == gone else t for t in tasks if t != gone or refill]
        self.publish()

    def withdraw_broken(self, gone: str, refill: str | None, **evidence: object) -> None:
        """Withdraw a task as broken; its evidence says that the reference solution fails."""
        self.withdraw(gone, refill, cause="broken", reason="its reference solution fails")
        self.evidence.append({"task": gone} | WRONG_VERDICT | evidence)

    def sign_with(self, signer: Signer, *, careless: bool = False) -> None:
        """Sign heads with another key from now on."""
        former = [key for key in self.writer.verifiers if key != signer.verifier]
        writer = PermissiveWriter if careless else LogWriter
        self.writer = writer(
            self.folder / "log", self.folder / "head" / "signed", signer, ORIGIN, verifiers=[*former, signer.verifier]
        )
        self.signer = signer
        self.keys = list(dict.fromkeys([*self.keys, signer.verifier.vkey]))

    def hand_over(self, new: Signer, data: bytes | None = None, *, careless: bool = False) -> None:
        """Log a change of the key, correctly or in these bytes, and continue under the new one."""
        said = data or leaf.key(old=self.signer, new=new, size=len(self.leaves))
        self.log(f"key/{len(self.leaves)}", said)
        self.sign_with(new, careless=careless)
        self.publish()

    def begin(self, **facts: object) -> "Month":
        """Commit to everything and state the set, with other facts or as it is."""
        self.commit_all()
        self.state_set(**facts)
        return self

    def begin_without_reserve(self) -> "Month":
        """Begin a month in which nothing replaces a task."""
        self.spares = []
        return self.begin()

    def play_run(self, number: int, **opening: object) -> "Month":
        """Open a run and score it."""
        self.open_run(number, **opening)
        self.score(number)
        return self

    def play_aborted(self, number: int, **opening: object) -> "Month":
        """Open a run and abort it."""
        self.open_run(number, **opening)
        self.abort(number)
        return self

    def play_half(self) -> "Month":
        """Play the month up to the end of its first run, all of it published."""
        self.begin().play_run(1).publish()
        return self

    def play_across(self, new: Signer) -> "Month":
        """Play the whole month up to the turn, with a change of the key between its two runs."""
        self.play_half().hand_over(new)
        return self.play_aborted(2)

    def vary(self) -> "Month":
        """Let the first task of each cohort name a variant key."""
        for task, *_ in self.cohorts.values():
            self.tasks[task]["variant_key"] = hashlib.sha256(dice("variant", task)).hexdigest()
        return self

    def play(self, **facts: object) -> "Month":
        """Play the whole month up to the turn, honestly; its set may state further facts."""
        return self.begin(**facts).play_run(1).play_aborted(2)

    def play_withdrawing(self) -> "Month":
        """A month in which a task is refilled from the reserve between two runs, with the first of it.

        Then its rest is withdrawn, and the cohort's other task, whose stratum has none. A second person signs.
        """
        self.second = SECOND
        self.begin().open_run(1)
        first, second = self.cohorts[RETIRED]
        self.withdraw(first, self.spares[0])
        self.withdraw(self.spares[1], None)
        self.withdraw(second, None)
        self.score(1)
        return self.play_run(2)

    def plan_two_cohorts(self) -> "Month":
        """Plan two live cohorts instead of four."""
        self.plan = {"cohorts": 2, "lifetime": "P2M"}
        self.cohorts = {name: self.cohorts[name] for name in COHORTS[:2]}
        return self

    def play_turns(self) -> "Month":
        """Play three months with two live cohorts, honestly, up to the last turn: every kind of leaf, and every field.

        A task of the last cohort is withdrawn as a leak and one as broken, two from reserves, all with a second
        signature; the key is changed; the months promise spot checks; and the seed that drew the last cohort is due at
        the end.
        """
        self.plan_two_cohorts()
        self.spares += [self.invent("r2", 0), self.invent("s0", 1), self.invent("s1", 1)]
        self.tasks[self.spares[0]]["variant_key"] = hashlib.sha256(dice("variant", self.spares[0])).hexdigest()
        self.own_grammars = {self.spares[4], self.cohorts[COHORTS[1]][1]}
        for number, attempt in {1: 1, 3: 2, 4: 1, 7: 1, 8: 2, 9: 3}.items():
            self.submitters[number] = ("favourite", attempt)
        self.submitters |= {6: ("agent-2", 1), 10: ("agent-2", 1)}
        self.begin(**self.promises(3)).play_run(1, judge=JUDGE_DIGEST)
        self.open_run(2, track="unofficial")
        self.play_aborted(3).score(2)
        self.check_month()
        self.second = SECOND
        self.turn(**self.promises(5))

        first, second = self.cohorts["cohort-2027-02"]
        self.open_run(4, judge=JUDGE_DIGEST)
        self.withdraw(first, self.spares[0])
        self.score(4)
        self.play_run(5, track="endpoint", cohorts=["cohort-2027-01"])
        self.hand_over(drawn_signer("second key"))
        self.play_run(6, track="docker-model-gateway")
        self.withdraw(self.spares[2], None)
        self.check_month()
        self.turn(**self.promises(14))

        self.open_run(7)
        self.open_run(8)
        self.score(7)
        self.abort(8)
        self.withdraw_broken(second, self.spares[4])
        self.play_run(9, judge=JUDGE_DIGEST)
        self.play_run(10, track="endpoint", cohorts=["cohort-2027-02"])
        self.withdraw(self.spares[3], None)
        self.check_month()
        return self

    def promises(self, entries: int) -> dict:
        """Return what a set may state besides, with so many entries of the access log."""
        return {
            "judge": JUDGE,
            "month_key": dice("month key"),
            "access_log": (entries, commitment("access-log", dice("entry", entries), self.salt("access", entries))),
            "spot_check": commitment("spot-check", *self.spot_seed(entries)),
        }

    def spot_seed(self, entries: int) -> tuple[bytes, bytes]:
        return dice("spot", entries), self.salt("spot", entries)

    def check_month(self) -> None:
        """Let the retirement open the spot check of a month that `promises` made."""
        set_leaf = json.loads(self.leaves[self.last_set or 0])
        seed, salt = self.spot_seed(set_leaf["predicate"]["access_log"]["entries"])
        chosen = self.chosen(seed)
        judged = {"seed": seed.hex(), "salt": salt.hex(), "chosen": chosen, "judged": chosen, "differed": 0}
        self.retirement = {"spot_check": judged}

    def play_checked(self) -> "Month":
        """Play a month whose set promises a spot check; its seed samples one result, which was judged again."""
        self.play(spot_check=commitment("spot-check", SPOT_SEED, self.salt("spot"))).check()
        return self

    def check(self, **other: object) -> None:
        """Let the retirement open the spot check, correctly or not."""
        facts = {"seed": SPOT_SEED.hex(), "salt": self.salt("spot").hex(), "chosen": 1, "judged": 1, "differed": 0}
        self.retirement = {"spot_check": facts | other}

    def chosen(self, seed: bytes) -> int:
        """Count the results of the month that a seed chooses to be judged again."""
        self.publish()
        scored = [run for run in self.runs if run.tree and run.open_leaf > (self.last_set or 0)]
        root = self.writer.root(max(run.close_leaf for run in scored) + 1)
        return sum(is_chosen(seed, root, run.run, row.result["task"]) for run in scored for row in run.results)

    def due(self) -> list[str]:
        """List the withdrawn tasks that the month's release opens."""
        return [task for task, cohort in self.gone.items() if cohort in {self.sunset, None}]

    def seeds_due(self) -> dict[int, str]:
        """Return the months of the sets, by index, whose draw seeds the month's retirement opens."""
        left = self.left | set(self.cohorts[self.sunset])
        return {
            at: month for at, (month, tasks) in self.drawn.items() if at != self.last_set and left.issuperset(tasks)
        }

    def content(self) -> BundleContent:
        tasks = [self.opened(task, provenance=place == 0) for place, task in enumerate(self.cohorts[self.sunset])]
        gone = [self.opened(task, provenance=task in self.solutions) for task in self.due()]
        runs = [run.opened(self.sunset) for run in self.runs if self.sunset in run.cohorts]
        evidence = [line for line in self.evidence if line["task"] in self.due()]
        return BundleContent(self.month, self.sunset, ORIGIN, CANARY, 0, tasks, runs, gone, broken=evidence)

    def opened(self, task: str, *, provenance: bool = False) -> TaskOpening:
        document, salt = (self.provenance(task), self.salt("provenance", task)) if provenance else (None, None)
        key = dice("variant", task) if "variant_key" in self.tasks[task] else None
        return TaskOpening(self.tasks[task], self.salt(task), self.index[task], document, salt, key)

    def retire(
        self,
        change: Callable[[BundleContent], BundleContent] = lambda content: content,
        edit: Callable[[dict[str, bytes]], object] = lambda files: None,
        *,
        by_hand: bool = False,
    ) -> Path:
        """Retire, publish and write the bundle: with other content, or with files edited before they are bound."""
        content = change(self.content())
        files = content.files()
        edit(files)
        manifest = json.loads(files.pop(contents.MANIFEST))
        manifest["files"] = {n: {"bytes": len(d), "sha256": leaf.sha256_hex(d)} for n, d in files.items()}
        files[contents.MANIFEST] = canonical(manifest)
        self.log_retirement(content, files)
        folder = self.folder / f"Historical-{self.month}"
        if files == content.files() and not by_hand:
            write_bundle(folder, content, self.folder / "log")
        else:
            self.write(folder, files)
        return folder

    def log_retirement(self, content: BundleContent, files: dict[str, bytes], **other: object) -> None:
        lines = files[contents.TASKS].splitlines()
        opened = [
            {
                "id": item.document["id"],
                "commitment": self.promised(item.document["id"]).hex(),
                "sha256": leaf.sha256_hex(line),
            }
            for item, line in zip(content.tasks, lines, strict=True)
        ]
        digest = leaf.sha256_hex(files[contents.MANIFEST])
        seeds = [
            {"set": at, "seed": seed.hex(), "salt": salt.hex()}
            for at, (seed, salt) in ((at, self.draw_seed(month)) for at, month in self.seeds_due().items())
        ]
        facts = {"month": self.month, "cohort": self.sunset, "manifest": digest, "tasks": opened, "draw_seeds": seeds}
        self.log("retire", leaf.retire(**(facts | self.retirement | other)))
        self.publish()

    def turn(self, **other: object) -> Path:
        """Retire the month's cohort, draw one that is new, and state the set of the next month."""
        folder = self.end()
        self.enter()
        self.state_set(**other)
        return folder

    def end(self) -> Path:
        """Retire the month's cohort; the next month begins."""
        folder = self.retire()
        for task in self.due():
            del self.gone[task]
        for at in self.seeds_due():
            del self.drawn[at]
        self.retirement = {}
        self.left.update(self.cohorts.pop(self.sunset))
        self.month = month_text(month_number(self.month) + 1)
        return folder

    def enter(self, *tasks: str) -> None:
        """List a new cohort of these tasks, or of new ones, which are committed to."""
        cohort = f"cohort-{month_text(month_number(self.month) + self.plan['cohorts'] - 1)}"
        self.cohorts[cohort] = list(tasks) or [self.invent(f"{cohort}{place}", place) for place in (0, 1)]
        self.commit(*(task for task in self.cohorts[cohort] if task not in self.index))

    def write(self, folder: Path, files: dict[str, bytes]) -> None:
        """Write a bundle by hand, for logs of one tile."""
        size = self.writer.size
        wanted = ["checkpoint", f"tile/0/000.p/{size}", f"tile/entries/000.p/{size}"]
        wanted += [f"checkpoints/{number}" for number in self.named]
        log = {f"log/{path}": (self.folder / "log" / path).read_bytes() for path in wanted}
        for path, data in (files | log).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)


@pytest.fixture
def month(tmp_path: Path) -> Month:
    """Return a month that has not begun."""
    return Month(tmp_path)


@pytest.fixture
def memory() -> Iterator[Path]:
    """Yield a folder in memory, if there is any: what a kill leaves there is what it leaves on a disk."""
    shared = Path("/dev/shm")
    with TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture
def new_month(tmp_path: Path) -> Callable[[str], Month]:
    """Make another benchmark under the same key: a fork."""
    return lambda name: Month(tmp_path, name)


def with_other(**fields: Callable[[BundleContent], Any]) -> Callable[[BundleContent], BundleContent]:
    """Change fields of what a retirement opens."""
    return lambda content: replace(content, **{name: field(content) for name, field in fields.items()})
