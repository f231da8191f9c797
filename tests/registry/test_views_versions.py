"""Pages and API below a component: compared, listed with what changed, used by, used together."""
import re

import pytest
import sqlalchemy as sa

from tests.fakes.web_home import HELLO, write_repository

COMPARE = "/compare?a=job/hello@1.0.0&b=job/hello@1.1.0"


def text_of(answer):
    return " ".join(re.sub("<[^>]+>", " ", answer.text.partition("<main")[2]).split())


@pytest.fixture
def changed(web):
    """`job/changed` in three versions: the third breaks what its number keeps."""
    second = HELLO.replace("hello", "changed").replace("1.0.0\ncon", "1.1.0\ncon").replace(
        "  epochs: 3\n", "  epochs: 3\n  seed: 1\n")
    third = second.replace("1.1.0", "1.1.1").replace("  lr: 0.1\n", "").replace(" $$lr$$", "")
    origin = web.home.parent / "changing"
    write_repository(origin, {"job/changed.yaml": HELLO.replace("hello", "changed")},
                     {"job/changed.yaml": second}, {"job/changed.yaml": third})
    web.services.sources.add_folder(str(origin), name="changing", owner_id=None)
    web.sync()
    return web


def test_two_versions_are_compared_in_words_and_by_line(changed):
    page = changed.browser().get("/compare?a=job/changed@1.0.0&b=job/changed@1.1.0")
    text = text_of(page)
    assert "The parameter seed is new, 1 by default." in text and "Compatible" in text
    assert '<td class="new"><span class="edge">+ </span><mark>  seed: 1</mark></td>' in page.text
    assert "Breaking" not in text


def test_a_number_that_says_too_little_is_warned_of(changed):
    text = text_of(changed.browser().get("/compare?a=changed@1.1.0&b=changed@1.1.1"))
    assert "The step from 1.1.0 to 1.1.1 says that only something was mended" in text
    assert "Breaking" in text and "2.0.0 would tell." in text


def test_one_reference_is_compared_with_the_version_before_or_the_latest(changed):
    browser = changed.browser()
    assert "changed: 1.1.0 → 1.1.1" in text_of(browser.get("/compare?b=changed"))
    assert "changed: 1.0.0 → 1.1.1" in text_of(browser.get("/compare?a=changed@1.0.0"))
    answer = browser.get("/compare?b=changed@1.0.0")
    assert answer.status_code == 404 and "is the first version" in answer.text


def test_without_references_the_page_asks_for_them(web):
    answer = web.browser().get("/compare")
    assert answer.status_code == 200 and 'name="a"' in answer.text


def test_versions_of_two_sources_can_be_compared(web):
    origin = web.home.parent / "fork"
    write_repository(origin, {"job/hello.yaml": HELLO.replace("epochs: 3", "epochs: 9")})
    web.services.sources.add_folder(str(origin), name="fork", owner_id=None)
    web.sync()
    text = text_of(web.browser().get("/compare?a=examples:job/hello@1.0.0&b=fork:job/hello"))
    assert "The default of the parameter epochs goes from 3 to 9 ." in text
    assert "Both say" not in text


@pytest.mark.parametrize("query, status, message", [
    ({"b": "points"}, 400, "are different components"), ({"b": "x y z"}, 400, "reference"),
    ({"b": "nothing"}, 404, "no component")])
def test_what_cannot_be_compared_says_why(web, query, status, message):
    answer = web.browser().get("/compare", query_string={"a": "hello", **query})
    assert answer.status_code == status and message in answer.text
    answer = web.program().get("/compare", a="hello", **query)
    assert answer.status_code == status and message in answer.get_json()["message"]


def test_the_changelog_has_every_version_newest_first(changed):
    text = text_of(changed.browser().get("/changelog?of=job/changed"))
    assert "3 versions" in text
    assert text.index("1.1.1") < text.index("The parameter lr is gone") < text.index(
        "The parameter seed is new") < text.index("The first version.")


def test_the_page_leads_to_the_comparison_the_changelog_and_the_users(changed):
    browser = changed.browser()
    page = browser.get("/c/job/changed").text
    for link in re.findall(r'href="(/(?:compare|changelog|used-by)[^"]+)"', page):
        assert browser.get(link.replace("&amp;", "&")).status_code == 200
    assert "/compare?b=changing:job/changed@1.1.1" in page.replace("%3A", ":").replace("%2F", "/")
    first = browser.get("/c/job/changed@1.0.0").text
    assert "Compare with the previous" not in first


def test_a_part_shows_who_uses_it_and_what_goes_with_it(web):
    page = text_of(web.browser().get("/c/data/points"))
    assert "Used by 1" in page
    assert "hello 1.1.0 as points , the latest; also one older version" in page
    users = text_of(web.browser().get("/used-by?of=data/points"))
    assert "One component uses exactly this version" in users
    assert "Every version of data/points is yanked" in users


def test_a_submitted_job_is_counted_once_for_all_that_it_uses(web):
    body = {"reference": "job/hello"}
    for key in ("a", "a", "b"):
        answer = web.program("ann").post("/jobs", body, **{"Idempotency-Key": key})
        assert answer.status_code == 201
    most = web.program().get("/recommendations").get_json()["most_used"]
    assert [(each["version"]["name"], each["runs"]) for each in most] == [
        ("hello", 2), ("points", 2)]
    assert "Ran in 2 jobs" in text_of(web.browser().get("/c/job/hello"))
    found = web.program().get("/components/data/points/together").get_json()["together"]
    assert [(each["version"]["name"], each["runs"]) for each in found] == [("hello", 2)]


def test_unknown_fields_and_the_readme_are_shown_and_harmless(web):
    origin = web.home.parent / "odd"
    write_repository(origin, {
        "odd/data/odd.yaml": "type: data\nname: odd\nuri: https://h.org/x\nlicence: <b>MIT</b>\n",
        "odd/data/README.md": "# Hello\n<script>alert(1)</script>"})
    web.services.sources.add_folder(str(origin), name="odd", owner_id=None)
    web.sync()
    page = web.browser().get("/c/data/odd").text
    assert "licence" in page and "&lt;b&gt;MIT&lt;/b&gt;" in page and "<b>MIT" not in page
    assert "<script>alert" not in page


# --- the API ------------------------------------------------------------------------------------

def test_the_api_compares(changed):
    found = changed.program().get("/compare", a="changed@1.1.0", b="changed@1.1.1").get_json()
    assert (found["verdict"], found["step"], found["suggested"]) == ("breaking", "major", "2.0.0")
    assert found["a"]["version"] == "1.1.0" and found["b"]["exact_reference"] == (
        "changing:job/changed@1.1.1")
    change = next(each for each in found["changes"] if each["verdict"] == "breaking")
    assert change == {"path": "parameters.lr", "area": "parameters", "verdict": "breaking",
                      "sentence": "The parameter `lr` is gone: a submission that sets it is "
                                  "refused.", "is_new": False}


def test_the_api_has_the_changelog_by_pages(changed):
    found = changed.program().get("/components/job/changed/changelog", page_size=2,
                                  page=2).get_json()
    assert found["total"] == 3
    assert [(each["version"]["version"], each["before"], each["difference"])
            for each in found["steps"]] == [("1.0.0", None, None)]


def test_the_api_tells_uses_both_ways(web):
    program = web.program()
    uses = program.get("/components/job/hello/uses").get_json()["uses"]
    assert [(each["kind"], each["target"], each["found"] and each["found"]["exact_reference"])
            for each in uses] == [("image", "docker.io/library/busybox:1", None),
                                  ("reference", "points", "examples:data/points@1.0.0")]
    users = program.get("/components/data/points/used-by").get_json()
    assert [(each["version"]["name"], each["older"]) for each in users["users"]] == [("hello", 1)]
    assert users["if_yanked"][0]["after"] is None


def test_the_api_recommends_the_newest(web):
    found = web.program().get("/recommendations", type="data").get_json()
    assert [each["name"] for each in found["newest"]] == ["points"] and found["most_used"] == []


def statements(web, path):
    """How many statements a page takes."""
    engine = web.services.catalog._engine
    count = 0

    def one(*_):
        nonlocal count
        count += 1
    sa.event.listen(engine, "before_cursor_execute", one)
    try:
        assert web.browser().get(path).status_code == 200
    finally:
        sa.event.remove(engine, "before_cursor_execute", one)
    return count


def test_a_page_takes_as_many_statements_however_much_there_is(web):
    origin = web.home.parent / "many"
    write_repository(origin, {"job/user.yaml": HELLO.replace("name: hello", "name: user")})
    web.services.sources.add_folder(str(origin), name="many", owner_id=None)
    web.sync()
    before = {path: statements(web, path) for path in (
        "/c/job/hello", "/c/data/points", "/changelog?of=job/hello", "/used-by?of=data/points",
        COMPARE)}
    write_repository(origin, *(
        {f"job/user{number}.yaml": HELLO.replace("name: hello", f"name: user{number}").replace(
            "1.0.0\ncon", f"{version}.0.0\ncon") for number in range(5)}
        for version in range(1, 4)))
    web.services.sources.request_sync("many")
    web.sync()
    assert "Used by 7" in text_of(web.browser().get("/c/data/points"))
    assert {path: statements(web, path) for path in before} == before
    assert max(before.values()) <= 20
