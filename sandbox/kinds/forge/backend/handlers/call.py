"""Context of one API call, as its handler sees it: caller, path variables and arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox.kinds.forge.backend.protocol.errors import ApiError, forbidden, not_found, unprocessable
from sandbox.kinds.forge.backend.protocol.web import HttpRequest, HttpResponse
from sandbox.kinds.forge.backend.storage.state import ForgeState, Repo, writable

_MISSING = object()
_KINDS: Mapping[type, str] = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    list: "an array",
    dict: "an object",
}


@dataclass(frozen=True)
class ApiCall:
    """A call.

    Attributes:
        state: the forge.
        request: what came.
        viewer: the account whose token came with it, or None.
        parts: what stands for the variable parts of the path.
        body: the JSON object that came, `{}` where none did.
    """

    state: ForgeState
    request: HttpRequest
    viewer: str | None
    parts: Mapping[str, str]
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def login(self) -> str:
        """The account that calls.

        Raises:
            ApiError: nobody does.
        """
        if self.viewer is None:
            raise ApiError(401, "Requires authentication")
        return self.viewer

    def query(self, name: str, default: str = "") -> str:
        """Return a parameter of the query."""
        return self.request.query.get(name) or default

    def one_of(self, name: str, allowed: tuple[str, ...]) -> str:
        """Return a parameter of the query; one that is not allowed is as if it were not there, and the first counts."""
        given = self.query(name)
        return given if given in allowed else allowed[0]

    def take(self, name: str, kind: type, default: Any = _MISSING) -> Any:
        """Return a field of the body. A null counts as absent.

        Raises:
            ApiError: it is required and absent, or of another kind.
        """
        value = self.body.get(name)
        if value is None:
            if default is _MISSING:
                raise unprocessable(f'Invalid request.\n\n"{name}" wasn\'t supplied.')
            return default
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise unprocessable(f"Invalid request.\n\nFor 'properties/{name}', {value!r} is not {_KINDS[kind]}.")
        return value

    def texts(self, name: str) -> list[str]:
        """Return a field of the body that is a list of texts, `[]` where it is absent.

        Raises:
            ApiError: it is something else.
        """
        values: list[Any] = self.take(name, list, [])
        for value in values:
            if not isinstance(value, str):
                raise unprocessable(f"Invalid request.\n\nFor 'items', {value!r} is not a string.")
        return values

    # -- the repository that the path names ----------------------------------------------------------------------

    @property
    def repo(self) -> Repo:
        """The repository.

        Raises:
            ApiError: there is none, or none that the caller may see.
        """
        repo = self.state.repository(f"{self.parts['owner']}/{self.parts['repo']}")
        if not repo.may_read(self.viewer):
            raise not_found()
        return repo

    def repo_to_write(self, *, push: bool = True) -> Repo:
        """Return the repository, to be changed.

        Args:
            push: whether it takes the right to push, and not just to take part in its conversations.

        Raises:
            ApiError: see `repo`; or the caller may not, or it is archived.
        """
        login, repo = self.login, self.repo
        if push and not repo.may_push(login):
            raise forbidden()
        return writable(repo)


Handler = Callable[[ApiCall], HttpResponse]
