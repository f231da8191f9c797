"""The pages of sources: who sees what, adding folders, syncing, removing."""
import pytest

from tests.fakes.web_home import HELLO, write_repository
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
