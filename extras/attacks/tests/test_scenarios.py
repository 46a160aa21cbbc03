"""Tests of the attack scenarios: hostile agents in whole runs; the controls hold, and a hole would be detected."""

import json
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from quarterturn_attacks import compromised_world, scenarios
from quarterturn_attacks.agents import tampering
from quarterturn_attacks.controls import vulnerable_baseline
from quarterturn_attacks.harness import scenario_runner
from quarterturn_attacks.harness.scenario_runner import HOSTILE, LOOK, TERMS, WALL, ScenarioRun, attempted, batches
from quarterturn_attacks.harness.scenario_task import scenario_task
from quarterturn_attacks.suite import attempts
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.boxes.docker.box import AGENT_IMAGE, DockerBox
from sandbox.errors import Lost
from sandbox.results.outcome import TaskRun
from sandbox.runs import submission
from sandbox.runs.run import run_task
from sandbox.transcript import CallRecord, Transcript
from verifiers.language.verdict import Evidence, Verdict

ROOT = Path(__file__).parents[3]
PROGRAMS = runpy.run_path(str(HOSTILE / "agent.py"), run_name="agent")["ATTEMPTS"]
WORLD = runpy.run_path(str(HOSTILE / "compromised_server.py"), run_name="world")["ATTEMPTS"]
BOXES = [pytest.param(BwrapBox, marks=pytest.mark.box), pytest.param(DockerBox, marks=pytest.mark.engine)]
OF_THE_BOX = ("thousand-connections", "stay-in-folders", "stay-as-daemon", "stay-in-world", "whisper-labels")
"""The scenarios that the box itself stops, one of each kind; the others are stopped by code that all boxes share."""
ONE_BATCH_A_GROUP = [
    name for name, drill in scenarios.SCENARIOS.items() if drill.batch in {"json", "stay", "tables", "whispers"}
]
OTHERS = [name for name in scenarios.ATTEMPTS if name not in ONE_BATCH_A_GROUP]


# ---- the real thing ----


@pytest.mark.slow
@pytest.mark.parametrize(
    ("box", "names"),
    [
        pytest.param(BwrapBox, ONE_BATCH_A_GROUP, marks=pytest.mark.box),
        pytest.param(BwrapBox, OTHERS, marks=[pytest.mark.box, pytest.mark.full, pytest.mark.needs("databases")]),
        pytest.param(DockerBox, OF_THE_BOX, marks=pytest.mark.engine),
        pytest.param(DockerBox, list(scenarios.ATTEMPTS), marks=[pytest.mark.engine, pytest.mark.exhaustive]),
    ],
    ids=["bwrap-one-of-each-group", "bwrap-others", "docker-sample", "docker"],
)
def test_no_agent_gets_through_the_gateway_stays_or_touches_its_score(box, names):
    made = list(scenarios.run(box(), names))
    assert [f"{one.name}: {one.detail}" for one in made if one.outcome == "escaped"] == []
    assert [one.name for one in made] == [
        drill.spec.name for batch in batches(scenarios.SCENARIOS, names) for drill in batch
    ]
    lies = [one for one in made if one.name.startswith("postgres-")]
    assert [one.name for one in lies if "false" in one.detail] == [], "each lie was told"
    assert [one.outcome for one in made if one.name == "whisper-score"] in ([], ["bounded"])


@pytest.mark.slow
@pytest.mark.parametrize("box", BOXES)
def test_a_world_that_was_taken_over_is_read_right_or_refused(box):
    made = {one.name: one for one in compromised_world.run(box(), list(compromised_world.ATTEMPTS))}
    assert made.keys() == compromised_world.ATTEMPTS.keys()
    assert [f"{one.name}: {one.detail}" for one in made.values() if one.outcome == "escaped"] == []
    assert made["frozen-sparse-file"].outcome == "bounded"
    assert made["frozen-links"].outcome == "blocked"


@pytest.mark.slow
@pytest.mark.box
@pytest.mark.needs("root")
def test_the_same_programs_succeed_against_the_vulnerable_baseline():
    names = [*vulnerable_baseline.JUDGES, *vulnerable_baseline.PLACES]
    assert scenarios.controls(BwrapBox(), names) == dict.fromkeys(names, True)
    assert compromised_world.controls(BwrapBox(), list(compromised_world.ATTEMPTS)) == dict.fromkeys(
        compromised_world.NAIVE_READERS, True
    )


@pytest.mark.slow
@pytest.mark.engine
def test_an_image_leaves_nothing_in_its_layers_or_volumes(tmp_path):
    box = DockerBox()
    tags = [f"quarterturn-test-hostile-{name}" for name in ("first", "second")]
    for tag, programs in zip(tags, ("stay-in-folders", LOOK), strict=True):
        build = ["docker", "build", "-q", "--network=none", "-t", tag]
        build += [f"--build-arg=BASE={AGENT_IMAGE}", f"--build-arg=ATTEMPTS={programs}"]
        file = ROOT / "examples" / "agents" / "hostile" / "Dockerfile"
        subprocess.run([*build, "-f", str(file), str(HOSTILE)], capture_output=True, check=True)
    try:
        said = [said_by(box, tag) for tag in tags]
    finally:
        subprocess.run(["docker", "image", "rm", "-f", *tags], capture_output=True, check=False)
    assert set(said[0]["stay-in-folders"]["written"]) >= {"/keep", "/srv/keep", "/tmp"}
    assert "/layer" not in said[0]["stay-in-folders"]["written"]
    assert said[1][LOOK] == {"places": [], "in_the_world": []}


def said_by(box, image):
    hostile = submission.image(f"{image}:latest", submitter="mallory", resolve=box.digest)
    run = run_task(scenario_task(), hostile, box, alias="r-1", terms=TERMS)
    lines = [json.loads(line) for line in run.output.splitlines() if line.startswith('{"attempt"')]
    return {line["attempt"]: line["met"] for line in lines}


# ---- the table ----


def test_every_program_is_a_scenario_and_every_scenario_a_program():
    assert PROGRAMS.keys() - {LOOK} == scenarios.ATTEMPTS.keys()
    assert WORLD.keys() == compromised_world.ATTEMPTS.keys()
    groups = {spec.group for spec in scenarios.ATTEMPTS.values()}
    assert groups == {"gateway", "persistence", "score", "covert"}
    assert {scenarios.ATTEMPTS[name].group for name in ONE_BATCH_A_GROUP} == groups


def test_the_suite_has_them_all_with_their_controls():
    suite = attempts()
    assert suite.keys() >= scenarios.ATTEMPTS.keys() | compromised_world.ATTEMPTS.keys()
    assert all(spec.control for spec in suite.values())
    assert not any(spec.short for spec in scenarios.ATTEMPTS.values()), "the short form takes a few seconds"


def test_programs_are_played_together_where_the_table_says_so():
    together = batches(scenarios.SCENARIOS, ["json-nan", "json-deep", "escapes"])
    assert [[drill.spec.name for drill in batch] for batch in together] == [["json-deep", "json-nan"], ["escapes"]]


def test_a_program_says_which_there_are_and_leaves_nothing_where_there_is_a_way_out(tmp_path):
    program = [sys.executable, "-B", str(HOSTILE / "agent.py")]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (done.returncode, "json-nan" in done.stderr) == (2, True)
    interfaces = Path("/proc/net/dev").read_text().count(":")
    if interfaces > 1:
        done = subprocess.run([*program, "stay-in-folders"], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (3, "")


@pytest.mark.parametrize("name", ["sqlite-virtual-table", "sqlite-computed-column"])
def test_a_row_is_written_only_where_the_table_before_it_was_replaced(name, monkeypatch):
    """Into a table that is still there it would be the solution, and the verdict true."""
    sent = []
    monkeypatch.setattr(tampering, "query", lambda sql: sent.append(sql) or sql.startswith("DROP"))
    tampering.ATTEMPTS[name]()
    assert [sql.split()[0] for sql in sent] == ["DROP", "CREATE"]


def test_it_runs_from_a_copy_of_its_folder_as_a_submission_does():
    made = submission.command(f"python3 {HOSTILE / 'agent.py'} json-nan", submitter="mallory")
    done = subprocess.run([sys.executable, *made.program.command[1:-1]], capture_output=True, check=False)
    assert b"json-nan" in done.stderr


# ---- a judge that sees nothing proves nothing ----

NAN = scenarios.SCENARIOS["json-nan"]
STAY = scenarios.SCENARIOS["stay-in-folders"]


def call(**changes):
    values = {"tool": "filesystem.write_file", "arguments": {}, "listed": True, "error": False, "injected": False}
    return CallRecord(**{**values, "result": "", "seconds": 0.0, **changes})


def played(name="json-nan", *, calls=(), answer=None, met=None, seconds=1.0, memory=0, **changes):
    evidence = Evidence("any", Verdict.FALSE)
    values = {"task_id": "t", "category": "composition", "max_steps": 40, "verdict": Verdict.FALSE}
    run = TaskRun(**values, evidence=evidence, transcript=Transcript(tuple(calls), answer, "agent-exited"))
    said = {f"begun {name}": {}, name: {"statuses": [400, 400]} if met is None else met}
    return ScenarioRun(replace(run, **changes), said, seconds, memory)


def test_a_scenario_in_which_nothing_happened_is_blocked():
    made = attempted(NAN, played(), None)
    assert (made.outcome, made.control) == ("blocked", NAN.spec.control)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (played(verdict=Verdict.TRUE), "the verdict is true"),
        (played(verdict=Verdict.UNKNOWN), "the verdict is unknown"),
        (played(failure="ours", code="gateway-lost"), "the machinery broke (gateway-lost)"),
        (played(seconds=WALL + 1000), "the run took"),
        (played(memory=700 << 20), "the gateway held 700 MiB"),
        (replace(played(), logged=["a call of \x1b[2J"]), "moves a cursor"),
        (played(calls=[call()] * 42), "42 calls were counted"),
        (played(calls=[call(arguments={"x": "x" * 300_000})]), "beyond the cap"),
        (played(calls=[call(tool="\x1b[2J", listed=False)]), "moves a cursor"),
        (played(output="\u202e"), "moves a cursor"),
        (played(evidence=Evidence("any", Verdict.FALSE, found="\x07")), "moves a cursor"),
        (played(answer="10"), "1 of the requests were carried out"),
        (played(met={"statuses": [400, 200]}), "a request was answered with 200"),
    ],
)
def test_anything_that_should_not_happen_is_an_escape(bad, sentence):
    made = attempted(NAN, bad, None)
    assert made.outcome == "escaped"
    assert sentence in made.detail


def test_anything_that_the_next_run_finds_is_an_escape():
    first = played("stay-in-folders", met={"written": ["/tmp"]})
    clean = played(LOOK, met={"places": [], "in_the_world": []})
    full = played(LOOK, met={"places": ["/tmp/word"], "in_the_world": []})
    assert attempted(STAY, first, clean).outcome == "blocked"
    assert attempted(STAY, first, full).detail == "the next run found /tmp/word"


@pytest.mark.parametrize(
    "silent", [ScenarioRun(played().run, {}, 1.0, 0), ScenarioRun(played().run, {"begun json-nan": {}}, 1.0, 0)]
)
def test_a_program_that_did_not_come_to_its_end_proves_nothing(silent):
    with pytest.raises(Lost, match="json-nan"):
        attempted(NAN, silent, None)


SILENT = ScenarioRun(played(code="agent-timeout").run, {}, 1.0, 0)


def test_an_inspection_that_did_not_finish_proves_nothing():
    with pytest.raises(Lost, match=r"leftovers of stay-in-folders .*agent-timeout"):
        attempted(STAY, played("stay-in-folders", met={"written": []}), SILENT)


@pytest.fixture
def plays(monkeypatch):
    """Return prepared runs in turn for each list of programs, instead of playing them."""

    def put(**runs):
        waiting, asked = {name: list(those) for name, those in runs.items()}, []

        def play(_box, names, *_):
            asked.append(list(names))
            return waiting[names[0].replace("-", "_")].pop(0)

        monkeypatch.setattr(scenario_runner, "play", play)
        return asked

    return put


def test_a_scenario_that_did_not_finish_is_played_once_more_by_itself(plays):
    first = played("json-deep")
    asked = plays(json_deep=[first], json_nan=[played()])
    made = list(scenarios.run(None, ["json-deep", "json-nan"]))
    assert [(one.name, one.outcome) for one in made] == [("json-deep", "blocked"), ("json-nan", "blocked")]
    assert asked == [["json-deep", "json-nan"], ["json-nan"]]


def test_a_scenario_that_twice_did_not_finish_is_named_after_the_others_were_made(plays):
    plays(json_nan=[SILENT, SILENT], escapes=[played("escapes")])
    made = scenarios.run(None, ["json-nan", "escapes"])
    assert next(made).name == "escapes"
    with pytest.raises(
        Lost, match=r"the attack scenario json-nan did not run to its end \(agent-timeout\): played twice"
    ):
        next(made)


def test_an_inspection_that_did_not_finish_is_made_once_more(plays):
    clean = played(LOOK, met={"places": [], "in_the_world": []})
    stay = played("stay-in-folders", met={"written": []})
    plays(stay_in_folders=[stay, stay], look_for_leftovers=[SILENT, clean])
    assert [one.outcome for one in scenarios.run(None, ["stay-in-folders"])] == ["blocked"]


def test_a_run_that_could_not_be_played_is_played_once_more(monkeypatch):
    runs = [Lost("no world"), played()]

    def play(*_):
        if isinstance(run := runs.pop(0), Lost):
            raise run
        return run

    monkeypatch.setattr(scenario_runner, "play", play)
    assert [one.outcome for one in scenarios.run(None, ["json-nan"])] == ["blocked"]


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("smuggle-pipelined", played("smuggle-pipelined", calls=[call()] * 3, met={"successes": 2})),
        ("slow-heads", played("slow-heads", met={"served": False})),
        ("slow-heads", played("slow-heads", met={"served": True, "left": 40})),
        ("endless-body", played("endless-body", met={"sent": 60 << 20, "served": True})),
        ("huge-arguments", played("huge-arguments", calls=[call(error=True)], met={})),
        ("huge-arguments", played("huge-arguments", met={})),
        ("unlisted-flood", played("unlisted-flood", calls=[call()], met={})),
        ("other-alias", played("other-alias", met={"aliases": ["r-1", "r-2"], "statuses": [404]})),
        ("replayed-request", played("replayed-request", calls=[call()], met={"statuses": [200, 200]})),
        ("forged-solution", played("forged-solution", met={"calls": [True], "statuses": [404]})),
        ("answer-twice", played("answer-twice", answer="10", met={})),
        ("call-in-flight", played("call-in-flight", calls=[call()], met={})),
        ("act-after-the-end", played("act-after-the-end", calls=[call()], met={})),
        ("git-config", played("git-config", met={"ran": True})),
        ("whisper-output", played("whisper-output", code="heliotrope", met={})),
        ("whisper-tool-names", played("whisper-tool-names", met={})),
        ("whisper-labels", played("whisper-labels", met={"engines": ["/run/docker.sock"]})),
        ("whisper-score", played("whisper-score", met={"bit": 1})),
        ("whisper-score", played("whisper-score", verdict=Verdict.TRUE, met={"bit": 0})),
        ("postgres-view", played("postgres-view", verdict=Verdict.TRUE, met={})),
    ],
)
def test_each_scenario_detects_its_own_hole(name, bad):
    after = played(LOOK, met={"places": [], "in_the_world": []}) if scenarios.SCENARIOS[name].after else None
    assert attempted(scenarios.SCENARIOS[name], bad, after).outcome == "escaped"
