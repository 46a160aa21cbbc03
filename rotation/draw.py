"""Drawing the drafts of a cohort from a committed seed.

The seed of a cohort is committed in the `set` statement one turn ahead, so that nobody can shop for a lucky draw. Each
stratum has its own stream, derived from the seed by HMAC-SHA256 (RFC 2104), so drawing more of one leaves the others as
they were.
"""

from __future__ import annotations

import hashlib
import hmac
import random
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import cast

from grammars.grammar import Category, Difficulty, Draft, Grammar
from grammars.sample import sample
from rotation.errors import NotFound
from rotation.sets import Stratum


def stream(seed: bytes, stratum: Stratum) -> random.Random:
    """Give the stratum's own stream of dice. The seed is 32 bytes."""
    return random.Random(hmac.digest(seed, f"quarterturn/draw/v1\n{stratum}".encode(), hashlib.sha256))  # noqa: S311 - repeatable on purpose


def drafts(
    grammars: Mapping[str, Grammar],
    stratum: Stratum,
    seed: bytes,
    *,
    exclude: Callable[[], Collection[str]],
) -> Iterator[Draft]:
    """Yield drafts of one stratum without end, each of a skeleton that `exclude()` does not name at that moment.

    Raises:
        NotFound: there is no grammar for the stratum's server.
        Exhausted: the grammar has no such skeleton left.
    """
    if stratum.server not in grammars:
        raise NotFound(f"there is no grammar for the server '{stratum.server}'; import one, then draw again")
    dice = stream(seed, stratum)
    while True:
        yield sample(
            grammars[stratum.server],
            dice,
            category=cast("Category", stratum.category),
            difficulty=cast("Difficulty", stratum.difficulty),
            exclude=exclude(),
        )
