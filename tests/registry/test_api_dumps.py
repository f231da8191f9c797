"""Dumps through the API: everybody may know the key, only an admin may have the catalog."""
from datetime import datetime

import pytest

from registry import restore
from registry.config import Settings


@pytest.fixture
def dump(web):
    return web.services.dumps.make(datetime(2026, 5, 1, 3))


def test_everybody_may_know_the_key_that_checks_dumps(web):
    answer = web.program().get("/dumps/key")
    assert answer.json["public_key"] == web.services.dumps.public_key
    assert len(answer.json["key_id"]) == 16


def test_an_admin_lists_dumps_and_takes_the_newest_along(web, dump, tmp_path):
    admin = web.program("admin")
    assert admin.get("/dumps").json["dumps"] == [
        {"name": "paishare-20260501T030000Z.tar.gz", "size": dump.size,
         "made_at": "2026-05-01T03:00:00Z"}]
    answer = admin.get("/dumps/latest")
    assert answer.content_type == "application/gzip"
    assert "paishare-20260501T030000Z.tar.gz" in answer.headers["Content-Disposition"]
    (tmp_path / "dump").write_bytes(answer.data)
    restore.restore(Settings.from_environ({"PAISHARE_HOME": str(tmp_path / "twin")}),
                    tmp_path / "dump", public_key=web.services.dumps.public_key)


@pytest.mark.parametrize("path", ["/dumps", "/dumps/latest"])
def test_nobody_else_gets_one(web, dump, path):
    assert web.program("ann").get(path).status_code == 403
    assert web.program().get(path).status_code == 401


def test_before_the_first_dump_there_is_none(web):
    answer = web.program("admin").get("/dumps/latest")
    assert answer.status_code == 404 and "paishare export FILE" in answer.json["message"]
