"""Fixtures of a small benchmark month: four cohorts of two tasks, a log, two runs, a retirement, fixed randomness.

`Month` plays the operator. Each of its steps can be played falsely, with everything else signed and sealed as an
operator who holds the key would do it; that is what an auditor is for.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vault.commitment import commitment
from vault.ledger.release import contents
from vault.ledger.release.bundle import BundleContent, ResultOpening, RunOpening, TaskOpening, write_bundle
from vault.ledger.signatures.note import Signer
from vault.ledger.statements import leaf
from vault.ledger.statements.jcs import canonical
from vault.ledger.statements.results import in_order, results_root, totals_of
from vault.ledger.tree.merkle import set_root
from vault.ledger.write.append import LogWriter

ORIGIN = "bench.example/log"
COHORTS = ("cohort-2026-12", "cohort-2027-01", "cohort-2027-02", "cohort-2027-03")
RETIRED = COHORTS[0]
STRATA = (("filesystem", "single-tool", "easy"), ("git", "recovery", "hard"))
CANARY = "6f1f7d7e-0f5a-4d0e-9a51-2f6f4d7a9c11"


def dice(*names: object) -> bytes:
    return hashlib.sha256("/".join(map(str, names)).encode()).digest()


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


def evidence(task: dict) -> dict:
    """A reference solution that writes another file than the predicate looks for."""
    server, data = task["server"], {"kind": "file", "mode": 0o644, "data": "NDI="}
    return {
        "solution": "reference",
        "calls": [{"tool": f"{server}.write_file", "arguments": {"path": "/data/files/out.text", "content": "42"}}],
        "answer": None,
        "state": {"filesystem": {"a.txt": data | {"data": "w6k="}, "out.text": data}},
        "verdict": False,
    }


SPOT_SEED = dice("spot", 4)  # chooses one of the eight results


class PermissiveWriter(LogWriter):
    """A writer without the rules on keys: a dishonest operator who holds the keys."""

    def _require_epoch(self, head: object, fresh: object) -> None:
        pass


class Month:
    def __init__(self, folder: Path, name: str = "home") -> None:
        self.folder = folder / name
        self.signer = Signer(ORIGIN, Ed25519PrivateKey.from_private_bytes(dice("key")))
        self.writer = LogWriter(self.folder / "log", self.folder / "head" / "signed", self.signer, ORIGIN)
        self.leaves: list[bytes] = []
        self.index: dict[str, int] = {}
        self.tasks: dict[str, dict] = {}
        self.cohorts: dict[str, list[str]] = {}
        for number, cohort in enumerate(COHORTS):
            self.cohorts[cohort] = [self.invent(f"{number}{place}", place) for place in (0, 1)]
        self.spares = [self.invent(f"r{place}", 0) for place in (0, 1)]
        self.last_set: int | None = None
        self.set_root = b""
        self.gone: list[str] = []
        self.broken: dict[str, dict] = {}
        self.runs: list[RunOpening] = []
        self.named: set[int] = set()
        self.retirement: dict[str, object] = {}

    @property
    def keys(self) -> list[str]:
        return [self.signer.verifier.vkey]

    def invent(self, seed: str, place: int) -> str:
        letters = "abcdefghijklmnopqrstuvwxyz234567"
        name = "t-" + "".join(letters[byte % 32] for byte in dice("id", seed)[:16])
        self.tasks[name] = task_document(name, place)
        return name

    def salt(self, *names: object) -> bytes:
        return dice("salt", *names)

    def promised(self, task: str) -> bytes:
        return commitment("commit", canonical(self.tasks[task]), self.salt(task))

    def log(self, key: str, data: bytes) -> int:
        self.index[key] = len(self.leaves)
        self.leaves.append(data)
        return self.index[key]

    def publish(self) -> None:
        self.writer.append(self.leaves, 0)

    def commit(self, *tasks: str) -> None:
        for task in tasks:
            provenance = commitment("provenance", canonical({"grammar": task}), self.salt("provenance", task))
            data = leaf.commit(task, self.promised(task), spec="1.0.0", provenance=provenance, public_grammar=True)
            self.log(task, data)

    def commit_all(self) -> None:
        self.commit(*(task for tasks in self.cohorts.values() for task in tasks), *self.spares)
        self.publish()

    def state_set(self, month: str = "2026-12", **other: object) -> None:
        live = {task for tasks in self.cohorts.values() for task in tasks}
        self.set_root = set_root(map(self.promised, live))
        reserve = [self.promised(task).hex() for task in self.spares if task not in live]
        facts = {
            "month": month,
            "root": self.set_root,
            "previous": self.last_set,
            "cohorts": [self.as_cohort(name) for name in self.cohorts],
            "reserve": {"/".join(STRATA[0]): reserve},
            "counts": {"unseen": 0, "seen": len(live)},
            "next_draw": commitment("draw-seed", dice("seed"), self.salt("draw")),
            "public_grammar": True,
        }
        self.last_set = self.log(f"set/{month}", leaf.set_of_tasks(**(facts | other)))
        self.publish()

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
            "month": "2026-12",
            "track": "docker",
            "set_root": self.set_root,
            "cohorts": list(self.cohorts),
            "size": head.size,
            "root": head.root,
        }
        self.named.add((facts | other)["size"])
        self.log(f"open/{number}", leaf.run_open(**(facts | other)))
        self.publish()

    def opening(self, number: int) -> dict:
        return {"submitter": f"agent-{number}", "submission": "sha256:" + dice("image").hex(), "attempt": 1}

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
        }

    def score(self, number: int, members: dict[str, list[str]] | None = None, **other: object) -> None:
        served = [(cohort, task) for cohort, tasks in (members or self.cohorts).items() for task in tasks]
        rows = [self.result(number, cohort, task) for cohort, task in served]
        salts = [self.salt("result", number, task) for _, task in served]
        bound = [commitment("result", canonical(row), salt) for row, salt in zip(rows, salts, strict=True)]
        tree = in_order(zip((self.promised(task) for _, task in served), bound, strict=True))
        totals = {name: totals_of(number, name, [r for r in rows if r["cohort"] == name]) for name in self.cohorts}
        facts = {
            "run": number,
            "month": "2026-12",
            "track": "docker",
            "count": len(rows),
            "results_root": results_root(tree),
            "totals": [
                (n, commitment("totals", canonical(t), self.salt("totals", number, n))) for n, t in totals.items()
            ],
        }
        closing = self.log(f"score/{number}", leaf.score(**(facts | other)))
        opened = [
            ResultOpening(tree.index(item), row, salt)
            for row, salt, item in zip(rows, salts, bound, strict=True)
            if row["cohort"] == RETIRED
        ]
        self.runs.append(
            RunOpening(
                number,
                self.index[f"open/{number}"],
                closing,
                self.opening(number),
                self.salt("run", number),
                tree,
                opened,
                totals[RETIRED],
                self.salt("totals", number, RETIRED),
            )
        )

    def abort(self, number: int) -> None:
        hidden = commitment("run-open", canonical(self.opening(number)), self.salt("run", number))
        data = leaf.abort(run=number, month="2026-12", reason="ours", commitment=hidden)
        self.runs.append(
            RunOpening(
                number,
                self.index[f"open/{number}"],
                self.log(f"abort/{number}", data),
                self.opening(number),
                self.salt("run", number),
            )
        )

    def withdraw(self, gone: str, refill: str | None, cause: str = "broken") -> None:
        reason = "it leaked" if cause == "leak" else "it judges wrongly"
        facts = {"month": "2026-12", "cause": cause, "reason": reason, "replacement": refill}
        self.log(f"withdraw/{gone}", leaf.withdraw(gone, self.promised(gone), **facts))
        if cause == "broken":
            self.broken[gone] = evidence(self.tasks[gone])
        for name, tasks in self.cohorts.items():
            self.cohorts[name] = [refill if t == gone else t for t in tasks if t != gone or refill]
        self.gone.append(gone)
        self.publish()

    def sign_with(self, signer: Signer, *, careless: bool = False) -> None:
        """Sign heads with another key from now on."""
        former = [one for one in self.writer.verifiers if one != signer.verifier]
        writer = PermissiveWriter if careless else LogWriter
        self.writer = writer(self.folder / "log", self.folder / "head" / "signed", signer, ORIGIN, former=former)
        self.signer = signer

    def hand_over(self, new: Signer, data: bytes | None = None, *, careless: bool = False) -> None:
        """Log a change of the key, correctly or in these bytes, and continue under the new one."""
        said = data or leaf.key(old=self.signer, new=new, size=len(self.leaves))
        self.log(f"key/{len(self.leaves)}", said)
        self.sign_with(new, careless=careless)
        self.publish()

    def begin(self) -> "Month":
        """Commit to everything and state the set."""
        self.commit_all()
        self.state_set()
        return self

    def play_half(self) -> "Month":
        """Play the month up to the end of its first run, all of it published."""
        self.begin()
        self.open_run(1)
        self.score(1)
        self.publish()
        return self

    def play_across(self, new: Signer, data: bytes | None = None, *, careless: bool = False) -> "Month":
        """Play the whole month up to the turn, with a change of the key between its two runs."""
        self.play_half()
        self.hand_over(new, data, careless=careless)
        self.open_run(2)
        self.abort(2)
        return self

    def vary(self) -> "Month":
        """Let the first task of each cohort name a variant key."""
        for task, *_ in self.cohorts.values():
            self.tasks[task]["variant_key"] = hashlib.sha256(dice("variant", task)).hexdigest()
        return self

    def play(self) -> "Month":
        """Play the whole month up to the turn, honestly."""
        self.begin()
        self.open_run(1)
        self.score(1)
        self.open_run(2)
        self.abort(2)
        return self

    def play_withdrawing(self, refill: int | None = 0) -> "Month":
        """A month in which a task is refilled from the reserve between two runs; honestly, with the first of it.

        It was broken. Then the rest of the reserve is withdrawn, which leaked, and the cohort's other task, which was
        broken too and whose stratum has no reserve.
        """
        self.begin()
        self.open_run(1)
        before = {name: list(tasks) for name, tasks in self.cohorts.items()}
        first, second = self.cohorts[RETIRED]
        self.withdraw(first, None if refill is None else self.spares[refill])
        if refill == 0:
            self.withdraw(self.spares[1], None, "leak")
            self.withdraw(second, None)
        self.score(1, before)
        self.open_run(2)
        self.score(2)
        return self

    def play_checked(self) -> "Month":
        """Play a month whose set promises a spot check; its seed samples one result, which was judged again."""
        self.commit_all()
        self.state_set(spot_check=commitment("spot-check", SPOT_SEED, self.salt("spot")))
        self.open_run(1)
        self.score(1)
        self.open_run(2)
        self.abort(2)
        self.check()
        return self

    def check(self, **other: object) -> None:
        """Let the retirement open the spot check, correctly or not."""
        facts = {"seed": SPOT_SEED.hex(), "salt": self.salt("spot").hex(), "chosen": 1, "judged": 1, "differed": 0}
        self.retirement = {"spot_check": facts | other}

    def content(self) -> BundleContent:
        tasks = [self.opened(task, provenance=place == 0) for place, task in enumerate(self.cohorts[RETIRED])]
        gone = [replace(self.opened(task), broken=self.broken.get(task)) for task in self.gone]
        return BundleContent("2026-12", RETIRED, ORIGIN, CANARY, 0, tasks, self.runs, gone)

    def opened(self, task: str, *, provenance: bool = False) -> TaskOpening:
        document, salt = ({"grammar": task}, self.salt("provenance", task)) if provenance else (None, None)
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
        folder = self.folder / "Historical-2026-12"
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
        facts = {"month": "2026-12", "cohort": RETIRED, "manifest": digest, "tasks": opened}
        self.log("retire", leaf.retire(**(facts | self.retirement | other)))
        self.publish()

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
    """Give a month that has not begun."""
    return Month(tmp_path)


@pytest.fixture
def new_month(tmp_path: Path) -> Callable[[str], Month]:
    """Make another benchmark under the same key: a fork."""
    return lambda name: Month(tmp_path, name)


@pytest.fixture
def other_content() -> Callable[..., Callable[[BundleContent], BundleContent]]:
    """Change fields of what a retirement opens."""
    return lambda **fields: lambda content: replace(content, **{k: f(content) for k, f in fields.items()})
