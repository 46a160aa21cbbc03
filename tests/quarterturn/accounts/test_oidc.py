"""Tests of OpenID Connect sign-in: a real provider on the loopback, and every way in which a token may be wrong."""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pydantic import ValidationError

from quarterturn.accounts import oidc
from quarterturn.accounts.oidc import Provider
from quarterturn.accounts.roles import ROLES
from quarterturn.settings import OidcSettings

from ..loopback import serving

NOW = datetime(2026, 12, 5, 10, tzinfo=UTC)
MINE, DAY = "quarterturn-at-example", 86_400
KEYS = {
    "RS256": rsa.generate_private_key(65537, 2048),
    "PS256": rsa.generate_private_key(65537, 2048),
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
}
SHORT = rsa.generate_private_key(65537, 1024)
OTHER = rsa.generate_private_key(65537, 2048)


def public(name, key, **more):
    algorithm = jwt.get_algorithm_by_name(name)
    return json.loads(algorithm.to_jwk(key.public_key())) | {"kid": f"test-{name}", "alg": name} | more


class Issuer:
    """A provider: what it answers to a request for its description or its keys, and which requests there were."""

    def __init__(self):
        self.url, self.asked, self.odd = "", [], {}
        self.keys = [public(name, key) for name, key in KEYS.items()]

    def document(self, path):
        if path in ("/keys", "/elsewhere"):
            return json.dumps({"keys": self.keys}).encode()
        return json.dumps({"issuer": self.url, "jwks_uri": f"{self.url}/keys"}).encode()


@pytest.fixture
def issuer():
    issuer = Issuer()

    def reply(request):
        issuer.asked.append(request.path)
        status, body = issuer.odd.get(request.path) or (200, issuer.document(request.path))
        request.answer(status, body, **({"location": f"{issuer.url}/elsewhere"} if status == 302 else {}))

    with serving(reply) as issuer.url:
        yield issuer


def chosen(issuer, /, **more):
    roles = ("board admins=maintainer", "watch=auditor")
    return OidcSettings(**{"issuer": issuer.url, "audience": MINE, "roles": roles} | more)


@pytest.fixture
def provider(issuer, clock):
    return Provider(chosen(issuer), clock)


def claims(issuer, **more):
    now = int(NOW.timestamp())
    good = {"iss": issuer.url, "aud": MINE, "sub": "grace", "iat": now, "exp": now + 600, "groups": ["board admins"]}
    return {name: value for name, value in (good | more).items() if value is not None}


def token(issuer, alg="RS256", key=None, headers=None, **more):
    return jwt.encode(claims(issuer, **more), key or KEYS[alg], alg, {"kid": f"test-{alg}"} | (headers or {}))


@pytest.mark.parametrize("alg", KEYS)
def test_somebody_of_a_group_has_its_role_and_no_account(issuer, provider, alg):
    found = provider.caller(token(issuer, alg))
    assert (found.role, found.scopes) == ("maintainer", ROLES["maintainer"] - {"submit"})
    assert found.account == found.party
    assert found.account.startswith("oidc-")
    assert found.token < 0, "no number of a token of ours"
    again = provider.caller(token(issuer, alg, groups="watch"))
    assert (again.account, again.role) == (found.account, "auditor"), "a name stays theirs"
    assert provider.caller(token(issuer, alg, sub="ada")).account != found.account


def at(seconds):
    return int(NOW.timestamp()) + seconds


WRONG_VALUES = {
    "iss": ["https://other.example", None],
    "aud": ["another-client", None, [], [MINE, "another-client"]],  # in the last nobody says for whom
    "azp": ["another-client"],
    "exp": [at(-61), None, "soon", True, at(DAY + 1)],  # the last cannot be revoked, and lasts
    "nbf": [at(61)],
    "iat": [at(61), None],
    "sub": [None, 7],
    "groups": [[], None, ["board"], {"board admins": True}],
}
WRONG_CLAIMS = [{name: value} for name, values in WRONG_VALUES.items() for value in values]
WRONG_CLAIMS += [{"aud": [MINE, "another-client"], "azp": "another-client"}]
RIGHT_CLAIMS = [
    {"aud": [MINE]},
    {"aud": [MINE, "b"], "azp": MINE},
    {"azp": MINE},
    {"nbf": at(59)},
    {"exp": at(-59)},
    {"exp": at(DAY)},
]


def test_one_wrong_claim_is_enough_and_what_the_specification_allows_is_accepted(issuer, provider):
    for right in ({}, *RIGHT_CLAIMS):
        assert provider.caller(token(issuer, **right)) is not None, right
    for wrong in WRONG_CLAIMS:
        try:
            text = token(issuer, **wrong)
        except TypeError:  # the library writes no such claim
            body = json.dumps(claims(issuer, **wrong)).encode()
            text = jwt.api_jws.encode(body, KEYS["RS256"], "RS256", {"kid": "test-RS256"})
        assert provider.caller(text) is None, wrong


def encoded(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def by_hand(issuer, header, secret=None):
    body = f"{encoded(header)}.{encoded(claims(issuer))}"
    mac = hmac.new(secret, body.encode(), hashlib.sha256).digest() if secret else b""
    return f"{body}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"


def forged(issuer):
    """Yield tokens with the right claims that are signed by an unknown key."""
    mine = KEYS["RS256"].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    good = token(issuer)
    yield "none", by_hand(issuer, {"alg": "none", "kid": "test-RS256"})
    yield "None", by_hand(issuer, {"alg": "None", "kid": "test-RS256"})
    yield "the public key as a secret", by_hand(issuer, {"alg": "HS256", "kid": "test-RS256"}, mine)
    yield "another key", token(issuer, key=OTHER)
    yield "another key, shown", token(issuer, key=OTHER, headers={"jwk": public("RS256", OTHER)})
    yield "another key, said where", token(issuer, key=OTHER, headers={"jku": "http://127.0.0.1:9/keys"})
    yield "a key for another algorithm", token(issuer, "PS256", KEYS["RS256"], {"kid": "test-RS256"})
    yield "a key that is too short", token(issuer, key=SHORT, headers={"kid": "short"})
    yield "a secret that is published", by_hand(issuer, {"alg": "HS256", "kid": "oct"}, b"test-secret" * 4)
    yield "a key to encrypt with", token(issuer, key=OTHER, headers={"kid": "enc"})
    yield "no key named", by_hand(issuer, {"alg": "RS256"})
    yield "a key that is no name", by_hand(issuer, {"alg": "RS256", "kid": 7})
    yield "what must be understood", token(issuer, headers={"crit": ["b64"], "b64": False})
    yield "no signature", good.rpartition(".")[0] + "."
    yield "a changed body", ".".join([good.split(".")[0], encoded(claims(issuer, sub="eve")), good.split(".")[2]])
    yield "too long", token(issuer, more="x" * 9000)
    yield "nothing", ""
    yield "no token", "a.b.c"
    yield "ours", "qt_" + "0" * 36


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")  # one is made here
def test_nobody_is_believed_who_is_not_signed_for(issuer, provider):
    issuer.keys += [
        public("RS256", SHORT, kid="short"),
        {"kty": "oct", "kid": "oct", "alg": "HS256", "k": base64.urlsafe_b64encode(b"test-secret" * 4).decode()},
        public("RS256", OTHER, kid="enc", use="enc"),
        {"kty": "EC", "kid": "broken", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": "RSA", "kid": "empty"},
    ]
    assert provider.caller(token(issuer)) is not None
    believed = [what for what, text in forged(issuer) if provider.caller(text) is not None]
    assert believed == []
    assert issuer.asked == ["/.well-known/openid-configuration", "/keys"], "and nobody made us ask anywhere"


def test_keys_are_cached_and_unknown_key_ids_force_no_requests(issuer, provider, clock):
    for number in range(20):
        assert provider.caller(token(issuer, headers={"kid": f"new-{number}"})) is None
    assert issuer.asked.count("/keys") == 1
    issuer.keys.append(public("RS256", OTHER, kid="new"))
    new = token(issuer, key=OTHER, headers={"kid": "new"})
    assert provider.caller(new) is None, "not within the minute"
    clock.now += timedelta(seconds=61)
    assert provider.caller(new) is not None
    assert issuer.asked.count("/keys") == 2
    del issuer.keys[-1]
    clock.now += timedelta(seconds=500)
    assert provider.caller(token(issuer)) is not None
    assert issuer.asked.count("/keys") == 2, "they are fresh for ten minutes"
    clock.now += timedelta(seconds=101)
    fresh = token(issuer, key=OTHER, headers={"kid": "new"}, iat=at(600), exp=at(1200))
    assert provider.caller(fresh) is None, "what the provider took back is gone"


def test_a_provider_that_is_away_is_missed_after_an_hour(issuer, provider, clock, caplog):
    assert provider.caller(token(issuer)) is not None
    issuer.odd = dict.fromkeys(("/keys", "/.well-known/openid-configuration"), (503, b""))
    for minutes, there in ((30, True), (29, True), (2, False)):
        clock.now += timedelta(minutes=minutes)
        now = int(clock.now.timestamp())
        assert (provider.caller(token(issuer, iat=now, exp=now + 60)) is not None) is there
    assert "the keys of the OpenID provider cannot be had: status 503" in caplog.text


@pytest.mark.parametrize(
    ("path", "odd"),
    [
        ("/keys", (302, b"")),
        ("/keys", (200, b"x" * (oidc.LONGEST_ANSWER + 1))),
        ("/keys", (200, b"[]")),
        ("/keys", (200, b'{"keys": [7]}')),
        ("/.well-known/openid-configuration", (302, b"")),
        ("/.well-known/openid-configuration", (200, b'{"issuer": "https://other.example", "jwks_uri": "{url}/keys"}')),
        ("/.well-known/openid-configuration", (200, b'{"issuer": "{url}", "jwks_uri": "https://192.0.2.1/keys"}')),
        ("/.well-known/openid-configuration", (200, b'{"issuer": "{url}", "jwks_uri": "file:///etc/passwd"}')),
    ],
)
def test_odd_answers_of_a_provider_give_no_keys(issuer, provider, path, odd):
    issuer.odd = {path: (odd[0], odd[1].replace(b"{url}", issuer.url.encode()))}
    assert provider.caller(token(issuer)) is None
    assert "/elsewhere" not in issuer.asked
    if path != "/keys":
        assert "/keys" not in issuer.asked


def test_keys_lie_where_the_settings_say(issuer, clock):
    provider = Provider(chosen(issuer, keys=f"{issuer.url}/elsewhere"), clock)
    assert provider.caller(token(issuer)) is not None
    assert issuer.asked == ["/elsewhere"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"audience": ""},
        {"roles": ()},
        {"roles": ("a=submitter",)},
        {"roles": ("maintainer",)},
        {"issuer": "http://192.0.2.1"},
        {"keys": "ftp://192.0.2.1/keys"},
    ],
)
def test_settings_that_would_believe_too_much_are_refused(issuer, wrong):
    with pytest.raises(ValidationError):
        chosen(issuer, **wrong)
