"""What people give to the app in their browsers and its forms stays text wherever it is shown."""
import json
import re
import zlib
from base64 import urlsafe_b64encode

import pytest
import yaml

from tests.browser.conftest import Site
from tests.browser.corpus import TEXTS, job, packs, write_corpus
from tests.browser.payloads import PAYLOADS
from tests.browser.trap import FOREIGN, Trap
from tests.fakes.github_web import OnGitHub
from tests.registry.publishing import OLD, PATH

SIZE = 83
ALL = " ".join(TEXTS)
DROP = """([name, text]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name));
    document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true,
                                                       cancelable: true}));
}"""


class GitHubSite(OnGitHub, Site):
    pass


@pytest.fixture(scope="module")
def home_template(tmp_path_factory):
    home = tmp_path_factory.mktemp("corpus") / "home"
    write_corpus(home, SIZE)
    return home


@pytest.fixture
def trap(site, open_page):
    """Ann's page, whose escaping alone holds."""
    return Trap(open_page("ann", bypass_csp=True))


def shared(text):
    return urlsafe_b64encode(zlib.compress(text.encode())).decode().rstrip("=")


def test_nothing_runs_that_a_link_a_draft_or_a_file_brings_to_the_submit_page(trap):
    page = trap.page
    for number, pack in enumerate(packs(SIZE)):
        text = yaml.safe_dump(job("corpus", pack), sort_keys=False)
        page.goto("/compare")
        page.goto(f"/submit#yaml={shared(text)}")
        page.locator("#notes .warn", has_text="Check before running").first.wait_for()
        page.locator("#problems a").first.wait_for(state="attached")
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        trap.check(f"a link with pack {number}")
    page.locator("#draft-state", has_text="draft saved").wait_for()
    page.goto("/compare")
    page.goto("/submit#linked")
    page.get_by_role("button", name="Drop the draft").wait_for()
    trap.check("a draft")
    old = json.dumps({"jobName": ALL, "image": TEXTS[0], "taskRoles": [
        {"name": each, "taskNumber": 1, "command": each} for each in TEXTS[:40]]})
    for name, brought in ((TEXTS[30], old), (TEXTS[6], ALL), (TEXTS[0], "{" + ALL)):
        page.evaluate(DROP, [name, brought])
        page.locator("#notes .alert, #problems a").first.wait_for(state="attached")
        trap.check(f"a file with {brought[:30]}")


def test_nothing_runs_that_is_suggested(trap):
    page = trap.page
    page.goto("/")
    for text in ("tag:", "corpus", "<script", "\"'>"):
        page.get_by_label("Search the marketplace").fill(text)
        page.wait_for_load_state("networkidle")
        trap.check(f"suggestions for {text}")
    page.goto("/use/job/corpus0")
    page.get_by_role("button", name="Add data").click()
    page.locator("#market-search").fill("corpus")
    page.locator("#market-found button", has_text="corpus1").first.wait_for()
    trap.check("what the marketplace offers")


@pytest.fixture
def used(github, monkeypatch, home_template, tmp_path):
    """A site whose people wrote payloads wherever they may write."""
    monkeypatch.setenv("PAISHARE_GITHUB_URL", github.url)
    ann = github.world.add_user("ann")
    github.world.create(ann, "parts", {PATH: OLD})
    site = GitHubSite(home_template, tmp_path)
    browser = site.connected("ann", github.world.classic_token(ann, "public_repo"))
    marks, texts = site.program("ann"), iter(TEXTS * 2)
    for number in range(len(packs(SIZE))):
        for kind, type_name in (("yanked", "data"), ("deprecated", "script")):
            mark = {"kind": kind, "reference": f"{type_name}/corpus{number}", "successor": "",
                    "reason": " ".join(packs(SIZE)[number])[:500]}
            marks.post("/marks", mark)
    for each in TEXTS[:40]:
        browser.post("/settings/tokens", name=each)
    for number in range(20):
        browser.post("/settings/registries", server=f"s{number}.example.org", secret="x",
                     username=next(texts).replace(":", " "))
    browser.post("/sources", location="ann/parts", name=TEXTS[0], sub_paths="\n".join(TEXTS[:20]),
                 branch=TEXTS[1])
    assert browser.post("/sources", location="ann/parts").status_code == 303
    drafted = browser.post("/publish/new", yaml=yaml.safe_dump(
        {**job("tidied", TEXTS[:60]), "parameters": {}, "virtualCluster": None}),
        repository="ann/parts", path="job/tidied.yaml", title=TEXTS[0],
        body="\n\n".join(PAYLOADS))
    assert drafted.location == "/publish/1", re.findall('role="alert">.*|Line .*', drafted.text)
    site.sync()
    yield site
    site.close()


class TestWhatPeopleWrote:
    @pytest.fixture
    def site(self, used):
        return used

    def test_nothing_of_it_runs(self, site, open_page):
        trap = Trap(open_page("ann", bypass_csp=True))
        for path in ("/settings/tokens", "/settings/registries", "/sources", "/sources/ann/parts",
                     "/publish/1", "/publish/1/edit", "/publish", "/c/data/corpus0@latest",
                     "/c/script/corpus1", "/", "/changelog?of=data/corpus0"):
            trap.page.goto(path)
            trap.check(path)
        trap.page.goto("/publish/1")
        trap.page.get_by_role("button", name="Create pull request").click()
        trap.page.wait_for_load_state("networkidle")
        trap.check("a pull request on its way")
        trap.page.watch.errors = [each for each in trap.page.watch.errors
                                  if "status of 40" not in each and "status of 41" not in each]


def test_feeds_and_badges_hold_nothing_but_text(site, page):
    answers = [site.browser("ann").get(path) for path in (
        "/feed.atom", "/feed.atom?q=corpus", "/c/job/corpus0/feed.atom", "/badge.svg")]
    for answer in answers:
        assert answer.status_code == 200 and "html" not in answer.content_type
    foreign = page.evaluate(f"""(texts) => texts.flatMap((text) => ({FOREIGN})(
        new DOMParser().parseFromString(text, "application/xml")))""",
                            [answer.text for answer in answers])
    assert [each for each in foreign if each != "no main"] == []
