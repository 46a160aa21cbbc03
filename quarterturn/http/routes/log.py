"""Routes of the public log: C2SP tlog-tiles below `/log`, and inclusion and consistency proofs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from quarterturn.http.answers import answers, shapes
from quarterturn.http.answers.log_view import LogView
from quarterturn.http.answers.problems import Problem
from quarterturn.http.answers.view import Document

router = APIRouter(prefix="/log", tags=["log"])

TEXT, BYTES = "text/plain; charset=utf-8", "application/octet-stream"
Count = Annotated[int, Query(ge=0, le=2**53)]


def log(request: Request) -> LogView:
    """Give the log's folder, which is all that these routes know."""
    found: LogView = request.app.state.log
    return found


Log = Annotated[LogView, Depends(log)]


@router.get("/checkpoint", response_class=Response, name="checkpoint")
def checkpoint(request: Request, log: Log) -> Response:
    """Give the newest signed checkpoint (C2SP checkpoint, a signed note)."""
    return answers.published(request, _tagged(log.note()), TEXT)


@router.get("/checkpoints/{size}", response_class=Response, name="checkpoint_of_size")
def checkpoint_of_size(request: Request, log: Log, size: int) -> Response:
    """Give the checkpoint that was published when the log had so many leaves."""
    return answers.published(request, _tagged(log.note(size)), TEXT)  # witnesses' lines come to stand under it


@router.get("/tile/{path:path}", response_class=Response, name="tile")
def tile(request: Request, log: Log, path: str) -> Response:
    """Give a tile of hashes, or a bundle of leaves below `entries/`."""
    return answers.published(request, _tagged(log.tile(path)), BYTES, keep=answers.FOR_EVER)


@router.get("/proof/inclusion", response_model=shapes.Inclusion, name="inclusion_proof")
def inclusion(request: Request, log: Log, index: Count, size: Count | None = None) -> Response:
    """Prove that a leaf is in the log."""
    return _proof(request, log.inclusion(index, size))


@router.get("/proof/consistency", response_model=shapes.Consistency, name="consistency_proof")
def consistency(
    request: Request,
    log: Log,
    old: Annotated[Count, Query(alias="from")],
    new: Annotated[Count | None, Query(alias="to")] = None,
) -> Response:
    """Prove that an earlier log is the beginning of a later one."""
    return _proof(request, log.consistency(old, new))


def _proof(request: Request, found: object | None) -> Response:
    if found is None:
        raise Problem("not-found")
    return answers.published(request, Document.of(answers.written(found)))


def _tagged(data: bytes | None) -> Document | None:
    return Document.of(data) if data is not None else None
