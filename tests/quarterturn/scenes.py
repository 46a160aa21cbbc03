"""Scenes of the crash table: homes on which a verb is about to run, and what must hold of them afterwards."""

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from grammars.admission.gates import Admission
from quarterturn.app import Application
from quarterturn.cli.terminal.exits import EXITS
from rotation.generation import import_tasks
from vault.ledger.audit.verify import audit
from vault.task.document import Task

from .children import ChildResult
from .conftest import EASY, copy_of, written
from .crashes import start, verb

CLEAR = {EXITS["unavailable"], EXITS["locked"]}
OVER = "is done; the next one is"
"""What a turn says that has nothing left to do."""


def sound(home: Path) -> None:
    with closing(Application(home, None)) as house:
        assert house.log.writer.fsck() == []
        house.home.vault.verify_access_log()
        house.log.ledger.verify()
        ids = [record.id for record in house.home.vault.records()]
        assert len(ids) == len(set(ids))
        for release in house.home.places.releases.glob("*"):
            report = audit(release, [house.home.places.log_vkey.read_text()])
            assert not report.failed, report.failed


class Scene:
    """A folder with a home in it, and the verbs on it as work for a child."""

    def __init__(self, base: Path, templates: Path) -> None:
        self.base, self.templates = base, templates
        self.home, self.copy, self.new = base / "home", base / "copy", base / "new"

    def clear(self) -> None:
        for path in self.base.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def set(self, name: str) -> Callable[[], int]:
        """Prepare the home for a verb, and give the verb; what it needs is made once and copied."""
        if name != "init":
            prepared = self.templates / f"before-{name.replace(' ', '-')}"
            if prepared.exists():
                shutil.copytree(prepared, self.base, dirs_exist_ok=True)
            else:
                self._prepare(name)
                shutil.copytree(self.base, prepared)
        return getattr(self, name.replace(" ", "_"))()

    def _prepare(self, name: str) -> None:
        kind = {"task import": "empty", "task review": "waiting"}.get(name, "live")
        how = {"live": {"tasks": 5, "live": True}}.get(kind, {})
        copy_of(self.templates, "empty" if kind == "waiting" else kind, self.home, **how)
        if kind == "waiting":
            self.wait_for_a_review(6)
        if name == "release path":
            assert start(self.turn_run())().code == 0
            shutil.rmtree(self.home / "public" / "releases")
        if name == "restore":
            assert start(self.backup())().code == 0

    def wait_for_a_review(self, count: int) -> None:
        with closing(Application(self.home, None)) as house:
            for number in range(count):
                task, skeleton = Task.parse(written(EASY, number)), f"s/{number}"
                house.home.vault.add(task, {}, author="ada", public_grammar=False, skeleton=skeleton, template="t")
                house.home.vault.advance(task.id, "admit")

    def init(self):
        return verb("init", "--month", "2026-12", "--home", self.home)

    def task_import(self, file: Path, proven: dict[str, Admission]):
        def work() -> int:
            import_tasks.admit = lambda draft, *_: proven[draft.id]  # in a child
            return verb("task", "import", file, "--as", "ada", "--box", "bwrap", "--home", self.home)()

        return work

    def task_review(self, who: str = "grace"):
        return verb("task", "review", "--batch", "--approve", "--as", who, "--home", self.home)

    def turn_run(self):
        return verb("turn", "run", "--month", "2026-12", "--early", "--home", self.home)

    def release_path(self):
        return verb("release", "path", "2026-12", "--home", self.home)

    def keys_rotate(self):
        return verb("keys", "rotate", "--as", "ada", "--home", self.home)

    def backup(self):
        return verb("backup", self.copy, "--home", self.home)

    def restore(self):
        return verb("restore", self.copy, "--head", self.home / "head" / "signed", "--home", self.new)


def clear(said: ChildResult) -> None:
    assert said.code in CLEAR, said.text
    assert said.sentence.startswith("quarterturn: "), said.text
    assert "Traceback" not in said.text


def with_keys(scene: Scene) -> Path:
    shutil.copytree(scene.home / "keys", scene.new / "keys", dirs_exist_ok=True)
    return scene.new
