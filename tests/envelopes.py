"""Opens DSSE envelopes with another project's library, as an auditor of a month does."""

import json

from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

from vault.ledger.statements import dsse


def opened(envelope: bytes, public: bytes) -> bytes:
    """Verify an envelope by an Ed25519 public key, and give the statement's bytes."""
    found = Envelope.from_dict(json.loads(envelope))
    found.verify([SSlibKey(dsse.key_id(public), "ed25519", "ed25519", {"public": public.hex()})], 1)
    return found.payload
