"""A disk damages what was kept of a log: what Docker still has comes back, the rest is said."""
from tests.functional.runner_process import spec, wait_for

KEPT = {"storage": [{"kind": "storage", "uri": "kept", "target": "out"}]}
LINES = "".join(f"line {number}\n" for number in range(1, 1001))


def damage(path):
    """Its first record is none any more."""
    with open(path, "r+b") as file:
        file.write(b"\xa5" * 64)


def written(runner):
    """A job that has written LINES and waits for the gate."""
    job_id = runner.submit(spec("for i in $(seq 1 1000); do echo line $i; done",
                                "until test -e out/open; do sleep 0.01; done", "echo end", **KEPT))
    wait_for(lambda: runner.log(job_id) == LINES, "the job has written", 60)
    return job_id


def open_gate(runner):
    (runner.home / "storage/ann/kept/open").touch()


def test_a_log_that_is_damaged_while_the_runner_is_down_is_whole_again(runner):
    job_id = written(runner)
    runner.kill()
    damage(runner.home / "jobs" / job_id / "1/main-0/log")
    runner.start()
    open_gate(runner)
    job = runner.wait(job_id)
    assert (job["state"], len(job["attempts"])) == ("SUCCEEDED", 1)
    assert runner.log(job_id) == f"{LINES}end\n"


def test_a_log_that_is_damaged_when_all_is_over_says_what_is_missing(runner):
    job_id = written(runner)
    open_gate(runner)
    runner.wait(job_id)
    damage(runner.home / "jobs" / job_id / "1/main-0/log")
    text = runner.log(job_id)
    assert "bytes of this log are damaged and left out." in text and text.endswith("end\n")
    page = runner.get(f"/jobs/{job_id}/attempts/1/tasks/main/0/log", limit=1 << 22)
    assert page["is_complete"] and page["records"][0]["stream"] == "notice"
