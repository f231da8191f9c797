import os

from hypothesis import given, settings
from hypothesis import strategies as st

from runner.log_lines import search_log
from runner.task_log import LogQuota, TaskLog, iter_log, read_log, write_notice

HEADER = 13  # bytes of the file that a record takes beside its data
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


@given(offset=st.integers(0, 200))
@settings(deadline=None)
def test_an_offset_that_was_made_up_reads_no_more_than_the_log(tmp_path_factory, offset):
    path = tmp_path_factory.mktemp("log") / "log"
    written(path, [("stdout", b"\x02" * 20), ("stderr", bytes(30)), ("stdout", b"\x09" * 20)])
    records, following, _ = read_log(path, offset, 1000)
    assert sum(len(record.data) for record in records) <= path.stat().st_size
    assert following >= offset


def test_a_met_quota_is_said_once_and_keeps_what_came_before(tmp_path):
    quota = LogQuota(10 + 2 * HEADER, 0)
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
    log = TaskLog(tmp_path / "log", LogQuota(3 + HEADER, 0))
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


@settings(deadline=None, max_examples=60)
@given(runs=st.lists(st.tuples(chunks, st.integers(0, 60)), min_size=1, max_size=5),
       clock=st.lists(st.floats(0, 4e9), min_size=1))
def test_whatever_kills_and_clock_do_each_stream_is_whole_and_times_never_go_back(
        tmp_path_factory, runs, clock):
    path, count = tmp_path_factory.mktemp("log") / "log", 0
    sent = {"stdout": b"", "stderr": b""}
    for pieces, cut in runs:
        log = TaskLog(path, LogQuota(1 << 30, 0))
        for stream, data in sent.items():
            log.append(stream, data[log.sizes[stream]:])
        for stream, data in pieces:
            count += 1
            log.append(stream, data, clock[count % len(clock)])
            sent[stream] += data
        log.close(is_complete=False)
        os.truncate(path, max(0, path.stat().st_size - cut))
    log = TaskLog(path, LogQuota(1 << 30, 0))
    for stream, data in sent.items():
        log.append(stream, data[log.sizes[stream]:])
    log.close(is_complete=True)
    for stream, data in sent.items():
        assert b"".join(iter_log(path, stream)) == data
    records, _, is_complete = read_log(path, 0, 1 << 30)
    times = [record.time for record in records]
    assert times == sorted(times) and is_complete


def test_a_piece_larger_than_any_record_is_kept_whole(tmp_path):
    data = bytes(range(256)) * 10_000
    written(tmp_path / "log", [("stdout", data), ("stderr", b"end")])
    assert b"".join(iter_log(tmp_path / "log", "stdout")) == data
    assert TaskLog(tmp_path / "log", LogQuota(1, 0)).sizes == {"stdout": len(data), "stderr": 3}


def test_a_piece_has_the_time_that_its_writer_knows(tmp_path):
    log = TaskLog(tmp_path / "log", LogQuota(1000, 0))
    log.append("stdout", b"long ago", 1_000_000_000.25)
    log.close(is_complete=True)
    assert read_log(tmp_path / "log", 0, 100)[0][0].time == 1_000_000_000.25


def test_the_quota_counts_what_the_disk_holds_so_that_it_is_the_same_after_a_restart(tmp_path):
    log = TaskLog(tmp_path / "log", LogQuota(1000, 0))
    for _ in range(1000):
        log.append("stdout", b"x")
    assert log.is_full and (tmp_path / "log").stat().st_size < 1000 + HEADER + 200


def test_a_notice_in_place_of_a_log_is_all_that_is_read_of_it(tmp_path):
    written(tmp_path / "log", [("stdout", b"text")])
    write_notice(tmp_path / "log", "It was removed.\n")
    records, _, is_complete = read_log(tmp_path / "log", 0, 1000)
    assert [(each.stream, each.data) for each in records] == [("notice", b"It was removed.\n")]
    assert is_complete


def test_what_a_disk_has_damaged_is_said_and_the_rest_is_read(tmp_path):
    path = tmp_path / "log"
    written(path, [("stdout", b"one\n"), ("stderr", b"two\n"), ("stdout", b"three\n")])
    with open(path, "r+b") as file:
        file.seek(HEADER + 4)  # the second record
        file.write(b"\xa5" * HEADER)
    found, _, is_complete = read_log(path, 0, 1 << 20)
    assert [(record.stream, record.data) for record in found] == [
        ("stdout", b"one\n"),
        ("notice", b"\n17 bytes of this log are damaged and left out.\n"),
        ("stdout", b"three\n")]
    assert is_complete and b"".join(iter_log(path, "stdout")) == b"one\nthree\n"


@settings(deadline=None)
@given(pieces=chunks, at=st.integers(0, 300), garbage=st.binary(min_size=1, max_size=300))
def test_whatever_is_damaged_a_log_is_read_to_its_end(tmp_path_factory, pieces, at, garbage):
    path = tmp_path_factory.mktemp("log") / "log"
    written(path, pieces)
    size = path.stat().st_size
    with open(path, "r+b") as file:
        file.seek(min(at, size))
        file.write(garbage)
    offset, found = 0, [None]
    while found:
        before, (found, offset, _) = offset, read_log(path, offset, 100)
        assert offset > before or not found
    log = TaskLog(path, LogQuota(1 << 30, 0))  # which asks again for what it does not have
    sizes = log.resume_at()
    log.close(is_complete=True)
    assert sum(sizes.values()) == len(b"".join(iter_log(path, "stdout")) + b"".join(
        iter_log(path, "stderr")))
