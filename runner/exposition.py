"""What the machine, the queue and the tasks do, as Prometheus reads it. Wraps prometheus_client."""
from __future__ import annotations

from typing import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE
from prometheus_client.registry import Collector

from runner import metrics
from runner.worker import Worker

TASK_LABELS = ("job", "attempt", "task", "user")

__all__ = ["CONTENT_TYPE", "exposition"]


def exposition(worker: Worker) -> bytes:
    """All of it, as of this moment."""
    registry = CollectorRegistry()
    registry.register(_Collector(worker))
    return generate_latest(registry)


class _Collector(Collector):
    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def describe(self) -> Iterable[Metric]:
        """Nothing: what there is, `collect` tells."""
        return ()

    def collect(self) -> Iterator[Metric]:
        yield self._jobs()
        yield from self._machine()
        yield from self._tasks()

    def _jobs(self) -> Metric:
        found = GaugeMetricFamily("paishare_jobs", "Jobs by state, all that are known.",
                                  labels=("state",))
        for state, count in self._worker.store.count_by_state().items():
            found.add_metric((state,), count)
        return found

    def _machine(self) -> Iterator[Metric]:
        seen = self._worker.queue.look()
        whole, free = seen.whole, seen.free
        facts: Mapping[str, tuple[str, float, float]] = {
            "cpus": ("CPU cores that may be promised to tasks.", whole.cpus, free.cpus),
            "memory_bytes": ("Memory that may be promised to tasks.",
                             whole.memory_mb << 20, free.memory_mb << 20),
            "gpus": ("GPUs that may be promised to tasks.", len(whole.gpus), len(free.gpus))}
        for name, (text, total, left) in facts.items():
            found = GaugeMetricFamily(f"paishare_{name}", text, labels=("is",))
            found.add_metric(("total",), total)
            found.add_metric(("free",), left)
            yield found

    def _tasks(self) -> Iterator[Metric]:
        cpu = CounterMetricFamily("paishare_task_cpu_seconds", "CPU time of a running task.",
                                  labels=TASK_LABELS)
        memory = GaugeMetricFamily("paishare_task_memory_bytes", "Memory of a running task.",
                                   labels=TASK_LABELS)
        percent = GaugeMetricFamily("paishare_task_gpu_percent", "How busy a task's GPU is.",
                                    labels=(*TASK_LABELS, "gpu"))
        gpu_memory = GaugeMetricFamily("paishare_task_gpu_memory_bytes",
                                       "Memory in use on a task's GPU.",
                                       labels=(*TASK_LABELS, "gpu"))
        for labels, sample in self._samples():
            cpu.add_metric(labels, sample["cpu_s"])
            memory.add_metric(labels, sample["memory"])
            for gpu in sample["gpus"]:
                percent.add_metric((*labels, gpu["uuid"]), gpu["percent"])
                gpu_memory.add_metric((*labels, gpu["uuid"]), gpu["memory"])
        yield from (cpu, memory, percent, gpu_memory)

    def _samples(self) -> Iterator[tuple[tuple[str, ...], dict]]:
        """The newest sample of each task that runs."""
        store, folders = self._worker.store, self._worker.folders
        for attempt in store.running_attempts():
            user = store.get(attempt["job_id"]).user
            for task in store.tasks(attempt["job_id"], attempt["number"]):
                where = (attempt["job_id"], attempt["number"], task["role"], task["idx"])
                sample = None if task["finished_at"] else metrics.last(folders.metrics(*where))
                if sample:
                    yield (where[0], str(where[1]), f"{task['role']}-{task['idx']}", user), sample
