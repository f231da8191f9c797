import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.views.file_preview import MAX_ROWS, numbers_of, preview_of


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "utf-16", "utf-8-sig", "utf-32"])
def test_text_is_read_in_the_encodings_that_people_use(encoding):
    text = "训练完成，准确率 0.97\n"
    shown = preview_of("notes.txt", text.encode(encoding), len(text.encode(encoding)))
    assert (shown.kind, shown.text, shown.is_cut) == ("text", text, False)


@pytest.mark.parametrize("cut", range(1, 7))
def test_a_character_cut_in_two_at_the_end_is_left_out(cut):
    data = "中文".encode()
    shown = preview_of("a.txt", data[:cut], len(data))
    assert shown.kind == "text" and "中文".startswith(shown.text)


@pytest.mark.parametrize("data", [
    b"\x89PNG\r\n\x1a\n\0\0", bytes(range(256)), b"\x01\x02", b"\xff"])
def test_what_is_no_text_is_said_to_be_none(data):
    assert preview_of("model.bin", data, len(data)).kind == "binary"


def test_a_table_shows_its_first_rows_and_no_row_that_is_cut():
    data = "epoch,loss\n" + "".join(f"{n},{1 / (n + 1)}\n" for n in range(1000))
    shown = preview_of("loss.csv", data[:200].encode(), len(data))
    assert shown.kind == "table" and shown.rows[:2] == (("epoch", "loss"), ("0", "1.0"))
    assert data.startswith("\n".join(",".join(row) for row in shown.rows) + "\n")
    assert len(preview_of("loss.csv", data.encode(), len(data)).rows) == MAX_ROWS + 1


@pytest.mark.parametrize("name, text", [
    ("a.csv", "a;b\n1;2\n"), ("a.tsv", "a\tb\n1\t2\n"), ("a.CSV", 'a,b\n"1",2\n')])
def test_a_table_may_be_written_in_several_ways(name, text):
    assert preview_of(name, text.encode(), len(text)).rows == (("a", "b"), ("1", "2"))


def test_an_empty_file_is_an_empty_text():
    assert preview_of("x.csv", b"", 0).kind == "text"


@settings(deadline=None)
@given(data=st.binary(max_size=300), extra=st.integers(0, 5),
       name=st.sampled_from(["a.csv", "b.tsv", "c", "d.txt"]))
def test_no_bytes_are_too_much_for_a_preview(data, extra, name):
    assert preview_of(name, data, len(data) + extra).kind in ("text", "table", "binary")


def test_columns_of_numbers_are_those_that_can_be_plotted():
    data = b"step,loss,note,empty\n1,0.5,a,\n2,nan,b,\n3,1e-3\n"
    found = numbers_of("loss.csv", data, len(data))
    assert found.columns == (("step", (1.0, 2.0, 3.0)), ("loss", (0.5, None, 0.001)))
    assert not found.is_cut and numbers_of("loss.csv", data[:-3], len(data)).is_cut
    assert numbers_of("notes.txt", b"1,2\n", 4).columns == ()
