"""Tests of drawing the benchmark's set for a year from the shipped grammars, without proving the tasks."""

import hashlib
from collections import Counter
from functools import cache
from itertools import islice
from types import MappingProxyType

import pytest

from grammars.admission.duplicates import wording
from grammars.admission.existing_tasks import TaskIndex
from grammars.language.load import library
from rotation.generation import dev_sets, shipped_dev_sets
from rotation.generation.generate import MOST_TOLD
from rotation.generation.make_up import make_up
from rotation.month.cohort import Candidate, allocate
from rotation.month.draw import drafts, picks, spared
from rotation.month.set_file import COHORTS
from rotation.month.sets import MCPBENCH, SETS, SetSpec, Stratum
from rotation.month.trait_quotas import demands
from sandbox.servers.registry import SERVERS

from ..sampling import sample
from ..shipped import few_choices, shipped

MONTHS = 12
SMALL_SIZE = ("filesystem", "postgres")
SERVER_CASES = [
    server if server in SMALL_SIZE else pytest.param(server, marks=pytest.mark.full) for server in library()
]


@pytest.fixture(scope="module", autouse=True)
def _drawn_with_few_choices():
    with few_choices():
        yield


def of_server(mix, server):
    return {stratum: count for stratum, count in mix.items() if stratum.server == server}


def drawn(grammars, mix, seed, used, *, each, around=None, demanded=MappingProxyType({})):
    """Draw as `rotation.generation.generate` does: each stratum in turn, no skeleton twice, no wording twice."""
    found = []
    for stratum, count in mix.items():
        stream = drafts(grammars, stratum, seed, exclude=lambda: used, mix=mix, demands=demanded)
        for _ in range(each * count):
            own = (draft for draft in islice(stream, MOST_TOLD) if around is None or around.told(draft) is None)
            found.append((stratum, next(own)))
            used.add(found[-1][1].skeleton)
    return found


@cache
def every():
    return {server: shipped(server) for server in library()}


@cache
def year_of_picks(start):
    """Choose the skeletons of the whole set for a year, without drawing the tasks; give each month's lots with them."""
    grammars, used, months = every(), {draft.skeleton for draft in shipped_dev_sets.public()}, []
    spare = MCPBENCH.reserve
    first = {stratum: COHORTS * count + spare.get(stratum, 0) for stratum, count in MCPBENCH.per_cohort.items()}
    for month in range(MONTHS + 1):
        seed = month_seed(start, month)
        lots = demands(MCPBENCH.trait_quotas, grammars, seed, used)
        mix = MCPBENCH.per_cohort if month else first
        picked = list(picks(grammars, mix, seed, used, lots))
        months.append((lots, picked))
    return months


def month_seed(start, month):
    return hashlib.sha256(start + bytes([month])).digest()


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("seed", sample([b"one", b"another"], keep=[b"one"]))
def test_in_every_month_of_a_year_two_thirds_need_several_servers_and_two_in_five_are_conditional(seed):
    public = [draft.skeleton for draft in shipped_dev_sets.drafts(MCPBENCH)]
    for picked in (*(picked for _, picked in year_of_picks(seed)), public):
        counted = make_up(picked, every())
        assert counted.single_tool == 0.2 * counted.tasks
        assert counted.several_servers >= 0.65 * counted.tasks
        assert counted.conditional >= 0.4 * counted.tasks
        assert 3 * counted.list_many_servers >= counted.tasks


def known_to_everybody(grammars, server):
    """Return the skeletons and the wordings of the server's part of every dev set."""
    tags, said = set(), {}
    for spec in SETS.values():
        used, lots = set(), demands(spec.trait_quotas, every(), dev_sets.SEED)
        mix = of_server(dict(sorted(spec.dev.items())), server)
        found = drawn(grammars, mix, dev_sets.SEED, used, each=1, demanded=lots)
        tags |= used
        said |= {wording(draft.task): draft.id for _, draft in found}
    return tags, said


@pytest.mark.slow
@pytest.mark.parametrize("seed", sample([b"one", b"another"], keep=[b"one"]))
@pytest.mark.parametrize("server", SERVER_CASES)
def test_in_a_year_no_skeleton_and_no_goal_comes_twice_no_stratum_runs_dry_and_all_cohorts_are_alike(server, seed):
    grammars, mix = {server: shipped(server)}, of_server(MCPBENCH.per_cohort, server)
    spec = SetSpec(server, mix)
    used, said = known_to_everybody(grammars, server)
    public, cohorts, goals, around = set(used), [], [*said], TaskIndex(said=said)
    for month in range(MONTHS + 1):
        names = [f"cohort-{month}-{n}" for n in range(1 if month else COHORTS)]
        lots, _ = year_of_picks(seed)[month]
        now = month_seed(seed, month)
        found = drawn(grammars, mix, now, used, each=len(names), around=around, demanded=lots)
        goals += [wording(draft.task) for _, draft in found]
        candidates = [
            Candidate(draft.id, stratum, draft.skeleton, hashlib.sha256(draft.id.encode()).digest())
            for stratum, draft in found
        ]
        candidates.sort(key=lambda candidate: candidate.commitment)
        cohorts += allocate(candidates, spec, names).cohorts.values()
    assert [Counter(task.stratum for task in cohort) for cohort in cohorts] == [mix] * (COHORTS + MONTHS)
    skeletons = [task.skeleton for cohort in cohorts for task in cohort]
    assert len(skeletons) == len(set(skeletons)) == spec.cohort_size * (COHORTS + MONTHS)
    assert not public & set(skeletons)
    assert len(goals) == len(set(goals))


def test_the_benchmark_has_every_server_that_there_is():
    assert set(MCPBENCH.servers) == set(SERVERS)


@pytest.mark.slow
def test_a_stratum_leaves_the_scarcest_one_its_skeletons_while_it_has_as_many_of_its_own():
    grammar = shipped("filesystem")
    easy, hard = Stratum("filesystem", "composition", "easy"), Stratum("filesystem", "composition", "hard")
    assert spared(grammar, hard, [easy, hard], ()) == set()  # there are more easy ones than hard ones alone
    assert spared(grammar, easy, [easy, hard], ()) == set()
    used: set[str] = set()
    stream = drafts({"filesystem": grammar}, easy, bytes(32), exclude=lambda: used, mix=[easy, hard])
    while not (left := spared(grammar, hard, [easy, hard], used)):
        used.add(next(stream).skeleton)
    after = next(drafts({"filesystem": grammar}, hard, bytes(32), exclude=lambda: used, mix=[easy, hard]))
    assert after.skeleton not in left
    assert len(left) > 10
    assert spared(grammar, hard, [hard], used) == set()
