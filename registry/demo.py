"""From nothing to a trained model: serve, submit through the public API, follow, report."""
from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from typing import Any, Iterator

from registry import db
from registry.accounts import Accounts
from registry.api_client import ApiClient
from registry.config import PACKAGE, Settings
from registry.errors import NotFoundError, RegistryError
from registry.job_stream import Event, JobStream
from registry.log_printer import follow
from registry.server import Server
from registry.terminal import Terminal, size
from runner.spec import SUCCEEDED

JOB = "digits_classifier"
INDEXED_S = 60.0
POLL_S = 0.2


class Demo:
    """One run of the demo on a started server; every stage begins its lines with its name."""

    def __init__(self, server: Server, terminal: Terminal) -> None:
        self._server = server
        self._terminal = terminal
        self._home = server.settings.home

    def run(self) -> bool:
        """Whether the job succeeded. An interrupted demo stops its job."""
        self._set_up()
        self._build_image()
        with _token(self._server.settings) as token:
            client = ApiClient(self._server.url, token)
            self._wait_until_indexed(client)
            job = client.submit({"reference": f"job/{JOB}"})
            self._stage("queue", f"Submitted job/{JOB} as job {job['id']} to {self._server.url}"
                        "/api/v3/jobs.")
            try:
                job = self._follow(client, job["id"])
            except KeyboardInterrupt:
                self._stop(client, job["id"])
                raise
            self._report(client, job)
        return job["state"] == SUCCEEDED

    def _stage(self, name: str, text: str) -> None:
        self._terminal.out.print(f"[bold cyan]\\[{name}][/bold cyan] ", end="")
        self._terminal.result(text)

    def _set_up(self) -> None:
        self._stage("set-up", f"State is kept in {self._home}, logs in {self._home / 'logs'}.")
        self._server.wait_for_web()
        self._stage("set-up", f"Registry and sync serve at {self._server.url}.")
        self._server.wait_for_runner()
        self._stage("set-up", "The runner is connected to the Docker engine.")

    def _build_image(self) -> None:
        """By the runner's own command: the registry never talks to Docker."""
        self._stage("image", "Looking for the image of the bundled jobs.")
        command = [sys.executable, "-m", "runner", "build-image"]
        with subprocess.Popen(command, cwd=PACKAGE.parent, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as build:
            try:
                for line in build.stdout or ():
                    self._stage("image", line.rstrip())
            except KeyboardInterrupt:
                build.terminate()
                raise
        if build.returncode:
            raise RegistryError("The image of the bundled jobs could not be built. The lines above "
                                "say why; `make image` tries again.")

    def _wait_until_indexed(self, client: ApiClient) -> None:
        give_up_at = time.monotonic() + INDEXED_S
        while time.monotonic() < give_up_at:
            with contextlib.suppress(NotFoundError):
                client.get("components", "job", JOB)
                count = client.get("components", page_size=1)["total"]
                self._stage("data", f"The marketplace is indexed: {count} components.")
                return
            self._server.check("sync")
            time.sleep(POLL_S)
        raise RegistryError(f"job/{JOB} is not in the catalog after {INDEXED_S:.0f} s. "
                            f"{self._home / 'logs' / 'sync.log'} says why.")

    def _follow(self, client: ApiClient, job_id: object) -> dict[str, Any]:
        def say(event: Event) -> None:
            self._stage("set-up" if event.stage == "setup" else event.stage, event.text)
        return follow(JobStream(client, job_id), self._terminal, say)

    def _stop(self, client: ApiClient, job_id: object) -> None:
        """Stop the job and wait for its end, so that no container outlives the demo."""
        self._stage("end", f"Interrupted: stopping job {job_id}.")
        client.post("jobs", job_id, "stop")
        for _ in JobStream(client, job_id).follow():
            continue

    def _report(self, client: ApiClient, job: dict[str, Any]) -> None:
        say = self._terminal.result
        say(f"\nResult: {job['state']}: {job['reason']}")
        artifacts = client.get("jobs", job["id"], "artifacts")["artifacts"]
        say("Artifacts:" if artifacts else "The job left no artifacts.")
        for each in artifacts:
            attempt, role, index = each["attempt"], each["role"], each["index"]
            path = f"runner/jobs/{job['id']}/{attempt}/{role}-{index}/output/{each['path']}"
            say(f"  {self._home / path} ({size(each['size'])})\n    {self._server.url}/api/v3/jobs/"
                f"{job['id']}/artifacts/{attempt}/{role}/{index}/{each['path']}")
        say(f"Job page: {self._server.url}/jobs/{job['id']}")


@contextlib.contextmanager
def _token(settings: Settings) -> Iterator[str]:
    """An API token of admin's for the time of the demo."""
    accounts = Accounts(db.create_engine(settings.database_url))
    token = accounts.create_token(accounts.user_named("admin"), "demo")
    try:
        yield token
    finally:
        accounts.revoke_token(token)
