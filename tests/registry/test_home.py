"""The folder of all state: made where it may be, refused in one sentence elsewhere."""
import re
import stat

import pytest

from registry import home
from registry.errors import RegistryError


def test_the_home_is_made_for_its_owner_alone(tmp_path):
    home.make(tmp_path / "a" / "home")
    assert stat.S_IMODE((tmp_path / "a" / "home").stat().st_mode) == 0o700
    assert list((tmp_path / "a" / "home").iterdir()) == []


@pytest.mark.parametrize("path, cause", [
    ("/proc/home", "No such file or directory"), ("/dev/null", "File exists"),
    ("/sys/kernel", "")])
def test_where_nothing_can_be_kept_the_next_step_is_said(tmp_path, path, cause):
    with pytest.raises(RegistryError, match=f"Nothing can be kept in {path}: {cause}.*Set PAISH"):
        home.make(tmp_path / path)


def test_a_full_disk_is_said_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(home, "MIN_FREE_MB", 1 << 40)
    message = re.escape(f"The disk of {tmp_path} is full: ")
    with pytest.raises(RegistryError, match=message):
        home.make(tmp_path)
    assert list(tmp_path.iterdir()) == []
