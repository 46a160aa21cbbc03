"""Tests of every shipped template over many seeds, and of its reference solutions on the real servers."""

import hashlib
import json
import math
import re
from collections import Counter, defaultdict
from contextlib import nullcontext
from dataclasses import replace
from functools import lru_cache
from itertools import cycle, islice, product
from random import Random

import pytest

from grammars.admission import coverage
from grammars.admission.duplicates import Neighbours, Sketch, wording
from grammars.admission.existing_tasks import TaskIndex
from grammars.admission.gates import admit, needed_tools
from grammars.admission.traceability import PARAMETERS, enough, lacks
from grammars.draw.free_choices import CHOICES_PER_PARAMETER, MAX_UNREDUCED_PARAMETERS, REDUCED_CHOICES
from grammars.draw.sample import draw, pick, sample, skeletons
from grammars.draw.variants import base, free_of
from grammars.language.derivation import derive, of_template
from grammars.language.forms import names_in
from grammars.language.labels import CATEGORIES, DIFFICULTIES
from grammars.language.load import library, load
from grammars.language.ranges import Compose
from grammars.language.traits import traits
from rotation.month.draw import drafts as drafts_of
from rotation.month.set_file import COHORTS
from rotation.month.sets import MCPBENCH
from rotation.month.trait_quotas import demands
from sandbox.servers.registry import SERVERS, tool_table
from vault.canonical import MAX_SIZE
from vault.task.document import Task
from vault.task.variant import bits
from verifiers.language.catalogue import CATALOGUE
from verifiers.language.predicate import parse

from ..sampling import sample as sample_cases
from ..shipped import few_choices, shipped

pytestmark = pytest.mark.slow

GRAMMARS = {server: shipped(server) for server in library()}
SKELETONS = {skeleton.id: skeleton for grammar in GRAMMARS.values() for skeleton in skeletons(grammar)}
TEMPLATES = [(server, name) for server, grammar in GRAMMARS.items() for name in grammar.templates]
DEMO = [
    ("filesystem", "single-tool", "easy"),
    ("filesystem", "composition", "medium"),
    ("git", "composition", "medium"),
    ("git", "recovery", "hard"),
    ("sqlite", "single-tool", "easy"),
    ("sqlite", "recovery", "hard"),
]

REACH = sample_cases(["cover", "all"], keep=["cover"])  # of a template's skeletons and levels

# one template of each server; among them are all categories, and one that is admitted with all its variants
ADMITTED = {
    "calendar": "enter",
    "email": "deliver",
    "filesystem": "fix-config",
    "git": "commit-part",
    "github": "release",
    "memory": "repair",
    "postgres": "amend",
    "redis": "poke",
    "spreadsheet": "put",
    "sqlite": "take-in",
}
TRANSLATED = sample_cases(
    [
        (server, name, language)
        for server, name in TEMPLATES
        for language in sorted(GRAMMARS[server].templates[name].translations)
    ],
    keep=[("git", "glance", "de")],
)
SMALL_SIZE = [
    case if ADMITTED[case[0]] == case[1] else pytest.param(*case, marks=pytest.mark.full) for case in TEMPLATES
]


def each_template(test):
    """Run a test for every template; a template's draws are made once, since its tests run in sequence."""
    test = pytest.mark.parametrize("reach", REACH, scope="module")(test)
    return pytest.mark.parametrize(("server", "name"), SMALL_SIZE, scope="module")(test)


def reached(server, name, reach):
    """Return skeletons with levels: all, or so few that each production and each level is among them."""
    template = GRAMMARS[server].templates[name]
    every = list(of_template(server, template))
    if reach == "all":
        return [(skeleton, level) for skeleton in every for level in skeleton.difficulties]
    levels = cycle(template.difficulties)
    missing = {choice for skeleton in every for choice in skeleton.choices} | set(template.difficulties)
    found = []
    while missing:
        best = max(every, key=lambda skeleton: len(missing & {*skeleton.choices, *skeleton.difficulties}))
        level = next((level for level in best.difficulties if level in missing), None)
        level = level or next(level for level in levels if level in best.difficulties)
        missing -= {*best.choices, level}
        found.append((best, level))
    return found


def has_all_choices(server, name, reach):
    """Whether a template is drawn from with all choices, which are most of what a draw costs."""
    return reach == "all" or ADMITTED[server] == name


def choices(server, name, reach):
    return nullcontext() if has_all_choices(server, name, reach) else few_choices()


@lru_cache(maxsize=4)
def drafts(server, name, reach):
    with choices(server, name, reach):
        return [drawn(server, *one) for one in reached(server, name, reach)]


def rich_names(server, skeleton):
    """Return the names of the free parameters whose dictionaries give a task enough choices to be traced."""
    free = derive(GRAMMARS[server], skeleton).free
    return {part.name for part in free if math.prod(len(set(words)) for words in part.choices.parts) >= enough()}


def size_with_all_choices(draft):
    """Estimate the size of a draft's document with all choices, from those that it has."""
    free = free_of(draft)
    most = CHOICES_PER_PARAMETER if len(free) <= MAX_UNREDUCED_PARAMETERS else REDUCED_CHOICES
    sizes = {name: len(json.dumps(listed)) / len(listed) for name, listed in free.items()}
    return len(json.dumps(draft.task)) + sum(size * (most - len(free[name])) for name, size in sizes.items())


def drawn(server, skeleton, level, seed=0):
    return draw(GRAMMARS[server], skeleton, level, Random(f"{skeleton.id}/{level}/{seed}")).draft


def alone(server, name, reach):
    """Return a grammar of one template, with all of its productions or with the first of each nonterminal."""
    grammar, template = GRAMMARS[server], GRAMMARS[server].templates[name]
    if reach == "cover":
        first = {slot: dict([*options.items()][:1]) for slot, options in template.nonterminals.items()}
        template = replace(template, nonterminals=first)
    return replace(grammar, templates={name: template})


@pytest.mark.parametrize("server", library())
def test_the_shipped_grammars_name_only_tools_and_predicates_that_exist(server):
    load(server, tools=set(tool_table()), predicates=set(CATALOGUE))
    for namespace, names in GRAMMARS[server].tools.items():
        assert set(names) == set(SERVERS[namespace].tools)


def test_every_template_holds_the_rest_of_its_worlds_by_a_frame():
    without = [
        f"{server}/{name}" for server, name in TEMPLATES if GRAMMARS[server].templates[name].steps.changes is None
    ]
    assert without == []


@pytest.mark.slow
@each_template
def test_every_draw_is_a_task_that_validates_and_could_be_seeded(server, name, reach):
    for draft in drafts(server, name, reach):
        task = Task.parse(draft.task).base()
        parse(task.success_predicate)
        for namespace in task.servers:
            SERVERS[namespace].seed(task.document["initial_state"].get(namespace, {}))
        needed = len(needed_tools(draft))
        assert needed == 1 if task.category == "single-tool" else 3 <= needed <= 7
        assert 12 <= len(task.available_tools) <= 18
        assert len(rich_names(server, SKELETONS[draft.skeleton]) & free_of(draft).keys()) >= PARAMETERS
        assert lacks(free_of(draft)) == [] or not has_all_choices(server, name, reach)
        assert draft.provenance["bits"] > 60
        assert size_with_all_choices(draft) < 0.7 * MAX_SIZE
        assert len(draft.provenance["mutants"]) >= 2
        assert len({mutant["name"] for mutant in draft.provenance["mutants"]}) == len(draft.provenance["mutants"])
        spans = "several_servers" in traits(GRAMMARS[server])[draft.skeleton]
        for solution in draft.provenance["solutions"]:
            assert spans == (len({call["tool"].partition(".")[0] for call in solution["calls"]}) > 1)
            assert len(solution["calls"]) <= task.max_steps
            assert {call["tool"] for call in solution["calls"]} <= set(task.available_tools)
        assert "{{" not in json.dumps(base(draft).task)
        assert "  " not in task.goal


@pytest.mark.parametrize("server", library())
def test_free_names_are_spelt_so_that_every_server_takes_each_of_them(server):
    kinds = {"_": "[a-z]+", "-": "[A-Za-z]+(-[a-z]+)*", " ": "[A-Za-z]+"}
    spelt = set()
    for skeleton in skeletons(GRAMMARS[server]):
        for free in derive(GRAMMARS[server], skeleton).free:
            assert isinstance(free.choices, Compose), free.where
            spelt |= {(free.choices.sign, entry) for part in free.choices.parts for entry in part}
    for sign, entry in spelt:
        assert re.fullmatch(kinds[sign], entry), (sign, entry)


@pytest.mark.slow
@each_template
def test_the_same_seed_gives_the_same_bytes_and_another_one_another_task(server, name, reach):
    first, few = drafts(server, name, reach), reached(server, name, reach)[: 1 if reach == "cover" else None]
    with few_choices():
        other = [drawn(server, *one, seed=1) for one in few]
    with choices(server, name, reach):
        again = [drawn(server, *one) for one in few]
    for one, same in zip(first, again, strict=False):
        assert json.dumps([one.task, one.provenance]) == json.dumps([same.task, same.provenance])
    neighbours = Neighbours()
    for draft in (*first, *other):
        assert neighbours.join(draft.id, Sketch.of(draft.task)) is None, draft.skeleton


@pytest.mark.full
def test_nine_tenths_of_the_benchmarks_tasks_have_three_free_values_of_enough_choices():
    """A part of a leaked text names its run, and what an agent repeats of it is told from guesses."""
    seed = hashlib.sha256(b"a cohort").digest()
    lots = demands(MCPBENCH.trait_quotas, GRAMMARS, seed)
    used, free = set(), []
    for stratum, count in MCPBENCH.per_cohort.items():
        stream = drafts_of(GRAMMARS, stratum, seed, exclude=lambda: used, mix=MCPBENCH.per_cohort, demands=lots)
        for draft in islice(stream, count):
            used.add(draft.skeleton)
            free.append(free_of(draft))
    assert len(free) == MCPBENCH.cohort_size
    good = [one for one in free if lacks(one, MCPBENCH.lifetime) == [] and bits(one) >= 27]
    assert len(good) >= 0.9 * len(free)


@pytest.mark.parametrize("server", library())
def test_skeletons_have_ids_of_their_own(server):
    ids = [skeleton.id for skeleton in skeletons(GRAMMARS[server])]
    assert len(set(ids)) == len(ids)
    assert all(one.startswith(f"{server}/") for one in ids)


@pytest.mark.slow
@each_template
def test_every_template_is_rich_enough_to_keep_a_secret(monkeypatch, server, name, reach):
    if reach == "cover":  # one draw at each level; that each has enough choices is asserted of other draws
        monkeypatch.setattr(coverage, "DRAWS", 1)
        with few_choices():
            (found,) = coverage.check(alone(server, name, reach))
    else:
        (found,) = coverage.check(alone(server, name, reach))
        assert found.traceable, found
        assert found.lacks == {}, found
        assert found.tries < 4, found  # a mean of many draws; three draws say little about it
    assert found.bits > 60, found
    assert found.near == 0, found
    assert found.phrasings >= 3, found
    assert found.mutants >= 2, found
    assert found.steps <= 1, found


@pytest.mark.slow
@each_template
def test_skeletons_with_the_same_wording_still_have_many_goals(server, name, reach):
    """A goal belongs to one task, so skeletons with the same wording must differ in values that the goal names."""
    template, groups = GRAMMARS[server].templates[name], defaultdict(list)
    said = names_in(template.phrasings)
    for skeleton in of_template(server, template):
        parts = [template.nonterminals[slot][choice].phrase for slot, choice in skeleton.choices if slot in said]
        groups[str(parts)].append(skeleton)
    alike = [group for group in groups.values() if len(group) > 1]
    for group in alike if reach == "all" else [group[:2] for group in alike[:1]]:
        goals = set()
        for seed, skeleton in product(range(5), group):
            with few_choices():
                goals.add(wording(drawn(server, skeleton, skeleton.difficulties[0], seed).task))
            if len(goals) == 2 * len(group):
                break
        assert len(goals) == 2 * len(group), group


@pytest.mark.parametrize("server", library())
def test_each_server_has_templates_of_every_category_and_skeletons_of_every_difficulty(server):
    grammar = GRAMMARS[server]
    assert len(grammar.templates) >= 8
    assert len(skeletons(grammar)) >= 60
    for category in CATEGORIES:
        levels = {level for one in skeletons(grammar) if one.category == category for level in one.difficulties}
        assert len(levels) >= 2, category
    assert {level for one in skeletons(grammar) for level in one.difficulties} == set(DIFFICULTIES)


@pytest.mark.parametrize("server", library())
def test_a_year_of_turns_is_left_behind_four_first_cohorts_the_reserve_and_the_dev_set(server):
    there = Counter(skeleton.category for skeleton in skeletons(GRAMMARS[server]))
    monthly, dev, reserve = (
        Counter({c: sum(n for s, n in mix.items() if (s.server, s.category) == (server, c)) for c in CATEGORIES})
        for mix in (MCPBENCH.per_cohort, MCPBENCH.dev, MCPBENCH.reserve)
    )
    for category in CATEGORIES:
        assert there[category] - dev[category] - reserve[category] >= monthly[category] * (COHORTS + 12), category


@pytest.mark.slow
@pytest.mark.parametrize("server", library())
def test_a_third_of_the_compositions_spans_two_servers_and_two_thirds_of_all_templates_know_two_ways(server):
    grammar, templates = GRAMMARS[server], GRAMMARS[server].templates
    spanning = {
        name: "several_servers" in traits(grammar)[next(of_template(server, templates[name])).id] for name in templates
    }
    compositions = [name for name, template in templates.items() if template.category == "composition"]
    assert 3 * sum(spanning[name] for name in compositions) >= len(compositions)
    assert 3 * sum(len(template.steps.solutions) > 1 for template in templates.values()) >= 2 * len(templates)


@pytest.mark.parametrize(("server", "category", "difficulty"), DEMO)
def test_the_demo_never_runs_out_of_unseen_skeletons_in_a_year(server, category, difficulty):
    grammar, used = GRAMMARS[server], set()
    for seed in range(6):
        used.add(pick(grammar, Random(seed), category=category, difficulty=difficulty, exclude=used).id)
    assert len(used) == 6


@pytest.mark.slow
def test_phrasings_and_difficulties_really_vary():
    with few_choices():
        goals = Counter(
            sample(GRAMMARS["git"], Random(seed), category="recovery").task["goal"].split()[0] for seed in range(30)
        )
        tasks = [drawn("filesystem", *one).task for one in reached("filesystem", "tidy-up", "cover")]
    assert len(goals) >= 4
    medium, hard = (
        max(len(json.dumps(task)) for task in tasks if task["difficulty"] == level) for level in ("medium", "hard")
    )
    assert medium < hard


IN_VARIANTS = dict(TEMPLATES)
IN_BOXES = {"filesystem", "spreadsheet", "sqlite"}  # in the small size; one of them is played with all its variants
EXECUTED = [
    pytest.param(*case, marks=pytest.mark.full) if case in ADMITTED.items() and case[0] not in IN_BOXES else case
    for case in sample_cases(TEMPLATES, keep=ADMITTED.items())
]


@pytest.mark.box
@pytest.mark.slow
@pytest.mark.parametrize(("server", "name"), EXECUTED)
def test_one_draw_of_each_template_is_admitted_by_execution(server, name):
    from sandbox.boxes.bwrap.box import BwrapBox
    from sandbox.runs.prover import BoxProver

    skeleton, level = Random(name).choice(reached(server, name, "cover"))
    draft = draw(GRAMMARS[server], skeleton, level, Random(name)).draft
    if IN_VARIANTS[server] != name:
        draft = base(draft)  # the bench `set` plays the variants of two hundred
    admission = admit(draft, BoxProver(BwrapBox()), TaskIndex())
    assert admission.ok, (draft.skeleton, admission.failed)


@pytest.mark.box
@pytest.mark.slow
@pytest.mark.parametrize(("server", "name", "language"), TRANSLATED)
def test_one_draw_of_each_translation_is_admitted_by_execution(server, name, language):
    from sandbox.boxes.bwrap.box import BwrapBox
    from sandbox.runs.prover import BoxProver

    skeleton, level = Random(f"{name}/{language}").choice(reached(server, name, "cover"))
    draft = base(draw(GRAMMARS[server], skeleton, level, Random(name), language).draft)
    admission = admit(draft, BoxProver(BwrapBox()), TaskIndex())
    assert admission.ok, (draft.skeleton, draft.task["goal"], admission.failed)
