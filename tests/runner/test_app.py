"""The runner's API where the machine itself is at its end."""
import errno
import sqlite3
from types import SimpleNamespace

import pytest

from runner.app import create_app
from runner.errors import NotFoundError
from runner.sentence import Sentence


@pytest.mark.parametrize("fault", [
    sqlite3.OperationalError("database or disk is full"),
    OSError(errno.ENOSPC, "No space left on device")])
def test_a_full_disk_is_said_as_such(fault):
    def stop(_job_id):
        raise fault
    api = create_app(SimpleNamespace(stop=stop), None)
    answer = api.test_client().post("/jobs/1/stop")
    assert answer.status_code == 507 and answer.json["message"].startswith("The disk is full.")


def test_what_is_said_is_answered_as_english_text_with_what_it_is_made_of_beside():
    def stop(job_id):
        raise NotFoundError(Sentence("There is no job {job_id!r}.", job_id=job_id))
    answer = create_app(SimpleNamespace(stop=stop), None).test_client().post("/jobs/1/stop").json
    assert answer["message"] == "There is no job '1'."
    assert answer["message_parts"] == {"template": "There is no job {job_id!r}.",
                                       "values": {"job_id": "1"}}
