"""What can be set, in `quarterturn.toml` of the home.

Unknown keys are errors with a suggestion: a misspelt limit that is silently ignored would be a hole in the wall.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator

from quarterturn.choices import LISTEN, BoxName
from quarterturn.errors import Malformed, NotFound
from sandbox.errors import SandboxError
from sandbox.model_gateway.spec import require_address

ModelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$")]
UpstreamName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,15}$")]
FILE = "quarterturn.toml"


class Section(BaseModel):
    """A table of the file: every key known, nothing changed after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Benchmark(Section):
    """What is measured, and who promises it."""

    origin: str = Field(
        default="quarterturn.example/log",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._~:/-]{0,99}$",
        description="The log's name: a schema-less URL that you own.",
    )
    set: str = Field(default="demo", description="Which set is run.")
    first_month: str = Field(pattern=r"^\d{4}-(0[1-9]|1[0-2])$", description="The first month, YYYY-MM.")


class Database(Section):
    """Where rows are kept. `QUARTERTURN_DATABASE` names another place, and wins."""

    url: str = Field(
        default="sqlite:///quarterturn.db",
        repr=False,
        description="Its address, `postgresql://…` or SQLite; a relative SQLite path lies in the home.",
    )
    password_file: str = Field(
        default="", description="A file of mode 600 that holds its password; a relative path lies in the home."
    )


class Run(Section):
    """How submissions are run."""

    box: BoxName = Field(default="auto", description="Where agents run unless --box says otherwise.")
    workers: int = Field(default=2, ge=1, le=64, description="How many tasks are run at a time.")
    wall_seconds: float = Field(default=120.0, gt=0, le=3600, description="How long an agent has for one task.")
    runtime: str = Field(default="", description="The Docker engine's OCI runtime for agents and worlds, if another.")


class Watch(Section):
    """What a live task can bear before its withdrawal is proposed; `rotation.exposure` gives the reasons."""

    servings: int = Field(default=80, ge=1, description="How often a task may be served to one submitter.")
    readers: int = Field(default=5, ge=1, description="How many outside the wall may read tasks of one skeleton.")


class Service(Section):
    """What the service lets in, and where it is reached."""

    private_per_month: int = Field(default=5, ge=0, description="Private runs of one party a benchmark month.")
    dev_per_day: int = Field(default=20, ge=0, description="Runs of the dev set of one party a day, UTC.")
    checks_per_day: int = Field(default=20, ge=0, description="Preflights of one party a day; they cost nothing else.")
    waiting: int = Field(default=10, ge=1, description="How many submissions of one party may wait or run at once.")
    at_once: int = Field(
        default=1, ge=1, le=16, description="How many submissions of one party are run at the same time."
    )
    requests_per_minute: int = Field(default=600, ge=1, description="Requests from one address a minute.")
    body_bytes: int = Field(default=65536, ge=1024, description="How long the body of a request may be.")
    callbacks: str = Field(default=LISTEN, description="Where callbacks of hosted endpoints are heard, ADDRESS:PORT.")
    callbacks_url: str = Field(
        default="", description="The https URL that leads an endpoint there; without one, none is run."
    )


class Model(Section):
    """A language model that agents may ask, through the operator's account: `[models.NAME]`."""

    wire: Literal["openai", "anthropic"] = Field(description="What the upstream speaks.")
    url: str = Field(description="Its base address, as its provider's own client is given it.")
    models: tuple[ModelName, ...] = Field(min_length=1, max_length=32, description="The exact names, and no others.")
    tokens: int = Field(default=200_000, ge=1000, le=100_000_000, description="What one task may cost, in tokens.")
    requests: int = Field(default=200, ge=1, le=10_000, description="How many requests one task may make.")

    @field_validator("url")
    @classmethod
    def _address(cls, url: str) -> str:
        try:
            require_address(url)
        except SandboxError as error:
            raise ValueError(str(error)) from None
        return url


class Settings(Section):
    """The whole file."""

    benchmark: Benchmark
    database: Database = Database()
    run: Run = Run()
    watch: Watch = Watch()
    service: Service = Service()
    models: Mapping[UpstreamName, Model] = Field(default={}, description="What agents may ask; none unless named.")


def load(path: Path) -> Settings:
    """Read the settings.

    Raises:
        NotFound: there is no such file.
        Malformed: it is not TOML, or a key or value in it is wrong; the message names it.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotFound(f"{path} is missing: make a home with `quarterturn init --home {path.parent}`") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Malformed(f"{path} is not TOML: {error}") from error
    return parse(document, str(path))


def parse(document: object, what: str) -> Settings:
    """Check plain values; `what` is where they come from.

    Raises:
        Malformed: a key or value is wrong; the message names it.
    """
    try:
        return Settings.model_validate(document)
    except ValidationError as error:
        raise Malformed(f"{what}: {_first(error)}") from None


def dump(settings: Settings) -> str:
    """Write the settings as TOML."""
    lines: list[str] = []
    document = settings.model_dump()
    models = {f"models.{name}": table for name, table in document.pop("models").items()}
    for name, table in (document | models).items():
        lines.append(f"[{name}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in table.items()]  # TOML reads these as JSON does
        lines.append("")
    return "\n".join(lines)


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    if problem["type"] != "extra_forbidden":
        return f"'{place}' is wrong: {problem['msg']}"
    known = _known_beside(problem["loc"])
    near = difflib.get_close_matches(str(problem["loc"][-1]), known, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"the keys here are: {', '.join(known)}"
    return f"'{place}' is not a setting; {hint}"


def _known_beside(place: tuple[int | str, ...]) -> list[str]:
    model: type[BaseModel] = Settings
    for part in place[:-1]:
        if model is Settings and part == "models":
            return sorted(Model.model_fields)
        annotation = model.model_fields[str(part)].annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            model = annotation
    return sorted(model.model_fields)
