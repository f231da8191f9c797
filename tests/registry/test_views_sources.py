"""The pages of sources: who sees what, adding folders, syncing, removing."""
import html
import re
import threading

import pytest

from registry import db, lock
from tests.fakes.web_home import HELLO, WebHome, write_repository
from tests.registry.test_views_marketplace import text_of


def test_the_page_of_a_source_names_each_invalid_file_with_line_and_cause(web):
    page = text_of(web.browser("ann").get("/sources/examples"))
    assert "1 invalid file" in page and "job/broken.yaml" in page
    assert "Line 3" in page and "must be a list" in page


def test_who_can_read_a_source_sees_what_is_wrong_in_it_and_cannot_remove_it(web):
    answer = web.browser("bob").get("/sources/examples")
    assert "job/broken.yaml" in answer.text and "/remove" not in answer.text
    assert "Webhook" not in answer.text


def test_the_list_counts_what_is_wrong_and_leads_to_it(web):
    page = web.browser("bob").get("/sources").text
    assert 'href="/sources/examples"' in page and "broken.yaml" not in page
    assert "Up to date" in page and "Add a folder of this server" not in page


def test_an_unknown_source_is_not_found_with_the_nearest_name(web):
    answer = web.browser("ann").get("/sources/exampels")
    assert answer.status_code == 404 and "examples" in answer.text


def test_an_admin_adds_a_folder_and_its_components_appear(web):
    origin = web.home.parent / "more"
    write_repository(origin, {"job/third.yaml": HELLO.replace("hello", "third")})
    admin = web.browser("admin")
    answer = admin.post("/sources", folder="1", location=f" {origin} ", name="")
    assert (answer.status_code, answer.location) == (303, "/sources/more")
    assert "more is added" in admin.get("/sources/more").text
    web.sync()
    assert admin.get("/c/job/third").status_code == 200
    assert "Every component file is valid" in admin.get("/sources/more").text


@pytest.mark.parametrize("location, text", [
    ("/nothing/here", "There is no folder"), ("/\0", "no folder"), ("~nobody/x", "no folder"),
    ("", "owner/name"), ("relative", "is no repository"), ("/etc/../nothing", "no folder")])
def test_a_place_that_cannot_be_a_source_is_told_in_the_form(web, location, text):
    answer = web.browser("admin").post("/sources", location=location, name="x")
    assert answer.status_code == 400 and text in answer.text and "aria-invalid" in answer.text


def test_a_folder_twice_is_told_in_the_form(web):
    location = web.services.sources.get("examples").location
    answer = web.browser("admin").post("/sources", folder="1", location=location)
    assert answer.status_code == 409 and "already the source examples" in text_of(answer)


def test_index_now_asks_the_sync_process(web):
    answer = web.browser("bob").post("/sources/examples/sync")
    assert answer.location == "/sources/examples"
    assert web.services.sources.requested() == ["examples"]


@pytest.mark.parametrize("user, is_allowed", [("bob", False), ("ann", True), ("admin", True)])
def test_the_owner_or_an_admin_removes_a_source(web, user, is_allowed):
    answer = web.browser(user).post("/sources/examples/remove")
    assert answer.status_code == (303 if is_allowed else 403)
    assert bool(web.services.sources.visible()) is not is_allowed


@pytest.mark.parametrize("fields", [{"folder": "1"}, {}])
def test_only_an_admin_adds_a_folder(web, tmp_path, fields):
    answer = web.browser("ann").post("/sources", location=str(tmp_path), **fields)
    assert answer.status_code == 403 and "Only an admin can add a folder" in answer.text


def test_a_visitor_sees_no_source(web):
    for path in ("/sources", "/sources/examples"):
        assert web.browser().get(path).location.startswith("/login")


def test_a_source_may_have_sub_paths_and_take_versions_from_tags(web, tmp_path):
    (tmp_path / "more" / "team" / "data").mkdir(parents=True)
    web.browser("admin").post("/sources", folder="1", location=str(tmp_path / "more"), name="more",
                              sub_paths="team\r\n\r\nother\r\n", has_tags="1", tag_prefix="v")
    source = web.services.sources.get("more")
    assert (source.sub_paths, source.tag_prefix) == (("other", "team"), "v")
    page = web.browser("admin").get("/sources/more").text
    assert "<code>other</code>, <code>team</code>" in page and "<code>v1.0.0</code> names" in page


def test_what_cannot_be_a_sub_path_is_told_in_the_form_with_what_was_given(web, tmp_path):
    answer = web.browser("admin").post("/sources", folder="1", location=str(tmp_path),
                                       sub_paths="../x")
    assert answer.status_code == 400 and "no folder below the source" in text_of(answer)
    assert ">../x</textarea>" in answer.text


# --- many invalid files ---------------------------------------------------------------------------

MANY, OF_ONE = 60, 12
BROKEN = "type: job\nname: broken\n" + "".join(f"odd{n}: 1\n" for n in range(OF_ONE))


@pytest.fixture(scope="module")
def crowded(home_template, tmp_path_factory):
    """A source with many invalid files, each with many mistakes, and some advice."""
    web = WebHome(home_template, tmp_path_factory.mktemp("crowded"))
    folder = web.home.parent / "many"
    write_repository(folder, {
        **{f"job/broken-{n:03}.yaml": BROKEN for n in range(MANY)},
        **{f"data/good-{n}.yaml": f"type: data\nname: good-{n}\nversion: 1.0.0\n"
                                  "uri: https://example.org/x\nodd: 1\n" for n in range(3)}})
    web.services.sources.add_folder(str(folder), name="many", owner_id=2)
    web.sync()
    yield web
    web.close()


def test_every_invalid_file_is_on_one_of_many_small_pages(crowded):
    ann, path, found = crowded.browser("ann"), "/sources/many", []
    while path:
        page = ann.get(path)
        assert len(page.data) < 60_000
        found += re.findall(r"<code>(job/broken-\d+\.yaml)</code>", page.text)
        following = re.search('rel="next" href="([^"#]+)', page.text)
        path = following and html.unescape(following[1])
    assert found == [f"job/broken-{n:03}.yaml" for n in range(MANY)]


def test_one_file_has_a_page_with_all_that_is_wrong_in_it(crowded):
    ann = crowded.browser("ann")
    assert f"{OF_ONE - 4} more in this file" in text_of(ann.get("/sources/many"))
    page = ann.get("/sources/many?file=job/broken-007.yaml")
    assert "odd0" in page.text and f"odd{OF_ONE - 1}" in page.text
    assert "broken-008" not in page.text
    assert "Nothing is wrong in data/x.yaml" in text_of(ann.get("/sources/many?file=data/x.yaml"))


def test_advice_is_a_list_of_its_own_beside_the_invalid_files(crowded):
    ann = crowded.browser("ann")
    first = ann.get("/sources/many").text
    assert f"{MANY} invalid files" in first and "show=advice" in first
    page = text_of(ann.get("/sources/many?show=advice"))
    assert "Advice about 3 components" in page and "data/good-0.yaml" in page
    assert "broken-000" not in page


@pytest.mark.parametrize("page, expected", [("0", "001"), ("x", "001"), ("9999", "059")])
def test_a_page_that_there_is_not_is_the_nearest_one(crowded, page, expected):
    answer = crowded.browser("ann").get(f"/sources/many?page={page}")
    assert answer.status_code == 200 and f"broken-{expected}" in answer.text


def test_the_api_gives_them_page_by_page_with_their_number(crowded):
    program = crowded.program("ann")
    first = program.get("/sources/many/problems").json
    assert (first["problem_count"], first["warning_count"], len(first["problems"])) == (60, 3, 60)
    last = program.get("/sources/many/problems", page=3, page_size=25).json
    assert [file["path"] for file in last["problems"]][-1] == "job/broken-059.yaml"
    assert (len(last["problems"]), last["warnings"], last["page"]) == (10, [], 3)
    one = program.call("GET", "/sources/many/problems", query_string={
        "path": "job/broken-007.yaml"}).json["problems"]
    assert [file["path"] for file in one] == ["job/broken-007.yaml"]
    assert program.get("/sources/many/problems", page_size=1000).status_code == 400


# --- many sources ---------------------------------------------------------------------------------

@pytest.fixture
def sources(web, tmp_path):
    """Sixty of them, of which one failed and one is paused."""
    for number in range(60):
        folder = tmp_path / "all" / f"s{number:02}"
        folder.mkdir(parents=True)
        web.services.sources.add_folder(str(folder), name=None, owner_id=2)
    with web.engine.begin() as connection:
        connection.execute(db.sources.update().values(sync_requested_at=None))
        connection.execute(db.sources.update().where(db.sources.c.name == "s07").values(
            sync_error="The disk is full."))
    web.services.sources.pause(web.services.sources.get("s09"), 1)
    return web


@pytest.mark.parametrize("path", ["/sources", "/admin/sources"])
def test_many_sources_come_in_pages_and_are_found_by_name_or_by_how_they_stand(sources, path):
    admin = sources.browser("admin")

    def named(query):
        return re.findall(r'href="/sources/(\w+)" class="wrap"', admin.get(path + query).text)
    assert len(named("")) == 50 and named("")[-1] == "s48"
    assert named("?page=2")[0] == "s49" and named("?page=2") == named("?page=9")
    assert named("?q=S1 all") == [f"s{number}" for number in range(10, 20)]
    assert (named("?state=trouble"), named("?state=paused")) == (["s07"], ["s09"])
    assert "No source fits." in text_of(admin.get(f"{path}?q=none"))


def test_an_admin_is_told_that_nothing_is_indexed_while_the_process_for_it_is_down(web):
    admin = web.browser("admin")
    assert "sync: down" in text_of(admin.get("/admin/system"))
    assert "The process that indexes sources is down." in admin.get("/admin/sources").text
    admin.post("/sources/examples/sync")
    assert "the process that does that is down" in admin.get("/sources/examples").text
    with lock.alone(web.home / lock.SYNC, threading.Event()):
        assert "sync: up" in text_of(admin.get("/admin/system"))
        assert "is down" not in admin.get("/admin/sources").text
        assert "A sync begins in a moment." in admin.get("/sources/examples").text
