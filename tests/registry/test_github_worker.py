"""The process that speaks to GitHub: who comes when, what holds up whom, and its end."""
import os
import signal
import subprocess
import sys
import threading

import pytest

from registry import lock
from registry.config import Settings
from registry.github_worker import LOCK, GitHubWorker
from registry.server import GITHUB
from tests.functional.runner_process import wait_for

LONG_S = 60


class Steps:
    """A task for some users; a step notes its user, then does what the test says."""

    def __init__(self, *users, act=lambda user_id: None):
        self.users, self.act, self.done = list(users), act, []

    def due(self, now):
        return list(self.users)

    def step(self, user_id, stop):
        self.done.append(user_id)
        self.act(user_id)


@pytest.fixture
def gate():
    gate = threading.Event()
    yield gate
    gate.set()


def wait_long(gate):
    return lambda user_id: gate.wait(LONG_S) if user_id == 1 else None


def test_a_user_who_waits_for_github_holds_up_nobody_else(gate):
    slow, quick = Steps(1, act=wait_long(gate)), Steps(2, 3)
    worker = GitHubWorker(tasks=[slow, quick])
    assert worker.begin() == 3
    wait_for(lambda: sorted(quick.done) == [2, 3], "the others")
    assert not worker.wait(0)
    gate.set()
    assert worker.wait(LONG_S)


def test_no_two_steps_of_one_user_run_at_once(gate):
    first, second = Steps(1, act=wait_long(gate)), Steps(1)
    worker = GitHubWorker(tasks=[first, second])
    assert (worker.begin(), worker.begin()) == (1, 0)
    gate.set()
    assert worker.wait(LONG_S)
    first.users = []
    assert worker.begin() == 1 and worker.wait(LONG_S)
    assert (first.done, second.done) == ([1], [1])


def test_who_waited_longest_comes_first_where_not_all_can_come():
    steps = Steps(1, 2, 3)
    worker = GitHubWorker(tasks=[steps], at_once=1)
    while len(steps.done) < 6:
        worker.begin()
        assert worker.wait(LONG_S)
    assert steps.done[:6] == [1, 2, 3, 1, 2, 3]


def test_an_error_of_one_user_is_logged_and_pauses_that_user_alone(caplog):
    def fail(user_id):
        if user_id == 1:
            raise ValueError("unforeseen")
    steps = Steps(1, 2, act=fail)
    worker = GitHubWorker(tasks=[steps])
    for _ in range(3):
        worker.begin()
        assert worker.wait(LONG_S)
    assert (steps.done.count(1), steps.done.count(2)) == (1, 3)
    assert "Work for the user 1 failed" in caplog.text


def test_nothing_begins_once_it_is_to_stop():
    worker = GitHubWorker(tasks=[Steps(1)])
    worker.stop.set()
    assert worker.begin() == 0


def test_the_process_says_that_it_runs_and_ends_when_it_is_told(home_template, tmp_path):
    environ = {**os.environ, "PAISHARE_HOME": str(home_template), "PYTHONUNBUFFERED": "1"}
    held = Settings.from_environ(environ).home / LOCK
    with open(tmp_path / "log", "w") as log, subprocess.Popen(
            [sys.executable, "-c", GITHUB], env=environ, stderr=log) as process:
        wait_for(lambda: lock.is_held(held), "the process")
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONG_S) == 0
    assert "Traceback" not in (tmp_path / "log").read_text()
    assert not lock.is_held(held)
