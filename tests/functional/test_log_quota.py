import pytest

from tests.functional.runner_process import RunnerProcess, spec

MB = 2**20


@pytest.fixture
def small_logs(tmp_path, busybox_image):
    process = RunnerProcess(tmp_path / "runner", RUNNER_LOG_QUOTA_MB="1")
    process.start()
    yield process
    process.close()


def test_a_job_that_logs_more_than_its_quota_runs_on_and_the_log_says_so(small_logs):
    job = small_logs.run(spec("yes 0123456789abcde | head -c 3000000", "exit 3", retry_count=1))
    first, second = (small_logs.log(job["id"], attempt=number) for number in (1, 2))
    assert first.startswith("0123456789abcde\n") and "quota of 1 MiB" in first
    assert len(first) - MB < 1000 and len(second) < 1000 and "quota of 1 MiB" in second
    assert job["state"] == "FAILED" and job["attempts"][1]["tasks"][0]["exit_code"] == 3
    task = f"/jobs/{job['id']}/attempts/1/tasks/main/0"
    found = small_logs.get(f"{task}/log/search", text="QUOTA")
    assert [line["stream"] for line in found["lines"]] == ["notice"]
