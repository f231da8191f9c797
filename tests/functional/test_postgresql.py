"""The whole product with its catalogue in a PostgreSQL server."""
from urllib.parse import quote

import pytest

from tests.functional.product import Product
from tests.functional.runner_process import wait_for
from tests.postgresql import PASSWORD
from tests.registry.marketplace import data
from tests.registry.repository import Repository


@pytest.fixture(scope="module")
def product(tmp_path_factory, postgresql):
    url = postgresql.new_database(template="template1")
    made = Product(tmp_path_factory.mktemp("product") / "home", PAISHARE_SYNC_INTERVAL_S="1",
                   PAISHARE_DATABASE_URL=url)
    made.start()
    yield made
    made.close()
    postgresql.drop(url)


def found(product, query):
    return [(item["reference"], item["version"])
            for item in product.get("/components", q=query)["components"]]


def test_a_source_is_added_synced_searched_and_resolved_on_postgresql(product, tmp_path):
    origin = Repository(tmp_path / "origin")
    first = origin.commit({"data/größe.yaml": data("groesse", description="Größen, 尺寸")})
    product.post("/sources", location=str(origin.path), name="origin")
    product.wait_for_component("data/groesse")
    origin.commit({"data/größe.yaml": data("groesse", "1.1.0", description="Größen, 尺寸")})
    wait_for(lambda: found(product, "groesse") == [("data/groesse@1.1.0", "1.1.0")],
             "the new version is found")
    assert found(product, "尺寸") == [("data/groesse@1.1.0", "1.1.0")]
    assert [product.get("/resolve", reference=f"data/groesse{selector}")["version"]
            for selector in ("", "@1.0.0", "@^1.0", f"@{first[:10]}")] \
        == ["1.1.0", "1.0.0", "1.1.0", "1.0.0"]


def test_what_stands_in_postgresql_outlives_the_processes_and_the_index(product, tmp_path):
    origin = Repository(tmp_path / "origin")
    origin.commit({"data/alpha.yaml": data("alpha_set"), "data/two.yaml": data("two", "2.0.0")})
    product.post("/sources", location=str(origin.path), name="other")
    product.wait_for_component("data/two")
    product.post("/marks", reference="data/two@2.0.0", kind="yanked", reason="It is wrong.")
    for process in product.processes("sync"):
        process.kill()
    product.stop()
    assert not (product.home / "registry.db").exists()
    product.start()
    assert ("data/alpha_set@1.0.0", "1.0.0") in found(product, "alpha_set")
    assert product.get("/resolve", reference="data/two@2.0.0")["version"] == "2.0.0"
    logs = "".join(path.read_text() for path in (product.home / "logs").glob("*.log"))
    said = logs + (product.home.parent / "serve.txt").read_text()
    assert "Traceback" not in logs
    assert PASSWORD not in said and quote(PASSWORD, safe="") not in said
