"""Drawing of a cohort's drafts from a committed seed.

The seed of a cohort is committed to in the `set` statement one turn ahead. That binds less than it seems: whoever holds
the key ring can try seeds before one is committed to, and can change grammars or reject drafts afterwards. Each stratum
has its own random stream, derived from the seed by HMAC-SHA256 (RFC 2104), so drawing more of one does not change the
others.

A skeleton that can be drawn at several difficulties is used up by the stratum that draws it first. So that no stratum
runs out long before the others, a stratum skips the skeletons of the scarcest one while it has as many of its own.
Which strata must be of several servers or conditional is drawn by lot from that seed (`rotation.month.trait_quotas`).
"""

from __future__ import annotations

import hashlib
import hmac
import random
from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import cast

from grammars.draw.sample import pick, sample
from grammars.language.grammar import Draft, Grammar
from grammars.language.labels import Category, Difficulty
from rotation.errors import NotFound
from rotation.month.sets import Stratum
from rotation.month.trait_quotas import Demand, eligible, language_of


def stream(seed: bytes, stratum: Stratum) -> random.Random:
    """Return the stratum's own random stream, derived from the 32-byte seed."""
    return random.Random(hmac.digest(seed, f"quarterturn/draw/v1\n{stratum}".encode(), hashlib.sha256))  # noqa: S311 - repeatable on purpose


def drafts(
    grammars: Mapping[str, Grammar],
    stratum: Stratum,
    seed: bytes,
    *,
    exclude: Callable[[], Collection[str]],
    mix: Collection[Stratum] = (),
    demands: Mapping[Stratum, Demand] = MappingProxyType({}),
) -> Iterator[Draft]:
    """Yield drafts of one stratum without end, each of a skeleton that `exclude()` does not contain at that moment.

    Args:
        grammars: by server.
        stratum: what to draw.
        seed: 32 bytes.
        exclude: gives the ids of skeletons that may not be drawn.
        mix: all strata that are drawn from these grammars, including this one.
        demands: which traits the tasks of a stratum must have, and which they need not.

    Raises:
        NotFound: there is no grammar for the stratum's server.
        Exhausted: the grammar has no such skeleton left.
    """
    if stratum.server not in grammars:
        raise NotFound(f"there is no grammar for the server '{stratum.server}'; import one, then draw again")
    grammar, dice = grammars[stratum.server], stream(seed, stratum)
    while True:
        used = exclude()
        demand = demands.get(stratum, {})
        own = eligible(grammar, stratum, demand, used)
        yield sample(
            grammar,
            dice,
            category=cast("Category", stratum.category),
            difficulty=cast("Difficulty", stratum.difficulty),
            exclude={*used, *spared(grammar, stratum, mix, used, demands)},
            only=own,
            language=language_of(demand),
        )


def picks(
    grammars: Mapping[str, Grammar],
    mix: Mapping[Stratum, int],
    seed: bytes,
    used: set[str],
    demands: Mapping[Stratum, Demand] = MappingProxyType({}),
) -> Iterator[str]:
    """Choose skeletons as a draw of the mix would, without drawing tasks; each is added to `used`.

    Raises:
        Exhausted: a grammar has no such skeleton left.
    """
    for stratum, count in mix.items():
        grammar, dice = grammars[stratum.server], stream(seed, stratum)
        for _ in range(count):
            skeleton = pick(
                grammar,
                dice,
                category=cast("Category", stratum.category),
                difficulty=cast("Difficulty", stratum.difficulty),
                exclude={*used, *spared(grammar, stratum, mix, used, demands)},
                only=eligible(grammar, stratum, demands.get(stratum, {}), used),
            )
            used.add(skeleton.id)
            yield skeleton.id


def spared(
    grammar: Grammar,
    stratum: Stratum,
    mix: Collection[Stratum],
    used: Collection[str],
    demands: Mapping[Stratum, Demand] = MappingProxyType({}),
) -> set[str]:
    """Return the skeletons that a stratum leaves to the scarcest stratum of its server and category, if it can."""

    def left(cell: Stratum) -> set[str]:
        return eligible(grammar, cell, demands.get(cell, {}), used)

    kin = [cell for cell in mix if (cell.server, cell.category) == (stratum.server, stratum.category)]
    own, scarcest = left(stratum), min(map(left, sorted(kin)), key=len, default=set())
    return scarcest if len(own - scarcest) >= max(len(scarcest), 1) else set()
