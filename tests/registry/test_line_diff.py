"""Two texts side by side: nothing is lost, what changed is marked, and long texts take no long."""
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from registry.line_diff import line_diff, steps_between

LINES = st.lists(st.sampled_from(["a", "b: 1", "b: 2", "", "  - c", "long line of words"]),
                 max_size=20)


def shown(diff):
    """The rows as text, `·` for an equal one, with the changed words in brackets."""
    def side(each):
        return "" if each is None else "".join(
            f"[{piece.text}]" if piece.is_changed else piece.text for piece in each.pieces)
    return [(f"~{row.skipped} " if row.skipped else "") + (
        f"{side(row.old)} | {side(row.new)}" if row.is_changed else f"· {side(row.old)}")
        for row in diff.rows]


def test_the_words_that_changed_are_marked():
    assert shown(line_diff("a\ngpu: 4\nb\n", "a\ngpu: 8\nb\n")) == [
        "· a", "gpu: [4] | gpu: [8]", "· b"]


def test_lines_with_little_in_common_are_marked_as_a_whole():
    assert shown(line_diff("python train.py\n", "echo\n")) == ["[python train.py] | [echo]"]


def test_lines_that_one_side_lacks_stand_alone():
    assert shown(line_diff("a\nb\n", "a\n")) == ["· a", "[b] | "]
    assert shown(line_diff("a\n", "a\nb\n")) == ["· a", " | [b]"]


def test_equal_lines_far_from_a_change_are_counted():
    old = "".join(f"{number}\n" for number in range(20))
    diff = line_diff(old, old.replace("10\n", "ten\n"), context=1)
    assert shown(diff) == ["~9 · 9", "[10] | [ten]", "· 11"] and diff.skipped == 8


def test_equal_texts_have_no_rows():
    diff = line_diff("a\nb\n", "a\nb\n")
    assert (diff.rows, diff.skipped) == ((), 2)


@settings(deadline=None)
@given(LINES, LINES)
def test_both_texts_can_be_read_off_the_rows(old, new):
    assume((old or [""]) != (new or [""]))
    diff = line_diff("\n".join(old) + "\n", "\n".join(new) + "\n", context=1000)
    assert [row.old.text for row in diff.rows if row.old] == (old or [""])
    assert [row.new.text for row in diff.rows if row.new] == (new or [""])
    assert [row.old.number for row in diff.rows if row.old] == list(range(1, len(old or [""]) + 1))


@settings(deadline=None)
@given(LINES, LINES, st.integers(0, 3))
def test_what_is_left_out_is_counted(old, new, context):
    diff = line_diff("\n".join(old) + "\n", "\n".join(new) + "\n", context)
    kept = sum(1 for row in diff.rows if row.old)
    assert kept + diff.skipped + sum(row.skipped for row in diff.rows) == len(old or [""])


@settings(deadline=None)
@given(st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3)))
def test_the_steps_rebuild_the_new_list(old, new):
    built = []
    for kind, low, high, new_low, new_high in steps_between(old, new):
        built += old[low:high] if kind == "equal" else new[new_low:new_high]
        if kind == "equal":
            assert old[low:high] == new[new_low:new_high]
    assert built == new


@pytest.mark.parametrize("old, new", [
    ("x\n" * 60_000, "x\n" * 60_000 + "y\n"), ("x\n" * 60_000, "y\nx\n" * 30_000),
    ("a b " * 30_000, "b a " * 30_000),
    ("".join(f"{at % 101}\n" for at in range(50_000)),
     "".join(f"{at % 103}\n" for at in range(50_000)))])
def test_texts_that_are_made_to_be_slow_are_compared_all_the_same(old, new):
    began = time.process_time()
    assert any(row.is_changed for row in line_diff(old, new).rows)
    assert time.process_time() - began < 5
