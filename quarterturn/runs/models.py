"""Language-model upstreams that agents may use, as the settings allow, and their sealed keys.

Each upstream has two keys, one for runs of the public dev set and one for private runs, because two runs of one account
can see each other: a private run is refused where both are the same. A key lies sealed under the key ring in
`keys/models/`, and leaves it only into the model process (`sandbox.model_gateway.process`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quarterturn.app import Application
from quarterturn.choices import TaskSet
from quarterturn.errors import NotFound, Refused
from quarterturn.report import Report
from sandbox.model_gateway.process import ModelGateway
from sandbox.model_gateway.spec import UpstreamSpec, require_key
from vault.errors import Locked
from vault.keys import private_files
from vault.keys.seal import Sealed, seal, unseal

SETS: tuple[TaskSet, ...] = ("dev", "private")
_USE = b"quarterturn/model-key/v1\n"
_WHAT = "model's key"


def upstream(house: Application, name: str) -> UpstreamSpec:
    """Give an upstream as the settings have it.

    Raises:
        NotFound: they have none of that name.
    """
    model = house.settings.models.get(name)
    if model is None:
        known = ", ".join(sorted(house.settings.models)) or "none"
        raise NotFound(f"the settings allow no model '{name}', only {known}: add a table [models.{name}] to them")
    return UpstreamSpec(
        name=name, wire=model.wire, url=model.url, models=model.models, tokens=model.tokens, requests=model.requests
    )


def keep_key(house: Application, name: str, tasks: TaskSet, key: str) -> None:
    """Seal an upstream's key for runs of one kind, in the place of an earlier one.

    Raises:
        NotFound: the settings have no such upstream.
        Malformed: it can be no key.
        Refused: runs of the other kind have the same.
    """
    upstream(house, name)
    key = require_key(key)
    other = SETS[1 - SETS.index(tasks)]
    if _place(house, name, other).exists() and _key(house, name, other) == key:
        raise Refused(f"that is the key of {other} runs: dev and private runs need keys of two accounts or projects")
    place = _place(house, name, tasks)
    with private_files.exclusive_lock(house.places.ring.parent, _WHAT):  # as `vault.store.rewrap` asks for
        place.parent.mkdir(mode=private_files.FOLDER_MODE, exist_ok=True)
        private_files.replace(place, seal(key.encode(), use(place), house.ring).to_json() + b"\n", _WHAT)


def use(place: Path) -> bytes:
    """Give the use that the key in one of these files is sealed for."""
    name, tasks, _ = place.name.rsplit(".", 2)
    return _USE + f"{name}/{tasks}".encode()


@contextmanager
def gateway(house: Application, name: str | None, tasks: TaskSet) -> Iterator[ModelGateway | None]:
    """Give the model process of an upstream, for runs of one kind; None where no name is given.

    Raises:
        NotFound: the settings have no such upstream.
        Locked: its key for these runs was never entered, or cannot be opened.
        Refused: dev and private runs have the same key.
    """
    if name is None:
        yield None
        return
    spec, key = upstream(house, name), _key(house, name, tasks)
    if tasks == "private" and _place(house, name, "dev").exists() and _key(house, name, "dev") == key:
        raise Refused(
            f"dev and private runs have the same key for '{name}': enter another with `quarterturn model key`"
        )
    with ModelGateway(spec, key) as models:
        yield models


def listing(house: Application) -> Report:
    """Say which upstreams there are, and for which runs each has a key."""
    data, lines = [], []
    for name, model in sorted(house.settings.models.items()):
        keys = [tasks for tasks in SETS if _place(house, name, tasks).exists()]
        data.append({"name": name, **model.model_dump(mode="json"), "keys": keys})
        named = ", ".join(model.models)
        lines.append(f"{name:<16} {model.wire:<10} {model.url}  {named}  keys for {' and '.join(keys) or 'nothing'}")
    return Report(data, lines or ["the settings allow no model"])


def check(house: Application, name: str, tasks: TaskSet) -> Report:
    """Ask each of an upstream's models something harmless; the answer is no if one does not answer."""
    with gateway(house, name, tasks) as models:
        answers = {model: models.check(model) for model in models.spec.models} if models else {}
    lines = [f"{model:<32} {'answers' if ok else 'does not answer'}" for model, ok in answers.items()]
    return Report({"name": name, "models": answers}, lines, all(answers.values()))


def _key(house: Application, name: str, tasks: TaskSet) -> str:
    place = _place(house, name, tasks)
    if not place.exists():
        raise Locked(f"no key was entered for {tasks} runs of '{name}': quarterturn model key {name} --for {tasks}")
    sealed = Sealed.from_json(private_files.read(place, _WHAT), f"the {_WHAT} at {place}")
    return unseal(sealed, use(place), house.ring).decode()


def _place(house: Application, name: str, tasks: TaskSet) -> Path:
    return house.places.model_keys / f"{name}.{tasks}.key"
