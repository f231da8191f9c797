"""What a job may rely on, tried on a real runner and real containers."""
import hashlib
import socket
import subprocess

import pytest

from tests.functional.runner_process import spec, task_role, wait_for

SMALL = {"cpu": 1, "memory_mb": 100}


def log_of(runner, job, **where):
    return runner.log(job["id"], **where)


def test_a_job_runs_its_commands_in_one_shell_and_leaves_log_and_artifacts(shared_runner):
    job = shared_runner.run(spec("word=hello", "cd /tmp", "echo $word from $PWD",
                                 "echo model > $PAI_OUTPUT_DIR/model.txt"))
    assert (job["state"], job["reason"]) == ("SUCCEEDED", "The task succeeded.")
    assert log_of(shared_runner, job) == "hello from /tmp\n"
    files = shared_runner.get(f"/jobs/{job['id']}/artifacts")["artifacts"]
    assert [(f["attempt"], f["role"], f["index"], f["path"], f["size"]) for f in files] == [
        (1, "main", 0, "model.txt", 6)]
    url = shared_runner.url(f"/jobs/{job['id']}/artifacts/1/main/0/model.txt")
    assert shared_runner.http.get(url).content == b"model\n"


def test_nothing_of_a_job_is_left_but_its_log_and_output(shared_runner):
    job = shared_runner.run(spec("true"))
    assert shared_runner.containers() == []
    folder = shared_runner.home / "jobs" / job["id"] / "1" / "main-0"
    assert sorted(path.name for path in folder.iterdir()) == ["commands", "log", "output"]


def test_stages_are_told_in_order(shared_runner):
    job = shared_runner.run(spec("true"))
    stages = [event["stage"] for event in job["events"]]
    assert stages == sorted(stages, key=["setup", "image", "data", "queue", "run", "end"].index)
    assert {"setup", "image", "run", "end"} <= set(stages)


def test_the_first_command_that_fails_ends_the_task(shared_runner):
    job = shared_runner.run(spec("echo before", "sh -c 'exit 7'", "echo never"))
    task = job["attempts"][0]["tasks"][0]
    assert (job["state"], task["state"], task["exit_code"]) == ("FAILED", "FAILED", 7)
    assert job["reason"] == "The task failed: exit code 7."
    assert log_of(shared_runner, job) == "before\n"


def test_stdout_and_stderr_are_kept_apart_and_in_order(shared_runner):
    job = shared_runner.run(spec(
        "for i in 1 2 3; do echo out$i; sleep 0.05; echo err$i >&2; sleep 0.05; done"))
    assert log_of(shared_runner, job, stream="stdout") == "out1\nout2\nout3\n"
    assert log_of(shared_runner, job, stream="stderr") == "err1\nerr2\nerr3\n"
    assert log_of(shared_runner, job) == "out1\nerr1\nout2\nerr2\nout3\nerr3\n"


def test_a_burst_of_20_mb_is_kept_to_the_last_byte(shared_runner):
    job = shared_runner.run(spec("seq 1 2900000"), timeout_s=120)
    url = shared_runner.url(f"/jobs/{job['id']}/attempts/1/tasks/main/0/log/raw")
    expected = "".join(f"{number}\n" for number in range(1, 2900001)).encode()
    assert len(expected) > 20_000_000
    assert hashlib.sha256(shared_runner.http.get(url).content).digest() \
        == hashlib.sha256(expected).digest()


def test_bytes_that_are_no_text_and_a_missing_last_newline_are_kept(shared_runner):
    job = shared_runner.run(spec(r"printf '\377\000caf\303\251 50%%\r'"))
    url = shared_runner.url(f"/jobs/{job['id']}/attempts/1/tasks/main/0/log/raw")
    assert shared_runner.http.get(url).content == b"\xff\x00caf\xc3\xa9 50%\r"


def test_a_log_is_followed_while_it_is_written(shared_runner):
    job_id = shared_runner.submit(spec("echo first; sleep 1; echo second"))
    path = f"/jobs/{job_id}/attempts/1/tasks/main/0/log"
    wait_for(lambda: shared_runner.job(job_id)["attempts"], "the job runs")
    seen, offset, is_complete = "", 0, False
    while not is_complete:
        page = shared_runner.get(path, offset=offset, wait_s=10)
        seen += "".join(record["text"] for record in page["records"])
        offset, is_complete = page["offset"], page["is_complete"]
    assert seen == "first\nsecond\n"


def test_the_container_has_the_limits_that_were_asked_for(shared_runner):
    job = shared_runner.run(spec(
        "grep -E 'NoNewPrivs|CapEff' /proc/self/status", "df -m /dev/shm | tail -n 1",
        "cat /proc/1/cmdline | tr '\\0' ' '", "echo",
        "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null"
        " || true", "cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null || true",
        resources={**SMALL, "memory_mb": 128, "shm_mb": 70}))
    text = log_of(shared_runner, job)
    assert "NoNewPrivs:\t1" in text and "docker-init" in text
    assert str(128 << 20) in text and "4096" in text and "shm" in text and " 70 " in text
    assert "00000000a80425fb" in text  # Docker's default capabilities and not one more


def test_memory_beyond_the_limit_is_called_out_of_memory(shared_runner):
    job = shared_runner.run(spec("tail /dev/zero", resources=SMALL))
    task = job["attempts"][0]["tasks"][0]
    assert (job["state"], task["oom_killed"], job["attempts"][0]["cause"]) \
        == ("FAILED", True, "memory")
    assert task["usage"] is None or task["usage"]["peak_memory"] >= 100 << 20
    assert "100 MiB" in job["reason"]
    kept = shared_runner.get(f"/jobs/{job['id']}/attempts/1/receipt")["tasks"][0]
    assert kept["peak_memory"] == 100 << 20


def test_a_kill_from_inside_is_not_called_out_of_memory(shared_runner):
    job = shared_runner.run(spec("kill -9 $$"))
    assert job["attempts"][0]["tasks"][0]["oom_killed"] is False
    assert "SIGKILL" in job["reason"]


def test_every_variable_of_the_format_is_set(shared_runner):
    job = shared_runner.run(spec("env", ports=[{"label": "web", "begin_at": 0, "count": 2}],
                                 resources={**SMALL, "shm_mb": 65}))
    seen = dict(line.split("=", 1) for line in log_of(shared_runner, job).splitlines())
    ports = job["attempts"][0]["tasks"][0]["ports"]
    web = ",".join(map(str, ports["web"]))
    assert seen["PAI_CONTAINER_HOST_web_PORT_LIST"] == web
    assert f"web:{web}" in seen["PAI_CONTAINER_HOST_PORT_LIST"].split(";")
    assert seen["PAI_TASK_ROLE_main_HOST_LIST"].split(":")[0] == seen["PAI_CONTAINER_HOST_IP"]
    assert {name: seen[name] for name in (
        "PAI_WORK_DIR", "PAI_JOB_NAME", "PAI_JOB_VC_NAME", "PAI_USER_NAME",
        "PAI_CURRENT_TASK_ROLE_NAME", "PAI_CURRENT_TASK_ROLE_TASK_COUNT",
        "PAI_CURRENT_TASK_ROLE_CPU_COUNT", "PAI_CURRENT_TASK_ROLE_MEM_MB",
        "PAI_CURRENT_TASK_ROLE_SHM_MB", "PAI_CURRENT_TASK_ROLE_GPU_COUNT",
        "PAI_CURRENT_TASK_ROLE_MIN_FAILED_TASK_COUNT",
        "PAI_CURRENT_TASK_ROLE_MIN_SUCCEEDED_TASK_COUNT",
        "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX", "PAI_JOB_TASK_COUNT",
        "PAI_JOB_TASK_ROLE_COUNT", "PAI_JOB_TASK_ROLE_LIST")} == {
        "PAI_WORK_DIR": "/work", "PAI_JOB_NAME": "test", "PAI_JOB_VC_NAME": "default",
        "PAI_USER_NAME": "ann", "PAI_CURRENT_TASK_ROLE_NAME": "main",
        "PAI_CURRENT_TASK_ROLE_TASK_COUNT": "1", "PAI_CURRENT_TASK_ROLE_CPU_COUNT": "1",
        "PAI_CURRENT_TASK_ROLE_MEM_MB": "100", "PAI_CURRENT_TASK_ROLE_SHM_MB": "65",
        "PAI_CURRENT_TASK_ROLE_GPU_COUNT": "0", "PAI_CURRENT_TASK_ROLE_MIN_FAILED_TASK_COUNT": "1",
        "PAI_CURRENT_TASK_ROLE_MIN_SUCCEEDED_TASK_COUNT": "",
        "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX": "0", "PAI_JOB_TASK_COUNT": "1",
        "PAI_JOB_TASK_ROLE_COUNT": "1", "PAI_JOB_TASK_ROLE_LIST": "main"}


def test_the_port_number_inside_is_the_one_that_others_reach(shared_runner):
    job_id = shared_runner.submit(spec(
        "nc -ll -p $PAI_CONTAINER_HOST_web_PORT_LIST -e echo hello from inside",
        ports=[{"label": "web"}]))
    shared_runner.wait(job_id, "RUNNING")
    task = shared_runner.job(job_id)["attempts"][0]["tasks"][0]

    def answer():
        address = task["ip"], task["ports"]["web"][0]
        try:
            with socket.create_connection(address, timeout=2) as client:
                return client.makefile().read() == "hello from inside\n"
        except OSError:
            return False
    wait_for(answer, "the service answers under its own number")
    shared_runner.post(f"/jobs/{job_id}/stop")
    assert shared_runner.wait(job_id)["state"] == "STOPPED"


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def test_a_fixed_port_is_given_exactly_and_a_second_job_waits_for_it(shared_runner):
    port = free_port()
    fixed = {"ports": [{"label": "web", "begin_at": port, "count": 1}], "resources": SMALL}
    first = shared_runner.submit(spec("sleep 30", **fixed))
    shared_runner.wait(first, "RUNNING")
    second = shared_runner.submit(spec("echo $PAI_CONTAINER_HOST_web_PORT_LIST", **fixed))
    wait_for(lambda: str(port) in shared_runner.job(second)["reason"], "it says which port")
    assert shared_runner.job(second)["state"] == "WAITING"
    shared_runner.post(f"/jobs/{first}/stop")
    assert shared_runner.wait(second)["state"] == "SUCCEEDED"
    assert shared_runner.log(second) == f"{port}\n"


def two_roles(server_command, worker_command, **worker):
    job = spec()
    job["task_roles"] = [
        task_role("server", server_command, resources=SMALL),
        task_role("worker", worker_command, resources=SMALL, instances=2, **worker)]
    return job


def test_tasks_find_each_other_and_the_job_ends_when_the_workers_have(shared_runner):
    job = shared_runner.run(two_roles(
        "host=$PAI_TASK_ROLE_server_HOST_LIST; nc -ll -p ${host#*:} -e echo served",
        "host=$PAI_TASK_ROLE_server_HOST_LIST;"
        " for i in $(seq 1 50); do nc ${host%:*} ${host#*:} </dev/null && exit 0; sleep 0.1; done;"
        " exit 1", min_succeeded_task_count=2))
    tasks = {(t["role"], t["index"]): t["state"] for t in job["attempts"][0]["tasks"]}
    assert (job["state"], tasks) == ("SUCCEEDED", {
        ("server", 0): "STOPPED", ("worker", 0): "SUCCEEDED", ("worker", 1): "SUCCEEDED"})
    assert shared_runner.log(job["id"], "worker", 1, stream="stdout").endswith("served\n")


def test_one_failed_task_ends_the_job_and_stops_the_others(shared_runner):
    job = shared_runner.run(two_roles("sleep 60", "exit $PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX",
                                      min_failed_task_count=1))
    states = {(t["role"], t["index"]): t["state"] for t in job["attempts"][0]["tasks"]}
    assert (job["state"], states["server", 0], states["worker", 1]) == (
        "FAILED", "STOPPED", "FAILED")
    assert job["reason"] == "Task worker 1 failed: exit code 1."


def test_failed_tasks_do_not_matter_where_the_count_is_null(shared_runner):
    job = shared_runner.run(two_roles(
        "sleep 0.2", "exit $PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX", min_failed_task_count=None))
    assert job["state"] == "SUCCEEDED"


def test_a_failed_job_is_tried_again_and_every_attempt_keeps_its_log(shared_runner):
    job = shared_runner.run(spec("echo try; exit 3", retry_count=1))
    assert (job["state"], job["retries"], len(job["attempts"])) == ("FAILED", 1, 2)
    assert [shared_runner.log(job["id"], attempt=number) for number in (1, 2)] == ["try\n"] * 2


def test_a_stop_gives_the_task_time_to_end_well(shared_runner):
    job_id = shared_runner.submit(spec("trap 'echo saved; exit 0' TERM; echo up;"
                                       " while true; do sleep 0.1; done"))
    wait_for(lambda: "up" in shared_runner.log(job_id), "the trap is set")
    shared_runner.post(f"/jobs/{job_id}/stop")
    job = shared_runner.wait(job_id)
    assert (job["state"], shared_runner.log(job_id)) == ("STOPPED", "up\nsaved\n")
    assert "stopped" in job["reason"]


def test_a_task_that_ignores_the_stop_is_killed_after_the_grace_period(shared_runner):
    job_id = shared_runner.submit(spec("trap '' TERM; echo up; while true; do sleep 0.1; done"))
    wait_for(lambda: "up" in shared_runner.log(job_id), "the trap is set")
    shared_runner.post(f"/jobs/{job_id}/stop")
    assert shared_runner.wait(job_id)["state"] == "STOPPED"


def test_a_job_that_can_never_run_here_says_why_at_once(shared_runner):
    answer = shared_runner.post("/jobs", {"spec": spec("true", resources={**SMALL, "gpu": 64})})
    assert answer["state"] == "FAILED" and "64 GPUs" in answer["reason"]


def test_a_job_that_does_not_fit_now_waits_and_says_for_what(shared_runner):
    cpus = shared_runner.get("/machine")["cpus"]
    big = {"resources": {**SMALL, "cpu": cpus}}
    first = shared_runner.submit(spec("sleep 30", **big))
    shared_runner.wait(first, "RUNNING")
    second, third = shared_runner.submit(spec("true", **big)), shared_runner.submit(spec("true"))
    wait_for(lambda: "CPU" in shared_runner.job(second)["reason"], "it says what is missing")
    wait_for(lambda: "ahead" in shared_runner.job(third)["reason"], "it keeps its place")
    shared_runner.post(f"/jobs/{first}/stop")
    assert [shared_runner.wait(job)["state"] for job in (second, third)] == ["SUCCEEDED"] * 2


def test_an_image_that_cannot_be_had_is_named(shared_runner):
    job = spec("true")
    job["task_roles"][0]["image"] = {"uri": "localhost/nobody/nothing:1"}
    ended = shared_runner.run(job)
    assert ended["state"] == "FAILED" and "localhost/nobody/nothing:1" in ended["reason"]


def test_the_same_submission_sent_again_is_the_same_job(shared_runner):
    first, second = (shared_runner.submit(spec("true"), "a-key") for _ in range(2))
    assert first == second


def test_a_broken_spec_is_refused_with_every_place(shared_runner):
    answer = shared_runner.post("/jobs", {"spec": {"name": "x y", "user": "ann", "task_roles": []}})
    assert answer["code"] == "InvalidSpec"
    assert {error["path"] for error in answer["errors"]} == {"$.name", "$.task_roles"}


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "shared" / "code"
    root.mkdir(parents=True)
    (root / "run.sh").write_text("echo script one\n")
    (root / "data.txt").write_text("real data\n")
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b"]
    for step in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *step], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True,
                            text=True).stdout.strip()
    (root / "run.sh").write_text("echo script two\n")
    subprocess.run([*git, "commit", "-qam", "two"], check=True)
    return f"file://{root}", commit


def test_scripts_data_and_storage_lie_below_their_names_pinned(runner, repository):
    uri, commit = repository
    inputs = {
        "script": [{"kind": "git", "uri": uri, "target": "code/code", "commit": commit}],
        "data": [{"kind": "git", "uri": uri, "target": "set/data.txt", "path": "data.txt",
                  "commit": commit}],
        "storage": [{"kind": "storage", "uri": "kept", "target": "out/kept"}]}
    job = runner.run(spec("sh code/code/run.sh", "cat set/data.txt", "echo x >> out/kept/count",
                          "wc -l < out/kept/count", **inputs))
    assert (job["state"], runner.log(job["id"])) == ("SUCCEEDED", "script one\nreal data\n1\n")
    pinned = job["spec"]["task_roles"][0]
    assert pinned["image"]["digest"].startswith("sha256:")
    assert pinned["data"][0]["sha256"] == hashlib.sha256(b"real data\n").hexdigest()
    again = runner.run(spec("wc -l < out/kept/count", storage=inputs["storage"]))
    assert runner.log(again["id"]) == "1\n"


def test_a_file_outside_the_allowed_folders_is_refused(runner):
    job = runner.run(spec("cat d/passwd", data=[
        {"kind": "file", "uri": "file:///etc/passwd", "target": "d/passwd"}]))
    assert job["state"] == "FAILED" and "/etc/passwd" in job["reason"]
