"""A job's copy of a folder elsewhere: nothing lost, nothing sent twice, nothing followed."""
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.cache import FetchCancelled, Watch
from runner.errors import StagingError
from runner.network import Network
from runner.remote_files import RemoteFile, remote_files
from runner.storages import Hdfs
from runner.working_copy import WorkingCopy
from tests.fakes.webhdfs import Hadoop


@pytest.fixture
def hadoop():
    with Hadoop() as cluster:
        yield cluster


@pytest.fixture
def files(hadoop):
    return remote_files(Hdfs(name="lake", web=f"http://{hadoop.name_node}",
                             data_nodes=(hadoop.data_node,)), Network())


@pytest.fixture
def copy(files, tmp_path):
    return WorkingCopy(tmp_path / "copy", files, "models")


def watch(said=None, is_cancelled=lambda: False):
    return Watch(report=lambda *what: said is not None and said.append(what),
                 is_cancelled=is_cancelled)


def bring(copy):
    copy.bring(watch())


def send(copy, deletes=False):
    return copy.send(watch(), deletes=deletes)


def there(hadoop):
    return {path: content for path, (content, _) in hadoop.files.items()}


def writes(hadoop):
    return [path for _, _, op, path in hadoop.asked if op == "CREATE"]


def test_what_is_there_is_brought_so_that_any_user_may_write_it(hadoop, copy):
    hadoop.put("/models/best/weights", b"1")
    hadoop.put("/other", b"2")
    bring(copy)
    assert (copy.folder / "best/weights").read_bytes() == b"1"
    assert not (copy.folder / "other").exists()
    assert [oct(path.stat().st_mode & 0o777) for path in (
        copy.folder, copy.folder / "best", copy.folder / "best/weights")] == [
            "0o777", "0o777", "0o666"]


def test_only_what_changed_is_sent(hadoop, copy):
    hadoop.put("/models/old", b"1")
    hadoop.put("/models/kept", b"2")
    bring(copy)
    (copy.folder / "old").write_bytes(b"3")
    (copy.folder / "new").mkdir()
    (copy.folder / "new/one").write_bytes(b"4")
    assert send(copy) == (2, [])
    assert there(hadoop) == {"/models/old": b"3", "/models/kept": b"2", "/models/new/one": b"4"}
    asked = len(writes(hadoop))
    assert send(copy) == (0, []) and len(writes(hadoop)) == asked


def test_only_what_changed_there_is_brought_again(hadoop, copy):
    hadoop.put("/models/a", b"1")
    hadoop.put("/models/b", b"2")
    bring(copy)
    hadoop.put("/models/b", b"3")
    hadoop.asked.clear()
    bring(copy)
    assert (copy.folder / "b").read_bytes() == b"3"
    assert not [path for _, _, op, path in hadoop.asked if (op, path) == ("OPEN", "/models/a")]


def test_what_was_not_sent_yet_is_not_overwritten_by_what_is_there(hadoop, copy):
    hadoop.put("/models/a", b"1")
    bring(copy)
    (copy.folder / "a").write_bytes(b"mine")
    (copy.folder / "b").write_bytes(b"mine too")
    hadoop.put("/models/a", b"theirs")
    hadoop.put("/models/b", b"theirs too")
    bring(copy)
    assert (copy.folder / "a").read_bytes() == b"mine"
    assert (copy.folder / "b").read_bytes() == b"mine too"


def test_the_last_writer_wins_and_is_told(hadoop, copy):
    hadoop.put("/models/a", b"1")
    bring(copy)
    (copy.folder / "a").write_bytes(b"mine")
    hadoop.put("/models/a", b"theirs")
    assert send(copy) == (1, ["a"])
    assert there(hadoop) == {"/models/a": b"mine"}


def test_nothing_is_deleted_there_unless_the_author_says_so(hadoop, copy):
    for name in ("a", "b"):
        hadoop.put(f"/models/{name}", b"1")
    bring(copy)
    (copy.folder / "a").unlink()
    send(copy)
    assert set(there(hadoop)) == {"/models/a", "/models/b"}
    send(copy, deletes=True)
    assert set(there(hadoop)) == {"/models/b"}


def test_what_others_changed_or_made_is_never_deleted(hadoop, copy):
    hadoop.put("/models/a", b"1")
    bring(copy)
    (copy.folder / "a").unlink()
    hadoop.put("/models/a", b"theirs")
    hadoop.put("/models/new", b"theirs")
    send(copy, deletes=True)
    assert set(there(hadoop)) == {"/models/a", "/models/new"}


# -- cut short ------------------------------------------------------------------------------------


def test_a_file_that_breaks_off_goes_on_where_it_was(hadoop, copy, monkeypatch):
    monkeypatch.setattr("runner.remote_files.CHUNK_BYTES", 4)
    hadoop.put("/models/a", b"0123456789")
    hadoop.breaks, hadoop.break_after = 1, 2
    bring(copy)
    assert (copy.folder / "a").read_bytes() == b"0123456789"


def test_a_file_that_changes_while_it_comes_is_the_new_one(hadoop, copy, files, tmp_path):
    hadoop.put("/models/a", b"old and long")

    class Changing:
        def __getattr__(self, name):
            return getattr(files, name)

        def read(self, file, offset):
            if hadoop.content("/models/a") != b"new":
                hadoop.put("/models/a", b"new")
            return files.read(file, offset)

    changing = WorkingCopy(tmp_path / "changing", Changing(), "models")
    bring(changing)
    assert (changing.folder / "a").read_bytes() == b"new"


class Killed(BaseException):
    """Whatever is under way ends here, as by kill -9."""


def dying(files, calls):
    """`files`, dead at the `calls`-th write or after a piece of a read."""
    left = [calls]

    class Dying:
        def __getattr__(self, name):
            return getattr(files, name)

        def read(self, file, offset):
            for piece in files.read(file, offset):
                count()
                yield piece

        def write(self, local, path):
            count()
            found = files.write(local, path)
            count()
            return found

    def count():
        left[0] -= 1
        if left[0] < 0:
            raise Killed

    return Dying()


@pytest.mark.parametrize("calls", range(4))
def test_a_kill_at_any_moment_of_sending_loses_nothing_and_sends_little_again(
        hadoop, files, tmp_path, calls):
    copy = WorkingCopy(tmp_path / "copy", files, "models")
    bring(copy)
    for name in ("a", "b", "c"):
        (copy.folder / name).write_bytes(name.encode())
    with pytest.raises(Killed):
        send(WorkingCopy(tmp_path / "copy", dying(files, calls), "models"))
    send(WorkingCopy(tmp_path / "copy", files, "models"))
    assert there(hadoop) == {f"/models/{name}": name.encode() for name in ("a", "b", "c")}
    assert len(writes(hadoop)) <= 2 * 4  # each asks both nodes; one of three is sent twice


@pytest.mark.parametrize("calls", range(3))
def test_a_kill_at_any_moment_of_bringing_is_made_up_for(
        hadoop, files, tmp_path, calls, monkeypatch):
    monkeypatch.setattr("runner.remote_files.CHUNK_BYTES", 4)
    for name in ("a", "b"):
        hadoop.put(f"/models/{name}", b"01234567")
    with pytest.raises(Killed):
        bring(WorkingCopy(tmp_path / "copy", dying(files, calls), "models"))
    copy = WorkingCopy(tmp_path / "copy", files, "models")
    bring(copy)
    assert {path.name: path.read_bytes() for path in copy.folder.iterdir()} == {
        "a": b"01234567", "b": b"01234567"}
    assert send(copy) == (0, [])


def test_a_line_that_a_kill_cut_short_costs_one_transfer(hadoop, copy, tmp_path):
    hadoop.put("/models/a", b"1")
    bring(copy)
    with open(tmp_path / "copy/known", "a") as lines:
        lines.write('\n{"name": "a", "vers')
    (copy.folder / "b").write_bytes(b"2")
    assert send(copy) == (1, []) and send(copy) == (0, [])


def test_a_transfer_that_nobody_wants_any_more_stops(hadoop, copy):
    hadoop.put("/models/a", b"1")
    with pytest.raises(FetchCancelled):
        copy.bring(watch(is_cancelled=lambda: True))


def test_progress_counts_bytes_of_the_whole_folder(hadoop, copy):
    hadoop.put("/models/a", b"12")
    hadoop.put("/models/b", b"345")
    said = []
    copy.bring(watch(said))
    assert said[-1][0].startswith("Fetching b") and said[-1][1:] == (5, 5)


# -- what means ill -------------------------------------------------------------------------------


def test_links_that_a_task_left_are_followed_nowhere(hadoop, copy, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    bring(copy)
    (copy.folder / "folder").symlink_to(outside)
    (copy.folder / "secret").symlink_to(outside / "secret")
    os.mkfifo(copy.folder / "pipe")
    assert send(copy) == (0, [])
    for name in ("folder/secret", "secret", "folder/new"):
        hadoop.put(f"/models/{name}", b"theirs")
    bring(copy)
    assert (outside / "secret").read_text() == "secret"
    assert sorted(os.listdir(outside)) == ["secret"]
    assert (copy.folder / "folder/secret").read_bytes() == b"theirs"


class Listing:
    """A bucket may hold keys that no file system has."""

    def __init__(self, *paths):
        self._paths = paths

    def list(self, path):
        return iter([RemoteFile(path=each, size=1, version="1") for each in self._paths])

    def read(self, file, offset):
        return iter([b"x"])


@pytest.mark.parametrize("path", [
    "models/../../evil", "models//evil", "models/./evil", "models/..", "models/a\nb",
    f"models/{'x' * 256}", "models/\ud800"])
def test_paths_that_lead_elsewhere_are_refused(tmp_path, path):
    with pytest.raises(StagingError, match="cannot be the path of a file here"):
        bring(WorkingCopy(tmp_path / "copy", Listing(path), "models"))
    assert [each for each in tmp_path.rglob("*") if each.is_file()] in (
        [], [tmp_path / "copy/known"])


def test_a_name_that_is_file_and_folder_at_once_is_refused(tmp_path):
    with pytest.raises(StagingError, match="'a' there is a file and a folder at once"):
        bring(WorkingCopy(tmp_path / "copy", Listing("models/a", "models/a/b/c"), "models"))


def test_a_name_that_cannot_be_printed_is_not_sent(copy, hadoop):
    bring(copy)
    (copy.folder / "a\nb").write_bytes(b"1")
    with pytest.raises(StagingError, match="has to give its files names that can be printed"):
        send(copy)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(st.sampled_from("a./\\\0 é\n"), max_size=6), max_size=4))
def test_whatever_is_listed_nothing_is_written_outside(tmp_path_factory, keys):
    root = tmp_path_factory.mktemp("any")
    copy = WorkingCopy(root / "copy", Listing(*keys), "")
    try:
        bring(copy)
    except StagingError:
        pass
    for path in root.rglob("*"):
        assert path.is_relative_to(root / "copy")
    assert not Path("/evil").exists()
