"""The command `paishare catalog hash`, and the same over HTTP."""
import json

import pytest
from click.testing import CliRunner

from registry.commands.catalog import catalog


@pytest.fixture
def run(web, monkeypatch):
    for name, value in web.environ.items():
        monkeypatch.setenv(name, value)
    return lambda *words: CliRunner().invoke(catalog, ["hash", *words], standalone_mode=False)


def test_the_hash_is_the_same_made_anew_and_over_http(web, run):
    found = json.loads(run("--rebuild", "--json").output)
    assert found["hash"] == found["rebuilt"] and len(found["hash"]) == 64
    assert run().output.strip() == found["hash"]
    assert web.program("admin").get("/catalog/hash").get_json() == {"hash": found["hash"]}


def test_only_an_admin_sees_the_hash_over_http(web):
    assert web.program("ann").get("/catalog/hash").status_code == 403


def test_a_catalog_that_was_tampered_with_is_noticed(web, run):
    with web.services.catalog._engine.begin() as connection:
        connection.exec_driver_sql("UPDATE versions SET description = 'other'")
    result = run("--rebuild")
    assert result.return_value == 1 and "has another hash" in result.stderr
