import pytest

from registry import source as source_module
from registry.errors import RegistryError
from registry.source import Place, component_type, find_place, folder_files
from tests.registry.repository import Repository, git


@pytest.mark.parametrize("path, type", [
    ("job/a.yaml", "job"), ("x/y/dockerimage/a.yml", "dockerimage"), ("data/a.b.yaml", "data"),
    ("script/a.YAML", None), ("job/a.json", None), ("a.yaml", None), ("job.yaml", None),
    ("jobs/a.yaml", None), ("job/sub/a.yaml", None), ("storage/a.yaml", None)])
def test_a_component_file_is_yaml_in_a_folder_named_after_its_type(path, type):
    assert component_type(path) == type


def test_a_plain_folder_has_no_repository(tmp_path):
    assert find_place(str(tmp_path)) == Place(folder=tmp_path, repository=None, prefix="")


def test_a_folder_in_a_working_tree_is_found_with_its_path(tmp_path):
    origin = Repository(tmp_path / "origin")
    folder = origin.path / "a" / "b"
    folder.mkdir(parents=True)
    assert find_place(str(folder)) == Place(folder=folder, repository=origin.path, prefix="a/b")
    assert find_place(str(origin.path)).prefix == ""


def test_a_bare_repository_is_its_own_place(tmp_path):
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    bare = tmp_path / "bare.git"
    assert find_place(str(bare)) == Place(folder=bare, repository=bare, prefix="")


def test_a_link_to_a_folder_is_followed(tmp_path):
    origin = Repository(tmp_path / "origin")
    (origin.path / "a").mkdir()
    (tmp_path / "link").symlink_to(origin.path / "a")
    assert find_place(str(tmp_path / "link")).prefix == "a"


@pytest.mark.parametrize("name", ["absent", "file"])
def test_what_is_no_folder_is_an_error(tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(RegistryError, match="is not there"):
        find_place(str(tmp_path / name))


def test_files_come_in_the_order_of_their_paths_without_what_git_and_python_keep(tmp_path):
    for name in ("b/c.txt", "a.txt", ".git/HEAD", "x/__pycache__/y.pyc", ".hidden"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to("/etc")
    assert [file.path for file in folder_files(tmp_path)] == [
        ".hidden", "a.txt", "b/c.txt", "link"]


def test_a_folder_too_large_for_snapshots_is_an_error_with_a_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(source_module, "MAX_FILES", 2)
    for name in "abc":
        (tmp_path / name).touch()
    with pytest.raises(RegistryError, match="git init"):
        folder_files(tmp_path)
