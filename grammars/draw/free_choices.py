"""Choices of a draft's free parameters: draws them, and proves by drawing again that nothing depends on their values.

    1. The draft is drawn with placeholders; then choices are drawn that occur nowhere else in it.
    2. It is drawn again with the same random state, with random choices as the values.
    3. The second draft must equal the first with its placeholders replaced. An expression that sorts by a value, takes
       a part of it, measures it or branches on it gives a different draft, and the draw is refused.

The choices have a random source of their own, seeded from the draw's. So what a draw takes of the latter does not
depend on dictionaries, and other names leave the later draws of a stream as they were.

That the servers too treat all choices alike is shown by the admission gates, which execute four variants of every
draft. A free parameter whose placeholder does not appear in the task is not listed among its free parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from random import Random

from grammars.errors import Malformed
from grammars.language.derivation import Derived
from grammars.language.expressions import Scope
from grammars.language.free import FreePart
from grammars.language.grammar import Draft
from vault.task.document import fixed_words, texts
from vault.task.variant import filled, words

CHOICES_PER_PARAMETER, REDUCED_CHOICES, MAX_UNREDUCED_PARAMETERS = 1024, 768, 6
"""The choices of each free parameter: reduced in a task with more of these, for its document's size."""
MISSES = 300
"""How many unfit values in a row exhaust a range."""

_INSIDE_A_WORD = re.compile(r"[^\W_]\{\{([a-z0-9_]+)\}\}|\{\{([a-z0-9_]+)\}\}[^\W_]")
_TWO = 2

Redraw = Callable[[Mapping[str, str]], Draft | None]
"""Repeats a draw with values for the free parameters; None if that draw would have been rejected."""


def add_free_choices(draft: Draft, derived: Derived, scope: Scope, dice: Random, again: Redraw) -> Draft:
    """Add the choices of its free parameters to a draft, after checking that nothing depends on them.

    Args:
        draft: drawn with placeholders.
        derived: the skeleton.
        scope: the names of the draw.
        dice: the random source of the choices.
        again: repeats the draw.

    Raises:
        Malformed: something depends on a free parameter, or it has fewer than two choices.
    """
    wording = "\n".join(text for _, text in texts(dict(draft.task)))
    if stuck := _INSIDE_A_WORD.search(wording):
        raise Malformed(f"{derived.where}: the free parameter {stuck[1] or stuck[2]!r} stands inside a longer word")
    used = {part.name for part in derived.free if part.placeholder in wording}
    if not derived.free:
        return draft
    own = Random(dice.getrandbits(256))  # noqa: S311 - as repeatable as the draw
    pools = _pools(derived.free, len(used), _Fitting(fixed_words(draft.task)), scope, own)
    _prove(draft, {name: own.choice(choices) for name, choices in pools.items()}, again, derived.where)
    free = {name: {"from": choices} for name, choices in pools.items() if name in used}
    provenance = filled(dict(draft.provenance), {name: pool[0] for name, pool in pools.items() if name not in used})
    return Draft({**draft.task, "free": free} if free else draft.task, provenance)


def _prove(draft: Draft, values: Mapping[str, str], again: Redraw, where: str) -> None:
    """Refuse a draw that differs with these values; each value is then tried alone to name the parameter."""
    if _agree(draft, values, again):
        return
    for name, value in values.items():
        if not _agree(draft, {name: value}, again):
            raise Malformed(
                f"{where}: the parameter {name!r} is not free: with another value more changes than its name (it is "
                "sorted, measured, cut or compared somewhere); leave `free` out, or take the value as it is"
            )
    raise Malformed(f"{where}: the free parameters {', '.join(values)} depend on each other")


def _agree(draft: Draft, values: Mapping[str, str], again: Redraw) -> bool:
    made = again(values)
    expected = filled([dict(draft.task), dict(draft.provenance)], values)
    return made is not None and [made.task, made.provenance] == expected


def _pools(frees: Sequence[FreePart], count: int, fit: _Fitting, scope: Scope, dice: Random) -> dict[str, list[str]]:
    most = CHOICES_PER_PARAMETER if count <= MAX_UNREDUCED_PARAMETERS else REDUCED_CHOICES
    return {part.name: _pool(part, most, fit, scope, dice) for part in frees}


def _pool(part: FreePart, most: int, fit: _Fitting, scope: Scope, dice: Random) -> list[str]:
    pool: list[str] = []
    misses = 0
    for value in part.choices.values(dice, scope):
        if not isinstance(value, str) or "{{" in value:
            raise Malformed(f"{part.where}: a free parameter needs choices of plain text, none of them free itself")
        if fit.take(*_spoken(value)):
            pool.append(value)
            misses = 0
        else:
            misses += 1
        if len(pool) == most or misses == MISSES:
            break
    if len(pool) < _TWO:
        raise Malformed(f"{part.where}: there are not two choices that occur nowhere else in the task")
    return pool


@lru_cache(maxsize=1 << 17)
def _spoken(value: str) -> tuple[tuple[str, ...], frozenset[tuple[str, ...]]]:
    """Return a choice's words and all their runs; cached, since every draw looks at the same few thousand choices."""
    spoken = tuple(words(value))
    runs = (spoken[start:end] for start in range(len(spoken)) for end in range(start + 1, len(spoken) + 1))
    return spoken, frozenset(runs)


class _Fitting:
    """Filter of ambiguous choices: those equal to words of the task, to another choice, or to a part of one."""

    def __init__(self, fixed: Sequence[str]) -> None:
        self._said = fixed
        self._runs: dict[int, set[tuple[str, ...]]] = {}
        self._whole: set[tuple[str, ...]] = set()
        self._parts: set[tuple[str, ...]] = set()

    def take(self, value: tuple[str, ...], parts: frozenset[tuple[str, ...]]) -> bool:
        """Accept a choice unless it is ambiguous."""
        if not value or value in self._parts or value in self._held(len(value)) or not parts.isdisjoint(self._whole):
            return False
        self._whole.add(value)
        self._parts |= parts
        return True

    def _held(self, size: int) -> set[tuple[str, ...]]:
        """Return all runs of `size` words in the task."""
        if size not in self._runs:
            self._runs[size] = set(zip(*(self._said[start:] for start in range(size)), strict=False))
        return self._runs[size]
