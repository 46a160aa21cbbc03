"""Fixture that makes passphrases cheap to derive keys from, in this process and its forks; `vault` tests their cost."""

from collections.abc import Iterator
from typing import Any

import pytest

from vault.keys.locks import passphrase


@pytest.fixture(scope="module")
def cheap_derivation() -> Iterator[None]:
    """Derive keys from passphrases at the lowest cost, whatever a lock asks for."""
    real = passphrase.Argon2id

    def derive(**parameters: Any) -> Any:
        return real(**parameters | {"memory_cost": 8, "iterations": 1, "lanes": 1})

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(passphrase, "Argon2id", derive)
        yield
