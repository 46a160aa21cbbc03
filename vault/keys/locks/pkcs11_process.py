"""Process that loads a token's PKCS#11 module: `python -I -m vault.keys.locks.pkcs11_process`.

A module is a library of the token's vendor, so it is never loaded into a process that holds the ring's keys or a task.
This process reads one JSON object, carries out its `do` (`open` or `seal`) and writes one. It sees the PIN and the root
key, which the token decrypts or encrypts.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pkcs11
from pkcs11 import Attribute, GCMParams, KeyType, Mechanism, MechanismFlag, ObjectClass, Session

from vault.core_dumps import disable_core_dumps
from vault.errors import Broken, Locked, Refused, Unavailable, VaultError
from vault.keys.locks.lock import NONCE_SIZE, context, raw, text

KEY_BITS, TAG_BITS = 256, 128


def main() -> None:
    """Carry out one request. What the module writes to its standard output goes to standard error."""
    disable_core_dumps()
    answer = os.dup(1)
    os.dup2(2, 1)
    document = answered(json.loads(sys.stdin.buffer.read()))
    os.write(answer, json.dumps(document).encode())


def answered(request: Mapping[str, Any]) -> dict[str, str]:
    """Carry out a request; a failure is an answer too."""
    try:
        return {"open": _open, "seal": _seal}[request["do"]](request)
    except VaultError as error:
        return {"error": type(error).__name__, "sentence": str(error)}
    except Exception as error:  # a foreign library: whatever it raises is one sentence without what it was given
        sentence = f"The module {request['lock']['module']} cannot be used: {type(error).__name__}."
        return {"error": "Unavailable", "sentence": sentence}


def _open(request: Mapping[str, Any]) -> dict[str, str]:
    """Have the token decrypt a root key."""
    lock = request["lock"]
    sealed = raw(lock)
    with _session(lock["module"], lock["token"], request["pin"]) as session:
        key = _key(session, lock["key"], bytes.fromhex(lock["key_id"]))
        try:
            root = key.decrypt(sealed[NONCE_SIZE:], **_gcm(sealed[:NONCE_SIZE], context(lock, request["ring"])))
        except pkcs11.PKCS11Error:
            raise Broken(
                f"The token '{lock['token']}' does not decrypt the ring's root key: the file was changed, or the "
                f"token holds another key '{lock['key']}'."
            ) from None
        return {"root": text(bytes(root))}


def _seal(request: Mapping[str, Any]) -> dict[str, str]:
    """Have the token encrypt a root key."""
    lock, nonce = request["lock"], base64.b64decode(request["nonce"])
    with _session(lock["module"], lock["token"], request["pin"], write=True) as session:
        key = _found_or_made(session, lock, base64.b64decode(request["new_id"]))
        key_id = bytes(key[Attribute.ID]).hex()
        bound = context({**lock, "key_id": key_id}, request["ring"])
        encrypted = bytes(key.encrypt(base64.b64decode(request["root"]), **_gcm(nonce, bound)))
        return {"key_id": key_id, "sealed": text(nonce + encrypted)}


def _found_or_made(session: Session, lock: Mapping[str, Any], new_id: bytes) -> Any:
    label, token = lock["key"], lock["token"]
    try:
        key = _key(session, label)
    except pkcs11.NoSuchKey:
        return session.generate_key(
            KeyType.AES,
            KEY_BITS,
            id=new_id,
            label=label,
            store=True,
            capabilities=MechanismFlag.ENCRYPT | MechanismFlag.DECRYPT,
            template={Attribute.SENSITIVE: True, Attribute.EXTRACTABLE: False},
        )
    if not key[Attribute.NEVER_EXTRACTABLE] or not key[Attribute.ALWAYS_SENSITIVE]:
        raise Refused(f"The key '{label}' of the token '{token}' can leave it: name another with --key.")
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
            library.finalize()
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


if __name__ == "__main__":
    main()
