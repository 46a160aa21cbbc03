"""Download of a pinned wheel with only the standard library, from the places that pip is configured to use."""

from __future__ import annotations

import base64
import platform
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from quarterturn.launcher.package_index import Link, Machine, Pin, checked, choose, links
from quarterturn.launcher.pip_settings import PipSettings, local_path
from quarterturn.launcher.steps import Stop

ACCEPT = "application/vnd.pypi.simple.v1+html, text/html;q=0.9"
PATIENCE = 60.0  # seconds without an answer, where pip's settings say nothing


def this_machine() -> Machine:
    """Describe the machine that we run on."""
    return Machine(sys.platform, platform.machine(), platform.libc_ver())


def fetch(pin: Pin, settings: PipSettings, machine: Machine) -> bytes:
    """Fetch the pinned wheel and check it: folders first, then the index, then the extra indexes.

    Raises:
        Stop: no place has it, none can be reached, or what came is not what the lock pins.
    """
    tried: list[str] = []
    for place in _places(pin, settings):
        try:
            chosen = choose(_offered(place, settings), pin, machine)
            if chosen is not None:
                return checked(_get(chosen.url, settings), chosen, pin)
            tried.append(f"{_public(place)} does not have it")
        except (OSError, ValueError) as error:  # urllib's own errors are among them
            tried.append(f"{_public(place)} could not be read ({getattr(error, 'reason', error)})")
    where = "; ".join(tried) or "pip's settings forbid every index and name no folder"
    message = (
        f"{pin.name} {pin.version} for {machine.system} on {machine.processor} could not be had: {where}. "
        "Set PIP_INDEX_URL (and PIP_CERT, where a proxy signs anew) as for pip, and start again"
    )
    raise Stop(message)


def _places(pin: Pin, settings: PipSettings) -> Iterator[str]:
    yield from settings.find_links
    for index in (settings.index, *settings.extra_indexes):
        if index is not None:
            yield f"{index.rstrip('/')}/{pin.name}/"


def _offered(place: str, settings: PipSettings) -> list[Link]:
    folder = local_path(place)
    if folder is None or folder.is_file():
        return links(_get(place, settings).decode("utf-8", "replace"), place)
    if (folder / "index.html").is_file():
        page = folder / "index.html"
        return links(page.read_text(encoding="utf-8"), page.absolute().as_uri())
    return [Link(path.absolute().as_uri()) for path in sorted(folder.iterdir())] if folder.is_dir() else []


def _get(url: str, settings: PipSettings) -> bytes:
    path = local_path(url)
    if path is not None:
        return path.read_bytes()
    parts = urlsplit(url)
    request = urllib.request.Request(_public(url), headers={"Accept": ACCEPT})  # noqa: S310 - pip's own settings name it
    if parts.username:
        secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        request.add_header("Authorization", "Basic " + base64.b64encode(secret.encode()).decode())
    with _opener(parts.netloc, settings).open(request, timeout=float(settings.timeout or PATIENCE)) as answer:
        content: bytes = answer.read()
    return content


def _opener(netloc: str, settings: PipSettings) -> urllib.request.OpenerDirector:
    context = ssl.create_default_context()
    if settings.cert:
        place = Path(settings.cert)
        context.load_verify_locations(**{"capath" if place.is_dir() else "cafile": settings.cert})
    if settings.client_cert:
        context.load_cert_chain(settings.client_cert)
    host = netloc.rpartition("@")[2]
    if {host, host.partition(":")[0]} & set(settings.trusted_hosts):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    proxies = {"http": settings.proxy, "https": settings.proxy} if settings.proxy else None
    return urllib.request.build_opener(
        urllib.request.ProxyHandler(proxies), urllib.request.HTTPSHandler(context=context)
    )


def _public(url: str) -> str:
    """Give an address without the name and password in it."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
