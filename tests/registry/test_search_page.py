"""The search page: its address is its whole state, and every link on it changes one part."""
import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import url_for

from registry.hits import Hit, Page
from registry.query import parse_query
from registry.views.finding import Finding, Marker
from tests.fakes.web_home import POINTS, write_repository


@pytest.fixture
def app(web):
    with web.app.test_request_context():
        yield web.app


def main_of(answer):
    return answer.text.partition("<main")[2].partition("</main")[0]


def query_of(url):
    return parse_qs(urlsplit(url).query)


def page_of(*, total=0, number=1, facets=None):
    return Page(total=total, page=number, page_size=24, facets=facets or {})


def test_a_link_keeps_everything_but_what_it_changes(app):
    finding = Finding(query=parse_query("cifar "), type="job", sort="name", number=3)
    assert query_of(finding.url) == {"q": ["cifar "], "type": ["job"], "sort": ["name"],
                                     "page": ["3"]}
    assert query_of(finding.tab("data")) == {"q": ["cifar "], "type": ["data"], "sort": ["name"]}
    assert query_of(finding.sorts[0].url) == {"q": ["cifar "], "type": ["job"]}
    assert Finding(query=parse_query(" ")).url == "/"


def test_without_words_nothing_is_a_better_match(app):
    assert [link.text for link in Finding(query=parse_query("type:job")).sorts] == [
        "Newest", "Most used", "Name"]
    assert [link.is_current for link in Finding(query=parse_query("x")).sorts] == [
        True, False, False, False]


def test_a_facet_adds_its_filter_and_takes_it_out_again(app):
    page = page_of(facets={"type": {"job": 9}, "by": {"Ann Lee": 7, "bob": 2}})
    facet, = Finding(query=parse_query("cif"), number=2).facets(page)
    assert [(link.text, link.count) for link in facet.shown] == [("Ann Lee", 7), ("bob", 2)]
    assert query_of(facet.shown[0].url) == {"q": ['by:"Ann Lee" cif']}
    narrowed = Finding(query=parse_query('by:"Ann Lee" cif'))
    link = narrowed.facets(page)[0].shown[0]
    assert link.is_current and query_of(link.url) == {"q": ["cif"]}
    assert [(chip.text, query_of(chip.url)["q"]) for chip in narrowed.chips] == [
        ('by:"Ann Lee"', ["cif"])]


def test_a_facet_of_numbers_is_a_comparison(app):
    page = page_of(facets={"gpu": {"0": 7, "<=1": 7, "<=2": 9, "<=4": 9}})
    facet, = Finding(query=parse_query("gpu:<=4 x")).facets(page)
    assert [(link.text, link.count, link.is_current) for link in facet.shown] == [
        ("none", 7, False), ("at most 2", 9, False), ("at most 4", 9, True)]
    assert [query_of(link.url)["q"] for link in facet.shown] == [
        ["gpu:0 gpu:<=4 x"], ["gpu:<=2 gpu:<=4 x"], ["x"]]


def test_what_may_be_meant_keeps_the_filters(app):
    finding = Finding(query=parse_query('type:job digist -"old one"'))
    page = Page(page=1, page_size=24, suggestions=("digits",))
    link, = finding.suggestions(page)
    assert link.text == 'type:job -"old one" digits' and query_of(link.url)["q"] == [link.text]


def test_a_name_that_may_be_meant_is_spelled_as_it_is(web):
    origin = web.home.parent / "second"
    write_repository(origin, {"data/hand_written.yaml": POINTS.replace("points", "hand_written")})
    web.services.sources.add_folder(str(origin), name="second", owner_id=None)
    web.sync()
    answer = web.browser().get("/?q=hxxd_written")
    assert "Did you mean" in answer.text and ">hand_written</a>" in answer.text


def test_results_that_only_come_close_are_told_as_that_with_what_may_be_meant(web):
    browser = web.browser()
    near = main_of(browser.get("/?q=helo"))
    assert 'href="/c/job/hello?source=examples"' in near
    assert "Not every word is found as it is written. Did you mean" in " ".join(near.split())
    assert 'href="/?q=hello"' in near
    assert "Did you mean" not in main_of(browser.get("/?q=hello"))


def test_a_page_that_is_not_there_names_the_nearest_and_offers_a_search(web):
    answer = web.browser().get("/c/job/helo@1.0.0")
    assert answer.status_code == 404
    assert 'href="/c/job/hello"' in answer.text and 'value="helo"' in answer.text
    assert 'name="q"' in web.browser().get("/no/such").text


def test_a_long_facet_shows_its_first_values_and_the_rest_on_a_click(app):
    page = page_of(facets={"tag": {f"tag{number}": 1 for number in range(9)}})
    facet, = Finding(query=parse_query("x")).facets(page)
    assert (len(facet.shown), len(facet.more)) == (6, 3)


@pytest.mark.parametrize("number, total, shown", [
    (1, 24, []), (1, 25, ["1", "2"]), (5, 1000, ["1", None, "3", "4", "5", "6", "7", None, "42"]),
    (2, 100, ["1", "2", "3", "4", "5"]), (42, 1000, ["1", None, "40", "41", "42"])])
def test_pages_have_numbers(app, number, total, shown):
    links = Finding(query=parse_query("x")).pages(page_of(total=total, number=number))
    assert [link and link.text for link in links] == shown
    assert all(link.is_current == (link.text == str(number)) for link in links if link)


def test_what_matches_is_marked_in_escaped_text():
    hit = Hit(source="s", type="job", name="a_mnist_b<b>", version="", contributor="", reference="",
              description="`mnist` & <script>", updated="2026-01-01T00:00:00Z")
    marker = Marker(parse_query("mnist script"), page_of())
    assert marker.name(hit) == "a_<wbr><mark>mnist</mark>_<wbr>b&lt;b&gt;"
    assert marker.text(hit.description) == (
        "<code><mark>mnist</mark></code> &amp; &lt;<mark>script</mark>&gt;")


def test_a_card_shows_no_signs_of_markdown():
    shown = Marker(parse_query("x"), page_of()).text("# Digits\n**What is in it.** Run `2**3`.")
    assert shown == "Digits\nWhat is in it. Run <code>2**3</code>."


@pytest.mark.parametrize("text", [
    "a b&c=d", "100%", "C++/é#?", "@[x];", "模型", "'\"<>\\^~", "a.b-c_d"])
def test_an_address_is_written_as_flask_writes_it(app, text):
    hit = Hit(source=text, type="job", name=text, version="1.0.0", contributor="", description="",
              reference=f"job/{text}@1.0.0", updated="2026-01-01T00:00:00Z")
    asked = Finding(query=parse_query(""), type="job", number=2).asking(text)
    assert asked == url_for("marketplace.index", q=text, type="job")
    finding = Finding(query=parse_query(""))
    assert finding.hit(hit) == url_for("marketplace.show", type_name="job", rest=text, source=text)
    assert finding.use(hit) == url_for("submit.use", type_name="job", rest=f"{text}@1.0.0",
                                       source=text)


def test_a_hit_among_all_versions_leads_to_its_version(app):
    hit = Hit(source="s", type="job", name="x", version="1.0.0", contributor="", description="",
              reference="job/x@1.0.0", updated="2026-01-01T00:00:00Z")
    assert Finding(query=parse_query("versions:all")).hit(hit) == "/c/job/x@1.0.0?source=s"
    assert Finding(query=parse_query("")).hit(hit) == "/c/job/x?source=s"


def test_a_query_that_cannot_be_read_shows_its_place_and_what_may_be_meant(web):
    answer = web.browser().get("/?q=hello+tpye:job&type=data")
    main = unescape(main_of(answer))
    assert answer.status_code == 400 and "<mark>t</mark>pye:job" in main and "Column 7" in main
    assert "Did you mean <code>type:</code>" in main
    assert 'href="/?q=hello+type:job&type=data"' in main
    assert 'value="hello tpye:job"' in answer.text and 'aria-invalid="true"' in answer.text


@pytest.mark.parametrize("text", ['"', "((", "a" * 1001, "gpu:x", "OR", "by:", "\x00(", "<b>("])
def test_a_bad_query_is_never_an_error_of_ours(web, text):
    answer = web.browser().get("/", query_string={"q": text})
    assert answer.status_code == 400 and "cannot be read" in answer.text
    assert "<b>(" not in answer.text


def test_the_page_says_how_to_search(web):
    page = unescape(web.browser().get("/").text)
    assert "<code>gpu:<=4</code>" in page and "<code>uses:cifar10</code>" in page


def test_the_order_and_the_tab_stay_when_one_searches_on(web):
    page = web.browser().get("/?type=job&sort=name").text
    assert '<input type="hidden" name="type" value="job">' in page
    assert '<input type="hidden" name="sort" value="name">' in page


def test_while_the_index_is_made_the_page_says_so(web):
    (web.home / "search" / "current").unlink()
    browser = web.browser()
    for query in ("hello", "nothing-like-it"):
        page = browser.get(f"/?q={query}&type=job")
        assert page.status_code == 200 and "The search index is being made" in page.text


def test_a_search_can_be_followed(web):
    browser = web.browser()
    page = unescape(browser.get("/?q=hello+type:job&type=job").text)
    url = re.search(r'application/atom\+xml"[^>]* href="([^"]+)"', page)[1]
    assert query_of(url) == {"q": ["hello type:job"], "type": ["job"]}
    assert "job/hello" in browser.get(url).text


def test_all_versions_are_one_click_away(web):
    page = unescape(main_of(web.browser().get("/?q=hello")))
    assert "The newest version of each component" in page
    link = re.search(r'href="([^"]+)">Search all versions', page)[1]
    all_versions = unescape(main_of(web.browser().get(link)))
    assert "Every version that matches" in all_versions and 'href="/?q=hello"' in all_versions
