"""What every page keeps: axe-core finds nothing, whatever the language, the colours, the width.

The pages are those that the application has: one that is new and in no list here is an error.
"""
import re

import pytest
from werkzeug.routing import RequestRedirect

from tests.browser.conftest import PHONE, Site
from tests.browser.test_layout import PAGES
from tests.fakes.github_web import OnGitHub
from tests.fakes.web_home import PASSWORD
from tests.frontend import installed
from tests.registry.publishing import NEW, OLD, PATH
from tests.registry.test_views_submit import PLAIN

WIDE = {"width": 1280, "height": 900}
NARROW = {"width": 320, "height": 256}  # 1280 × 1024 at 400 %
JOB, OTHER, RUNNING = (f"{number:012x}" for number in (1, 2, 3))
PRIVATE = [*PAGES, *(f"/jobs/{JOB}{rest}" for rest in (
    "", "/search?text=x", "/receipt", "/files", "/log", "/tasks/main/0", "/files/1/main/0/a.csv")),
    f"/jobs/{OTHER}", "/jobs/nothing-like-it", f"/publish?job={JOB}",
    f"/jobs/{RUNNING}", f"/jobs/{RUNNING}/terminal/main/0", f"/jobs/compare/{JOB}...{OTHER}",
    f"/submit?from_job={JOB}&focus=taskRoles.main.resourcePerInstance.memoryMB",
    "/publish/1", "/publish/2", "/publish/2/edit", "/sources/examples", "/c/data/nothing-like-it",
    "/sources/examples?file=job/broken.yaml", "/admin/users/ann/delete"]
PUBLIC = ["/login", "/c/job/hello", "/"]
# What is no page: API, files, feeds, parts of pages, and addresses that lead on to others.
OTHERWISE = re.compile(r"/(static|api/v|api$|api/openapi|rest-server|metrics|badge|admin$"
                       r"|settings$)|.*(\.atom|\.svg|\.txt|/live|/patch|/fit)$")
COLOURS = ["color-contrast", "link-in-text-block"]
RULES = """(only) => new Promise(requestAnimationFrame).then(() => axe.run(document, {
    runOnly: only ? {type: "rule", values: only} : {type: "tag", values: [
        "wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]},
    rules: only ? {} : {"target-size": {enabled: true}}, resultTypes: ["violations"],
    preload: false})
    .then(({violations}) => violations.flatMap((each) => each.nodes.map(
        (node) => `${each.id}: ${node.html.slice(0, 160)} ${node.failureSummary}`))))"""
# How wide the page is at the end: a terminal and a chart follow the window some frames later.
WIDTH = """(wanted) => new Promise((done) => {
    const look = (left) => {
        const {scrollWidth} = document.documentElement;
        if (scrollWidth <= wanted || !left) done(scrollWidth);
        else requestAnimationFrame(() => look(left - 1));
    };
    look(200);
})"""
# As far apart as a reader may set letters, words and lines.
SPACED = """() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`* { line-height: 1.5 !important; letter-spacing: .12em !important;
        word-spacing: .16em !important } p { margin-bottom: 2em !important }`);
    document.adoptedStyleSheets = [sheet];
}"""
SHAPE = """() => {
    const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
    return {h1: document.querySelectorAll("h1").length, lang: document.documentElement.lang,
            mains: document.querySelectorAll("main").length, title: document.title,
            twice: ids.filter((each, at) => ids.indexOf(each) !== at)};
}"""
IN_TAG = r"""<[a-z](?:[^>"']|"[^"]*"|'[^']*')*?\s"""
INLINE = re.compile(IN_TAG + r"(?:on[a-z]+|style)\s*=|<style|<script(?![^>]* (?:src=|id=.texts))",
                    re.IGNORECASE)


class GitHubSite(OnGitHub, Site):
    pass


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    folder = installed(tmp_path_factory.mktemp("axe"))
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")


@pytest.fixture
def site(github, monkeypatch, home_template, tmp_path):
    """An administrator has jobs that succeeded, failed and run, and a draft to publish."""
    monkeypatch.setenv("PAISHARE_GITHUB_URL", github.url)
    owner = github.world.add_user("admin")
    github.world.create(owner, "parts", {PATH: OLD})
    site = GitHubSite(home_template, tmp_path)
    token = github.world.classic_token(owner, "public_repo")
    admin = site.connected("admin", token)
    assert admin.post("/sources", location="admin/parts").status_code == 303
    for _ in (JOB, OTHER, RUNNING):
        assert admin.post("/submit", yaml=PLAIN, action="submit").status_code == 303
    for id_ in (JOB, OTHER, RUNNING):
        site.runner.start(id_)
        site.runner.leave(id_, "a.csv", b"epoch,loss\n1,0.5\n2,0.25\n")
        site.runner.write(id_, "epoch 1\n")
    site.runner.end(JOB, "SUCCEEDED", "Every task succeeded.")
    site.runner.end(OTHER, "FAILED", "Task main-0 failed: exit code 1.", 1)
    for number, text in enumerate((NEW, OLD.replace("name: tidy", "name: other")), 1):
        drafted = admin.post("/publish/new", yaml=text, repository="admin/parts")
        assert drafted.location == f"/publish/{number}", drafted.text
    seen = re.search('name="seen" value="([^"]+)"', admin.get("/publish/1").text)[1]
    assert admin.post("/publish/1/confirm", seen=seen, title="A").location == "/publish/1"
    api_token = site.services.accounts.create_token(
        site.services.accounts.user_named("admin"), "laptop")
    site.secrets = (token.value, api_token, PASSWORD)
    yield site
    site.close()


def test_no_page_is_forgotten(site):
    """Each address that the application answers with a page is among those opened here."""
    places = site.app.url_map.bind("")
    opened = set()
    for path in PRIVATE + PUBLIC:
        try:
            opened.add(places.match(path.partition("?")[0])[0])
        except RequestRedirect as leads:
            opened.add(places.match(leads.new_url.removeprefix("http://"))[0])
    known = {rule.endpoint: rule.rule for rule in site.app.url_map.iter_rules()
             if "GET" in rule.methods and not rule.websocket and not OTHERWISE.match(rule.rule)}
    assert {endpoint: rule for endpoint, rule in known.items() if endpoint not in opened} == {}


def test_no_page_holds_a_secret(site):
    browser = site.browser("admin")
    for path in PRIVATE:
        text = browser.get(path).text
        assert [each for each in site.secrets if each in text] == [], path


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_page_keeps_anybody_out(site, open_page, axe, language):
    found = []
    for user, paths in (("admin", PRIVATE), (None, PUBLIC)):
        page = open_page(user, reduced_motion="reduce")
        page.context.add_cookies([{"name": "language", "value": language, "url": site.url}])
        for path in paths:
            found += [f"{path}: {each}" for each in looked_at(page, path, axe, language)]
    assert not found, "\n".join(found)


def looked_at(page, path, axe, language):
    """What is wrong with the page: opened once, then narrowed and darkened where it stands."""
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(WIDE)
    answer = page.goto(path)
    if answer.status != 200:
        page.watch.expect(f"{answer.status}")
    yield from INLINE.findall(answer.text())
    shape = page.evaluate(SHAPE)
    wanted = {"h1": 1, "lang": {"en": "en", "zh": "zh-Hans"}[language], "mains": 1, "twice": []}
    yield from (f"{key}: {shape[key]}" for key in wanted if shape[key] != wanted[key])
    if not re.fullmatch(r".+ – PAIShare|PAIShare", shape["title"]):
        yield f"title: {shape['title']}"
    yield from in_each_form(page, axe)
    page.set_viewport_size(NARROW)
    for change in ("() => {}", SPACED):
        page.evaluate(change)
        width = page.evaluate(WIDTH, NARROW["width"])
        if width > NARROW["width"]:
            yield f"320, {'spaced' if change == SPACED else 'as it is'}: as wide as {width}"


def in_each_form(page, axe):
    """What is wrong with the page as it stands: wide and narrow, light and dark."""
    page.evaluate(axe)
    # The elements and where they stand depend on the width alone: once in each is enough.
    for size, scheme, rules in ((WIDE, "light", None), (WIDE, "dark", COLOURS),
                                (PHONE, "dark", None), (PHONE, "light", COLOURS)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(size)
        width = page.evaluate(WIDTH, size["width"])
        if width > size["width"]:
            yield f"{size['width']}: as wide as {width}"
        yield from (f"{scheme} {size['width']}: {each}" for each in page.evaluate(RULES, rules))
