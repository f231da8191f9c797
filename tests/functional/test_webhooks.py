"""A push to GitHub becomes searchable by its webhook alone, and by the poll where that is lost."""
import pytest

from tests.fakes.web_home import HELLO
from tests.functional.product import Product
from tests.functional.runner_process import wait_for

POINTS = "type: data\nname: points\nversion: {}\nuri: https://host.example/points.csv\n"


def hello(version):
    return HELLO.replace("version: 1.0.0\ncon", f"version: {version}\ncon")


@pytest.fixture
def start(github, tmp_path):
    started = []

    def start_(**environ):
        product = Product(tmp_path / "home", PAISHARE_GITHUB_URL=github.url, **environ)
        started.append(product)
        product.start()
        return product
    yield start_
    for product in started:
        product.close()


def add_with_webhook(product, github):
    """The repository octo/parts as a source, and GitHub telling of its pushes."""
    octo = github.world.add_user("octo")
    parts = github.world.create(octo, "parts", {"job/hello.yaml": hello("1.0.0")})
    product.post("/sources", location="octo/parts")
    wait_for(lambda: found(product, "source:octo/parts"), "the repository is indexed", 60)
    hook = product.get("/sources/octo/parts/webhook")
    github.world.add_hook(parts, hook["url"], hook["secret"])
    return parts


def found(product, query):
    return [hit["version"] for hit in product.get("/components", q=query)["components"]]


def test_a_push_is_searchable_by_its_webhook_long_before_the_next_poll(start, github):
    product = start(PAISHARE_SYNC_INTERVAL_S="3600")
    parts = add_with_webhook(product, github)
    github.world.commit(parts, {"job/hello.yaml": hello("1.1.0"), "data/points.yaml":
                                POINTS.format("2.0.0")})
    assert [delivery.status for delivery in github.hooks.deliveries] == [202]
    wait_for(lambda: found(product, "source:octo/parts type:data") == ["2.0.0"], "it is found", 60)
    assert found(product, "source:octo/parts type:job") == ["1.1.0"]
    github.world.commit(parts, {"job/hello.yaml": None})
    wait_for(lambda: found(product, "source:octo/parts type:job") == [], "it is gone", 60)


def test_a_lost_webhook_is_made_good_by_the_poll(start, github):
    product = start(PAISHARE_SYNC_INTERVAL_S="1")
    parts = add_with_webhook(product, github)
    github.hooks.is_lost = True
    github.world.commit(parts, {"data/points.yaml": POINTS.format("2.0.0")})
    wait_for(lambda: found(product, "source:octo/parts type:data") == ["2.0.0"], "it is found", 60)
    assert [delivery.status for delivery in github.hooks.deliveries] == [None]
