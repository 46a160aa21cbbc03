"""Public dev sets, drawn from the shipped grammars with the fixed seed below.

They are for trying an agent out, and give everything back: verdicts, evidence and transcripts. Their tasks are public
from the start, so no score on them is ever ranked, and none of their skeletons is ever drawn for a private set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from grammars.draw.variants import base
from grammars.language.grammar import Draft, Grammar
from rotation.month.draw import drafts
from rotation.month.sets import SetSpec, TraitQuota
from rotation.month.trait_quotas import demands

SEED = hashlib.sha256(b"quarterturn/dev/v1").digest()


def draw(grammars: Mapping[str, Grammar], spec: SetSpec) -> list[Draft]:
    """Draw a set's dev tasks, each of a skeleton of its own; the same ones every time.

    Raises:
        NotFound: there is no grammar for one of its servers.
        Exhausted: a grammar has too few skeletons.
    """
    spec.require_dev_grammars(grammars)
    by_server = {server: grammars[server] for server in spec.dev_servers}
    demanded = demands(_quotas_of_dev_tasks(spec), by_server, SEED)
    chosen: list[Draft] = []
    used: set[str] = set()
    for stratum, count in sorted(spec.dev.items()):
        stream = drafts(by_server, stratum, SEED, exclude=lambda: used, mix=spec.dev, demands=demanded)
        for _ in range(count):
            draft = base(next(stream))
            used.add(draft.skeleton)
            chosen.append(draft)
    return chosen


def _quotas_of_dev_tasks(spec: SetSpec) -> Sequence[TraitQuota]:
    """Return the quotas of a set for those strata that its dev set has, of which the same share must have the trait."""
    quotas = []
    for quota in spec.trait_quotas:
        strata = tuple(stratum for stratum in quota.strata if stratum in spec.dev)
        if strata:
            quotas.append(replace(quota, strata=strata, least=quota.least * len(strata) // len(quota.strata)))
    return quotas
