"""Registry of the state kinds."""

from __future__ import annotations

from collections.abc import Mapping

from sandbox.kinds.calendar.kind import CALENDAR
from sandbox.kinds.common.state_kind import StateKind
from sandbox.kinds.files.kind import FILES
from sandbox.kinds.forge.kind import FORGE
from sandbox.kinds.git.kind import GIT
from sandbox.kinds.graph.kind import GRAPH
from sandbox.kinds.json_document.kind import JSON_DOCUMENT
from sandbox.kinds.mailbox.kind import MAILBOX
from sandbox.kinds.postgres.kind import POSTGRES
from sandbox.kinds.redis.kind import REDIS
from sandbox.kinds.sqlite.kind import SQLITE
from sandbox.kinds.workbook.kind import WORKBOOK

_ALL = (CALENDAR, FILES, FORGE, GIT, GRAPH, JSON_DOCUMENT, MAILBOX, POSTGRES, REDIS, SQLITE, WORKBOOK)
KINDS: Mapping[str, StateKind] = {kind.name: kind for kind in _ALL}
