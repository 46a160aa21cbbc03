"""Typed clients of the HTTP API: `Client` submits agents and waits for their results, `ReleaseClient` needs no token.

    with Client("https://bench.example.org", token) as client:
        submission = client.submit(image="ada/agent:1", set="dev")
        submission = client.wait(submission.id, on_change=print)

Whatever is refused raises `ApiError`, which carries the problem document.
"""

from quarterturn.client.connection import Client
from quarterturn.client.documents import Failure, NamedAgent, Rate, Run, Submission, SubmissionPage
from quarterturn.client.problem import ApiError, Problem
from quarterturn.client.releases import ReleaseArchive, ReleaseClient
from quarterturn.client.transport import require_address

__all__ = [
    "ApiError",
    "Client",
    "Failure",
    "NamedAgent",
    "Problem",
    "Rate",
    "ReleaseArchive",
    "ReleaseClient",
    "Run",
    "Submission",
    "SubmissionPage",
    "require_address",
]
