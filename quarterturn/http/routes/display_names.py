"""Routes of display names: owners choose them for their agents, and a maintainer can remove one.

A name is public as soon as its agent is on a leaderboard: the public view is written with each change.
"""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from quarterturn.display_names.store import NamedAgent as Agent
from quarterturn.http.dependencies.services import DisplayNames, PublicFiles
from quarterturn.http.identity.auth import Who
from quarterturn.http.responses import json_responses, models
from sandbox import pseudonyms

router = APIRouter()

AgentName = Annotated[
    str,
    Path(
        description="An agent: an image's repository (`mine` of ada/mine:1) or an endpoint's host, with hyphens.",
        max_length=64,
    ),
    models.of_form(pseudonyms.PATTERN),
]

log = logging.getLogger("quarterturn.service")


class NameChanges:
    """Changes names, and writes what is public of them."""

    def __init__(self, names: DisplayNames, public: PublicFiles) -> None:
        self._names, self._public = names, public

    def choose(self, account: str, agent: str, name: str) -> Agent:
        """Return an agent a name.

        Raises:
            Malformed, ReservedName, NotFound, NameTaken, OverQuota: as for `DisplayNames.choose`.
        """
        named = self._names.choose(account, agent, name)
        self._public.update_names()
        return named

    def give_up(self, account: str, agent: str) -> Agent:
        """Show an agent without a display name again.

        Raises:
            NotFound: the account has submitted no such agent.
        """
        named = self._names.give_up(account, agent)
        self._public.update_names()
        return named

    def remove(self, account: str, agent: str, maintainer: str) -> Agent:
        """Remove an agent's name, and log who did it.

        Raises:
            NotFound: it has none.
        """
        named = self._names.remove(account, agent, by=maintainer)
        self._public.update_names()
        log.info("the display name of %s/%s was removed by %s", account, agent, maintainer)
        return named


Changes = Annotated[NameChanges, Depends(NameChanges)]


@router.get("/display-names", response_model=models.NamedAgents, name="list_display_names", tags=["submissions"])
def list_names(names: DisplayNames, who: Who) -> Response:
    """List the agents that the caller has submitted, with their display names."""
    return json_responses.plain({"agents": [asdict(agent) for agent in names.of(who.account)]})


@router.put(
    "/display-names/{agent}", response_model=models.NamedAgent, name="choose_display_name", tags=["submissions"]
)
def choose(changes: Changes, who: Who, agent: AgentName, wanted: models.NewName) -> Response:
    """Choose the name that leaderboards show for an agent of the caller, in all its versions.

    No other owner's agent ever has it, or one that looks like it. Submitter and agent are shown beside it.
    """
    return json_responses.plain(asdict(changes.choose(who.account, agent, wanted.name)))


@router.delete(
    "/display-names/{agent}", response_model=models.NamedAgent, name="give_up_display_name", tags=["submissions"]
)
def give_up(changes: Changes, who: Who, agent: AgentName) -> Response:
    """Show an agent of the caller without a display name again; the name stays reserved for the caller."""
    return json_responses.plain(asdict(changes.give_up(who.account, agent)))


@router.delete(
    "/admin/display-names/{submitter}/{agent}",
    response_model=models.NamedAgent,
    name="remove_display_name",
    tags=["admin"],
)
def remove(
    changes: Changes,
    who: Who,
    submitter: Annotated[
        str, Path(description="The agent's account.", max_length=64), models.of_form(pseudonyms.PATTERN)
    ],
    agent: AgentName,
) -> Response:
    """Remove an agent's display name: nobody can choose it again."""
    return json_responses.plain(asdict(changes.remove(submitter, agent, who.account)))
