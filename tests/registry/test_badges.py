"""A badge in a README leads to the way to run a job, and tells a stranger nothing."""
import re
from html import unescape
from xml.etree import ElementTree


def test_the_badge_is_one_picture_that_pages_elsewhere_may_show(web):
    answer = web.browser().get("/badge.svg")
    assert answer.mimetype == "image/svg+xml"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert answer.headers["Cache-Control"] == "public, max-age=86400"
    assert ElementTree.fromstring(answer.text).attrib["aria-label"] == "Run on PAIShare"


def test_a_job_offers_the_badge_in_three_forms_with_whole_addresses(web):
    page = unescape(web.browser().get("/c/job/hello").text)
    use = "http://localhost/use/job/hello@1.1.0?source=examples"
    assert f"[![Run on PAIShare](http://localhost/badge.svg)]({use})" in page
    image = "http://localhost/badge.svg"
    assert f'<a href="{use}"><img src="{image}" alt="Run on PAIShare"></a>' in page
    assert f".. image:: {image}\n   :target: {use}" in page


def test_a_link_to_a_component_can_be_previewed_elsewhere(web):
    page = web.browser().get("/c/job/hello").text
    found = dict(re.findall('<meta property="og:([a-z_]+)" content="([^"]*)">', page))
    assert found["title"] == "hello 1.1.0" and found["site_name"] == "PAIShare"
    assert found["url"] == "http://localhost/c/job/hello@1.1.0?source=examples"
