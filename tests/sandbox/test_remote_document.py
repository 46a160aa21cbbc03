"""Tests of the reader of remote documents: caps, strict types, and sentences that quote no value."""

from __future__ import annotations

import pytest

from sandbox.remote_document import InvalidAnswer, RemoteDocument, excerpt, read_document, read_within

REMOTE = "https://bench.example.org"


class Figures(RemoteDocument):
    """A document with one count."""

    count: int


def test_a_body_is_counted_whole_and_the_rest_of_it_is_not_read():
    parts = iter([b"ab", b"cd", b"ef"])
    with pytest.raises(InvalidAnswer, match=f"{REMOTE} answers with more than 3 bytes"):
        read_within(parts, 3, REMOTE)
    assert list(parts) == [b"ef"]
    assert read_within([b"ab", b"c"], 3, REMOTE) == b"abc"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b'{"count": true}', r"\$\.count must be a valid integer"),
        (b'{"count": "canary"}', r"\$\.count must be a valid integer"),
        (b'{"canary": 1}', r"\$\.count is missing"),
        (b'{"count": 1, "count": 2}', "count"),
        (b'{"count": 1}' + b" " * 100, "112 bytes; 100 are allowed"),
        (b"canary", "JSON"),
    ],
)
def test_a_document_of_another_form_is_one_sentence_that_quotes_no_value(data, sentence):
    with pytest.raises(
        InvalidAnswer, match=rf"^{REMOTE} answers in another form than is known here: .*{sentence}"
    ) as refused:
        read_document(Figures, data, REMOTE, max_bytes=100)
    assert "canary" not in str(refused.value)
    assert read_document(Figures, b'{"count": 1, "more": 2}', REMOTE, max_bytes=100) == Figures(count=1)


def test_an_excerpt_is_one_line_without_control_characters():
    assert excerpt("a\n\x1b[2J b") == "a \\x1b[2J b"
    assert len(excerpt("x" * 10_000)) == 200
