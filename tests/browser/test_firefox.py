"""The pages in a stock Firefox: what scripts and the policy do there, and what one types."""
import json

import pytest

from tests.browser.firefox import FOUND, Firefox
from tests.browser.test_layout import PAGES
from tests.fakes.web_home import PASSWORD

pytestmark = [pytest.mark.exhaustive,
              pytest.mark.skipif(not FOUND, reason="no Firefox: apt-get install firefox-esr")]
ENTER = "\ue007"
JOB = "000000000001"


@pytest.fixture
def firefox(tmp_path, site):
    """Ann is logged in."""
    folder = tmp_path / "profile"
    folder.mkdir()
    firefox = Firefox(folder)
    firefox.open(f"{site.url}/login")
    firefox.type("[name=username]", "ann")
    firefox.type("[name=password]", PASSWORD + ENTER)
    firefox.wait("document.querySelector('#me')")
    yield firefox
    firefox.close()
    assert firefox.errors == []


def test_every_page_stands_without_an_error(site, firefox):
    for path in PAGES:
        firefox.open(site.url + path)
        assert firefox.run("document.querySelectorAll('h1').length") == 1, path
        assert firefox.run("htmx.version"), path
        firefox.wait("document.querySelector('.cm-content')"
                     " || !document.querySelector('textarea#yaml')")
        firefox.errors = [f"{path}: {each}" for each in firefox.errors]


def test_what_one_types_is_searched_and_back_is_the_same_search(site, firefox):
    firefox.open(f"{site.url}/")
    firefox.type("#q", "points")
    firefox.wait("location.search === '?q=points' && document.querySelector('#results mark')")
    firefox.run("document.querySelector('#results h3 a').click()")
    firefox.wait("location.pathname.startsWith('/c/') && document.readyState === 'complete'")
    firefox.run("history.back()")
    firefox.wait("document.querySelector('#q')?.value === 'points'")
    assert "points" in firefox.run("document.querySelector('#results h3').textContent")


def test_a_job_is_changed_submitted_and_watched(site, firefox):
    firefox.open(f"{site.url}/use/job/hello")
    firefox.wait("document.querySelector('.cm-content')")
    field = "[data-path='parameters.note']"
    firefox.wait(f"document.querySelector({json.dumps(field)})")
    firefox.type(field, "更多 ")
    firefox.wait("document.querySelector('.cm-content').textContent.includes('更多')")
    firefox.run("document.querySelector('#run').click()")
    firefox.wait(f"location.pathname === '/jobs/{JOB}' && document.querySelector('#log-text')")
    site.runner.start(JOB)
    site.runner.write(JOB, "epoch \x1b[31m1\x1b[0m\n")
    firefox.wait("document.querySelector('#log-text .fg-ansi-red')?.textContent === '1'")
    site.runner.end(JOB, "SUCCEEDED", "Every task succeeded.")
    firefox.wait("document.querySelector('#announced').textContent.startsWith('Succeeded')")
    assert "更多" in site.runner.jobs[JOB]["spec"]["parameters"]["note"]
