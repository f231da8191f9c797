"""`paishare demo` as a newcomer meets it: stages, result, paths, and nothing left behind."""
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import docker
import pytest
import requests
import sqlalchemy as sa

from registry import db
from tests.functional.product import free_port
from tests.functional.runner_process import ROOT, wait_for

STAGES = ["set-up", "image", "data", "queue", "run", "end"]


class DemoProcess:
    """The demo in a home of its own; what it says goes into a file or to a terminal."""

    def __init__(self, folder: Path, stdout: int | None = None) -> None:
        self.home, self.url = folder / "home", f"http://127.0.0.1:{free_port()}"
        self._said = folder / "said.txt"
        environ = {**os.environ, "PAISHARE_HOME": str(self.home), "PORT": self.url.split(":")[-1],
                   "RUNNER_GRACE_S": "3"}
        with self._said.open("wb") as said:
            self.process = subprocess.Popen([sys.executable, "-m", "registry.cli", "demo"],
                                            cwd=ROOT, env=environ, stdout=stdout or said,
                                            stderr=stdout or said, preexec_fn=_hear_ctrl_c)

    def said(self) -> str:
        return self._said.read_text()

    def wait_for_text(self, text: str) -> None:
        wait_for(lambda: text in self.said() or self.process.poll() is not None, text, 90)

    def containers(self) -> list[str]:
        runner = (self.home / "runner" / "id").read_text()
        client = docker.from_env()
        found = client.containers.list(all=True, filters={"label": f"paishare.runner={runner}"})
        client.close()
        return [each.name for each in found]


def _hear_ctrl_c() -> None:
    """Tests that a shell runs in the background are deaf to it, and so would be their children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A demo that ran without a terminal."""
    demo = DemoProcess(tmp_path_factory.mktemp("demo"))
    demo.process.wait(300)
    return demo


def test_without_a_terminal_it_ends_with_0_and_leaves_nothing_running(finished):
    assert finished.process.returncode == 0, finished.said()
    assert finished.containers() == []
    with pytest.raises(requests.ConnectionError):
        requests.get(finished.url, timeout=5)


def test_each_stage_has_its_lines_in_order(finished):
    stages = re.findall(r"^\[([a-z-]+)\]", finished.said(), re.M)
    assert list(dict.fromkeys(stages)) == STAGES
    assert "epoch 50/50" in finished.said()


def test_the_artifacts_are_where_it_says(finished):
    paths = re.findall(r"^  (/\S+) \(", finished.said(), re.M)
    assert {Path(path).name for path in paths} == {
        "model.npz", "metrics.json", "confusion_matrix.png"}
    assert all(Path(path).stat().st_size for path in paths)


def test_it_tells_the_result_the_page_and_how_to_log_in(finished):
    said = finished.said()
    assert "Result: SUCCEEDED" in said
    assert re.search(rf"^Job page: {finished.url}/jobs/\w+$", said, re.M)
    assert re.search(rf"^Log in at {finished.url}/login as admin, password: \S{{8,}}$", said, re.M)


def test_its_token_is_revoked(finished):
    engine = db.create_engine(f"sqlite:///{finished.home}/registry.db")
    with engine.connect() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(db.api_tokens)) == 0
    engine.dispose()


def test_interrupted_it_stops_its_job_and_leaves_no_container(tmp_path):
    demo = DemoProcess(tmp_path)
    demo.wait_for_text("[run]")
    demo.process.send_signal(signal.SIGTERM)
    assert demo.process.wait(60) == 130, demo.said()
    assert "Interrupted: stopping job" in demo.said() and demo.containers() == []


def test_on_a_terminal_it_serves_until_ctrl_c(tmp_path):
    ours, theirs = pty.openpty()
    demo = DemoProcess(tmp_path, stdout=theirs)
    os.close(theirs)
    said = b""
    while b"Serving until Ctrl-C" not in said:
        said += os.read(ours, 4096)
    assert requests.get(demo.url, timeout=60).ok and b"\x1b[" in said
    demo.process.send_signal(signal.SIGINT)
    assert demo.process.wait(60) == 0
    os.close(ours)
