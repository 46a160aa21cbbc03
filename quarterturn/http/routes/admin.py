"""Routes for operators: findings and their reviews, the queue, the turn, tokens. None of them shows a task."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from quarterturn.accounts.roles import ROLES
from quarterturn.accounts.store import Token
from quarterturn.findings.finding_list import described, listed
from quarterturn.http.dependencies.services import Accounts, Findings, Months, Submissions
from quarterturn.http.identity.auth import Who
from quarterturn.http.responses import documents, json_responses, models
from quarterturn.http.responses.problems import Problem
from quarterturn.http.responses.validation import of_field
from quarterturn.month import turn_status
from rotation.errors import Malformed

router = APIRouter(prefix="/admin", tags=["admin"])

NOTE = "one line of printable characters; it must hold the reason where `state` is explained or confirmed"
Number = Annotated[int, Path(ge=1, le=2**53)]


@router.get("/findings", response_model=documents.FindingListShape, name="list_findings")
def list_findings(
    findings: Findings,
    month: Annotated[models.MonthName | None, Query(description="YYYY-MM (default: every month).")] = None,
    *,
    everything: Annotated[bool, Query(alias="all", description="Include clean results.")] = False,
) -> Response:
    """List the findings with their reviews, as `quarterturn watch list` does."""
    return json_responses.plain(listed(findings, month, everything=everything).as_json())


@router.post("/findings/{number}/review", response_model=documents.FindingShape, name="review_finding")
def review(findings: Findings, who: Who, number: Number, word: models.NewWord) -> Response:
    """Set the state of a finding's review. Scores do not change."""
    try:
        reviewed = findings.review(number, word.state, who=who.account, note=word.note)
    except Malformed:
        raise Problem("invalid", **of_field("note", NOTE)) from None
    return json_responses.plain(described(reviewed))


@router.get("/queue", response_model=models.QueueShape, name="queue")
def queue(submissions: Submissions) -> Response:
    """List the submissions that are waiting or running."""
    unfinished = [
        {
            "id": submission.id,
            "account": submission.account,
            "set": submission.tasks,
            "state": submission.state,
            "attempt": submission.attempt,
        }
        for submission in submissions.unfinished()
    ]
    return json_responses.plain({"submissions": unfinished})


@router.get("/turn", response_model=documents.TurnStatus, name="turn_status")
def turn(months: Months) -> Response:
    """Return the turns that were made and what waits for a maintainer, as `quarterturn turn status` does."""
    return json_responses.plain(turn_status.status(months))


@router.get("/tokens", response_model=models.Tokens, name="list_tokens")
def tokens(accounts: Accounts) -> Response:
    """List the tokens, without their secret text."""
    return json_responses.plain({"tokens": [_token(token) for token in accounts.list()]})


@router.post("/tokens", status_code=201, response_model=models.MadeToken, name="create_token")
def create(accounts: Accounts, wanted: models.NewToken) -> Response:
    """Create a token; its text is shown only in this answer."""
    if set(wanted.scopes) - ROLES[wanted.role]:
        expected = f"scopes of the role {wanted.role}: {', '.join(sorted(ROLES[wanted.role]))}"
        raise Problem("invalid", **of_field("scopes", expected))
    text, made = accounts.create(wanted.account, wanted.role, scopes=wanted.scopes, days=wanted.days)
    return json_responses.plain(_token(made) | {"token": text}, 201)


@router.delete("/tokens/{number}", response_model=models.TokenShape, name="revoke_token")
def revoke(accounts: Accounts, number: Number) -> Response:
    """Revoke a token; it is invalid from now on."""
    return json_responses.plain(_token(accounts.revoke(number)))


def _token(token: Token) -> dict[str, Any]:
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in asdict(token).items()}
