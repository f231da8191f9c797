"""Search, a component's page, and choosing between versions and sources."""
import re

import pytest

from tests.fakes.web_home import HELLO, write_repository


def text_of(answer):
    """The page's text without tags, spaces made one."""
    return " ".join(re.sub("<[^>]+>", " ", answer.text).split())


def test_everything_is_listed_with_counts_by_type(web):
    page = text_of(web.browser().get("/"))
    assert "All 2 Job 1 Data 1 Script 0 Docker image 0" in page
    assert "hello" in page and "points" in page


def test_a_search_finds_by_words_and_keeps_what_was_asked(web):
    answer = web.browser().get("/?q=hel")
    assert "/c/job/hello?source=examples" in answer.text and 'value="hel"' in answer.text
    assert "/c/data/points" not in answer.text.partition("<main")[2].partition("</main")[0]


def test_a_tab_shows_one_type(web):
    main = web.browser().get("/?type=data").text
    assert "/c/data/points" in main and "/c/job/hello" not in main


def test_nothing_found_offers_what_may_be_meant(web):
    page = web.browser().get("/?q=hhelloo")
    assert "Nothing matches" in page.text and 'href="/?q=hello"' in page.text


@pytest.mark.parametrize("page", ["0", "-1", "x", "99", "99999999999999999999", "²"])
def test_a_page_that_is_not_there_leads_to_one_that_is(web, page):
    answer = web.browser().get(f"/?page={page}", follow_redirects=True)
    assert answer.status_code == 200 and "/c/job/hello" in answer.text


def test_a_page_shows_description_parameters_tasks_origin_and_text(web):
    answer = web.browser().get("/c/job/hello")
    page = text_of(answer)
    assert "<strong>hello</strong> to <code>points</code>" in answer.text
    assert "lr 0.1" in page and "shuffle true" in page
    assert "main 1 1 100 0 busybox, points web (2)" in page
    assert "Path job/hello.yaml" in page and "paishare submit job/hello@1.1.0" in page
    assert '<span class="line" id="L3">version: 1.1.0' in answer.text


def test_every_version_has_its_page(web):
    browser = web.browser()
    newest = browser.get("/c/job/hello")
    old = browser.get("/c/job/hello@1.0.0")
    assert "/c/job/hello@1.0.0?source=examples" in newest.text
    assert "There is a newer version" in old.text and "version: 1.0.0" in old.text
    assert "See what differs" in old.text
    commit = web.services.catalog.get("job/hello@1.0.0").commit
    assert "version: 1.0.0" in browser.get(f"/c/job/hello@{commit[:10]}").text


def test_prerequisites_are_links_where_they_have_a_page(web):
    page = web.browser().get("/c/job/hello").text
    assert '<a href="/c/data/points@1.0.0?source=examples">points</a>' in page
    assert "busybox:1" in page and "/c/dockerimage/busybox" not in page


def test_only_a_job_can_be_used_and_the_rest_says_how(web):
    browser = web.browser()
    assert "/use/job/hello@1.1.0?source=examples" in browser.get("/c/job/hello").text
    data = browser.get("/c/data/points").text
    assert "/use/" not in data and "data: points@1.0.0" in data


def test_a_removed_component_says_so(web):
    origin = web.home.parent / "removed"
    write_repository(origin, {"job/gone.yaml": HELLO.replace("hello", "gone"), "a": ""})
    web.services.sources.add_folder(str(origin), name="removed", owner_id=None)
    web.sync()
    (origin / "job" / "gone.yaml").unlink()
    write_repository(origin, {"b": ""})
    web.services.sources.request_sync("removed")
    web.sync()
    assert "no longer in its source" in web.browser().get("/c/job/gone").text


def test_a_component_whose_newest_text_is_broken_says_what_is_wrong_with_it(web):
    origin = web.home.parent / "breaking"
    write_repository(origin, {"job/torn.yaml": HELLO.replace("hello", "torn")},
                     {"job/torn.yaml": "type: job\nname: torn\ntasks: 5\n"})
    web.services.sources.add_folder(str(origin), name="breaking", owner_id=None)
    web.sync()
    page = web.browser().get("/c/job/torn").text
    assert "The newest text of this file cannot be used." in page and "<b>Line 3" in page
    assert "cannot be used" not in web.browser().get("/c/job/hello").text


def test_a_name_in_two_sources_asks_which(web):
    origin = web.home.parent / "second"
    write_repository(origin, {"job/hello.yaml": HELLO})
    web.services.sources.add_folder(str(origin), name="second", owner_id=None)
    web.sync()
    browser = web.browser()
    answer = browser.get("/c/job/hello")
    assert answer.status_code == 409
    assert "source=second" in answer.text and "source=examples" in answer.text
    assert browser.get("/c/job/hello?source=second").status_code == 200


def test_a_command_to_paste_does_nothing_else_whatever_the_version_is_called(web):
    origin = web.home.parent / "odd"
    write_repository(origin, {
        "job/first.yaml": HELLO.replace("hello", "first").replace("1.0.0\ncon", "1;reboot\ncon"),
        "job/second.yaml": HELLO.replace("hello", "second").replace("1.0.0\ncon", "$(a b)\ncon")})
    web.services.sources.add_folder(str(origin), name="odd", owner_id=None)
    web.sync()
    browser = web.browser()
    first, second = (browser.get(f"/c/job/{name}").text for name in ("first", "second"))
    assert "paishare submit &#39;job/first@1;reboot&#39;<" in first
    commit = web.services.catalog.get("job/second").commit[:12]
    assert f"paishare submit job/second@{commit}<" in second
    link = re.search(r'href="(/use/job/second@[^"]+)"', second)[1]
    assert web.browser("ann").get(link.replace("&amp;", "&")).status_code == 200
