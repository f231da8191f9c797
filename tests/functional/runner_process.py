"""A real runner in a process of its own, and what a test asks of it."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

import docker
import requests_unixsocket

ROOT = Path(__file__).parents[2]
IMAGE = "localhost/paishare/busybox:test"


class RunnerProcess:
    def __init__(self, home: Path, **environ: str) -> None:
        self.home, self.environ = home, environ
        self.words = ["-m", "runner"]
        self.http = requests_unixsocket.Session()
        self.docker = docker.from_env()
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        log = open(self.home.parent / "runner.log", "ab")
        self.process = subprocess.Popen(
            [sys.executable, *self.words], cwd=ROOT, stdout=log, stderr=log,
            env={**os.environ, "RUNNER_HOME": str(self.home), "RUNNER_GRACE_S": "2",
                 "RUNNER_MIN_FREE_MB": "1", **self.environ})
        log.close()
        wait_for(self.is_up, "the runner answers")

    def is_up(self) -> bool:
        try:
            return self.get("/health") == {"status": "ok"}
        except OSError:
            return False

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(20)
        for container in self.containers():
            container.remove(force=True)
        self.http.close()
        self.docker.close()

    def url(self, path: str) -> str:
        return f"http+unix://{quote(str(self.home / 'runner.sock'), safe='')}{path}"

    def get(self, path: str, **params):
        return self.http.get(self.url(path), params=params, timeout=60).json()

    def post(self, path: str, json=None, **headers):
        return self.http.post(self.url(path), json=json, headers=headers, timeout=60).json()

    def put(self, path: str, json, status: int = 200):
        answer = self.http.put(self.url(path), json=json, timeout=60)
        assert answer.status_code == status, answer.text
        return answer.json()

    def submit(self, spec, key: str | None = None) -> str:
        headers = {"Idempotency-Key": key} if key else {}
        return self.post("/jobs", {"spec": spec}, **headers)["id"]

    def job(self, job_id: str):
        return self.get(f"/jobs/{job_id}")

    def wait(self, job_id: str, *wanted: str, timeout_s: float = 60):
        final = wanted or ("SUCCEEDED", "FAILED", "STOPPED")
        wait_for(lambda: self.job(job_id)["state"] in final, f"job {job_id} is {final}", timeout_s)
        return self.job(job_id)

    def run(self, spec, timeout_s: float = 60):
        return self.wait(self.submit(spec), timeout_s=timeout_s)

    def stop_all(self) -> None:
        for job in self.get("/jobs", state="WAITING,RUNNING")["jobs"]:
            self.post(f"/jobs/{job['id']}/stop")
            self.wait(job["id"])

    def log(self, job_id: str, role: str = "main", index: int = 0, attempt: int = 1,
            stream: str = "") -> str:
        path = f"/jobs/{job_id}/attempts/{attempt}/tasks/{role}/{index}/log/raw"
        return self.http.get(self.url(path), params={"stream": stream}, timeout=60).text

    def containers(self):
        identity = self.home / "id"
        if not identity.exists():
            return []
        return self.docker.containers.list(
            all=True, ignore_removed=True,
            filters={"label": f"paishare.runner={identity.read_text()}"})


def wait_for(is_true, what: str, timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_true():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s} s: {what}")
        time.sleep(0.02)


def spec(*commands: str, role: str = "main", **changes):
    """A job of one role; `changes` go to the role, or to the job for its own fields."""
    job = {key: changes.pop(key) for key in ("retry_count", "user", "name") if key in changes}
    return {"name": "test", "user": "ann", **job,
            "task_roles": [task_role(role, *commands, **changes)]}


def task_role(name: str, *commands: str, **changes):
    return {"name": name, "image": {"uri": IMAGE}, "commands": list(commands), **changes}
