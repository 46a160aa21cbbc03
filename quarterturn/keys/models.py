"""Language-model upstreams that agents may use, as the settings allow, and their sealed keys.

Each upstream has two keys, one for runs of the public dev set and one for private runs, because two runs of one account
can see each other: a private run is refused where both are the same. A key lies sealed under the key ring in
`keys/models/`, and leaves it only into the model process (`sandbox.model_gateway.process`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from quarterturn.choices import TaskSet
from quarterturn.errors import NotFound, Refused
from quarterturn.home.paths import HomePaths
from quarterturn.settings import ModelSettings
from sandbox.model_gateway.process import ModelGateway
from sandbox.model_gateway.spec import UpstreamSpec, require_key
from vault.errors import Locked
from vault.keys import private_files
from vault.keys.ring import KeyRing
from vault.keys.seal import Sealed, seal, unseal

SETS: tuple[TaskSet, ...] = ("dev", "private")
_USE = b"quarterturn/model-key/v1\n"
_WHAT = "model's key"


class ModelUpstreams:
    """The language-model upstreams of one home.

    Args:
        models: those that the settings allow, by name.
        places: where their keys are.
        ring: under which these are sealed.
        reserved: the upstream of the claim judge, which agents are refused; empty where there is none.
    """

    def __init__(
        self, models: Mapping[str, ModelSettings], places: HomePaths, ring: KeyRing, reserved: str = ""
    ) -> None:
        self._models, self._places, self._ring, self._reserved = models, places, ring, reserved

    def upstream(self, name: str) -> UpstreamSpec:
        """Return an upstream as the settings have it.

        Raises:
            NotFound: they have none of that name.
        """
        model = self._models.get(name)
        if model is None:
            known = f"only {', '.join(sorted(self._models))}" if self._models else "and no other"
            raise NotFound(f"the settings allow no model '{name}', {known}: add a table [models.{name}] to them")
        return UpstreamSpec(
            name=name, wire=model.wire, url=model.url, models=model.models, tokens=model.tokens, requests=model.requests
        )

    def keep_key(self, name: str, tasks: TaskSet, key: str) -> None:
        """Seal an upstream's key for runs of one kind, in the place of an earlier one.

        Raises:
            NotFound: the settings have no such upstream.
            Malformed: it can be no key.
            Refused: runs of the other kind have the same.
        """
        self.upstream(name)
        key = require_key(key)
        other = SETS[1 - SETS.index(tasks)]
        if self._place(name, other).exists() and self._key(name, other) == key:
            raise Refused(
                f"that is the key of {other} runs: dev and private runs need keys of two accounts or projects"
            )
        place = self._place(name, tasks)
        with private_files.exclusive_lock(self._places.ring.parent, _WHAT):  # as `vault.store.rewrap` asks for
            place.parent.mkdir(mode=private_files.FOLDER_MODE, exist_ok=True)
            private_files.replace(place, seal(key.encode(), use(place), self._ring).to_json() + b"\n", _WHAT)

    def has_keys_for(self, name: str) -> list[TaskSet]:
        """Say for which runs an upstream has a key."""
        return [tasks for tasks in SETS if self._place(name, tasks).exists()]

    @contextmanager
    def gateway(self, name: str | None, tasks: TaskSet) -> Iterator[ModelGateway | None]:
        """Yield the model process of an upstream, for runs of one kind; None where no name is given.

        Raises:
            NotFound: the settings have no such upstream.
            Locked: its key for these runs was never entered, or cannot be opened.
            Refused: dev and private runs have the same key, or the upstream is the claim judge's.
        """
        if name is None:
            yield None
            return
        if name == self._reserved:
            raise Refused(f"the upstream '{name}' judges answers (claim_judge.upstream), so agents are given another")
        with ModelGateway(self.upstream(name), self.key(name, tasks)) as models:
            yield models

    def key(self, name: str, tasks: TaskSet) -> str:
        """Return an upstream's key for runs of one kind.

        Raises:
            Locked: it was never entered, or cannot be opened.
            Refused: dev and private runs have the same key.
        """
        key = self._key(name, tasks)
        if tasks == "private" and self._place(name, "dev").exists() and self._key(name, "dev") == key:
            raise Refused(
                f"dev and private runs have the same key for '{name}': enter another with `quarterturn model key`"
            )
        return key

    def check(self, name: str, tasks: TaskSet) -> dict[str, bool]:
        """Ask each of an upstream's models something harmless, and say which of them answer."""
        with ModelGateway(self.upstream(name), self.key(name, tasks)) as models:
            return {model: models.check(model) for model in models.spec.models}

    def _key(self, name: str, tasks: TaskSet) -> str:
        place = self._place(name, tasks)
        if not place.exists():
            raise Locked(f"no key was entered for {tasks} runs of '{name}': quarterturn model key {name} --for {tasks}")
        sealed = Sealed.from_json(private_files.read(place, _WHAT), f"the {_WHAT} at {place}")
        return unseal(sealed, use(place), self._ring).decode()

    def _place(self, name: str, tasks: TaskSet) -> Path:
        return self._places.model_keys / f"{name}.{tasks}.key"


def use(place: Path) -> bytes:
    """Return the use that the key in one of these files is sealed for."""
    name, tasks, _ = place.name.rsplit(".", 2)
    return _USE + f"{name}/{tasks}".encode()
