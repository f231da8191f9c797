"""Yanked, deprecated, moved and deleted versions as pages and API show them, and who may say so."""
import re

import pytest

from tests.fakes.web_home import HELLO, write_repository
from tests.registry.repository import git
from tests.registry.test_views_marketplace import text_of

YANK = {"kind": "yanked", "reference": "job/hello@1.1.0", "reason": "It prints `too much`."}


@pytest.fixture
def ann(web):
    return web.program("ann")


# --- who -----------------------------------------------------------------------------------------

def test_the_owner_of_the_source_and_an_admin_say_so_and_nobody_else(web, ann):
    assert web.program("bob").post("/marks", YANK).status_code == 403
    assert ann.post("/marks", YANK).status_code == 201
    undone = {"kind": "yanked", "reference": "hello@1.1.0"}
    assert web.program("bob").call("DELETE", "/marks", query_string=undone).status_code == 403
    assert web.program("admin").call("DELETE", "/marks", query_string=undone).status_code == 204
    assert ann.get("/resolve", reference="hello").json["version"] == "1.1.0"


def test_only_an_admin_deletes_for_good(web, ann):
    body = {"reference": "hello@1.1.0", "reason": "Names of people."}
    assert ann.post("/purges", body).status_code == 403
    assert web.program("admin").post("/purges", body).status_code == 201
    answer = ann.get("/components/job/hello", version="1.1.0")
    assert (answer.status_code, answer.json["code"]) == (410, "Gone")
    assert "Names of people." in answer.json["message"]
    page = web.browser().get("/c/job/hello@1.1.0")
    assert page.status_code == 410 and "Names of people." in page.text


def test_the_forms_are_for_those_who_may_use_them(web):
    for user, words in ((None, set()), ("bob", set()), ("ann", {"yank", "deprecate"}),
                        ("admin", {"yank", "deprecate", "purge"})):
        page = web.browser(user).get("/c/job/hello").text
        assert set(re.findall('action="/marks/([a-z]+)"', page)) == words, user


@pytest.mark.parametrize("kind, reference, status", [
    ("yanked", "hello", 400), ("yanked", "hello@latest", 400), ("yanked", "hello@^1", 400),
    ("yanked", "hello@9.9.9", 404), ("yanked", "nothing@1", 404), ("deprecated", "hello@^1", 400),
    ("deprecated", "hello@1.1.0", 201), ("deprecated", "hello", 201)])
def test_what_just_happens_to_be_the_newest_is_never_marked(web, ann, kind, reference, status):
    answer = ann.post("/marks", {"kind": kind, "reference": reference, "reason": "x"})
    assert answer.status_code == status
    if status == 400:
        assert "examples:job/hello@1.1.0" in answer.json["message"]


@pytest.mark.parametrize("change, path", [
    ({"reason": " "}, "reason"), ({"kind": "gone"}, "kind"), ({"nope": 1}, "nope"),
    ({"kind": "deprecated", "successor": "a b"}, "successor"),
    ({"kind": "deprecated", "successor": "data/pointz"}, "successor"),
    ({"kind": "deprecated", "successor": "data/points@^9"}, "successor")])
def test_a_wrong_mark_says_which_part(ann, change, path):
    answer = ann.post("/marks", {**YANK, **change})
    assert answer.status_code == 400 and answer.json["errors"][0]["path"] == path


def test_a_successor_that_leads_nowhere_is_refused_with_what_may_be_meant(web, ann):
    answer = ann.post("/marks", {"kind": "deprecated", "reference": "hello", "reason": "Old.",
                                 "successor": "data/pointz"})
    assert answer.status_code == 400 and "Did you mean data/points?" in answer.json["message"]
    assert ann.get("/resolve", reference="hello").json["deprecated"] is None


def test_what_has_no_version_is_told_at_once_that_it_cannot_be_yanked(web, ann):
    write_repository(web.home.parent / "plain", {"data/plain.yaml": "type: data\nname: plain\n"
                                                 "uri: https://example.org/x\n"})
    web.services.sources.add_folder(str(web.home.parent / "plain"), name=None, owner_id=None)
    web.sync()
    answer = web.program("admin").post("/marks", {**YANK, "reference": "data/plain"})
    assert answer.status_code == 400
    assert "paishare deprecate data/plain" in answer.json["message"]
    assert "<title>plain – PAIShare</title>" in web.browser().get("/c/data/plain").text


def test_who_asks_for_a_job_hears_that_what_it_names_means_nothing_any_more(web, ann):
    ann.post("/marks", {"kind": "yanked", "reference": "points@1.0.0", "reason": "Wrong."})
    broken, = [each for each in ann.get("/components/job/hello").json["prerequisites"]
               if each["problem"]]
    assert broken["name"] == "points" and "is yanked" in broken["problem"]


def test_a_form_without_its_token_changes_nothing(web):
    browser = web.browser("ann")
    fields = {"reference": "examples:job/hello@1.1.0", "reason": "x"}
    assert browser.send("/marks/yank", fields).status_code == 400
    assert browser.post("/marks/nonsense", **fields).status_code == 404
    assert web.services.catalog.get("hello").version == "1.1.0"


# --- what is seen --------------------------------------------------------------------------------

def test_a_version_is_yanked_and_restored_on_its_page(web):
    browser = web.browser("ann")
    answer = browser.post("/marks/yank", reference="examples:job/hello@1.1.0",
                          reason="It prints `too much`.")
    assert answer.headers["Location"] == "/c/job/hello@1.1.0?source=examples"
    page = web.browser().get("/c/job/hello@1.1.0").text
    assert "This version is yanked" in page and "It prints <code>too much</code>." in page
    assert '<a href="/c/job/hello?source=examples">hello 1.0.0</a>' in page
    assert "version: 1.0.0" in web.browser().get("/c/job/hello").text
    answer = browser.post("/marks/unyank", reference="examples:job/hello@1.1.0")
    assert answer.status_code == 303
    assert "version: 1.1.0" in web.browser().get("/c/job/hello").text


def test_a_component_is_deprecated_with_a_link_to_its_successor(web):
    browser = web.browser("ann")
    browser.post("/marks/deprecate", reference="examples:job/hello", reason="Too old.",
                 successor="data/points@^1.0")
    for version in ("1.0.0", "1.1.0"):
        page = web.browser().get(f"/c/job/hello@{version}")
        assert "Too old." in text_of(page) and 'href="/c/data/points@%5E1.0"' in page.text
    found = web.program().get("/components/job/hello").json
    assert found["deprecated"]["successor"] == "data/points@^1.0" and not found["yanked"]
    browser.post("/marks/undeprecate", reference="examples:job/hello")
    assert "Too old." not in web.browser().get("/c/job/hello").text


def test_a_tag_that_says_otherwise_is_told_on_the_page_and_by_the_api(web):
    origin = web.home.parent / "tagged"
    write_repository(origin, {"data/tagged.yaml": "type: data\nname: tagged\nversion: 1.0.0\n"
                              "uri: https://example.org/x\n"})
    git(origin, "tag", "v2.0.0")
    web.services.sources.add_folder(str(origin), name="tagged", owner_id=None, tag_prefix="v")
    web.sync()
    warning, = web.program().get("/components/data/tagged").json["warnings"]
    assert warning["message"].startswith("The tag `v2.0.0` calls this 2.0.0")
    page = web.browser().get("/c/data/tagged")
    assert "One piece of advice" in page.text and "The tag v2.0.0 calls this 2.0.0" in text_of(page)


def test_what_is_not_found_is_searched_for_without_its_source(web):
    page = web.browser().get("/c/data/examples:pointz@1.0.0")
    assert page.status_code == 404 and 'value="pointz"' in page.text


def test_a_moved_version_tells_where_the_first_bytes_are(web):
    origin = web.home.parent / "moving"
    write_repository(origin, {"job/moving.yaml": HELLO.replace("hello", "moving")},
                     {"job/moving.yaml": HELLO.replace("hello", "moving").replace("lr", "rate")})
    web.services.sources.add_folder(str(origin), name="moving", owner_id=None)
    web.sync()
    moved, first = web.services.catalog.versions("job", "moving")
    assert moved.is_moved and not first.is_moved
    page = web.browser().get(f"/c/job/moving@{moved.commit[:12]}").text
    assert "recorded before with other bytes" in page and "/c/job/moving@1.0.0?" in page
    assert "recorded before" not in web.browser().get("/c/job/moving").text
    found = web.program().get("/components/job/moving/versions").json["versions"]
    assert [each["is_moved"] for each in found] == [True, False]


def test_a_hit_that_is_a_prerelease_leads_to_its_page(web):
    write_repository(web.home.parent / "early", {
        "job/early.yaml": HELLO.replace("hello", "early").replace("1.0.0\ncon", "0.1.0-a\ncon")})
    web.services.sources.add_folder(str(web.home.parent / "early"), name=None, owner_id=None)
    web.sync()
    link = re.search(r'href="(/c/job/early[^"]*)"', web.browser().get("/?q=early").text)[1]
    assert link == "/c/job/early@0.1.0-a?source=early"
    assert web.browser().get(link).status_code == 200
    missing = web.browser().get("/c/job/early")
    assert missing.status_code == 404 and 'href="/c/job/early@0.1.0-a"' in missing.text


def test_the_list_of_versions_says_what_is_said_of_each(web, ann):
    ann.post("/marks", YANK)
    page = text_of(web.browser().get("/c/job/hello@1.0.0"))
    assert "1.1.0 yanked" in page and "1.0.0 latest shown" in page


# --- what runs -----------------------------------------------------------------------------------

def test_a_yanked_job_runs_where_it_is_named_exactly_and_its_submitter_hears_why(web, ann):
    ann.post("/marks", YANK)
    made = ann.post("/jobs", {"reference": "hello@1.1.0"})
    assert made.status_code == 201
    assert [each["message"] for each in made.json["warnings"]] == [
        "`job/hello@1.1.0` is yanked: It prints `too much`."]
    assert ann.post("/jobs", {"reference": "hello"}).json["warnings"] == []
    page = web.browser("ann").get("/use/job/hello@1.1.0").text
    assert "<b>Before you run it</b>" in page and "is yanked" in page


def test_what_a_job_uses_is_warned_about_at_its_line(web, ann):
    ann.post("/marks", {"kind": "deprecated", "reference": "data/points", "reason": "Too few.",
                        "successor": "job/hello"})
    found = ann.post("/resolve", {"reference": "hello"}).json
    warning, = found["warnings"]
    assert warning["message"] == \
        "`data/points@1.0.0` is deprecated: Too few. Use `job/hello` instead."
    assert (warning["path"], warning["line"], warning["severity"]) == (
        "tasks[0].data", 18, "warning")


def test_a_job_that_needs_what_was_deleted_says_so_at_its_line(web, ann):
    web.program("admin").post("/purges", {"reference": "points@1.0.0", "reason": "Private."})
    answer = ann.post("/jobs", {"reference": "hello"})
    assert answer.status_code == 400
    assert answer.json["errors"][0]["path"] == "tasks[0].data"
    assert "deleted for good: Private." in answer.json["errors"][0]["message"]


@pytest.mark.parametrize("selector, version", [
    ("", "1.1.0"), ("@latest", "1.1.0"), ("@1.2.0", "1.2.0"), ("@^1.0", "1.1.0"),
    ("@>=1 <1.1", "1.0.0"), ("@2.0.0-rc.1", "2.0.0-rc.1")])
def test_a_prerequisite_is_a_reference_like_any_other(web, ann, selector, version):
    write_repository(web.home.parent / "numbers", *(
        {"data/numbers.yaml": f"type: data\nname: numbers\nversion: {each}\n"
                              f"uri: https://example.org/{each}\n"}
        for each in ("1.0.0", "1.1.0", "1.2.0", "2.0.0-rc.1")))
    web.services.sources.add_folder(str(web.home.parent / "numbers"), name=None, owner_id=None)
    web.sync()
    web.program("admin").post("/marks", {**YANK, "reference": "numbers@1.2.0"})
    text = HELLO.replace("data: points", "data: numbers").replace(
        "prerequisites:", f'prerequisites:\n  - "data/numbers{selector}"')
    answer = ann.post("/resolve", {"yaml": text}).json
    assert answer["spec"]["task_roles"][0]["data"][0]["uri"] == f"https://example.org/{version}"
    assert bool(answer["warnings"]) == (version == "1.2.0")
