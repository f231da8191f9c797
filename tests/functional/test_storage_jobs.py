"""Jobs with a real bucket: brought at the start, sent at the end, however the job ends."""
import json
import os
import subprocess

import fsspec
import pytest

from tests.functional.runner_process import RunnerProcess, spec, wait_for
from tests.runner.s3_server import S3Server

UNTIL_GO = "until [ -e $PAI_OUTPUT_DIR/go ]; do sleep 0.1; done"


@pytest.fixture(scope="module")
def server():
    with S3Server() as running:
        client(running).call_s3("create_bucket", Bucket="lab")
        yield running


def client(server):
    """Somebody else at the same server."""
    return fsspec.filesystem("s3", key=server.access_key, secret=server.secret_key,
                             endpoint_url=server.url, use_listings_cache=False,
                             skip_instance_cache=True)


@pytest.fixture
def storages(tmp_path, server):
    path = tmp_path / "storages.json"
    (tmp_path / "shared").mkdir()
    (tmp_path / "nas").mkdir()
    path.write_text(json.dumps({
        "lab": {"kind": "s3", "bucket": "lab", "endpoint": server.url, "members": ["ann"],
                "accessKey": server.access_key, "secretKey": server.secret_key},
        "shared": {"kind": "folder", "path": str(tmp_path / "shared")},
        "nas": {"kind": "folder", "path": str(tmp_path / "nas"), "mustBeMounted": True}}))
    path.chmod(0o600)
    return path


@pytest.fixture
def runner(tmp_path, storages, busybox_image):
    process = RunnerProcess(tmp_path / "runner", RUNNER_STORAGES=str(storages))
    process.start()
    yield process
    process.close()


def item(kind, uri, target):
    return {"kind": kind, "uri": uri, "target": target}


def test_a_failed_job_too_has_sent_what_it_wrote_and_nobody_sees_the_keys(
        runner, server, tmp_path):
    bucket = client(server)
    bucket.pipe({"lab/raw/digits.csv": b"1,2\n", "lab/runs/one/old": b"old\n"})
    job = runner.run(spec(
        "cat in/digits.csv out/one/old", "mkdir out/one/deep", "echo 7 > out/one/deep/result",
        "echo shared > common/shared/note", "exit 3",
        data=[item("file", "s3://lab/raw/digits.csv", "in/digits.csv")],
        storage=[item("storage", "s3://lab/runs/one", "out/one"),
                 item("storage", "storage://shared", "common/shared")]))
    assert (job["state"], job["attempts"][0]["tasks"][0]["exit_code"]) == ("FAILED", 3)
    assert runner.log(job["id"]) == "1,2\nold\n"
    assert bucket.cat_file("lab/runs/one/deep/result") == b"7\n"
    assert sorted(bucket.find("lab/runs/one")) == ["lab/runs/one/deep/result", "lab/runs/one/old"]
    assert (tmp_path / "shared/note").read_text() == "shared\n"
    assert "Sent 1 file to s3://lab/runs/one." in [event["text"] for event in job["events"]]
    told = json.dumps(job).encode() + (tmp_path / "runner.log").read_bytes()
    for path in (tmp_path / "runner").rglob("*"):
        told += path.read_bytes() if path.is_file() else b""
    assert server.secret_key.encode() not in told and server.access_key.encode() not in told


def test_the_containers_of_a_job_know_no_keys(runner, server):
    job = runner.submit(spec("env", UNTIL_GO, storage=[
        item("storage", "s3://lab/runs/seen", "out/seen")]))
    runner.wait(job, "RUNNING")
    wait_for(runner.containers, "the container is there")
    seen = json.dumps([container.attrs for container in runner.containers()])
    (runner.home / f"jobs/{job}/1/main-0/output/go").touch()
    runner.wait(job)
    assert server.secret_key not in seen + runner.log(job)
    assert server.access_key not in seen + runner.log(job)


def test_who_is_no_member_gets_nothing_even_where_it_is_here_already(runner, server):
    client(server).pipe_file("lab/raw/member.csv", b"1,2\n")
    data = [item("file", "s3://lab/raw/member.csv", "in/member.csv")]
    assert runner.run(spec("cat in/member.csv", data=data))["state"] == "SUCCEEDED"
    job = runner.run(spec("cat in/member.csv", data=data, user="eve"))
    assert job["state"] == "FAILED"
    assert job["reason"].startswith("User eve may not use s3://lab. Ask the operator")


def test_storage_is_sent_when_a_server_is_back_that_was_away_and_the_runner_was_killed_meanwhile(
        runner, server, storages):
    job = runner.submit(spec("echo 8 > out/two/result", UNTIL_GO, storage=[
        item("storage", "s3://lab/runs/two", "out/two")]))
    runner.wait(job, "RUNNING")
    output = runner.home / f"jobs/{job}/1/main-0/output"
    wait_for(output.exists, "the task has its folder")
    right = storages.read_text()
    storages.write_text(right.replace(server.url, "http://127.0.0.1:1"))
    (output / "go").touch()
    wait_for(lambda: "Trying again" in runner.job(job)["reason"], "the bucket is away", 60)
    runner.kill()
    storages.write_text(right)
    runner.start()
    assert runner.wait(job)["state"] == "SUCCEEDED"
    assert client(server).cat_file("lab/runs/two/result") == b"8\n"


@pytest.mark.skipif(os.getuid() != 0, reason="only root may mount a file system")
def test_nothing_is_written_where_a_file_system_is_not_mounted_yet(runner, tmp_path):
    nas = tmp_path / "nas"
    job = runner.submit(spec("echo 9 > out/nas/result", storage=[
        item("storage", "storage://nas", "out/nas")]))
    wait_for(lambda: "storage://nas is not mounted" in runner.job(job)["reason"], "it says why")
    assert not list(nas.iterdir())
    subprocess.run(["mount", "-t", "tmpfs", "nas", nas], check=True)
    try:
        assert runner.wait(job)["state"] == "SUCCEEDED"
        assert (nas / "result").read_text() == "9\n"
    finally:
        subprocess.run(["umount", "--lazy", nas], check=True)
    assert not list(nas.iterdir())
