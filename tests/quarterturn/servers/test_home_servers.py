"""Tests of adding servers to a home where what is installed and what a server lists are given.

`tests/journeys/test_add_server_guide.py` adds real ones from the registries.
"""

from types import SimpleNamespace

import pytest

from quarterturn.errors import Malformed, NotFound, Refused, Unavailable
from quarterturn.servers import home_servers, install
from quarterturn.servers.home_servers import HomeServers, compared, kept_files
from sandbox.errors import Malformed as NotFitting
from sandbox.runs.tool_listing import FirstStart
from sandbox.servers.definition import server_digest
from sandbox.servers.registry import SERVERS
from vault.task.lifecycle import TaskState
from verifiers.language.catalogue import CATALOGUE

MANIFEST = """\
server: board
package: pypi:mcp-board
version: "1.0"
state: {kind: json_document, file: data/board.json}
command: ["{python}", -m, mcp_board, "{state}/data/board.json"]
"""
STATE = "state: {kind: json_document, file: data/board.json}"
ADD = {"description": "Add a card.", "inputSchema": {"type": "object"}}


@pytest.fixture
def tools():
    return {"add": ADD, "remove": ADD}


@pytest.fixture
def servers(tmp_path, monkeypatch, tools):
    def installed(folder, server, package, version, _source=None):
        assert (server, package, version) == ("board", "pypi:mcp-board", "1.0")
        (folder / "requirements.txt").write_text("mcp-board==1.0 --hash=sha256:00\n")
        (folder / "python" / "bin").mkdir(parents=True, exist_ok=True)
        (folder / "python" / "bin" / "python").touch()

    monkeypatch.setattr(install, "install", installed)
    monkeypatch.setattr(home_servers, "_first_start", lambda _box, _server: FirstStart(dict(tools)))
    return HomeServers(tmp_path / "home" / "servers")


@pytest.fixture(autouse=True)
def home(tmp_path):
    (tmp_path / "home").mkdir()


@pytest.fixture
def source(tmp_path):
    place = tmp_path / "source"
    place.mkdir()
    (place / "server.yaml").write_text(MANIFEST)
    return place


box = SimpleNamespace  # the servers ask for one, and nothing of it


def test_an_added_server_is_known_with_its_tools_predicates_and_digest(servers, source, tmp_path):
    server, _ = servers.add(source, box)
    assert server.command == ("/opt/added/board/python/bin/python", "-m", "mcp_board", "/data/board/data/board.json")
    assert list(server.seed({"document": {"cards": []}})) == ["data/board.json"]
    assert "board" in SERVERS
    assert "board.itemExists" in list(CATALOGUE)
    kept = {path.name for path in kept_files(tmp_path / "home" / "servers")}
    assert kept == {"server.yaml", "tools.json", "requirements.txt"}
    before = server_digest("board")
    (tmp_path / "home/servers/board/requirements.txt").write_text("mcp-board==1.0 --hash=sha256:01\n")
    assert server_digest("board") != before


def test_what_an_interrupted_removal_left_is_in_nobodys_way(servers, source, tmp_path):
    left = tmp_path / "home" / "servers" / "board" / "python" / "left"
    left.mkdir(parents=True)
    servers.add(source, box)
    assert servers.names() == ["board"]
    assert not left.exists()


def test_of_two_that_add_one_name_at_once_the_second_is_refused(servers, source, monkeypatch, tools):
    def listed(_box, _server):
        monkeypatch.setattr(home_servers, "_first_start", lambda _box, _server: FirstStart(dict(tools)))
        servers.add(source, box)
        return FirstStart(dict(tools))

    monkeypatch.setattr(home_servers, "_first_start", listed)
    with pytest.raises(Refused, match="a server 'board' already"):
        servers.add(source, box)
    assert servers.names() == ["board"]


def test_tools_that_are_nested_too_deeply_are_refused(servers, source):
    (source / "tools.json").write_text("[" * 100_000)
    with pytest.raises(Malformed, match=r"tools\.json is no JSON object"):
        servers.add(source, box)


def test_what_lies_beside_a_manifest_is_a_plain_file_within_a_cap(servers, source, tmp_path):
    private = tmp_path / "private"
    private.write_text("secret words\n")
    (source / "constraints.txt").symlink_to(private)
    with pytest.raises(Malformed, match=r"constraints\.txt cannot be read"):
        servers.add(source, box)
    (source / "constraints.txt").unlink()
    with (source / "constraints.txt").open("wb") as sparse:
        sparse.truncate(1 << 40)
    with pytest.raises(Malformed, match=r"constraints\.txt has more than"):
        servers.add(source, box)
    assert servers.names() == []


def test_a_taken_name_is_refused_before_anything_is_installed(servers, source):
    (source / "server.yaml").write_text(MANIFEST.replace("server: board", "server: redis"))
    with pytest.raises(Refused, match="a server 'redis' already"):
        servers.add(source, box)
    assert servers.names() == []


@pytest.mark.parametrize(
    "case",
    [
        ("package", Unavailable, "cannot be installed"),
        ("no tools", Malformed, "lists no tools"),
        ("long name", Malformed, "at most 64"),
        ("recorded", Malformed, "no longer has hide; newly has add, remove"),
        ("registry", Malformed, "npm: or pypi:"),
        ("predicates", NotFound, r"no .*predicates\.py"),
    ],
)
def test_what_goes_wrong_is_one_sentence_and_nothing_is_half_added(servers, source, tools, monkeypatch, case):
    fault, error, says = case

    def unreachable(*_):
        raise Unavailable("pypi:mcp-board 1.0 cannot be installed: no answer")

    match fault:
        case "package":
            monkeypatch.setattr(install, "install", unreachable)
        case "no tools":
            tools.clear()
        case "long name":
            tools["x" * 60] = ADD
        case "recorded":
            (source / "tools.json").write_text('{"hide": {"description": "", "inputSchema": {}}}')
        case "registry":
            (source / "server.yaml").write_text(MANIFEST.replace("pypi:", "ours:"))
        case "predicates":
            declared = "predicates: {isShort: {words: short, about: It is short., arguments: {}}}\n"
            (source / "server.yaml").write_text(MANIFEST + declared)
    with pytest.raises(error, match=says):
        servers.add(source, box)
    assert servers.names() == []
    assert "board" not in SERVERS
    assert not [path for path in source.with_name("home").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "case",
    [
        ("server: board", "server: answer", {}, Malformed, r"source/server\.yaml: the namespace 'answer'"),
        ("{python}", "{pyhton}", {}, NotFitting, r"source/server\.yaml at \$\.command\[0\] names {pyhton}"),
        ("kind: json_document, file", "kind: json_document, folder: repos, file", {}, Refused, "the server git has"),
        ("state:", "start_with: {board: 1}\nstate:", {}, NotFitting, r"\$\.start_with"),
        (STATE, "state: {kind: files}\nstart_with: {files: {a: x, a/b: y}}", {}, Malformed, r"start_with: .*is a file"),
        ("state:", "first_call: add\nstate:", {}, NotFitting, r"\$\.first_call"),
        ("pypi:", "ours:", {}, Malformed, r"source/server\.yaml at \$\.package: .*npm: or pypi:"),
        ("pypi:mcp-board", "pypi:mcp/board", {}, NotFitting, r"\$\.package"),
        ("server: board", "server: board", {"tools.json": "{"}, Malformed, r"tools\.json is no JSON object"),
        ("server: board", "server: board", {"tools.json": "[]"}, Malformed, r"tools\.json is no JSON object"),
        ("server: board", "server: board", {"predicates.py": "1"}, Malformed, "does not declare"),
        ('version: "1.0"', "version: 1.0", {}, NotFitting, "exact version, in quotes"),
    ],
)
def test_what_can_be_known_is_refused_before_anything_is_installed(servers, source, monkeypatch, case):
    before, after, files, error, says = case
    monkeypatch.setattr(install, "install", lambda *_: pytest.fail("it was installed"))
    (source / "server.yaml").write_text(MANIFEST.replace(before, after))
    for name, text in files.items():
        (source / name).write_text(text)
    with pytest.raises(error, match=says):
        servers.add(source, box)
    assert servers.names() == []
    servers.register()  # the home can still be opened


@pytest.mark.parametrize(
    ("source_text", "arguments", "says"),
    [
        ("def (", "{}", r"predicates\.py is no Python \(line 1\)"),
        ("def isLong(state): ...", "{}", "no function isShort"),
        *(
            ("def isShort(state, most): ...", arguments, says)
            for arguments, says in (
                ("{most: {type: intger}}", "isShort: its argument most"),
                ("{most: {items: [{$ref: 'http://127.0.0.1:1/'}]}}", r"may hold no \$ref"),
                ("{most: {pattern: '^(a+)+$'}}", "may hold no pattern"),
                ("{state: {}}", "called state"),
                ("{}, words: 'at most {most}'", "isShort: braces in its words"),
                ("{most: {}}, words: 'at most {most}', optional: [most]", "isShort: braces in its words"),
                ("{most: {}}, words: 'at most {most.__class__}'", "isShort: braces in its words"),
            )
        ),
    ],
)
def test_own_predicates_are_looked_at_before_anything_is_installed(servers, source, source_text, arguments, says):
    words = "" if "words" in arguments else "words: short, "
    declared = f"predicates: {{isShort: {{{words}about: It is short., arguments: {arguments}}}}}\n"
    (source / "server.yaml").write_text(MANIFEST + declared)
    (source / "predicates.py").write_text(source_text)
    with pytest.raises(Malformed, match=says):
        servers.add(source, box)
    assert servers.names() == []


def test_what_an_interrupted_add_left_is_no_server(servers, source, tmp_path):
    servers.add(source, box)
    left = tmp_path / "home" / "servers" / ".chart.0123456789abcdef"
    left.mkdir()
    (left / "server.yaml").write_text(MANIFEST.replace("board", "chart"))
    assert servers.names() == ["board"]
    servers.register()
    assert "chart" not in SERVERS


def test_a_later_difference_names_the_tool_until_it_is_recorded(servers, source, tools):
    servers.add(source, box)
    assert not servers.check("board", box)
    tools["add"] = {**ADD, "description": "Add cards."}
    del tools["remove"]
    assert str(servers.check("board", box)) == "no longer has remove; describes otherwise add"
    assert servers.record("board", box)
    assert not servers.check("board", box)


def test_programs_that_a_backup_does_not_hold_are_installed_again_by_record(servers, source, tmp_path):
    servers.add(source, box)
    (tmp_path / "home/servers/board/python/bin/python").unlink()
    with pytest.raises(NotFound, match="`quarterturn server record board` installs them"):
        servers.check("board", box)
    assert not servers.record("board", box)
    assert not servers.check("board", box)


def test_a_server_is_removed_after_its_tasks(servers, source):
    servers.add(source, box)
    opened = []

    def listed(task):
        opened.append(task.id)
        return ["board.add"] if task.id == "t-2" else ["git.git_log", "boards.add"]

    own = SimpleNamespace(id="t-1", server="board", state=TaskState.LIVE)
    distracted = SimpleNamespace(id="t-2", server="git", state=TaskState.REVIEWED)
    other = SimpleNamespace(id="t-3", server="git", state=TaskState.ADMITTED)
    for used, such_as in (([own, distracted], "t-1"), ([other, distracted], "t-2")):
        with pytest.raises(Refused, match=f"^1 tasks .* such as {such_as}"):
            servers.remove("board", used=used, listed=listed)
    assert opened == ["t-3", "t-2"]
    servers.remove(
        "board", used=[SimpleNamespace(id="t-1", server="board", state=TaskState.PUBLISHED), other], listed=listed
    )
    assert servers.names() == []
    with pytest.raises(NotFound, match="no server 'board'"):
        servers.remove("board", used=[], listed=listed)


def test_two_lists_of_tools_are_compared_by_name():
    assert not compared({"add": ADD}, {"add": ADD})
    assert str(compared({"add": ADD}, {"new": ADD})) == "no longer has add; newly has new"
