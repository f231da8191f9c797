"""By which address others reach this server: a setting, else the request, proxies only if told."""
import re

import pytest

from registry.config import Settings
from registry.errors import RegistryError
from tests.fakes.github_web import OnGitHub

PUBLIC = "https://share.example.org"


@pytest.fixture
def open_web(github, home_template, tmp_path, monkeypatch):
    """A registry with these settings, whose GitHub is the stand-in."""
    opened = []

    def open_(**settings):
        for name, value in {"PAISHARE_GITHUB_URL": github.url, **settings}.items():
            monkeypatch.setenv(name, value)
        opened.append(OnGitHub(home_template, tmp_path))
        return opened[-1]
    yield open_
    for web in opened:
        web.close()


def hook_of(web, github):
    """The address of a webhook as the source's page, the API and GitHub itself have it."""
    octo = github.world.add_user("octo")
    parts = github.world.create(octo, "parts", {"a": "a"})
    bob = web.connected("bob", github.world.classic_token(octo, "repo", "admin:repo_hook"))
    bob.post("/sources", location="octo/parts")
    assert bob.post("/sources/octo/parts/webhook").status_code == 303
    told = web.program("bob").get("/sources/octo/parts/webhook").json["url"]
    assert told in bob.get("/sources/octo/parts").text
    hook, = parts.hooks
    assert hook.url == told
    return told


def test_webhooks_have_the_address_that_is_set(open_web, github):
    web = open_web(PAISHARE_PUBLIC_URL=f"{PUBLIC}/")
    assert hook_of(web, github) == f"{PUBLIC}/api/v3/hooks/github/{web.source().id}"


def test_webhooks_have_the_requests_host_where_none_is_set(open_web, github):
    web = open_web()
    assert hook_of(web, github) == f"http://localhost/api/v3/hooks/github/{web.source().id}"


def test_every_link_of_a_feed_begins_with_the_address_that_is_set(open_web):
    feed = open_web(PAISHARE_PUBLIC_URL=PUBLIC).browser().get("/c/job/hello/feed.atom?x=1").text
    links = re.findall(r'href="([^"]*)"', feed)
    assert f"{PUBLIC}/c/job/hello/feed.atom?x=1" in links and len(links) > 2
    assert all(link.startswith(f"{PUBLIC}/") for link in links)
    assert "<id>tag:share.example.org,2" in feed


def test_badges_and_what_programs_are_told_have_the_address_that_is_set(open_web):
    web = open_web(PAISHARE_PUBLIC_URL=PUBLIC)
    page = web.browser().get("/c/job/hello").text
    assert f"{PUBLIC}/badge.svg" in page and f"{PUBLIC}/use/job/hello" in page
    assert "http://localhost/" not in page


FORWARDED = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "proxy.example.org"}


@pytest.mark.parametrize("proxies, link", [
    ("0", "http://localhost/"), ("1", "https://proxy.example.org/")])
def test_headers_of_proxies_are_believed_where_a_setting_says_so(open_web, proxies, link):
    web = open_web(PAISHARE_TRUSTED_PROXIES=proxies)
    feed = web.app.test_client().get("/c/job/hello/feed.atom", headers=FORWARDED).text
    assert f'href="{link}c/job/hello/feed.atom"' in feed


@pytest.mark.parametrize("name, value", [
    ("PAISHARE_PUBLIC_URL", "share.example.org"), ("PAISHARE_PUBLIC_URL", "ftp://share.example"),
    ("PAISHARE_PUBLIC_URL", "https://share.example/x"), ("PAISHARE_PUBLIC_URL", "https://a:b@c"),
    ("PAISHARE_PUBLIC_URL", "https://share.example?x=1"), ("PAISHARE_PUBLIC_URL", "http://[::1"),
    ("PAISHARE_PUBLIC_URL", "https://"), ("PAISHARE_PUBLIC_URL", "https://h:x"),
    ("PAISHARE_TRUSTED_PROXIES", "-1"), ("PAISHARE_TRUSTED_PROXIES", "11"),
    ("PAISHARE_TRUSTED_PROXIES", "yes")])
def test_what_cannot_be_stops_the_start_with_the_variables_name(name, value):
    with pytest.raises(RegistryError, match=f"^{name} must be"):
        Settings.from_environ({name: value})
