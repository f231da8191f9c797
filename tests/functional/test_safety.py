"""What one user's jobs and calls can reach of another's and of the machine: nothing."""
import re

import pytest
import requests

from registry.accounts import Accounts
from registry.db import create_engine
from runner.artifacts import remove_tree
from tests.functional.product import IMAGE, Product

HOSTILE_NAMES = """
import os
for name in (b"bad\\xff.txt", b"q\\"uo;te.txt", "\\u4e2d.txt".encode(), b"page.html", b"..%2fx"):
    open(name, "w").write("<script>alert(1)</script>")
os.symlink("/etc/passwd", "link")
os.symlink("/etc", "folder")
os.mkfifo("pipe")
"""
DEEP = """
import os
for _ in range(3000):
    os.mkdir("d")
    os.chdir("d")
"""
CLIMBS = ["link", "folder/passwd", "pipe", "..%2f..%2fcommands", "%2e%2e/log", "%2fetc%2fpasswd",
          "%00", "a" * 2000]


@pytest.fixture(scope="module")
def product(tmp_path_factory, digits_image):
    made = Product(tmp_path_factory.mktemp("safety") / "home")
    made.start()
    yield made
    made.close()
    remove_tree(made.home)  # one test leaves folders that are too deep for pytest to remove


@pytest.fixture(scope="module")
def users(product):
    """Each of `ann` and `eve` as a session with a token of hers."""
    accounts = Accounts(create_engine(f"sqlite:///{product.home}/registry.db"))
    found = {}
    for name in ("ann", "eve"):
        found[name] = requests.Session()
        token = accounts.create_token(accounts.create_user(name, f"password of {name}"), "test")
        found[name].headers["Authorization"] = f"Bearer {token}"
    yield found
    for session in found.values():
        session.close()


def job_yaml(command, *, kind="", uri=""):
    needs = f"  - {{name: needed, type: {kind}, version: '1', uri: ['{uri}']}}\n" if kind else ""
    return (f"name: hostile\ntype: job\nprerequisites:\n"
            f"  - {{name: i, type: dockerimage, version: 1.0.0, uri: {IMAGE}}}\n{needs}"
            f"tasks:\n  - role: main\n    dockerimage: i\n"
            + (f"    {kind}: needed\n" if kind else "") +
            f"    command:\n      - |\n        {command.replace(chr(10), chr(10) + ' ' * 8)}\n"
            "    resource: {resourcePerInstance: {cpu: 1, memoryMB: 200, gpu: 0}}\n")


def submit(product, session, command, **needs):
    answer = session.post(f"{product.url}/api/v3/jobs", timeout=60,
                          json={"yaml": job_yaml(command, **needs)})
    assert answer.status_code == 201, answer.text
    return product.wait(answer.json()["id"])


@pytest.fixture(scope="module")
def job(product, users):
    done = submit(product, users["ann"],
                  f"cd $PAI_OUTPUT_DIR\npython3 - <<'END'{HOSTILE_NAMES}END")
    assert done["state"] == "SUCCEEDED", done["reason"]
    return done["id"]


@pytest.mark.parametrize("method, path", [
    ("GET", ""), ("POST", "/stop"), ("GET", "/log"), ("GET", "/log/raw"), ("GET", "/artifacts"),
    ("GET", "/artifacts/1/main/0/page.html")])
def test_a_job_of_someone_else_is_as_if_it_were_not_there(product, users, job, method, path):
    answers = [users["eve"].request(method, f"{product.url}/api/v3/jobs/{id_}{path}", timeout=60)
               for id_ in (job, "000000000000")]
    texts = [re.sub(r"\b[0-9a-f]{12}\b", "ID", answer.text) for answer in answers]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert texts[0] == texts[1]


def test_a_key_of_someone_else_finds_no_job(product, users):
    made = [users[name].post(f"{product.url}/api/v3/jobs", timeout=60, json={
        "yaml": job_yaml("true")}, headers={"Idempotency-Key": "one"}).json()
        for name in ("ann", "eve")]
    assert made[0]["id"] != made[1]["id"]
    assert [each["user"] for each in made] == ["ann", "eve"]


def test_artifacts_are_saved_and_never_opened_as_pages(product, users, job):
    found = users["ann"].get(f"{product.url}/api/v3/jobs/{job}/artifacts", timeout=60).json()
    assert sorted(item["path"] for item in found["artifacts"]) == [
        "..%2fx", "bad\ufffd.txt", "page.html", 'q"uo;te.txt', "中.txt"]
    for item in found["artifacts"]:
        answer = users["ann"].get(f"{product.url}{item['url']}", timeout=60)
        assert answer.text == "<script>alert(1)</script>"
        assert answer.headers["Content-Disposition"].startswith("attachment; filename*=UTF-8''")
        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert "sandbox" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("path", CLIMBS)
def test_no_artifact_path_leads_out_of_the_output_folder(product, users, job, path):
    request = requests.Request("GET", product.url, headers=users["ann"].headers).prepare()
    request.url = f"{product.url}/api/v3/jobs/{job}/artifacts/1/main/0/{path}"
    answer = users["ann"].send(request, timeout=60)
    assert answer.status_code == 404 and answer.json()["code"] == "NotFound"


@pytest.mark.parametrize("kind, place", [
    ("storage", "git"), ("storage", "git/1.git"), ("storage", "runner/storage/ann/models"),
    ("storage", ""), ("data", "git/1.git/config"), ("data", "secret.key"),
    ("data", "git/../registry.db"), ("data", "git/%2e%2e/secret.key"), ("script", "runner")])
def test_no_state_of_the_product_comes_into_a_job(product, users, kind, place):
    answer = users["eve"].post(f"{product.url}/api/v3/jobs", timeout=60, json={
        "yaml": job_yaml("true", kind=kind, uri=f"file://{product.home}/{place}")})
    assert answer.status_code == 400
    assert "lies in the folder that this server keeps for itself" in answer.json()["message"]


@pytest.mark.parametrize("uri", [
    "http://127.0.0.1:1/x", "http://[::1]:1/x", "http://0:1/x", "http://2130706433:1/x",
    "http://[::ffff:169.254.169.254]/x", "http://[64:ff9b::a9fe:a9fe]/x"])
@pytest.mark.parametrize("kind", ["data", "script"])
def test_the_runner_fetches_nothing_from_the_machine_itself(product, users, kind, uri):
    done = submit(product, users["eve"], "true", kind=kind, uri=uri)
    assert done["state"] == "FAILED" and "jobs may not reach" in done["reason"]


def test_storage_of_one_name_is_another_folder_for_each_user(product, users):
    for name in ("ann", "eve"):
        command = f"test -z \"$(ls needed/models)\"\ntouch needed/models/{name}"
        done = submit(product, users[name], command, kind="storage", uri="models")
        assert done["state"] == "SUCCEEDED", done["reason"]


def test_folders_too_deep_for_any_path_end_no_differently(product, users):
    done = submit(product, users["ann"], f"cd $PAI_OUTPUT_DIR\npython3 - <<'END'{DEEP}END")
    assert done["state"] == "SUCCEEDED", done["reason"]
    assert product.get(f"/jobs/{done['id']}/artifacts")["artifacts"] == []


def test_a_container_has_no_privileges_beyond_dockers_own(product, users):
    done = submit(product, users["eve"], "cat /proc/self/status /proc/1/comm\n"
                  "ls /var/run/docker.sock 2>&1 || true")
    log = product.http.get(f"{product.url}/api/v3/jobs/{done['id']}/log/raw", timeout=60).text
    assert "NoNewPrivs:\t1" in log and "CapEff:\t00000000a80425fb" in log and "Seccomp:\t2" in log
    assert "docker-init" in log and "No such file" in log


@pytest.mark.parametrize("path", [
    "/", "/static/icon.svg", "/static/none", "/none", "/login", "/api/v3/none", "/api/v3/health",
    "/api/v3/jobs"])
def test_every_answer_has_the_headers_that_keep_a_browser_safe(product, path):
    answer = requests.get(f"{product.url}{path}", timeout=60)
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Request-Id"]
