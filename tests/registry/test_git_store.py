import hashlib
import os
import subprocess
import zlib

import pytest
from dulwich.object_store import DiskObjectStore

from registry.errors import NotFoundError, RegistryError
from registry.git_store import GitStore
from registry.pack_check import Limits
from registry.source import folder_files
from tests.registry.repository import Repository, git


@pytest.fixture
def store(tmp_path):
    return GitStore(tmp_path / "stores" / "1.git")


def fsck(store):
    return git(store.path, "fsck", "--full", "--strict", "--no-dangling")


def test_a_fetch_takes_over_the_whole_history(origin, store):
    first = origin.commit({"data/a.yaml": "1"})
    second = origin.commit({"data/a.yaml": "2", "x/y/z.txt": "deep"})
    assert store.fetch(origin.path).head == second
    assert store.read(first, "data/a.yaml") == b"1"
    assert store.read(second, "x/y/z.txt") == b"deep"
    fsck(store)


def test_a_second_fetch_takes_only_what_is_new(origin, store):
    origin.commit({"data/a.yaml": "1", "b": "x"})
    assert store.fetch(origin.path).objects == 5
    assert store.fetch(origin.path).objects == 0
    origin.commit({"data/a.yaml": "2"})
    assert store.fetch(origin.path).objects == 4


def test_many_objects_come_as_one_pack_and_git_can_read_it(origin, store):
    head = origin.commit({f"d{n}/f{n}": f"{n}" * n for n in range(150)})
    assert store.fetch(origin.path).objects == 302
    assert len(list((store.path / "objects" / "pack").glob("*.pack"))) == 1
    assert store.read(head, "d7/f7") == b"7777777"
    fsck(store)


def test_a_repository_packed_by_git_is_read_with_its_deltas(origin, store):
    text = "\n".join(f"line {n}" for n in range(2000))
    commits = [origin.commit({"data/long.txt": f"{text}\n{n}"}) for n in range(60)]
    git(origin.path, "gc", "-q", "--aggressive")
    store.fetch(origin.path)
    assert store.read(commits[3], "data/long.txt").endswith(b"\n3")
    fsck(store)


def test_a_fetch_leaves_the_origin_untouched(origin, store):
    origin.commit({"a": "1"})
    before = {path: path.stat().st_mtime_ns for path in origin.path.rglob("*")}
    store.fetch(origin.path)
    assert {path: path.stat().st_mtime_ns for path in origin.path.rglob("*")} == before


def test_a_repository_without_commits_has_no_head_yet(origin, store):
    assert store.fetch(origin.path).head is None
    assert not store.path.exists()


def test_a_bare_repository_is_fetched(origin, store, tmp_path):
    head = origin.commit({"a": "1"})
    git(tmp_path, "clone", "-q", "--bare", str(origin.path), "bare.git")
    assert store.fetch(tmp_path / "bare.git").head == head


def test_a_bare_repository_whose_head_names_no_branch_is_read_from_its_only_one(
        origin, store, tmp_path):
    origin.commit({"a": "1"})
    git(tmp_path, "init", "-q", "--bare", "-b", "absent", "bare.git")
    git(origin.path, "push", "-q", str(tmp_path / "bare.git"), "HEAD:refs/heads/work")
    assert store.fetch(tmp_path / "bare.git").head == origin.head


def test_several_branches_and_a_head_that_names_none_is_an_error_with_a_remedy(
        origin, store, tmp_path):
    origin.commit({"a": "1"})
    git(tmp_path, "init", "-q", "--bare", "-b", "absent", "bare.git")
    git(origin.path, "push", "-q", str(tmp_path / "bare.git"), "HEAD:refs/heads/x",
        "HEAD:refs/heads/y")
    with pytest.raises(RegistryError, match="symbolic-ref HEAD"):
        store.fetch(tmp_path / "bare.git")


def test_a_detached_head_is_what_is_fetched(origin, store):
    first = origin.commit({"a": "1"})
    origin.commit({"a": "2"})
    git(origin.path, "checkout", "-q", "--detach", first)
    assert store.fetch(origin.path).head == first


def test_a_linked_worktree_is_fetched(origin, store, tmp_path):
    origin.commit({"a": "1"})
    git(origin.path, "worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    linked = Repository(tmp_path / "linked", is_new=False)
    head = linked.commit({"a": "2"})
    assert store.fetch(tmp_path / "linked").head == head


def test_objects_borrowed_from_another_repository_are_copied(origin, store, tmp_path):
    head = origin.commit({"a": "1"})
    git(tmp_path, "clone", "-q", "--shared", str(origin.path), "borrower")
    assert store.fetch(tmp_path / "borrower").head == head
    fsck(store)


def test_a_shallow_clone_gives_what_it_has_and_the_store_is_shallow_too(origin, store, tmp_path):
    for n in range(4):
        origin.commit({"a": str(n)})
    git(tmp_path, "clone", "-q", "--depth", "2", origin.path.as_uri(), "shallow")
    head = store.fetch(tmp_path / "shallow").head
    assert len(commits(store, head)) == 2
    fsck(store)


def test_a_clone_that_is_deepened_later_gives_the_rest(origin, store, tmp_path):
    known = [origin.commit({"a": str(n)}) for n in range(4)]
    git(tmp_path, "clone", "-q", "--depth", "2", origin.path.as_uri(), "shallow")
    store.fetch(tmp_path / "shallow")
    git(tmp_path / "shallow", "fetch", "-q", "--unshallow")
    head = store.fetch(tmp_path / "shallow").head
    assert commits(store, head) == known
    assert not (store.path / "shallow").exists() or not (store.path / "shallow").read_text()
    fsck(store)


def test_a_store_that_knows_more_than_a_new_shallow_clone_forgets_nothing(
        origin, store, tmp_path):
    commits = [origin.commit({"a": str(n)}) for n in range(3)]
    store.fetch(origin.path)
    commits.append(origin.commit({"a": "3"}))
    git(tmp_path, "clone", "-q", "--depth", "1", origin.path.as_uri(), "shallow")
    store.fetch(tmp_path / "shallow")
    assert store.read(commits[0], "a") == b"0"
    fsck(store)


def test_git_clones_any_commit_that_was_ever_seen(origin, tmp_path):
    store = GitStore(tmp_path / "a folder, 100% odd é" / "1.git")
    first = origin.commit({"a": "1"})
    store.fetch(origin.path)
    git(origin.path, "commit", "-q", "--amend", "--allow-empty", "-m", "another")
    store.fetch(origin.path)
    git(tmp_path, "init", "-q", "copy")
    git(tmp_path / "copy", "fetch", "-q", "--depth", "1", store.url, first)
    assert git(tmp_path / "copy", "rev-parse", "FETCH_HEAD") == first


def test_a_submodule_is_passed_over(origin, store, tmp_path):
    inner = Repository(tmp_path / "inner")
    inner.commit({"b": "2"})
    origin.commit({"a": "1"})
    git(origin.path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add",
        str(inner.path), "inner")
    head = origin.commit({})
    store.fetch(origin.path)
    assert store.kind(head, "inner") is None
    fsck(store)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_repository_of_another_user_is_read(origin, store):
    head = origin.commit({"a": "1"})
    subprocess.run(["chown", "-R", "12345:12345", str(origin.path)], check=True)
    assert store.fetch(origin.path).head == head


def test_a_damaged_repository_is_an_error_that_says_what_to_do(origin, store):
    origin.commit({"a": "1"})
    for path in (origin.path / ".git" / "objects").rglob("*"):
        if path.is_file():
            path.chmod(0o600)
            path.write_bytes(b"broken")
    with pytest.raises(RegistryError, match="fsck"):
        store.fetch(origin.path)


def test_a_clone_without_its_file_contents_is_an_error(origin, store, tmp_path):
    origin.commit({"a": "1"})
    git(origin.path, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", origin.path.as_uri(),
        "partial")
    with pytest.raises(RegistryError, match="cannot be read"):
        store.fetch(tmp_path / "partial")


def test_object_names_by_sha256_are_refused(store, tmp_path):
    git(tmp_path, "init", "-q", "--object-format=sha256", "modern")
    modern = Repository(tmp_path / "modern", is_new=False)
    modern.commit({"a": "1"})
    with pytest.raises(RegistryError, match="sha256"):
        store.fetch(modern.path)


@pytest.mark.parametrize("count", [1, 4, 9, 14])
def test_a_fetch_that_is_cut_off_is_taken_up_again(origin, store, monkeypatch, count):
    for n in range(5):
        origin.commit({"a/b": str(n), f"c/d{n}": "same"})
    left = iter(range(count))
    add_object = DiskObjectStore.add_object

    def cut_off(self, item):
        if next(left, None) is None:
            raise OSError("no space left")
        add_object(self, item)
    with monkeypatch.context() as patched, pytest.raises(OSError):
        patched.setattr(DiskObjectStore, "add_object", cut_off)
        store.fetch(origin.path)
    store.fetch(origin.path)
    fsck(store)


# --- reading -----------------------------------------------------------------------------------

def test_a_path_is_a_file_a_folder_or_nothing(origin, store):
    (origin.path / "link").symlink_to("a/b")
    head = origin.commit({"a/b": "1"})
    store.fetch(origin.path)
    kinds = {path: store.kind(head, path) for path in
             ("", "a", "a/b", "a/b/c", "a/", "..", "a/../a", "nothing", "link", "\udcff")}
    assert {path for path, kind in kinds.items() if kind} == {"", "a", "a/b"}
    assert (kinds[""], kinds["a"], kinds["a/b"]) == ("folder", "folder", "file")


@pytest.mark.parametrize("path", ["nothing", "a", ""])
def test_what_is_no_file_cannot_be_read(origin, store, path):
    head = origin.commit({"a/b": "1"})
    store.fetch(origin.path)
    with pytest.raises(NotFoundError):
        store.read(head, path)


@pytest.mark.parametrize("commit", ["0" * 40, "f00", "no hex", "", "HEAD"])
def test_an_unknown_commit_is_not_found(origin, store, commit):
    origin.commit({"a": "1"})
    store.fetch(origin.path)
    with pytest.raises(NotFoundError):
        store.kind(commit, "a")


def test_a_store_that_is_not_there_is_not_found(store):
    with pytest.raises(NotFoundError, match="the next sync"):
        store.read("0" * 40, "a")


# --- history -----------------------------------------------------------------------------------

def commits(store, head):
    """Every commit that `head` descends from, as they came onto the branch."""
    with store.reading() as reader:
        return [commit.id for commit in reader.new_commits(head, ())]


def changes(store, prefix=""):
    with store.reading() as reader:
        new = reader.new_commits(git(store.path, "rev-parse", "main"), ())
        return [(change.commit.id, change.path, change.blob is not None)
                for change in reader.changes(new, [prefix]) if not change.is_inherited]


def test_changes_name_each_commit_that_touched_a_component_file(origin, store):
    first = origin.commit({"data/a.yaml": "1", "data/b.yml": "1", "data/c.txt": "1"})
    origin.commit({"README": "1"})
    second = origin.commit({"data/a.yaml": "2"})
    third = origin.commit({"data/a.yaml": None})
    store.fetch(origin.path)
    assert changes(store) == [(first, "data/a.yaml", True), (first, "data/b.yml", True),
                              (second, "data/a.yaml", True), (third, "data/a.yaml", False)]


def test_what_a_branch_did_is_told_by_its_own_commits_and_not_by_the_merge(origin, store):
    root = origin.commit({"data/a.yaml": "1"})
    git(origin.path, "checkout", "-q", "-b", "side")
    side = [origin.commit({"data/b.yaml": str(n)}) for n in range(2)]
    git(origin.path, "checkout", "-q", "main")
    ours = origin.commit({"data/a.yaml": "2"})
    git(origin.path, "merge", "-q", "--no-ff", "-m", "merge", "side")
    store.fetch(origin.path)
    assert sorted(changes(store)) == sorted([
        (root, "data/a.yaml", True), (side[0], "data/b.yaml", True),
        (side[1], "data/b.yaml", True), (ours, "data/a.yaml", True)])


def test_only_files_below_the_prefix_count(origin, store):
    head = origin.commit({"market/data/a.yaml": "1", "data/b.yaml": "1"})
    store.fetch(origin.path, "market")
    assert changes(store, "market") == [(head, "market/data/a.yaml", True)]
    assert list(store.files(head, "market")) == ["market/data/a.yaml"]


def test_a_prefix_that_the_head_does_not_have_is_not_fetched(origin, store):
    origin.commit({"a": "1"})
    assert store.fetch(origin.path, "market") is None


def test_a_name_that_is_no_utf8_is_readable_as_text(origin, store):
    (origin.path / "data").mkdir()
    with open(os.fsencode(origin.path) + b"/data/caf\xe9.yaml", "w") as file:
        file.write("1")
    head = origin.commit({})
    store.fetch(origin.path)
    assert list(store.files(head)) == ["data/caf\\xe9.yaml"]


# --- snapshots ---------------------------------------------------------------------------------

def snapshot(store, folder):
    return store.snapshot(folder, folder_files(folder))


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "folder"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "c.txt").write_text("1")
    (folder / "run.sh").write_text("echo")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("run.sh")
    return folder


def test_a_snapshot_holds_files_modes_and_links(store, folder):
    commit = snapshot(store, folder)
    assert store.read(commit, "a/b/c.txt") == b"1"
    tree = git(store.path, "ls-tree", "-r", commit)
    assert [line.split()[0] for line in tree.splitlines()] == ["100644", "120000", "100755"]
    fsck(store)


def test_the_same_folder_gives_no_second_snapshot(store, folder):
    assert snapshot(store, folder) == snapshot(store, folder)


def test_a_change_is_a_commit_on_top(store, folder):
    first = snapshot(store, folder)
    (folder / "a" / "b" / "c.txt").write_text("2")
    second = snapshot(store, folder)
    assert commits(store, second) == [first, second]
    assert store.read(first, "a/b/c.txt") == b"1"


def test_the_same_files_give_the_same_commit_anywhere(store, folder, tmp_path):
    other = GitStore(tmp_path / "other.git")
    assert snapshot(store, folder) == snapshot(other, folder)


def test_an_empty_folder_has_an_empty_snapshot(store, tmp_path):
    (tmp_path / "empty").mkdir()
    assert store.files(snapshot(store, tmp_path / "empty")) == {}
    fsck(store)


def test_what_a_killed_writer_left_is_removed(store, folder):
    snapshot(store, folder)
    (store.path / "refs" / "heads" / "main.lock").touch()
    (store.path / "objects" / "pack" / "tmp1234.pack").touch()
    (folder / "run.sh").write_text("more")
    snapshot(store, folder)
    assert not [path for path in store.path.rglob("*") if path.suffix in (".lock", ".pack")]


# --- packs ----------------------------------------------------------------------------------------

BLOB, TREE = 3, 2
TREE_OF_ONE = b"100644 a\0" + b"1" * 20
LIMITS = Limits(objects=1000, blob_bytes=100_000, unpacked_bytes=10 << 20)


def pack(kind, content):
    """A pack of Git with one small object."""
    head = bytes([kind << 4 | len(content) & 15 | 0x80, len(content) >> 4])
    body = b"PACK\0\0\0\2\0\0\0\1" + head + zlib.compress(content)
    return body + hashlib.sha1(body).digest()


def receive(store, data):
    store.take([data], LIMITS)


def kept(store):
    return sorted(path.suffix for path in (store.path / "objects" / "pack").iterdir())


@pytest.mark.parametrize("kind, content", [(BLOB, b"a file"), (TREE, TREE_OF_ONE)])
def test_a_pack_is_taken_in_once_however_often_it_comes(store, kind, content):
    receive(store, pack(kind, content))
    receive(store, pack(kind, content))
    assert kept(store) == [".idx", ".pack"]
    name = {BLOB: b"blob", TREE: b"tree"}[kind]
    assert store.holds(hashlib.sha1(b"%s %d\0%s" % (name, len(content), content)).hexdigest())
    git(store.path, "verify-pack", *map(str, (store.path / "objects" / "pack").glob("*.idx")))


@pytest.mark.parametrize("data, said", [
    (pack(TREE, b"100644 a\0short"), "cannot be read"),
    (pack(TREE, TREE_OF_ONE + b"more"), "cannot be read"),
    (pack(BLOB, b"a file")[:-20] + b"0" * 20, "cannot be read"),
    (pack(BLOB, b"a file")[:-1], "ended too early"),
    (b"no pack at all, and long enough to be one", "no pack of Git")])
def test_a_damaged_pack_is_refused_and_nothing_of_it_is_kept(store, data, said):
    with pytest.raises(RegistryError, match=said):
        receive(store, data)
    assert kept(store) == []


def packed(origin, wanted, *options):
    """What git packs of these."""
    return subprocess.run(
        ["git", "-C", str(origin.path), "pack-objects", "--revs", "--stdout", "-q", *options],
        input="\n".join(wanted).encode(), capture_output=True, check=True).stdout


def grown(origin):
    """A history of a folder of many files and a long file, and its commits."""
    lines = "\n".join(f"line {number}" for number in range(500))
    return [origin.commit({f"data/{number:03d}": str(number), "long": f"{lines}\n{number}"})
            for number in range(40)]


@pytest.mark.parametrize("options", [("--delta-base-offset",), ()], ids=["by place", "by id"])
def test_the_index_of_a_pack_is_the_one_that_git_would_write(origin, store, tmp_path, options):
    data = packed(origin, grown(origin)[-1:], *options)
    receive(store, data)
    (tmp_path / "its.pack").write_bytes(data)
    git(tmp_path, "index-pack", "--strict", "its.pack")
    ours, = (store.path / "objects" / "pack").glob("*.idx")
    assert ours.read_bytes() == (tmp_path / "its.idx").read_bytes()
    assert b"chain length" in subprocess.run(
        ["git", "verify-pack", "-v", str(ours)], capture_output=True, check=True).stdout


def test_a_pack_with_changes_of_what_it_does_not_have_is_refused(origin, store):
    commits = grown(origin)
    data = packed(origin, [commits[-1], f"^{commits[-2]}"], "--thin")
    assert int.from_bytes(data[8:12], "big") < 10
    with pytest.raises(RegistryError, match="cannot be read"):
        receive(store, data)
    assert kept(store) == []


def test_a_pack_whose_change_does_not_fit_what_it_changes_is_refused(store):
    base = bytes([BLOB << 4 | 6]) + zlib.compress(b"a file")
    change = bytes([6 << 4 | 5, len(base)]) + zlib.compress(b"\7\2\2ab")
    body = b"PACK\0\0\0\2\0\0\0\2" + base + change
    with pytest.raises(RegistryError, match="cannot be read"):
        receive(store, body + hashlib.sha1(body).digest())
    assert kept(store) == []
