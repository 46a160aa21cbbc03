"""Roles of API tokens and the scopes of each role, as one table.

A token has a role, and all scopes of its role unless it was made with fewer. A route names the one scope that it needs
(`quarterturn.http.responses.access`), so which role may do what follows from two tables and from nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, get_args

from quarterturn.choices import Role
from quarterturn.errors import Malformed

Scope = Literal["submit", "findings:read", "findings:review", "queue:read", "metrics:read", "admin", "play"]

ROLES: Mapping[Role, frozenset[Scope]] = {
    "submitter": frozenset({"submit"}),
    "auditor": frozenset({"findings:read"}),
    "reviewer": frozenset({"findings:read", "findings:review"}),
    "runner": frozenset({"queue:read", "metrics:read"}),
    "machine": frozenset({"play"}),
    "maintainer": frozenset(get_args(Scope)) - {"play"},
}


def scopes_of(role: Role, wanted: Collection[str] = ()) -> frozenset[Scope]:
    """Return the scopes of a token of `role`: those that are wanted, or all of the role's.

    Raises:
        Malformed: a wanted scope is none of the role's.
    """
    has = ROLES[role]
    if strange := sorted(set(wanted) - has):
        raise Malformed(f"the role {role} has no scope '{strange[0]}', only {', '.join(sorted(has))}")
    return frozenset(scope for scope in has if not wanted or scope in wanted)
