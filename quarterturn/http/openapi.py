"""Writes the description of the interface: `python -m quarterturn.http.openapi > docs/reference/openapi.yaml`."""

from __future__ import annotations

import sys

from quarterturn.http.app import skeleton
from quarterturn.http.openapi_document import as_yaml, describe

if __name__ == "__main__":
    sys.stdout.write(as_yaml(describe(skeleton())))
