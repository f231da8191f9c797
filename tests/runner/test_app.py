"""The runner's API where the machine itself is at its end."""
import errno
import sqlite3
from types import SimpleNamespace

import pytest

from runner.app import create_app


@pytest.mark.parametrize("fault", [
    sqlite3.OperationalError("database or disk is full"),
    OSError(errno.ENOSPC, "No space left on device")])
def test_a_full_disk_is_said_as_such(fault):
    def stop(_job_id):
        raise fault
    api = create_app(SimpleNamespace(stop=stop), None)
    answer = api.test_client().post("/jobs/1/stop")
    assert answer.status_code == 507 and answer.json["message"].startswith("The disk is full.")
