"""Certificates for servers of tests."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

USAGES = (
    *("digital_signature", "key_cert_sign", "crl_sign", "content_commitment", "key_encipherment"),
    *("data_encipherment", "key_agreement", "encipher_only", "decipher_only"),
)
# For a server alone: some clients refuse the certificate of an authority here.
ON = {"digital_signature"}


def make_certificate(folder: Path, name: str) -> tuple[Path, ssl.SSLContext]:
    """Make a certificate for a name or an address; return its file, to be trusted, and a server's context with it."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = for_a_day(name, name, key.public_key(), [name])
    for extension, critical in (
        (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), False),
        (x509.KeyUsage(**{usage: usage in ON for usage in USAGES}), True),
    ):
        builder = builder.add_extension(extension, critical=critical)
    chain, secret = folder / "certificate.pem", folder / "key.pem"
    chain.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    secret.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, secret)
    return chain, context


def for_a_day(
    subject: str, issuer: str, key: ec.EllipticCurvePublicKey, names: Sequence[str]
) -> x509.CertificateBuilder:
    """Begin a certificate that holds today: for a server of these names, or without one for an authority."""
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, issuer)]))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=not names, path_length=None), critical=True)
    )
    alternatives = x509.SubjectAlternativeName([_general(name) for name in names])
    return builder.add_extension(alternatives, critical=False) if names else builder


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
