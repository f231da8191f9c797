"""Real processes under the supervisor: started again, stopped gently, never left behind."""
import contextlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from registry import lock, supervisor
from registry.api_client import ServerUnreachableError
from registry.config import Settings
from registry.errors import ConflictError, RegistryError
from registry.server import Server, address, listening
from registry.supervisor import Program, Supervisor, last_words, rotate
from tests.functional.runner_process import ROOT, wait_for

HOLDER = """
import os, sys, time
from registry import lock
from registry.config import Settings
from registry.supervisor import Program, Supervisor
from pathlib import Path
settings = Settings.from_environ(os.environ)
with lock.held(settings, "http://127.0.0.1:1") as held:
    sleep = Program(name="sleep", argv=sys.argv[1:], environ=os.environ, folder=settings.home,
                    log=settings.home / "sleep.log", fds=(held.fd,))
    with Supervisor([sleep], say=print):
        time.sleep(60)
"""
STRANGERS: set[int] = set()
STUBBORN = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); "


def program(folder: Path, *argv: str) -> Program:
    return Program(name="child", argv=argv or ["/bin/sleep", "60"], environ=dict(os.environ),
                   folder=folder, log=folder / "child.log")


def python(code: str) -> tuple[str, ...]:
    return sys.executable, "-c", code


def is_program(process: psutil.Process) -> bool:
    """Alive, and already the program that it was started for: no copy of its parent any more."""
    with contextlib.suppress(psutil.Error):
        words, parent = process.cmdline(), process.parent()
        is_copy = parent is not None and words == parent.cmdline()
        return not is_copy and "child.py" not in " ".join(words)
    return False


def children(parent: int) -> list[psutil.Process]:
    return [each for each in psutil.Process(parent).children()
            if is_program(each) and each.pid not in STRANGERS]


def wait_for_child(parent: int) -> psutil.Process:
    wait_for(lambda: children(parent), "the child is started", 10)
    return children(parent)[0]


@pytest.fixture(autouse=True)
def strangers():
    """Leave aside the children that this process had before, such as a browser's driver."""
    STRANGERS.clear()
    STRANGERS.update(each.pid for each in psutil.Process().children())


@pytest.fixture
def settings(tmp_path):
    return Settings.from_environ({"PAISHARE_HOME": str(tmp_path / "home"), "PORT": "18765"})


@pytest.fixture
def holder(settings):
    """A process that holds the home and supervises one child, `sleep 60`."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, "/bin/sleep", "60"], cwd=ROOT,
                               env={**os.environ, "PAISHARE_HOME": str(settings.home)})
    yield process
    process.kill()
    process.wait()


def test_a_child_that_is_killed_is_started_again_and_that_is_said(tmp_path):
    said: list[str] = []
    with Supervisor([program(tmp_path)], say=said.append):
        first = wait_for_child(os.getpid())
        first.kill()
        wait_for(lambda: [each for each in children(os.getpid()) if each.pid != first.pid],
                 "another child is started", 10)
    assert said[0].startswith("child was killed by SIGKILL")
    assert str(tmp_path / "child.log") in said[0]


def test_what_a_child_said_last_is_told_when_it_dies(tmp_path):
    said: list[str] = []
    with Supervisor([program(tmp_path, "/bin/sh", "-c", "echo no engine; exit 3")],
                    say=said.append):
        wait_for(lambda: said, "the end is said", 10)
    assert "child ended with code 3: no engine" in said[0]


def test_the_cause_of_a_failed_start_is_told_and_not_its_consequences(tmp_path):
    log = tmp_path / "web.log"
    log.write_text("Traceback (most recent call last):\n  File x\nModuleNotFoundError: no y\n"
                   "[2026-01-02] [ERROR] Reason: Worker failed to boot.\n")
    assert last_words(log) == "ModuleNotFoundError: no y"
    assert last_words(tmp_path / "runs-elsewhere.log") == ""


def test_a_server_whose_process_dies_at_every_start_is_not_waited_for(settings):
    log = settings.home / "logs" / "web.log"
    log.parent.mkdir(parents=True)
    dying = Program(name="web", argv=["/bin/sh", "-c", "echo no disk; exit 3"], folder=log.parent,
                    environ=dict(os.environ), log=log)
    with Supervisor([dying], say=print) as supervised, pytest.raises(
            ServerUnreachableError, match=r"web process dies at every start.*web\.log: no disk$"):
        Server(settings=settings, url=address(settings), password=None,
               failures=supervised.failures).wait_for_web()


def test_pauses_between_starts_grow_and_shrink_again_after_a_calm_minute(tmp_path):
    child = supervisor.Child(program=program(tmp_path))
    assert [child.plan_restart(1) for _ in range(8)] == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert child.plan_restart(100) == 0.5


def test_leaving_ends_the_children(tmp_path):
    with Supervisor([program(tmp_path)], say=print):
        child = wait_for_child(os.getpid())
    assert not child.is_running()


def test_a_child_that_ignores_the_request_is_killed_in_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(supervisor, "GRACE_S", 0.3)
    said: list[str] = []
    stubborn = program(tmp_path, *python(STUBBORN + "time.sleep(60)"))
    with Supervisor([stubborn], say=said.append):
        wait_for(lambda: stubborn.log.exists() and last_words(stubborn.log) == "up", "it is up", 10)
        child = wait_for_child(os.getpid())
    assert not child.is_running() and "is killed" in said[0]


def test_a_killed_supervisor_takes_its_children_with_it(holder):
    child = wait_for_child(holder.pid)
    holder.kill()
    child.wait(10)


def test_a_second_server_is_told_who_runs_already(settings, holder):
    wait_for_child(holder.pid)
    with pytest.raises(ConflictError) as raised:
        with lock.held(settings, "http://127.0.0.1:2"):
            pass
    assert f"process {holder.pid} at http://127.0.0.1:1" in raised.value.message


def test_a_home_is_free_only_when_the_children_of_a_killed_server_have_ended(settings):
    slow = "import signal, time; signal.signal(15, lambda *_: (time.sleep(1), exit())); " \
           "print('up', flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", HOLDER, *python(slow)], cwd=ROOT,
                               env={**os.environ, "PAISHARE_HOME": str(settings.home)})
    log = settings.home / "sleep.log"
    wait_for(lambda: log.exists() and last_words(log) == "up", "the child is up", 10)
    child = wait_for_child(process.pid)
    process.kill()
    process.wait()
    with lock.held(settings, "http://127.0.0.1:2"):
        assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_a_taken_port_is_one_line_with_the_next_step(settings):
    with listening(settings), pytest.raises(RegistryError) as raised, listening(settings):
        pass
    assert raised.value.message == (
        "Cannot listen on port 18765 of 127.0.0.1: Address already in use. "
        "Choose another port, for example PORT=18766.")


def test_an_address_of_another_machine_is_one_line_with_the_next_step(settings):
    with pytest.raises(RegistryError) as raised, listening(replace(settings, host="203.0.113.9")):
        pass
    assert raised.value.message.endswith(
        "Cannot assign requested address. Set HOST to an address of this machine.")


def test_a_long_log_is_put_aside_while_it_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(supervisor, "MAX_LOG_BYTES", 10)
    log = tmp_path / "web.log"
    with log.open("ab", buffering=0) as writer:
        writer.write(b"first line\nmore\n")
        rotate(log)
        writer.write(b"next\n")
    assert (tmp_path / "web.log.1").read_bytes() == b"first line\nmore\n"
    assert log.read_bytes() == b"next\n"
