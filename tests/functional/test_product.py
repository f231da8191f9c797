"""The whole product: bundled components found, submitted over HTTP, run in real containers."""
import json
import os
import signal
import urllib.request

import pytest
import requests

from tests.functional.product import Product
from tests.functional.runner_process import wait_for


@pytest.fixture(scope="module")
def product(tmp_path_factory, digits_image):
    made = Product(tmp_path_factory.mktemp("product") / "home", PAISHARE_SYNC_INTERVAL_S="2")
    made.start()
    made.wait_for_component("job/digits_classifier")
    yield made
    made.close()


def log_text(product, job_id, **where):
    where = {"role": "main", "index": 0, **where}
    return product.http.get(f"{product.url}/api/v3/jobs/{job_id}/log/raw", params=where).text


def first_role(job):
    return job["attempts"][0]["tasks"][0]["role"]


def artifact(product, job_id, path):
    found = next(item for item in product.get(f"/jobs/{job_id}/artifacts")["artifacts"]
                 if item["path"] == path)
    where = "/".join(str(found[key]) for key in ("attempt", "role", "index", "path"))
    return product.http.get(f"{product.url}/api/v3/jobs/{job_id}/artifacts/{where}").content


def test_the_digits_classifier_learns_and_leaves_model_and_picture(product):
    job_id = product.post("/jobs", reference="job/digits_classifier")["id"]
    job = product.wait(job_id)
    assert job["state"] == "SUCCEEDED", job["reason"]
    metrics = json.loads(artifact(product, job_id, "metrics.json"))
    assert metrics["test_accuracy"] >= 0.95
    assert artifact(product, job_id, "confusion_matrix.png").startswith(b"\x89PNG")
    assert len(artifact(product, job_id, "model.npz")) > 1000


def test_every_input_of_the_job_is_pinned(product):
    job_id = product.post("/jobs", reference="job/digits_classifier",
                          parameters={"epochs": 1})["id"]
    role = product.wait(job_id)["spec"]["task_roles"][0]
    assert role["image"]["digest"].startswith("sha256:")
    assert len(role["script"][0]["commit"]) == 40
    assert len(role["data"][0]["sha256"]) == 64


def test_parameters_reach_the_task(product):
    job_id = product.post("/jobs", reference="job/digits_classifier",
                          parameters={"epochs": 2})["id"]
    job = product.wait(job_id)
    text = log_text(product, job_id, role=first_role(job))
    assert job["spec"]["parameters"]["epochs"] == 2
    assert text.count("epoch") >= 2 and "epoch 3" not in text


def test_distributed_digits_learns_and_the_server_is_stopped(product):
    job_id = product.post("/jobs", reference="job/distributed_digits")["id"]
    job = product.wait(job_id)
    assert job["state"] == "SUCCEEDED", job["reason"]
    states = {(t["role"], t["index"]): t["state"] for t in job["attempts"][0]["tasks"]}
    assert states == {("ps_server", 0): "STOPPED", ("worker", 0): "SUCCEEDED",
                      ("worker", 1): "SUCCEEDED"}
    assert json.loads(artifact(product, job_id, "metrics.json"))["test_accuracy"] >= 0.95


def test_the_digits_service_answers_until_it_is_stopped(product):
    job_id = product.post("/jobs", reference="job/digits_service")["id"]
    product.wait(job_id, "RUNNING")
    task = product.get(f"/jobs/{job_id}")["attempts"][0]["tasks"][0]
    url = f"http://{task['ip']}:{task['ports']['http'][0]}/predict"

    def predicts():
        body = json.dumps({"pixels": [0] * 64}).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body), timeout=5) as answer:
                return json.load(answer)["digit"] in range(10)
        except OSError:
            return False
    wait_for(predicts, "the service predicts", 60)
    product.post(f"/jobs/{job_id}/stop")
    assert product.wait(job_id)["state"] == "STOPPED"


def test_gpu_check_says_at_once_that_there_is_no_gpu(product):
    if product.get("/machine")["gpus"]:
        pytest.skip("this machine has a GPU")
    job = product.post("/jobs", reference="job/gpu_check")
    assert job["state"] == "FAILED"
    assert "Needs 1 GPU, but this machine has none" in job["reason"]


def test_what_a_broken_yaml_lacks_is_said_with_its_line(product):
    answer = product.http.post(f"{product.url}/api/v3/jobs",
                               json={"yaml": "name: x\ntype: job\ntasks: []\n"})
    body = answer.json()
    assert answer.status_code == 400 and body["code"] == "InvalidComponent"
    assert [(error["path"], error["line"]) for error in body["errors"]] == [("tasks", 3)]


def test_nobody_reads_or_stops_a_job_without_logging_in(product):
    job_id = product.post("/jobs", reference="job/gpu_check")["id"]
    base = f"{product.url}/api/v3/jobs/{job_id}"
    assert requests.get(base).status_code == 401
    assert requests.post(f"{base}/stop").status_code == 401


@pytest.mark.parametrize("victim", ["gunicorn", "sync", "-m runner"])
def test_a_job_survives_the_death_of_any_process(product, victim):
    job_id = product.post("/jobs", reference="job/digits_classifier",
                          parameters={"epochs": 30})["id"]
    wait_for(lambda: product.get(f"/jobs/{job_id}")["state"] == "RUNNING", "the job runs", 60)
    for process in product.processes(victim):
        os.kill(process.pid, signal.SIGKILL)
    wait_for(product.is_up, "the product is up again", 60)
    job = product.wait(job_id)
    assert (job["state"], len(job["attempts"])) == ("SUCCEEDED", 1), job["reason"]
    text = log_text(product, job_id, role=first_role(job))
    assert [text.count(f"epoch {n}/") + text.count(f"epoch  {n}/") for n in (1, 15, 30)] \
        == [1, 1, 1]


def test_a_submission_cut_off_by_the_death_of_the_web_is_one_job_when_sent_again(product):
    headers = {"Idempotency-Key": "sent-twice"}
    body = {"reference": "job/digits_classifier", "parameters": {"epochs": 1}}
    first = product.http.post(f"{product.url}/api/v3/jobs", json=body, headers=headers).json()
    for process in product.processes("gunicorn"):
        os.kill(process.pid, signal.SIGKILL)
    wait_for(product.is_up, "the web is up again", 60)
    second = product.http.post(f"{product.url}/api/v3/jobs", json=body, headers=headers).json()
    assert first["id"] == second["id"]
