"""State of the log after each leaf: what was promised, served and closed, and what may come next.

`LogState.take` reads one leaf after the other and refuses one that contradicts those before it, by
the rules of `rules.py`. The writer of the log asks it before it signs, the audit before it believes.
It knows no task: what only shows when tasks and runs are opened is checked there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from vault.commitment import opens
from vault.errors import Malformed
from vault.ledger.signatures.note import Verifier, decode_base64
from vault.ledger.statements.jcs import canonical
from vault.ledger.statements.rules import agree, disagreement
from vault.ledger.statements.statement import LoggedStatement, Statement
from vault.ledger.tree.merkle import set_root

SPECS = ("1.0.0",)
ALL_COHORTS = ("docker", "docker-model-gateway", "unofficial")  # tracks served all that is live
NEXT_COHORT = ("endpoint",)  # tracks served what retires next, alone


@dataclass(slots=True)
class LoggedRun:
    """A run: the leaf that opened it, its set, the tasks it was served, and the leaf that closed it."""

    open: LoggedStatement
    set: LoggedStatement
    served: Mapping[str, tuple[str, ...]] = field(repr=False)
    close: LoggedStatement | None = None

    @property
    def scored(self) -> bool:
        """Whether it ended with a score."""
        return self.close is not None and self.close.statement.kind == "score"


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A withdrawal: its leaf, the cohort that the task left, and what was next in each reserve."""

    leaf: LoggedStatement
    cohort: str | None  # None: it left a reserve
    reserve: Mapping[str, str] = field(repr=False)  # the next commitment, by stratum


@dataclass(frozen=True, slots=True)
class Retirement:
    """A retirement: its leaf, the last set before it, and the withdrawals that it opens."""

    leaf: LoggedStatement
    set: LoggedStatement
    withdrawals: tuple[Withdrawal, ...]


class LogState:
    """What the leaves up to now say.

    Attributes:
        origin: the log's origin line.
        size: how many leaves were taken.
        kinds: how many statements of each kind were.
        commits: the `commit` leaf of each task.
        task_of: the task of each commitment.
        sets: the `set` leaves.
        live: the tasks of each live cohort, in promised order.
        runs: all runs, by number.
        withdrawals, retirements: in order.
        keys: each key of the log with the index of the leaf that introduced it, 0 for the first; none
            before the first change, unless the caller adds the key that signed the head.
    """

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.size = 0
        self.kinds: dict[str, int] = {}
        self.commits: dict[str, LoggedStatement] = {}
        self.task_of: dict[str, str] = {}
        self.sets: list[LoggedStatement] = []
        self.live: dict[str, list[str]] = {}
        self.runs: dict[int, LoggedRun] = {}
        self.withdrawals: list[Withdrawal] = []
        self.retirements: list[Retirement] = []
        self.keys: list[tuple[int, str]] = []
        self._open: set[int] = set()  # runs
        self._served: set[str] = set()  # tasks that ever were in a cohort
        self._left: set[str] = set()  # tasks that retired or were withdrawn
        self._past: set[str] = set()  # cohorts that retired
        self._gaps: dict[str, int] = {}  # empty places of a cohort
        self._seeds: set[str] = set()  # commitments to seeds
        self._drawn: dict[int, set[str]] = {}  # by set: private tasks of a draw seed not opened yet
        self._opened_withdrawals = 0

    def take(self, leaf: bytes) -> LoggedStatement:
        """Read the next leaf.

        Raises:
            Malformed: it is no statement.
            Broken: it contradicts a leaf before it, or itself.
        """
        what = f"leaf {self.size}"
        entry = LoggedStatement(self.size, Statement.parse(leaf, what))
        kind = entry.statement.kind
        if kind not in {"commit", "set", "key"} and not self.sets:
            raise disagreement("run.set", what, "set", kind)
        try:
            takes = {"commit": self._commit, "set": self._set, "key": self._key}
            takes |= {"run-open": self._run_open, "score": self._score, "abort": self._abort}
            takes |= {"withdraw": self._withdraw, "retire": self._retire}
            takes[kind](entry, entry.says)
        except Malformed as error:
            raise error.with_message(f"{what}: {error}", what) from None
        self.size += 1
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        return entry

    def key_at(self, size: int) -> str:
        """Give the key that signs trees of a size."""
        return next(key for start, key in reversed(self.keys) if start < size or not start)

    def require_key(self, size: int, signed: Collection[str], where: str) -> None:
        """Check that a tree is signed by the key of its size, and by no other of the log's keys."""
        found = [key for _, key in self.keys if key in signed]
        agree("head.key", where, [self.key_at(size)], found)

    # -- one method for each kind of statement

    def _commit(self, entry: LoggedStatement, says: Mapping[str, Any]) -> None:
        where = f"leaf {entry.index}"
        if (first := self.commits.get(entry.name)) is not None:
            raise disagreement("commit.once", f"{where}: {entry.name}", None, f"leaf {first.index}")
        if entry.digest in self.task_of:
            other = self.task_of[entry.digest]
            raise disagreement("commit.digest", f"{where}: $.subject[0].digest", other, entry.name)
        if says["spec"] not in SPECS:
            raise disagreement("commit.spec", f"{where}: $.predicate.spec", SPECS, says["spec"])
        self.commits[entry.name] = entry
        self.task_of[entry.digest] = entry.name
        if self.sets:
            self._drawn[self.sets[-1].index].add(entry.name)

    def _set(self, entry: LoggedStatement, says: Mapping[str, Any]) -> None:
        where, last = f"leaf {entry.index}: $.predicate", self.sets[-1] if self.sets else None
        agree("statement.subject", f"leaf {entry.index}", f"set/{says['month']}", entry.name)
        agree("set.previous", f"{where}.previous", last and last.index, says["previous"])
        if last:
            following = month_text(month_number(last.says["month"]) + 1)
            agree("set.month", f"{where}.month", following, says["month"])
            agree("set.plan.same", f"{where}.plan", last.says["plan"], says["plan"])
        _require_plan(where, says)
        _require_counts(where, says)
        self._require_tasks(where, says)
        self._require_roots(where, entry)
        self._require_reserve(where, says)
        tasks = [task for item in says["cohorts"] for task in item["tasks"]]
        public = any(self.commits[task].says["public_grammar"] for task in tasks)
        agree("set.public", f"{where}.public_grammar", public, says["public_grammar"])
        for name in ("next_draw", "spot_check"):
            if says.get(name) in self._seeds:
                raise disagreement("set.seeds", f"{where}.{name}", None, says[name])
            self._seeds.update([says[name]] if name in says else [])
        before = last.says.get("access_log", {}).get("entries", 0) if last else 0
        if "access_log" in says and says["access_log"]["entries"] < before:
            place, entries = f"{where}.access_log.entries", says["access_log"]["entries"]
            raise disagreement("set.access_log", place, f"{before} or more", entries)
        self.sets.append(entry)
        self.live = {item["id"]: list(item["tasks"]) for item in says["cohorts"]}
        self._served.update(tasks)
        self._drawn[entry.index] = set()

    def _run_open(self, entry: LoggedStatement, says: Mapping[str, Any]) -> None:
        where, last, number = f"leaf {entry.index}: $.predicate", self.sets[-1], says["run"]
        agree("statement.subject", f"leaf {entry.index}", f"run/{number}", entry.name)
        if number in self.runs:
            raise disagreement("run.once", f"{where}.run", None, f"leaf {self.runs[number].open.index}")
        agree("run.month", f"{where}.month", last.says["month"], says["month"])
        agree("run.root", f"{where}.set", last.digest, says["set"])
        if says["track"] not in (*ALL_COHORTS, *NEXT_COHORT):
            tracks = [*ALL_COHORTS, *NEXT_COHORT]
            raise disagreement("run.track", f"{where}.track", tracks, says["track"])
        names = sorted(self.live) if says["track"] in ALL_COHORTS else sorted(self.live)[:1]
        agree("run.cohorts", f"{where}.cohorts", names, sorted(says["cohorts"]))
        size = says["checkpoint"]["size"]
        if not last.index < size <= entry.index:
            sizes = f"{last.index + 1} to {entry.index}"
            raise disagreement("run.checkpoint", f"{where}.checkpoint.size", sizes, size)
        if "judge" in says:
            judge = last.says.get("judge")
            digest = sha256(canonical(judge)).hexdigest() if judge else None
            agree("run.judge", f"{where}.judge", digest, says["judge"])
        served = {name: tuple(self.live[name]) for name in says["cohorts"]}
        self.runs[number] = LoggedRun(entry, last, served)
        self._open.add(number)

    def _score(self, entry: LoggedStatement, says: Mapping[str, Any]) -> None:
        where, run = f"leaf {entry.index}: $.predicate", self._close(entry, says)
        agree("statement.subject", f"leaf {entry.index}", says["results_root"], entry.digest)
        agree("close.same", f"{where}.track", run.open.says["track"], says["track"])
        agree("score.count", f"{where}.count", sum(map(len, run.served.values())), says["count"])
        totals = [item["cohort"] for item in says["totals"]]
        agree("score.totals", f"{where}.totals", run.open.says["cohorts"], totals)

    def _abort(self, entry: LoggedStatement, says: Mapping[str, Any]) -> None:
        run = self._close(entry, says)
        agree("statement.subject", f"leaf {entry.index}", run.open.digest, entry.digest)

    def _close(self, entry: LoggedStatement, says: Mapping[str, Any]) -> LoggedRun:
        where, number = f"leaf {entry.index}: $.predicate", says["run"]
        agree("statement.subject", f"leaf {entry.index}", f"run/{number}", entry.name)
        if number not in self._open:
            run = self.runs.get(number)
            found = f"leaf {run.close.index}" if run and run.close else None
            raise disagreement("close.run", f"{where}.run", "a run that is open", found)
        run = self.runs[number]
        agree("close.same", f"{where}.month", run.open.says["month"], says["month"])
        run.close = entry
        self._open.remove(number)
        return run

    def _withdraw(self, entry: LoggedStatement, says: Mapping[str, Any]) -> None:
        where, task = f"leaf {entry.index}: $.predicate", entry.name
        if task not in self.commits or task in self._left:
            state = "it has left" if task in self._left else None
            raise disagreement("withdraw.task", f"leaf {entry.index}: {task}", "a task", state)
        digest = self.commits[task].digest
        agree("withdraw.task", f"leaf {entry.index}: $.subject[0].digest", digest, entry.digest)
        agree("run.month", f"{where}.month", self.sets[-1].says["month"], says["month"])
        cohort = next((name for name, tasks in self.live.items() if task in tasks), None)
        self._left.add(task)
        reserve = self._next_in_reserve() if cohort else {}
        refill = says["replacement"]
        commit = self.commits.get(refill) if refill else None
        if refill and (commit is None or commit.digest not in reserve.values()):
            found = {"task": refill, "commitment": commit and commit.digest}
            where = f"{where}.replacement"
            raise disagreement("withdraw.refill", where, sorted(reserve.values()), found)
        if cohort:
            place, filled = self.live[cohort].index(task), [refill] if refill else []
            self.live[cohort][place : place + 1] = filled
            self._served.update(filled)
            self._gaps[cohort] = self._gaps.get(cohort, 0) + (not refill)
        self.withdrawals.append(Withdrawal(entry, cohort, reserve))

    def _retire(self, entry: LoggedStatement, says: Mapping[str, Any]) -> None:
        where, last, cohort = f"leaf {entry.index}: $.predicate", self.sets[-1], says["cohort"]
        name = f"Historical-{says['month']}"
        agree("statement.subject", f"leaf {entry.index}", name, entry.name)
        month = last.says["month"]
        agree("retire.cohort", f"{where}.month", month, says["month"])
        agree("retire.cohort", f"{where}.cohort", f"cohort-{month}", cohort)
        if cohort not in self.live:
            raise disagreement("retire.cohort", f"{where}.cohort", sorted(self.live), cohort)
        tasks = [{"id": task, "commitment": self.commits[task].digest} for task in self.live[cohort]]
        stated = [{key: task[key] for key in ("id", "commitment")} for task in says["tasks"]]
        agree("retire.tasks", f"{where}.tasks", tasks, stated)
        agree("retire.runs", f"the runs open at leaf {entry.index}", [], sorted(self._open))
        _require_spot_check(where, last, says)
        self._left.update(self.live.pop(cohort))
        self._past.add(cohort)
        self._open_seeds(where, says)
        due = self.withdrawals[self._opened_withdrawals :]
        past = [item for item in self.withdrawals[: self._opened_withdrawals] if item.cohort == cohort]
        opened = (*past, *(item for item in due if item.cohort in {cohort, None}))
        self._opened_withdrawals = len(self.withdrawals)
        self.retirements.append(Retirement(entry, last, opened))

    def _key(self, entry: LoggedStatement, _: Mapping[str, Any]) -> None:
        where = f"leaf {entry.index}: $.predicate"
        old, new = handover(self.origin, entry)
        agree("key.order", f"{where}.old", self.keys[-1][1] if self.keys else old, old)
        self.keys = self.keys or [(0, old)]
        if new in [key for _, key in self.keys]:
            raise disagreement("key.order", f"{where}.new", "a new key", new)
        self.keys.append((entry.index, new))

    # -- parts of a set and of a retirement

    def _require_tasks(self, where: str, says: Mapping[str, Any]) -> None:
        listed = {item["id"]: item["tasks"] for item in says["cohorts"]}
        for name, tasks in self.live.items():
            agree("set.live", f"{where}.cohorts: {name}", tasks, listed.get(name))
        for name, tasks in listed.items():
            if name in self._past:
                raise disagreement("set.live", f"{where}.cohorts", "no cohort that retired", name)
            for task in tasks if name not in self.live else ():
                if task not in self.commits or task in self._served or task in self._left:
                    raise disagreement("set.tasks", f"{where}.cohorts: {name}", "a new task", task)

    def _require_roots(self, where: str, entry: LoggedStatement) -> None:
        roots = {}
        for item in entry.says["cohorts"]:
            digests = [bytes.fromhex(self.commits[task].digest) for task in item["tasks"]]
            agree("set.root", f"{where}.cohorts: {item['id']}", set_root(digests).hex(), item["root"])
            roots[item["id"]] = digests
        root = set_root(digest for digests in roots.values() for digest in digests).hex()
        agree("set.root", f"leaf {entry.index}: $.subject[0].digest", root, entry.digest)
        sizes = {name: len(digests) + self._gaps.get(name, 0) for name, digests in roots.items()}
        if max(sizes.values()) - min(sizes.values()) > 1:
            raise disagreement("set.share", f"{where}.cohorts", "equal numbers, within one", sizes)

    def _require_reserve(self, where: str, says: Mapping[str, Any]) -> None:
        live = {task for item in says["cohorts"] for task in item["tasks"]}
        seen: set[str] = set()
        for stratum, digests in says["reserve"].items():
            if digests and stratum.split("/")[0] not in says["servers"]:
                raise disagreement("set.servers", f"{where}.servers", stratum.split("/")[0])
            for digest in digests:
                task = self.task_of.get(digest)
                if task is None or task in live | self._served | self._left or digest in seen:
                    raise disagreement("set.reserve", f"{where}.reserve: {stratum}", None, digest)
                seen.add(digest)

    def _next_in_reserve(self) -> dict[str, str]:
        reserve = self.sets[-1].says["reserve"]
        used = self._served | self._left
        left = {key: [d for d in row if self.task_of[d] not in used] for key, row in reserve.items()}
        return {stratum: digests[0] for stratum, digests in left.items() if digests}

    def _open_seeds(self, where: str, says: Mapping[str, Any]) -> None:
        """Check that exactly the seeds are opened of which no task is private any more."""
        due = [at for at in list(self._drawn)[:-1] if not self._drawn[at] - self._left]
        opened = says.get("draw_seeds", [])
        agree("retire.draw_seeds", f"{where}.draw_seeds", due, [item["set"] for item in opened])
        promised = {entry.index: entry.says["next_draw"] for entry in self.sets}
        for item in opened:
            seed, salt = bytes.fromhex(item["seed"]), bytes.fromhex(item["salt"])
            if not opens("draw-seed", seed, salt, bytes.fromhex(promised[item["set"]])):
                place = f"{where}.draw_seeds: set {item['set']}"
                raise disagreement("retire.draw_seeds", place, promised[item["set"]], item)
            del self._drawn[item["set"]]


def handover(origin: str, entry: LoggedStatement) -> tuple[str, str]:
    """Give the old and the new key of a `key` statement that both signed.

    Raises:
        Broken: it is of another log, stands elsewhere than it says, or is not signed by both.
    """
    where, says = f"leaf {entry.index}: $.predicate", entry.says
    old, new = Verifier.parse(says["old"]), Verifier.parse(says["new"])
    names = [entry.name, old.name, new.name]
    agree("key.names", f"leaf {entry.index}: the names", [origin] * 3, names)
    digest = sha256(new.public).hexdigest()
    agree("key.names", f"leaf {entry.index}: $.subject[0].digest", digest, entry.digest)
    agree("key.names", f"{where}.size", entry.index, says["size"])
    text = handover_text(old.vkey, new.vkey, says["size"])
    for word, key in (("old", old), ("new", new)):
        signature = decode_base64(says["signatures"][word], f"{where}.signatures.{word}")
        if not key.accepts(text, signature):
            signed = {"key": key.vkey, "text": text.decode()}
            raise disagreement("key.signatures", f"{where}.signatures.{word}", signed, signature)
    return old.vkey, new.vkey


def handover_text(old: str, new: str, size: int) -> bytes:
    """Give the text that both keys sign; it is no checkpoint, whose second line is a number."""
    return f"quarterturn/log-key/v1\n{old}\n{new}\n{size}\n".encode()


def month_number(month: str) -> int:
    """Count months from year 0, so that the following month is one more."""
    return int(month[:4]) * 12 + int(month[5:]) - 1


def month_text(number: int) -> str:
    """Write a counted month as YYYY-MM."""
    return f"{number // 12:04d}-{number % 12 + 1:02d}"


def _require_plan(where: str, says: Mapping[str, Any]) -> None:
    """As many cohorts as planned retire at equal distances; the first of them before the next would."""
    count, lifetime = says["plan"]["cohorts"], says["plan"]["lifetime"]
    months = int(lifetime[1:-1]) * {"M": 1, "Y": 12}.get(lifetime[-1], 0)
    step, rest = divmod(months, count)
    if rest or not step:
        place = f"{where}.plan.lifetime"
        raise disagreement("set.plan", place, f"a multiple of {count} months", lifetime)
    retire = sorted(month_number(item["retires"]) for item in says["cohorts"])
    first = min(max(retire[0] if retire else 0, start := month_number(says["month"])), start + step - 1)
    expected = [month_text(first + step * place) for place in range(count)]
    agree("set.plan", f"{where}.cohorts", expected, [month_text(number) for number in retire])


def _require_counts(where: str, says: Mapping[str, Any]) -> None:
    total = 0
    for place, item in enumerate(says["cohorts"]):
        path = f"{where}.cohorts[{place}]"
        agree("set.cohort", f"{path}.id", f"cohort-{item['retires']}", item["id"])
        agree("set.counts", f"{path}.count", len(set(item["tasks"])), item["count"])
        total += item["count"]
    agree("set.counts", f"{where}.count", total, says["count"])
    listed = {task for item in says["cohorts"] for task in item["tasks"]}
    agree("set.counts", f"{where}.cohorts: the tasks", total, len(listed))
    agree("set.counts", f"{where}.counts", total, sum(says["counts"].values()))


def _require_spot_check(where: str, last: LoggedStatement, says: Mapping[str, Any]) -> None:
    promised, opened = last.says.get("spot_check"), says.get("spot_check")
    if promised is None or opened is None:
        agree("retire.spot_check", f"{where}.spot_check", promised, opened)
        return
    seed, salt = bytes.fromhex(opened["seed"]), bytes.fromhex(opened["salt"])
    if not opens("spot-check", seed, salt, bytes.fromhex(promised)):
        raise disagreement("retire.spot_check", f"{where}.spot_check", promised, opened)
    counts = [opened[name] for name in ("differed", "judged", "chosen")]
    agree("retire.counts", f"{where}.spot_check", sorted(counts), counts)


def introduced(origin: str, leaves: Iterable[bytes], keys: Sequence[str]) -> str | None:
    """Say which leaf hands the log over from a given key to the one that signs now, if one does."""
    known, explanation = list(keys), None
    for index, leaf in enumerate(leaves):
        if b'"urn:quarterturn:key:v1"' not in leaf:
            continue
        old, new = handover(origin, LoggedStatement(index, Statement.parse(leaf)))
        if old in known and new not in known:
            explanation = (
                f"leaf {index} hands the log over from {old} to {new}, and both signed that; keys "
                "come from the caller alone: ask whoever gave you the old key, and give both (--key)"
            )
            known.append(new)
    return explanation
