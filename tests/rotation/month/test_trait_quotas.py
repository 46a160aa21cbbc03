"""Tests of quotas: lots by seed, what a lot demands, and what is left of a kind."""

from collections import Counter

import pytest

from grammars.language.derivation import skeletons
from grammars.language.traits import traits
from rotation.errors import Malformed, Refused
from rotation.month.draw import drafts
from rotation.month.set_file import parse
from rotation.month.sets import MCPBENCH, SetSpec, Stratum, TraitQuota
from rotation.month.trait_quotas import demands, eligible, language_of

from ...shipped import few_choices, shipped

SERVERS = ("filesystem", "git", "github", "sqlite")
GRAMMARS = {server: shipped(server) for server in SERVERS}
TRAITS = {name: has for grammar in GRAMMARS.values() for name, has in traits(grammar).items()}
HARD = tuple(Stratum(server, "composition", "hard") for server in SERVERS)
SEED = bytes(32)
SET = """
name = "own"
size = 16
servers = ["git", "sqlite"]
[[mix]]
category = "composition"
difficulty = "medium"
cohort = 1
dev = 1
several_servers = 1
[[mix]]
category = "recovery"
difficulty = "medium"
cohort = 1
"""


def lots(trait, seed=SEED, used=(), least=2, strata=HARD):
    drawn = demands([TraitQuota(trait, strata, least)], GRAMMARS, seed, used)
    return {stratum.server for stratum, demand in drawn.items() if demand[trait]}


def test_each_seed_draws_its_own_lots_and_always_as_many():
    drawn = [lots("conditional", bytes([number] * 32)) for number in range(12)]
    assert drawn == [lots("conditional", bytes([number] * 32)) for number in range(12)]
    assert {len(one) for one in drawn} == {2}
    assert set().union(*drawn) == set(SERVERS)


def test_a_stratum_is_given_what_its_lot_demands_and_nothing_else_while_it_can():
    drawn = demands([TraitQuota(trait, HARD, 2) for trait in ("several_servers", "conditional")], GRAMMARS, SEED)
    for stratum, demand in drawn.items():
        chosen = eligible(GRAMMARS[stratum.server], stratum, demand, ())
        assert {TRAITS[name] for name in chosen} == {frozenset(trait for trait, must in demand.items() if must)}
        left = eligible(GRAMMARS[stratum.server], stratum, demand, chosen)
        assert all(TRAITS[name] >= {trait for trait, must in demand.items() if must} for name in left)
        assert left or all(demand.values())
    assert Counter(trait for demand in drawn.values() for trait, must in demand.items() if must) == {
        "several_servers": 2,
        "conditional": 2,
    }


def test_a_server_that_runs_out_comes_last_and_too_few_servers_are_refused():
    compositions = {s.id for grammar in GRAMMARS.values() for s in skeletons(grammar) if s.category == "composition"}
    conditional = {name for name in compositions if "conditional" in TRAITS[name]}
    first = lots("conditional")
    out = {name for name in conditional if name.startswith(tuple(first))}
    assert not lots("conditional", used=out) & first
    few = sorted(name for name in out if name.startswith(sorted(first)[0]))[3:]
    assert not lots("conditional", used=few) & {sorted(first)[0]}
    assert len(lots("conditional", used=few, least=4)) == 4
    recovery = tuple(Stratum(server, "recovery", "medium") for server in SERVERS)
    with pytest.raises(Refused, match="medium recovery tasks that are of several servers of 3 servers"):
        lots("several_servers", least=3, strata=recovery)


def test_a_set_file_says_quotas_and_unfit_ones_are_refused():
    spec = SetSpec.of(parse(SET, "set.toml"))
    strata = tuple(Stratum(server, "composition", "medium") for server in ("git", "sqlite"))
    assert spec.trait_quotas == (TraitQuota("several_servers", strata, 1),)
    with pytest.raises(Malformed, match=r"mix\[1\].several_servers: 3 of 2 servers: write 2 or fewer"):
        parse(SET.replace("several_servers = 1", "several_servers = 3"), "set.toml")
    with pytest.raises(Malformed, match=r"mix\[1\].several_servers: single-tool tasks are of one server"):
        parse(SET.replace("composition", "single-tool"), "set.toml")


def test_two_thirds_of_the_benchmark_need_several_servers_and_two_in_five_tasks_are_conditional():
    least = Counter[str]()
    for quota in MCPBENCH.trait_quotas:
        least[quota.trait] += quota.least
    assert least["several_servers"] >= 0.65 * MCPBENCH.cohort_size
    assert least["conditional"] >= 0.4 * MCPBENCH.cohort_size
    assert MCPBENCH.dev == MCPBENCH.per_cohort


def test_strata_draw_lots_for_languages_and_their_goals_are_in_them():
    mix = SET.replace("several_servers = 1", "languages = {de = 1, es = 1}")
    spec = SetSpec.of(parse(mix, "set.toml"))
    assert spec.languages == {"de": 1, "es": 1}
    lots = demands(spec.trait_quotas, GRAMMARS, SEED)
    assert sorted(map(language_of, lots.values())) == ["de", "es"]
    others = [demands(spec.trait_quotas, GRAMMARS, bytes([number] * 32)) for number in range(12)]
    assert (
        len({tuple(sorted((str(stratum), language_of(lot)) for stratum, lot in drawn.items())) for drawn in others})
        == 2
    )
    for stratum, lot in lots.items():
        with few_choices():
            draft = next(drafts(GRAMMARS, stratum, SEED, exclude=set, mix=spec.per_cohort, demands=lots))
        assert draft.task["language"] == language_of(lot)
    with pytest.raises(Refused, match="that are in the language fr of 1 servers, and the grammars of 0"):
        demands([TraitQuota("fr", HARD, 1)], GRAMMARS, SEED)
    with pytest.raises(Malformed, match=r"mix\[1\].languages: 3 of 2 servers"):
        parse(mix.replace("es = 1", "es = 2"), "set.toml")
    with pytest.raises(Malformed, match=r"mix\[1\].languages: 'en' is no BCP 47 tag of a language other than en"):
        parse(mix.replace("es = 1", "en = 1"), "set.toml")
