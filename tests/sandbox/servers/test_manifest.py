"""Tests of manifests: bad ones get one sentence with file and place, and the reference is made of the schema."""

from pathlib import Path

import pytest

from sandbox.errors import Malformed
from sandbox.kinds.registry import KINDS
from sandbox.servers import manifest
from sandbox.servers.manifest_reference import reference, schema_text

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "docs" / "reference"
GOOD = (ROOT / "examples" / "servers" / "planner" / "server.yaml").read_text()


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        ("server: planner", "server: Planner", "$.server"),
        ("server: planner", "name: planner", "$"),
        ('version: "1.1.1"', "version: 1.1", "$.version"),
        ("npm:@kazuph", "gem:kazuph", "$.package"),
        ('package: "npm:@kazuph/mcp-taskmanager"', "image: kazuph/mcp-taskmanager", "$.image"),
        ("kind: json_document", "kind: paper", "$.state.kind"),
        ("file: tasks.json", "file: ../tasks.json", "$.state.file"),
        ("kind: json_document", "kind: files", "$.state.file"),
        ("{modules}/", "{module}/", "$.command[1]"),
        ("{state}/", "{home}/", "$.environment.TASK_MANAGER_FILE_PATH"),
        ("stateless: true", "stateless: perhaps", "$.stateless"),
        ("stateless: true", "shell: true", "$"),
        ("stateless: true", "freeze: {}", "$.freeze"),
        ("stateless: true", 'freeze: {clock: "2026-13-02T09:00:00Z"}', "$.freeze.clock"),
        ("stateless: true", 'freeze: {clock: "2026-03-02"}', "$.freeze.clock"),
        ("stateless: true", "stateless: true\nfreeze: {ids: true}", "$.freeze.ids"),
        ("stateless: true", "freeze: {ids: false}", "$.freeze.ids"),
        ('command: ["{node}"', 'freeze: {ids: true}\ncommand: ["/bin/sh"', "$.freeze"),
    ],
)
def test_a_wrong_manifest_gets_one_sentence_with_file_and_place(before: str, after: str, place: str) -> None:
    assert before in GOOD
    with pytest.raises(Malformed) as caught:
        manifest.load(GOOD.replace(before, after), {}, "here/server.yaml")
    message = str(caught.value)
    assert message.startswith("here/server.yaml")
    assert place in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("command", "started"),
    [
        ('["{node}", a.js, b]', ["--require", "frozen.cjs", "a.js", "b"]),
        ('["{python}", -I, -X, utf8, -m, board, -x]', ["-I", "-X", "utf8", "frozen.py", "-m", "board", "-x"]),
        ('["{python}", -I, -c, "main()"]', ["-I", "frozen.py", "-c", "main()"]),
        ('["{python}", "{state}/a.py", -m]', ["frozen.py", "/data/planner/a.py", "-m"]),
    ],
)
def test_a_frozen_server_is_started_through_the_program_that_freezes_it(command: str, started: list[str]) -> None:
    lines = [line for line in GOOD.splitlines() if not line.startswith(("command", "stateless"))]
    text = "\n".join([*lines, f"command: {command}", 'freeze: {clock: "2026-03-02T09:00:00Z", ids: true}'])
    server = manifest.load(text, {}, "server.yaml")
    assert [word.removeprefix("/opt/ours/sandbox/kinds/common/frozen/") for word in server.command[1:]] == started
    assert server.environment["QUARTERTURN_FREEZE"] == '{"clock": "2026-03-02T09:00:00Z", "ids": true}'


def test_a_key_twice_is_refused() -> None:
    with pytest.raises(Malformed, match=r"here/server\.yaml"):
        manifest.load(GOOD + "server: other\n", {}, "here/server.yaml")


@pytest.mark.parametrize("kind", KINDS)
def test_the_reference_shows_the_state_and_the_mutants_of_each_kind(kind: str) -> None:
    part = reference().partition(f"### `{kind}`\n")[2].partition("\n### ")[0]
    assert part.startswith("\nState: `{"), "in the docstring of the kind's module"
    for key in KINDS[kind].schema["properties"]:
        assert f'"{key}"' in part or f"`{key}`" in part
    assert "Mutants: " in part


def test_the_reference_and_the_schema_file_are_current() -> None:
    assert (REFERENCE / "server-manifests.md").read_text(encoding="utf-8") == reference()
    assert (REFERENCE / "server-manifest.schema.json").read_text(encoding="utf-8") == schema_text()
