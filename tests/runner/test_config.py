"""The runner's settings, and what they refuse."""
import pytest

from runner.config import Settings
from runner.errors import RunnerError


def test_allowed_and_source_folders_are_lists_of_paths(tmp_path):
    found = Settings.from_environ({
        "RUNNER_HOME": str(tmp_path / "runner"), "RUNNER_SOURCE_FOLDERS": str(tmp_path / "git"),
        "RUNNER_ALLOWED_FOLDERS": f"{tmp_path}/data:{tmp_path}/models"})
    assert found.allowed_folders == (tmp_path / "data", tmp_path / "models")
    assert found.source_folders == (tmp_path / "git",)


@pytest.mark.parametrize("folder", [".", "runner", "runner/storage", "git", "git/1.git", "link"])
def test_a_folder_that_holds_state_is_never_given_to_jobs(tmp_path, folder):
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(RunnerError, match="must stay out of their reach"):
        Settings.from_environ({
            "RUNNER_HOME": str(tmp_path / "runner"), "RUNNER_SOURCE_FOLDERS": str(tmp_path / "git"),
            "RUNNER_ALLOWED_FOLDERS": str(tmp_path / folder)})


def test_declared_gpus_are_numbered_through_and_marked():
    gpus = Settings.from_environ({"RUNNER_GPUS": "NVIDIA A100:2:81920, V100:1"}).gpus
    assert [(gpu.uuid, gpu.model, gpu.memory_mb, gpu.is_declared) for gpu in gpus] == [
        ("DECLARED-0", "NVIDIA A100", 81920, True), ("DECLARED-1", "NVIDIA A100", 81920, True),
        ("DECLARED-2", "V100", 0, True)]


@pytest.mark.parametrize("wrong", ["A100", "A100:x", ":2", "A100:1:2:3", "A100:99"])
def test_a_wrong_declaration_of_gpus_says_how_to_write_it(wrong):
    with pytest.raises(RunnerError, match="RUNNER_GPUS must look like A100:4"):
        Settings.from_environ({"RUNNER_GPUS": wrong})
