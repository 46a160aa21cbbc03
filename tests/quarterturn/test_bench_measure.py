"""Tests of the benchmarks' measuring function, on a simulated clock, and in one small real run."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="module")
def measure():
    spec = importlib.util.spec_from_file_location("bench_measure", BENCH / "measure.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


class Work:
    """Work that only moves a simulated clock."""

    now = 0.0

    def __init__(self, *seconds: float) -> None:
        self.seconds, self.times = seconds, 0

    def __call__(self) -> None:
        Work.now += self.seconds[min(self.times, len(self.seconds) - 1)]
        self.times += 1


def clock() -> float:
    return Work.now


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCH / "main.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_both_sides_take_turns_and_the_first_round_does_not_count(measure):
    turns = []

    def side(name, seconds):
        def work():
            turns.append(name)
            return seconds.pop(0)

        return work

    seen = measure.interleave(side("ours", [99.0, 2.0, 6.0]), side("floor", [1.0, 1.0, 2.0]), 2)
    assert turns == ["ours", "floor"] * 3
    assert seen.ratios == (2.0, 3.0)


def test_the_median_is_of_the_ratios_and_not_of_the_times(measure):
    seen = measure.Comparison(ours=(2.0, 20.0, 9.0), floor=(1.0, 5.0, 1.0))
    assert (seen.low, seen.median, seen.high, seen.rounds) == (2.0, 4.0, 9.0, 3)
    assert seen.rate == pytest.approx(1 / 9)


def test_something_three_times_as_slow_is_found_to_be(measure):
    assert measure.compare(Work(0.003), Work(0.001), 5, clock).median == pytest.approx(3.0)


def test_quick_work_is_repeated_until_the_clock_can_see_it(measure):
    assert measure.repetitions(Work(measure.SLICE / 10), clock) == 16
    assert measure.repetitions(Work(2 * measure.SLICE), clock) == 1


def test_a_side_gives_the_seconds_of_one_unit(measure):
    side = measure.timed(Work(measure.SLICE / 2), units=5, clock=clock)
    assert side() == pytest.approx(measure.SLICE / 10)


@pytest.mark.parametrize(("ours", "floor"), [((), ()), ((1.0,), (1.0, 2.0))])
def test_rounds_that_are_no_pairs_are_no_comparison(measure, ours, floor):
    with pytest.raises(ValueError, match="pairs"):
        measure.Comparison(ours, floor)


def test_a_bench_that_there_is_none_of_is_refused_in_one_sentence():
    done = bench("sealings")
    assert done.returncode == 2
    assert done.stderr.startswith("bench: there is no bench 'sealings'; there are control, sealing, ")
    assert done.stdout == ""


@pytest.mark.full
@pytest.mark.slow
def test_a_small_run_prints_one_object_of_ratios():
    done = bench("--json", "--rounds", "1", "control", "sealing", "predicates")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["ok"]
    assert set(report["data"]["benches"]) == {"control", "sealing", "predicates"}
    for seen in report["data"]["benches"].values():
        for line in seen["lines"]:
            assert 0 < line["ratio"]["min"] <= line["ratio"]["median"] <= line["ratio"]["max"]
            assert line["rounds"] == 1


@pytest.mark.full
@pytest.mark.slow
def test_a_missing_program_is_reported_in_one_sentence_with_its_code(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    done = bench("--json", "--rounds", "1", "docker")
    assert done.returncode == 6
    assert json.loads(done.stdout)["ok"] is False
    assert "no Docker engine answers" in done.stderr.splitlines()[-1]
