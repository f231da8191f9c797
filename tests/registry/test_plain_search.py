import shutil

import pytest

from registry.plain_search import PlainSearch
from registry.search import SearchIndex
from tests.registry.marketplace import Marketplace, data, image


@pytest.fixture
def market(tmp_path, origin):
    market = Marketplace(tmp_path / "home")
    origin.commit({"data/digits.yaml": data("digits", "0.9.0")})
    origin.commit({"data/digits.yaml": data("digits", "1.0.0", description="80% of 图像分类 images"),
                   "data/other.yaml": data("other", description="Not digits, letters"),
                   "dockerimage/torch.yaml": image("torch")})
    market.add(origin.path)
    market.run()
    market.index = SearchIndex(market.home / "search", PlainSearch(market.engine))
    yield market
    market.close()


@pytest.mark.parametrize("query, found", [
    ("digits", ["data/digits", "data/other"]), ("IMAGES digits", ["data/digits"]),
    ("图像分类", ["data/digits"]), ("80%", ["data/digits"]), ('"digits, letters"', ["data/other"]),
    ("-letters type:data", ["data/digits"]),
    ("torch OR letters", ["data/other", "dockerimage/torch"]),
    ("type:dockerimage", ["dockerimage/torch"]), ("source:elsewhere", []), ("_", []),
    ("updated:>2999-01-01", []), ("is:deprecated", []), ("name:dig gpu:<=4", ["data/digits"]),
    ("name:dig version:^1", ["data/digits"])])
def test_without_an_index_the_catalogue_answers(market, query, found):
    shutil.rmtree(market.home / "search")
    page = market.index.search(query)
    assert sorted(f"{hit.type}/{hit.name}" for hit in page.hits) == found
    assert (page.total, page.is_ready) == (len(found), False)


def test_without_an_index_hits_types_pages_and_versions_are_as_with_one(market):
    with_index = [market.index.search(query, sort="name", types=types, page_size=2, page=page)
                  for query in ("", "digits versions:all") for types in ((), ("data",))
                  for page in (1, 2)]
    shutil.rmtree(market.home / "search")
    without = [market.index.search(query, sort="name", types=types, page_size=2, page=page)
               for query in ("", "digits versions:all") for types in ((), ("data",))
               for page in (1, 2)]
    for one, other in zip(with_index, without):
        assert {hit.reference for hit in one.hits} == {hit.reference for hit in other.hits}
        assert (one.total, one.facets["type"]) == (other.total, other.facets["type"])
    assert [each.name for each in market.index.complete("DI")] == ["digits"]


@pytest.mark.parametrize("name", ["newest_*.seg", "_newest_*.toc", "newest-manifest.json"])
def test_one_flipped_byte_is_noticed_answered_from_the_catalogue_and_mended(market, name):
    file, = (market.home / "search").glob(f"v*/{name}")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x20
    file.write_bytes(content)
    index = SearchIndex(market.home / "search", PlainSearch(market.engine))
    assert [hit.name for hit in index.search("torch").hits] == ["torch"]
    market.sync.step(False)
    page = index.search("torch")
    assert page.is_ready and [hit.name for hit in page.hits] == ["torch"]


@pytest.mark.parametrize("store", ["newest", "older"])
def test_a_sync_that_meets_a_damaged_index_makes_it_anew(market, origin, store):
    for file in (market.home / "search").glob(f"v*/{store}_*.seg"):
        file.write_bytes(b"torn")
    origin.commit({"data/digits.yaml": data("digits", "2.0.0")})
    market.run()
    found = {hit.reference for hit in market.index.search("digits versions:all").hits}
    assert {"data/digits@0.9.0", "data/digits@1.0.0", "data/digits@2.0.0"} <= found
    assert market.index.is_sound()
