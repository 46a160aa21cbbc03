"""Build of the container images, with this machine's package indexes and certificates."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from quarterturn.launcher import machine, pip_settings
from quarterturn.launcher.pip_settings import PipSettings, local_path
from quarterturn.launcher.steps import Stop, say
from sandbox.errors import Unavailable
from sandbox.images.bases import Reach
from sandbox.images.build import ensure

PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
REGISTRIES = ("NPM_CONFIG_REGISTRY", "npm_config_registry")


def build(environ: Mapping[str, str], python: str | Path = sys.executable) -> dict[str, str]:
    """Build what is missing with the settings that a Python's pip has, and return each image's tag by its name.

    Raises:
        Stop: an image could not be built.
    """
    if machine.may_install():
        machine.need(machine.FOR_BASE_IMAGES, "building images")
    try:
        return ensure(reach(pip_settings.read(environ, python), environ), say)
    except Unavailable as error:
        raise Stop(str(error)) from error


def reach(settings: PipSettings, environ: Mapping[str, str]) -> Reach:
    """Say pip's settings and the machine's certificates for a build stage, which sees none of its folders."""
    cert = settings.cert or environ.get("SSL_CERT_FILE")
    bundle = Path(cert) if cert else next((path for path in pip_settings.BUNDLES if path.is_file()), None)
    lines = {
        "index-url": settings.index or "",
        "extra-index-url": " ".join(index for index in settings.extra_indexes if local_path(index) is None),
        "trusted-host": " ".join(settings.trusted_hosts),
        "proxy": settings.proxy or "",
        "timeout": settings.timeout or "",
    }
    pip_lines = "".join(f"{name} = {value}\n" for name, value in lines.items() if value)
    registry = next((environ[name] for name in REGISTRIES if name in environ), None)
    return Reach(
        certificates=bundle if bundle and bundle.is_file() else None,
        pip=f"[global]\n{pip_lines}",
        npm=f"registry={registry}\n" if registry else "",
        environment={name: environ[name] for name in PROXIES if name in environ},
    )
