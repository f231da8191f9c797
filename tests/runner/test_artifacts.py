import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.artifacts import (
    JobFolders,
    LogQuota,
    TaskLog,
    iter_log,
    read_log,
    search_log,
)
from runner.errors import NotFoundError

DEEP = """
import os
open("top", "w")
for _ in range(3000):
    os.mkdir("d")
    os.chdir("d")
open("x", "w")
"""

chunks = st.lists(st.tuples(st.sampled_from(["stdout", "stderr"]), st.binary(max_size=40)))


def written(path, pieces, *, is_complete=True):
    log = TaskLog(path, LogQuota(1 << 30, 0))
    for stream, data in pieces:
        log.append(stream, data)
    log.close(is_complete=is_complete)


@settings(deadline=None)
@given(pieces=chunks)
def test_each_stream_comes_back_byte_for_byte(tmp_path_factory, pieces):
    path = tmp_path_factory.mktemp("log") / "log"
    written(path, pieces)
    for stream in ("stdout", "stderr"):
        assert b"".join(iter_log(path, stream)) == b"".join(d for s, d in pieces if s == stream)


@settings(deadline=None)
@given(text=st.text(), cuts=st.lists(st.integers(0, 200), max_size=8))
def test_text_cut_anywhere_is_never_cut_inside_a_character(tmp_path_factory, text, cuts):
    data, path = text.encode(), tmp_path_factory.mktemp("log") / "log"
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    written(path, [("stdout", data[a:b]) for a, b in zip(edges, edges[1:])])
    records, _, _ = read_log(path, 0, 1 << 20)
    assert "".join(record.data.decode() for record in records) == text


@settings(deadline=None)
@given(pieces=chunks, cut=st.integers(1, 60))
def test_a_log_cut_short_by_a_kill_goes_on_where_its_last_whole_record_ends(
        tmp_path_factory, pieces, cut):
    path = tmp_path_factory.mktemp("log") / "log"
    written(path, pieces, is_complete=False)
    os.truncate(path, max(0, path.stat().st_size - cut))
    log = TaskLog(path, LogQuota(1 << 30, 0))
    for stream in ("stdout", "stderr"):
        whole = b"".join(data for name, data in pieces if name == stream)
        log.append(stream, whole[log.sizes[stream]:])
    log.close(is_complete=True)
    for stream in ("stdout", "stderr"):
        assert b"".join(iter_log(path, stream)) == b"".join(d for s, d in pieces if s == stream)


def test_reading_in_steps_gives_the_order_of_arrival_and_then_says_complete(tmp_path):
    written(tmp_path / "log", [("stdout", b"one"), ("stderr", b"two"), ("stdout", b"three")])
    first, offset, is_complete = read_log(tmp_path / "log", 0, 4)
    rest, _, is_complete_now = read_log(tmp_path / "log", offset, 100)
    assert [(r.stream, r.data) for r in first + rest] == [
        ("stdout", b"one"), ("stderr", b"two"), ("stdout", b"three")]
    assert (is_complete, is_complete_now) == (False, True)


def test_a_log_that_does_not_exist_yet_is_empty_and_not_complete(tmp_path):
    assert read_log(tmp_path / "none", 0, 100) == ([], 0, False)


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


def test_an_artifact_is_given_out_as_it_was_written(tmp_path):
    folders = JobFolders(tmp_path)
    output = folders.output("j", 1, "worker", 0)
    (output / "deep").mkdir(parents=True)
    for path in ("a b", "new\nline", "deep/中.txt", "q\"uote"):
        (output / path).write_text(path)
        with folders.artifact("j", 1, "worker", 0, path) as file:
            assert file.read() == path.encode()


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


@given(offset=st.integers(0, 200))
@settings(deadline=None)
def test_an_offset_that_was_made_up_reads_no_more_than_the_log(tmp_path_factory, offset):
    path = tmp_path_factory.mktemp("log") / "log"
    written(path, [("stdout", b"\x02" * 20), ("stderr", bytes(30)), ("stdout", b"\x09" * 20)])
    records, following, _ = read_log(path, offset, 1000)
    assert sum(len(record.data) for record in records) <= path.stat().st_size
    assert following >= offset


def test_a_met_quota_is_said_once_and_keeps_what_came_before(tmp_path):
    quota = LogQuota(10, 0)
    first, second = (TaskLog(tmp_path / name, quota) for name in ("first", "second"))
    first.append("stdout", b"12345")
    second.append("stderr", "67é90".encode())
    second.append("stdout", b"more")
    first.append("stdout", b"x")
    for log in (first, second):
        log.close(is_complete=True)
    assert b"".join(iter_log(tmp_path / "second", "stderr")) == "67é9".encode()
    records, _, is_complete = read_log(tmp_path / "second", 0, 1000)
    assert is_complete and [record.stream for record in records] == ["stderr", "notice"]
    assert b"has reached its quota of 0 MiB" in records[1].data
    assert b"".join(iter_log(tmp_path / "first", "stdout")) == b"12345"


def test_a_full_log_asks_for_nothing_that_was_dropped_again(tmp_path):
    log = TaskLog(tmp_path / "log", LogQuota(3, 0))
    log.append("stdout", b"12345")
    log.append("stdout", b"678")
    assert log.is_full and log.resume_at()["stdout"] == 8
    log.close(is_complete=False)
    again = TaskLog(tmp_path / "log", LogQuota(100, 0))
    assert again.is_full
    again.close(is_complete=True)
    assert b"".join(iter_log(tmp_path / "log", "stdout")) == b"123"


def test_half_a_character_is_asked_for_again_where_a_stream_broke_off(tmp_path):
    log = TaskLog(tmp_path / "log", LogQuota(100, 0))
    log.append("stdout", "aé".encode()[:2])
    assert log.resume_at()["stdout"] == 1
    log.append("stdout", "é".encode())
    log.close(is_complete=True)
    assert b"".join(iter_log(tmp_path / "log")).decode() == "aé"


def test_a_search_finds_lines_over_pieces_and_streams_by_number(tmp_path):
    written(tmp_path / "log", [("stdout", b"epoch 1\nepo"), ("stdout", b"ch 2\n"),
                               ("stderr", b"WARNING: Epoch 3"), ("stdout", b"\nend")])
    found, has_more = search_log(tmp_path / "log", "epoch", 10)
    assert [(line.number, line.text) for line in found] == [
        (1, b"epoch 1"), (2, b"epoch 2"), (3, b"WARNING: Epoch 3")]
    assert not has_more and search_log(tmp_path / "log", "epoch", 2)[1]
    assert search_log(tmp_path / "nothing", "x", 5) == ([], False)
    assert search_log(tmp_path / "log", "end", 5)[0][0].number == 4
