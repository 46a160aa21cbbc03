"""Example JSON documents for the predicate catalogue's examples."""

from __future__ import annotations

import json
from typing import Any

from verifiers.states.json_document.document import FILE
from verifiers.tree import JudgeInput, tree_of


def json_document(document: Any) -> JudgeInput:
    """Return the views of a world whose server keeps this document."""
    return JudgeInput({"json_document": tree_of({FILE: json.dumps(document, ensure_ascii=False)})})
