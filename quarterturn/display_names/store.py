"""Store of display names: choosing one for an agent, giving it up, and its removal by a maintainer.

1. A name belongs to an agent: an account's image repository or an endpoint's host, whatever its version. An agent
   can have a name once it was submitted.
2. A name is presentation. The log, the results and a leaderboard's `submitter` and `name` never change with it.
3. No two accounts ever have the same name, at no time: a former name stays its account's, and a removed one is
   nobody's. So a name that was seen once never means somebody else's agent later.
4. The name of another account cannot be chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Engine, func
from sqlmodel import Session, col, select

from quarterturn.display_names.rules import key_of, require
from quarterturn.display_names.tables import DisplayNameRow
from quarterturn.errors import NameTaken, NotFound, OverQuota
from vault.database import transaction

MAX_NAMES = 20
"""Of an account, its former names included."""


@dataclass(frozen=True, slots=True)
class NamedAgent:
    """An agent of an account.

    Attributes:
        agent: its name as submitted: the image's repository or the endpoint's host, `mine` of `ada/mine:1`.
        display_name: the name that its owner chose, or None.
        removed: the name that a maintainer removed and that no other one replaced since, or None.
    """

    agent: str
    display_name: str | None
    removed: str | None


class DisplayNames:
    """The display names of one home.

    Args:
        engine: from `vault.database.open_engine`.
        clock: the present moment, with its time zone.
        agents: names the agents that an account has submitted.
        accounts: names all accounts.
    """

    def __init__(
        self,
        engine: Engine,
        clock: Callable[[], datetime],
        *,
        agents: Callable[[str], Collection[str]],
        accounts: Callable[[], Collection[str]],
    ) -> None:
        self._engine, self._clock, self._agents, self._accounts = engine, clock, agents, accounts

    def choose(self, account: str, agent: str, name: str) -> NamedAgent:
        """Return an agent this name; the one that it had becomes a former name.

        Raises:
            Malformed, ReservedName: nobody may have this name.
            NotFound: the account has submitted no such agent.
            NameTaken: it is, or looks like, a name of another agent or account, or a removed one.
            OverQuota: the account has chosen as many names as it may.
        """
        require(name)
        self._require_agent(account, agent)
        key = key_of(name)
        if key in {key_of(other) for other in self._accounts() if other != account}:
            raise _taken(name, "the display name is, or looks like, the name of another account; choose another one")
        with transaction(self._engine) as session:
            row = session.get(DisplayNameRow, key)
            if row is None:
                _require_room(session, account)
                row = DisplayNameRow(
                    key=key, name=name, account=account, agent=agent, state="former", changed_at=self._now()
                )
            elif row.account != account or row.state == "removed" or (row.state == "shown" and row.agent != agent):
                raise _taken(name, "the display name is taken, or looks like one that is; choose another one")
            self._retire(session, account, agent)
            row.name, row.agent, row.state, row.changed_at = name, agent, "shown", self._now()
            session.add(row)
        return self._named(account, agent)

    def give_up(self, account: str, agent: str) -> NamedAgent:
        """Show an agent without a display name again; doing it twice changes nothing.

        Raises:
            NotFound: the account has submitted no such agent.
        """
        self._require_agent(account, agent)
        with transaction(self._engine) as session:
            self._retire(session, account, agent)
        return self._named(account, agent)

    def remove(self, account: str, agent: str, *, by: str) -> NamedAgent:
        """Remove an agent's name, as a maintainer: nobody can choose it again.

        Raises:
            NotFound: the agent has no display name.
        """
        with transaction(self._engine) as session:
            row = _shown(session, account, agent)
            if row is None:
                raise NotFound(f"the agent {account}/{agent} has no display name")
            row.state, row.removed_by, row.changed_at = "removed", by, self._now()
        return self._named(account, agent)

    def of(self, account: str) -> list[NamedAgent]:
        """List the agents that an account has submitted, with their names."""
        with Session(self._engine) as session:
            query = select(DisplayNameRow).where(DisplayNameRow.account == account)
            rows = session.exec(query.order_by(col(DisplayNameRow.changed_at))).all()
        by_agent = {agent: [row for row in rows if row.agent == agent] for agent in self._agents(account)}
        return [_agent(agent, by_agent[agent]) for agent in sorted(by_agent)]

    def shown(self) -> Mapping[tuple[str, str], str]:
        """Return all names that are shown, by account and agent."""
        with Session(self._engine) as session:
            rows = session.exec(select(DisplayNameRow).where(DisplayNameRow.state == "shown")).all()
            return {(row.account, row.agent): row.name for row in rows}

    def _require_agent(self, account: str, agent: str) -> None:
        if agent not in self._agents(account):
            detail = "You have submitted no agent of this name. GET /display-names lists yours; submit it first."
            raise NotFound(f"the account {account} has submitted no agent of this name", detail=detail)

    def _retire(self, session: Session, account: str, agent: str) -> None:
        row = _shown(session, account, agent)
        if row is not None:
            row.state, row.changed_at = "former", self._now()
            session.flush()

    def _named(self, account: str, agent: str) -> NamedAgent:
        return next((named for named in self.of(account) if named.agent == agent), NamedAgent(agent, None, None))

    def _now(self) -> datetime:
        return self._clock().astimezone(UTC)


def _shown(session: Session, account: str, agent: str) -> DisplayNameRow | None:
    query = select(DisplayNameRow).where(DisplayNameRow.account == account, DisplayNameRow.agent == agent)
    return session.exec(query.where(DisplayNameRow.state == "shown")).one_or_none()


def _require_room(session: Session, account: str) -> None:
    query = select(func.count()).select_from(DisplayNameRow).where(DisplayNameRow.account == account)
    if session.exec(query).one() >= MAX_NAMES:
        raise OverQuota(
            f"all {MAX_NAMES} display names of the account are used; choose one of its former names",
            detail=f"Your account has chosen {MAX_NAMES} display names, as many as it may. "
            "Choose one that it had before.",
            limit={"name": "display_names", "value": MAX_NAMES, "unit": "names"},
        )


def _taken(name: str, message: str) -> NameTaken:
    detail = (
        "This name is taken: another agent or account has or had it, or one that looks like it (case, separators, "
        "0 and O, 1 and l and I do not count). Choose another one."
    )
    return NameTaken(message, detail=detail, field="name", given=name, state="name-taken")


def _agent(agent: str, rows: list[DisplayNameRow]) -> NamedAgent:
    """Make an agent of its rows, the oldest first."""
    shown = next((row.name for row in rows if row.state == "shown"), None)
    removed = rows[-1].name if rows and rows[-1].state == "removed" else None
    return NamedAgent(agent, shown, removed)
