"""Addresses of components that name the source first, and what is shown where nothing is."""
import pytest

from registry.marks import Marks


@pytest.mark.parametrize("place, page", [
    ("/c/examples/job/hello", "/c/job/hello?source=examples"),
    ("/c/examples/job/hello@1.0.0", "/c/job/hello@1.0.0?source=examples"),
    ("/c/examples/job/hello/v/1.0.0", "/c/job/hello@1.0.0?source=examples"),
    ("/c/acme/parts/data/points", "/c/data/points?source=acme/parts"),
    ("/c/data/job/hello", "/c/job/hello?source=data"),
    ("/c/job/hello/v/1.0.0", "/c/job/hello@1.0.0"),
    ("/c/examples/job/hello/versions.atom", "/c/job/hello/feed.atom?source=examples"),
    ("/c/job/hello/versions.atom", "/c/job/hello/feed.atom"),
    ("/c/examples/job/hello/compare/1.0.0...1.1.0",
     "/compare?a=examples:job/hello@1.0.0&b=examples:job/hello@1.1.0")])
def test_an_address_that_names_the_source_first_leads_to_the_page(web, place, page):
    assert web.browser().get(place).location == page


def test_the_pages_that_they_lead_to_are_there(web):
    browser = web.browser()
    for place in ("/c/examples/job/hello", "/c/examples/job/hello/v/1.1.0",
                  "/c/examples/job/hello/versions.atom",
                  "/c/examples/job/hello/compare/1.0.0...1.1.0"):
        assert browser.get(place, follow_redirects=True).status_code == 200, place


@pytest.mark.parametrize("path, near", [
    ("/c/job/helo", "job/hello"), ("/c/examples/job/helo", "job/hello"), ("/c/helo", "job/hello"),
    ("/c/jobs/hello", "hello"), ("/c/job/hello@9.9.9", "job/hello@1.1.0")])
def test_a_component_that_is_not_there_names_the_nearest(web, path, near):
    page = web.browser().get(path, follow_redirects=True)
    assert page.status_code == 404 and f">{near}</a>" in page.text


def test_what_is_nowhere_has_ways_on(web):
    page = web.browser().get("/nothing/at/all")
    assert page.status_code == 404
    for way in ('href="/"', 'href="/jobs"', 'href="/submit"', 'role="search"'):
        assert way in page.text


def test_a_version_that_was_deleted_says_why_and_leads_to_the_last_good_one(web):
    catalog = web.services.catalog
    Marks(web.engine).purge(catalog.get("job/hello@1.1.0"), reason="It leaked.", user_id=1)
    page = web.browser().get("/c/job/hello@1.1.0")
    assert page.status_code == 410 and "It leaked." in page.text
    assert "The last good version" in page.text and ">examples:job/hello@1.0.0</a>" in page.text
