"""One request of a user in flight, whichever of two real processes asks; a killed one frees it."""
import json
import os
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from registry import db, lock
from registry.accounts import Accounts
from registry.config import Secret, Settings
from registry.github_accounts import TURNS, GitHubAccounts
from registry.github_errors import Code, GitHubError
from tests.functional.runner_process import wait_for

ASK = """
import os, sys
from registry import db
from registry.config import Settings
from registry.github_accounts import GitHubAccounts
settings = Settings.from_environ(os.environ)
accounts = GitHubAccounts(db.create_engine(settings.database_url), settings)
for user_id in map(int, sys.argv[2:]):
    with accounts.asking(user_id, is_background=True) as api:
        for _ in range(int(sys.argv[1])):
            api.whoami()
"""


class Slow(ThreadingHTTPServer):
    """A GitHub that counts who asks at once; while `is_stuck` it answers nobody."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.counting, self.go_on = threading.Lock(), threading.Event()
        self.go_on.set()
        self.now, self.most, self.answered = {}, {}, []
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def note(self, token, change):
        with self.counting:
            self.now[token] = self.now.get(token, 0) + change
            self.most[token] = max(self.most.get(token, 0), self.now[token])
            self.most["all"] = max(self.most.get("all", 0), self.waiting())

    def waiting(self):
        return sum(self.now.values())


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        token = self.headers["Authorization"]
        self.server.note(token, 1)
        threading.Event().wait(0.01)  # long enough to be met by another
        self.server.go_on.wait()
        body = json.dumps({"login": "octo", "id": 7}).encode()
        self.server.note(token, -1)
        self.server.answered.append(token)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def slow():
    server = Slow()
    yield server
    server.go_on.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def environ(slow, tmp_path):
    return {**os.environ, "PAISHARE_HOME": str(tmp_path / "home"),
            "PAISHARE_GITHUB_URL": f"http://127.0.0.1:{slow.server_port}"}


@pytest.fixture
def accounts(environ):
    settings = Settings.from_environ(environ)
    settings.home.mkdir()
    engine = db.create_engine(settings.database_url)
    db.upgrade(engine)
    accounts = GitHubAccounts(engine, settings)
    for name in ("ann", "bob"):
        user = Accounts(engine).create_user(name, "correct horse")
        accounts.connect(user.id, Secret(f"ghp_{name:_<36}"))
    yield accounts
    engine.dispose()


def start(environ, *words):
    return subprocess.Popen([sys.executable, "-c", ASK, *map(str, words)], env=environ)


def test_two_processes_have_one_request_of_a_user_in_flight(slow, accounts, environ):
    both = [start(environ, 15, 1) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0]
    assert slow.most["all"] == 1 and len(slow.answered) == 32


def test_users_do_not_wait_for_each_other(slow, accounts, environ):
    slow.go_on.clear()
    both = [start(environ, 1, user_id) for user_id in (1, 2)]
    wait_for(lambda: slow.most["all"] == 2, "two users at once", 60)
    slow.go_on.set()
    assert [process.wait(60) for process in both] == [0, 0]


def test_a_process_that_is_killed_lets_the_next_one_ask(slow, accounts, environ):
    slow.go_on.clear()
    first = start(environ, 1, 1)
    wait_for(lambda: slow.waiting() > 0, "the first request", 60)
    os.kill(first.pid, signal.SIGKILL)
    first.wait(60)
    before = slow.waiting()
    second = start(environ, 1, 1)
    wait_for(lambda: slow.waiting() > before, "a request beside the one that never ends", 60)
    slow.go_on.set()
    assert second.wait(60) == 0


def test_who_waits_too_long_on_a_page_is_told_to_come_again(slow, accounts, environ, monkeypatch):
    monkeypatch.setattr("registry.github_accounts.HURRIED_S", 0.0)
    path = Settings.from_environ(environ).home / TURNS / "1.lock"
    with lock.turn(path, 60), pytest.raises(GitHubError) as refused:
        with accounts.asking(1, is_hurried=True) as api:
            api.whoami()
    assert refused.value.code is Code.LATER and refused.value.retry_at
    assert accounts.of(1).limited_until is None  # GitHub itself asked for nothing
