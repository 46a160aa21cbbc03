"""Lots for a set's quotas: which strata of a draw must be of several servers, which conditional, and which are not.

A quota says of how many servers, of those that have a category and difficulty, the tasks must have a trait
(`grammars.language.traits`). Which servers these are is drawn anew with each cohort, so that each of them has tasks of
all kinds over the months, and none uses up one kind long before the others. The lots follow from the draw's committed
seed by HMAC-SHA256 (RFC 2104); a server whose skeletons of the kind run out comes last.

What a lot demands is kept to both ways: a stratum that drew no lot is given tasks without the trait while there are
any, so that the make-up is the same in every cohort and the scarcer kinds last. A language is counted like a trait: a
skeleton has it if its template has wordings in it. No stratum draws two languages.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import TypeAlias

from grammars.language.derivation import skeletons
from grammars.language.grammar import Grammar
from grammars.language.labels import ENGLISH, TRAIT_WORDS, TRAITS, Trait
from grammars.language.traits import languages, traits
from rotation.errors import Refused
from rotation.month.sets import Stratum, TraitQuota

Demand: TypeAlias = Mapping[Trait | str, bool]
"""For each trait or language that a quota counts, whether a stratum's tasks must have it."""

FEW = 6
"""With fewer skeletons of a kind left than this, a server draws a lot for it only if the others do not suffice."""


def demands(
    quotas: Collection[TraitQuota], grammars: Mapping[str, Grammar], seed: bytes, used: Collection[str] = ()
) -> dict[Stratum, Demand]:
    """Draw the lots of one draw.

    Args:
        quotas: of the set.
        grammars: by server.
        seed: of the draw, 32 bytes.
        used: ids of the skeletons that may not be drawn any more.

    Raises:
        Refused: fewer servers than a quota wants have such skeletons left.
    """
    demanded: dict[Stratum, dict[str, bool]] = {stratum: {} for quota in quotas for stratum in quota.strata}
    lots = Counter[tuple[str, str, str]]()  # by server, category and trait: they draw on the same skeletons
    for quota in quotas:
        left = {
            stratum: len(_having(grammars[stratum.server], stratum, demanded[stratum] | {quota.trait: True}, used))
            - lots[stratum.server, stratum.category, quota.trait]
            for stratum in quota.strata
            if stratum.server in grammars and (quota.trait in TRAITS or language_of(demanded[stratum]) == ENGLISH)
        }
        able = sorted(
            (stratum for stratum, count in left.items() if count > 0),
            key=lambda stratum: (left[stratum] < FEW, _lot(seed, quota.trait, stratum)),
        )
        if len(able) < quota.least:
            first = quota.strata[0]
            raise Refused(
                f"the set wants {first.difficulty} {first.category} tasks that are {_words(quota.trait)} of "
                f"{quota.least} servers, and the grammars of {len(able)} have such skeletons left: ask for fewer, or "
                "write more templates (docs/how-to/write-a-grammar.md) and `quarterturn grammar import` them"
            )
        for place, stratum in enumerate(able):
            demanded[stratum][quota.trait] = place < quota.least
            lots[stratum.server, stratum.category, quota.trait] += place < quota.least
        for stratum in set(quota.strata) - set(able):
            demanded[stratum][quota.trait] = False
    return dict(demanded)


def eligible(grammar: Grammar, stratum: Stratum, demand: Demand, used: Collection[str]) -> set[str]:
    """Return the skeletons that a stratum may be drawn from: without traits that it need not have, if there are any."""
    having = _having(grammar, stratum, demand, used)
    known = _known(grammar)
    exact = {name for name in having if all((trait in known[name]) == wanted for trait, wanted in demand.items())}
    return exact or having


def _having(grammar: Grammar, stratum: Stratum, demand: Demand, used: Collection[str]) -> set[str]:
    """Return the unused skeletons of a stratum that have at least the traits that it must have."""
    wanted, known = {trait for trait, must in demand.items() if must}, _known(grammar)
    return {
        skeleton.id
        for skeleton in skeletons(grammar)
        if skeleton.category == stratum.category
        and stratum.difficulty in skeleton.difficulties
        and skeleton.id not in used
        and wanted <= known[skeleton.id]
    }


def language_of(demand: Demand) -> str:
    """Return the language that the goals of a stratum must be in."""
    return next((name for name, must in demand.items() if must and name not in TRAITS), ENGLISH)


@lru_cache(maxsize=32)
def _known(grammar: Grammar) -> Mapping[str, frozenset[str]]:
    """Return what a quota may count of every skeleton: its traits, and the languages that it can be drawn in."""
    return {name: frozenset(having) | languages(grammar)[name] for name, having in traits(grammar).items()}


def _words(trait: str) -> str:
    return next((words for name, words in TRAIT_WORDS.items() if name == trait), f"in the language {trait}")


def _lot(seed: bytes, trait: str, stratum: Stratum) -> bytes:
    return hmac.digest(seed, f"quarterturn/quota/v1\n{trait}\n{stratum}".encode(), hashlib.sha256)
