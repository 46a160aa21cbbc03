"""Formulas: predicates with the constants true and false, and with conditions that were not understood.

A formula is a bool, a predicate document, or `{"?": reason}` for a condition that has no predicate. What the
connectives make is simplified: a literal that a conjunction asserts holds in its other parts, so that the branches of a
program come out as flat lists of conditions.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

Formula: TypeAlias = bool | Mapping[str, Any]
UNKNOWN = "?"
_NUMBERS = itertools.count()
MAX_PARTS, MAX_WORK = 400, 150_000
"""Parts of one connective up to which each is simplified by the others."""


def unknown(reason: str) -> Formula:
    """Return a condition that was not understood; each is another one, whatever its reason."""
    return {UNKNOWN: (reason, next(_NUMBERS))}


def negated(formula: Formula) -> Formula:
    """Return the opposite; a negation of a connective goes to its parts."""
    if isinstance(formula, bool):
        return not formula
    kept = _NEGATED.get(id(formula))
    if kept is not None and kept[0] is formula:
        return kept[1]
    ((name, body),) = formula.items()
    if name in {"all", "any"}:
        made = _joined("any" if name == "all" else "all", map(negated, body))
    else:
        made = body if name == "not" else {"not": formula}
    _NEGATED[id(formula)] = (formula, made)
    return made


def given(formula: Formula, known: Formula) -> Formula:
    """Simplify a formula where a conjunction is known to hold."""
    if isinstance(known, bool) or isinstance(formula, bool):
        return formula
    assumed: dict[str, bool] = {}
    for part in known.get("all", [known]):
        assumed[_key(part)] = True
        if not {"all", "any"} & part.keys():
            assumed[_key(negated(part))] = False
    return _under(formula, assumed)


def start_anew() -> None:
    """Forget what was kept of earlier formulas, and count their size from nothing."""
    _KEYS.clear()
    _NEGATED.clear()
    _WORK[0] = 0


class TooLarge(Exception):
    """The formulas of a program grow beyond what is simplified."""


def all_of(parts: Iterable[Formula]) -> Formula:
    """Return the conjunction."""
    return _joined("all", parts)


def any_of(parts: Iterable[Formula]) -> Formula:
    """Return the disjunction."""
    return _joined("any", parts)


def unknowns(formula: Formula) -> list[str]:
    """List the reasons of the conditions that were not understood, each once."""
    if isinstance(formula, bool):
        return []
    ((name, body),) = formula.items()
    if name == UNKNOWN:
        return [body[0]]
    inner = body if name in {"all", "any"} else [body] if name == "not" else []
    return list(dict.fromkeys(reason for part in inner for reason in unknowns(part)))


def understood(formula: Formula) -> Formula:
    """Return the conjuncts that were understood as a whole."""
    parts = formula["all"] if isinstance(formula, Mapping) and "all" in formula else [formula]
    return all_of(part for part in parts if not unknowns(part))


def _joined(name: str, parts: Iterable[Formula]) -> Formula:
    _WORK[0] += 1
    if _WORK[0] > MAX_WORK:
        raise TooLarge
    neutral = name == "all"
    flat: dict[str, Formula] = {}
    waiting = list(parts)[::-1]
    while waiting:
        part = waiting.pop()
        if isinstance(part, bool):
            if part is not neutral:
                return part
        elif name in part:
            waiting.extend(reversed(part[name]))
        else:
            flat[_key(part)] = part
    literals = {key for key, part in flat.items() if isinstance(part, Mapping) and not {"all", "any"} & part.keys()}
    if any(_key(negated(flat[key])) in literals for key in literals):
        return not neutral
    made = list(flat.values())
    if len(literals) < len(flat) <= MAX_PARTS and literals:
        assumed = dict.fromkeys(literals, neutral) | {_key(negated(flat[key])): not neutral for key in literals}
        simpler = [part if key in literals else _under(part, assumed) for key, part in flat.items()]
        if any(new is not old for new, old in zip(simpler, made, strict=True)):
            return _joined(name, simpler)
    if not made:
        return neutral
    return made[0] if len(made) == 1 else {name: made}


def _under(formula: Formula, assumed: Mapping[str, bool]) -> Formula:
    """Simplify a formula where some literals are known; the same object where nothing changes."""
    if isinstance(formula, bool):
        return formula
    value = assumed.get(_key(formula))
    if value is not None:
        return value
    _WORK[0] += 1
    ((name, body),) = formula.items()
    if name not in {"all", "any"}:
        return formula
    parts = [_under(part, assumed) for part in body]
    return formula if all(new is old for new, old in zip(parts, body, strict=True)) else _joined(name, parts)


_KEYS: dict[int, tuple[Formula, str]] = {}
_NEGATED: dict[int, tuple[Formula, Formula]] = {}
_WORK = [0]


def _key(formula: Formula) -> str:
    """Return a text that is the same for equal formulas; it is kept, as formulas are never changed."""
    kept = _KEYS.get(id(formula))
    if kept is not None and kept[0] is formula:
        return kept[1]
    if isinstance(formula, bool):
        return str(formula)
    ((name, body),) = formula.items()
    if name in {"all", "any"}:
        inner = "\n".join(map(_key, body))
        key = f"{name} {hashlib.blake2b(inner.encode(), digest_size=16).hexdigest()}"
    else:
        key = f"not {_key(body)}" if name == "not" else json.dumps(formula, sort_keys=True, ensure_ascii=False)
    _KEYS[id(formula)] = (formula, key)
    return key
