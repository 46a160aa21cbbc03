"""Typed client of the HTTP API for submitters: submit an agent, wait until its submission ends, list submissions.

    with Client("https://bench.example.org", token) as client:
        submission = client.submit(image="ada/agent:1", set="dev")
        submission = client.wait(submission.id, on_change=print)

Whatever is refused raises `ApiError`, which carries the problem document.
"""

from quarterturn.client.connection import Client, require_address
from quarterturn.client.documents import Failure, NamedAgent, Rate, Run, Submission, SubmissionPage
from quarterturn.client.problem import ApiError, Problem

__all__ = [
    "ApiError",
    "Client",
    "Failure",
    "NamedAgent",
    "Problem",
    "Rate",
    "Run",
    "Submission",
    "SubmissionPage",
    "require_address",
]
