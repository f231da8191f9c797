"""Packs and answers of Git that come from elsewhere: what is taken, and what ends the reading."""
import hashlib
import itertools
import subprocess
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.git_wire import Stream, TooMuchError, WireError, pack_data, read_refs
from registry.pack_check import Limits, TooLargeError, check_pack
from tests.fakes.github.hostile import delta_bomb
from tests.registry.repository import Repository, git

LIMITS = Limits(objects=1000, blob_bytes=100_000, unpacked_bytes=10 << 20)
ID = "0123456789" * 4


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    """What git packs of a few versions of a file, deltas among them."""
    origin = Repository(tmp_path_factory.mktemp("origin") / "r")
    lines = [f"line {number}" for number in range(2000)]
    for number in range(5):
        origin.commit({"data/a.yaml": "\n".join([*lines, str(number)]), f"b{number}": "x"})
    return subprocess.run(["git", "-C", str(origin.path), "pack-objects", "--all", "--stdout",
                           "--delta-base-offset", "-q"], input=b"", capture_output=True,
                          check=True).stdout


def pieces(data, size):
    return (data[start:start + size] for start in range(0, len(data), size))


def checked(data, limits=LIMITS, size=1000):
    written = bytearray()
    parts = check_pack(pieces(data, size), written.extend, limits)
    return parts, bytes(written)


def blob_pack(*contents, kind=3, size=None):
    """A pack of these files, the first of which may lie about its size."""
    body = b"PACK" + (2).to_bytes(4, "big") + len(contents).to_bytes(4, "big")
    for place, content in enumerate(contents):
        left = len(content) if size is None or place else size
        head, left = kind << 4 | left & 15, left >> 4
        while left:
            body, head, left = body + bytes([head | 128]), left & 127, left >> 7
        body += bytes([head]) + zlib.compress(content)
    return body + hashlib.sha1(body).digest()


@pytest.mark.parametrize("size", [1, 7, 4096, 1 << 20])
def test_a_pack_of_git_passes_whole_however_it_is_cut(pack, size):
    parts, written = checked(pack, size=size)
    assert written == pack and len(parts) == int.from_bytes(pack[8:12], "big")


def test_of_a_pack_it_is_told_where_each_object_lies(pack):
    parts, _ = checked(pack, size=7)
    assert [part.start for part in parts] == [12, *(part.end for part in parts[:-1])]
    assert parts[-1].end == len(pack) - 20
    assert all(zlib.decompress(pack[part.packed:part.end]) for part in parts)
    starts = {part.start for part in parts}
    bases = {part.base for part in parts if part.base is not None}
    assert bases and bases <= starts


@pytest.mark.parametrize("data, error", [
    (blob_pack(b"x" * 100_001), TooLargeError),
    (blob_pack(b"x" * 100_000, size=10), WireError),
    (blob_pack(b"x", size=99), WireError),
    (blob_pack(*[b"x"] * 1001), TooMuchError),
    (blob_pack(*[b"x" * 99_000] * 120), TooMuchError),
    (blob_pack(b"x", kind=5), WireError),
    (blob_pack(b"x")[:-1], WireError),
    (blob_pack(b"x") + b"more", WireError),
    (delta_bomb(), TooLargeError),
    (b"PACK" + b"\0" * 100, WireError),
    (b"", WireError)],
    ids=["large", "lies low", "lies high", "many", "much", "kind", "cut", "more", "delta bomb",
         "version", "empty"])
def test_what_passes_a_limit_or_is_no_pack_ends_the_reading(data, error):
    with pytest.raises(error):
        checked(data)


def test_of_a_huge_file_no_more_is_read_than_its_size():
    read = []

    def endless():
        for piece in itertools.chain([blob_pack(b"x" * 200_000)[:50]], itertools.repeat(b"y" * 9)):
            read.append(piece)
            yield piece
    with pytest.raises(TooLargeError):
        check_pack(endless(), lambda data: None, LIMITS)
    assert len(read) == 1


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_a_damaged_pack_ends_with_an_error_of_ours_or_passes(pack, data):
    damaged = bytearray(pack)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(pack) - 1))] = data.draw(st.integers(0, 255))
    try:
        parts, written = checked(bytes(damaged))
    except WireError:
        return
    assert written == damaged and len(parts) <= LIMITS.objects


@settings(deadline=None, max_examples=150)
@given(st.binary(max_size=300))
def test_any_bytes_for_an_answer_end_with_an_error_of_ours(answer):
    for read in (lambda stream: read_refs(stream, None, "v"), lambda stream: list(
            pack_data(stream))):
        try:
            read(Stream(iter([answer]), 1000))
        except WireError:
            pass


def lines(*texts):
    return b"".join(b"%04x%s" % (len(text) + 4, text.encode()) for text in texts) + b"0000"


def refs(*texts, branch=None, prefix=None):
    return read_refs(Stream(iter([lines(*texts)]), 10_000), branch, prefix)


def test_the_default_branch_is_where_head_leads():
    found = refs(f"{ID} HEAD symref-target:refs/heads/trunk\n")
    assert (found.head, found.branch) == (ID, "trunk")
    assert refs().head is None


def test_of_branches_that_begin_alike_the_right_one_is_taken():
    other = ID[::-1]
    assert refs(f"{ID} refs/heads/main\n", f"{other} refs/heads/main-2\n", branch="main").head == ID
    assert refs(f"{other} refs/heads/main-2\n", branch="main").head is None


def test_a_tag_is_what_it_leads_to():
    other = ID[::-1]
    found = refs(f"{ID} HEAD\n", f"{ID} refs/tags/v1 peeled:{other}\n", f"{ID} refs/tags/v2\n",
                 f"{ID} refs/tags/w1\n", prefix="v")
    assert found.tags == {"v1": other, "v2": ID}


@pytest.mark.parametrize("text", ["ERR no such thing", "xyz HEAD\n", f"{ID} HEAD peeled:-x\n"])
def test_a_refusal_and_what_is_no_id_are_errors(text):
    with pytest.raises(WireError):
        refs(text)


def test_git_itself_agrees_with_what_passed(pack, tmp_path):
    git(tmp_path, "init", "-q", "--bare")
    (tmp_path / "x.pack").write_bytes(checked(pack)[1])
    git(tmp_path, "index-pack", "--strict", "x.pack")
