"""Task generation: drafts are drawn, proven by execution and sealed; a person's review comes after.

Drafts of one stratum are taken in the order of its stream, so the tasks of a seed do not depend on how many workers
prove them. A draft that fails a gate is kept as rejected and the stream's next one takes its place; a stratum whose
drafts keep failing is given up with an error instead of being drawn until something passes. A draft whose goal has the
wording of another task is not proven at all: its skeleton is drawn again, a few times. An interrupted draw resumes when
it is made again: the tasks that it kept are passed over, and no other task shares a skeleton with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from types import MappingProxyType

from grammars.admission.gates import Admission, ExistingTasks, admit
from grammars.admission.prover import Prover
from grammars.admission.store import Drafts
from grammars.language.derivation import skeletons
from grammars.language.grammar import Draft, Grammar
from rotation.errors import Refused
from rotation.generation.yield_stats import YieldStats, kept_out
from rotation.month.draw import drafts
from rotation.month.sets import Stratum, TraitQuota
from rotation.month.trait_quotas import Demand, demands
from vault.store.tasks import Vault

MOST_FAILURES = 5  # drafts of one stratum in a row
MOST_TOLD = 10  # drafts of one skeleton that are told in the words of other tasks


@dataclass
class _Line:
    """One stratum's stream, with what is still wanted of it and the skeletons that an interrupted draw gave it."""

    stratum: Stratum
    stream: Iterator[Draft]
    wanted: int
    used: set[str]
    kept: set[str]
    failures: int = 0
    told: Counter[str] = field(default_factory=Counter)

    def draw(self, known: Collection[str], around: ExistingTasks) -> Draft:
        """Take the next draft in words of its own that has not stood before the gates yet."""
        while True:
            draft = next(self.stream)
            own = around.told(draft) is None
            self.told[draft.skeleton] += not own
            if own or self.told[draft.skeleton] >= MOST_TOLD:
                self.used.add(draft.skeleton)
            if own and draft.id not in known and draft.skeleton not in self.kept:
                return draft


class TaskGenerator:
    """Generates admitted tasks for strata.

    Args:
        grammars: by server; tasks are drawn from them.
        vault: the sealed tasks; it computes the tags.
        store: keeps what was drawn.
        prover: executes the drafts.
        mix: all strata that are ever drawn from the grammars (`rotation.month.draw.spared`).
        quotas: how many of the strata must have a trait.
        workers: how many drafts are proven at a time.
    """

    def __init__(
        self,
        grammars: Mapping[str, Grammar],
        vault: Vault,
        store: Drafts,
        prover: Prover,
        *,
        mix: Collection[Stratum] = (),
        quotas: Collection[TraitQuota] = (),
        workers: int = 2,
    ) -> None:
        self._grammars, self._vault, self._store, self._prover = grammars, vault, store, prover
        self._mix, self._quotas, self._workers = mix, quotas, workers
        self._demands: Mapping[Stratum, Demand] = {}
        self._known: Collection[str] = ()
        self._drawn_for = ""

    def fill(
        self,
        wanted: Mapping[Stratum, int],
        seed: bytes,
        *,
        author: str,
        around: ExistingTasks,
        barred: Collection[str] = (),
        kept: Mapping[Stratum, Collection[str]] = MappingProxyType({}),
        drawn_for: str = "",
        on_done: Callable[[], None] = lambda: None,
    ) -> YieldStats:
        """Draw and admit the wanted number of tasks of each stratum, each of a skeleton of its own.

        Args:
            wanted: how many of each stratum.
            seed: the draw's seed, 32 bytes.
            author: who answers for the draw; somebody else must review it.
            around: the tasks that there are already.
            barred: skeleton tags that may not be drawn: live or seen.
            kept: the skeleton tags of what this draw, interrupted, kept of each stratum; they count no more.
            drawn_for: the month at whose turn the draw enters, if the log promised the seed for it.
            on_done: called once for each admitted task.

        Raises:
            Refused: too many drafts of one stratum in a row stayed out.
            Exhausted: a grammar has no unseen skeleton left.
        """
        tally = YieldStats()
        ids = self._skeletons()
        used = {ids[tag] for tag in barred if tag in ids}
        started = {stratum: {ids[tag] for tag in tags if tag in ids} for stratum, tags in kept.items()}
        self._known, self._around = {record.id for record in self._vault.records()}, around
        self._drawn_for = drawn_for
        self._demands = demands(self._quotas, self._grammars, seed, used)
        pending: dict[Future[Admission], tuple[_Line, Draft]] = {}
        with ThreadPoolExecutor(self._workers, thread_name_prefix="prove") as pool:
            try:
                for line in [self._line(stratum, count, seed, used, started) for stratum, count in wanted.items()]:
                    for _ in range(line.wanted):
                        self._submit(pool, pending, line)
                while pending:
                    for future in wait(pending, return_when=FIRST_COMPLETED).done:
                        line, draft = pending.pop(future)
                        if self._keep(draft, future.result(), line, tally, author):
                            on_done()
                        else:
                            self._submit(pool, pending, line)
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
        return tally

    def _line(
        self,
        stratum: Stratum,
        count: int,
        seed: bytes,
        used: set[str],
        started: Mapping[Stratum, set[str]],
    ) -> _Line:
        others = {name for other, names in started.items() if other != stratum for name in names}
        stream = drafts(
            self._grammars, stratum, seed, exclude=lambda: used | others, mix=self._mix, demands=self._demands
        )
        return _Line(stratum, stream, count, used, started.get(stratum, set()))

    def _submit(
        self, pool: ThreadPoolExecutor, pending: dict[Future[Admission], tuple[_Line, Draft]], line: _Line
    ) -> None:
        draft = line.draw(self._known, self._around)
        pending[pool.submit(admit, draft, self._prover, self._around)] = (line, draft)

    def _keep(self, draft: Draft, admission: Admission, line: _Line, tally: YieldStats, author: str) -> bool:
        grammar = self._grammars[line.stratum.server]
        file = grammar.templates[draft.template.rpartition("/")[2]].file
        self._store.keep(draft, admission, author=author, public_grammar=grammar.public, drawn_for=self._drawn_for)
        tally.count(draft, admission, file)
        line.failures = 0 if admission.ok else line.failures + 1
        if line.failures >= MOST_FAILURES:
            why = kept_out(draft, admission.failed[0], file)
            raise Refused(
                f"{MOST_FAILURES} drafts of {line.stratum} in a row failed, the last at {why}; fix the template, "
                f"or look at the draft with `quarterturn task show {draft.id}`"
            )
        return admission.ok

    def _skeletons(self) -> dict[str, str]:
        """Map the tags of all skeletons of the grammars back to their ids."""
        ids = [skeleton.id for grammar in self._grammars.values() for skeleton in skeletons(grammar)]
        return {self._vault.tag("skeleton", name): name for name in ids}
