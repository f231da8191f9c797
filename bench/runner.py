"""Submitting over HTTP against `docker run` and against the bare Docker SDK, in one run."""
from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import docker
import psutil

from bench.table import print_table, save
from tests.functional.product import IMAGE, Product

ROUNDS, JOBS = 15, 20
YAML = f"""protocol_version: v2
name: bench
type: job
version: 1.0.0
prerequisites:
  - {{name: image, type: dockerimage, version: 1.0.0, uri: '{IMAGE}'}}
tasks:
  - role: main
    dockerimage: image
    resource: {{instances: 1, resourcePerInstance: {{cpu: 1, memoryMB: 128, gpu: 0}}}}
    command: [echo hello]
"""


def docker_run_s() -> float:
    """From starting the docker client to its first line."""
    begin = time.perf_counter()
    with subprocess.Popen(["docker", "run", "--rm", IMAGE, "echo", "hello"],
                          stdout=subprocess.PIPE) as client:
        client.stdout.readline()  # type: ignore[union-attr]
        taken = time.perf_counter() - begin
    return taken


def submit_s(product: Product) -> float:
    """From sending the job to having its first log line in hand."""
    begin = time.perf_counter()
    job = product.post("/jobs", yaml=YAML)
    while not product.get(f"/jobs/{job['id']}/log", wait_s=5)["records"]:
        pass
    taken = time.perf_counter() - begin
    product.wait(job["id"])
    return taken


def sdk_job(_number: int) -> None:
    client = docker.APIClient()
    container = client.create_container(
        IMAGE, ["echo", "hello"],
        host_config=client.create_host_config(nano_cpus=10**9, mem_limit="128m"))
    stream = client.attach(container, stream=True)
    client.start(container)
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
        jobs = list(pool.map(lambda _: product.post("/jobs", yaml=YAML)["id"], range(JOBS)))
    ended = [product.wait(job) for job in jobs]
    taken = time.perf_counter() - begin
    assert all(job["state"] == "SUCCEEDED" for job in ended)
    return taken


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
        product = Product(Path(folder) / "home")
        product.start()
        try:
            docker_run_s(), submit_s(product)
            pairs = [(docker_run_s(), submit_s(product)) for _ in range(ROUNDS)]
            at_once = product.get("/machine")["cpus"]
            spans = [(sdk_makespan_s(at_once), product_makespan_s(product)) for _ in range(3)]
            quiet = idle(product)
        finally:
            product.close()
    run, sent = (statistics.median(column) for column in zip(*pairs))
    sdk, ours = (statistics.median(column) for column in zip(*spans))
    rows = [("first log line, ms", f"{sent * 1e3:.0f}", f"docker run {run * 1e3:.0f}",
             f"{sent / run:.2f}", "≤ 1.5"),
            (f"{JOBS} jobs at once, s", f"{ours:.2f}", f"Docker SDK, {at_once} at once {sdk:.2f}",
             f"{ours / sdk:.2f}", "≤ 1.5"),
            ("web worker idle, MB", f"{quiet['web worker']:.0f}", "", "", "< 150"),
            ("runner idle, MB", f"{quiet['runner']:.0f}", "", "", "< 100"),
            ("all processes idle, % of a core", f"{quiet['cpu percent']:.2f}", "", "", "< 1")]
    print_table("Runner", ("what", "PAIShare", "reference", "ratio", "target"), rows)
    save("runner", {"first_line_s": sent, "docker_run_s": run, "makespan_s": ours,
                    "sdk_makespan_s": sdk, **quiet})


if __name__ == "__main__":
    main()
