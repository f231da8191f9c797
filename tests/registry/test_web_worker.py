"""The web process has read what readers ask for before the first of them does."""
from registry import web_worker


def test_what_is_asked_for_first_is_there(web):
    web_worker.warm(web.app)
    for path in web_worker.FIRST:
        assert web.browser().get(path).status_code == 200
    assert "marketplace/index.html" in {name for _, name in web.app.jinja_env.cache}


def test_a_server_whose_database_is_away_begins_all_the_same(web):
    (web.home / "registry.db").unlink()
    web_worker.warm(web.app)
