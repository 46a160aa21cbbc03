"""Hardware token lock (PKCS#11): the root key is encrypted under an AES key that never leaves the token.

The token is asked once for each opening of the ring, and never for a task: tokens do a few hundred operations a second.
The document names the module, the token, and the key by label and id; the PIN is asked for. A key that is found under
the label is used only if the token will not give it away. The module is loaded by a process of its own
(`vault.keys.locks.pkcs11_process`), which gets the PIN and the root key on its standard input and nothing else.

    sealed = nonce (12) || AES-256-GCM(the token's key, nonce, root key, context)
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from vault.canonical import canonical, parse_object
from vault.errors import Broken, Locked, Malformed, Refused, Unavailable, VaultError
from vault.keys.locks.command import TIME_LIMIT, run
from vault.keys.locks.lock import NONCE_SIZE, ROOT_SIZE, Document, Maker, text

if find_spec("pkcs11") is None:
    message = "A hardware token needs the package python-pkcs11: install quarterturn[hsm]."
    raise Unavailable(message)

ID_SIZE, TAG_SIZE = 8, 16
PROCESS = (sys.executable, "-I", "-m", "vault.keys.locks.pkcs11_process")
ERRORS: Mapping[str, type[VaultError]] = {kind.__name__: kind for kind in (Broken, Locked, Refused, Unavailable)}


@dataclass(frozen=True, slots=True)
class Pkcs11:
    """Opener that has the token decrypt the root key, with its PIN."""

    kind: ClassVar[str] = "pkcs11"
    pin: str = field(repr=False)

    def open(self, lock: Mapping[str, Any], ring: str) -> bytes:
        """Have the token decrypt a root key."""
        (root,) = _asked({"do": "open", "lock": dict(lock), "ring": ring, "pin": self.pin}, "root")
        return _bytes(root, ROOT_SIZE, lock["module"])

    def again(self, lock: Mapping[str, Any]) -> Maker:
        """Return the sealer that uses the same key of the same token."""
        return NewPkcs11(Path(lock["module"]), lock["token"], lock["key"], self.pin)


@dataclass(frozen=True, slots=True)
class NewPkcs11:
    """Sealer under a token's AES key, which is generated there if the token has none of that label.

    Attributes:
        module: the token's library.
        token: the token's label.
        key: the key's label.
        pin: of the token's user.
        entropy: the source of nonces and of the new key's id.
    """

    kind: ClassVar[str] = Pkcs11.kind
    module: Path
    token: str
    key: str
    pin: str = field(repr=False)
    entropy: Callable[[int], bytes] = field(repr=False, default=os.urandom)

    def seal(self, root: bytes, name: str, ring: str) -> Document:
        """Have the token encrypt a root key.

        Raises:
            Refused: the key that is there could leave the token.
        """
        lock = {"name": name, "kind": self.kind, "module": str(self.module), "token": self.token, "key": self.key}
        fresh = {"nonce": text(self.entropy(NONCE_SIZE)), "new_id": text(self.entropy(ID_SIZE))}
        asked = {"do": "seal", "lock": lock, "ring": ring, "pin": self.pin, "root": text(root), **fresh}
        key_id, sealed = _asked(asked, "key_id", "sealed")
        encrypted = _bytes(sealed, NONCE_SIZE + ROOT_SIZE + TAG_SIZE, lock["module"])
        if root in encrypted:
            raise Broken(f"The module {self.module} gave the root key back as it was.")
        return {**lock, "key_id": key_id, "sealed": text(encrypted)}


def _asked(request: Mapping[str, Any], *wanted: str) -> list[str]:
    """Have the process carry out a request, and return these fields of its answer.

    Its environment is ours, because modules find their configuration there; the command line takes its own secrets out.
    """
    what = f"module {request['lock']['module']}"
    code, answer = run(PROCESS, canonical(request), TIME_LIMIT, what, os.environ)
    if code:
        raise Unavailable(f"The {what} ended its process with code {code}.")
    document = parse_object(answer, f"the answer of the {what}")
    if "error" in document:
        raise ERRORS.get(str(document["error"]), Unavailable)(str(document.get("sentence")))
    fields = [document.get(name) for name in wanted]
    if not all(isinstance(value, str) for value in fields):
        raise Malformed(f"The answer of the {what} lacks {' or '.join(wanted)}.")
    return [str(value) for value in fields]


def _bytes(encoded: str, size: int, module: str) -> bytes:
    try:
        decoded = base64.b64decode(encoded, validate=True)
    except ValueError:
        decoded = b""
    if len(decoded) != size:
        raise Broken(f"The module {module} gave {len(decoded)} bytes; {size} are expected.")
    return decoded
