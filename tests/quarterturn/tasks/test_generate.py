"""Tests of generating a set: drawn in the order of a seed, proven, and resumed where it was interrupted."""

import threading
from collections import Counter
from dataclasses import dataclass, field, replace

import pytest

from grammars.admission.existing_tasks import TaskIndex
from grammars.draw import free_choices
from grammars.errors import Exhausted
from grammars.language.load import library
from rotation.errors import NotFound, Refused
from rotation.generation import dev_sets, shipped_dev_sets
from rotation.generation.generate import MOST_FAILURES, TaskGenerator
from rotation.generation.grammars import shipped_among
from rotation.generation.replenish import Replenishment
from rotation.month.sets import DEMO, SETS, Stratum
from vault.task.document import Task
from verifiers.language.verdict import Evidence, Verdict

pytestmark = pytest.mark.slow

SEED = bytes(range(32))
EASY = Stratum("filesystem", "single-tool", "easy")
MEDIUM = Stratum("filesystem", "composition", "medium")


@dataclass(frozen=True)
class Played:
    evidence: Evidence
    calls: int
    errors: int
    spent: float = 0.0
    state: object = None
    log: tuple = ()

    @property
    def verdict(self) -> Verdict:
        return self.evidence.verdict


@dataclass
class Prover:
    """A prover without worlds: solutions pass and everything else fails; `spoil` selects drafts that fail."""

    spoil: object = staticmethod(lambda document: False)
    proven: list = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, document):
        pass

    def descriptions(self, tools):
        return dict.fromkeys(tools, "")

    def prove(self, document, calls, answer):
        with self.lock:
            self.proven.append(document["id"])
        right = bool(calls) and not self.spoil(document)
        faults = document.get("faults", []) if calls else []
        made = Counter(call["tool"] for call in calls)
        met = sum(made[fault["tool"]] >= fault["call"] for fault in faults)
        return Played(Evidence("probe", Verdict.TRUE if right else Verdict.FALSE), len(calls), met)

    def harmless_calls(self, document, calls):
        return []

    def mutated(self, document, proved, mutants):
        return [Evidence("probe", Verdict.FALSE) for _ in mutants]

    def mutant_results(self, document, proved):
        return []

    def twin_results(self, document, proved):
        return []


@pytest.fixture(scope="module")
def grammars():
    return shipped_among(library())


@pytest.fixture
def house(home, opened):
    return opened(home)


def fill(house, grammars, wanted, prover=None, workers=2, *, seed=SEED, around=None, **more):
    """Fill a set with tasks of a few free choices: it takes most of a draw's time to find and to check thousands."""
    supply = TaskGenerator(grammars, house.home.vault, house.tasks.drafts, prover or Prover(), workers=workers)
    with pytest.MonkeyPatch.context() as patched:
        for name in ("CHOICES_PER_PARAMETER", "REDUCED_CHOICES"):
            patched.setattr(free_choices, name, 16)
        return supply.fill(wanted, seed, author="ada", around=around or TaskIndex(), **more)


@pytest.mark.full
def test_a_seed_gives_the_same_tasks_however_many_workers_prove_them(house, grammars, tmp_path):
    wanted = {EASY: 2, MEDIUM: 2}  # nothing is kept, so that the second draw finds what the first did
    tallies = [fill_nothing_kept(house, grammars, wanted, workers=workers) for workers in (1, 4)]
    assert tallies[0].drawn == 4
    assert sorted(tallies[0].admitted) == sorted(tallies[1].admitted)


def test_each_task_has_a_skeleton_of_its_own(house, grammars):
    tally = fill(house, grammars, {EASY: 3, MEDIUM: 3})
    records = [house.home.vault.record(task_id) for task_id in tally.admitted]
    assert len({record.skeleton_tag for record in records}) == 6
    assert {record.state for record in records} == {"admitted"}
    assert {record.author for record in records} == {"ada"}
    assert all(record.public_grammar for record in records)


def test_a_refused_draft_is_stored_as_rejected_and_the_next_takes_its_place(house, grammars):
    spoilt = []

    def first_two(document):
        if len(spoilt) < 2 and document["id"] not in spoilt:
            spoilt.append(document["id"])
        return document["id"] in spoilt

    tally = fill(house, grammars, {MEDIUM: 3}, Prover(first_two), workers=1)
    assert (tally.drawn, len(tally.admitted)) == (5, 3)
    assert tally.shut == {"3 solutions pass": 2}
    assert {house.home.vault.record(task_id).state for task_id in spoilt} == {"rejected"}


def test_templates_that_keep_failing_are_given_up(house, grammars):
    where = r"gate 3 \(solutions pass\): [a-z-]+\.yaml: filesystem/[a-z-]+: solutions\.[a-z-]+: it gets false"
    with pytest.raises(Refused, match=f"{MOST_FAILURES} drafts of {MEDIUM} in a row failed, the last at {where}"):
        fill(house, grammars, {MEDIUM: 3}, Prover(lambda document: True), workers=1)


def test_a_draw_that_was_interrupted_goes_on(house, grammars):
    whole = fill_nothing_kept(house, grammars, {MEDIUM: 4}).admitted
    kept = []

    def interrupted():
        kept.append(1)
        if len(kept) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill(house, grammars, {MEDIUM: 4}, workers=1, on_done=interrupted)
    assert len(house.home.vault.records()) == 2
    tally = fill(house, grammars, {MEDIUM: 2})
    assert len(house.home.vault.records()) == 4
    assert {record.id for record in house.home.vault.records()} == set(whole)
    assert tally.drawn == 2


def fill_nothing_kept(house, grammars, wanted, **how):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(house.tasks.drafts, "keep", lambda draft, *_, **__: None)
        return fill(house, grammars, wanted, **how)


def test_a_draft_in_the_words_of_another_task_is_not_proven_and_its_skeleton_is_drawn_anew(house, grammars):
    refused, asked = {}, []

    class FirstWordsTaken(TaskIndex):
        """An index in which another task has the first wording of each skeleton."""

        def told(self, draft):
            asked.append(draft)
            return "t-other" if refused.setdefault(draft.skeleton, draft.id) == draft.id else super().told(draft)

    prover = Prover()
    tally = fill(house, grammars, {MEDIUM: 3}, prover, workers=1, around=FirstWordsTaken())
    assert (tally.drawn, len(tally.admitted)) == (3, 3)
    assert {record.id for record in house.home.vault.records()} == {*tally.admitted}
    assert not {*refused.values()} & {*prover.proven}
    assert len({draft.skeleton for draft in asked if draft.id in tally.admitted}) == 3


def test_no_two_tasks_of_a_home_have_the_same_wording(house, grammars):
    """Of four skeletons with three goals the fourth finds no wording; draws know of each other by the home alone."""
    git, goals = grammars["git"], ("Do the first.", "Do the second.", "Do the third.")
    whole = git.templates["two-commits"]
    nonterminals = {**whole.nonterminals, "split": {"by-folder": whole.nonterminals["split"]["by-folder"]}}
    terse = replace(whole, phrasings=goals, nonterminals=nonterminals)
    narrow, stratum = {"git": replace(git, templates={terse.name: terse})}, Stratum("git", "recovery", "medium")

    def supply(count, seed):
        barred = [record.skeleton_tag for record in house.home.vault.records()]
        fill(house, narrow, {stratum: count}, seed=seed, around=TaskIndex(told=house.tasks.drafts.told), barred=barred)

    supply(2, bytes(32))
    supply(1, SEED)
    tasks = [
        house.home.vault.open(record.id, who="tester", why="compare").task for record in house.home.vault.records()
    ]
    assert {task.goal for task in tasks} == {*goals}
    with pytest.raises(Exhausted, match="no unseen skeleton left for medium recovery"):
        supply(1, bytes([1]) * 32)


def test_a_machinery_that_breaks_ends_the_draw_and_admits_nothing_unproven(house, grammars):
    class Broken(Prover):
        def prove(self, document, calls, answer):
            raise RuntimeError("the engine is gone")

    with pytest.raises(RuntimeError, match="engine is gone"):
        fill(house, grammars, {EASY: 2}, Broken())
    assert house.home.vault.records() == []


def test_a_barred_skeleton_is_not_drawn_again(house, grammars):
    first = fill(house, grammars, {MEDIUM: 2})
    tags = [house.home.vault.record(task_id).skeleton_tag for task_id in first.admitted]
    second = fill(house, grammars, {MEDIUM: 2}, barred=tags)
    assert not set(tags) & {house.home.vault.record(task_id).skeleton_tag for task_id in second.admitted}


# -- what the next turn needs -----------------------------------------------------------------------------------------


def test_an_empty_home_wants_four_cohorts(house):
    assert house.tasks.replenishment.wanted() == dict.fromkeys(DEMO.per_cohort, 4)


def test_waiting_and_reviewed_tasks_count_and_a_shared_skeleton_counts_once(house, document):
    for number in (1, 2, 3):
        task = Task.parse(document(EASY, number))
        skeleton = f"s/{min(number, 2)}"
        house.home.vault.add(task, {}, author="ada", public_grammar=False, skeleton=skeleton, template="t")
        house.home.vault.advance(task.id, "admit")
    assert house.tasks.replenishment.wanted()[EASY] == 2


def test_after_the_first_turn_one_cohort_is_wanted_and_the_spare_fills_it(live, opened):
    assert opened(live).tasks.replenishment.wanted() == {}


def test_a_spare_task_whose_skeleton_is_live_does_not_count(live, document, opened):
    house = opened(live)
    spare = next(
        r for r in house.home.vault.records("reviewed") if r.server == "filesystem" and r.category == EASY.category
    )
    house.home.vault.advance(spare.id, "withdraw")
    task, taken = Task.parse(document(EASY, 99)), house.benchmark.months.taken()
    live_already = next(s for s in (f"{EASY}/{n}" for n in range(5)) if house.home.vault.tag("skeleton", s) in taken)
    house.home.vault.add(task, {}, author="ada", public_grammar=False, skeleton=live_already, template="t")
    house.home.vault.advance(task.id, "admit")
    assert house.tasks.replenishment.wanted() == {EASY: 1}


@pytest.fixture
def unstocked(live, opened):
    """Return a home in its first month without a spare task."""
    house = opened(live)
    for record in house.home.vault.records("reviewed"):
        house.home.vault.advance(record.id, "withdraw")
    return house


def replenish(house, wanted, prover=None):
    grammars = house.tasks.drawn_grammars("ada")
    generator = lambda *_: TaskGenerator(grammars, house.home.vault, house.tasks.drafts, prover or Prover(), workers=1)  # noqa: E731
    supply = Replenishment(
        house.home.vault, house.benchmark.months, house.benchmark.spec, house.tasks.known_tasks, generator
    )
    return supply.fill(wanted, box=house.tasks.box(), author="ada")


def test_what_is_drawn_from_a_promised_seed_is_of_that_months_draw(unstocked):
    (task_id,) = replenish(unstocked, {EASY: 1}).admitted
    assert unstocked.home.vault.record(task_id).drawn_for == "2026-12"


def test_before_the_first_turn_no_seed_is_promised(house):
    (task_id,) = replenish(house, {EASY: 1}).admitted
    assert house.home.vault.record(task_id).drawn_for == ""


def admitted(house, document, number, month):
    """Add an admitted task of the draw of a month, and give its skeleton's tag."""
    task, about = Task.parse(document(EASY, number)), {"author": "ada", "public_grammar": False, "template": "t"}
    record = house.home.vault.add(task, {}, skeleton=f"s/{number}", drawn_for=month, **about)
    house.home.vault.advance(record.id, "admit")
    return record.skeleton_tag


def test_a_task_of_an_earlier_draw_does_not_count(unstocked, document):
    admitted(unstocked, document, 70, "2026-11")
    assert unstocked.tasks.replenishment.wanted()[EASY] == 1
    admitted(unstocked, document, 71, "2026-12")
    assert EASY not in unstocked.tasks.replenishment.wanted()


def test_an_imported_task_counts_at_any_turn(unstocked, document):
    admitted(unstocked, document, 70, "")
    assert EASY not in unstocked.tasks.replenishment.wanted()


def test_an_interrupted_draw_resumes_with_what_it_kept_and_bars_what_others_gave(unstocked, document):
    drawn, earlier, imported = (admitted(unstocked, document, n, m) for n, m in
                                enumerate(("2026-12", "2026-11", ""), 70))  # fmt: skip
    calls = []

    class Recorder:
        def fill(self, wanted, seed, **more):
            calls.append((wanted, len(seed), more))

    vault, of = unstocked.home.vault, unstocked.benchmark
    supply = Replenishment(vault, of.months, of.spec, unstocked.tasks.known_tasks, lambda *_: Recorder())
    supply.fill({EASY: 1}, box=unstocked.tasks.box(), author="ada")
    ((wanted, size, more),) = calls
    assert (wanted, size, more["drawn_for"]) == ({EASY: 1}, 32, "2026-12")
    assert more["kept"] == {EASY: {drawn}}
    assert {earlier, imported} <= more["barred"]
    assert drawn not in more["barred"]


# -- the dev set ------------------------------------------------------------------------------------------------------


def test_the_dev_set_is_the_same_for_everybody(grammars):
    drawn = dev_sets.draw(grammars, DEMO)
    assert [draft.task for draft in drawn] == [draft.task for draft in shipped_dev_sets.drafts(DEMO)]
    assert Counter(Stratum(d.task["server"], d.task["category"], d.task["difficulty"]) for d in drawn) == DEMO.dev
    assert len({draft.skeleton for draft in drawn}) == len(drawn)


@pytest.mark.full
def test_everybody_knows_the_dev_tasks_of_every_set_that_can_be_drawn(grammars):
    known = {draft.id for draft in shipped_dev_sets.public()}
    assert known == {draft.id for spec in SETS.values() for draft in dev_sets.draw(grammars, spec)}


def test_a_dev_set_without_its_grammars_names_those_that_are_missing(grammars):
    some = {name: grammars[name] for name in ("git", "sqlite")}
    with pytest.raises(NotFound, match="the dev set of 'demo' has tasks of filesystem, which have no shipped grammar"):
        dev_sets.draw(some, DEMO)


def test_a_home_never_draws_a_skeleton_of_a_dev_set(house, grammars):
    tags = {house.home.vault.tag("skeleton", draft.skeleton) for draft in shipped_dev_sets.public()}
    assert tags <= house.tasks.known_tasks.spent()


@pytest.mark.full
def test_a_draw_that_goes_on_shares_no_skeleton_with_what_it_kept(house, grammars):
    """One stratum was done when the draw was interrupted; the other, of the same skeletons, was not."""
    hard = Stratum("filesystem", "composition", "hard")
    first = fill(house, grammars, {MEDIUM: 12})
    kept = {MEDIUM: [house.home.vault.record(task_id).skeleton_tag for task_id in first.admitted]}
    fill(house, grammars, {hard: 12}, kept=kept)
    tags = [record.skeleton_tag for record in house.home.vault.records()]
    assert len(tags) == len(set(tags)) == 24
    fill(house, grammars, {MEDIUM: 2}, kept=kept)
    assert len({record.skeleton_tag for record in house.home.vault.records()} - {*tags}) == 2
