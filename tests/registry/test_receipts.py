"""Receipts: what is told of them, in what two differ, and running one again."""
import copy

import pytest

from registry.receipts import Difference, differences, facts
from tests.registry.test_views_jobs import JOB, ann  # noqa: F401
from tests.registry.test_views_marketplace import text_of

RECEIPT = {
    "state": "SUCCEEDED", "reason": "All tasks succeeded.", "wall_s": 61.52,
    "machine": {"cpus": 8, "memory_mb": 16000, "docker": "20.10", "kernel": "6.1", "cgroups": "2",
                "gpu_driver": "550.1"},
    "tasks": [{"role": "main", "index": 0, "exit_text": "", "exit_code": 0, "cpu_s": None,
               "oom_killed": False,
               "peak_memory": 64 << 20,
               "gpus": [{"index": 1, "model": "A100", "peak_memory": 3 << 30}]}],
    "spec": {"parameters": {"epochs": 3}, "task_roles": [{
        "name": "main", "instances": 1,
        "resources": {"cpu": 2, "memory_mb": 9000, "shm_mb": 64, "gpu": 1}, "commands": ["a", "b"],
        "image": {"uri": "image:1", "digest": "sha256:11"}, "storage": [],
        "data": [{"target": "d/x.csv", "uri": "https://x/x.csv", "sha256": "22", "commit": None,
                  "path": ""}],
        "script": [{"target": "s/code", "uri": "https://x/code", "sha256": None, "commit": "33",
                    "path": "train"}]}]}}


def test_each_fact_is_told_as_exactly_as_it_is_known():
    found = {fact.what: fact.value for fact in facts(RECEIPT)}
    assert found["image of main"] == "sha256:11"
    assert found["data d/x.csv of main"] == "sha256 22"
    assert found["script s/code of main"] == "commit 33 train"
    assert found["GPUs of main-0"] == "A100"
    assert found["CPU time of main-0"] == "not measured: too short"
    assert found["peak memory of GPU 1 of main-0"] == "3.0 GiB"


def test_what_was_killed_at_its_limit_had_all_of_it_whatever_was_seen_before():
    killed = copy.deepcopy(RECEIPT)
    killed["tasks"][0]["oom_killed"] = True
    found = {fact.what: fact.value for fact in facts(killed)}
    assert found["peak memory of main-0"] == "8.8 GiB, its limit: it was killed there"
    assert found["resources of main"] == "2 CPU, 8.8 GiB of memory (64 MiB of it shared), 1 GPU"


def test_a_receipt_does_not_differ_from_itself():
    assert differences(RECEIPT, copy.deepcopy(RECEIPT)) == []


def test_what_was_wanted_comes_before_the_result_and_the_machine():
    other = copy.deepcopy(RECEIPT)
    other["wall_s"], other["machine"]["kernel"] = 70.0, "6.9"
    other["spec"]["parameters"]["rate"] = 0.1
    assert differences(RECEIPT, other) == [
        Difference(group="parameters", what="parameter rate", first="–", second="0.1"),
        Difference(group="result", what="wall time", first="61.5 s", second="70.0 s"),
        Difference(group="machine", what="kernel", first="6.1", second="6.9")]


@pytest.fixture
def ended(web, ann):  # noqa: F811
    web.runner.start(JOB)
    assert "no receipt" not in text_of(ann.get(f"/jobs/{JOB}"))
    web.runner.end(JOB, "SUCCEEDED", "All tasks succeeded.")
    return ann


def test_the_page_of_a_receipt_tells_all_of_it(ended):
    page = text_of(ended.get(f"/jobs/{JOB}/receipt"))
    assert "Attempt 1" in page and "parameter epochs 3" in page and "wall time 61.5 s" in page
    assert "parameter shuffle true" in page and "parameter nothing null" in page
    assert f"/jobs/{JOB}/receipt?attempt=1" in ended.get(f"/jobs/{JOB}").text


def test_a_receipt_tells_states_in_the_readers_language_and_what_is_of_others_as_it_is(web, ended):
    page = text_of(ended.get(f"/jobs/{JOB}/receipt", headers={"Accept-Language": "zh"}))
    assert "状态 成功" in page and "SUCCEEDED" not in page and "参数 note a text" in page


def test_the_same_is_run_again_once_however_often_it_is_pressed(web, ended):
    for _ in range(2):
        assert ended.post(f"/jobs/{JOB}/again", attempt="1", key="one").status_code == 303
    assert len(web.runner.jobs) == 2
    assert web.runner.jobs["000000000002"]["spec"] == web.runner.jobs[JOB]["spec"]


def test_two_jobs_are_compared_and_a_wrong_number_says_so(web, ended):
    ended.post(f"/jobs/{JOB}/again", attempt="1", key="one")
    web.runner.start("000000000002")
    web.runner.end("000000000002", "FAILED", "Task main-0 failed.", 3)
    web.runner.leave(JOB, "model.bin", b"1")
    answer = ended.get(f"/jobs/{JOB}/receipt?with=000000000002")
    assert answer.location == f"/jobs/compare/{JOB}...000000000002"
    page = text_of(ended.get(answer.location))
    assert "exit of main-0 exit code 0 exit code 3" in page and "They differ in 4 things." in page
    assert "main-0/model.bin 1 bytes –" in page and "parameter epochs" not in page
    assert "parameter epochs 3 3" in text_of(ended.get(f"{answer.location}?all=1"))
    answer = ended.get(f"/jobs/{JOB}/receipt?with=nothing")
    assert answer.status_code == 404 and "There is no job nothing." in text_of(answer)
    found = ended.get(f"/api/v3/jobs/{JOB}/receipt/differences?other=000000000002").json
    assert {"group": "result", "what": "state", "first": "SUCCEEDED",
            "second": "FAILED"} in found["differences"]


def test_what_two_jobs_measured_stands_side_by_side(web, ended):
    ended.post(f"/jobs/{JOB}/again", attempt="1", key="one")
    web.runner.start("000000000002")
    web.runner.end("000000000002", "SUCCEEDED", "All tasks succeeded.")
    web.runner.leave(JOB, "metrics.json", b'{"accuracy": 0.92, "epochs": 3}')
    web.runner.leave("000000000002", "metrics.json", b'{"accuracy": 0.97, "epochs": 3}')
    page = text_of(ended.get(f"/jobs/compare/{JOB}...000000000002"))
    assert "What it measured" in page and "accuracy (main-0/metrics.json) 0.92 0.97" in page
    assert "epochs (main-0" not in page


def test_a_job_that_has_not_ended_is_compared_as_far_as_it_is_known(web, ended):
    ended.post(f"/jobs/{JOB}/again", attempt="1", key="one")
    page = text_of(ended.get(f"/jobs/compare/{JOB}...000000000002"))
    assert "state Succeeded Waiting" in page and "It has not ended" in page


def test_two_that_are_chosen_in_the_list_are_compared(ended):
    chosen = ended.post("/jobs/chosen", action="compare", job=[JOB, "000000000002"])
    assert chosen.location == f"/jobs/compare/{JOB}...000000000002"
    assert ended.post("/jobs/chosen", action="compare", job=[JOB], back="/jobs").location == "/jobs"
    assert "Choose two jobs to compare." in text_of(ended.get("/jobs"))


def test_a_receipt_is_its_users_alone(web, ended):
    other = web.browser("bob")
    assert other.get(f"/jobs/compare/{JOB}...{JOB}").status_code == 404
    assert other.get(f"/jobs/{JOB}/receipt").status_code == 404
    assert other.get(f"/api/v3/jobs/{JOB}/receipt").status_code == 404
    assert other.post(f"/jobs/{JOB}/again", attempt="1", key="x").status_code == 404


def test_a_job_that_has_run_nothing_has_no_receipt(ann):  # noqa: F811
    answer = ann.get(f"/api/v3/jobs/{JOB}/receipt")
    assert answer.json["message"] == f"Job {JOB} has run nothing, so there is no receipt of it."


def test_what_came_from_a_source_that_one_does_not_see_is_not_run_again(web, ended):
    store = web.services.catalog.store(99).url
    web.runner.receipts[JOB, 1]["spec"]["task_roles"][0]["script"] = [{
        "kind": "git", "uri": store, "target": "code/train.py", "path": "train.py",
        "commit": "0" * 40, "sha256": None}]
    answer = ended.post(f"/jobs/{JOB}/again", attempt="1", key="one")
    assert answer.status_code == 404 and "The input code/train.py of this job" in text_of(answer)
    assert len(web.runner.jobs) == 1
