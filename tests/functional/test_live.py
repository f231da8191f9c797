"""A shell in a running task, from the product's own port to the container and back."""
import json
import time

import docker
import pytest
import requests
import simple_websocket

from registry import db
from registry.accounts import Accounts
from tests.functional.product import Product
from tests.functional.runner_process import IMAGE, wait_for

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
    id_ = product.post("/jobs", yaml=JOB)["id"]
    product.wait(id_, "RUNNING")
    wait_for(lambda: product.get(f"/jobs/{id_}")["attempts"][0]["tasks"][0]["state"] == "RUNNING",
             "the task runs", WAIT_S)
    return id_


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
        self.until(lambda shell: text.encode() in shell.shown)
        self.shown = b""

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
    shell.until(lambda each: {"type": "open"} in each.told)
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
    shell.type("stty raw -echo; head -c 300000 | wc -c; stty sane; echo done\n")
    shell.see("\n")
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
    accounts = Accounts(db.create_engine(f"sqlite:///{product.home}/registry.db"))
    for name, is_admin, status in (("bob", False, 404), ("eve", True, 403)):
        accounts.create_user(name, "correct horse", is_admin)
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


def test_a_runner_that_starts_again_ends_terminals_and_says_so(product, job, shell):
    runner, = [each for each in product.processes("-m runner") if "child" not in each.name()]
    runner.kill()
    assert "The runner does not answer any more" in shell.end()["message"]
    wait_for(product.is_up, "the runner is back", WAIT_S)
    wait_for(lambda: not left(product, job), "the shell is gone", WAIT_S)


def test_a_server_that_is_stopped_ends_at_once_with_terminals_open(product, job, shell):
    product.stop()
    assert product.process.returncode == 0
    assert "did not end" not in (product.home.parent / "serve.txt").read_text()
