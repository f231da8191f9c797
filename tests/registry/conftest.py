import pytest

from tests.fakes.web_home import FILES, HELLO, WebHome, write_home
from tests.registry.marketplace import Marketplace
from tests.registry.repository import Repository


@pytest.fixture(scope="session")
def home_template(tmp_path_factory):
    """A home that is made once and copied for each test."""
    home = tmp_path_factory.mktemp("web") / "home"
    write_home(home, FILES, {"job/hello.yaml": HELLO.replace("1.0.0\ncon", "1.1.0\ncon")})
    return home


@pytest.fixture
def web(home_template, tmp_path):
    web = WebHome(home_template, tmp_path)
    yield web
    web.close()


@pytest.fixture
def market(tmp_path, database_url):
    """A registry without its pages, on both databases."""
    market = Marketplace(tmp_path / "home", database_url)
    yield market
    market.close()


@pytest.fixture
def origin(tmp_path):
    """An empty repository."""
    return Repository(tmp_path / "origin")
