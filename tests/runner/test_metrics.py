import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner import metrics
from runner.devices import GpuUsage
from runner.metrics import EVERY_S, MAX_SAMPLES, TaskMetrics
from runner.usage import Usage


def usage(memory=0):
    return Usage(cpu_s=1.5, memory=memory, read=1, written=2, received=3, sent=4)


def test_a_sample_is_read_back_as_it_was_taken(tmp_path):
    gpu = GpuUsage(uuid="GPU-1", percent=80, memory=1000)
    TaskMetrics(tmp_path / "metrics").add(100.0, usage(7), (gpu,))
    assert metrics.read(tmp_path / "metrics") == [{
        "time": 100.0, "cpu_s": 1.5, "memory": 7, "read": 1, "written": 2, "received": 3,
        "sent": 4, "peak_memory": 7, "gpus": [{"uuid": "GPU-1", "percent": 80, "memory": 1000}]}]


def test_a_long_run_keeps_few_samples_over_its_whole_length(tmp_path):
    path = tmp_path / "metrics"
    kept = TaskMetrics(path)
    for number in range(5000):
        kept.add(number * EVERY_S, usage(number), ())
    samples = metrics.read(path)
    assert MAX_SAMPLES // 4 < len(samples) < MAX_SAMPLES
    assert (samples[0]["time"], samples[-1]["time"] > 0.99 * 5000 * EVERY_S) == (0, True)
    gaps = {round(after["time"] - before["time"])
            for before, after in zip(samples, samples[1:])}
    assert len(gaps) == 1


def test_a_kill_between_two_samples_loses_nothing_of_the_peak(tmp_path):
    path = tmp_path / "metrics"
    TaskMetrics(path).add(0.0, usage(900), ())
    with open(path, "a") as file:
        file.write('{"time": 2.0, "mem')
    TaskMetrics(path).add(4.0, usage(100), ())
    assert [(each["time"], each["peak_memory"]) for each in metrics.read(path)] == [
        (0.0, 900), (4.0, 900)]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=50))
def test_the_peak_is_the_most_that_was_ever_seen(tmp_path_factory, memories):
    path = tmp_path_factory.mktemp("task") / "metrics"
    kept = TaskMetrics(path)
    for number, memory in enumerate(memories):
        kept.add(number * EVERY_S, usage(memory), ())
    assert metrics.last(path)["peak_memory"] == max(memories)


def test_no_samples_are_no_error(tmp_path):
    assert metrics.read(tmp_path / "none") == [] and metrics.last(tmp_path / "none") is None


def test_every_kept_line_is_a_sample_of_its_own(tmp_path):
    path = tmp_path / "metrics"
    kept = TaskMetrics(path)
    for number in range(MAX_SAMPLES + 1):
        kept.add(number * EVERY_S, usage(), ())
    assert all("time" in json.loads(line) for line in path.read_text().splitlines())


def test_a_clock_that_is_set_back_hides_nothing_of_a_run(tmp_path):
    kept = TaskMetrics(tmp_path / "metrics")
    for at in (90_000.0, 90_002.0, 1000.0, 1002.0):
        kept.add(at, usage(), ())
    assert len(metrics.read(tmp_path / "metrics")) == 4


@pytest.mark.parametrize("time, is_telling", [(99.9, False), (100.5, False), (102.0, True)])
def test_a_look_at_the_begin_of_a_task_tells_nothing_of_it(time, is_telling):
    assert metrics.is_telling({"time": time}, "1970-01-01T00:01:40Z") is is_telling
    assert not metrics.is_telling({"time": time}, None)
