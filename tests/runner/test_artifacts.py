import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from runner.artifacts import JobFolders
from runner.errors import NotFoundError

DEEP = """
import os
open("top", "w")
for _ in range(3000):
    os.mkdir("d")
    os.chdir("d")
open("x", "w")
"""


def test_artifacts_are_regular_files_of_every_attempt_with_size_and_place(tmp_path):
    folders = JobFolders(tmp_path)
    output = folders.output("j", 2, "worker", 0)
    (output / "deep").mkdir(parents=True)
    (output / "deep" / "model.npz").write_bytes(b"12345")
    (output / "link").symlink_to("/etc/passwd")
    assert [(a.attempt, a.role, a.index, a.path, a.size) for a in folders.artifacts("j")] == [
        (2, "worker", 0, "deep/model.npz", 5)]


@pytest.mark.parametrize("path", ["../log", "../../../../etc/passwd", "link", "missing", "folder"])
def test_only_artifacts_are_given_out(tmp_path, path):
    folders = JobFolders(tmp_path)
    output = folders.output("j", 1, "worker", 0)
    (output / "folder").mkdir(parents=True)
    (output.parent / "log").write_bytes(b"secret")
    (output / "link").symlink_to("/etc/passwd")
    with pytest.raises(NotFoundError):
        folders.artifact("j", 1, "worker", 0, path)


def test_a_name_that_is_no_utf_8_is_listed_and_found(tmp_path):
    folders = JobFolders(tmp_path)
    output = folders.output("j", 1, "worker", 0)
    output.mkdir(parents=True)
    Path(os.fsdecode(os.fsencode(output) + b"/bad\xff.txt")).write_text("text")
    assert [item.path for item in folders.artifacts("j")] == ["bad\ufffd.txt"]
    with folders.artifact("j", 1, "worker", 0, "bad\ufffd.txt") as file:
        assert file.read() == b"text"


@pytest.mark.parametrize("path", [
    "nul\0", "a" * 5000, "\ud800", "/etc/passwd", "//etc/passwd", ".", ""])
def test_no_path_that_cannot_be_is_an_artifact(tmp_path, path):
    folders = JobFolders(tmp_path)
    folders.output("j", 1, "worker", 0).mkdir(parents=True)
    with pytest.raises(NotFoundError):
        folders.artifact("j", 1, "worker", 0, path)


def test_a_file_that_becomes_a_link_while_it_is_opened_is_not_given_out(tmp_path):
    folders = JobFolders(tmp_path)
    output = folders.output("j", 1, "worker", 0)
    output.mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    ended = threading.Event()

    def exchange():
        while not ended.is_set():
            (output / "f").unlink(missing_ok=True)
            (output / "f").write_text("own")
            (output / "l").symlink_to(tmp_path / "secret")
            (output / "l").rename(output / "f")
    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        for _ in range(500):
            with suppress(NotFoundError), folders.artifact("j", 1, "worker", 0, "f") as file:
                assert file.read() in (b"own", b"")
    finally:
        ended.set()
        thread.join()


def test_folders_deeper_than_any_path_are_listed_in_part_and_removed_whole(tmp_path):
    folders = JobFolders(tmp_path)
    for place in (folders.output("j", 1, "worker", 0), folders.work("j", 1, "worker", 0)):
        place.mkdir(parents=True)
        subprocess.run([sys.executable, "-c", DEEP], cwd=place, check=True)
    assert [item.path for item in folders.artifacts("j")] == ["top"]
    folders.drop_work("j", 1, "worker", 0)
    assert not folders.work("j", 1, "worker", 0).exists()
    subprocess.run(["rm", "-rf", folders.root / "j"], check=True)


def test_a_file_below_a_linked_folder_is_not_given_out(tmp_path):
    folders = JobFolders(tmp_path)
    output = folders.output("j", 1, "worker", 0)
    output.mkdir(parents=True)
    (output / "etc").symlink_to("/etc")
    with pytest.raises(NotFoundError):
        folders.artifact("j", 1, "worker", 0, "etc/passwd")


def test_an_artifact_is_given_out_as_it_was_written(tmp_path):
    folders = JobFolders(tmp_path)
    output = folders.output("j", 1, "worker", 0)
    (output / "deep").mkdir(parents=True)
    for path in ("a b", "new\nline", "deep/中.txt", "q\"uote"):
        (output / path).write_text(path)
        with folders.artifact("j", 1, "worker", 0, path) as file:
            assert file.read() == path.encode()
