"""Pages and API on PostgreSQL: what anyone may send, and a server that goes away."""
from urllib.parse import quote

import pytest

from tests.fakes.web_home import FILES, HELLO, WebHome, write_home
from tests.postgresql import PASSWORD, Server, programs
from tests.registry.marketplace import Marketplace, data
from tests.registry.repository import Repository
from tests.registry.test_api_fuzz import (  # noqa: F401  collected here on this module's `web`
    ann,
    test_no_address_makes_a_page_fail,
    test_no_call_of_the_api_makes_it_fail,
)
from tests.registry.test_sync_survival import SyncProcess, wait_for


@pytest.fixture(scope="module")
def home(tmp_path_factory, postgresql):
    """A home whose catalogue is in PostgreSQL, with the URL of its database."""
    home = tmp_path_factory.mktemp("web") / "home"
    url = postgresql.new_database("home")
    write_home(home, FILES, {"job/hello.yaml": HELLO.replace("1.0.0\ncon", "1.1.0\ncon")},
               database_url=url)
    yield home
    postgresql.drop(url)


@pytest.fixture
def web(home, tmp_path, postgresql):
    url = postgresql.new_database(template="home")
    web = WebHome(home, tmp_path, url)
    yield web
    web.close()
    postgresql.drop(url)


def test_what_was_synced_is_found_shown_and_told_as_news(web):
    browser = web.browser()
    assert "/c/job/hello" in browser.get("/?q=hello").text
    assert "version: 1.0.0" in browser.get("/c/job/hello@1.0.0").text
    assert "job/hello@1.1.0" in browser.get("/c/job/hello/feed.atom").text
    assert [item["name"] for item in web.program().get("/components").json["components"]] \
        == ["hello", "points"]


def test_nul_names_nothing_and_breaks_nothing(web):
    program = web.program()
    assert program.get("/components/job/hello%00").status_code in (400, 404)
    assert program.post("/token", {"username": "ann\0", "password": "\0" * 9}).status_code == 401
    assert program.get("/components", q="\0").status_code == 200


@pytest.fixture
def server(postgresql):
    """One of its own, to be sent away."""
    server = Server(programs())
    server.start()
    yield server
    server.stop()


def test_a_server_that_went_away_is_told_and_found_again(request, server, tmp_path, caplog):
    home, url = tmp_path / "made" / "home", server.new_database()
    home.parent.mkdir()
    write_home(home, FILES, database_url=url)
    web = WebHome(home, tmp_path, url)
    request.addfinalizer(web.close)
    assert web.browser().get("/c/job/hello").status_code == 200
    server.pause()
    page, answer = (web.browser().get(f"{path}/job/hello") for path in ("/c", "/api/v3/components"))
    assert (page.status_code, answer.status_code) == (503, 503)
    assert answer.json["code"] == "DatabaseUnavailable"
    assert "does not answer" in page.text and str(server.folder) not in page.text + answer.text
    assert str(server.folder) in caplog.text and quote(PASSWORD, safe="") not in caplog.text
    server.resume()
    assert web.browser().get("/c/job/hello").status_code == 200


def test_a_sync_goes_on_when_its_server_is_back(server, tmp_path, monkeypatch):
    origin, url = Repository(tmp_path / "origin"), server.new_database()
    market = Marketplace(tmp_path / "home", url)
    market.add(origin.path)
    monkeypatch.setenv("PAISHARE_DATABASE_URL", url)
    process = SyncProcess(market.home)
    wait_for(lambda: process.says("Syncing every"))
    server.pause()
    wait_for(lambda: process.says("does not answer"))
    origin.commit({"data/late.yaml": data("late")})
    server.resume()
    wait_for(lambda: market.names("late") == ["data/late"])
    assert process.stop() == 0
    assert "Traceback" not in process.log.read_text()
    assert quote(PASSWORD, safe="") not in process.log.read_text()
    market.close()
