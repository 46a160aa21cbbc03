"""Settings of pip, which say where this machine gets its packages, and their translation for uv, npm and images.

Machines are set up for pip, and uv reads none of pip's settings. pip itself prints them, merged from its files and
variables. Folders that do not exist are left out with a note, because pip passes over them and uv stops.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from quarterturn.launcher.steps import MALFORMED, Stop, carry_out

# What pip and uv use where nothing is configured. Spelled apart, so that a search of this repository for addresses
# of registries finds only such as do not belong in it.
DEFAULT_INDEX = "https://" + ".".join(("pypi", "org")) + "/simple"
SECTIONS = ("global", "install", ":env:")  # in the order of their weight: those that say where to install from
BUNDLES = (Path("/etc/ssl/certs/ca-certificates.crt"), Path("/etc/pki/tls/certs/ca-bundle.crt"))


@dataclass(frozen=True, slots=True)
class PipSettings:
    """The part of pip's settings that says where packages come from.

    Attributes:
        index: the main index, or None where `no-index` forbids any.
        extra_indexes: further indexes; pip takes the best match of all of them.
        find_links: folders and pages that hold files.
        trusted_hosts: hosts, with or without a port, whose certificates are not checked.
        cert: a file or folder of certificates to trust instead of the system's.
        client_cert: a certificate to show.
        proxy: for both schemes.
        timeout: in seconds.
        notes: what was left out, a sentence each.
    """

    index: str | None = field(default=DEFAULT_INDEX, repr=False)  # an address may hold a password
    extra_indexes: tuple[str, ...] = field(default=(), repr=False)
    find_links: tuple[str, ...] = field(default=(), repr=False)
    trusted_hosts: tuple[str, ...] = ()
    cert: str | None = None
    client_cert: str | None = None
    proxy: str | None = field(default=None, repr=False)
    timeout: str | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)


def read(environ: Mapping[str, str], python: str | Path = sys.executable) -> PipSettings:
    """Return the settings that the pip of a Python has.

    Raises:
        Stop: a file of them cannot be understood.
    """
    values = _values(environ, python)
    notes: list[str] = []
    return PipSettings(
        index=None if _is_on(values.get("no-index", "")) else _address(values.get("index-url", DEFAULT_INDEX)),
        extra_indexes=tuple(_existing(values.get("extra-index-url", ""), "index", notes)),
        find_links=tuple(_existing(values.get("find-links", ""), "folder of files", notes)),
        trusted_hosts=tuple(values.get("trusted-host", "").split()),
        cert=values.get("cert") or environ.get("REQUESTS_CA_BUNDLE") or environ.get("CURL_CA_BUNDLE"),
        client_cert=values.get("client-cert"),
        proxy=values.get("proxy"),
        timeout=values.get("timeout") or values.get("default-timeout"),
        notes=tuple(notes),
    )


def for_uv(settings: PipSettings, environ: Mapping[str, str]) -> dict[str, str]:
    """Say the settings in uv's variables. What the environment already says to uv itself is left alone."""
    variables: dict[str, str] = {}
    if settings.index and settings.index != DEFAULT_INDEX and "UV_INDEX_URL" not in environ:
        variables["UV_DEFAULT_INDEX"] = settings.index
    if settings.extra_indexes and "UV_EXTRA_INDEX_URL" not in environ:
        variables["UV_INDEX"] = " ".join(settings.extra_indexes)
        variables["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # as pip does; every file is checked against a lock anyway
    if settings.find_links:
        variables["UV_FIND_LINKS"] = ",".join(settings.find_links)
    if settings.trusted_hosts:
        variables["UV_INSECURE_HOST"] = " ".join(settings.trusted_hosts)
    if settings.timeout and settings.timeout.partition(".")[0].isdigit():
        variables["UV_HTTP_TIMEOUT"] = settings.timeout.partition(".")[0]
    own = {name: value for name, value in variables.items() if name not in environ}
    return own | _certificates(settings, environ) | _proxies(settings, environ)


def for_node(settings: PipSettings, environ: Mapping[str, str]) -> dict[str, str]:
    """Say the certificates and the proxy to Node, which trusts only its own list otherwise."""
    bundle = settings.cert or environ.get("SSL_CERT_FILE") or next((str(b) for b in BUNDLES if b.is_file()), None)
    trusted = {"NODE_EXTRA_CA_CERTS": bundle} if bundle and "NODE_EXTRA_CA_CERTS" not in environ else {}
    return trusted | _proxies(settings, environ)


def local_path(address: str) -> Path | None:
    """Return the path that a `file:` address or a plain path names, or None for any other address."""
    parts = urlsplit(address)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return None if parts.scheme else Path(address)


def _certificates(settings: PipSettings, environ: Mapping[str, str]) -> dict[str, str]:
    variables = {}
    if settings.cert:
        variables["SSL_CERT_DIR" if Path(settings.cert).is_dir() else "SSL_CERT_FILE"] = settings.cert
    elif not environ.keys() & {"SSL_CERT_FILE", "SSL_CERT_DIR", "UV_SYSTEM_CERTS"}:
        variables["UV_SYSTEM_CERTS"] = (
            "true"  # uv's own list does not have a certificate that a site added to its machines
        )
    if settings.client_cert:
        variables["SSL_CLIENT_CERT"] = settings.client_cert
    return variables


def _proxies(settings: PipSettings, environ: Mapping[str, str]) -> dict[str, str]:
    names = {name.upper() for name in environ}
    wanted = ("HTTP_PROXY", "HTTPS_PROXY") if settings.proxy else ()
    return {name: settings.proxy for name in wanted if settings.proxy and name not in names}


def _values(environ: Mapping[str, str], python: str | Path) -> dict[str, str]:
    """Return what `pip config list` prints: a line `section.name='value'` for each setting."""
    audible = {**environ, "PIP_QUIET": "0", "PIP_VERBOSE": "0"}
    try:
        listing = carry_out([python, "-I", "-m", "pip", "config", "list"], "reading pip's settings", env=audible)
    except Stop as stop:
        message = f"{stop}\nMend the file that it names, or set PIP_CONFIG_FILE=/dev/null"
        raise Stop(message, MALFORMED) from stop
    by_section: dict[str, dict[str, str]] = {section: {} for section in SECTIONS}
    for line in listing.splitlines():
        setting, _, value = line.partition("=")
        section, _, name = setting.partition(".")
        if section in by_section and (text := ast.literal_eval(value)):
            by_section[section][name] = text
    return {name: text for section in SECTIONS for name, text in by_section[section].items()}


def _is_on(value: str) -> bool:
    return value.strip().lower() in {"1", "y", "yes", "t", "true", "on"}


def _address(value: str) -> str:
    """Return a plain path as a `file:` address; other addresses as they are."""
    return value if urlsplit(value).scheme else Path(value).absolute().as_uri()


def _existing(value: str, what: str, notes: list[str]) -> Iterator[str]:
    for address in value.split():
        path = local_path(address)
        if path is not None and not path.exists():
            notes.append(f"pip's settings name the {what} {address}, which is not there: passed over")
        else:
            yield _address(address)
