"""Frozen agents: reference agents of the operator that never change, each submitted once a month.

Their results move only where the tasks do, and a field of few submitters gains peers. Each is submitted by an account
of its own: the submission is queued, played, ranked, counted and tested as any other. The key under which it is made is
the month, so looking again, in this process or another, submits nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from quarterturn.accounts.store import Accounts
from quarterturn.errors import ApplicationError, NotAllowed
from quarterturn.failure_codes import CODES
from quarterturn.notices import contents
from quarterturn.settings import FrozenAgentSettings
from quarterturn.submissions.service import SubmissionService
from quarterturn.submissions.store.requests import SubmissionRecord, SubmissionRequest, Submissions
from rotation.calendar import Month
from rotation.errors import NotAllowed as NotLive
from rotation.month.store import MonthStore

WAITED = "It was submitted, and no worker played it before the month turned."


class FrozenAgents:
    """The frozen agents of one home.

    Args:
        agents: from the settings, by account.
        accounts: where theirs are made.
        service: takes their submissions.
        submissions: what they submitted before.
        months: which month is live.
    """

    def __init__(
        self,
        agents: Mapping[str, FrozenAgentSettings],
        accounts: Accounts,
        service: SubmissionService,
        submissions: Submissions,
        months: MonthStore,
    ) -> None:
        self._agents, self._accounts, self._service = agents, accounts, service
        self._submissions, self._months = submissions, months

    def submit(self) -> list[contents.Notice]:
        """Submit each agent that the live month does not have yet; give a notice of each without a run, now or before.

        What waited all month is told of in the next one.
        """
        try:
            month = self._months.live_month()
        except NotLive:
            return []
        return [notice for name, agent in self._agents.items() for notice in self._submit(name, agent, month)]

    def _submit(self, name: str, agent: FrozenAgentSettings, month: Month) -> Iterator[contents.Notice]:
        """Submit one agent unless the month has it; give its notices."""
        made = [one for one in self._submissions.of(name) if one.tasks == "private"]
        last = [one for one in made if one.month == str(month.plus(-1))]
        if last and not any(one.served or one.state in ("running", "done") for one in last):
            yield contents.agent_missing(name, last[0].month, WAITED)
        try:
            _require_frozen(agent, made)
            now = next((one for one in made if one.month == str(month)), None) or self._submitted(name, agent, month)
        except ApplicationError as error:
            yield contents.agent_missing(name, str(month), f"It was not submitted: {error}.")
            return
        if now.state in ("failed", "cancelled"):
            why = f"Its submission {now.id} ended with the code {now.code}. {CODES[str(now.code)].hint}"
            yield contents.agent_missing(name, str(month), why)

    def _submitted(self, name: str, agent: FrozenAgentSettings, month: Month) -> SubmissionRecord:
        self._accounts.open(name)
        wanted = SubmissionRequest("private", image=agent.image, model=agent.model or None)
        key = f"frozen agent {month}"
        return self._service.submit(name, wanted, idempotency_key=key)[0]


def _require_frozen(agent: FrozenAgentSettings, made: Sequence[SubmissionRecord]) -> None:
    """Refuse another agent under the name of one that was submitted before."""
    if made and (made[0].reference, made[0].model or "") != (agent.image, agent.model):
        raise NotAllowed(
            f"a frozen agent never changes, and that of {made[0].month} had another image or model; give the new one "
            "a name of its own"
        )
