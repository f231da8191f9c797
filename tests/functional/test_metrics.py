from prometheus_client.parser import text_string_to_metric_families

from tests.functional.runner_process import spec, wait_for

MB = 2**20


def test_a_running_task_shows_what_it_uses_and_keeps_it(shared_runner):
    job_id = shared_runner.submit(spec(
        "head -c 20000000 /dev/zero > /dev/shm/x",
        "while [ ! -e /tmp/enough ]; do :; done",
        resources={"cpu": 1, "memory_mb": 200, "shm_mb": 64}))
    task = f"/jobs/{job_id}/attempts/1/tasks/main/0"

    def samples():
        return shared_runner.get(f"{task}/metrics").get("samples", [])

    shared_runner.wait(job_id, "RUNNING")
    wait_for(lambda: any(each["memory"] > 19 * MB and each["cpu_s"] > 0.1 for each in samples()),
             "the memory and the time of the task show")
    shared_runner.post(f"/jobs/{job_id}/stop")
    ended = shared_runner.wait(job_id)["attempts"][0]["tasks"][0]
    kept = samples()
    assert ended["usage"] == kept[-1]
    assert 19 * MB < kept[-1]["peak_memory"] < 200 * MB
    assert [each["time"] for each in kept] == sorted(each["time"] for each in kept)
    assert kept[-1]["received"] is not None


def test_a_runner_that_was_killed_goes_on_sampling(runner):
    job_id = runner.submit(spec("while [ ! -e /tmp/enough ]; do sleep 0.1; done"))
    task = f"/jobs/{job_id}/attempts/1/tasks/main/0/metrics"
    wait_for(lambda: runner.get(task).get("samples"), "there is a first sample")
    before = runner.get(task)["samples"]
    runner.kill()
    runner.start()
    wait_for(lambda: len(runner.get(task)["samples"]) > len(before), "there are more samples")
    assert runner.get(task)["samples"][:len(before)] == before
    runner.post(f"/jobs/{job_id}/stop")
    runner.wait(job_id)


def test_prometheus_reads_jobs_machine_and_tasks(shared_runner):
    job_id = shared_runner.submit(spec("while [ ! -e /tmp/enough ]; do sleep 0.1; done"))
    task = f"/jobs/{job_id}/attempts/1/tasks/main/0/metrics"
    wait_for(lambda: shared_runner.get(task).get("samples"), "there is a first sample")
    answer = shared_runner.http.get(shared_runner.url("/metrics"), timeout=60)
    found = {sample.name: sample for family in text_string_to_metric_families(answer.text)
             for sample in family.samples
             if sample.labels.get("job", job_id) == job_id
             and sample.labels.get("state", "RUNNING") == "RUNNING"
             and sample.labels.get("is", "total") == "total"}
    assert found["paishare_jobs"].value >= 1 and found["paishare_gpus"].value == 0
    assert found["paishare_task_memory_bytes"].labels == {
        "job": job_id, "attempt": "1", "task": "main-0", "user": "ann"}
    assert found["paishare_task_cpu_seconds_total"].value >= 0
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    shared_runner.post(f"/jobs/{job_id}/stop")
    shared_runner.wait(job_id)
