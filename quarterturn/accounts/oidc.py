"""Bearer tokens of an OpenID provider for maintainers: verification and roles (OpenID Connect Core).

    1. form       a JWT of at most 8 KiB whose header names a key and one of ALGORITHMS: not `none`, no shared secret
    2. key        of the provider's set, which lies where the settings say, or the provider's description; it comes by
                  https, and a key is good for its own algorithm alone
    3. signature  by that key (PyJWT)
    4. claims     `iss` is the issuer, `aud` is our client id or holds it (and `azp` is it), and now is within `nbf`,
                  `iat` and `exp`
    5. role       the first of the settings' that a value of the claim names; a token without one is rejected

Tokens are not stored. They cannot be revoked here, so one valid for longer than a day is rejected. Their bearers
have no account: they can look, review and turn, but not submit. A `nonce` would bind a token to the sign-in that
requested it; none is checked, so any bearer is accepted, as with our own tokens.

Keys are cached for ten minutes, and fetched again for an unknown key id at most once a minute: strangers choose the key
id of a token, and cannot make us fetch at will. While the provider is unreachable, the last keys are good for an hour.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import urlsplit

import jwt
from pydantic import ValidationError

from quarterturn.accounts.roles import ROLES
from quarterturn.accounts.store import Caller
from quarterturn.choices import Role
from quarterturn.settings import OidcSettings, may_be_sent_to
from sandbox.errors import Unavailable
from sandbox.remote_client import NoAnswer, RemoteClient
from sandbox.remote_document import InvalidAnswer, RemoteDocument, read_document, read_within

ALGORITHMS = ("RS256", "PS256", "ES256", "ES384", "EdDSA")
LONGEST_TOKEN, LONGEST_ANSWER = 8192, 1 << 18
LONGEST_LIFE, LEEWAY = 86_400, 60  # seconds
FRESH, HOLD, STALE = 600, 60, 3600  # seconds: keys are kept, not asked for again, and good without their provider
WAIT = 5  # seconds for one step of an exchange with the provider; all of it has twice as long

Fetch = Callable[[str], bytes]
Keys = Mapping[str, jwt.PyJWK]

log = logging.getLogger("quarterturn.service")


class ProviderDescription(RemoteDocument):
    """What we read of a provider's description (OpenID Connect Discovery 1.0)."""

    issuer: str
    jwks_uri: str


class JwkSet(RemoteDocument):
    """A set of keys (RFC 7517), whose keys are checked one by one: of another form is only the key, not the set."""

    keys: tuple[Mapping[str, Any], ...]


class PublicKey(RemoteDocument):
    """A public key for signatures; private members are not even read."""

    kid: str
    kty: Literal["RSA", "EC", "OKP"]
    use: Literal["sig"] = "sig"
    alg: str | None = None
    crv: str | None = None
    n: str | None = None
    e: str | None = None
    x: str | None = None
    y: str | None = None


class Provider:
    """One OpenID provider.

    Args:
        settings: whom to believe, and what.
        clock: the present moment, with its time zone.
        fetch: gives what lies at a URL.
    """

    def __init__(self, settings: OidcSettings, clock: Callable[[], datetime], fetch: Fetch | None = None) -> None:
        self._settings, self._clock, self._fetch = settings, clock, fetch or fetched
        self._roles = dict(_pair(role) for role in settings.roles)
        self._keys: Keys = {}
        self._fetched = self._tried = float("-inf")
        self._lock = threading.Lock()

    def caller(self, text: str) -> Caller | None:
        """Return the caller of a valid token, or None for any other; the reason is not disclosed."""
        if len(text) > LONGEST_TOKEN:
            return None
        try:
            header = jwt.get_unverified_header(text)
            key = self._key(header.get("kid")) if header.get("alg") in ALGORITHMS else None
            if key is None:
                return None
            claims = jwt.decode(text, key, algorithms=ALGORITHMS, options=_OPTIONS)
        except (jwt.PyJWTError, ValueError, TypeError):
            return None
        return self._caller(claims) if self._holds(claims) else None

    def _holds(self, claims: Mapping[str, Any]) -> bool:
        """Check the claims (step 4)."""
        now, own_audience, audience = self._now(), self._settings.audience, claims.get("aud")
        made, end = _moment(claims.get("iat")), _moment(claims.get("exp"))
        if made is None or end is None or (begin := _moment(claims.get("nbf", made))) is None:
            return False
        several = isinstance(audience, list) and len(audience) > 1
        return (
            claims.get("iss") == self._settings.issuer
            and own_audience in (audience if isinstance(audience, list) else [audience])
            and claims.get("azp", None if several else own_audience) == own_audience
            and isinstance(claims.get("sub"), str)
            and max(begin, made) - LEEWAY <= now < end + LEEWAY
            and end - made <= LONGEST_LIFE
        )

    def _caller(self, claims: Mapping[str, Any]) -> Caller | None:
        """Return the caller if a claim gives a role (step 5), under a stable name that is no account's."""
        claim = claims.get(self._settings.claim)
        values = claim if isinstance(claim, list) else [claim]
        role = next((role for value, role in self._roles.items() if value in values), None)
        if role is None:
            return None
        name = hashlib.sha256(json.dumps([claims["iss"], claims["sub"]]).encode()).hexdigest()
        account = f"oidc-{name[:16]}"
        return Caller(account, account, role, ROLES[role] - {"submit"}, -int(name[:12], 16))

    # -- keys ---------------------------------------------------------------------------------------------------------

    def _key(self, name: object) -> jwt.PyJWK | None:
        """Return a key by its name; the set is asked for anew where it is old, or knows no such key."""
        now = self._now()
        if not isinstance(name, str):
            return None
        if (now - self._fetched > FRESH or name not in self._keys) and now - self._tried > HOLD:
            with self._lock:
                if now - self._tried > HOLD:
                    self._tried = now
                    self._ask(now)
        return self._keys.get(name) if now - self._fetched <= STALE else None

    def _ask(self, now: float) -> None:
        try:
            self._keys, self._fetched = _keys(self._fetch(self._where())), now
        except Unavailable as error:
            log.warning("the keys of the OpenID provider cannot be had: %s", error)
        except (OSError, ValueError) as error:
            log.warning("the keys of the OpenID provider cannot be had: %s", type(error).__name__)

    def _where(self) -> str:
        """Return where the keys lie: what the settings say, or the provider, which may name its own host alone."""
        if self._settings.keys:
            return self._settings.keys
        issuer = self._settings.issuer
        data = self._fetch(issuer.rstrip("/") + "/.well-known/openid-configuration")
        described = read_document(ProviderDescription, data, "the provider's description", max_bytes=LONGEST_ANSWER)
        if described.issuer != issuer or urlsplit(described.jwks_uri)[:2] != urlsplit(issuer)[:2]:
            raise InvalidAnswer("the provider describes another one, or keys of another host")
        return described.jwks_uri

    def _now(self) -> float:
        return self._clock().astimezone(UTC).timestamp()


_OPTIONS: Any = {  # claims are checked against our clock (step 4)
    **dict.fromkeys(("verify_exp", "verify_nbf", "verify_iat", "verify_aud", "verify_iss", "verify_sub"), False),
    "verify_signature": True,
    "enforce_minimum_key_length": True,
}


def _moment(value: object) -> float | None:
    """Return a NumericDate; None for what is none."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _keys(data: bytes) -> Keys:
    """Read a set of keys; those that are no public keys for signatures of ALGORITHMS are left out."""
    keys: dict[str, jwt.PyJWK] = {}
    for entry in read_document(JwkSet, data, "the provider's set of keys", max_bytes=LONGEST_ANSWER).keys:
        with suppress(jwt.PyJWTError, ValidationError, ValueError):
            public = PublicKey.model_validate(entry)
            key = jwt.PyJWK(public.model_dump(exclude_none=True))
            if key.algorithm_name in ALGORITHMS:
                keys[public.kid] = key
    return keys


def _pair(text: str) -> tuple[str, Role]:
    value, _, role = text.rpartition("=")
    return value, next(known for known in ROLES if known == role)


def fetched(url: str) -> bytes:
    """Return what lies at a URL, which is https, or http on the loopback.

    Raises:
        Unavailable: there is nothing to be had, or too much.
        ValueError: the keys would come unprotected.
    """
    if not may_be_sent_to(url):
        raise ValueError("keys are fetched by https")
    with (
        RemoteClient(WAIT, trust_env=url.startswith("https:")) as client,
        client.exchange("GET", url, 2 * WAIT) as answer,
    ):
        if not answer.is_success:
            raise NoAnswer(f"status {answer.status_code}")
        return read_within(answer.iter_raw(), LONGEST_ANSWER, "the provider")
