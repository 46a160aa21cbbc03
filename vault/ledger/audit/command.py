"""Command line of the audit, for the single file `audit.py`: arguments, files, output and exit codes.

Exit codes: 0 yes, 1 no or a doubt that was not accepted, 2 malformed input, 3 a file is missing,
6 a file cannot be read, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vault.errors import Malformed, NotFound, Unavailable, VaultError, printable
from vault.ledger.audit.verify import audit
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.note import SPACES, Verifier, decode_base64, read_line, take_apart
from vault.ledger.signatures.policy import Policy
from vault.ledger.statements.forms import Form, require_form
from vault.ledger.statements.jcs import parse

CODES = {"malformed": 2, "not-found": 3, "unavailable": 6, "interrupted": 130}
MAX_EVIDENCE_BYTES = 64 << 20
_PROOF: Form = ["text"]


@contextmanager
def _using(path: Path, what: str = "cannot be used") -> Iterator[None]:
    """Say of which file an error is."""
    try:
        yield
    except IsADirectoryError as error:
        raise NotFound(f"{path} is a folder, and a file is needed: name one in it") from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"there is no file {path}") from error
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Malformed(f"{path} is not text") from error
    except Malformed as error:
        raise error.with_message(f"{path} {what}: {error}", str(path)) from None


def read_text(path: Path) -> str:
    """Read a text file; line ends stay as they are, since signatures cover them.

    Raises:
        NotFound: there is no such file.
        Malformed: it is no text.
    """
    with _using(path):
        return path.read_bytes().decode()


def require_release(folder: Path) -> None:
    """Refuse a folder that is no release; one that lacks other files is for the audit to refuse.

    Raises:
        NotFound: there is no such folder, or no manifest in it.
    """
    with _using(folder):
        if not folder.is_dir():
            file = " (it is a file: unpack it, and name the folder)" if folder.is_file() else ""
            raise NotFound(f"there is no release folder {folder}{file}")
        if not (folder / "manifest.json").is_file():
            what = "is no release folder: there is no manifest.json in it; name one Historical-YYYY-MM"
            raise NotFound(f"{folder} {what}")


def read_keys(path: Path) -> list[str]:
    """Read a file with a log's verifier keys, one a line: its former keys if it had any, then its present one.

    Raises:
        NotFound: there is no such file.
        Malformed: it holds no such key.
    """
    with _using(path):
        return [Verifier.parse(line).vkey for line in read_text(path).strip(SPACES).split("\n")]


def read_checkpoint(path: Path) -> str:
    """Read a checkpoint that the caller kept.

    Raises:
        NotFound: there is no such file.
        Malformed: it holds no checkpoint.
    """
    text = read_text(path)
    with _using(path, "holds no checkpoint"):
        signed, lines = take_apart(text)
        Checkpoint.parse(signed)
        list(map(read_line, lines))
    return text


def read_policy(path: Path) -> Policy:
    """Read a policy file that names the trusted logs and witnesses (C2SP tlog-policy).

    Raises:
        NotFound: there is no such file.
        Malformed: it holds no policy.
    """
    with _using(path, "holds no policy"):
        return Policy.parse(path.read_bytes())


def read_consistency(path: Path) -> list[bytes]:
    """Read a consistency proof as a log's service gives it: JSON with `proof`, hashes in base64.

    Raises:
        NotFound: there is no such file.
        Malformed: it holds no proof.
    """
    with _using(path, "holds no consistency proof"):
        document = parse(path.read_bytes())
        require_form("object", document, "$")
        require_form(_PROOF, document.get("proof"), "$.proof")
        return [decode_base64(part, "$.proof") for part in document["proof"]]


def read_evidence(path: Path) -> tuple[str, bytes]:
    """Read a file of evidence; whether it is any, the audit says.

    Raises:
        NotFound: there is no such file.
        Malformed: it is empty, or too large.
    """
    with _using(path, "holds no evidence"):
        if not 0 < (size := path.stat().st_size) <= MAX_EVIDENCE_BYTES:
            raise Malformed(f"it has {size} bytes, and evidence has 1 to {MAX_EVIDENCE_BYTES}")
        return path.name, path.read_bytes()


def read_inputs(
    keys: Sequence[Path],
    policy: Path | None = None,
    previous: Path | None = None,
    consistency: Path | None = None,
    evidence: Sequence[Path] = (),
) -> Mapping[str, Any]:
    """Read the files that an audit is given beside the release, as the arguments of `audit`."""
    return {
        "keys": [key for path in keys for key in read_keys(path)],
        "policy": read_policy(policy) if policy else None,
        "previous": read_checkpoint(previous) if previous else None,
        "consistency": read_consistency(consistency) if consistency else None,
        "evidence": [read_evidence(path) for path in evidence],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the audit with command line arguments; gives the exit code."""
    about = "Check a release without trusting anybody."
    parser = argparse.ArgumentParser(prog="audit.py", description=about, allow_abbrev=False)
    add = parser.add_argument
    add("bundle", metavar="RELEASE", type=Path, help="a release folder, Historical-YYYY-MM")
    add("--key", type=Path, action="append", required=True, help="a file with the log's keys")
    add("--policy", type=Path, help="a tlog-policy file: the witnesses that must have cosigned")
    add("--previous", type=Path, help="a file with a checkpoint that you kept")
    add("--consistency", type=Path, help="a consistency proof from the release to a newer --previous")
    add("--evidence", type=Path, action="append", default=[], help="a file of evidence to check")
    add("--accept", type=int, action="append", default=[], help="the number of a doubt")
    add("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args(arguments)
    try:
        require_release(given.bundle)
        files = given.key, given.policy, given.previous, given.consistency, given.evidence
        report = audit(given.bundle, accepted=given.accept, **read_inputs(*files))
        report.require_doubts()
    except (VaultError, KeyboardInterrupt) as error:
        what, code = str(error) or "interrupted", CODES.get(getattr(error, "kind", "interrupted"), 2)
        sys.stderr.write(f"audit.py: {printable(what)}\n")
        if given.json:
            sys.stdout.write(f"{json.dumps({'error': what, 'exit': code})}\n")
        return code
    lines = [json.dumps(report.as_json(), sort_keys=True)] if given.json else report.lines()
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0 if report.ok else 1
