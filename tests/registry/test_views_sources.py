"""The page of sources: who sees what, adding, syncing, removing."""
import pytest

from tests.fakes.web_home import HELLO, write_repository
from tests.registry.test_views_marketplace import text_of


def test_the_owner_sees_each_invalid_file_with_line_and_cause(web):
    page = text_of(web.browser("ann").get("/sources"))
    assert "1 file is no valid component" in page and "job/broken.yaml" in page
    assert "Line 3" in page and "must be a list" in page


def test_others_see_that_there_are_problems_but_not_which(web):
    answer = web.browser("bob").get("/sources")
    assert "1 files are no valid components; the owner sees which" in answer.text
    assert "broken.yaml" not in answer.text and "/remove" not in answer.text
    assert "Add a source" not in answer.text


def test_an_admin_adds_a_source_and_its_components_appear(web):
    origin = web.home.parent / "more"
    write_repository(origin, {"job/third.yaml": HELLO.replace("hello", "third")})
    admin = web.browser("admin")
    answer = admin.post("/sources", location=f" {origin} ", name="")
    assert answer.status_code == 303 and "more is added" in admin.get("/sources").text
    web.sync()
    assert admin.get("/c/job/third").status_code == 200


@pytest.mark.parametrize("location, text", [
    ("/nothing/here", "There is no folder"), ("", "whole path"), ("/\0", "no folder"),
    ("relative", "whole path")])
def test_a_place_that_cannot_be_a_source_is_told_in_the_form(web, location, text):
    answer = web.browser("admin").post("/sources", location=location, name="x")
    assert answer.status_code == 400 and text in answer.text and "aria-invalid" in answer.text


def test_a_source_twice_is_told_in_the_form(web):
    location = web.services.sources.get("examples").location
    answer = web.browser("admin").post("/sources", location=location)
    assert answer.status_code == 409 and "already the source examples" in text_of(answer)


def test_sync_now_asks_the_sync_process(web):
    web.browser("bob").post("/sources/examples/sync")
    assert web.services.sources.requested() == ["examples"]


@pytest.mark.parametrize("user, is_allowed", [("bob", False), ("ann", True), ("admin", True)])
def test_the_owner_or_an_admin_removes_a_source(web, user, is_allowed):
    answer = web.browser(user).post("/sources/examples/remove")
    assert answer.status_code == (303 if is_allowed else 403)
    assert bool(web.services.sources.visible()) is not is_allowed


def test_only_an_admin_adds_a_source(web, tmp_path):
    answer = web.browser("ann").post("/sources", location=str(tmp_path))
    assert answer.status_code == 403 and "Only an admin can add a source" in answer.text


def test_a_source_may_have_sub_paths_and_take_versions_from_tags(web, tmp_path):
    (tmp_path / "more" / "team" / "data").mkdir(parents=True)
    web.browser("admin").post("/sources", location=str(tmp_path / "more"), name="more",
                              sub_paths="team\r\n\r\nother\r\n", has_tags="1", tag_prefix="v")
    source = web.services.sources.get("more")
    assert (source.sub_paths, source.tag_prefix) == (("other", "team"), "v")
    page = web.browser("admin").get("/sources").text
    assert "<code>other</code>, <code>team</code>" in page and "<code>v1.0.0</code> names" in page


def test_what_cannot_be_a_sub_path_is_told_in_the_form_with_what_was_given(web, tmp_path):
    answer = web.browser("admin").post("/sources", location=str(tmp_path), sub_paths="../x")
    assert answer.status_code == 400 and "no folder below the source" in text_of(answer)
    assert ">../x</textarea>" in answer.text
