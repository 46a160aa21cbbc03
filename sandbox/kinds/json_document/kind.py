"""State kind of JSON documents: one file, in which a server keeps everything.

State: `{"document": {"requests": []}}`; the document is any JSON object or list. Without one there is no file.
"""

from __future__ import annotations

from sandbox.kinds.common.state_kind import StateKind
from sandbox.kinds.json_document.schema import MUTATIONS
from sandbox.kinds.json_document.seed import STATE, seed
from verifiers.states.json_document.document import FILE

JSON_DOCUMENT = StateKind(
    name="json_document",
    about="one JSON document, state.json",
    schema=STATE,
    seed=seed,
    mutations=MUTATIONS,
    file=FILE,
)
