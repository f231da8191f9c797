"""What an attempt makes of what an engine tells it; the engine here tells what a test wants."""
from types import SimpleNamespace

import pytest

from runner.artifacts import JobFolders
from runner.attempt import Attempt, Workshop
from runner.config import Settings
from runner.devices import Machine
from runner.engine import CREATED, RUNNING, STOPPED_OUTSIDE, Exit
from runner.errors import EngineError
from runner.job_store import JobStore
from runner.kept import Kept
from runner.outcome import STOPPED_BY_REQUEST
from runner.receipt import read
from runner.room import whole_of
from runner.scheduler import place
from runner.spec import Image, JobSpec, TaskRoleSpec

MACHINE = Machine(cpus=8, memory_mb=8000, gpus=(), gpu_reason=None, host_ip="10.0.0.1")
A, B = ("a", 0), ("b", 0)


class ToldEngine:
    """Fulfils as much of `engine.Engine` as an attempt asks for; keeps what was asked."""

    def __init__(self):
        self.ends, self.ends_when_stopped, self.found = {}, {}, {}
        self.refusal, self.asked = None, []

    def start(self, gang, slots, listener):
        self.asked.append(("start", *slots))
        self._follow([slot for slot in slots if slot not in (self.refusal or {})], listener)
        for slot in self.refusal or {}:
            self.found[slot] = CREATED
            raise self.refusal[slot]

    def adopt(self, gang, slots, listener):
        if slots:
            self.asked.append(("adopt", *slots))
        self._follow(slots, listener)

    def _follow(self, slots, listener):
        self.listener = listener
        for slot in slots:
            self.found[slot] = RUNNING
            listener.started(slot, "container")
        for slot in slots:
            for how in self.ends.get(slot, ()):
                listener.ended(slot, how) if isinstance(how, Exit) else listener.failed(slot, how)

    def stop(self, gang, grace_s):
        self.asked.append(("stop", grace_s))
        for slot, how in self.ends_when_stopped.items():
            if self.found.get(slot) == RUNNING:
                self.listener.ended(slot, how)

    def look(self, gang):
        return self.found

    def clear(self, gang):
        self.asked.append(("clear",))

    def capacity(self):
        return (MACHINE,)

    def versions(self):
        return {"docker": "1"}


@pytest.fixture
def engine():
    return ToldEngine()


@pytest.fixture
def shop(tmp_path, engine):
    settings, store = Settings(home=tmp_path, socket=tmp_path / "s"), JobStore(tmp_path / "db")
    yield Workshop(settings=settings, store=store, engine=engine, on_log=lambda job_id: None,
                   folders=JobFolders(tmp_path / "jobs"), kept=Kept(settings, store, engine),
                   storage=SimpleNamespace(has_copies=lambda _job: False))
    store.close()


@pytest.fixture
def attempt(shop):
    roles = tuple(TaskRoleSpec(name=name, image=Image(uri="x"), commands=("true",),
                               min_failed_task_count=1) for name in "ab")
    job, _ = shop.store.enqueue(JobSpec(name="j", user="ann", task_roles=roles))
    placement = place(job.spec, ip="10.0.0.1", free=whole_of([MACHINE], {}),
                      ports=range(20000, 20010), is_port_free=lambda _: True)
    shop.store.claim(job.id, placement.as_json())
    return Attempt(shop, shop.store.get(job.id), 1, placement)


def again(attempt):
    """The same attempt for a new process."""
    return Attempt(attempt.shop, attempt.shop.store.get(attempt.job.id), 1, attempt.placement)


def tasks_of(attempt):
    return [(row["state"], row["exit_code"], row["exit_text"])
            for row in attempt.shop.store.tasks(attempt.job.id, 1)]


def test_of_two_that_ended_by_themselves_none_is_called_stopped(attempt, engine):
    engine.ends = {A: [Exit(code=3)], B: [Exit(code=0)]}
    decision = attempt.run()
    assert decision.reason == "Task a 0 failed: exit code 3."
    assert tasks_of(attempt) == [("FAILED", 3, "exit code 3"), ("SUCCEEDED", 0, "exit code 0")]


def test_what_runs_when_the_end_is_decided_is_stopped_with_the_grace_that_is_set(attempt, engine):
    engine.ends, engine.ends_when_stopped = {A: [Exit(code=3)]}, {B: Exit(code=143)}
    assert attempt.run().state == "FAILED"
    assert [row[0] for row in tasks_of(attempt)] == ["FAILED", "STOPPED"]
    assert engine.asked == [("start", A, B), ("stop", 10.0), ("clear",)]


def test_an_end_that_is_told_again_changes_nothing(attempt, engine):
    engine.ends = {A: [Exit(code=0), Exit(code=9)], B: [Exit(code=0)]}
    assert attempt.run().state == "SUCCEEDED"
    assert [row[:2] for row in tasks_of(attempt)] == [("SUCCEEDED", 0)] * 2
    assert read(attempt.shop.folders, attempt.job.id, 1)["tasks"][0]["exit_code"] == 0


def test_an_end_from_outside_and_a_container_that_is_gone_are_the_platforms_fault(attempt, engine):
    engine.ends = {A: [Exit(code=137, interruption=STOPPED_OUTSIDE)]}
    engine.ends_when_stopped = {B: Exit(code=None)}
    assert attempt.run().cause == "platform"
    assert tasks_of(attempt) == [
        ("FAILED", None, "somebody stopped the container from outside (exit code 137)"),
        ("FAILED", None, "the container was removed from outside")]


def test_a_start_that_fails_ends_what_runs_and_says_why(attempt, engine):
    engine.refusal = {B: EngineError("Docker says: no such user", is_platform=False)}
    engine.ends_when_stopped = {A: Exit(code=143)}
    decision = attempt.run()
    assert (decision.cause, decision.reason) == (
        "image", "The job could not be started: Docker says: no such user.")
    assert [(row[0], row[2]) for row in tasks_of(attempt)] == [
        ("STOPPED", "exit code 143: killed (SIGTERM)"), ("STOPPED", "never started")]
    assert ("clear",) in engine.asked


def test_a_stop_before_the_start_starts_nothing(attempt, engine):
    attempt.shop.store.request_stop(attempt.job.id)
    assert attempt.run() == STOPPED_BY_REQUEST
    assert [row[2] for row in tasks_of(attempt)] == ["never started"] * 2
    assert ("start", A, B) not in engine.asked


def test_after_a_fault_what_was_started_is_adopted_and_never_started_again(attempt, engine):
    engine.ends = {A: [Exit(code=0)], B: [OSError("the disk is full")]}
    with pytest.raises(OSError, match="the disk is full"):
        attempt.run()
    engine.ends[B] = [Exit(code=0)]
    assert again(attempt).run().state == "SUCCEEDED"
    assert [each for each in engine.asked if each[0] != "stop"] == [
        ("start", A, B), ("adopt", B), ("start",), ("clear",)]


def test_where_docker_is_away_after_a_kill_nothing_is_decided(attempt, engine):
    engine.ends = {A: [OSError("killed")]}
    with pytest.raises(OSError):
        attempt.run()

    def away(*_args):
        raise EngineError("Docker does not answer.")
    engine.adopt = away
    with pytest.raises(EngineError):
        again(attempt).run()
    assert attempt.shop.store.attempt(attempt.job.id, 1)["decision"] is None


def test_a_decision_from_before_a_kill_is_carried_out(attempt, engine):
    engine.found = {A: RUNNING}
    engine.ends_when_stopped = {A: Exit(code=0)}
    attempt.shop.store.decide(attempt.job.id, 1, STOPPED_BY_REQUEST.as_json())
    assert again(attempt).run() == STOPPED_BY_REQUEST
    assert [(row[0], row[2]) for row in tasks_of(attempt)] == [
        ("STOPPED", "exit code 0"), ("STOPPED", "never started")]
    assert engine.asked[0] == ("adopt", A)
