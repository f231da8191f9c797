"""Folders as Git writes them down, read by parts, against the same read whole."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.trees import NOTHING, Tree

BARRED = (b".", b"..", b".git")
NAMES = st.one_of(st.sampled_from([b"a", b"b", b"100644 a", b"x40000 a", b"x 40000 a", b"1"]),
                  st.binary(min_size=1, max_size=4).filter(lambda name: not {0, 47} & set(name)
                                                           and name.lower() not in BARRED))
IDS = st.one_of(st.sampled_from([b"1" * 20, b"1040000 a\x00" + b"1" * 10, b"\x00" * 20]),
                st.binary(min_size=20, max_size=20))
FOLDERS = st.dictionaries(NAMES, st.tuples(st.sampled_from([0o40000, 0o100644, 0o120000]), IDS))


def written(folder):
    return b"".join(b"%o %s\0%s" % (mode, name, id) for name, (mode, id) in folder.items())


@settings(deadline=None)
@given(FOLDERS, FOLDERS, FOLDERS)
def test_what_differs_between_two_folders_and_what_stands_in_them_is_found(one, other, more):
    one, other = {**one, **more}, {**more, **other}
    here, there = Tree(written(one)), Tree(written(other))
    sides = [{name: (mode, id.hex().encode()) for name, (mode, id) in each.items()}
             for each in (one, other)]
    assert [dict(here.items()), dict(there.items())] == sides
    assert here.differing(there) == {
        name: (sides[0].get(name, NOTHING), sides[1].get(name, NOTHING))
        for name in {*one, *other} if one.get(name) != other.get(name)}
    for name in [b"a", b"b", b"1", *one, *other]:
        assert here.get(name) == sides[0].get(name, NOTHING)


@settings(deadline=None)
@given(st.sets(st.integers(0, 299)), st.sets(st.integers(0, 299)), st.sets(st.integers(0, 299)))
def test_what_differs_between_two_long_folders_is_found(gone, new, changed):
    everything = {b"name-%03d" % number: (0o40000, b"%020d" % number) for number in range(300)}
    names = [*everything]
    one = {name: side for name, side in everything.items() if names.index(name) not in gone}
    other = {name: (0o100644, side[1]) if names.index(name) in changed else side
             for name, side in everything.items() if names.index(name) not in new}
    found = Tree(written(one)).differing(Tree(written(other)))
    assert {name: (here != NOTHING, there != NOTHING) for name, (here, there) in found.items()} == {
        name: (name in one, name in other) for name in names if one.get(name) != other.get(name)}


@pytest.mark.parametrize("name", [b".", b"..", b".git", b".GIT", b"../evil", b"a/b"])
def test_names_that_lead_elsewhere_stand_nowhere(name):
    folder = Tree(written({name: (0o100644, b"1" * 20)}))
    assert (dict(folder.items()), folder.differing(Tree()), folder.get(name)) == ({}, {}, NOTHING)


@pytest.mark.parametrize("data", [
    b"100644 a\0short", b"100644 a", b"100644 a\0" + b"1" * 20 + b"x"])
def test_bytes_that_are_no_folder_are_refused(data):
    with pytest.raises(ValueError, match="damaged"):
        Tree(data).items()
    with pytest.raises(ValueError, match="damaged"):
        Tree().differing(Tree(data))
