"""Tests of the forms of documents: an object is closed, also against the marks of the forms themselves."""

import pytest

from vault.errors import Malformed
from vault.ledger.statements.forms import require_form

FORM = {"word": "text", "seed?": "hash"}


@pytest.mark.parametrize("key", ["other", "seed?", "word?"])
def test_a_name_that_is_none_of_the_form_is_refused(key):
    with pytest.raises(Malformed, match="is not a key of this format"):
        require_form(FORM, {"word": "a", key: "b"}, "$")
