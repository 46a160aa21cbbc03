"""Twins of mail: the text of a new message with another end, and in another transfer encoding."""

from __future__ import annotations

import base64
import email
from collections.abc import Callable, Mapping
from dataclasses import replace
from email.message import Message

from verifiers.tree import FileTree


def _changed(before: FileTree, after: FileTree, ending: bytes) -> FileTree:
    known, nodes = {node.data for node in before.values()}, dict(after)
    for path, node in after.items():
        if node.kind == "file" and path.split("/")[-2:-1] in (["new"], ["cur"]) and node.data not in known:
            message = email.message_from_bytes(node.data)
            for part in message.walk():
                if part.get_content_maintype() == "text" and part.get_filename() is None:
                    _encode(part, ending)
            nodes[path] = replace(node, data=message.as_bytes())
    return FileTree(nodes)


def _encode(part: Message, ending: bytes) -> None:
    """Put a part's text into base64, with this ending."""
    text = part.get_payload(decode=True)
    if isinstance(text, bytes):
        part.set_payload(base64.encodebytes(text.rstrip() + ending).decode())
        del part["Content-Transfer-Encoding"]
        part["Content-Transfer-Encoding"] = "base64"


TWINS: Mapping[str, Callable[[FileTree, FileTree], FileTree]] = {
    "final-newline": lambda before, after: _changed(before, after, b"\r\n\r\n"),
    "transfer-encoding": lambda before, after: _changed(before, after, b""),
}
"""By name: gives the twin of a final state, or that state where it has nothing of the sort."""
