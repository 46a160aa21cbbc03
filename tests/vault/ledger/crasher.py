"""Kills a child, or fails its call, at each of its calls to the disk in turn, and checks what is left.

    crasher.py (append|cosign|publish) (kill|fail) FOLDER [STRIDE]

It is strace that strikes: at the Nth `openat`, `write`, `fsync`, `rename`, `mkdir` or `unlink` on a path of the ledger
(`-P`) it kills the child, or answers EIO. With a STRIDE of 3, only every third call is struck. Prints one JSON object:
how many calls were struck, by name, and one sentence for each that left something wrong. A program of its own, so that
forking is safe, and so that what it imports is what the ledger needs and nothing more.
"""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vault.errors import VaultError
from vault.ledger.audit.verify import audit
from vault.ledger.signatures.cosignature import Cosigner
from vault.ledger.signatures.policy import Policy
from vault.ledger.tree.merkle import leaf_hash, root
from vault.ledger.write.cosigning import Witnesses, request
from vault.ledger.write.fsck import fsck
from vault.ledger.write.witness import LocalWitness

CALLS = ("openat", "write", "fsync", "rename", "mkdir", "unlink")
BEFORE, FRESH = 250, 10  # across the border of a tile
DONE, FAILED, KILLED = 0, 98, -signal.SIGKILL
WAYS = {"kill": "signal=SIGKILL", "fail": "error=EIO"}


def child(work, trace: Path, *options: str) -> int:
    """Fork a child, attach strace, and work; give the exit status."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.kill(os.getpid(), signal.SIGSTOP)
            work()
            status = DONE
        except VaultError:  # one sentence, whatever the disk did
            status = FAILED
        finally:
            os._exit(status)
    os.waitpid(pid, os.WUNTRACED)
    command = ["strace", "-p", str(pid), "-y", "-o", trace, "-e", f"trace={','.join(CALLS)}", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
        said = strace.stderr.readline()
        os.kill(pid, signal.SIGCONT if "attached" in said else signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        said += strace.stderr.read()
    if "attached" not in said:
        raise SystemExit(f"strace could not take hold of the child: {said}")
    return status


class Strikes:
    """The calls at which work can be struck: one undisturbed run records its paths and calls."""

    def __init__(self, work, folder: Path) -> None:
        self.work, self.trace = work, folder / "trace"
        assert child(work, self.trace) == DONE
        lines = self.trace.read_text().splitlines()
        ours = re.compile(rf'["<]({re.escape(str(folder))}/[^">]*)[">]')
        self.paths = sorted({path for line in lines for path in ours.findall(line)})
        called = [line.partition("(")[0] for line in lines if ours.search(line)]
        self.all = [(name, number) for name in CALLS for number in range(1, called.count(name) + 1)]

    def strike(self, name: str, number: int, way: str) -> tuple[int, bool]:
        """Strike at the n-th call of a name; give the exit status, and whether the strike happened."""
        only = [word for path in self.paths for word in ("-P", path)]
        status = child(self.work, self.trace, *only, "-e", f"inject={name}:{WAYS[way]}:when={number}")
        return status, status == KILLED or "(INJECTED)" in self.trace.read_text()


class Append:
    """A log of 250 leaves, restored before each strike, to which ten are appended."""

    def __init__(self, conftest, folder: Path) -> None:
        self.month = conftest.Month(folder)
        self.kept = folder / "kept"
        self.rows = [b"leaf %d" % place for place in range(BEFORE + FRESH)]
        self.month.writer.append(self.rows[:BEFORE], 0)
        shutil.copytree(self.month.folder, self.kept)

    def prepare(self) -> None:
        shutil.rmtree(self.month.folder)
        shutil.copytree(self.kept, self.month.folder)

    def work(self) -> None:
        self.month.writer.append(self.rows[BEFORE:], BEFORE)

    def look(self):
        log, writer = self.month.folder / "log", self.month.writer
        _, wrong = fsck(log, [self.month.signer.verifier])  # what a reader meets at this moment
        yield from (f"for a reader: {item}" for item in wrong)
        writer.append(self.rows[BEFORE : BEFORE + 4], BEFORE)  # another batch than the one that was interrupted
        head = writer.append(self.rows, 0)
        yield from (f"after restart: {item}" for item in writer.fsck())
        if head.root != root([leaf_hash(row) for row in self.rows]) or head.size != len(self.rows):
            yield "a leaf was lost"
        yield from (f"{path.name} was left" for path in log.rglob(".*"))


class Cosign(Append):
    """Such a log with a witness that has to cosign; the strike hits the log's calls or the witness's."""

    def __init__(self, conftest, folder: Path) -> None:
        super().__init__(conftest, folder)
        writer, key = self.month.writer, Cosigner("witness.example/w", Ed25519PrivateKey.from_private_bytes(bytes(32)))
        self.witness = LocalWitness(self.month.folder / "witness", [writer.verifier], [key], lambda: 1)
        policy = Policy.parse(f"witness W {key.witness.vkey} https://w.example\nquorum W\n")
        self.witnesses = Witnesses(writer, policy, lambda _, body: self.witness.add_checkpoint(body))
        self.witnesses.require()
        shutil.rmtree(self.kept)
        shutil.copytree(self.month.folder, self.kept)

    def work(self) -> None:
        super().work()
        with suppress(OSError):  # the first answer is lost: given in this thread, so that the blow reaches its making
            writer = self.month.writer
            self.witness.add_checkpoint(request(BEFORE, writer.prove_consistency(BEFORE), writer.note()))
        self.witnesses.require()

    def look(self):
        counts, seen = self.witnesses.head(), self.witness.last(self.month.signer.name)
        if counts.size not in {BEFORE, BEFORE + FRESH}:
            yield f"a head of {counts.size} counts"
        if seen != counts and seen != self.month.writer.checkpoint():
            yield f"the witness has cosigned {seen.size} leaves, which are not the log's"
        yield from super().look()
        if self.witnesses.require() != self.month.writer.checkpoint():
            yield "the head is not cosigned after the restart"
        for path in ("checkpoint", f"checkpoints/{BEFORE + FRESH}"):
            self.witnesses.policy.open((self.month.folder / "log" / path).read_bytes())


class Publish:
    """A month of two tasks to retire, whose release is removed before each strike."""

    def __init__(self, conftest, folder: Path) -> None:
        self.month = conftest.Month(folder).play()
        self.content = self.month.content()
        self.month.log_retirement(self.content, self.content.files())
        self.release = folder / "releases" / "Historical-2026-12"
        self.write = conftest.write_bundle

    def prepare(self) -> None:
        shutil.rmtree(self.release.parent, ignore_errors=True)
        self.release.parent.mkdir()

    def work(self) -> None:
        self.write(self.release, self.content, self.month.folder / "log")

    def look(self):
        if self.release.exists() and not audit(self.release, self.month.keys).ok:
            yield "half a release is there"
        self.work()
        if not audit(self.release, self.month.keys).ok:
            yield "the restart did not finish the release"
        yield from (f"{path.name} was left" for path in self.release.parent.iterdir() if path != self.release)


def main() -> None:
    what, way, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    stride = int(sys.argv[4]) if sys.argv[4:] else 1
    spec = importlib.util.spec_from_file_location("stage", Path(__file__).with_name("conftest.py"))
    conftest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conftest)
    scene = {"append": Append, "cosign": Cosign, "publish": Publish}[what](conftest, folder)
    scene.prepare()
    strikes = Strikes(scene.work, folder)
    problems = [f"before any blow: {item}" for item in scene.look()]
    struck = dict.fromkeys(CALLS, 0)
    for name, number in strikes.all[::stride]:
        scene.prepare()
        status, fell = strikes.strike(name, number, way)
        struck[name] += fell
        expected = {KILLED} if way == "kill" else {FAILED, DONE}  # a call that fails may be one that is not needed
        if status not in expected:
            problems.append(f"{name} {number}: the child ended with {status}")
        problems += [f"{name} {number}: {item}" for item in scene.look()]
    orm = sorted({"sqlalchemy", "sqlmodel"} & sys.modules.keys())
    calls = len(strikes.all[::stride])
    sys.stdout.write(json.dumps({"calls": calls, "struck": struck, "problems": problems, "orm": orm}))


if __name__ == "__main__":
    main()
