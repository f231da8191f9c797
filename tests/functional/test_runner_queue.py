"""The queue on a real runner: declared GPUs, virtual clusters, time limits, pause."""
import json
import socket

import pytest

from runner.dispatcher import PAUSE
from runner.job_store import JobStore
from runner.spec import job_spec_from_json
from tests.functional.runner_process import RunnerProcess, spec, wait_for

CLUSTERS = {"clusters": {"vision": {"gpus": 2, "members": ["ann"], "maxPriority": 5}},
            "users": {"eve": {"jobs": 1}}}
LONG = "trap 'exit 0' TERM; while true; do sleep 0.1; done"


@pytest.fixture(scope="module")
def running(tmp_path_factory, busybox_image):
    folder = tmp_path_factory.mktemp("home")
    (folder / "clusters.json").write_text(json.dumps(CLUSTERS))
    process = RunnerProcess(
        folder / "runner", RUNNER_GPUS="NVIDIA A100:2:81920,Tesla V100:2", RUNNER_CPUS="8",
        RUNNER_CLUSTERS=str(folder / "clusters.json"))
    process.start()
    yield process
    process.close()


@pytest.fixture
def queue(running):
    """One runner for all tests; what a test left in it is stopped."""
    yield running
    running.post("/queue/resume", {})
    running.stop_all()


def job(*commands, gpu=0, **more):
    known = {key: more.pop(key) for key in ("virtual_cluster", "gpu_type", "time_limit_s",
                                            "priority") if key in more}
    return {**spec(*(commands or ["true"]), resources={"cpu": 1, "memory_mb": 100, "gpu": gpu},
                   **more), **known}


def reason(queue, id_):
    return queue.job(id_)["reason"]


def test_a_machine_that_has_run_nothing_has_an_overview(queue):
    seen = queue.get("/overview")
    assert seen["running"] == seen["waiting"] == [] and seen["gpu_jobs"] == {}
    assert seen["disk"]["total"] > 0


def test_declared_gpus_are_marked_and_dealt_by_type(queue):
    machine = queue.get("/machine")
    assert [(gpu["model"], gpu["is_declared"], gpu["is_free"]) for gpu in machine["gpus"]] == [
        ("NVIDIA A100", True, True)] * 2 + [("Tesla V100", True, True)] * 2
    ended = queue.run(job("echo $NVIDIA_VISIBLE_DEVICES", gpu=2, gpu_type="A100"))
    assert (ended["state"], queue.log(ended["id"])) == ("SUCCEEDED", "void\n")
    assert sorted(ended["attempts"][0]["tasks"][0]["gpus"]) == ["DECLARED-0", "DECLARED-1"]


def test_a_job_that_is_not_submitted_is_told_what_it_would_find(queue):
    there = job(gpu=1)
    found = queue.post("/outlook", {"spec": there})
    assert (found["fit"], found["whole"]["gpus"], found["free"]["gpus"]) == ("now", 4, 4)
    image = there["task_roles"][0]["image"]["uri"]
    assert found["supplies"] == [{"kind": "image", "uri": image, "missing": 0}]
    there["task_roles"][0]["image"]["uri"] = "localhost/not/here:1"
    assert queue.post("/outlook", {"spec": there})["supplies"][0]["missing"] is None
    first = queue.submit(job(LONG, gpu=4, time_limit_s=600))
    queue.wait(first, "RUNNING")
    later = queue.post("/outlook", {"spec": job(gpu=1)})
    assert later["fit"] == "later" and later["expected_start"] > found["expected_start"]
    assert [each["id"] for each in queue.get("/jobs")["jobs"]][0] == first


def test_a_job_of_another_type_is_not_held_up_and_places_are_told(queue):
    first = queue.submit(job(LONG, gpu=2, gpu_type="A100"))
    queue.wait(first, "RUNNING")
    second = queue.submit(job(gpu=1, gpu_type="A100"))
    wanted = "Waits for 1 GPU of type A100: 0 of 2 are free."  # told by the first look at it
    wait_for(lambda: reason(queue, second) == wanted, "it waits for its type")
    assert queue.job(second)["position"] == 1
    assert queue.run(job(gpu=1, gpu_type="V100"))["state"] == "SUCCEEDED"
    wait_for(lambda: queue.job(second)["expected_start"] is None, "nobody knows when it starts")
    assert [each["position"] for each in queue.get("/jobs", state="WAITING")["jobs"]] == [1]
    queue.post(f"/jobs/{first}/stop")
    assert queue.wait(second)["state"] == "SUCCEEDED"


def test_a_type_that_is_not_there_is_told_at_once(queue):
    ended = queue.post("/jobs", {"spec": job(gpu=1, gpu_type="H100")})
    assert (ended["state"], ended["reason"]) == (
        "FAILED", "Needs 1 GPU of type H100, but this machine has none (it has 2 × NVIDIA A100, "
        "2 × Tesla V100).")


def test_a_virtual_cluster_holds_its_quota_and_its_members(queue):
    first = queue.submit(job(LONG, gpu=2, virtual_cluster="vision"))
    queue.wait(first, "RUNNING")
    second = queue.submit(job(gpu=1, virtual_cluster="vision"))
    wait_for(lambda: "vision" in reason(queue, second), "it names the cluster")
    assert reason(queue, second) == (
        "Waits for 1 GPU: 0 of 2 are free for virtual cluster vision.")
    assert queue.run(job(gpu=2))["state"] == "SUCCEEDED"
    clusters = {each["name"]: each for each in queue.get("/machine")["virtual_clusters"]}
    assert (clusters["vision"]["quota"]["gpus"], clusters["vision"]["free"]["gpus"]) == (2, 0)
    assert clusters["default"]["quota"] == {
        "jobs": None, "cpus": None, "memory_mb": None, "gpus": None}
    refused = queue.post("/explain", {"spec": job(virtual_cluster="vision", user="bob")})
    assert refused["fit"] == "never" and "bob is no member" in refused["reason"]


def test_a_limit_of_a_user_lets_others_pass(queue):
    first = queue.submit(job(LONG, user="eve"))
    queue.wait(first, "RUNNING")
    second = queue.submit(job(user="eve"))
    wait_for(lambda: reason(queue, second) == "Waits until another job of user eve has ended: "
             "1 may run at once.", "it names the limit")
    assert queue.run(job())["state"] == "SUCCEEDED"


def test_a_time_limit_ends_a_job_and_says_so_once(queue):
    ended = queue.run(job(LONG, time_limit_s=1, retry_count=-1))
    assert ended["state"] == "FAILED" and len(ended["attempts"]) == 1
    assert ended["reason"].startswith("The job was stopped: it reached its time limit of 1 minute")
    assert ended["attempts"][0]["cause"] == "time"


def test_a_time_limit_that_passed_while_the_runner_was_away_is_kept_after_it(queue):
    id_ = queue.submit(job(LONG, time_limit_s=3))
    queue.wait(id_, "RUNNING")
    queue.kill()
    queue.start()
    assert queue.wait(id_)["attempts"][0]["cause"] == "time"


def test_a_paused_queue_starts_nothing_until_it_goes_on_also_after_a_kill(queue):
    assert queue.post("/queue/pause", {"reason": "new disks"})["paused"] == (
        "The queue is paused: new disks. Running jobs go on.")
    id_ = queue.submit(job())
    wait_for(lambda: "new disks" in reason(queue, id_), "it says why")
    queue.kill()
    queue.start()
    wait_for(lambda: "new disks" in reason(queue, id_), "it says why after the kill")
    assert queue.get("/queue")["waiting"] == 1 and queue.job(id_)["state"] == "WAITING"
    queue.post("/queue/resume", {})
    assert queue.wait(id_)["state"] == "SUCCEEDED"


def test_a_thousand_waiting_jobs_are_there_after_a_start_and_run_in_their_order(
        tmp_path, busybox_image):
    store = JobStore(tmp_path / "runner" / "runner.db")
    store._db.execute("pragma synchronous = off")
    ids = [store.enqueue(job_spec_from_json(job()))[0].id for _ in range(1000)]
    for id_ in ids:
        store.note(id_, "queue", "Waits for free resources.")
    store.change_setting(PAUSE, "The queue is paused.")
    store.close()
    runner = RunnerProcess(tmp_path / "runner", RUNNER_CPUS="1")
    try:
        runner.start()
        wait_for(lambda: runner.job(ids[-1])["position"] == 1000, "all have their places")
        runner.kill()
        runner.start()
        wait_for(lambda: runner.job(ids[500])["position"] == 501, "they have them again")
        assert runner.get("/queue") == {
            "paused": "The queue is paused.", "waiting": 1000, "running": 0}
        runner.post("/queue/resume", {})
        ended = [runner.wait(id_) for id_ in ids[:3]]
        assert [each["state"] for each in ended] == ["SUCCEEDED"] * 3
        assert sorted(ended, key=lambda each: each["started_at"]) == ended
        runner.post("/queue/pause", {})
        wait_for(lambda: runner.get("/queue")["running"] == 0, "nothing runs")
    finally:
        runner.close()


def test_a_port_that_another_program_has_costs_an_attempt_that_is_not_counted(queue):
    with socket.socket(socket.AF_INET6) as other:  # which the runner's own look does not find
        other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            other.bind(("::", 0))
            other.listen()
        except OSError:
            pytest.skip("this machine has no IPv6")
        port = other.getsockname()[1]
        id_ = queue.submit(job(ports=[{"label": "web", "begin_at": port, "count": 1}]))
        wait_for(lambda: queue.job(id_)["attempts"][1:] or queue.job(id_)["state"] == "SUCCEEDED",
                 "another attempt follows", timeout_s=60)
    ended = queue.wait(id_)
    assert (ended["state"], ended["retries"]) == ("SUCCEEDED", 0)
    causes = [attempt["cause"] for attempt in ended["attempts"]]
    if len(causes) == 1:
        pytest.skip("Docker publishes no ports for IPv6 here")
    assert set(causes[:-1]) == {"port"} and causes[-1] == ""


def test_the_overview_says_who_holds_which_gpu_and_who_waits(queue):
    holds = queue.submit(job(LONG, gpu=2, gpu_type="A100"))
    queue.wait(holds, "RUNNING")
    waits = queue.submit(job(gpu=1, gpu_type="A100"))
    wait_for(lambda: queue.get("/overview")["waiting"][:1] and
             queue.get("/overview")["waiting"][0]["position"] == 1, "it stands in the queue")
    seen = queue.get("/overview")
    assert seen["gpu_jobs"] == {"DECLARED-0": holds, "DECLARED-1": holds}
    assert [(each["id"], each["needs"]) for each in seen["running"]] == [
        (holds, {"cpus": 1, "memory_mb": 100, "gpus": 2})]
    assert [each["id"] for each in seen["waiting"]] == [waits]
    assert 0 < seen["disk"]["free"] < seen["disk"]["total"]
    assert seen["engine_problem"] is None and seen["versions"]["docker"]


def test_limits_that_are_sent_hold_at_once_and_wrong_ones_change_nothing(queue):
    before = queue.get("/limits")
    assert json.loads(before["text"]) == CLUSTERS and before["users"]["eve"]["jobs"] == 1
    try:
        changed = queue.put("/limits", {"text": json.dumps(CLUSTERS | {"perUser": {"gpus": 3}})})
        assert changed["per_user"]["gpus"] == 3
        refused = queue.put("/limits", {"text": '{"perUser": {"gpu": 3}}'}, status=400)
        assert "unknown field 'gpu'" in refused["message"]
        assert queue.get("/limits")["per_user"]["gpus"] == 3
    finally:
        queue.put("/limits", {"text": json.dumps(CLUSTERS)})
