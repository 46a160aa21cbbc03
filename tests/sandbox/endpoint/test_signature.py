"""Tests of request signatures, byte for byte, and of the example server that accepts nothing else."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import sys
import time
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from sandbox.endpoint.signature import Sender, signature_base

SERVER = Path(__file__).parents[3] / "examples" / "endpoint" / "server.py"
URL = "https://agent.example.org/tasks"
BODY = json.dumps({"goal": "x", "url": "https://bench.example.org/run/t"}).encode()
NOW = 1_780_000_000


@pytest.fixture
def server(sender, tmp_path, monkeypatch):
    """Yield the example as it stands in its folder."""
    key = tmp_path / "key.pem"
    key.write_text(sender.public_pem)
    monkeypatch.setattr(sys, "argv", ["server.py", str(key), URL, "0", "true"])
    spec = importlib.util.spec_from_file_location("example_endpoint", SERVER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module.time, "time", lambda: NOW)
    yield module
    monkeypatch.undo()
    assert time.time() != NOW


def test_the_base_is_that_of_the_standard():
    """The vector is RFC 9421, appendix B.2.6, with the key `test-key-ed25519` of B.1.4."""
    fields = [
        ("date", "Tue, 20 Apr 2021 02:07:55 GMT"),
        ("@method", "POST"),
        ("@path", "/foo"),
        ("@authority", "example.com"),
        ("content-type", "application/json"),
        ("content-length", "18"),
    ]
    names = " ".join(f'"{name}"' for name, _ in fields)
    base = signature_base(fields, f'({names});created=1618884473;keyid="test-key-ed25519"')
    signature = "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=="
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode("JrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs="))
    public.verify(base64.b64decode(signature), base)
    with pytest.raises(InvalidSignature):
        public.verify(base64.b64decode(signature), base + b"\n")


def test_the_digest_is_that_of_the_body_and_the_key_is_named(sender):
    headers = sender.headers(URL, BODY, created=NOW, nonce="n")
    assert headers["Content-Digest"] == f"sha-256=:{base64.b64encode(hashlib.sha256(BODY).digest()).decode()}:"
    assert f';created={NOW};nonce="n";keyid="{sender.key_id}";alg="ed25519"' in headers["Signature-Input"]
    assert "PRIVATE" not in repr(sender) + str(headers)


def test_the_example_believes_what_was_signed_for_it_now(server, sender):
    server.verify(sender.headers(URL, BODY, created=NOW, nonce="1"), BODY)
    for skew in (-299, 299):
        server.verify(sender.headers(URL, BODY, created=NOW + skew, nonce=f"n{skew}"), BODY)


def test_the_example_hears_nothing_twice(server, sender):
    headers = sender.headers(URL, BODY, created=NOW, nonce="once")
    server.verify(headers, BODY)
    with pytest.raises(ValueError, match="heard before"):
        server.verify(headers, BODY)


@pytest.mark.parametrize("skew", [-301, 301, -86400])
def test_a_request_of_another_time_is_not_believed(server, sender, skew):
    with pytest.raises(ValueError, match="too long ago"):
        server.verify(sender.headers(URL, BODY, created=NOW + skew, nonce="1"), BODY)


def test_another_endpoint_another_body_and_another_key_are_not_believed(server, sender):
    stranger = Sender(Ed25519PrivateKey.generate())
    for signer, url, body in ((sender, "https://other.example.org/", BODY), (sender, URL, b" "), (stranger, URL, BODY)):
        with pytest.raises(InvalidSignature):
            server.verify(signer.headers(url, body, created=NOW, nonce="1"), BODY)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"created={NOW}", f"created={NOW + 1}"),
        ('nonce="1"', 'nonce="2"'),
        ('"content-digest" ', ""),
        ('"@target-uri" ', ""),
        ("quarterturn-task", "something-else"),
        ("sig1=", "sig2="),
    ],
)
def test_no_parameter_can_be_altered(server, sender, old, new):
    headers = sender.headers(URL, BODY, created=NOW, nonce="1")
    headers["Signature-Input"] = headers["Signature-Input"].replace(old, new)
    with pytest.raises((InvalidSignature, ValueError, KeyError)):
        server.verify(headers, BODY)


def test_a_signature_over_less_is_not_believed_even_from_the_right_key(server, sender):
    parameters = f'("@method");created={NOW};nonce="1";keyid="k";alg="ed25519";tag="quarterturn-task"'
    base = signature_base([("@method", "POST")], parameters)
    signature = base64.b64encode(sender.key.sign(base)).decode()
    with pytest.raises((InvalidSignature, ValueError)):
        server.verify({"Signature-Input": f"sig1={parameters}", "Signature": f"sig1=:{signature}:"}, BODY)


def test_a_request_without_a_signature_is_not_believed(server):
    with pytest.raises(KeyError):
        server.verify({}, BODY)


def test_the_example_is_about_thirty_lines_beside_its_imports():
    lines = [line for line in SERVER.read_text().splitlines() if line.strip()]
    assert sum(not line.startswith(("import ", "from ", "#", '"""')) for line in lines) <= 36
