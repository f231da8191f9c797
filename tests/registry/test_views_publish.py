"""The pages of publishing and its API, before the stand-in for GitHub."""
import re
import subprocess
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from registry.component import TYPES, parse
from registry.config import Secret
from registry.publication_problems import ADVICE
from registry.publish import Publisher
from tests.fakes.web_home import WebHome
from tests.registry.publishing import NEW, OLD, PATH

ROOT = Path(__file__).parents[2]


class GitHubHome(WebHome):
    """A registry where Bob may publish to Ann's repository on the stand-in."""

    def __init__(self, github, template, folder):
        super().__init__(template, folder)
        self.world = github.world
        ann, self.bob = self.world.add_user("ann"), self.world.add_user("bob")
        self.upstream = self.world.create(ann, "components", {PATH: OLD})
        self.user = self.services.accounts.user_named("bob")

    def connect(self, token=None):
        token = token or self.world.classic_token(self.bob, "public_repo")
        self.services.github.connect(self.user.id, Secret(token.value))
        return token

    def work(self):
        """What the process github does for Bob, without its pauses."""
        publisher = Publisher(self.services.publications, self.services.github,
                              self.services.drafts.github_url, pause=timedelta(0))
        publisher.due(self.services.publications._clock())
        publisher.step(self.user.id, threading.Event())


@pytest.fixture
def web(github, home_template, tmp_path, monkeypatch):
    monkeypatch.setenv("PAISHARE_GITHUB_URL", github.url)
    web = GitHubHome(github, home_template, tmp_path)
    yield web
    web.close()


@pytest.fixture
def bob(web):
    web.connect()
    return web.browser("bob")


def hidden(page, name):
    return re.search(rf'name="{name}" value="([^"]*)"', page.text)[1]


def preview(browser, text=NEW, **fields):
    """The page of a new draft, and its address."""
    answer = browser.post("/publish/new", repository="ann/components", yaml=text, **fields)
    assert answer.status_code == 303, answer.text
    return browser.get(answer.location), answer.location


def test_a_component_is_previewed_and_one_click_opens_the_pull_request(web, bob):
    page, address = preview(bob)
    assert "The version goes from" in page.text
    assert 'value="Update script/tidy 1.1.0"' in page.text
    answer = bob.post(f"{address}/confirm", seen=hidden(page, "seen"), title="Tidier", body="So.")
    assert (answer.status_code, answer.location) == (303, address)
    assert "This goes on by itself" in bob.get(address).text
    web.work()
    (pull,) = web.world.pulls
    assert (pull.title, pull.body) == ("Tidier", "So.")
    assert "The pull request is open." in bob.get(f"{address}/live").text


def test_a_version_that_says_too_little_is_raised_by_one_click(bob):
    text = NEW.replace("version: 1.1.0", "version: 1.0.1  # soon")
    page, address = preview(bob, text)
    assert "Make it version 2.0.0" in page.text
    assert bob.post(f"{address}/version").location == address
    page = bob.get(address)
    assert "Make it version" not in page.text
    assert 'value="Update script/tidy 2.0.0"' in page.text
    assert "version: 2.0.0  # soon" in bob.get(f"{address}/edit").text


def test_one_that_is_over_opens_no_editor_whose_text_would_be_lost(web, bob):
    _, address = preview(bob)
    assert bob.get(f"{address}/edit").status_code == 200
    bob.post(f"{address}/withdraw")
    answer = bob.get(f"{address}/edit")
    assert (answer.status_code, answer.location) == (303, address)


@pytest.mark.parametrize("type_name", TYPES)
def test_what_a_new_component_begins_with_is_valid(bob, type_name):
    page = bob.get(f"/publish/new?type={type_name}").text
    text = re.search(r"<textarea id=\"yaml\"[^>]*>\n(.*?)</textarea>", page, re.S)[1]
    assert parse(text.replace("&#34;", '"')).type == type_name


def test_what_is_no_component_stays_in_the_editor_with_its_problems(bob):
    answer = bob.post("/publish/new", repository="ann/components", yaml="type: job\nname: x\n")
    assert answer.status_code == 400
    assert "to solve first" in answer.text and "name: x" in answer.text


def test_nobody_else_sees_a_publication(web, bob):
    _, address = preview(bob)
    for other in ("ann", "admin"):
        browser = web.browser(other)
        assert [browser.get(address + rest).status_code
                for rest in ("", "/live", "/edit")] == [404, 404, 404]
        assert browser.post(f"{address}/confirm").status_code == 404
        assert "script/tidy" not in browser.get("/publish?all=1").text
    assert web.browser().get(address).status_code == 302


def test_an_admin_sees_how_far_one_is_and_no_more(web, bob):
    page, address = preview(bob)
    bob.post(f"{address}/confirm", seen=hidden(page, "seen"))
    listed = web.browser("admin").get("/publish?all=1").text
    assert "by bob" in listed and "Starting" in listed
    assert "ann/components" not in listed and "tidy" not in listed


def test_an_admin_reads_in_words_why_one_does_not_go_on(web, bob):
    page, address = preview(bob)
    bob.post(f"{address}/confirm", seen=hidden(page, "seen"))
    web.world.delete(web.upstream)
    web.work()
    listed = web.browser("admin").get("/publish?all=1").text
    assert "The repository is not there for you" in listed
    assert not re.search("GONE|CHECKED", listed)


def test_the_buttons_are_a_part_of_what_is_refreshed(web, bob):
    page, address = preview(bob)
    bob.post(f"{address}/confirm", seen=hidden(page, "seen"))
    assert f"{address}/withdraw" in bob.get(f"{address}/live").text
    web.work()
    live = bob.get(f"{address}/live").text
    assert f"{address}/withdraw" not in live and f"{address}/edit" in live
    assert 'data-title="script/tidy@1.1.0 – In review – PAIShare"' in live


def test_a_draft_is_kept_until_github_is_connected(web):
    browser = web.browser("bob")
    page, address = preview(browser)
    assert "GitHub is not connected" in page.text and "Create pull request" not in page.text
    number = address.rpartition("/")[2]
    settings = f"/settings/github?publication={number}"
    assert f'href="{settings}"' in page.text and page.text.count(f"{address}/edit") == 1
    web.connect()
    browser.post(f"{address}/retry")
    assert "Create pull request" in browser.get(address).text


def test_from_the_settings_the_way_leads_back_to_what_waits_for_a_token(web):
    browser = web.browser("bob")
    _, address = preview(browser)
    number = address.rpartition("/")[2]
    page = browser.get(f"/settings/github?publication={number}").text
    assert hidden(browser.get(f"/settings/github?publication={number}"), "publication") == number
    assert f'<a href="{address}">your publication</a>' in page
    wrong = browser.post("/settings/github", token="nonsense", publication=number)
    assert wrong.status_code == 400 and hidden(wrong, "publication") == number
    token = web.world.classic_token(web.bob, "public_repo").value
    answer = browser.post("/settings/github", token=token, publication=number)
    assert (answer.status_code, answer.location) == (303, address)
    assert "Create pull request" in browser.get(address).text


@pytest.mark.parametrize("number", ["99", "-1", "x", "99999999999999999999", "//evil.example"])
def test_only_ones_own_publication_is_a_way_back(web, number):
    browser = web.browser("bob")
    assert "your publication" not in browser.get(f"/settings/github?publication={number}").text
    answer = browser.post("/settings/github", publication=number,
                          token=web.world.classic_token(web.bob, "repo").value)
    assert (answer.status_code, answer.location) == (303, "/settings/github")


def test_what_stopped_on_its_way_goes_on_after_connecting(web, bob):
    page, address = preview(bob)
    bob.post(f"{address}/confirm", seen=hidden(page, "seen"))
    for token in web.world.tokens.values():
        token.is_revoked = True
    web.work()
    assert "does not accept your token any more" in bob.get(address).text
    number = address.rpartition("/")[2]
    bob.post("/settings/github", publication=number,
             token=web.world.classic_token(web.bob, "public_repo").value)
    assert "This goes on by itself" in bob.get(address).text


def test_whatever_is_in_the_way_the_page_says_what_to_do(web, bob):
    page, address = preview(bob)
    bob.post(f"{address}/confirm", seen=hidden(page, "seen"))
    found = web.services.publications.get(web.user.id, int(address.rpartition("/")[2]))
    program, table = web.program("bob"), (ROOT / "docs/github.md").read_text()
    ways = ("/settings/github?", f"{address}/edit", f"{address}/retry", f"{address}/rebuild",
            f'href="{web.services.drafts.github_url}/', "goes on by itself")
    for code, advice in ADVICE.items():
        found = web.services.publications.save(
            found, problem=code, detail="Words of GitHub",
            next_at=found.created_at if advice.goes_on else None)
        page = bob.get(address).text
        assert advice.title.replace("'", "&#39;") in page and "Words of GitHub" in page, code
        assert any(way in page for way in ways), f"nothing to press or to wait for at {code}"
        told = program.get(f"/publications/{found.id}").json["problem"]
        assert (told["code"], told["title"]) == (code, advice.title)
        assert f"`{code}`" in table


LINKS = [("SCOPE_MISSING", "/settings/tokens/new?scopes=public_repo"),
         ("FG_NO_FORK", "/ann/components/fork"), ("SSO_REQUIRED", "/settings/tokens"),
         ("WORKFLOW_SCOPE", "/bob/components")]


def test_what_is_mended_on_github_has_its_address(web, bob):
    _, address = preview(bob)
    found = web.services.publications.get(web.user.id, int(address.rpartition("/")[2]))
    for code, place in LINKS:
        found = web.services.publications.save(found, problem=code, fork="bob/components")
        assert f'href="{web.services.drafts.github_url}{place}' in bob.get(address).text
        told = web.program("bob").get(f"/publications/{found.id}").json["problem"]["link"]
        assert told.startswith(f"{web.services.drafts.github_url}{place}")


def test_a_check_that_asks_for_a_signature_has_its_address(web, bob):
    page, address = preview(bob)
    bob.post(f"{address}/confirm", seen=hidden(page, "seen"))
    web.work()
    pull = web.world.pulls[0]
    web.world.check(web.upstream, pull.head_sha, "CLA", "failure",
                    details_url="https://cla.example.org/sign")
    bob.post(f"{address}/retry")
    web.work()
    live = bob.get(f"{address}/live").text
    assert 'href="https://cla.example.org/sign">Open the check</a>' in live


def test_what_changed_since_it_was_seen_is_not_published(web, bob):
    page, address = preview(bob)
    bob.post(f"{address}/edit", repository="ann/components", yaml=NEW + "# more\n")
    answer = bob.post(f"{address}/confirm", seen=hidden(page, "seen"))
    assert answer.status_code == 409 and "another one by now" in answer.text
    web.work()
    assert web.world.pulls == []


def test_the_submit_page_and_a_components_page_lead_to_the_editor(web, bob):
    page = bob.post("/submit", action="check", yaml=NEW)
    assert 'formaction="/publish/new"' in page.text
    assert "tidier.py" in bob.post("/publish/new", action="publish", yaml=NEW).text
    shown = bob.get("/c/job/hello").text
    link = re.search(r'href="(/publish/new\?component=[^"]+)"', shown)[1]
    assert "Propose a change to hello" in bob.get(link.replace("&amp;", "&")).text


def test_a_program_drafts_agrees_and_follows(web):
    web.connect()
    program = web.program("bob")
    draft = program.post("/publications", {"yaml": NEW, "repository": "ann/components"}).json
    assert draft["may_confirm"] and "+version: 1.1.0" in draft["diff"]
    number = draft["id"]
    program.post(f"/publications/{number}/confirm", {"seen": draft["seen"]})
    web.work()
    found = program.get(f"/publications/{number}").json
    assert (found["state"], found["pull"]["number"]) == ("OPEN", 1)
    assert [each["id"] for each in program.get("/publications").json["publications"]] == [number]
    assert web.program("ann").get(f"/publications/{number}").status_code == 404


@pytest.mark.parametrize("old, text", [(OLD, NEW), (None, NEW.replace("tidy", "neat"))])
def test_the_change_is_had_as_a_patch_that_git_applies(bob, tmp_path, old, text):
    page, _ = preview(bob, text)
    found = bob.get(re.search(r'href="(/publish/\d+/patch)"', page.text)[1])
    name = parse(text).name
    assert f"script-{name}.patch" in found.headers["Content-Disposition"]
    file = tmp_path / "clone" / "script" / f"{name}.yaml"
    file.parent.mkdir(parents=True)
    if old:
        file.write_text(old)
    subprocess.run(["git", "apply", "-"], cwd=tmp_path / "clone", input=found.data, check=True)
    assert file.read_text() == text
