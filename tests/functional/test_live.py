"""Pages that change by themselves and shells in tasks, from the product's port to containers."""
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from contextlib import contextmanager, suppress

import docker
import pytest
import requests
import simple_websocket

from registry import db
from registry.accounts import Accounts
from tests.functional.product import Product
from tests.functional.runner_process import IMAGE, ROOT, wait_for

WAIT_S = 60
JOB = f"""\
type: job
name: shell
version: 1.0.0
contributor: Ann
description: Sleeps.
prerequisites:
  - {{name: busybox, type: dockerimage, version: 1.0.0, uri: "{IMAGE}"}}
tasks:
  - role: main
    dockerimage: busybox
    resource:
      instances: 1
      resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}
    command:
      - sleep 3600
"""


@pytest.fixture(scope="module")
def product(tmp_path_factory, busybox_image):
    product = Product(tmp_path_factory.mktemp("product") / "home")
    product.start()
    yield product
    product.close()


@pytest.fixture(scope="module")
def job(product):
    """The id of a job that sleeps."""
    return running(product, JOB)


@pytest.fixture(scope="module")
def cookie(product):
    """The admin's, as a browser sends it."""
    return log_in(product, "admin", product.password)


def running(product, text):
    id_ = product.post("/jobs", yaml=text)["id"]
    wait_until_it_runs(product, id_)
    return id_


def wait_until_it_runs(product, id_):
    product.wait(id_, "RUNNING")
    wait_for(lambda: product.get(f"/jobs/{id_}")["attempts"][0]["tasks"][0]["state"] == "RUNNING",
             "the task runs", WAIT_S)


def log_in(product, name, password):
    with requests.Session() as browser:
        page = browser.get(f"{product.url}/login", timeout=WAIT_S).text
        token = re.search(r'name="csrf_token" value="([^"]+)"', page)[1]
        browser.post(f"{product.url}/login", timeout=WAIT_S, data={
            "username": name, "password": password, "csrf_token": token})
        return "; ".join(f"{each.name}={each.value}" for each in browser.cookies)


def add_user(product, name, is_admin=False):
    with accounts(product) as found:
        found.create_user(name, "correct horse", is_admin)


@contextmanager
def accounts(product):
    """The users, as another process than the server changes them."""
    engine = db.create_engine(f"sqlite:///{product.home}/registry.db")
    yield Accounts(engine)
    engine.dispose()


class Stream:
    """A page's connection, from what it says first."""

    def __init__(self, product, path, cookie, **hello):
        self.socket = simple_websocket.Client.connect(
            product.url.replace("http", "ws") + path, headers={"Cookie": cookie})
        with suppress(simple_websocket.ConnectionClosed):  # refused: what is told says why
            self.socket.send(json.dumps(hello))
        self.told = []

    def until(self, is_true):
        """Read until what was told is enough."""
        deadline = time.monotonic() + WAIT_S
        while not is_true(self.told):
            assert time.monotonic() < deadline, self.told
            message = self.socket.receive(1)
            if message:
                self.told.append(json.loads(message))
        return self.told

    def cut(self):
        """As where a network goes away."""
        self.socket.sock.shutdown(2)


def text_of(told):
    return "".join(each["text"] for news in told if news["type"] == "log"
                   for each in news["records"])


def test_a_page_is_told_what_changed_in_its_own_language(product, job, cookie):
    stream = Stream(product, f"/live/jobs/{job}", cookie, language="zh")
    told = stream.until(lambda told: any(each["type"] == "page" for each in told))
    page = next(each["html"] for each in told if each["type"] == "page")
    stream.socket.close()
    assert "运行中" in page and "Running" not in page


def test_a_log_goes_on_where_the_connection_broke_without_a_lost_or_doubled_line(product, cookie):
    id_ = running(product, JOB.replace("sleep 3600", "while true; do echo line $((i=i+1)); done"
                                       " | head -c 4000000; sleep 3600"))
    told, offset = [], 0
    for wanted in (10_000, 200_000, 3_999_999):
        stream = Stream(product, f"/live/jobs/{id_}", cookie, task="main-0", attempt=1,
                        offset=offset)
        told += stream.until(lambda now: len(text_of(told + now)) >= wanted)
        stream.cut()
        offset = [news["offset"] for news in told if news["type"] == "log"][-1]
    lines = text_of(told).split("\n")[:-1]
    assert lines == [f"line {number}" for number in range(1, len(lines) + 1)]
    product.post(f"/jobs/{id_}/stop")


def test_a_page_hears_how_its_job_ends_and_then_nothing_more(product, cookie):
    id_ = running(product, JOB.replace("sleep 3600", "echo begun; sleep 3600"))
    stream = Stream(product, f"/live/jobs/{id_}", cookie)
    stream.until(lambda told: "begun" in text_of(told))
    product.post(f"/jobs/{id_}/stop")
    told = stream.until(lambda told: told[-1]["type"] == "end")
    assert told[-1] == {"type": "end", "code": "complete", "message": ""}
    last = [news for news in told if news["type"] == "page"][-1]
    assert last["is_final"] and 'data-state="STOPPED"' in last["html"]


def test_the_list_of_jobs_hears_of_ones_own_and_an_admins_of_all_that_are_asked_for(
        product, cookie):
    add_user(product, "ann")
    anns = Stream(product, "/live/jobs", log_in(product, "ann", "correct horse"), all=True)
    admins = Stream(product, "/live/jobs", cookie, all=True)
    for stream in (anns, admins):
        assert stream.until(bool)[0] == {"type": "jobs", "is_all": True, "jobs": []}
    id_ = product.post("/jobs", yaml=JOB.replace("sleep 3600", "echo"))["id"]
    admins.until(lambda told: any((job["id"], job["state"]) == (id_, "SUCCEEDED")
                                  for news in told for job in news["jobs"]))
    while heard := anns.socket.receive(0):
        assert json.loads(heard)["jobs"] == []
    anns.cut()
    admins.cut()


def test_streams_are_for_pages_of_this_server_and_for_whoever_may_see_the_job(product, job, cookie):
    path, ann = f"/live/jobs/{job}", log_in(product, "ann", "correct horse")
    for headers, status in (({"Cookie": cookie, "Origin": "http://evil.example"}, 403),
                            ({}, 302)):
        with pytest.raises(simple_websocket.ConnectionError) as refused:
            simple_websocket.Client.connect(product.url.replace("http", "ws") + path,
                                            headers=headers)
        assert refused.value.status_code == status
    told = Stream(product, path, ann).until(bool)
    assert told[0]["code"] == "NotFound" and "There is no job" in told[0]["message"]


def ticket_of(product, job):
    return product.post(f"/jobs/{job}/terminals", role="main", index=0)


class Shell:
    """A terminal as a program opens it."""

    def __init__(self, product, given, columns=80, rows=24, origin=None):
        headers = {"Origin": origin} if origin else None
        self.socket = simple_websocket.Client.connect(
            product.url.replace("http", "ws") + given["path"], headers=headers)
        self.tell(ticket=given["ticket"], columns=columns, rows=rows)
        self.shown, self.told = b"", []

    def tell(self, **values):
        self.socket.send(json.dumps(values))

    def type(self, text):
        self.socket.send(text.encode())

    def until(self, is_true):
        """Read until something has been shown or told."""
        deadline = time.monotonic() + WAIT_S
        while not is_true(self):
            assert time.monotonic() < deadline, (self.shown, self.told)
            message = self.socket.receive(1)
            if isinstance(message, bytes):
                self.shown += message
            elif message:
                self.told.append(json.loads(message))

    def see(self, text):
        """Read until this is shown; what follows it, often in the same message, is seen next."""
        self.until(lambda shell: text.encode() in shell.shown)
        self.shown = self.shown.partition(text.encode())[2]

    def end(self):
        """What is said at the end."""
        self.until(lambda shell: shell.told and shell.told[-1]["type"] == "end")
        return self.told[-1]

    def close(self):
        self.socket.close()
        self.socket.sock.close()


@pytest.fixture
def shell(product, job):
    shell = Shell(product, ticket_of(product, job), columns=99, rows=33)
    shell.see("/work # ")
    yield shell
    try:
        shell.close()
    except simple_websocket.ConnectionClosed:
        pass


def processes(product, job):
    """The command lines in the job's container, its own first."""
    task = product.get(f"/jobs/{job}")["attempts"][0]["tasks"][0]
    client = docker.from_env()
    found = client.containers.get(task["container"]).top()
    client.close()
    return [row[found["Titles"].index("CMD")] for row in found["Processes"]]


def left(product, job):
    """What of a shell and of what was typed into one is left."""
    return {"sh -i", "sleep 1234", "sleep 4321"} & set(processes(product, job))


def test_what_is_typed_runs_there_in_a_window_of_the_right_size_and_in_any_script(shell):
    shell.type("stty size; echo 你好，世界; cat\n")
    shell.see("33 99\r\n你好，世界\r\n")
    shell.type("中文输入\n")
    shell.see("中文输入\r\n中文输入\r\n")
    shell.tell(columns=120, rows=40)
    shell.type("\x03")
    shell.see("/work # ")
    shell.type("stty size; echo $?\n")
    shell.see("40 120\r\n0\r\n")
    shell.type("exit\n")
    assert shell.end()["message"] == "The shell has ended."


def test_what_is_pasted_arrives_whole_however_much_it_is(shell):
    shell.type("stty raw -echo; echo ready; head -c 300000 | wc -c; stty sane; echo done\n")
    shell.see("\nready\n")
    for _ in range(10):
        shell.socket.send(b"y" * 30000)
    shell.see("300000\n")
    shell.see("done")


def test_what_runs_in_a_shell_ends_with_the_connection(product, job, shell):
    shell.type("sleep 1234 &\n")
    shell.type("sleep 4321\n")
    wait_for(lambda: "sleep 4321" in processes(product, job), "it runs", WAIT_S)
    shell.socket.sock.shutdown(2)  # as where a laptop is closed
    wait_for(lambda: not left(product, job), "nothing is left", WAIT_S)


def test_a_ticket_serves_once_and_only_whoever_submitted_the_job_gets_one(product, job):
    given = ticket_of(product, job)
    shell = Shell(product, given)
    shell.until(lambda each: {"type": "open"} in each.told)
    assert "used before or is too old" in Shell(product, given).end()["message"]
    assert "used before or is too old" in Shell(product, {**given, "ticket": "x"}).end()["message"]
    shell.close()
    assert given["ticket"] not in (product.home / "logs" / "web.log").read_text()
    for name, is_admin, status in (("bob", False, 404), ("eve", True, 403)):
        add_user(product, name, is_admin)
        token = product.post("/token", username=name, password="correct horse")["token"]
        answer = requests.post(f"{product.url}/api/v3/jobs/{job}/terminals", json={}, timeout=60,
                               headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == status, answer.text


def test_pages_of_other_sites_are_refused_before_anything_is_said(product, job):
    for origin in ("http://evil.example", "null", "http://127.0.0.1.evil.example"):
        with pytest.raises(simple_websocket.ConnectionError) as refused:
            Shell(product, ticket_of(product, job), origin=origin)
        assert refused.value.status_code == 403
    shell = Shell(product, ticket_of(product, job), origin="http://127.0.0.1")
    shell.until(lambda each: {"type": "open"} in each.told)
    shell.close()


def test_the_command_shell_is_this_terminal_in_the_task(product, job):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 31, 97, 0, 0))
    token = product.http.headers["Authorization"].removeprefix("Bearer ")
    command = subprocess.Popen(
        [sys.executable, "-m", "registry.cli", "shell", job, "main/0"], cwd=ROOT, stdin=theirs,
        stdout=theirs, stderr=subprocess.PIPE, start_new_session=True, env={
            **product.environ, "PAISHARE_URL": product.url, "PAISHARE_TOKEN": token})
    os.close(theirs)
    seen = b""
    while b"/work # " not in seen:
        seen += os.read(ours, 4096)
    os.write(ours, "stty size; echo 你好; exit\n".encode())
    assert command.wait(WAIT_S) == 0, command.stderr.read()
    command.stderr.close()
    assert "31 97\r\n你好\r\n".encode() in os.read(ours, 4096)
    os.close(ours)


def test_whoever_is_locked_out_neither_types_nor_looks_any_longer(product):
    add_user(product, "kim")
    token = product.post("/token", username="kim", password="correct horse")["token"]
    headers = {"Authorization": f"Bearer {token}"}
    made = requests.post(f"{product.url}/api/v3/jobs", json={"yaml": JOB}, headers=headers,
                         timeout=WAIT_S).json()["id"]
    wait_until_it_runs(product, made)
    kims = log_in(product, "kim", "correct horse")
    streams = [Stream(product, path, kims)
               for path in (f"/live/jobs/{made}", f"/live/jobs/{made}/log", "/live/jobs")]
    shell = Shell(product, requests.post(f"{product.url}/api/v3/jobs/{made}/terminals", json={},
                                         headers=headers, timeout=WAIT_S).json())
    shell.see("/work # ")
    with accounts(product) as found:
        found.lock(found.user_named("kim"))
    for end in (shell.end(), *(each.until(lambda told: told and told[-1]["type"] == "end")[-1]
                               for each in streams)):
        assert end["code"] == "Unauthorized" and "Your login has ended" in end["message"]
    product.post(f"/jobs/{made}/stop")


def test_a_runner_that_starts_again_ends_terminals_and_says_so(product, job, shell):
    runner, = [each for each in product.processes("-m runner") if "child" not in each.name()]
    runner.kill()
    assert "The runner does not answer any more" in shell.end()["message"]
    wait_for(product.is_up, "the runner is back", WAIT_S)
    wait_for(lambda: not left(product, job), "the shell is gone", WAIT_S)


def test_a_server_that_is_stopped_ends_at_once_whatever_is_open(product, job, cookie, shell):
    streams = [Stream(product, f"/live/jobs/{job}", cookie) for _ in range(5)]
    for each in streams:
        each.until(bool)
    product.stop()
    assert product.process.returncode == 0
    assert "did not end" not in (product.home.parent / "serve.txt").read_text()
