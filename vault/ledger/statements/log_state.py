"""State of the log after each leaf: what was promised, served and closed, and what may come next.

`LogState.take` reads one leaf after the other and refuses one that contradicts those before it, by
the rules of `rules.py`. The writer of the log asks it before it signs, the audit before it believes.
It knows no task: what only shows when tasks and runs are opened is checked there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from vault.commitment import commitment
from vault.errors import Malformed
from vault.ledger.signatures.note import Verifier, decode_base64
from vault.ledger.signatures.sshsig import signed_data
from vault.ledger.statements.jcs import canonical
from vault.ledger.statements.rules import agree, disagreement, require
from vault.ledger.statements.statement import LoggedStatement, Statement
from vault.ledger.tree.merkle import set_root

SPECS = ("1.0.0",)
ALL_COHORTS = ("docker", "docker-model-gateway", "docker-judged", "unofficial")  # tracks served all that is live
NEXT_COHORT = ("endpoint",)  # tracks served what retires next, alone
WITHDRAWAL = "quarterturn-withdrawal"  # the namespace of the second signature


@dataclass(slots=True)
class LoggedRun:
    """A run: the leaf that opened it, its set, the tasks it was served, the leaf that closed it."""

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
    withdrawals: Sequence[Withdrawal]


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
        self._second: dict[str, list[str]] = {}  # keys that sign withdrawals, by live cohort
        self._drawn: dict[int, set[str]] = {}  # by set: tasks of a draw seed that is not opened yet
        self._opened = 0  # withdrawals that a retirement had the chance to open

    def take(self, leaf: bytes) -> LoggedStatement:
        """Read the next leaf.

        Raises:
            Malformed: it is no statement.
            Broken: it contradicts a leaf before it, or itself.
        """
        what = f"leaf {self.size}"
        entry = LoggedStatement(self.size, Statement.parse(leaf, what))
        kind = entry.statement.kind
        require("run.set", bool(self.sets) or kind in {"commit", "set", "key"}, what, "set", kind)
        takes: dict[str, Callable[[LoggedStatement, Mapping[str, Any]], object]]
        takes = {"commit": self._commit, "set": self._set, "run-open": self._run_open}
        takes |= {"score": self._score, "abort": self._abort, "withdraw": self._withdraw}
        takes |= {"retire": self._retire, "key": self._key}
        try:
            takes[kind](entry, entry.says)
        except Malformed as error:  # a broken rule names its place itself
            raise error.with_message(f"{what}: {error}", what) from None
        self.size += 1
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        return entry

    def key_at(self, size: int) -> str:
        """Return the key that signs trees of a size."""
        return next(key for start, key in reversed(self.keys) if start < size or not start)

    def require_key(self, size: int, signed: Collection[str], where: str) -> None:
        """Check that a tree is signed by the key of its size, and by no other of the log's keys."""
        found = [key for _, key in self.keys if key in signed]
        agree("head.key", where, [self.key_at(size)], found)

    def withdrawal_keys(self, task: str) -> list[str]:
        """Return the keys of which one must sign the withdrawal of a task, if there are any.

        They are those of the first set with keys in which its cohort was live, whatever later sets name; of a task in
        reserve, those of the last set.
        """
        cohort = next((name for name, tasks in self.live.items() if task in tasks), None)
        return self._second[cohort] if cohort else list(self.sets[-1].says["withdrawal_keys"])

    # -- one method for each kind of statement

    def _commit(self, entry: LoggedStatement, says: Mapping[str, Any]) -> None:
        first = self.commits.get(entry.name)
        agree("commit.once", f"{entry.where}: {entry.name}", None, first and first.where)
        other = self.task_of.get(entry.digest)
        agree("commit.digest", f"{entry.where}: {entry.digest}", None, other)
        require("commit.spec", says["spec"] in SPECS, entry.at("spec"), SPECS, says["spec"])
        self.commits[entry.name] = entry
        self.task_of[entry.digest] = entry.name
        if self.sets:
            self._drawn[self.sets[-1].index].add(entry.name)

    def _set(self, entry: LoggedStatement, says: Mapping[str, Any]) -> None:
        last = self.sets[-1] if self.sets else None
        agree("statement.subject", entry.where, f"set/{says['month']}", entry.name)
        agree("set.previous", entry.at("previous"), last and last.index, says["previous"])
        if last:
            following = month_text(month_number(last.says["month"]) + 1)
            agree("set.month", entry.at("month"), following, says["month"])
            agree("set.plan.same", entry.at("plan"), last.says["plan"], says["plan"])
        _require_plan(entry, says)
        _require_counts(entry, says)
        tasks = self._require_tasks(entry, says)
        self._require_roots(entry, says)
        self._require_reserve(entry, says, set(tasks))
        public = any(self.commits[task].says["public_grammar"] for task in tasks)
        agree("set.public", entry.at("public_grammar"), public, says["public_grammar"])
        for name in [name for name in ("next_draw", "spot_check") if name in says]:
            require("set.seeds", says[name] not in self._seeds, entry.at(name), None, says[name])
            self._seeds.add(says[name])
        statements = (last.says if last else {}, says)
        least, entries = (item.get("access_log", {}).get("entries", 0) for item in statements)
        where = entry.at("access_log")
        require("set.access_log", entries >= least, where, f"{least} or more", entries)
        keys, where = says["withdrawal_keys"], entry.at("withdrawal_keys")
        vkeys = dict.fromkeys(Verifier.parse(key).vkey for key in keys)
        agree("set.keys", where, list(vkeys), keys)
        self.sets.append(entry)
        self.live = {item["id"]: list(item["tasks"]) for item in says["cohorts"]}
        self._second = {cohort: self._second.get(cohort) or keys for cohort in self.live}
        self._served.update(tasks)
        self._drawn[entry.index] = set()

    def _run_open(self, entry: LoggedStatement, says: Mapping[str, Any]) -> None:
        last, number = self.sets[-1], says["run"]
        agree("statement.subject", entry.where, f"run/{number}", entry.name)
        where, known = entry.at("run"), self.runs.get(number)
        agree("run.once", where, None, known and known.open.where)
        least = next(reversed(self.runs), 0) + 1
        require("run.number", number >= least, where, f"{least} or more", number)
        self._require_month(entry)
        agree("run.root", entry.at("set"), last.digest, says["set"])
        track, tracks = says["track"], ALL_COHORTS + NEXT_COHORT
        require("run.track", track in tracks, entry.at("track"), tracks, track)
        names = sorted(self.live) if track in ALL_COHORTS else sorted(self.live)[:1]
        agree("run.cohorts", entry.at("cohorts"), names, sorted(says["cohorts"]))
        size = says["checkpoint"]["size"]
        where, sizes = entry.at("checkpoint.size"), f"{last.index + 1} to {entry.index}"
        require("run.checkpoint", last.index < size <= entry.index, where, sizes, size)
        if "judge" in says:
            judge = last.says.get("judge")
            digest = sha256(canonical(judge)).hexdigest() if judge else None
            agree("run.judge", entry.at("judge"), digest, says["judge"])
        served = {name: tuple(self.live[name]) for name in says["cohorts"]}
        self.runs[number] = LoggedRun(entry, last, served)
        self._open.add(number)

    def _score(self, entry: LoggedStatement, says: Mapping[str, Any]) -> None:
        run = self._close(entry, says)
        agree("statement.subject", entry.where, says["results_root"], entry.digest)
        agree("close.same", entry.at("track"), run.open.says["track"], says["track"])
        agree("score.count", entry.at("count"), sum(map(len, run.served.values())), says["count"])
        totals = [item["cohort"] for item in says["totals"]]
        agree("score.totals", entry.at("totals"), run.open.says["cohorts"], totals)

    def _abort(self, entry: LoggedStatement, says: Mapping[str, Any]) -> None:
        run = self._close(entry, says)
        agree("statement.subject", entry.where, run.open.digest, entry.digest)

    def _close(self, entry: LoggedStatement, says: Mapping[str, Any]) -> LoggedRun:
        run = self.runs.get(says["run"])
        agree("statement.subject", entry.where, f"run/{says['run']}", entry.name)
        if run is None or run.close:
            closed = run and run.close and run.close.where
            raise disagreement("close.run", entry.at("run"), "a run that is open", closed)
        agree("close.same", entry.at("month"), run.open.says["month"], says["month"])
        run.close = entry
        self._open.remove(says["run"])
        return run

    def _withdraw(self, entry: LoggedStatement, says: Mapping[str, Any]) -> None:
        task, refill = entry.name, says["replacement"]
        commit = self.commits.get(task)
        if commit is None or task in self._left:
            found = "it has left" if commit else None
            raise disagreement("withdraw.task", f"{entry.where}: {task}", "a committed task", found)
        agree("withdraw.task", f"{entry.where}: the digest", commit.digest, entry.digest)
        self._require_month(entry)
        cohort = next((name for name, tasks in self.live.items() if task in tasks), None)
        self._require_second(entry, says, self.withdrawal_keys(task))
        self._left.add(task)
        reserve = self._next_in_reserve() if cohort else {}
        digests, where = sorted(reserve.values()), entry.at("replacement")
        nexts = [None, *(self.task_of[digest] for digest in digests)]
        require("withdraw.refill", refill in nexts, where, digests, refill)
        if cohort:
            place, filled = self.live[cohort].index(task), [refill] if refill else []
            self.live[cohort][place : place + 1] = filled
            self._served.update(filled)
            self._gaps[cohort] = self._gaps.get(cohort, 0) + (not refill)
        self.withdrawals.append(Withdrawal(entry, cohort, reserve))

    def _retire(self, entry: LoggedStatement, says: Mapping[str, Any]) -> None:
        last, cohort = self.sets[-1], says["cohort"]
        month = last.says["month"]
        agree("statement.subject", entry.where, f"Historical-{says['month']}", entry.name)
        agree("retire.cohort", entry.at("month"), month, says["month"])
        agree("retire.cohort", entry.at("cohort"), f"cohort-{month}", cohort)
        live = sorted(self.live)
        require("retire.cohort", cohort in live, entry.at("cohort"), live, cohort)
        tasks = [[task, self.commits[task].digest] for task in self.live[cohort]]
        stated = [[task["id"], task["commitment"]] for task in says["tasks"]]
        agree("retire.tasks", entry.at("tasks"), tasks, stated)
        agree("retire.runs", f"{entry.where}: the runs that are open", [], sorted(self._open))
        _require_spot_check(entry, last.says.get("spot_check"), says.get("spot_check"))
        self._left.update(self.live.pop(cohort))
        self._past.add(cohort)
        self._require_seeds(entry, says.get("draw_seeds"))
        earlier, due = self.withdrawals[: self._opened], self.withdrawals[self._opened :]
        own = [item for item in earlier if item.cohort == cohort]
        own += [item for item in due if item.cohort in {cohort, None}]
        self._opened = len(self.withdrawals)
        self.retirements.append(Retirement(entry, last, own))

    def _key(self, entry: LoggedStatement, says: Mapping[str, Any]) -> None:
        old, new = handover(self.origin, entry)
        self.keys = self.keys or [(0, old)]
        agree("key.order", entry.at("old"), self.keys[-1][1], says["old"])
        is_new = new not in [key for _, key in self.keys]
        require("key.order", is_new, entry.at("new"), "a new key", new)
        self.keys.append((entry.index, new))

    # -- parts of a run, a set, a withdrawal and a retirement

    def _require_month(self, entry: LoggedStatement) -> None:
        last, where = self.sets[-1], entry.at("month")
        agree("run.month", where, last.says["month"], entry.says["month"])
        if self.retirements and self.retirements[-1].set is last:
            ended = self.retirements[-1].leaf.where
            raise disagreement("run.month", where, f"a leaf before {ended}", entry.where)

    def _require_second(self, entry: LoggedStatement, says: Mapping[str, Any], keys: Sequence[str]) -> None:
        """Check that one of these keys signed a withdrawal, or nobody where there are none."""
        second, where = says["signature"], entry.at("signature")
        if second is None or second["key"] not in keys:
            agree("withdraw.signature", where, list(keys) or None, second)
            return
        key, text = second["key"], withdrawal_text(self.origin, entry.statement)
        signature = decode_base64(second["signature"], where)
        holds = Verifier.parse(key).accepts(signed_data(text, WITHDRAWAL.encode()), signature)
        expected = {"key": key, "text": text.decode()}
        require("withdraw.signature", holds, where, expected, signature)

    def _require_tasks(self, entry: LoggedStatement, says: Mapping[str, Any]) -> list[str]:
        """Check the tasks of each cohort; give all of them."""
        listed = {item["id"]: item["tasks"] for item in says["cohorts"]}
        where = entry.at("cohorts")
        for name, tasks in self.live.items():
            agree("set.live", f"{where}: {name}", tasks, listed.get(name))
        for name, tasks in listed.items():
            require("set.live", name not in self._past, where, "no cohort that retired", name)
            for task in tasks if name not in self.live else ():
                is_new = task in self.commits and task not in self._served | self._left
                require("set.tasks", is_new, f"{where}: {name}", "a new task", task)
        return [task for tasks in listed.values() for task in tasks]

    def _require_roots(self, entry: LoggedStatement, says: Mapping[str, Any]) -> None:
        digests: list[bytes] = []
        sizes: dict[str, int] = {}
        for item in says["cohorts"]:
            own = [bytes.fromhex(self.commits[task].digest) for task in item["tasks"]]
            where = f"{entry.at('cohorts')}: {item['id']}"
            agree("set.root", where, set_root(own).hex(), item["root"])
            sizes[item["id"]] = len(own) + self._gaps.get(item["id"], 0)
            digests += own
        agree("set.root", f"{entry.where}: the digest", set_root(digests).hex(), entry.digest)
        is_even = max(sizes.values()) - min(sizes.values()) <= 1
        require("set.share", is_even, entry.at("cohorts"), "equal numbers, within one", sizes)

    def _require_reserve(self, entry: LoggedStatement, says: Mapping[str, Any], live: set[str]) -> None:
        used = live | self._served | self._left
        for stratum, digests in says["reserve"].items():
            where, server = f"{entry.at('reserve')}: {stratum}", stratum.split("/")[0]
            is_named = not digests or server in says["servers"]
            require("set.servers", is_named, entry.at("servers"), server)
            for digest in digests:
                is_free = self.task_of.get(digest) not in used | {None}
                require("set.reserve", is_free, where, "a task of the reserve", digest)
                used.add(self.task_of[digest])
            agree("set.reserve", where, sorted(digests), digests)

    def _next_in_reserve(self) -> dict[str, str]:
        used, reserve = self._served | self._left, self.sets[-1].says["reserve"]
        left = {key: [d for d in reserve[key] if self.task_of[d] not in used] for key in reserve}
        return {stratum: digests[0] for stratum, digests in left.items() if digests}

    def _require_seeds(self, entry: LoggedStatement, opened: Sequence[Mapping[str, Any]] | None) -> None:
        """Check that exactly the seeds are opened of which no task is private any more."""
        where, due = entry.at("draw_seeds"), list(self._drawn)[:-1]
        due = [index for index in due if not self._drawn[index] - self._left]
        agree("retire.draw_seeds", where, due or None, opened and [item["set"] for item in opened])
        promised = {item.index: item.says["next_draw"] for item in self.sets}
        for item in opened or ():
            stated = promised[item["set"]]
            require("retire.draw_seeds", _opens("draw-seed", item, stated), where, stated, item)
            del self._drawn[item["set"]]


def handover(origin: str, entry: LoggedStatement) -> tuple[str, str]:
    """Return the old and the new key of a `key` statement that both signed.

    Raises:
        Broken: it is of another log, stands elsewhere than it says, or is not signed by both.
    """
    says = entry.says
    old, new = Verifier.parse(says["old"]), Verifier.parse(says["new"])
    names = [entry.name, old.name, new.name]
    agree("key.names", f"{entry.where}: the names", [origin] * 3, names)
    agree("key.names", f"{entry.where}: the digest", sha256(new.public).hexdigest(), entry.digest)
    agree("key.names", entry.at("size"), entry.index, says["size"])
    text = handover_text(old.vkey, new.vkey, says["size"])
    for word, key in (("old", old), ("new", new)):
        where = entry.at(f"signatures.{word}")
        signature = decode_base64(says["signatures"][word], where)
        signed = {"key": key.vkey, "text": text.decode()}
        require("key.signatures", key.accepts(text, signature), where, signed, signature)
    return old.vkey, new.vkey


def handover_text(old: str, new: str, size: int) -> bytes:
    """Return the text that both keys sign; it is no checkpoint, whose second line is a number."""
    return f"quarterturn/log-key/v1\n{old}\n{new}\n{size}\n".encode()


def withdrawal_text(origin: str, statement: Statement) -> bytes:
    """Return the text that a second person signs: the log, and all that a `withdraw` statement says."""
    says = {name: value for name, value in statement.predicate.items() if name != "signature"}
    says |= {"log": origin, "task": statement.name, "commitment": statement.digest}
    return canonical(says)


def month_number(month: str) -> int:
    """Count months from year 0, so that the following month is one more."""
    return int(month[:4]) * 12 + int(month[5:]) - 1


def month_text(number: int) -> str:
    """Write a counted month as YYYY-MM."""
    return f"{number // 12:04d}-{number % 12 + 1:02d}"


def _require_plan(entry: LoggedStatement, says: Mapping[str, Any]) -> None:
    """Check that the planned cohorts retire at equal distances, the first before the next would."""
    count, lifetime = says["plan"]["cohorts"], says["plan"]["lifetime"]
    months = int(lifetime[1:-1]) * {"M": 1, "Y": 12}.get(lifetime[-1], 0)
    step, rest = divmod(months, count)
    wanted = f"a multiple of {count} months"
    require("set.plan", step > 0 and not rest, entry.at("plan.lifetime"), wanted, lifetime)
    retire = sorted(month_number(item["retires"]) for item in says["cohorts"])
    start = month_number(says["month"])
    first = retire[0] if retire and start <= retire[0] < start + step else start
    expected = [month_text(first + step * place) for place in range(count)]
    agree("set.plan", entry.at("cohorts"), expected, [month_text(number) for number in retire])


def _require_counts(entry: LoggedStatement, says: Mapping[str, Any]) -> None:
    for place, item in enumerate(says["cohorts"]):
        where = entry.at(f"cohorts[{place}]")
        agree("set.cohort", f"{where}.id", f"cohort-{item['retires']}", item["id"])
        agree("set.counts", f"{where}.count", len(item["tasks"]), item["count"])
    total = len({task for item in says["cohorts"] for task in item["tasks"]})
    agree("set.counts", entry.at("cohorts"), total, sum(item["count"] for item in says["cohorts"]))
    agree("set.counts", entry.at("count"), total, says["count"])
    agree("set.counts", entry.at("counts"), total, sum(says["counts"].values()))


def _opens(label: str, opening: Mapping[str, Any], promised: str) -> bool:
    """Tell whether a seed and its salt open a commitment (all in hex)."""
    seed, salt = bytes.fromhex(opening["seed"]), bytes.fromhex(opening["salt"])
    return commitment(label, seed, salt).hex() == promised


def _require_spot_check(entry: LoggedStatement, promised: str | None, opened: Mapping[str, Any] | None) -> None:
    where = entry.at("spot_check")
    if promised is None or opened is None:
        agree("retire.spot_check", where, promised, opened)
        return
    require("retire.spot_check", _opens("spot-check", opened, promised), where, promised, opened)
    counts = [opened[name] for name in ("differed", "judged", "chosen")]
    agree("retire.counts", where, sorted(counts), counts)


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
                "come from the caller alone: ask whoever gave you the old key, give both (--key)"
            )
            known.append(new)
    return explanation
