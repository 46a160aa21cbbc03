"""Command lock: the operator's own command, such as a client of a cloud key service, wraps the root key.

    COMMAND wrap     stdin {"context": base64, "key": base64}       stdout {"wrapped": base64}
    COMMAND unwrap   stdin {"context": base64, "wrapped": base64}   stdout {"key": base64}

One JSON object on one line each way. The context is to be given to the service as associated data, so that a wrapped
key opens nowhere else; we check what comes back in any case. Exit codes: 0 done, 1 the service refused, 2 what it was
given does not unwrap, 6 the service cannot be reached. The command is started without a shell, in `/`, with PATH, HOME,
LANG and TZ for its environment and nothing else, and ended after TIME_LIMIT; its standard error is ours. A key stands
in no argument and in no variable.
"""

from __future__ import annotations

import base64
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any, ClassVar, cast

from vault.canonical import canonical, parse_object
from vault.errors import Broken, Locked, Malformed, Unavailable, VaultError
from vault.keys.locks.lock import ROOT_SIZE, Document, Maker, context, text

TIME_LIMIT = 60.0
MAX_WRAPPED = 4096
MAX_ANSWER = 64 * 1024
INHERITED = ("PATH", "HOME", "LANG", "TZ")
EXITS: Mapping[int, tuple[type[VaultError], str]] = {
    1: (Locked, "the service refused; look there, and call the command by hand"),
    2: (Broken, "what the ring's file holds does not unwrap: it was changed, or wrapped elsewhere"),
    6: (Unavailable, "the service cannot be reached"),
}


@dataclass(frozen=True, slots=True)
class Command:
    """Opener that has the operator's command unwrap the root key."""

    kind: ClassVar[str] = "command"
    time_limit: float = TIME_LIMIT

    def open(self, lock: Mapping[str, Any], ring: str) -> bytes:
        """Let the command unwrap a root key."""
        question = {"context": text(context(lock, ring)), "wrapped": lock["sealed"]}
        key = _asked(lock["command"], "unwrap", question, "key", self.time_limit)
        if len(key) != ROOT_SIZE:
            raise Broken(f"The command {lock['command'][0]} gave {len(key)} bytes, and a root key has {ROOT_SIZE}.")
        return key

    def again(self, lock: Mapping[str, Any]) -> Maker:
        """Return the sealer that wraps with the same command."""
        return NewCommand(lock["command"], self.time_limit)


@dataclass(frozen=True, slots=True)
class NewCommand:
    """Sealer that has the operator's command wrap the root key.

    Attributes:
        command: the program, by its absolute path, and its first arguments.
        time_limit: in seconds.
    """

    kind: ClassVar[str] = Command.kind
    command: Sequence[str]
    time_limit: float = TIME_LIMIT

    def seal(self, root: bytes, name: str, ring: str) -> Document:
        """Have the command wrap a root key, and unwrap it once as a check."""
        lock: Document = {"name": name, "kind": self.kind, "command": list(self.command)}
        question = {"context": text(context(lock, ring)), "key": text(root)}
        wrapped = _asked(self.command, "wrap", question, "wrapped", self.time_limit)
        if not 0 < len(wrapped) <= MAX_WRAPPED:
            raise Malformed(f"The command {self.command[0]} gave {len(wrapped)} bytes; allowed are 1 to {MAX_WRAPPED}.")
        sealed = {**lock, "sealed": text(wrapped)}
        if root in wrapped or Command(self.time_limit).open(sealed, ring) != root:
            raise Broken(f"The command {self.command[0]} does not give back what it wrapped, or did not wrap it.")
        return sealed


def _asked(command: Sequence[str], verb: str, question: Mapping[str, str], wanted: str, limit: float) -> bytes:
    """Run a command, and give the one field of its answer."""
    what = f"command {command[0]} {verb}"
    environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
    code, answer = run([*command, verb], canonical(question) + b"\n", limit, what, environment)
    if code:
        kind, sentence = EXITS.get(code, (Unavailable, "that is none of 0, 1, 2 and 6 (docs/how-to/keep-the-keys.md)"))
        raise kind(f"The {what} ended with code {code}: {sentence}.")
    encoded = parse_object(answer, f"the answer of the {what}").get(wanted)
    try:
        return base64.b64decode(encoded if isinstance(encoded, str) else "?", validate=True)
    except ValueError:
        raise Malformed(f"The answer of the {what} is malformed at $.{wanted}: it must be base64.") from None


def run(
    words: Sequence[str], question: bytes, limit: float, what: str, environment: Mapping[str, str]
) -> tuple[int, bytes]:
    """Start a program, give it a question, and return its exit code and its answer.

    Raises:
        Unavailable: it cannot be started, or does not answer in time.
        Malformed: its answer is too long.
    """
    try:
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd="/", start_new_session=True
        )
    except OSError as error:
        raise Unavailable(f"The {what} cannot be started: {error.strerror}.") from None
    with process:
        try:
            answer = _talk(process, question, limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # and what it started
            raise Unavailable(f"The {what} did not answer within {limit:.0f} s, and was ended.") from None
        except OverflowError:
            os.killpg(process.pid, signal.SIGKILL)
            raise Malformed(f"The answer of the {what} has more than {MAX_ANSWER} bytes; it was ended.") from None
    return process.returncode, answer


def _talk(process: subprocess.Popen[bytes], question: bytes, limit: float) -> bytes:
    """Write a question, which fits into a pipe, and read the answer to its end."""
    stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
    end, answer = time.monotonic() + limit, b""
    with suppress(BrokenPipeError), stdin:
        stdin.write(question)
    while len(answer) <= MAX_ANSWER:
        if not select.select([stdout], [], [], max(0.0, end - time.monotonic()))[0]:
            raise subprocess.TimeoutExpired(process.args, limit)
        if not (part := os.read(stdout.fileno(), MAX_ANSWER)):
            process.wait(max(0.0, end - time.monotonic()))
            return answer
        answer += part
    raise OverflowError
