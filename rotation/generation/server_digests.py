"""Digests of the servers that a draft's task lists tools of, for its provenance."""

from __future__ import annotations

from dataclasses import replace

from grammars.language.grammar import Draft
from sandbox.servers.definition import server_digest


def with_server_digests(draft: Draft) -> Draft:
    """Return the draft with `servers` in its provenance: name -> SHA-256 (hex) of the server's definition.

    Raises:
        NotFound: the task lists a tool of a server that nobody knows.
    """
    names = sorted({tool.partition(".")[0] for tool in draft.task["available_tools"]})
    return replace(draft, provenance={**draft.provenance, "servers": {name: server_digest(name) for name in names}})
