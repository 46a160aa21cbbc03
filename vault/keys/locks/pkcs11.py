"""Hardware token lock (PKCS#11): the root key is encrypted under an AES key that never leaves the token.

The token is asked once for each opening of the ring, and never for a task: tokens do a few hundred operations a second.
The document names the module, the token, and the key by label and id; the PIN is asked for. A key that is found under
the label is used only if the token will not give it away.

    sealed = nonce (12) || AES-256-GCM(the token's key, nonce, root key, context)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from vault.errors import Broken, Locked, Refused, Unavailable, VaultError
from vault.keys.locks.lock import NONCE_SIZE, Document, Maker, context, raw, text

try:
    import pkcs11
    from pkcs11 import Attribute, GCMParams, KeyType, Mechanism, MechanismFlag, ObjectClass, Session
except ImportError:
    message = "A hardware token needs the package python-pkcs11: install quarterturn[hsm]."
    raise Unavailable(message) from None

ID_SIZE, KEY_BITS, TAG_BITS = 8, 256, 128


@dataclass(frozen=True, slots=True)
class Pkcs11:
    """Opener that has the token decrypt the root key, with its PIN."""

    kind: ClassVar[str] = "pkcs11"
    pin: str = field(repr=False)

    def open(self, lock: Mapping[str, Any], ring: str) -> bytes:
        """Have the token decrypt a root key."""
        sealed = raw(lock)
        with _session(lock["module"], lock["token"], self.pin) as session:
            key = _key(session, lock["key"], bytes.fromhex(lock["key_id"]))
            try:
                return bytes(key.decrypt(sealed[NONCE_SIZE:], **_gcm(sealed[:NONCE_SIZE], context(lock, ring))))
            except pkcs11.PKCS11Error:
                raise Broken(
                    f"The token '{lock['token']}' does not decrypt the ring's root key: the file was changed, or the "
                    f"token holds another key '{lock['key']}'."
                ) from None

    def again(self, lock: Mapping[str, Any]) -> Maker:
        """Give the sealer that uses the same key of the same token."""
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
        with _session(str(self.module), self.token, self.pin, write=True) as session:
            key = self._found_or_made(session)
            lock = {
                "name": name,
                "kind": self.kind,
                "module": str(self.module),
                "token": self.token,
                "key": self.key,
                "key_id": bytes(key[Attribute.ID]).hex(),
            }
            nonce = self.entropy(NONCE_SIZE)
            sealed = nonce + bytes(key.encrypt(root, **_gcm(nonce, context(lock, ring))))
            return {**lock, "sealed": text(sealed)}

    def _found_or_made(self, session: Session) -> Any:
        try:
            key = _key(session, self.key)
        except pkcs11.NoSuchKey:
            return session.generate_key(
                KeyType.AES,
                KEY_BITS,
                id=self.entropy(ID_SIZE),
                label=self.key,
                store=True,
                capabilities=MechanismFlag.ENCRYPT | MechanismFlag.DECRYPT,
                template={Attribute.SENSITIVE: True, Attribute.EXTRACTABLE: False},
            )
        if not key[Attribute.NEVER_EXTRACTABLE] or not key[Attribute.ALWAYS_SENSITIVE]:
            raise Refused(f"The key '{self.key}' of the token '{self.token}' can leave it: name another with --key.")
        return key


def _key(session: Session, label: str, key_id: bytes | None = None) -> Any:
    return session.get_key(object_class=ObjectClass.SECRET_KEY, key_type=KeyType.AES, label=label, id=key_id)


def _gcm(nonce: bytes, bound: bytes) -> dict[str, Any]:
    return {"mechanism": Mechanism.AES_GCM, "mechanism_param": GCMParams(nonce, bound, TAG_BITS)}


@contextmanager
def _session(module: str, token: str, pin: str, *, write: bool = False) -> Iterator[Session]:
    """Open a session on a token and close it at the end; driver errors become our own errors."""
    where = f"token '{token}' of {module}"
    try:
        library = pkcs11.lib(module)
        try:
            with library.get_token(token_label=token).open(rw=write, user_pin=pin) as session:
                yield session
        finally:
            library.finalize()  # a process that is forked later inherits no session
    except VaultError:
        raise
    except (pkcs11.PinIncorrect, pkcs11.PinInvalid, pkcs11.PinLenRange):
        raise Locked(f"The PIN does not open the {where}; a token locks itself after a few wrong ones.") from None
    except (pkcs11.PinLocked, pkcs11.PinExpired):
        raise Locked(
            f"The PIN of the {where} is locked or has expired: set it anew with the token's own program."
        ) from None
    except pkcs11.NoSuchToken:
        raise Unavailable(f"There is no {where}: is it plugged in?") from None
    except pkcs11.NoSuchKey:
        raise Locked(f"The {where} no longer holds the key that the root key was sealed under.") from None
    except pkcs11.PKCS11Error as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise Unavailable(f"The {where} cannot be used: {reason}.") from None
