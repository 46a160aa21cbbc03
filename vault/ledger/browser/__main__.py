"""Writes the verifier page: `python -m vault.ledger.browser > verify.html`."""

import sys

from vault.ledger.browser import page

sys.stdout.buffer.write(page())
