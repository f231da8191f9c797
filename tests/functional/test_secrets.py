"""A canary: planted passwords and tokens are looked for wherever they must not be."""
import base64
import json
import subprocess
import sys
from contextlib import suppress
from urllib.parse import quote

import docker
import psutil
import pytest
import requests

from tests.functional.product import Product
from tests.functional.registry_server import SECRETS, Registry
from tests.functional.runner_process import ROOT, wait_for

CANARY = "Kanarienvogel/7+=&%"


@pytest.fixture(scope="module")
def product(tmp_path_factory):
    made = Product(tmp_path_factory.mktemp("canary") / "home")
    made.start()
    yield made
    made.close()


def forms(secret):
    """A secret as it is, URL-encoded and in base64 at each of the three offsets."""
    plain = secret.encode()
    encoded = [base64.b64encode(b"x" * shift + plain)[4:-4] for shift in range(3)]
    return [plain, quote(secret, safe="").encode(), *encoded]


def assert_nowhere(secret, texts):
    for where, text in texts:
        for form in forms(secret):
            assert form not in text, f"a secret stands in {where}"


def everything(product):
    """Every file of the home, what serve printed, and every process's arguments."""
    for path in product.home.rglob("*"):
        with suppress(FileNotFoundError):  # what is written aside is moved away while we look
            if path.is_file():
                yield path, path.read_bytes()
    for process in psutil.process_iter(["cmdline"]):
        yield process, "\0".join(process.info["cmdline"] or []).encode()


def exercise(product, token):
    """Use a token well and badly: pages, API, a job, failures of each kind."""
    headers = {"Authorization": f"Bearer {token}"}
    for method, path in (("GET", "/user"), ("GET", "/jobs/none"), ("POST", "/jobs"),
                         ("GET", "/components/job/none"), ("GET", "/sources/none/problems")):
        requests.request(method, f"{product.url}/api/v3{path}", headers=headers, timeout=30)
    subprocess.run([sys.executable, "-m", "registry.cli", "jobs"], cwd=ROOT, capture_output=True,
                   env={**product.environ, "PAISHARE_URL": product.url, "PAISHARE_TOKEN": token})


def test_a_token_is_kept_nowhere_in_clear(product):
    token = product.http.headers["Authorization"].removeprefix("Bearer ")
    exercise(product, token)
    assert_nowhere(token, everything(product))


def test_a_wrong_token_is_not_echoed(product):
    exercise(product, CANARY)
    answer = requests.get(f"{product.url}/api/v3/user", timeout=30,
                          headers={"Authorization": f"Bearer {CANARY}"})
    assert answer.status_code == 401
    assert_nowhere(CANARY, [*everything(product), ("the answer", answer.content)])


def test_a_password_is_kept_nowhere_in_clear_nor_echoed(product):
    changed = product.http.put(f"{product.url}/api/v3/user/password", timeout=30, json={
        "old_password": product.password, "new_password": CANARY})
    assert changed.ok, changed.text
    answers = [requests.post(f"{product.url}/api/v3/token", timeout=30, json=body) for body in (
        {"username": "admin", "password": CANARY + "x"}, {"username": CANARY, "password": "no"},
        {"username": "admin", "password": 5, "extra": CANARY})]
    assert [answer.status_code for answer in answers] == [401, 401, 400]
    assert_nowhere(CANARY, [*everything(product),
                            *(("an answer", answer.content) for answer in answers[:1])])
    assert_nowhere(product.password, everything(product))


def test_credentials_in_a_url_are_refused_and_not_echoed(product):
    yaml = ("name: leak\ntype: job\nprerequisites:\n"
            "  - {name: i, type: dockerimage, version: 1.0.0, uri: x}\n"
            f"  - {{name: d, type: data, version: 1.0.0, uri: ['https://me:{CANARY[:13]}@h/x']}}\n"
            "tasks:\n  - {role: r, dockerimage: i, data: d, command: [ls], resource: "
            "{resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}}}\n")
    answer = product.http.post(f"{product.url}/api/v3/jobs", json={"yaml": yaml}, timeout=30)
    assert answer.status_code == 400
    assert CANARY[:13].encode() not in answer.content


def test_the_home_is_its_owners_alone(product):
    for path in (product.home, product.home / "secret.key", product.home / "runner"):
        assert path.stat().st_mode & 0o077 == 0, path


PRIVATE_JOB = """
name: private
type: job
prerequisites: [{{name: image, type: dockerimage, version: 1.0.0, uri: "{uri}"}}]
tasks:
  - role: main
    dockerimage: image
    command: [exit 3]
    resource: {{resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}}}
isDebug: true
"""


def test_a_login_to_a_registry_brings_its_image_and_is_kept_nowhere_in_clear(
        product, busybox_image, tmp_path):
    registry, secret = Registry(tmp_path / "registry"), SECRETS["ann"]
    try:
        text = PRIVATE_JOB.format(uri=registry.push("team/canary:1"))
        api = f"{product.url}/api/v3"
        kept = product.http.put(f"{api}/user/registries/{registry.name}", timeout=30,
                                json={"username": "ann", "secret": secret})
        assert kept.ok, kept.text
        id_ = product.http.post(f"{api}/jobs", timeout=30, json={"yaml": text}).json()["id"]
        wait_for(lambda: product.get(f"/jobs/{id_}")["state"] == "FAILED", "it ran", 60)
        container = docker.from_env().containers.get(
            product.get(f"/jobs/{id_}")["attempts"][0]["kept"]["tasks"][0]["container"])
        answers = [product.http.get(f"{api}{path}", timeout=30).content for path in (
            "/user/registries", f"/jobs/{id_}", f"/jobs/{id_}/receipt")]
        assert_nowhere(secret, [
            *everything(product), *(("an answer", answer) for answer in answers),
            ("docker inspect", json.dumps(container.attrs).encode()),
            ("the list of logins", kept.content)])
        assert product.http.post(f"{api}/jobs/{id_}/release", timeout=30).ok
    finally:
        registry.close()
