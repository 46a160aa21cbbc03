"""Fixture of a repository that git itself makes."""

import os
import subprocess

import pytest

from verifiers.tree import FileTree, JudgeInput


@pytest.fixture
def real(tmp_path):
    class Real:
        folder = tmp_path / "repos" / "site"

        def git(self, *arguments):
            environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
            who = ["-c", "user.name=A", "-c", "user.email=a@b.invalid", "-c", "init.defaultBranch=main"]
            done = subprocess.run(
                ["git", *who, *arguments], cwd=self.folder, env=environment, check=True, capture_output=True, text=True
            )
            return done.stdout.strip()

        def write(self, path, text):
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text)

        def commit(self, message, **files):
            for path, text in files.items():
                self.write(path, text)
            self.git("add", "-A")
            self.git("commit", "-q", "-m", message)

        def views(self):
            return JudgeInput({"git": FileTree.from_directory(self.folder.parent)})

    made = Real()
    made.folder.mkdir(parents=True)
    made.git("init", "-q")
    return made
