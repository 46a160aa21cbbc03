"""Frozen agents: reference agents of the operator that never change, each submitted once a month.

Their results move only where the tasks do, and a field of few submitters gains peers. Each is submitted by an account
of its own: the submission is queued, played, ranked, counted and tested as any other. The key under which it is made is
the month, so looking again, in this process or another, submits nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from quarterturn.accounts.store import Accounts
from quarterturn.errors import ApplicationError, NotAllowed
from quarterturn.failure_codes import CODES
from quarterturn.notices import contents
from quarterturn.settings import FrozenAgentSettings
from quarterturn.submissions.service import SubmissionService
from quarterturn.submissions.store.requests import SubmissionRecord, SubmissionRequest, Submissions
from rotation.calendar import Month
from rotation.errors import NotAllowed as NotLive

WAITED = "It was submitted, and no worker played it before the month turned."


class FrozenAgents:
    """The frozen agents of one home.

    Args:
        agents: from the settings, by account.
        accounts: where theirs are made.
        service: takes their submissions.
        submissions: what they submitted before.
        live_month: gives the month whose set is live; raises `rotation.errors.NotAllowed` where none is.
    """

    def __init__(
        self,
        agents: Mapping[str, FrozenAgentSettings],
        accounts: Accounts,
        service: SubmissionService,
        submissions: Submissions,
        live_month: Callable[[], Month],
    ) -> None:
        self._agents, self._accounts, self._service = agents, accounts, service
        self._submissions, self._live_month = submissions, live_month

    def submit(self) -> list[contents.Notice]:
        """Submit each agent that the live month does not have yet; give a notice of each without a run, now or before.

        What waited all month is told of in the next one.
        """
        try:
            live = self._live_month()
        except NotLive:
            return []
        month, last = str(live), str(live.plus(-1))
        lacks = {name: self._submit(name, agent, month) for name, agent in self._agents.items()}
        missing = [contents.agent_missing(name, month, why) for name, why in lacks.items() if why is not None]
        return [*missing, *(contents.agent_missing(name, last, WAITED) for name in lacks if self._missed(name, last))]

    def _missed(self, name: str, month: str) -> bool:
        """Say whether an agent was submitted in a month that is over, and never served."""
        made = [one for one in self._submissions.of(name) if (one.tasks, one.month) == ("private", month)]
        return bool(made) and not any(one.served or one.state in ("running", "done") for one in made)

    def _submit(self, name: str, agent: FrozenAgentSettings, month: str) -> str | None:
        """Submit one agent; say why it has no run, or None."""
        self._accounts.open(name)
        try:
            self._require_frozen(name, agent)
            wanted = SubmissionRequest("private", image=agent.image, model=agent.model or None)
            record, _ = self._service.submit(
                name, wanted, idempotency_key=f"frozen agent {month}", enqueue=lambda _session, _number: None
            )
        except ApplicationError as error:
            return f"It was not submitted: {error}."
        return _failure(record)

    def _require_frozen(self, name: str, agent: FrozenAgentSettings) -> None:
        """Refuse another agent under the name of one that was submitted before."""
        before = next((one for one in self._submissions.of(name) if one.tasks == "private"), None)
        if before is not None and (before.reference, before.model or "") != (agent.image, agent.model):
            raise NotAllowed(
                f"a frozen agent never changes, and that of {before.month} had another image or model; give the new "
                "one a name of its own"
            )


def _failure(record: SubmissionRecord) -> str | None:
    if record.state not in ("failed", "cancelled"):
        return None
    return f"Its submission {record.id} ended with the code {record.code}. {CODES[str(record.code)].hint}"
