"""Atom feeds: what is in them, who may see it, and how they are asked for again."""
import re
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
import sqlalchemy as sa

from registry import db
from tests.fakes.web_home import HELLO
from tests.registry.marketplace import data
from tests.registry.repository import Repository

UNNUMBERED = HELLO.replace("name: hello\nversion: 1.0.0", "name: run")
ATOM = "{http://www.w3.org/2005/Atom}"
AT = datetime(2026, 5, 1, 12)


@pytest.fixture
def engine(web):
    engine = db.create_engine(f"sqlite:///{web.home}/registry.db")
    yield engine
    engine.dispose()


@pytest.fixture
def happen(engine):
    """Write events, one a minute, in place of those of the sync."""
    with engine.begin() as connection:
        connection.execute(db.events.delete())

    def happen(kind, name="hello", version="1.0.0", detail="", type="job", minute=0):
        with engine.begin() as connection:
            source_id = connection.scalar(sa.select(db.sources.c.id))
            connection.execute(db.events.insert().values(
                at=AT + timedelta(minutes=minute), source_id=source_id, kind=kind, type=type,
                name=name, version=version, detail=detail))
    return happen


def feed_of(answer):
    """The feed, held against what RFC 4287 demands of one."""
    assert answer.status_code == 200, answer.text
    assert answer.content_type == "application/atom+xml; charset=utf-8"
    root = ElementTree.fromstring(answer.data)
    assert root.tag == f"{ATOM}feed"
    for element in (root, *root.findall(f"{ATOM}entry")):
        for name in ("id", "title", "updated"):
            found = element.findall(f"{ATOM}{name}")
            assert len(found) == 1 and found[0].text
        assert element.find(f"{ATOM}id").text.startswith("tag:")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z",
                            element.find(f"{ATOM}updated").text)
        assert element.findtext(f"{ATOM}author/{ATOM}name")
        assert all(link.get("href").startswith("http://localhost/")
                   for link in element.findall(f"{ATOM}link"))
    ids = [entry.findtext(f"{ATOM}id") for entry in root.findall(f"{ATOM}entry")]
    assert len(set(ids)) == len(ids)
    return root


def entries(answer, *names):
    return [tuple(entry.findtext(f"{ATOM}{name}") for name in names)
            for entry in feed_of(answer).findall(f"{ATOM}entry")]


def test_a_component_tells_what_happened_to_it_newest_first(web, happen):
    happen("published", version="1.0.0", detail="First seen.")
    happen("yanked", version="1.0.0", detail="It diverges.", minute=1)
    happen("published", name="points", type="data", minute=2)
    answer = web.browser().get("/c/job/hello/feed.atom")
    assert entries(answer, "title", "updated", "content") == [
        ("job/hello@1.0.0 is yanked", "2026-05-01T12:01:00Z",
         "It diverges.\n\nSays **hello** to `points`.\n"),
        ("job/hello@1.0.0 is published", "2026-05-01T12:00:00Z",
         "First seen.\n\nSays **hello** to `points`.\n")]
    assert feed_of(answer).findtext(f"{ATOM}updated") == "2026-05-01T12:01:00Z"


def test_an_entry_links_to_the_page_of_exactly_its_version(web, happen, engine):
    happen("published", version="1.0.0")
    page = feed_of(web.browser().get("/c/job/hello/feed.atom")).find(
        f"{ATOM}entry/{ATOM}link").get("href")
    assert page == "http://localhost/c/job/hello@1.0.0?source=examples"
    assert "1.0.0" in web.browser().get(page).text


def test_what_was_moved_is_linked_by_its_commit(web, happen, engine):
    with engine.begin() as connection:
        connection.execute(db.versions.update().where(db.versions.c.version == "1.1.0")
                           .values(version="1.0.0", is_moved=True))
        commit = connection.scalar(sa.select(db.versions.c.commit).where(db.versions.c.is_moved))
    happen("moved", detail=f"Commit {commit[:12]} has other bytes.")
    assert f"/c/job/hello@{commit[:12]}?source=examples" in web.browser().get(
        "/c/job/hello/feed.atom").text


def test_what_a_sync_finds_is_told_with_the_page_of_each_version(web, tmp_path):
    repository = Repository(tmp_path / "more")
    commits = [repository.commit({path: text}) for path, text in (
        ("data/lines.yaml", data("lines")), ("data/lines.yaml", data("lines", description="X.")),
        ("job/run.yaml", UNNUMBERED), ("job/run.yaml", UNNUMBERED.replace("echo", "true")))]
    web.services.sources.add_folder(str(repository.path), name="more", owner_id=None)
    web.sync()
    for name, titles, pages in (
            ("data/lines", ["data/lines@1.0.0 was changed without a new number",
                            "data/lines@1.0.0 is published"],
             [f"lines@{commits[1][:12]}", "lines@1.0.0"]),
            ("job/run", ["job/run is published"] * 2,
             [f"run@{commits[3][:12]}", f"run@{commits[2][:12]}"])):
        answer = web.browser().get(f"/c/{name}/feed.atom")
        assert entries(answer, "title") == [(title,) for title in titles]
        links = [entry.find(f"{ATOM}link").get("href")
                 for entry in feed_of(answer).findall(f"{ATOM}entry")]
        assert links == [f"http://localhost/c/{name.split('/')[0]}/{page}?source=more"
                         for page in pages]
        assert {web.browser().get(link).status_code for link in links} == {200}


def test_a_contributor_has_a_feed_of_what_they_signed(web, happen, engine):
    with engine.begin() as connection:
        connection.execute(db.versions.update().where(db.versions.c.type == "data")
                           .values(contributor="Bo / Co & <x>"))
    happen("published")
    happen("published", name="points", type="data", minute=1)
    ann = web.browser().get("/by/Ann/feed.atom")
    assert entries(ann, "title") == [("job/hello@1.0.0 is published",)]
    other = web.browser().get("/by/Bo%20%2F%20Co%20%26%20%3Cx%3E/feed.atom")
    assert entries(other, "title") == [("data/points@1.0.0 is published",)]
    assert feed_of(other).findtext(f"{ATOM}title") == "Components by Bo / Co & <x> – PAIShare"


def test_a_query_has_a_feed_of_what_it_finds(web, happen):
    happen("published")
    happen("published", name="points", type="data", minute=1)
    answer = web.browser().get("/feed.atom?q=points&type=data")
    assert entries(answer, "title") == [("data/points@1.0.0 is published",)]
    assert len(entries(web.browser().get("/feed.atom"), "id")) == 2
    assert entries(web.browser().get("/feed.atom?q=nothingofthiskind"), "id") == []


def test_what_components_say_of_themselves_stays_text(web, happen, engine):
    text = "<script>alert(1)</script> & \x0b ]]>"
    with engine.begin() as connection:
        connection.execute(db.versions.update().values(description=text))
    happen("published", detail="<b>bold</b>\x01")
    entry = feed_of(web.browser().get("/feed.atom")).find(f"{ATOM}entry")
    content = entry.find(f"{ATOM}content")
    assert content.get("type") == "text" and len(content) == 0
    assert content.text == "<b>bold</b>\n\n<script>alert(1)</script> &  ]]>"


def test_ids_stay_while_newer_things_happen(web, happen):
    happen("published")
    before = entries(web.browser().get("/c/job/hello/feed.atom"), "id")
    happen("deprecated", version="", minute=1)
    after = entries(web.browser().get("/c/job/hello/feed.atom"), "id")
    other_address = entries(web.browser().get("/feed.atom"), "id")
    assert after[1:] == before and after == other_address


def test_a_feed_that_did_not_change_is_not_sent_again(web, happen):
    happen("published")
    first = web.browser().get("/c/job/hello/feed.atom")
    assert first.headers["Last-Modified"] == "Fri, 01 May 2026 12:00:00 GMT"
    for name, value in (("If-None-Match", first.headers["ETag"]),
                        ("If-Modified-Since", first.headers["Last-Modified"])):
        again = web.browser().get("/c/job/hello/feed.atom", headers={name: value})
        assert again.status_code == 304 and not again.data
    happen("yanked", minute=1)
    assert web.browser().get("/c/job/hello/feed.atom", headers={
        "If-None-Match": first.headers["ETag"]}).status_code == 200


def test_what_happened_just_now_is_told_apart_by_its_content_alone(web, engine):
    with engine.begin() as connection:
        connection.execute(db.events.update().values(at=datetime.now(UTC).replace(tzinfo=None)))
    first = web.browser().get("/feed.atom")
    assert "Last-Modified" not in first.headers
    assert web.browser().get("/feed.atom", headers={
        "If-None-Match": first.headers["ETag"]}).status_code == 304


@pytest.mark.parametrize("path", ["/c/job/nothing/feed.atom", "/by/Nobody/feed.atom",
                                  "/c/nonsense/hello/feed.atom"])
def test_what_is_not_there_has_no_feed(web, path):
    assert web.browser().get(path).status_code == 404


def test_a_feed_shows_only_sources_that_its_reader_may_see(web, happen, engine):
    happen("published")
    with engine.begin() as connection:
        connection.execute(db.sources.update().values(kind="secret"))
    assert entries(web.browser().get("/feed.atom"), "id") == []
    for path in ("/c/job/hello/feed.atom", "/by/Ann/feed.atom"):
        assert web.browser().get(path).status_code == 404


def test_a_token_opens_no_feed(web, happen):
    token = web.services.accounts.create_token(web.services.accounts.user_named("ann"), "x")
    happen("published")
    plain = web.browser().get("/feed.atom")
    for answer in (web.browser().get(f"/feed.atom?token={token}&access_token={token}"),
                   web.browser().get("/feed.atom", headers={"Authorization": f"Bearer {token}"})):
        assert entries(answer, "id") == entries(plain, "id")


def test_a_query_that_cannot_be_read_has_no_feed(web, happen):
    answer = web.browser().get('/feed.atom?q="open')
    assert answer.status_code == 400


def test_filters_choose_for_a_feed_as_they_do_for_a_search(web, happen):
    happen("published")
    happen("published", name="points", type="data", minute=1)
    assert entries(web.browser().get("/feed.atom?q=type:data+by:Ann"), "title") == [
        ("data/points@1.0.0 is published",)]


def test_titles_are_in_the_language_of_its_reader(web, happen):
    happen("published")
    answer = web.browser().get("/feed.atom", headers={"Accept-Language": "zh-CN"})
    assert "所有新内容" in answer.text and "已发布" in answer.text
    assert "Accept-Language" in answer.headers["Vary"]
