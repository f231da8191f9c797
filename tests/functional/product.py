"""The whole product as a user has it: `paishare serve` on a home of its own, and its API."""
from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import docker
import psutil
import requests

from tests.functional.runner_process import ROOT, wait_for

IMAGE = "localhost/paishare/digits:1.0.0"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Product:
    def __init__(self, home: Path, **environ: str) -> None:
        self.home, self.port = home, free_port()
        self.environ = {**os.environ, "PAISHARE_HOME": str(home), "PORT": str(self.port),
                        "RUNNER_GRACE_S": "3", **environ}
        self.url = f"http://127.0.0.1:{self.port}"
        self.http = requests.Session()
        self.process: subprocess.Popen | None = None
        self.password = ""

    def start(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        output = self.home.parent / "serve.txt"
        with open(output, "wb") as stream:
            self.process = subprocess.Popen([sys.executable, "-m", "registry.cli", "serve"],
                                            cwd=ROOT, env=self.environ, stdout=stream,
                                            stderr=subprocess.STDOUT)
        wait_for(lambda: "serves at" in output.read_text(), f"serve says so in {output}", 60)
        wait_for(self.is_up, "web and runner answer", 60)
        found = re.search(r"password[: ]+(\S{8,})", output.read_text())
        if found and not self.password:
            self.password = found.group(1)
            self.log_in("admin", self.password)

    def is_up(self) -> bool:
        try:
            return requests.get(f"{self.url}/api/v3/health", timeout=5).json()["runner"] is True
        except (OSError, ValueError, KeyError):
            return False

    def log_in(self, user: str, password: str) -> None:
        answer = self.post("/token", username=user, password=password)
        self.http.headers["Authorization"] = f"Bearer {answer['token']}"

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(30)

    def close(self) -> None:
        self.stop()
        self.http.close()
        identity = self.home / "runner" / "id"
        if identity.exists():
            client = docker.from_env()
            for container in client.containers.list(
                    all=True, filters={"label": f"paishare.runner={identity.read_text()}"}):
                container.remove(force=True)
            client.close()

    def processes(self, word: str) -> list[psutil.Process]:
        """Live processes below `serve` whose command line has the word."""
        below = psutil.Process(self.process.pid).children(recursive=True)
        return [item for item in below if word in _command_line(item)]

    def get(self, path: str, **params: Any) -> Any:
        return self._answer(self.http.get(f"{self.url}/api/v3{path}", params=params, timeout=60))

    def post(self, path: str, **body: Any) -> Any:
        return self._answer(self.http.post(f"{self.url}/api/v3{path}", json=body, timeout=60))

    def _answer(self, response: requests.Response) -> Any:
        assert response.ok, response.text
        return response.json() if response.content else None

    def wait_for_component(self, reference: str) -> None:
        path = f"{self.url}/api/v3/components/{reference}"
        wait_for(lambda: self.http.get(path, timeout=60).ok, f"{reference} is indexed", 60)

    def wait(self, job_id: str, *wanted: str, timeout_s: float = 120) -> Any:
        final = wanted or ("SUCCEEDED", "FAILED", "STOPPED")
        wait_for(lambda: self.get(f"/jobs/{job_id}")["state"] in final,
                 f"job {job_id} is {final}", timeout_s)
        return self.get(f"/jobs/{job_id}")


def _command_line(process: psutil.Process) -> str:
    """Empty for one that has just ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
