from tests.functional.runner_process import spec

MB = 2**20


def test_every_attempt_leaves_a_receipt_of_what_truly_ran(shared_runner):
    job = shared_runner.run(spec(
        "head -c 9000000 /dev/zero > /dev/shm/x; sleep 3; exit 7", retry_count=1,
        resources={"cpu": 1, "memory_mb": 200, "shm_mb": 64}))
    first, second = (shared_runner.get(f"/jobs/{job['id']}/attempts/{number}/receipt")
                     for number in (1, 2))
    assert (first["attempt"], second["attempt"]) == (1, 2)
    assert (first["state"], first["cause"]) == ("FAILED", "user")
    task, = first["tasks"]
    assert (task["exit_code"], task["gpus"]) == (7, [])
    assert task["wall_s"] >= 3 and task["peak_memory"] > 8 * MB
    assert first["spec"]["task_roles"][0]["image"]["digest"].startswith("sha256:")
    assert {"docker", "kernel", "cgroups", "gpu_driver", "cpus", "memory_mb"} == set(
        first["machine"])


def test_an_attempt_that_has_not_ended_has_no_receipt_yet(shared_runner):
    id_ = shared_runner.submit(spec("sleep 60"))
    shared_runner.wait(id_, "RUNNING")
    answer = shared_runner.get(f"/jobs/{id_}/attempts/1/receipt")
    assert answer["message"] == (
        f"Attempt 1 of job {id_} has left no receipt. One is written when an attempt ends.")


def test_the_pinned_spec_of_a_receipt_runs_again(shared_runner):
    job = shared_runner.run(spec("echo once more"))
    receipt = shared_runner.get(f"/jobs/{job['id']}/attempts/1/receipt")
    again = shared_runner.run(receipt["spec"])
    assert again["state"] == "SUCCEEDED"
    assert shared_runner.log(again["id"]) == "once more\n"
