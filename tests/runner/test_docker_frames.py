import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from runner.docker_frames import unchunked, unframed, unframed_log

NUMBERS = {"stdout": 1, "stderr": 2}
pieces = st.lists(st.tuples(st.sampled_from(["stdout", "stderr"]), st.binary(max_size=50)))
cuts = st.lists(st.integers(0, 2000), max_size=20)


def framed(stream, data):
    return struct.pack(">BxxxL", NUMBERS[stream], len(data)) + data


def cut_up(whole, places):
    edges = sorted({0, len(whole), *(place for place in places if place < len(whole))})
    return [whole[begin:end] for begin, end in zip(edges, edges[1:])]


def of_each(found, stream):
    return b"".join(piece.data for piece in found if piece.stream == stream)


def order(found):
    """The streams of single bytes, in their order."""
    return [(stream, byte) for stream, data, *_ in found for byte in data]


@settings(deadline=None)
@given(pieces=pieces, cuts=cuts)
def test_frames_cut_anywhere_come_out_as_they_were_sent(pieces, cuts):
    parts = cut_up(b"".join(framed(*piece) for piece in pieces), cuts)
    assert order(unframed(parts)) == order(pieces)


@settings(deadline=None)
@given(pieces=pieces, cuts=cuts, times=st.lists(st.integers(0, 999_999_999), min_size=1))
def test_a_log_comes_out_without_the_times_that_stand_in_it(pieces, cuts, times):
    stamps = sorted(times)
    body = [framed(stream, b"2026-11-22T06:53:30.%09dZ " % stamps[at % len(stamps)] + data)
            for at, (stream, data) in enumerate(pieces)]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in body) + b"0\r\n\r\n"
    found = list(unframed_log(unchunked(cut_up(chunks, cuts))))
    assert order(found) == order(pieces)
    assert all(1795330410 <= piece.time < 1795330411 for piece in found)


def test_lines_that_came_at_other_times_are_pieces_of_their_own():
    lines = [(b"2026-11-22T06:53:30.004843421Z ", b"one\n"),
             (b"2026-11-22T06:53:30.004999999Z ", b"two\n"),
             (b"2026-11-22T06:54:31.500000000Z ", b"three\n")]
    found = list(unframed_log([b"".join(framed("stdout", time + line) for time, line in lines)]))
    assert [(piece.data, piece.time) for piece in found] == [
        (b"one\ntwo\n", 1795330410.004843), (b"three\n", 1795330471.5)]


def test_a_frame_that_breaks_off_is_left_out_to_be_asked_for_again():
    whole = framed("stdout", b"first") + framed("stderr", b"second")
    assert order(unframed([whole[:-1]])) == order([("stdout", b"first")])
    assert list(unchunked([b"5\r\nwhole\r\n5\r\nbrok"])) == [b"whole"]
