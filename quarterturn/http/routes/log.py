"""Routes of the public log: C2SP tlog-tiles below `/log`, and inclusion and consistency proofs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from quarterturn.http.responses import json_responses, models
from quarterturn.http.responses.problems import Problem
from quarterturn.http.responses.public_log import LogView
from quarterturn.http.responses.public_view import Document

router = APIRouter(prefix="/log", tags=["log"])

TEXT, BYTES = "text/plain; charset=utf-8", "application/octet-stream"
NOTE = models.content("text/plain")
MAX_SIZE = 2**53  # leaves
Count = Annotated[int, Query(ge=0, le=MAX_SIZE)]


def log(request: Request) -> LogView:
    """Return the log's folder, which is all that these routes know."""
    view: LogView = request.app.state.log
    return view


Log = Annotated[LogView, Depends(log)]


@router.get("/checkpoint", response_class=Response, responses=NOTE, name="checkpoint")
def checkpoint(request: Request, log: Log) -> Response:
    """Return the newest signed checkpoint (C2SP checkpoint, a signed note)."""
    return json_responses.published(request, _tagged(log.note()), TEXT)


@router.get("/checkpoints/{size}", response_class=Response, responses=NOTE, name="checkpoint_of_size")
def checkpoint_of_size(request: Request, log: Log, size: Annotated[int, Path(ge=0, le=MAX_SIZE)]) -> Response:
    """Return the checkpoint that was published when the log had so many leaves."""
    return json_responses.published(request, _tagged(log.note(size)), TEXT)  # witnesses' lines come to stand under it


@router.get("/tile/{path:path}", response_class=Response, responses=models.content(BYTES), name="tile")
def tile(request: Request, log: Log, path: str) -> Response:
    """Return a tile of hashes, or a bundle of leaves below `entries/`."""
    return json_responses.published(request, _tagged(log.tile(path)), BYTES, keep=json_responses.FOR_EVER)


@router.get("/proof/inclusion", response_model=models.Inclusion, name="inclusion_proof")
def inclusion(request: Request, log: Log, index: Count, size: Count | None = None) -> Response:
    """Prove that a leaf is in the log."""
    return _proof(request, log.inclusion(index, size), "`index` is below `size`, and `size`")


@router.get("/proof/consistency", response_model=models.Consistency, name="consistency_proof")
def consistency(
    request: Request,
    log: Log,
    old: Annotated[Count, Query(alias="from")],
    new: Annotated[Count | None, Query(alias="to")] = None,
) -> Response:
    """Prove that an earlier log is the beginning of a later one."""
    return _proof(request, log.consistency(old, new), "`from` is 1 to `to`, and `to`")


def _proof(request: Request, answer: object | None, rule: str) -> Response:
    if answer is None:
        detail = f"The log has no such leaf or size: {rule} at most the number of leaves in GET /log/checkpoint."
        raise Problem("not-found", detail=detail)
    return json_responses.published(request, Document.of(json_responses.written(answer)))


def _tagged(data: bytes | None) -> Document | None:
    return Document.of(data) if data is not None else None
