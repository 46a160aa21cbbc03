"""Routes of the signed months, and of the public keys to check them with; they read the public view alone."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request, Response

from quarterturn.http.responses import json_responses, models
from quarterturn.http.responses.public_view import Document
from quarterturn.http.routes.public import View
from vault.ledger.release import month

router = APIRouter(tags=["public"])

TEXT, JSON = "text/plain; charset=utf-8", "application/json"

Signed = Literal["checkpoint", "checkpoint.sig", "attestation.dsse.json"]
Key = Literal["log.vkey", "allowed_signers"]


@router.get("/months", response_model=models.Months, name="list_months")
def months(request: Request, view: View) -> Response:
    """List the months whose turn was signed, the oldest first."""
    listing = [{"month": name, "files": [f"/months/{name}/{file}" for file in month.FILES]} for name in view.signed()]
    return json_responses.published(request, Document.of(json_responses.written({"months": listing})))


@router.get(
    "/months/{month}/{file}",
    response_class=Response,
    responses=models.content("text/plain", JSON),
    name="get_month_file",
)
def month_file(request: Request, view: View, month: models.MonthName, file: Signed) -> Response:
    """Return a turn's final checkpoint, its SSH signature, or its attestation (in-toto in DSSE)."""
    media = JSON if file.endswith(".json") else TEXT
    return json_responses.published(request, view.of_month(month, file), media, keep=json_responses.FOR_EVER)


@router.get("/keys/{file}", response_class=Response, responses=models.content("text/plain"), name="get_key")
def key(request: Request, view: View, file: Key) -> Response:
    """Return the log's verifier key, or the signers of months (OpenSSH). Compare them with a copy from elsewhere."""
    return json_responses.published(request, view.key() if file == "log.vkey" else view.signers(), TEXT)
