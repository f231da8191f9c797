"""The queue: how full the GPUs are against packing that knows the future, and what a pass costs."""
from __future__ import annotations

import argparse
import heapq
import random
import statistics
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bench.table import print_table, save
from runner.app import create_app
from runner.devices import Gpu, Machine
from runner.dispatcher import Dispatcher
from runner.job_store import Job, JobStore
from runner.lineup import START, Held, Round, Waiting, in_order
from runner.local_engine import LocalEngine
from runner.ports import Ports
from runner.quotas import RulesFile
from runner.room import Needs, Room
from runner.scheduler import Placement
from runner.spec import Image, JobSpec, Resources, TaskRoleSpec

GPUS = tuple(Gpu(index=i, uuid=f"GPU-{i}", model="NVIDIA H200", memory_mb=141_000)
             for i in range(8))
WHOLE = Room(cpus=64, memory_mb=640_000, gpus=frozenset(GPUS))
MACHINE = Machine(cpus=64, memory_mb=640_000, gpus=GPUS, gpu_reason=None, host_ip="127.0.0.1")
JOBS, LOAD = 100, 1.1
QUEUED, FINISHED, ROUNDS = 1000, 10_000, 20


def stream(seed: int) -> list[Waiting]:
    """Jobs of 1 to 8 GPUs that come a little faster than the machine can run them.

    All of one user: where turns change between users, so does who is first.
    """
    dice, jobs, now_s = random.Random(seed), [], 0.0
    for number in range(JOBS):
        gpus, lasts_s = dice.choice([1, 1, 1, 2, 2, 4, 8]), dice.lognormvariate(3, 1)
        jobs.append(Waiting(
            id=str(number), seq=number, user="ann", arrived_s=now_s, limit_s=lasts_s,
            share=gpus / 8, needs=Needs(cpus=gpus, memory_mb=gpus, gpus=gpus)))
        now_s += dice.expovariate(8 * LOAD / (gpus * lasts_s))
    return jobs


def ours(jobs: list[Waiting]) -> tuple[float, int]:
    """When the last job has ended, and how many started later than was reserved for them."""
    free, held, now_s = WHOLE, list[Held](), 0.0
    coming, left, reserved = list(jobs), list[Waiting](), dict[str, float]()
    delayed, end_s = 0, 0.0
    while coming or left:
        while coming and coming[0].arrived_s <= now_s:
            left.append(coming.pop(0))
        this = Round(free, held, now_s)
        for job in in_order(left, {}, now_s):
            if this.verdict(job) == START:
                this.start(job, this.gpus_for(job) or frozenset())
                left.remove(job)
                delayed += now_s > reserved.get(job.id, now_s) + 1e-6
                end_s = max(end_s, now_s + (job.limit_s or 0))
                continue
            this.hold(job)
        at_s = this.reserved_s()
        if this.first and at_s is not None:
            reserved[this.first.id] = min(at_s, reserved.get(this.first.id, at_s))
        free, held = this.free, this.running
        now_s = min([each.ends_s or 0 for each in held] + [job.arrived_s for job in coming[:1]])
        for each in [each for each in held if (each.ends_s or 0) <= now_s]:
            held.remove(each)
            free = free.plus(each.needs, each.gpus)
    return end_s, delayed


def first_fit_decreasing(jobs: list[Waiting]) -> float:
    """The same by one who knows how large each job is and lets the largest that fits go first."""
    left = sorted(jobs, key=lambda job: (-job.needs.gpus, -(job.limit_s or 0)))
    free, ends, now_s, end_s = len(GPUS), list[tuple[float, int]](), 0.0, 0.0
    while left:
        for job in [job for job in left if job.arrived_s <= now_s]:
            if job.needs.gpus <= free:
                left.remove(job)
                free -= job.needs.gpus
                heapq.heappush(ends, (now_s + (job.limit_s or 0), job.needs.gpus))
                end_s = max(end_s, now_s + (job.limit_s or 0))
        now_s = min([at_s for at_s, _ in ends[:1]]
                    + [job.arrived_s for job in left if job.arrived_s > now_s], default=now_s)
        while ends and ends[0][0] <= now_s:
            free += heapq.heappop(ends)[1]
    return end_s


def spec(dice: random.Random) -> JobSpec:
    role = TaskRoleSpec(
        name="main", image=Image(uri="x"), commands=("python train.py",) * 10,
        resources=Resources(cpu=dice.choice([1, 2, 4]), memory_mb=1000,
                            gpu=dice.choice([0, 1, 2, 4, 8])))
    return JobSpec(name=f"job{dice.randrange(50)}", user=dice.choice("abcd"), task_roles=(role,),
                   time_limit_s=dice.choice([None, 3600, 7200]), yaml="#" * 3000)


def passes(folder: Path) -> dict[str, float]:
    """Seconds of the processor: a pass over the waiting jobs, a page of the list, one job."""
    store, dice, running = JobStore(folder / "runner.db"), random.Random(1), list[Any]()
    store._db.execute("pragma synchronous = off")
    for _ in range(FINISHED):
        job, _ = store.enqueue(spec(dice))
        store.transition(job.id, "STOPPED", "end", "The job was stopped.")
    for _ in range(QUEUED):
        job, _ = store.enqueue(spec(dice))
        store.note(job.id, "queue", "Waits for free resources.")
    engine = LocalEngine(SimpleNamespace(  # type: ignore[arg-type]
        ports=Ports(20000, 29999), describe=lambda promised: MACHINE,
        shortage=lambda: None, preparation=SimpleNamespace(
            images=SimpleNamespace(of=lambda job: []))))
    queue = Dispatcher(store, engine, RulesFile(folder / "clusters.json"),
                       attempts=lambda: running)

    def start(job: Job, number: int, placement: Placement) -> None:
        running.append(SimpleNamespace(job=store.get(job.id), number=number, placement=placement))
    app = create_app(SimpleNamespace(  # type: ignore[arg-type]
        store=store, queue=queue, engine=engine, progress={}), None).test_client()
    queue.run(store.waiting(), start)
    last = store.waiting()[-1].id
    taken = {
        "pass_s": median_s(lambda: queue.run(store.waiting(), start)),
        "list_s": median_s(lambda: read(app, "/jobs?limit=50")),
        "job_s": median_s(lambda: read(app, f"/jobs/{last}"))}
    store.close()
    return taken


def read(app: Any, path: str) -> None:
    answer = app.get(path)
    assert answer.status_code == 200, answer.json


def median_s(what: Any) -> float:
    taken = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        what()
        taken.append(time.process_time() - begin)
    return statistics.median(taken)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--streams", type=int, default=1000)
    streams = [stream(seed) for seed in range(parser.parse_args().streams)]
    ended = [ours(jobs) for jobs in streams]
    ratios = [first_fit_decreasing(jobs) / end_s for jobs, (end_s, _) in zip(streams, ended)]
    with tempfile.TemporaryDirectory() as folder:
        taken = passes(Path(folder))
    delayed, ratio = sum(count for _, count in ended), statistics.mean(ratios)
    rows = [
        ("GPU utilisation, of first-fit decreasing", f"{ratio:.3f}", "≥ 0.95"),
        ("the same, worst stream of twenty", f"{sorted(ratios)[len(ratios) // 20]:.3f}", ""),
        ("jobs that started later than was reserved", str(delayed), "0"),
        ("pass over the waiting jobs, ms", f"{taken['pass_s'] * 1e3:.0f}", "< 50"),
        ("page of the list of jobs, ms", f"{taken['list_s'] * 1e3:.0f}", "< 50"),
        ("last job of the queue, ms", f"{taken['job_s'] * 1e3:.0f}", "")]
    print_table(f"Queue: {len(streams)} streams of {JOBS} jobs on 8 GPUs, {QUEUED} jobs queued",
                ("what", "PAIShare", "target"), rows)
    save("placement", {"utilisation": ratio, "delayed": delayed, **taken})


if __name__ == "__main__":
    main()
