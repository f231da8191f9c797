"""The queue on a real store: who starts, who waits for what, and when."""
import json
import os
import socket
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from runner.devices import Gpu, Machine
from runner.dispatcher import Dispatcher, Standing
from runner.engine import Gang
from runner.job_store import JobStore
from runner.local_engine import LocalEngine
from runner.ports import Ports
from runner.quotas import RulesFile
from runner.spec import Image, JobSpec, PortRequest, Resources, TaskRoleSpec

GPUS = tuple(Gpu(index=i, uuid=f"GPU-{i}", model="H200", memory_mb=1) for i in range(2))
MACHINE = Machine(cpus=4, memory_mb=4000, gpus=GPUS, gpu_reason=None, host_ip="10.0.0.1")


class Queue:
    """A dispatcher with its store, and the attempts that it started, by name of the job."""

    def __init__(self, folder):
        self.folder, self.running, self.now_s, self.foreign = folder, {}, None, frozenset()
        self.shortage = None
        self.store = JobStore(folder / "runner.db")
        self.dispatcher = self.made()

    def made(self):
        engine = LocalEngine(SimpleNamespace(
            ports=Ports(20000, 29999), describe=self.describe, shortage=lambda: self.shortage))
        for each in self.running.values():
            engine.hold(Gang(key=(each.job.id, each.number), spec=each.job.spec,
                             placement=each.placement))
        return Dispatcher(self.store, engine, RulesFile(self.folder / "clusters.json"),
                          attempts=lambda: list(self.running.values()))

    def describe(self, promised):
        return replace(MACHINE, foreign=frozenset(
            gpu for gpu in self.foreign if gpu.uuid not in promised))

    def submit(self, name, cpus=1, gpus=0, user="ann", ports=(), **more):
        role = TaskRoleSpec(name="main", image=Image(uri="x"), commands=("true",), ports=tuple(
            PortRequest(label="p", begin_at=port) for port in ports),
            resources=Resources(cpu=cpus, gpu=gpus))
        spec = JobSpec(name=name, user=user, task_roles=(role,), **more)
        job, _ = self.store.enqueue(spec)
        self.store.note(job.id, "queue", "Waits for free resources.")
        return job.id

    def run(self):
        started = []
        self.dispatcher.run(
            [job for job in self.store.waiting() if job.stage == "queue"],
            lambda job, number, placement: started.append((job, number, placement)))
        for job, number, placement in started:
            self.running[job.name] = SimpleNamespace(job=job, number=number, placement=placement)
        return [job.name for job, _, _ in started]

    def end(self, name, state="SUCCEEDED"):
        self.store.transition(self.running[name].job.id, state, "end", "")
        del self.running[name]

    def rules(self, **value):
        path = self.folder / "clusters.json"
        path.write_text(json.dumps(value))
        os.utime(path, ns=(len(json.dumps(value)), 1))


@pytest.fixture
def queue(tmp_path):
    made = Queue(tmp_path)
    yield made
    made.store.close()


def test_jobs_start_while_there_is_room_and_the_others_say_what_they_wait_for(queue):
    ids = [queue.submit(f"j{number}", cpus=2) for number in range(4)]
    assert queue.run() == ["j0", "j1"]
    assert [queue.dispatcher.standing(id_) for id_ in ids] == [
        None, None, Standing(position=1, reason="Waits for 2 CPUs: 0 of 4 are free."),
        Standing(position=2, reason="Waits for its turn: 1 job is ahead.")]
    assert queue.store.get(ids[2]).reason == "Waits for 2 CPUs: 0 of 4 are free."
    queue.end("j0")
    assert queue.run() == ["j2"]


def test_a_claim_keeps_the_share_and_the_time_limit_of_the_job(queue):
    id_ = queue.submit("j", cpus=1, gpus=1, time_limit_s=90)
    queue.run()
    row = queue.store.attempt(id_, 1)
    assert (row["share"], row["limit_s"]) == (0.5, 90)


def test_a_job_with_a_time_limit_fills_the_gap_and_others_are_told_of_it(queue):
    queue.submit("long", cpus=3, time_limit_s=3600)
    first = queue.submit("first", cpus=4, user="bob")
    endless = queue.submit("endless", cpus=1)
    queue.submit("short", cpus=1, time_limit_s=600)
    assert queue.run() == ["long", "short"]
    assert queue.dispatcher.standing(first).position == 1
    # "short" took the core; once it has ended, "endless" could have it for what is left
    queue.end("short")
    assert queue.run() == []
    assert queue.dispatcher.standing(endless).reason == (
        "Waits for its turn: 1 job is ahead. With a time limit of at most 59 minutes "
        "(timeLimitMinutes) it could run before them.")


def test_after_a_restart_the_same_jobs_hold_the_same(queue):
    queue.submit("a", cpus=3, gpus=1)
    queue.run()
    again = queue.made().look().free
    assert (again.cpus, again.gpus) == (1, frozenset({GPUS[1]}))


def test_who_had_much_lately_comes_later_also_after_a_restart(queue):
    for number in range(3):
        id_ = queue.submit(f"old{number}", cpus=4)
        queue.run()
        queue.store._db.execute("update attempts set started_at = '2026-01-01T00:00:00Z'"
                                " where job_id = ?", (id_,))
        queue.end(f"old{number}")
    queue.submit("anns", cpus=4)
    queue.submit("bobs", cpus=4, user="bob")
    queue.dispatcher = queue.made()
    assert queue.run() == ["bobs"]


def test_a_job_that_ended_before_the_next_look_counts_in_what_its_user_had(queue):
    queue.submit("old", cpus=4), queue.run()
    queue.end("old")
    queue.dispatcher._clock = lambda: time.time() + 3600
    queue.submit("anns", cpus=4)
    queue.submit("bobs", cpus=4, user="bob")
    assert queue.run() == ["bobs"]


def test_a_virtual_cluster_is_a_bound_for_its_jobs_alone(queue):
    queue.rules(clusters={"vision": {"cpus": 2}})
    queue.submit("a", cpus=2, virtual_cluster="vision")
    waits = queue.submit("b", cpus=1, virtual_cluster="vision")
    queue.submit("c", cpus=2)
    assert queue.run() == ["a", "c"]
    assert queue.dispatcher.standing(waits).reason == (
        "Waits for 1 CPU: 0 of 4 are free. Waits for 1 CPU: 0 of 2 are free for virtual cluster "
        "vision.")


def test_a_limit_of_a_user_holds_up_nobody_else(queue):
    queue.rules(perUser={"jobs": 1})
    queue.submit("a"), queue.submit("b"), queue.submit("c", user="bob")
    assert queue.run() == ["a", "c"]


def test_a_cluster_that_the_operator_took_away_lets_its_jobs_wait(queue):
    queue.rules(clusters={"vision": {}})
    id_ = queue.submit("a", virtual_cluster="vision")
    queue.rules()
    assert queue.run() == []
    assert "There is no virtual cluster 'vision'" in queue.dispatcher.standing(id_).reason


def test_a_paused_queue_starts_nothing_until_it_goes_on_also_after_a_restart(queue):
    queue.dispatcher.pause("The queue is paused.")
    id_ = queue.submit("a")
    queue.dispatcher = queue.made()
    assert queue.run() == []
    assert queue.dispatcher.standing(id_).reason == "The queue is paused."
    assert queue.dispatcher.explain(queue.store.get(id_).spec).fit == "later"
    queue.dispatcher.pause(None)
    assert queue.run() == ["a"]


def test_jobs_wait_while_a_disk_is_too_full_and_say_so(queue):
    queue.shortage = "The disk of Docker is too full for jobs."
    id_ = queue.submit("a")
    assert queue.run() == []
    assert queue.dispatcher.standing(id_).reason == "The disk of Docker is too full for jobs."
    queue.shortage = None
    assert queue.run() == ["a"]


def test_gpus_that_other_programs_use_are_not_given_away(queue):
    queue.foreign = frozenset(GPUS[:1])
    id_ = queue.submit("both", gpus=2)
    queue.submit("one", gpus=1)
    assert queue.run() == ["one"]
    assert queue.running["one"].placement.tasks[0].gpus == ("GPU-1",)
    queue.run()
    assert queue.dispatcher.standing(id_).reason == (
        "Waits for 2 GPUs: 0 of 2 are free. 1 of the GPUs is used by programs that are no jobs of "
        "this runner.")


def test_a_gpu_that_a_job_uses_is_not_foreign(queue):
    queue.submit("both", gpus=2)
    queue.run()
    queue.foreign = frozenset(GPUS)
    id_ = queue.submit("one", gpus=1)
    queue.run()
    assert queue.dispatcher.standing(id_).reason == "Waits for 1 GPU: 0 of 2 are free."


def test_explain_tells_now_later_and_never_of_a_job_that_is_not_here_yet(queue):
    queue.submit("a", cpus=3), queue.submit("b", cpus=2)
    queue.run()

    def fit(**more):
        role = TaskRoleSpec(name="main", image=Image(uri="x"), commands=("true",))
        found = queue.dispatcher.explain(JobSpec(name="n", user="ann", task_roles=(role,), **more))
        return found.fit, found.reason
    assert fit() == ("later", "Waits for its turn: 1 job is ahead.")
    assert fit(virtual_cluster="x") == (
        "never", "There is no virtual cluster 'x' on this machine; there are: default. Name one of "
        "them as virtualCluster.")
    queue.end("a"), queue.run()
    assert fit() == ("now", "Can start now.")


def test_an_expected_start_comes_from_time_limits(queue):
    queue.submit("a", cpus=4, time_limit_s=600)
    b, c, d = (queue.submit(name, cpus=4, time_limit_s=limit_s)
               for name, limit_s in (("b", 60), ("c", None), ("d", 60)))
    queue.run()
    begin = queue.store.attempt(queue.running["a"].job.id, 1)["started_at"]
    expected = [queue.dispatcher.expected_start(id_) for id_ in (b, c, d)]
    assert expected[2] is None and begin < expected[0] < expected[1]


def test_the_expected_start_of_a_job_that_is_not_here_yet_is_behind_those_that_wait(queue):
    queue.submit("a", cpus=4, time_limit_s=600)
    b = queue.submit("b", cpus=4, time_limit_s=60)
    queue.run()
    spec = queue.store.get(b).spec
    after = queue.dispatcher.expected_start_of(replace(spec, name="c", user="zoe"))
    assert after > queue.dispatcher.expected_start(b)
    assert queue.dispatcher.explain(spec).fit == "later" and len(queue.store.waiting()) == 1
    queue.dispatcher.pause("No.")
    assert queue.dispatcher.expected_start_of(spec) is None


def test_an_expected_start_comes_from_how_long_such_jobs_took(queue):
    queue.submit("train", cpus=4), queue.run()
    queue.store._db.execute("update attempts set started_at = '2026-01-01T00:00:00.000Z'")
    queue.end("train")
    queue.store._db.execute("update attempts set finished_at = '2026-01-01T01:00:00.000Z'")
    queue.submit("train", cpus=4), queue.run()
    id_ = queue.submit("next", cpus=4)
    queue.run()
    assert queue.dispatcher.expected_start(id_) is not None


def test_nobody_knows_the_start_behind_a_job_without_end(queue):
    queue.submit("a", cpus=4), queue.run()
    id_ = queue.submit("b", cpus=4)
    queue.run()
    assert queue.dispatcher.expected_start(id_) is None


def test_a_job_that_was_stopped_between_look_and_claim_does_not_start(queue):
    id_ = queue.submit("a", ports=[0])
    waiting = queue.store.waiting()
    queue.store.request_stop(id_)
    queue.dispatcher.run(waiting, lambda *_: pytest.fail("it started"))
    assert queue.store.attempts(id_) == []
    assert queue.dispatcher.look().free.cpus == 4


def test_a_claim_that_fails_gives_its_ports_back(queue, monkeypatch):
    with socket.socket() as probe:
        probe.bind(("", 0))
        port = probe.getsockname()[1]
    queue.submit("a", ports=[port])

    def claim(*_args, **_more):
        raise OSError("the disk is full")
    with monkeypatch.context() as patch, pytest.raises(OSError):
        patch.setattr(queue.store, "claim", claim)
        queue.run()
    assert queue.run() == ["a"]


def test_a_thousand_waiting_jobs_are_found_again_in_their_order(queue):
    queue.store._db.execute("pragma synchronous = off")
    queue.submit("a", cpus=4), queue.run()
    ids = [queue.submit("b", cpus=4) for _ in range(1000)]
    queue.dispatcher = queue.made()
    assert queue.run() == []
    assert [queue.dispatcher.standing(ids[n]).position for n in (0, 500, 999)] == [1, 501, 1000]
