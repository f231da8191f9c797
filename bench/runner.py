"""What the runner promises, over HTTP, against `docker run` and the Docker SDK in the same run."""
from __future__ import annotations

import json
import random
import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Iterator, Mapping

import docker
import psutil

from bench.placement import spec as bench_spec
from bench.table import print_table, save
from runner.dispatcher import PAUSE
from runner.job_store import JobStore
from tests.functional.product import IMAGE, Product
from tests.functional.runner_process import RunnerProcess, spec

ROUNDS, JOBS, STOPS, ADOPTED = 15, 20, 5, 20
FINISHED, QUEUED = 10_000, 1_000
LINES = 500
PRINT_TIMES = ("python3 -c \"import time\nfor _ in range(500): "
               "print(time.time(), flush=True); time.sleep(0.01)\"")


def job_yaml(command: str = "echo hello", instances: int = 1) -> str:
    return json.dumps({
        "protocol_version": "v2", "name": "bench", "type": "job", "version": "1.0.0",
        "prerequisites": [{"name": "image", "type": "dockerimage", "version": "1.0.0",
                           "uri": IMAGE}],
        "tasks": [{"role": "main", "dockerimage": "image", "command": [command],
                   "resource": {"instances": instances, "resourcePerInstance": {
                       "cpu": 1, "memoryMB": 128, "gpu": 0}}}]})


def docker_run_s() -> float:
    """From starting the docker client to its first line."""
    begin = time.perf_counter()
    with subprocess.Popen(["docker", "run", "--rm", IMAGE, "echo", "hello"],
                          stdout=subprocess.PIPE) as client:
        client.stdout.readline()  # type: ignore[union-attr]
        taken = time.perf_counter() - begin
    return taken


def submit_s(product: Product, instances: int) -> float:
    """From sending the job to having the first line of any of its tasks in hand."""
    begin = time.perf_counter()
    job = product.post("/jobs", yaml=job_yaml(instances=instances))
    while not product.get(f"/jobs/{job['id']}/log/merged", wait_s=5)["lines"]:
        pass
    taken = time.perf_counter() - begin
    product.wait(job["id"])
    return taken


def sdk_start(host_network: bool) -> tuple[docker.APIClient, str, Iterator[bytes]]:
    """A container as the runner makes one, attached and started."""
    client = docker.APIClient()
    container = client.create_container(
        IMAGE, ["echo", "hello"], host_config=client.create_host_config(
            nano_cpus=10**9, mem_limit="128m", memswap_limit="128m", shm_size="64m", init=True,
            pids_limit=4096, network_mode="host" if host_network else "bridge"))
    stream = client.attach(container, stream=True)
    client.start(container)
    return client, container["Id"], stream


def sdk_first_byte_s(host_network: bool, count: int) -> float:
    """From creating so many containers at once to the first byte of any."""
    begin, taken = time.perf_counter(), []

    def run(_number: int) -> None:
        client, container, stream = sdk_start(host_network)
        next(stream)
        taken.append(time.perf_counter() - begin)
        client.wait(container)
        client.remove_container(container)
        client.close()
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(run, range(count)))
    return min(taken)


def sdk_job(_number: int) -> None:
    client, container, stream = sdk_start(False)
    assert b"".join(stream) == b"hello\n"
    client.wait(container)
    client.remove_container(container)
    client.close()


def sdk_makespan_s(at_once: int) -> float:
    begin = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(sdk_job, range(JOBS)))
    return time.perf_counter() - begin


def product_makespan_s(product: Product) -> float:
    begin = time.perf_counter()
    with ThreadPoolExecutor(JOBS) as pool:
        jobs = list(pool.map(lambda _: product.post("/jobs", yaml=job_yaml())["id"], range(JOBS)))
    ended = [product.wait(job) for job in jobs]
    taken = time.perf_counter() - begin
    assert all(job["state"] == "SUCCEEDED" for job in ended)
    return taken


def first_bytes(product: Product) -> dict[str, float]:
    """Medians, by turns: one task on a network of its own; two tasks on the machine's."""
    sdk_first_byte_s(False, 1), submit_s(product, 1)
    rounds = [(docker_run_s(), sdk_first_byte_s(False, 1), submit_s(product, 1),
               sdk_first_byte_s(True, 2), submit_s(product, 2)) for _ in range(ROUNDS)]
    names = ("docker_run_s", "sdk_bridge_s", "bridge_s", "sdk_host_s", "host_s")
    return {name: statistics.median(column) for name, column in zip(names, zip(*rounds))}


def line_delays_s(product: Product) -> list[float]:
    """From printing each of many lines to having it from the HTTP API."""
    job = product.post("/jobs", yaml=job_yaml(PRINT_TIMES))
    delays, offset, is_complete, begun = list[float](), 0, False, ""
    while not is_complete:
        page = product.get(f"/jobs/{job['id']}/log", wait_s=10, offset=offset)
        now_s = time.time()
        offset, is_complete = page["offset"], page["is_complete"]
        *lines, begun = (begun + "".join(each["text"] for each in page["records"])).split("\n")
        delays += [now_s - float(line) for line in lines]
    assert len(delays) == LINES
    return delays


def burst_s(product: Product) -> float:
    """From submitting a job that prints 20 MB to having all of it, byte for byte."""
    begin = time.perf_counter()
    job = product.post("/jobs", yaml=job_yaml("yes 0123456789abcde | head -c 20000000"))
    product.wait(job["id"])
    text = product.http.get(f"{product.url}/api/v3/jobs/{job['id']}/log/raw").content
    taken = time.perf_counter() - begin
    assert text == b"0123456789abcde\n" * 1_250_000
    return taken


def sdk_burst_s() -> float:
    client = docker.APIClient()
    container = client.create_container(
        IMAGE, ["sh", "-c", "yes 0123456789abcde | head -c 20000000"])
    begin, stream = time.perf_counter(), client.attach(container, stream=True)
    client.start(container)
    assert sum(map(len, stream)) == 20_000_000
    taken = time.perf_counter() - begin
    client.remove_container(container)
    client.close()
    return taken


def stop_s(product: Product) -> float:
    """From asking a well-behaved task to stop to its job being stopped."""
    job = product.post("/jobs", yaml=job_yaml("echo up; sleep 600"))
    while not product.get(f"/jobs/{job['id']}/log", wait_s=5)["records"]:
        pass
    begin = time.perf_counter()
    product.post(f"/jobs/{job['id']}/stop")
    product.wait(job["id"], "STOPPED")
    return time.perf_counter() - begin


def adoption(folder: Path) -> tuple[float, float]:
    """Seconds from the start of a killed runner until it follows 20 containers again; its MB."""
    runner = RunnerProcess(folder / "runner", RUNNER_CPUS=str(ADOPTED))
    runner.start()
    try:
        jobs = [runner.submit(spec("while true; do date; sleep 0.1; done")) for _ in range(ADOPTED)]
        paths = [f"/jobs/{job}/attempts/1/tasks/main/0/log" for job in jobs]
        for job, path in zip(jobs, paths):
            runner.wait(job, "RUNNING")
            while not runner.get(path, wait_s=5)["records"]:
                pass
        runner.kill()
        ends = [(runner.home / "jobs" / job / "1" / "main-0" / "log").stat().st_size
                for job in jobs]
        begin = time.perf_counter()
        runner.start()
        for path, end in zip(paths, ends):
            while not runner.get(path, wait_s=5, offset=end)["records"]:
                pass
        taken = time.perf_counter() - begin
        memory_mb = psutil.Process(runner.process.pid).memory_info().rss / 2**20  # type: ignore
        runner.stop_all()
    finally:
        runner.close()
    return taken, memory_mb


def fill(home: Path) -> None:
    """Give a runner that is not running 10,000 finished jobs and 1,000 that wait."""
    store, dice = JobStore(home / "runner.db"), random.Random(1)
    store._db.execute("pragma synchronous = off")
    store.change_setting(PAUSE, "The queue is paused for a benchmark.")
    for number in range(FINISHED + QUEUED):
        job, _ = store.enqueue(replace(bench_spec(dice), user="admin"))
        if number < FINISHED:
            store.transition(job.id, "STOPPED", "end", "The job was stopped.")
        else:
            store.note(job.id, "queue", "Waits for free resources.")
    store.close()


def crowded(product: Product) -> dict[str, float]:
    """A page of the list among 11,000 jobs, and the runner's memory after it."""
    fill(product.home / "runner")
    product.start()
    taken = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        assert product.http.get(f"{product.url}/api/v3/jobs?limit=25").json()["next"]
        taken.append(time.perf_counter() - begin)
    runner = product.processes("-m runner")[0]
    return {"list_s": statistics.median(taken),
            "crowded_mb": runner.memory_info().rss / 2**20}


def idle(product: Product) -> dict[str, float]:
    """Resident MB of web worker, runner and sync, and percent of a core of all, over 20 s."""
    groups = {"web worker": max(product.processes("gunicorn"), key=lambda p: p.memory_info().rss),
              "runner": product.processes("-m runner")[0]}
    everybody = psutil.Process(product.process.pid).children(recursive=True)  # type: ignore

    def cpu_s() -> float:
        return sum(sum(item.cpu_times()[:2]) for item in everybody)
    before = cpu_s()
    time.sleep(20)
    return {**{name: item.memory_info().rss / 2**20 for name, item in groups.items()},
            "cpu percent": (cpu_s() - before) / 20 * 100}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        product = Product(Path(folder) / "home", RUNNER_CPUS=str(JOBS))
        product.start()
        try:
            found = first_bytes(product)
            spans = [(sdk_makespan_s(JOBS), product_makespan_s(product)) for _ in range(3)]
            found["sdk_jobs_s"], found["jobs_s"] = map(statistics.median, zip(*spans))
            delays = sorted(line_delays_s(product))
            found["line_s"], found["line_99_s"] = delays[LINES // 2], delays[LINES * 99 // 100]
            found["sdk_burst_s"], found["burst_s"] = sdk_burst_s(), burst_s(product)
            found["stop_s"] = statistics.median(stop_s(product) for _ in range(STOPS))
            found |= idle(product)
            product.stop()
            found |= crowded(product)
        finally:
            product.close()
        found["adoption_s"], found["adoption_mb"] = adoption(Path(folder))
    print_table("Runner", ("what", "PAIShare", "reference", "ratio", "target"), rows_of(found))
    save("runner", found)


def rows_of(found: Mapping[str, float]) -> list[tuple[str, ...]]:
    def paired(what: str, name: str, against: str, reference: str, target: str) -> tuple[str, ...]:
        return (what, f"{found[name] * 1e3:.0f}", f"{against} {found[reference] * 1e3:.0f}",
                f"{found[name] / found[reference]:.2f}", target)

    def alone(what: str, name: str, target: str, factor: float = 1e3) -> tuple[str, ...]:
        return what, f"{found[name] * factor:.0f}", "", "", target
    return [
        paired("first line, network of its own, ms", "bridge_s", "Docker SDK", "sdk_bridge_s",
               "≤ reference + 60"),
        paired("first line of two tasks, ms", "host_s", "Docker SDK", "sdk_host_s",
               "≤ reference + 60"),
        paired("first line, ms", "bridge_s", "docker run", "docker_run_s", "ratio ≤ 1.5"),
        paired(f"{JOBS} jobs at once, ms", "jobs_s", "Docker SDK", "sdk_jobs_s", "ratio ≤ 1.25"),
        alone("line to HTTP client, median, ms", "line_s", ""),
        alone("line to HTTP client, 99%, ms", "line_99_s", "≤ 250"),
        paired("20 MB of short lines, complete, ms", "burst_s", "Docker SDK", "sdk_burst_s", ""),
        alone("stop of a well-behaved task, ms", "stop_s", "< 300"),
        alone(f"{ADOPTED} containers followed again after kill -9, ms", "adoption_s", "≤ 2000"),
        alone(f"list page among {FINISHED + QUEUED} jobs, ms", "list_s", "< 50"),
        alone("runner with these jobs, MB", "crowded_mb", "< 150", 1),
        alone(f"runner that follows {ADOPTED} containers, MB", "adoption_mb", "< 150", 1),
        alone("runner idle, MB", "runner", "< 100", 1),
        alone("web worker idle, MB", "web worker", "< 150", 1),
        alone("all processes idle, % of a core", "cpu percent", "< 1", 1)]


if __name__ == "__main__":
    main()
