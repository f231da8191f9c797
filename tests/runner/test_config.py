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
