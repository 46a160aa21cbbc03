"""Routes for operators: findings and their reviews, the queue, the turn, tokens. None of them shows a task."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from quarterturn.accounts.accounts import Token
from quarterturn.findings.finding_list import described, listed
from quarterturn.http.identity.auth import Who
from quarterturn.http.responses import json_responses, models
from quarterturn.http.routes.submissions import Home
from quarterturn.month import turn_status

router = APIRouter(prefix="/admin", tags=["admin"])

Number = Annotated[int, Path(ge=1, le=2**53)]


@router.get("/findings", response_model=dict[str, Any], name="list_findings")
def findings(
    house: Home,
    month: Annotated[models.MonthName | None, Query(description="YYYY-MM (default: every month).")] = None,
    *,
    everything: Annotated[bool, Query(alias="all", description="Include clean results.")] = False,
) -> Response:
    """List the findings with their reviews, as `quarterturn watch list` does."""
    return json_responses.plain(listed(house.findings, month, everything=everything).as_json())


@router.post("/findings/{number}/review", response_model=dict[str, Any], name="review_finding")
def review(house: Home, who: Who, number: Number, word: models.NewWord) -> Response:
    """Set a finding's status. Scores do not change."""
    reviewed = house.findings.review(number, word.state, who=who.account, note=word.note, now=house.now())
    return json_responses.plain(described(reviewed))


@router.get("/queue", response_model=models.QueueShape, name="queue")
def queue(house: Home) -> Response:
    """List the submissions that are waiting or running."""
    unfinished = [
        {
            "id": submission.id,
            "account": submission.account,
            "set": submission.tasks,
            "state": submission.state,
            "attempt": submission.attempt,
        }
        for submission in house.submissions.unfinished()
    ]
    return json_responses.plain({"submissions": unfinished})


@router.get("/turn", response_model=dict[str, Any], name="turn_status")
def turn(house: Home) -> Response:
    """Give the turns that were made and what waits for a maintainer, as `quarterturn turn status` does."""
    return json_responses.plain(turn_status.status(house.months))


@router.get("/tokens", response_model=models.Tokens, name="list_tokens")
def tokens(house: Home) -> Response:
    """List the tokens, without their secret text."""
    return json_responses.plain({"tokens": [_token(token) for token in house.accounts.list()]})


@router.post("/tokens", status_code=201, response_model=models.MadeToken, name="create_token")
def create(house: Home, wanted: models.NewToken) -> Response:
    """Create a token; its text is shown only in this answer."""
    text, made = house.accounts.create(wanted.account, wanted.role, scopes=wanted.scopes, days=wanted.days)
    return json_responses.plain(_token(made) | {"token": text}, 201)


@router.delete("/tokens/{number}", response_model=models.TokenShape, name="revoke_token")
def revoke(house: Home, number: Number) -> Response:
    """Revoke a token; it is invalid from now on."""
    return json_responses.plain(_token(house.accounts.revoke(number)))


def _token(token: Token) -> dict[str, Any]:
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in asdict(token).items()}
