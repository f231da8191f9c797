"""The worker's loop where something breaks in its middle."""
from types import SimpleNamespace

import pytest

from runner.config import Settings
from runner.devices import Machine
from runner.errors import EngineError
from runner.housekeeping import Housekeeper
from runner.job_store import JobStore
from runner.local_engine import LocalEngine
from runner.node_agent import NodeAgent
from runner.spec import Image, JobSpec, TaskRoleSpec
from runner.worker import PREPARE_OF_USER, Worker


def away(*_args, **_more):
    raise EngineError("Docker does not answer.")


@pytest.fixture
def worker(tmp_path):
    """A worker without its loop, on an engine that is away."""
    settings = Settings.from_environ({"RUNNER_HOME": str(tmp_path)})
    driver = SimpleNamespace(**dict.fromkeys(
        ("find", "create", "own", "image", "info", "pid"), away))
    machine = Machine(cpus=4, memory_mb=1000, gpus=(), gpu_reason=None, host_ip="127.0.0.1")
    store, stager = JobStore(tmp_path / "runner.db"), SimpleNamespace()
    agent = NodeAgent(settings, driver, stager, machine,
                      Housekeeper(settings, store, driver, stager))
    made = Worker(settings, store, LocalEngine(agent), stager)
    yield made
    made.close()


def test_what_no_live_attempt_owns_is_removed_and_what_is_kept_stays(worker, monkeypatch):
    role = TaskRoleSpec(name="main", image=Image(uri="x"), commands=("true",))
    job, _ = worker.store.enqueue(JobSpec(name="j", user="ann", task_roles=(role,)))
    worker.store.claim(job.id, {"tasks": []})
    fenced = []
    monkeypatch.setattr(worker.engine, "found",
                        lambda: {("gone", 1), ("kept", 2), (job.id, 1), (job.id, 0)})
    monkeypatch.setattr(worker.engine, "fence", fenced.append)
    monkeypatch.setattr(worker.kept, "keys", lambda: {("kept", 2)})
    worker._sweep()
    assert sorted(fenced) == sorted([("gone", 1), (job.id, 0)])


def test_a_job_that_was_claimed_and_not_started_is_followed_after_the_next_look(
        worker, monkeypatch):
    role = TaskRoleSpec(name="main", image=Image(uri="x"), commands=("true",))
    job, _ = worker.store.enqueue(JobSpec(name="j", user="ann", task_roles=(role,)))
    worker.store.note(job.id, "queue", "Waits for free resources.")
    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        def broken(*_args):
            raise MemoryError
        patch.setattr(worker, "_claimed", broken)
        worker._pass()
    assert worker.store.get(job.id).state == "RUNNING" and not worker._attempts()
    worker._is_in_doubt = True
    worker._pass()
    assert [attempt.job.id for attempt in worker._attempts()] == [job.id]
    assert worker.queue.look().free.cpus == 3


def test_jobs_are_prepared_in_the_order_of_the_queue_and_no_user_takes_all_places(
        worker, monkeypatch):
    begun = []
    monkeypatch.setattr(worker._preparers, "submit", lambda _, job: begun.append(job))
    role = TaskRoleSpec(name="main", image=Image(uri="x"), commands=("true",))
    for number in range(20):
        worker.store.enqueue(JobSpec(name=f"a{number}", user="ann", task_roles=(role,),
                                     priority=-(number % 3)))
    worker.store.enqueue(JobSpec(name="b", user="bob", task_roles=(role,), priority=-10))
    worker._pass()
    assert [job.spec.priority for job in begun[:-1]] == [0] * 7 + [-1]
    assert begun[-1].name == "b" and len(begun) == PREPARE_OF_USER + 1
    worker._pass()
    assert len(begun) == PREPARE_OF_USER + 1
