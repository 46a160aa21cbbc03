"""Services of the keys: locks of the key ring, its rotation, signing keys, language models and the claim judge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from quarterturn.composition.home import OpenHome

if TYPE_CHECKING:
    from quarterturn.keys.claim_judge import ClaimJudges
    from quarterturn.keys.key_locks import KeyLocks
    from quarterturn.keys.models import ModelUpstreams
    from quarterturn.keys.rekeying import KeyRotation
    from sandbox.claim_judge.claim_judge import ClaimJudge
    from sandbox.endpoint.signature import Sender


@dataclass
class KeyServices:
    """What a home's key ring opens, and the ring's own maintenance."""

    home: OpenHome

    def close(self) -> None:
        """End the claim judge, if it was made."""
        if (judge := self.__dict__.get("admission_judge")) is not None:
            judge.close()

    @cached_property
    def locks(self) -> KeyLocks:
        """The locks that open the key ring."""
        from quarterturn.keys.key_locks import KeyLocks

        return KeyLocks(self.home.ring, self.home.places.ring, self.home.vault)

    @cached_property
    def rotation(self) -> KeyRotation:
        """Rotation of the key ring's primary key."""
        from quarterturn.keys.rekeying import KeyFiles, KeyRotation

        home = self.home
        return KeyRotation(home.engine, home.ring, KeyFiles(home.places, home.ring), home.now)

    @cached_property
    def models(self) -> ModelUpstreams:
        """The language models that agents may use, and their sealed keys."""
        from quarterturn.keys.models import ModelUpstreams

        settings = self.home.settings
        return ModelUpstreams(settings.models, self.home.places, self.home.ring, settings.claim_judge.upstream)

    @cached_property
    def claim_judges(self) -> ClaimJudges:
        """The language model that judges claims about answers, if the settings name one."""
        from quarterturn.keys.claim_judge import ClaimJudges

        return ClaimJudges(self.home.settings.claim_judge, lambda: self.models, self.home.places)

    @cached_property
    def admission_judge(self) -> ClaimJudge | None:
        """The claim judge of tasks that are being admitted or tried, if the settings name one; closed with the home."""
        return self.claim_judges.judge("private")

    @cached_property
    def sender(self) -> Sender:
        """The signer of requests to hosted endpoints."""
        from quarterturn.home.home import endpoint_sender

        return endpoint_sender(self.home.places, self.home.ring)

    @cached_property
    def month_key(self) -> Ed25519PrivateKey:
        """The key that signs the result of each turn."""
        from quarterturn.home.home import month_key

        return month_key(self.home.places, self.home.ring)
