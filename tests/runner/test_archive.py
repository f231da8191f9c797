import hashlib
import io
import os
import subprocess
import zipfile

import pytest

from runner.archive import zipped
from runner.artifacts import Choice, JobFolders
from runner.checksums import Checksums


@pytest.fixture
def folders(tmp_path):
    made = JobFolders(tmp_path / "jobs")
    for index, text in enumerate(["zero", "one"]):
        output = made.output("j", 1, "a-worker", index)
        (output / "deep" / "er").mkdir(parents=True)
        (output / "deep" / "er" / "é 中.txt").write_text(text)
        (output / "top").write_bytes(os.urandom(600_000))
        (output / "secret").symlink_to("/etc/passwd")
        (output / "etc").symlink_to("/etc")
    return made


def opened(folders, files):
    return zipfile.ZipFile(io.BytesIO(b"".join(zipped(folders, "j", files))))


def test_an_archive_holds_every_file_as_it_was_written_and_their_checksums(folders):
    with opened(folders, folders.artifacts("j")) as archive:
        assert archive.testzip() is None
        names = ["1/a-worker-0/deep/er/é 中.txt", "1/a-worker-0/top",
                 "1/a-worker-1/deep/er/é 中.txt", "1/a-worker-1/top"]
        assert archive.namelist() == [*names, "SHA256SUMS"]
        assert archive.read(names[2]) == b"one"
        sums = "".join(f"{hashlib.sha256(archive.read(name)).hexdigest()}  {name}\n"
                       for name in names)
        assert archive.read("SHA256SUMS").decode() == sums


def test_what_info_zip_unpacks_is_what_its_checksums_say(folders, tmp_path):
    (tmp_path / "a.zip").write_bytes(b"".join(zipped(folders, "j", folders.artifacts("j"))))
    subprocess.run(["python3", "-m", "zipfile", "-e", "a.zip", "out"], cwd=tmp_path, check=True)
    subprocess.run(["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=tmp_path / "out", check=True,
                   stdout=subprocess.DEVNULL)


def test_a_file_that_is_gone_or_became_a_link_is_named_and_nothing_else_is_read(folders):
    files = folders.artifacts("j")
    path = folders.output("j", 1, "a-worker", 0) / "top"
    path.unlink()
    path.symlink_to("/etc/passwd")
    with opened(folders, files) as archive:
        assert len(archive.namelist()) == 4
        assert "# 1/a-worker-0/top was removed" in archive.read("SHA256SUMS").decode()


@pytest.mark.parametrize("choice, count", [
    (Choice(), 4), (Choice(index=1), 2), (Choice(role="a-worker", attempt=1), 4),
    (Choice(attempt=2), 0), (Choice(role="other"), 0), (Choice(folder="deep"), 2),
    (Choice(folder="/deep/er/"), 2), (Choice(folder="dee"), 0), (Choice(folder="top"), 2),
    (Choice(folder=".."), 0)])
def test_some_of_the_files_can_be_chosen(folders, choice, count):
    assert len(list(filter(choice.has, folders.artifacts("j")))) == count


def test_checksums_follow_a_file_that_changes_and_leave_out_one_that_is_gone(folders):
    checksums, files = Checksums(), folders.artifacts("j")
    path = folders.output("j", 1, "a-worker", 0) / "deep" / "er" / "é 中.txt"
    assert checksums.of(folders, "j", files)[0] == hashlib.sha256(b"zero").hexdigest()
    path.write_bytes(b"another text")
    assert checksums.of(folders, "j", files)[0] == hashlib.sha256(b"another text").hexdigest()
    path.unlink()
    assert checksums.of(folders, "j", files)[0] is None
    assert all(checksums.of(folders, "j", files)[1:])


def test_storage_of_a_job_that_looks_like_an_output_folder_is_none(folders):
    (folders.storage("j") / "model" / "output").mkdir(parents=True)
    (folders.storage("j") / "model" / "output" / "x").write_text("x")
    (folders.storage("j") / "model" / "log").write_text("x")
    assert len(folders.artifacts("j")) == 4 and folders.log_bytes("j") == 0
