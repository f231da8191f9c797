from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from runner import log_lines
from runner.log_lines import MAX_LINE_BYTES, Place, merged, search_log
from runner.task_log import LogQuota, TaskLog

pieces = st.lists(st.tuples(
    st.integers(0, 2), st.sampled_from(["stdout", "stderr"]),
    st.text("ab\n", max_size=8).map(str.encode)), max_size=30)
AGES_AGO = 1_000_000_000.0


def logs_of(folder, count=3):
    return [TaskLog(folder / str(number), LogQuota(1 << 30, 0)) for number in range(count)]


def lines_of(written):
    """What of one log is a line: up to a newline, or to where the other stream goes on."""
    lines, begun, last = [], b"", ""
    for stream, data in written:
        if begun and stream != last:
            lines.append((last, begun))
            begun = b""
        *whole, rest = data.split(b"\n")
        for text in whole:
            lines.append((stream, begun + text))
            begun = b""
        begun, last = begun + rest, stream
    return lines + ([(last, begun)] if begun else [])


@settings(deadline=None)
@given(pieces=pieces, page=st.integers(1, 5))
def test_any_page_size_gives_every_line_once_and_in_the_order_of_times(
        tmp_path_factory, pieces, page):
    folder = tmp_path_factory.mktemp("logs")
    logs = logs_of(folder)
    found, places = [], [Place()] * len(logs)

    def read(is_ended):
        while True:
            lines = merged([folder / str(number) for number in range(3)], places,
                           is_ended=is_ended)
            part = [line for line, _ in zip(lines, range(page))]
            for line in part:
                places[line.log] = line.after
            found.extend(part)
            if not part:
                return
    written = [[], [], []]
    for number, (log, stream, data) in enumerate(pieces):
        if data:
            logs[log].append(stream, data, AGES_AGO + number)
            written[log].append((stream, data))
        if number % 7 == 6:
            read(is_ended=False)
    for log in logs:
        log.close(is_complete=True)
    read(is_ended=True)
    for number, each in enumerate(written):
        assert [(line.stream, line.text) for line in found if line.log == number] == lines_of(each)
    if len(pieces) < 7:
        assert [line.time for line in found] == sorted(line.time for line in found)


def test_a_line_that_is_still_written_waits_until_its_end_is_there(tmp_path):
    log, = logs_of(tmp_path, 1)
    log.append("stdout", b"one\ntw", AGES_AGO)
    path = tmp_path / "0"
    first, = merged([path], [Place()], is_ended=False)
    assert list(merged([path], [first.after], is_ended=False)) == []
    log.append("stdout", b"o\nthree", AGES_AGO + 1)
    second, = merged([path], [first.after], is_ended=False)
    assert (second.text, second.time) == (b"two", AGES_AGO + 1)
    log.close(is_complete=True)
    third, = merged([path], [second.after], is_ended=False)
    assert third.text == b"three"
    assert list(merged([path], [third.after], is_ended=True)) == []


def test_a_line_without_an_end_comes_in_pieces(tmp_path):
    log, = logs_of(tmp_path, 1)
    for _ in range(20):
        log.append("stdout", b"x" * 10_000, AGES_AGO)
    found = list(merged([tmp_path / "0"], [Place()], is_ended=True))
    assert b"".join(line.text for line in found) == b"x" * 200_000
    assert all(len(line.text) < MAX_LINE_BYTES + 10_000 for line in found)


def test_lines_of_a_clock_that_was_set_back_since_are_not_waited_for(tmp_path):
    log, = logs_of(tmp_path, 1)
    log.append("stdout", b"from tomorrow\n", 4_000_000_000.0)
    assert [line.text for line in merged([tmp_path / "0"], [Place()], is_ended=False)] == [
        b"from tomorrow"]


def test_a_log_that_is_not_there_yet_has_no_lines(tmp_path):
    assert list(merged([tmp_path / "none"], [Place()], is_ended=True)) == []


@settings(deadline=None)
@given(lines=st.lists(st.text("aBé\r", max_size=4), max_size=40),
       wanted=st.text("AbÉ", min_size=1, max_size=2), block=st.integers(1, 60))
def test_a_search_finds_what_looking_at_every_line_finds(tmp_path_factory, lines, wanted, block):
    path = tmp_path_factory.mktemp("log") / "log"
    log = TaskLog(path, LogQuota(1 << 30, 0))
    for line in lines:
        log.append("stdout", f"{line}\n".encode())
    log.close(is_complete=True)
    with mock.patch.object(log_lines, "_BLOCK_BYTES", block):
        found, has_more = search_log(path, wanted, 5)
    expected = [(number, line) for number, line in enumerate(lines, 1)
                if wanted.casefold() in line.casefold()]
    assert [(line.number, line.text.decode()) for line in found] == expected[:5]
    assert has_more == (len(expected) > 5)
