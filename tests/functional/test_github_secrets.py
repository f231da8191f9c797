"""A canary: a GitHub token goes through every flow and failure, and stands nowhere afterwards."""
import gzip
import logging
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
import requests

from tests.functional.product import Product
from tests.functional.runner_process import ROOT, wait_for
from tests.functional.test_secrets import assert_nowhere

CANARY = "ghp_Kanarienvogel0singt1in2jedem3Stollen"
MISTYPED = "ghp_Zeisig0singt1in2jedem3Stollen4mit5"
DATA = """\
type: data
name: points
version: 1.0.0
contributor: Ann
description: Points that only some may see.
uri: https://example.org/points.csv
"""
CHATTY = "import logging\nlogging.basicConfig(level=logging.DEBUG)\n"


@pytest.fixture
def product(github, tmp_path):
    """With every logger at DEBUG in every process."""
    chatty = tmp_path / "chatty"
    chatty.mkdir()
    (chatty / "sitecustomize.py").write_text(CHATTY)
    made = Product(tmp_path / "home", PAISHARE_GITHUB_URL=github.url, PYTHONPATH=str(chatty),
                   PAISHARE_SYNC_INTERVAL_S="1")
    made.start()
    yield made
    made.close()


class Heard:
    """Everything that the product answered, and what this process logged."""

    def __init__(self, product, caplog):
        self.product, self._caplog = product, caplog
        self.answers = []
        self.browser = requests.Session()
        for session in (product.http, self.browser):
            session.hooks["response"].append(lambda answer, *_, **__: self.answers.append(answer))
        self._form("/login", username="admin", password=product.password)

    def _form(self, path, **fields):
        page = self.browser.get(f"{self.product.url}/settings", timeout=60).text
        token = re.search(r'name="csrf_token" value="([^"]+)"', page)[1]
        return self.browser.post(f"{self.product.url}{path}", timeout=60,
                                 data={"csrf_token": token, **fields})

    def connect_by_page(self, token):
        return self._form("/settings/github", token=token)

    def api(self, method, path, **body):
        return self.product.http.request(method, f"{self.product.url}/api/v3{path}", timeout=60,
                                         json=None if method == "GET" else body)

    def pages(self, *paths):
        for path in paths:
            self.browser.get(f"{self.product.url}{path}", timeout=60)

    def everything(self):
        """Files, arguments and environments of processes, answers with their headers, logs."""
        yield from files_below(self.product.home.parent)
        yield from processes_of(self.product)
        for answer in self.answers:
            yield answer.url, repr(answer.headers).encode() + answer.url.encode() + answer.content
        yield "the log of the test", self._caplog.text.encode()


def files_below(folder):
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            try:
                content = path.read_bytes()
            except FileNotFoundError:  # what is written aside is moved away while we look
                continue
            yield path, content
            if content.startswith(b"\x1f\x8b"):
                yield f"{path}, unpacked", gzip.decompress(content)


def processes_of(product):
    serve = psutil.Process(product.process.pid)
    for process in [serve, *serve.children(recursive=True)]:
        try:
            environ = Path(f"/proc/{process.pid}/environ").read_bytes()
            yield f"{process}", "\0".join(process.cmdline()).encode() + b"\0" + environ
        except (OSError, psutil.Error):
            continue


def kill(product, word):
    """kill -9 of a process of the product, which is started again."""
    before, = {each.pid for each in product.processes(word)} or {None}
    assert before, f"no process {word}"
    os.kill(before, signal.SIGKILL)
    wait_for(lambda: {each.pid for each in product.processes(word)} - {before},
             f"{word} is started again", 60)


def test_a_github_token_goes_everywhere_and_stands_nowhere(github, product, caplog):
    caplog.set_level(logging.DEBUG)
    world, heard = github.world, Heard(product, caplog)
    ann, bob = world.add_user("ann"), world.add_user("bob")
    hidden = world.create(ann, "hidden", {"data/points.yaml": DATA}, is_private=True)
    public = world.create(ann, "public", {"data/other.yaml": DATA.replace("points", "other")})
    hidden.grants["bob"] = "read"
    token = world.classic_token(bob, "repo", value=CANARY)

    # connected by the page, by the API and as OpenPAI did, with wrong ones between
    for wrong in (MISTYPED, f" {MISTYPED} x", f"https://x:{MISTYPED}@github.com"):
        assert heard.connect_by_page(wrong).status_code == 400
        assert heard.api("PUT", "/user/github", token=wrong).status_code == 400
    assert heard.connect_by_page(CANARY).ok and heard.api("PUT", "/user/github", token=CANARY).ok
    answer = product.http.put(f"{product.url}/api/v1/user/admin/githubPAT", timeout=60,
                              json={"githubPAT": CANARY})
    assert answer.status_code == 201

    # GitHub itself may say it back: in refusals, in redirects, in the middle of Git
    says = f"Token {CANARY} is not welcome"
    for status, path, times in ((403, "/user$", 1), (500, "/user$", 3), (429, "/user$", 1),
                                (0, "/user$", 3), (403, "/hidden$", 1)):
        world.fault("GET", path, status, says, times=times)
        heard.api("PUT", "/user/github", token=CANARY)
        heard.api("POST", "/sources", location="ann/hidden", use_my_token=True)
    world.faults.clear()
    assert heard.api("PUT", "/user/github", token=CANARY).ok
    for status in (401, 403, 500, 0):
        world.fault("*", r"/hidden\.git/", status, says)
    heard.api("POST", "/sources", location="ann/hidden", use_my_token=True)
    heard.api("POST", "/sources", location=f"https://x:{CANARY}@github.com/ann/hidden")
    world.faults.clear()
    heard.api("POST", "/sources/ann/hidden/sync")
    product.wait_for_component("data/points")
    assert any(seen.login == "bob" for seen in world.exchanges()), "the token fetched"

    # a pull request, with failures and kill -9 on the way
    asked_to_write, may_go_on = threading.Event(), threading.Event()
    world.fault("POST", "/git/trees", 502, says)
    draft = heard.api("POST", "/publications", repository=public.full_name,
                      yaml=DATA.replace("points", "more")).json()
    gate = world.fault("POST", "/git/commits", None, gate=may_go_on)
    assert heard.api("POST", f"/publications/{draft['id']}/confirm").ok
    wait_for(lambda: gate.times == 0 or asked_to_write.is_set(), "a commit is being made", 60)
    kill(product, "github_worker")
    may_go_on.set()
    wait_for(lambda: world.pulls, "the pull request is open", 60)
    kill(product, "registry import config, sync")

    # everything that shows or copies something
    heard.pages("/settings", "/sources", "/", "/?query=points", "/publish", "/jobs",
                f"/publish/{draft['id']}", "/feeds", "/api")
    for path in ("/user/github", "/sources", "/publications", "/sources/ann/hidden/status",
                 "/components?query=points", f"/publications/{draft['id']}", "/health"):
        heard.api("GET", path)
    for words in (["rotate-keys", "--json"], ["export", str(product.home / "all.dump")],
                  ["github", "status"], ["catalog", "hash", "--rebuild"]):
        done = subprocess.run([sys.executable, "-m", "registry.cli", *words], cwd=ROOT,
                              capture_output=True, env={
                                  **product.environ, "PAISHARE_URL": product.url,
                                  "PAISHARE_TOKEN": product.http.headers[
                                      "Authorization"].removeprefix("Bearer ")})
        assert_nowhere(CANARY, [(words, done.stdout + done.stderr)])
    assert (product.home / "all.dump").is_file()

    # the token dies, too
    token.is_revoked = True
    heard.api("POST", "/publications", repository=public.full_name,
              yaml=DATA.replace("points", "last"))
    assert heard.api("GET", "/user/github").json()["problem"] == "TOKEN_DEAD"
    heard.pages("/settings")
    assert_nowhere(CANARY, heard.everything())
    assert_nowhere(MISTYPED, heard.everything())
    assert b"DEBUG" in (product.home / "logs" / "github.log").read_bytes()
