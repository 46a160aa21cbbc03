"""`python -m vault.ledger.browser > verify.html` writes the page."""

import sys

from vault.ledger.browser import page

sys.stdout.buffer.write(page())
