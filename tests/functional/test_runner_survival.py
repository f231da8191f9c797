"""`kill -9` of the runner at any moment: no job lost or run twice, no line missing."""
import os
import random
import subprocess
import sys
import time

import docker
import pytest

from tests.functional.runner_process import IMAGE, ROOT, spec, task_role, wait_for

SMALL = {"cpu": 1, "memory_mb": 100}
COUNTING = ("echo ran >> $PAI_OUTPUT_DIR/starts",
            "for i in $(seq 1 40); do echo line $i; echo err $i >&2; sleep 0.03; done")


def starts(runner, job_id, role="main", index=0):
    return (runner.home / "jobs" / job_id / "1" / f"{role}-{index}" / "output" / "starts"
            ).read_text()


@pytest.mark.parametrize("delay_s", [0.02, 0.2, 0.9])
def test_a_job_is_followed_to_its_end_after_a_kill(runner, delay_s):
    job_id = runner.submit(spec(*COUNTING))
    time.sleep(delay_s)
    runner.kill()
    runner.start()
    job = runner.wait(job_id)
    assert (job["state"], len(job["attempts"]), starts(runner, job_id)) == ("SUCCEEDED", 1, "ran\n")
    for stream, word in (("stdout", "line"), ("stderr", "err")):
        expected = "".join(f"{word} {number}\n" for number in range(1, 41))
        assert runner.log(job_id, stream=stream) == expected
    assert runner.containers() == []


def test_a_job_that_ended_while_the_runner_was_down_is_collected(runner):
    job_id = runner.submit(spec(*COUNTING, "exit 5"))
    wait_for(lambda: "line 3" in runner.log(job_id), "the job writes")
    runner.kill()
    (container,) = runner.containers()
    container.wait()
    runner.start()
    job = runner.wait(job_id)
    assert (job["state"], job["attempts"][0]["tasks"][0]["exit_code"]) == ("FAILED", 5)
    assert runner.log(job_id, stream="stdout").endswith("line 40\n")


@pytest.mark.parametrize("delay_s", [0.1, 0.4])
def test_all_tasks_of_a_job_start_once_wherever_the_kill_falls(runner, delay_s):
    job = spec()
    job["task_roles"] = [task_role(name, *COUNTING, resources=SMALL, instances=2)
                         for name in ("a", "b")]
    job_id = runner.submit(job)
    time.sleep(delay_s)
    runner.kill()
    runner.start()
    ended = runner.wait(job_id)
    assert (ended["state"], len(ended["attempts"])) == ("SUCCEEDED", 1)
    assert [starts(runner, job_id, role, index) for role in "ab" for index in (0, 1)] \
        == ["ran\n"] * 4


def test_a_stop_that_was_requested_before_the_kill_is_carried_out_after_it(runner):
    job_id = runner.submit(spec("trap '' TERM; while true; do sleep 0.1; done"))
    runner.wait(job_id, "RUNNING")
    runner.post(f"/jobs/{job_id}/stop")
    runner.kill()
    runner.start()
    assert runner.wait(job_id)["state"] == "STOPPED"
    assert runner.containers() == []


def test_a_queue_survives_and_keeps_its_order(runner):
    cpus = runner.get("/machine")["cpus"]
    all_of_it = {"resources": {**SMALL, "cpu": cpus}}
    jobs = [runner.submit(spec("sleep 2", **all_of_it))]
    runner.wait(jobs[0], "RUNNING")
    jobs += [runner.submit(spec("sleep 0.2", **all_of_it)) for _ in range(3)]
    wait_for(lambda: all(runner.job(job)["stage"] == "queue" for job in jobs[1:]), "all wait")
    runner.kill()
    runner.start()
    ended = [runner.wait(job) for job in jobs]
    assert [job["state"] for job in ended] == ["SUCCEEDED"] * 4
    assert sorted(ended, key=lambda job: job["started_at"]) == ended


def test_a_gentle_end_leaves_containers_running_for_the_next_start(runner):
    job_id = runner.submit(spec(*COUNTING))
    wait_for(lambda: "line 5" in runner.log(job_id), "the job writes")
    runner.process.terminate()
    assert runner.process.wait(15) == 0
    assert [container.status for container in runner.containers()] == ["running"]
    runner.start()
    assert runner.wait(job_id)["state"] == "SUCCEEDED"
    assert runner.log(job_id, stream="stdout").count("line ") == 40


def test_a_container_that_someone_removed_is_said_so_and_tried_again(runner):
    job_id = runner.submit(spec("test -e out/kept/again || { touch out/kept/again; sleep 60; }",
                                storage=[{"kind": "storage", "uri": "kept",
                                          "target": "out/kept"}]))
    runner.wait(job_id, "RUNNING")
    wait_for(lambda: (runner.home / "storage/ann/kept/again").exists(), "the job has begun")
    for container in runner.containers():
        container.remove(force=True)
    job = runner.wait(job_id)
    assert (job["state"], job["retries"], len(job["attempts"])) == ("SUCCEEDED", 0, 2)
    assert "removed from outside" in job["attempts"][0]["tasks"][0]["exit_text"]


def test_what_nobody_owns_is_removed_and_what_others_own_is_not_touched(runner):
    client = docker.from_env()
    own = {"paishare.runner": (runner.home / "id").read_text(), "paishare.job": "gone"}
    orphan = client.containers.run(IMAGE, "sleep 60", detach=True, labels=own)
    foreign = client.containers.run(IMAGE, "sleep 60", detach=True,
                                    labels={"paishare.runner": "somebody-else"})
    try:
        runner.kill()
        runner.start()
        with pytest.raises(docker.errors.NotFound):
            orphan.reload()
        foreign.reload()
        assert foreign.status == "running"
    finally:
        foreign.remove(force=True)
        client.close()


def test_a_second_runner_on_the_same_home_refuses_to_start(runner):
    ended = subprocess.run([sys.executable, "-m", "runner"], cwd=ROOT, capture_output=True,
                           text=True, env={**os.environ, "RUNNER_HOME": str(runner.home)})
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"runner: Another runner works on {runner.home}.")


def test_many_kills_in_a_row_lose_nothing_of_many_jobs(runner):
    moments = random.Random(7)
    single = [runner.submit(spec(*COUNTING, resources=SMALL)) for _ in range(6)]
    double = spec()
    double["task_roles"] = [task_role("pair", *COUNTING, resources=SMALL, instances=2)]
    pairs = [runner.submit(double) for _ in range(2)]
    for _ in range(12):
        time.sleep(moments.uniform(0, 0.8))
        runner.kill()
        runner.start()
    expected = "".join(f"line {number}\n" for number in range(1, 41))
    tasks = [(job, "main", 0) for job in single]
    tasks += [(job, "pair", index) for job in pairs for index in (0, 1)]
    for job_id, role, index in tasks:
        assert runner.wait(job_id, timeout_s=120)["state"] == "SUCCEEDED"
        assert starts(runner, job_id, role, index) == "ran\n"
        assert runner.log(job_id, role, index, stream="stdout") == expected
    assert runner.containers() == []


def test_a_job_that_the_runner_cannot_follow_ends_and_says_so(runner):
    job_id = runner.submit(spec("echo up; sleep 60"))
    wait_for(lambda: "up" in runner.log(job_id), "the job writes")
    log = runner.home / "jobs" / job_id / "1" / "main-0" / "log"
    runner.kill()
    log.unlink()
    log.mkdir()
    runner.start()
    wait_for(lambda: runner.job(job_id)["attempts"][1:], "another attempt follows", 60)
    job = runner.job(job_id)
    assert "The runner failed (IsADirectoryError)" in job["attempts"][0]["reason"]
    assert len(runner.containers()) <= 1
