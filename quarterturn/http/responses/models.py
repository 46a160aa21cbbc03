"""Request and response models of the HTTP interface, for its description; each route writes its own answer."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

from quarterturn.accounts.roles import Scope
from quarterturn.choices import Role
from quarterturn.display_names import rules
from quarterturn.http.responses import documents
from quarterturn.http.responses.problems import Problem
from quarterturn.settings import UPSTREAM
from rotation import calendar
from sandbox import image_reference, pseudonyms

IMAGE = f"^{image_reference.PATTERN}$"
SUBMISSION = "s-[a-z2-7]{16}"
EXAMPLES: dict[str, str] = {}
"""An example for each pattern, which the problem of a mismatch shows."""
WORDS: dict[str, str] = {}
"""What the problem of a mismatch says in place of each pattern."""


def _text(pattern: str, words: str, example: str) -> Any:
    """Return the rule of a text, and remember its words and its example."""
    EXAMPLES[pattern], WORDS[pattern] = example, words
    return Field(pattern=pattern, examples=[example])


TaskId = Annotated[str, _text(r"^t-[a-z2-7]{16}$", "the id of a task", "t-abcdefghijklmnop")]
SubmissionId = Annotated[str, _text(f"^{SUBMISSION}$", "the id of a submission", "s-abcdefghijklmnop")]
MonthName = Annotated[str, _text(rf"^{calendar.PATTERN}$", "a month as YYYY-MM", "2026-12")]
Digest = Annotated[str, _text(r"^[0-9a-f]{64}$", "64 digits of 0-9 and a-f", "0" * 64)]
Image = Annotated[str, Field(max_length=image_reference.MAX_NAME), _text(IMAGE, "the name of an image", "ada/agent:1")]
Url = Annotated[
    str,
    _text(
        r"^https://[!-~]{1,490}$", "a URL that begins with https://, without blanks", "https://agent.example.org/tasks"
    ),
]
Name = Annotated[str, _text(f"^{pseudonyms.PATTERN}$", "1 to 40 of a-z, 0-9 and '-', not beginning with '-'", "ada")]
DisplayName = Annotated[
    str,
    Field(min_length=rules.MIN_NAME_CHARACTERS, max_length=rules.MAX_NAME_CHARACTERS),
    _text(rules.PATTERN, rules.FORM, "Falcon 7B"),
]
Upstream = Annotated[str, _text(f"^{UPSTREAM}$", "the name of a model that this service offers", "local")]


def of_form(pattern: str) -> AfterValidator:
    """Return the rule of a path's part: one of another form names nothing (404), and no store is asked for it."""
    form = re.compile(pattern)

    def require(text: str) -> str:
        if form.fullmatch(text) is None:
            raise Problem("not-found")
        return text

    return AfterValidator(require)


def content(*media: str) -> dict[int | str, dict[str, Any]]:
    """Describe an answer that is no JSON of a model, by its media types."""
    kinds = {"application/octet-stream": {"type": "string", "format": "binary"}, "application/json": {"type": "object"}}
    return {200: {"content": {name: {"schema": kinds.get(name, {"type": "string"})} for name in media}}}


CURSOR = r"^[A-Za-z0-9_-]{2,64}$"
WORDS[CURSOR] = "the value of `next` in the page before"
Cursor = Annotated[str, Field(pattern=CURSOR, description="`next` of the page before; leave it out for the first one.")]


class Given(BaseModel):
    """The base of request bodies; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


ONE_AGENT: list[JsonValue] = [
    {"required": ["image"], "properties": {"image": {"type": "string"}, "endpoint": {"type": "null"}}},
    {"required": ["endpoint"], "properties": {"endpoint": {"type": "string"}, "image": {"type": "null"}}},
]
"""The schema of exactly one agent."""


class Agent(Given):
    """An agent: a container image or the URL of a hosted agent, exactly one of them."""

    model_config = ConfigDict(json_schema_extra={"oneOf": ONE_AGENT, "examples": [{"image": "ada/agent:1"}]})

    image: Image | None = Field(default=None, description="A container image that the runner can pull.")
    endpoint: Url | None = Field(default=None, description="The URL of a hosted agent.")
    model: Upstream | None = Field(default=None, description="A language model that the agent may use.")


class NewSubmission(Agent):
    """A submission to make; only a private one can be named to count."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": ONE_AGENT,
            "if": {"required": ["counts"], "properties": {"counts": {"const": True}}},
            "then": {"required": ["set"], "properties": {"set": {"const": "private"}}},
            "examples": [{"image": "ada/agent:1", "set": "dev"}],
        }
    )

    set: Literal["dev", "private"] = "dev"
    counts: bool = Field(default=False, description="Play it before the party's others; none of them may have begun.")


class NewName(Given):
    """A display name to choose for an agent."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Falcon 7B"}]})

    name: DisplayName


class NewToken(Given):
    """A token to make."""

    account: Name
    role: Role
    scopes: list[Scope] = Field(default=[], max_length=16, description="Empty: all of the role's.")
    days: int = Field(default=90, ge=1, le=366)


class NewRegistration(Given):
    """What a runner says about itself."""

    version: int = Field(ge=1, le=1000, description="Of the interface that it speaks.")
    box: Literal["docker", "bwrap"]
    run_class: Literal["sealed", "unofficial", "open"]
    places: int = Field(ge=1, le=64, description="How many servings it plays at a time.")
    servers: dict[Annotated[str, Field(max_length=40)], Digest] = Field(
        max_length=256, description="The digest of each server that it has, with its locks and backend, by name."
    )


class Registered(BaseModel):
    """The answer to a registration."""

    version: int
    public_key: str = Field(description="The X25519 key to which it seals what it hands in, in hexadecimal.")


class TakenServing(BaseModel):
    """A serving that was taken, encrypted under a key that is granted when it starts."""

    handle: str
    document: str = Field(description="In base64: a nonce of 12 bytes, then AES-256-GCM, with the handle as its data.")


class ServingKey(BaseModel):
    """The key of a serving."""

    key: str = Field(description="32 bytes in base64.")


class PlayedServings(Given):
    """The servings that a runner plays or holds."""

    servings: list[Annotated[str, Field(max_length=40)]] = Field(max_length=256)


class WantedServings(BaseModel):
    """Those of them that are still wanted."""

    wanted: list[str]


class FailedServing(Given):
    """A serving that ended on its runner and left nothing."""

    agent_started: bool = Field(description="Whether its agent was let go.")


class NewWord(Given):
    """A review of a finding: its new state, and a note, which holds the reason unless it is open."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"state": {"const": "open"}}},
            "else": {"required": ["note"], "properties": {"note": {"pattern": r"\S"}}},
            "examples": [{"state": "explained", "note": "two teams of one company"}],
        }
    )

    state: Literal["open", "explained", "confirmed"]
    note: str = Field(default="", max_length=500)


class TaskItem(BaseModel):
    """A line of the list of public tasks."""

    id: TaskId
    set: str = Field(description="`dev`, or the release that published it.")
    sha256: Digest = Field(description="Of the task's canonical bytes (RFC 8785).")
    server: str
    category: str
    difficulty: str
    max_steps: int


class TaskPage(BaseModel):
    """A page of public tasks."""

    tasks: list[TaskItem]
    next: str | None = Field(description="The cursor of the next page.")


class TaskDetail(BaseModel):
    """A public task."""

    id: TaskId
    set: str
    sha256: Digest
    task: dict[str, Any]
    opening: dict[str, Any] | None = Field(description="For a released task: the values that open its commitment.")


class Failure(BaseModel):
    """Why a submission failed."""

    code: str
    hint: str
    ours: bool = Field(description="Our failure: refunded unless a private task was served.")


class Score(BaseModel):
    """What was passed of public tasks."""

    passed: int
    attempted: int


class SubmissionShape(BaseModel):
    """A submission, as its owner may see it now."""

    id: SubmissionId
    set: Literal["dev", "private", "check"]
    kind: Literal["image", "endpoint"]
    model: str | None
    counts: bool
    month: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    place: int | None = Field(description="How many submissions are before it in the queue, while it waits.")
    failure: Failure | None
    charged: bool = Field(description="Whether it counts against a quota.")
    run: int | None = Field(description="The number of its run in the public log.")
    figures: documents.Disclosed | None = Field(description="For a private run that is done; rounded to half a point.")
    score: Score | None = Field(description="For the dev set or a check, once it is done.")
    agent: str = Field(description="The image or the URL that was submitted.")
    created_at: datetime
    started_at: datetime | None = Field(description="When it began to be run; to the minute for a private run.")
    ended_at: datetime | None = Field(description="When it ended; to the minute for a private run.")


class SubmissionPage(BaseModel):
    """A page of the caller's submissions, the newest first."""

    submissions: list[SubmissionShape]
    next: str | None


class QuotaShape(BaseModel):
    """One quota."""

    limit: int
    used: int
    left: int
    until: datetime | None = Field(description="When it resets; null where it frees up as submissions end.")


class Quotas(BaseModel):
    """The caller's quotas, shared with linked accounts."""

    private: QuotaShape
    dev: QuotaShape
    check: QuotaShape
    waiting: QuotaShape


class NamedAgent(BaseModel):
    """An agent that was submitted, with its display name."""

    agent: str = Field(description="Its name as submitted: the image's repository or the endpoint's host.")
    display_name: str | None = Field(description="The name that its owner chose.")
    removed: str | None = Field(description="The name that a maintainer removed, until its owner chooses another.")


class NamedAgents(BaseModel):
    """The caller's agents."""

    agents: list[NamedAgent]


class RunShape(BaseModel):
    """A run's tasks, as far as they are public: all of the dev set, and of a private run what has retired."""

    id: SubmissionId
    set: Literal["dev", "private", "check"]
    public: bool = Field(description="Whether its owner has published it.")
    trace: documents.Trace


class ArchiveItem(BaseModel):
    """A release in one file: a tar whose bytes follow from the release's files alone."""

    url: str
    bytes: int
    sha256: Digest


class ReleaseItem(BaseModel):
    """A release; it has no archive in the moments before that is written."""

    release: str
    month: str
    attestation: str
    archive: ArchiveItem | None


class Releases(BaseModel):
    """All releases, the oldest first."""

    releases: list[ReleaseItem]


class MonthItem(BaseModel):
    """The signed files of a turn."""

    month: str
    files: list[str]


class Months(BaseModel):
    """All turns that were signed, the oldest first."""

    months: list[MonthItem]


class ReleaseFile(BaseModel):
    """A file of a release."""

    name: str
    bytes: int
    url: str


class ReleaseShape(BaseModel):
    """A release and its files."""

    release: str
    manifest: documents.ManifestShape
    files: list[ReleaseFile]
    archive: ArchiveItem | None


class Inclusion(BaseModel):
    """An inclusion proof (RFC 6962), in base64; who cosigned the head, and whose word order and time are."""

    index: int
    size: int
    proof: list[str]
    witnesses: list[str]
    word: str


class Consistency(BaseModel):
    """A consistency proof (RFC 6962), in base64; who cosigned the newer head, and whose word order and time are."""

    old: int
    new: int
    proof: list[str]
    witnesses: list[str]
    word: str


class TokenShape(BaseModel):
    """A token's metadata."""

    id: int
    account: str
    party: str
    role: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    used_at: datetime | None


class Tokens(BaseModel):
    """All tokens."""

    tokens: list[TokenShape]


class MadeToken(TokenShape):
    """A token that was just made; it is shown this once."""

    token: str


class Waiting(BaseModel):
    """A submission in the queue."""

    id: str
    account: str
    set: str
    state: str
    attempt: int


class QueueShape(BaseModel):
    """The waiting and running submissions, in the order of submission."""

    submissions: list[Waiting]


class State(BaseModel):
    """Whether it works."""

    ok: bool


class Readiness(State):
    """Whether it works, and whether the public view is behind what the home's rows say."""

    behind: bool
