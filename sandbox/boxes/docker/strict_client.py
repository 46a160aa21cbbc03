"""The Docker SDK's client behind a strict reader: of an answer, the SDK sees nothing that could make it fail.

1. Every body is taken unencoded and within a cap; of those that are streamed, the caller counts.
2. An error's body becomes `{"message": text}`, whatever came: the SDK indexes it without looking.
3. No redirect is followed; what a `Location` holds is not even read.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

import docker
from requests import PreparedRequest, Response
from requests.exceptions import ContentDecodingError

from sandbox.boxes.docker.answers import EngineError, EngineVersion
from sandbox.remote_document import InvalidAnswer, excerpt, read_document, read_within

NAME = "the Docker engine"
MAX_BYTES = 16 << 20
MAX_VALUES = 200_000
CHUNK = 1 << 16
_ERRORS_FROM = 400

T = TypeVar("T")


class StrictApi(docker.APIClient):
    """The SDK's client of the Engine API."""

    def send(self, request: PreparedRequest, **options: Any) -> Response:
        """Send a request and read its answer, but for one that is streamed."""
        streamed = options.pop("stream", False)
        request.headers["Accept-Encoding"] = "identity"
        response = super().send(request, stream=True, **options)
        failed = response.status_code >= _ERRORS_FROM
        if streamed and not failed:
            return response
        if response.headers.get("content-encoding", "identity") != "identity":
            response.close()
            raise ContentDecodingError("an encoded answer that nobody asked for")
        try:
            body = read_within(response.iter_content(CHUNK), MAX_BYTES, NAME)
        finally:
            response.close()
        response._content = json.dumps({"message": _message(body)}).encode() if failed else body
        return response

    def get_redirect_target(self, resp: Response) -> None:
        """Follow no redirect."""

    def ask(self, method: str, path: str, *arguments: str, **options: Any) -> Response:
        """Send a request to a path of the API, and raise what the SDK raises for an error."""
        sdk: Any = self  # its stubs leave out what each of its own methods uses
        response = self.request(method, sdk._url(path, *arguments), **sdk._set_request_timeout(options))
        sdk._raise_for_status(response)
        return response

    def read(self, form: type[T], method: str, path: str, *arguments: str, **options: Any) -> T:
        """Send a request, and read its answer into a typed model."""
        body = self.ask(method, path, *arguments, **options).content
        return read_document(form, body, NAME, max_bytes=MAX_BYTES, max_values=MAX_VALUES)

    def _retrieve_server_version(self) -> str:
        sdk: Any = self
        response = self.get(sdk._url("/version", versioned_api=False), timeout=self.timeout)
        sdk._raise_for_status(response)
        return read_document(EngineVersion, response.content, NAME, max_bytes=MAX_BYTES).ApiVersion


class StrictDocker(docker.DockerClient):
    """The SDK's client, as its environment variables and contexts configure it, with a `StrictApi`."""

    api: StrictApi

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.api = StrictApi(*arguments, **options)


def _message(body: bytes) -> str:
    try:
        return read_document(EngineError, body, NAME, max_bytes=MAX_BYTES).message
    except InvalidAnswer:
        return excerpt(body.decode("utf-8", "replace"))
