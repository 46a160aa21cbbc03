"""Settings of a home, read from its `quarterturn.toml`.

Unknown keys are errors with a suggestion: a misspelt limit that was silently ignored would be a security hole.
"""

from __future__ import annotations

import base64
import difflib
import ipaddress
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from quarterturn.choices import LISTEN, BoxName, WorkerClass
from quarterturn.errors import Malformed, NotFound, home_option
from rotation.calendar import Month
from rotation.errors import RotationError
from sandbox import pseudonyms
from sandbox.errors import SandboxError
from sandbox.image_reference import ImagePattern, ImageReference, require_apart
from sandbox.model_gateway.spec import require_address
from vault.ledger.signatures import sshsig
from vault.ledger.signatures.strict_ed25519 import key_fault

ModelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$")]
UPSTREAM = "[a-z0-9][a-z0-9-]{0,15}"
AccountName = Annotated[str, StringConstraints(pattern=f"^{pseudonyms.PATTERN}$")]
UpstreamName = Annotated[str, StringConstraints(pattern=f"^{UPSTREAM}$")]
Maintainer = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$")]
MAIL = r"[^\s,;<>@]+@[^\s,;<>@]+"
MailAddress = Annotated[str, StringConstraints(pattern=f"^{MAIL}$")]
FILE = "quarterturn.toml"
KEY_SIZE = 32
MAX_PORT = 65535
SIGNERS = 2
"""How many maintainers must sign for a protected act."""


class Section(BaseModel):
    """A table of the file; unknown keys are refused, and values are read-only."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


Sentence = Annotated[str, StringConstraints(max_length=300, pattern=r"^[^\x00-\x1f\x7f]*$")]
"""A sentence for a page: one line."""


class BenchmarkSettings(Section):
    """The benchmark: the name of its log, its set, its first month, and what its front page says of it."""

    origin: str = Field(
        default="quarterturn.example/log",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._~:/-]{0,99}$",
        description="The log's name: a schema-less URL that you own, of 1 to 100 ASCII letters, digits and `._~:/-`.",
    )
    set: str = Field(default="demo", description="The set of tasks: the name in the home's `set.toml`.")
    first_month: str = Field(description="The first month, YYYY-MM.")
    measures: Sentence = Field(default="", description="One line for the front page: what the benchmark measures.")
    operator: Sentence = Field(default="", description="One line for the front page: who runs it.")
    score_meaning: Sentence = Field(default="", description="One line for the front page: what a score means.")

    @field_validator("first_month")
    @classmethod
    def _month(cls, month: str) -> str:
        try:
            return str(Month.parse(month))
        except RotationError as error:
            raise ValueError(str(error)) from None

    @field_validator("origin")
    @classmethod
    def _without_scheme(cls, origin: str) -> str:
        if "://" in origin:
            raise ValueError(f"a log's name has no scheme: write it as {origin.partition('://')[2] or 'name/log'}")
        return origin


class DatabaseSettings(Section):
    """The database. The variable `QUARTERTURN_DATABASE` overrides its address."""

    url: str = Field(
        default="sqlite:///quarterturn.db",
        repr=False,
        description="The database's URL, `postgresql://…` or SQLite; a relative SQLite path is relative to the home.",
    )
    password_file: str = Field(
        default="", description="A file of mode 600 with the password; a relative path is relative to the home."
    )


class LedgerSettings(Section):
    """The witnesses that must cosign the log's heads before they count, and who signs these heads."""

    policy: str = Field(
        default="",
        description="A tlog-policy file with the witnesses' URLs, relative to the home. Empty: no witness is required.",
    )
    signer: str = Field(
        default="",
        pattern="^(/.+)?$",
        description="The folder of a signer with its own user (`quarterturn signer`). Empty: the home has the key.",
    )


class RunSettings(Section):
    """How submissions are run."""

    box: BoxName = Field(default="auto", description="The sandbox for agents, unless --box names another.")
    workers: int = Field(default=2, ge=1, le=64, description="How many tasks run at a time.")
    wall_seconds: float = Field(default=120.0, gt=0, le=3600, description="Wall-clock seconds for one task.")
    runtime: str = Field(default="", description="The Docker engine's OCI runtime; empty: its default.")
    runners: tuple[WorkerClass, ...] = Field(
        default=(),
        strict=False,
        description="The classes of runs that are played on the machines of `quarterturn runner`: sealed, open.",
    )


class FindingsSettings(Section):
    """Exposure limits of a private task; over a limit, its withdrawal is proposed (see `rotation.exposure.store`)."""

    servings: int = Field(default=80, ge=1, description="Maximum servings of a task to one submitter.")
    readers: int = Field(default=5, ge=1, description="Maximum readers outside the sandbox of tasks of one skeleton.")


class ServiceSettings(Section):
    """Limits of the HTTP service, and its addresses."""

    private_per_month: int = Field(default=5, ge=0, description="Private runs per party and benchmark month.")
    private_in_all: int = Field(
        default=100,
        ge=0,
        description="Private runs of all parties per benchmark month: limits what their scores disclose in sum.",
    )
    dev_per_day: int = Field(default=20, ge=0, description="Dev-set runs per party and day (UTC).")
    checks_per_day: int = Field(default=20, ge=0, description="Checks (one dev task each) per party and day (UTC).")
    waiting: int = Field(default=10, ge=1, description="Maximum submissions of one party that are waiting or running.")
    at_once: int = Field(
        default=1, ge=1, le=16, description="Maximum submissions of one party that run at the same time."
    )
    requests_per_minute: int = Field(
        default=600, ge=1, description="Maximum requests a minute, per address and per token."
    )
    body_bytes: int = Field(default=65536, ge=1024, description="Maximum size of a request body, in bytes.")
    images: tuple[str, ...] = Field(
        strict=False,  # TOML has lists, and no tuples
        default=("{account}/",),
        description="Allowed beginnings of image names, in whole components: a registry, components of a repository, "
        "and '/'; {account} is the caller's account. A digest is always allowed.",
    )
    callbacks: str = Field(default=LISTEN, description="Listen address for hosted endpoints' callbacks.")
    callbacks_url: str = Field(
        default="", description="The https URL that leads to `callbacks`; without it no endpoint is run."
    )

    @field_validator("callbacks")
    @classmethod
    def _listens(cls, listen: str) -> str:
        host, _, port = listen.rpartition(":")
        if not (host and port.isdecimal() and int(port) <= MAX_PORT):
            raise ValueError(f"it must be ADDRESS:PORT, such as {LISTEN}")
        return listen

    @field_validator("callbacks_url")
    @classmethod
    def _leads_here(cls, url: str) -> str:
        parts = urlsplit(url)
        if url and (parts.scheme not in {"https", "http"} or not parts.hostname or parts.query):
            raise ValueError("it must be a URL, such as https://bench.example.org, without a query")
        return url

    @field_validator("images")
    @classmethod
    def _patterns(cls, images: tuple[str, ...]) -> tuple[str, ...]:
        try:
            require_apart([ImagePattern.parse(pattern) for pattern in images])
        except SandboxError as error:
            raise ValueError(str(error)) from None
        return images


class ClockSettings(Section):
    """When `serve` makes the monthly turn by itself."""

    day: int = Field(default=1, ge=1, le=28, description="Day of the next month on which a turn is due (UTC).")
    hour: int = Field(default=0, ge=0, le=23, description="Hour of that day (UTC).")
    remind_days: int = Field(default=7, ge=0, le=28, description="Days before the turn to send a reminder.")


class NotifySettings(Section):
    """Channels for notices of turns that are due soon, done or overdue; the process log always gets them."""

    webhook: str = Field(default="", repr=False, description="An https URL that gets a signed POST (http on loopback).")
    webhook_secret_file: str = Field(default="", description="A file of mode 600 with the webhook's secret, `whsec_…`.")
    mail_to: tuple[MailAddress, ...] = Field(
        strict=False, default=(), description="Mail recipients, each as name@host."
    )
    mail_from: str = Field(default="", pattern=f"^({MAIL})?$", description="Mail sender, as name@host.")
    smtp_host: str = Field(default="", description="Mail server; STARTTLS is required unless it is this machine.")
    smtp_port: int = Field(default=587, ge=1, le=65535, description="Port of the mail server.")
    smtp_user: str = Field(default="", description="Account on the mail server, if it needs one.")
    smtp_password_file: str = Field(default="", description="A file of mode 600 with that account's password.")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.webhook and not self.webhook_secret_file:
            raise ValueError("a webhook needs its secret: name it in webhook_secret_file")
        if self.mail_to and not (self.mail_from and self.smtp_host):
            raise ValueError("mail needs smtp_host and mail_from")
        if bool(self.smtp_user) != bool(self.smtp_password_file):
            raise ValueError("smtp_user and smtp_password_file belong together")
        return self

    @field_validator("webhook")
    @classmethod
    def _reachable(cls, url: str) -> str:
        if url and not may_be_sent_to(url):
            raise ValueError("a webhook is an https URL, or an http one on the loopback, without a user or a fragment")
        return url


class OidcSettings(Section):
    """OpenID Connect provider for maintainers (`quarterturn.accounts.oidc`); off unless an issuer is named."""

    issuer: str = Field(default="", description="Issuer URL (https) whose tokens are accepted; empty: none.")
    audience: str = Field(default="", description="Our client id at the provider.")
    keys: str = Field(default="", description="JWKS URL; empty: the one of its discovery document, on its own host.")
    claim: str = Field(default="groups", description="The claim that holds the roles.")
    roles: tuple[Annotated[str, StringConstraints(pattern=r"^.+=(auditor|reviewer|runner|maintainer)$")], ...] = Field(
        strict=False, default=(), description="Roles by claim value, as VALUE=ROLE; the first match wins."
    )

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.issuer and not (self.audience and self.roles):
            raise ValueError("with an issuer, audience and roles must be there")
        if not all(may_be_sent_to(url) for url in (self.issuer, self.keys) if url):
            raise ValueError("issuer and keys are https URLs (http on the loopback), without a user or a fragment")
        return self


class ApprovalSettings(Section):
    """Acts that need two maintainers, each with a key of their own (`quarterturn.approvals.approvals`)."""

    actions: tuple[Literal["activate", "withdraw", "export", "policy"], ...] = Field(
        strict=False,
        default=(),
        description="Acts that need two maintainers: activate, withdraw, export, policy. Empty: none.",
    )
    maintainers: Mapping[Maintainer, str] = Field(
        default={}, description='Keys that may sign, as NAME = "ssh-ed25519 …", in `[approvals.maintainers]`.'
    )
    withdrawal_keys: Mapping[Maintainer, str] = Field(
        default={},
        description="Keys of second persons, one of whom must sign each withdrawal in the public log, as NAME = "
        '"ssh-ed25519 …", in `[approvals.withdrawal_keys]`. Empty: nobody must.',
    )

    @model_validator(mode="after")
    def _whole(self) -> Self:
        keys = {public_key(line) for line in self.maintainers.values()}
        if len(keys) != len(self.maintainers):
            raise ValueError("two maintainers have one key: each signs with a key of their own")
        for line in self.withdrawal_keys.values():
            public_key(line)
        if self.actions and len(keys) < SIGNERS:
            raise ValueError("two maintainers sign, so name two at least in [approvals.maintainers]")
        if self.actions and "policy" not in self.actions:
            raise ValueError("policy belongs to the actions: without it one person could change these rules alone")
        return self


class ModelSettings(Section):
    """A language-model upstream that agents may use, with the operator's API key: `[models.NAME]`."""

    wire: Literal["openai", "anthropic"] = Field(description="Wire protocol of the upstream.")
    url: str = Field(description="Base URL, as in the provider's own client.")
    models: tuple[ModelName, ...] = Field(
        strict=False, min_length=1, max_length=32, description="Exact names of the allowed models."
    )
    tokens: int = Field(default=200_000, ge=1000, le=100_000_000, description="Maximum tokens per task.")
    requests: int = Field(default=200, ge=1, le=10_000, description="Maximum requests per task.")

    @field_validator("url")
    @classmethod
    def _address(cls, url: str) -> str:
        try:
            require_address(url)
        except SandboxError as error:
            raise ValueError(str(error)) from None
        return url


class ClaimJudgeSettings(Section):
    """The language model that judges claims about answers (`answer.claims`); off unless an upstream is named."""

    upstream: str = Field(
        default="", description="The upstream, NAME of a table `[models.NAME]`; agents are refused it. Empty: none."
    )
    model: str = Field(default="", description="Exact name of the model that judges, one of its `models`.")
    answer_tokens: int = Field(default=300, ge=16, le=100_000, description="Maximum tokens of one reply.")
    tokens: int = Field(
        default=400_000, ge=1000, le=100_000_000, description="Maximum tokens of all claims of one answer together."
    )
    anchors: str = Field(
        default="",
        description="A file of anchors, relative to the home, that `quarterturn judge freeze` has written. Empty: the "
        "shipped ones.",
    )


class FrozenAgentSettings(Section):
    """A reference agent that never changes, run once a month as the account NAME: `[frozen_agents.NAME]`."""

    image: str = Field(description="Its container image, by digest: `NAME@sha256:…`.")
    model: str = Field(
        default="", description="The upstream that it may use, NAME of a table `[models.NAME]`. Empty: none."
    )

    @field_validator("image")
    @classmethod
    def _pinned(cls, image: str) -> str:
        try:
            if ImageReference.parse(image).digest is None:
                raise ValueError(f"{image!r} has no digest: name its container image as NAME@sha256:…")
        except SandboxError as error:
            raise ValueError(str(error)) from None
        return image


class Settings(Section):
    """The whole file."""

    benchmark: BenchmarkSettings
    database: DatabaseSettings = DatabaseSettings()
    ledger: LedgerSettings = LedgerSettings()
    run: RunSettings = RunSettings()
    findings: FindingsSettings = FindingsSettings()
    service: ServiceSettings = ServiceSettings()
    oidc: OidcSettings = OidcSettings()
    clock: ClockSettings = ClockSettings()
    notify: NotifySettings = NotifySettings()
    approvals: ApprovalSettings = ApprovalSettings()
    claim_judge: ClaimJudgeSettings = ClaimJudgeSettings()
    models: Mapping[UpstreamName, ModelSettings] = Field(
        default={}, description="Language models for agents; none by default."
    )
    frozen_agents: Mapping[AccountName, FrozenAgentSettings] = Field(
        default={}, description="Reference agents that are run once a month; none by default."
    )

    @model_validator(mode="after")
    def _upstreams_exist(self) -> Self:
        usable = self.models.keys() - {self.claim_judge.upstream}
        for name, agent in self.frozen_agents.items():
            if agent.model and agent.model not in usable:
                raise ValueError(
                    f"frozen_agents.{name}.model names '{agent.model}', which is no [models.{agent.model}] that agents "
                    "may use"
                )
        return self

    @model_validator(mode="after")
    def _judge_exists(self) -> Self:
        judge = self.claim_judge
        if judge.upstream and judge.upstream not in self.models:
            raise ValueError(
                f"claim_judge.upstream names '{judge.upstream}', and there is no [models.{judge.upstream}]"
            )
        if judge.upstream and judge.model not in self.models[judge.upstream].models:
            raise ValueError(f"claim_judge.model must be one of the models of [models.{judge.upstream}]")
        return self


TABLES_BY_NAME: Mapping[str, type[Section]] = {"models": ModelSettings, "frozen_agents": FrozenAgentSettings}
"""Tables of which there is one for each name that the operator chooses."""


def load(path: Path) -> Settings:
    """Read the settings.

    Raises:
        NotFound: there is no such file.
        Malformed: it is not TOML, or a key or value in it is wrong; the message names it.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))  # editors elsewhere put a byte order mark first
    except FileNotFoundError as error:
        raise NotFound(f"{path} is missing: make a home with `quarterturn init {home_option(path.parent)}`") from error
    except UnicodeDecodeError:
        raise Malformed(f"{path} is not TOML: it is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise Malformed(f"{path} is not TOML: {error}. A text stands in quotes, and each key once") from error
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
    nested = {f"{of}.{name}": table for of in TABLES_BY_NAME for name, table in document.pop(of).items()}
    if settings.claim_judge == ClaimJudgeSettings():  # an empty table would say that there is a judge
        del document["claim_judge"]
    for table in ("maintainers", "withdrawal_keys"):
        if keys := document["approvals"].pop(table):
            nested[f"approvals.{table}"] = {json.dumps(name): key for name, key in keys.items()}
    for name, table in (document | nested).items():
        lines.append(f"[{name}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in table.items()]  # TOML reads these as JSON does
        lines.append("")
    return "\n".join(lines)


def public_key(line: str) -> bytes:
    """Read an Ed25519 public key as OpenSSH writes it, with or without a comment; gives its 32 bytes.

    Raises:
        ValueError: it is none.
    """
    words = line.split()
    try:
        raw = base64.b64decode(words[1], validate=True)[-KEY_SIZE:]
        is_key = " ".join(words[:2]) == sshsig.public_line(raw)
    except (IndexError, ValueError):
        is_key = False
    if not is_key:
        raise ValueError(f"{line[:40]!r} is no key: give the line `ssh-ed25519 AAAA…` of an Ed25519 key's .pub file")
    if why := key_fault(raw):
        raise ValueError(f"the key {words[1]} {why}: make one with `ssh-keygen -t ed25519`")
    return raw


def may_be_sent_to(url: str) -> bool:
    """Say whether requests may go to a URL: https, or http on the loopback."""
    parts = urlsplit(url)
    try:
        plain = parts.scheme == "http" and is_loopback(parts.hostname or "")
        well_formed = bool(parts.hostname) and parts.port != 0 and parts.username is None and not parts.fragment
    except ValueError:
        return False
    return well_formed and url.isascii() and url.isprintable() and " " not in url and (parts.scheme == "https" or plain)


def is_loopback(host: str) -> bool:
    """Say whether a name or an address is this machine's own loopback."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


_MUST_BE = {
    "int": "a whole number, without quotes",
    "float": "a number, without quotes",
    "bool": "true or false, without quotes",
    "string": "a text in quotes",
    "tuple": "a list in square brackets",
    "list": "a list in square brackets",
    "dict": "a table",
    "model": "a table",
}
_BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than", "expected": "one of"}


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "missing":
        return f"'{place}' is missing: {_described(problem['loc'])}"
    if problem["loc"][-1:] == ("[key]",):
        table, longest = place.removesuffix(".[key]"), 16 if problem["loc"][0] == "models" else 40
        return f"'{table}' is wrong: a table's name has 1 to {longest} of a-z, 0-9 and '-', and does not begin with '-'"
    if problem["type"] == "string_pattern_mismatch":
        return f"'{place}' is wrong: {_described(problem['loc'])}"
    if problem["type"] != "extra_forbidden":
        sentence = _in_plain_words(problem) or problem["msg"].removeprefix("Value error, ")
        return f"'{place}' is wrong: {sentence}" if place else sentence
    known = _known_beside(problem["loc"])
    near = difflib.get_close_matches(str(problem["loc"][-1]), known, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"the keys here are: {', '.join(known)}"
    return f"'{place}' is not a setting; {hint}"


def _in_plain_words(problem: ErrorDetails) -> str:
    """Say what a value must be; empty where the rule's own sentence says it."""
    kind, _, what = problem["type"].partition("_")
    bounds = problem.get("ctx", {})
    if what in {"type", "parsing", "from_float"} and kind in _MUST_BE:
        return f"it must be {_MUST_BE[kind]}"
    if kind == "string" and "max_length" in bounds:
        return f"it must have at most {bounds['max_length']} characters"
    for name, words in _BOUNDS.items():
        if name in bounds:
            return f"it must be {words} {bounds[name]}"
    return ""


def _known_beside(place: tuple[int | str, ...]) -> list[str]:
    return sorted(_table_of(place).model_fields)


def _described(place: tuple[int | str, ...]) -> str:
    """Say what belongs at a place: the description of its key, or what its table needs."""
    key = next(part for part in reversed(place) if isinstance(part, str))  # an entry of a list is told by its key
    field = _table_of(place).model_fields.get(key)
    if field is not None and field.description:
        return field.description
    return f"the table [{place[-1]}] is needed" if len(place) == 1 else "the key is needed, in its form"


def _table_of(place: tuple[int | str, ...]) -> type[BaseModel]:
    """Return the table in which a key stands."""
    model: type[BaseModel] = Settings
    for part in place[:-1]:
        if model is Settings and part in TABLES_BY_NAME:
            return TABLES_BY_NAME[str(part)]
        annotation = model.model_fields[str(part)].annotation if str(part) in model.model_fields else None
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            model = annotation
    return model
