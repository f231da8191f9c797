"""Sources from GitHub: adding, looking at one, and what only some may do, on the stand-in."""
import pytest
import sqlalchemy as sa

from registry import db, sources
from tests.fakes.github_web import OnGitHub
from tests.fakes.web_home import HELLO
from tests.registry.test_views_marketplace import text_of

PARTS = {"job/hello.yaml": HELLO.replace("name: hello", "name: greet"),
         "job/broken.yaml": "type: job\nname: broken\ntasks: 5\n"}


@pytest.fixture
def web(github, home_template, tmp_path, monkeypatch):
    monkeypatch.setenv("PAISHARE_GITHUB_URL", github.url)
    web = OnGitHub(home_template, tmp_path)
    yield web
    web.close()


@pytest.fixture
def octo(github):
    return github.world.add_user("octo")


@pytest.fixture
def parts(github, octo):
    return github.world.create(octo, "parts", PARTS)


def add(browser, location, **fields):
    return browser.post("/sources", location=location, **fields)


# --- adding --------------------------------------------------------------------------------------

@pytest.mark.parametrize("form", ["octo/parts", "{}/octo/parts.git"])
def test_anyone_signed_in_adds_a_public_repository_by_one_look_without_a_token(
        web, github, parts, form):
    bob = web.browser("bob")
    github.world.seen.clear()
    answer = add(bob, form.format(github.url))
    assert (answer.status_code, answer.location) == (303, "/sources/octo/parts")
    assert [seen.path for seen in github.world.rest()] == ["/api/v3/repos/octo/parts"]
    source = web.services.sources.get("octo/parts")
    assert (source.repo_id, source.location, source.sponsor_id) == (parts.id, "octo/parts", None)
    web.sync()
    page = text_of(bob.get("/sources/octo/parts"))
    assert f"indexed {web.source().head[:7]} · upstream" in page and "up to date" in page
    assert bob.get("/c/job/greet").status_code == 200


def test_a_component_leads_to_its_file_on_github(web, github, parts):
    bob = web.browser("bob")
    add(bob, "octo/parts")
    web.sync()
    address = f"{github.url}/octo/parts/blob/{web.source().head}/job/hello.yaml"
    page = bob.get("/c/job/greet").text
    assert f'href="{address}"' in page, page[page.index("Origin"):][:900]
    assert "/blob/" not in bob.get("/c/job/hello").text  # of a folder


def test_branch_folders_and_tags_are_taken_over(web, parts):
    add(web.browser("bob"), "octo/parts", branch="dev", sub_paths="b\na", has_tags="1",
        tag_prefix="v", name="tools")
    source = web.services.sources.get("tools")
    assert (source.branch, source.sub_paths, source.tag_prefix) == ("dev", ("a", "b"), "v")


def test_a_repository_that_nobody_sees_is_told_with_the_way_to_connect(web, octo, github):
    github.world.create(octo, "secret", PARTS, is_private=True)
    bob = web.browser("bob")
    answers = [add(bob, f"octo/{name}") for name in ("secret", "nothing")]
    assert {answer.status_code for answer in answers} == {404}
    texts = [text_of(answer).replace("secret", "nothing") for answer in answers]
    assert texts[0] == texts[1]
    assert "connect GitHub on the page Settings first" in texts[0]
    assert "aria-invalid" in answers[0].text


def test_a_private_repository_is_added_by_who_reads_it_and_lends_the_token(web, github, octo):
    secret = github.world.create(octo, "secret", PARTS, is_private=True)
    ann = web.connected("ann", github.world.classic_token(octo, "repo"))
    refused = add(ann, "octo/secret")
    assert refused.status_code == 400 and "it is synced with your token" in text_of(refused)
    assert web.services.sources.all()[0].name == "examples"
    answer = add(ann, "octo/secret", use_my_token="1")
    assert answer.location == "/sources/octo/secret"
    source = web.source("octo/secret")
    assert source.repo_id == secret.id and source.is_private
    assert source.sponsor_id == source.owner_id == 2
    web.sync()
    assert "the token of ann" in text_of(ann.get("/sources/octo/secret"))
    for path in ("/sources", "/?q=greet", "/c/job/greet"):
        assert 'class="lock"' in ann.get(path).text
    assert "octo/secret" not in web.browser("bob").get("/sources").text
    assert web.browser("bob").post("/sources/octo/secret/remove").status_code == 404
    for user in ("bob", "admin"):
        assert web.browser(user).get("/sources/octo/secret").status_code == 404
        assert web.browser(user).post("/sources/octo/secret/sync").status_code == 404


def test_a_private_repository_keeps_its_own_name(web, github, octo):
    github.world.create(octo, "secret", is_private=True)
    ann = web.connected("ann", github.world.classic_token(octo, "repo"))
    answer = add(ann, "octo/secret", use_my_token="1", name="mine")
    assert answer.status_code == 400 and "keeps its own name" in text_of(answer)


def test_who_has_no_token_lends_none(web, parts):
    answer = add(web.browser("bob"), "octo/parts", use_my_token="1")
    assert answer.status_code == 400 and "no token to use" in text_of(answer)


def test_the_same_repository_twice_needs_another_branch_folder_or_prefix(web, parts):
    bob = web.browser("bob")
    add(bob, "octo/parts")
    again = add(bob, "octo/parts")
    assert again.status_code == 409 and "it is the source octo/parts" in text_of(again)
    assert add(bob, "octo/parts", branch="dev").location == "/sources/octo/parts-2"
    assert "octo/parts-2" in bob.get("/sources/octo/parts-2").text


@pytest.mark.parametrize("name, text", [
    ("a/b", "is not such a name"), ("-x", "is not such a name"), ("examples", "is taken")])
def test_a_name_that_cannot_be_is_told(web, parts, name, text):
    answer = add(web.browser("bob"), "octo/parts", name=name)
    assert answer.status_code in (400, 409) and text in text_of(answer)


def test_one_user_adds_so_many_repositories_and_no_more(web, parts, monkeypatch):
    monkeypatch.setattr(sources, "MAX_OWNED", 2)
    bob = web.browser("bob")
    answers = [add(bob, "octo/parts", branch=branch) for branch in "abc"]
    assert [answer.status_code for answer in answers] == [303, 303, 409]
    assert "You have added 2 repositories" in text_of(answers[2])
    assert add(web.browser("ann"), "octo/parts").status_code == 303


def test_a_renamed_repository_is_added_by_the_name_it_has_now(web, github, parts):
    github.world.move(parts, name="new")
    assert add(web.browser("bob"), "octo/parts").location == "/sources/octo/new"


@pytest.mark.parametrize("status, message, text", [
    (403, "API rate limit exceeded", "connect GitHub on the page Settings"),
    (500, "Server Error", "does not answer for now"), (0, "", "cannot be reached"),
    (451, "Repository access blocked", "GitHub has blocked")])
def test_what_github_does_not_answer_is_told_and_nothing_is_added(
        web, github, parts, status, message, text):
    github.world.fault("GET", "/repos/octo/parts", status, message, times=10)
    answer = add(web.browser("bob"), "octo/parts")
    assert answer.status_code in (403, 503) and text in text_of(answer)
    assert [source.name for source in web.services.sources.all()] == ["examples"]


def test_an_odd_branch_or_repository_never_reaches_github(web, github, parts):
    github.world.seen.clear()
    for location, branch in (("octo/../user", ""), ("octo/parts?x", ""), ("octo/parts", "-x"),
                             ("octo/parts", "a..b"), ("https://elsewhere.example/a/b", "")):
        assert add(web.browser("bob"), location, branch=branch).status_code == 400
    assert github.world.rest() == []


# --- the page ------------------------------------------------------------------------------------

@pytest.fixture
def added(web, parts):
    """The source octo/parts of bob, synced."""
    add(web.browser("bob"), "octo/parts")
    web.sync()
    return web


def test_every_broken_file_leads_to_its_line_on_github(added, github):
    head = added.source().head
    page = added.browser("ann").get("/sources/octo/parts").text
    assert f'href="{github.url}/octo/parts/blob/{head}/job/broken.yaml?plain=1#L3"' in page


def test_a_source_that_is_behind_says_by_how_much(added, github, parts):
    old = added.source().head
    added.set("octo/parts", upstream_head="d" * 40, upstream_at=sa.func.datetime(
        "now", "-130 seconds"))
    for path in ("/sources/octo/parts", "/c/job/greet"):
        page = text_of(added.browser("ann").get(path))
        assert f"indexed {old[:7]} · upstream ddddddd · 2 minutes behind" in page
    assert "Behind" in added.browser("ann").get("/sources").text


def test_progress_is_shown_with_counts_while_a_sync_runs(added):
    added.set("octo/parts", progress={"stage": "files", "done": 40, "total": 120})
    page = text_of(added.browser("ann").get("/sources/octo/parts"))
    assert "Fetching files: 40 of 120" in page
    status = added.program("ann").get("/sources/octo/parts/status").json
    assert status["progress"] == {"stage": "files", "title": "Fetching files", "done": 40,
                                  "total": 120}


STATES = [
    ({"upstream_state": "gone"}, "Gone from GitHub", "marked as withdrawn upstream"),
    ({"upstream_state": "replaced"}, "Another repository has its name", "remove this source"),
    ({"upstream_state": "forbidden"}, "GitHub does not show it", "Use my token"),
    ({"upstream_state": "forbidden"}, "GitHub does not show it", "the repository was deleted; or"),
    ({"upstream_state": "empty"}, "Nothing is in it", "has no commit"),
    ({"location": "octo/elsewhere"}, "Renamed on GitHub", "called octo/elsewhere there now"),
    ({"sync_error": "GitHub fell silent."}, "The last sync failed", "GitHub fell silent.")]


def test_each_state_says_what_happened_and_what_to_do(added):
    ann, program = added.browser("ann"), added.program("ann")
    well = {"upstream_state": "ok", "location": "octo/parts", "sync_error": None}
    for values, title, text in STATES:
        added.set("octo/parts", **{**well, **values})
        page = text_of(ann.get("/sources/octo/parts"))
        assert title in page and text in page
        status = program.get("/sources/octo/parts/status").json
        assert ("up to date" in status["freshness"]) == ("upstream_state" not in values)
        told, = status["states"]
        assert told["title"] == title and text in told["text"].replace("`", "")


def test_what_is_gone_or_was_replaced_is_not_said_to_be_called_something_now(added):
    for state in ("gone", "replaced"):
        added.set("octo/parts", upstream_state=state, location="octo/elsewhere")
        page = text_of(added.browser("ann").get("/sources/octo/parts"))
        assert "octo/elsewhere" in page and "Renamed on GitHub" not in page


def test_a_component_whose_repository_is_gone_says_so(added, github, parts):
    github.world.delete(parts)
    added.services.sources.request_sync("octo/parts")
    added.sync()
    page = text_of(added.browser("ann").get("/c/job/greet"))
    assert "Withdrawn upstream" in page and "keeps serving" in page


def test_of_a_repository_that_is_gone_what_is_served_and_what_was_wrong_stay_to_be_read(
        added, github, parts):
    github.world.delete(parts)
    for _ in range(2):
        added.services.sources.request_sync("octo/parts")
        added.sync()
    page = text_of(added.browser("ann").get("/sources/octo/parts"))
    assert "0 1 withdrawn upstream that keeps serving" in page
    assert "1 invalid file As they were last seen." in page and "job/broken.yaml" in page
    program = added.program("ann")
    status = program.get("/sources/octo/parts/status").json
    assert (status["components"], status["withdrawn"], status["problems"]) == (0, 1, 1)
    found, = program.get("/sources/octo/parts/problems").json["problems"]
    assert (found["path"], found["errors"][0]["path"]) == ("job/broken.yaml", "tasks")


def test_when_it_is_there_again_its_files_are_what_they_are_now(added, github, octo, parts):
    added.set("octo/parts", upstream_state="gone", sync_requested_at=None, last_problems=[
        {"path": "job/old.yaml", "commit": "a" * 40, "problems": []}])
    assert added.source().problems == 1
    added.services.sources.request_sync("octo/parts")
    added.sync()
    problems = added.program("ann").get("/sources/octo/parts/problems").json["problems"]
    assert [each["path"] for each in problems] == ["job/broken.yaml"]
    assert added.source().last_problems is None


def test_what_is_held_back_is_said_in_one_text_everywhere(web, github, octo):
    many = {f"data/d{number}.yaml": f"type: data\nname: d{number}\nuri: https://h.example/x\n"
            for number in range(14)}
    parts = github.world.create(octo, "parts", many)
    add(web.browser("bob"), "octo/parts")
    web.sync()
    github.world.commit(parts, dict.fromkeys(many))
    web.services.sources.request_sync("octo/parts")
    web.sync()
    status = web.program("bob").get("/sources/octo/parts/status").json
    assert status["sync_error"] == web.source().sync_error == status["states"][0]["text"]
    page = text_of(web.browser("bob").get("/sources/octo/parts"))
    assert status["sync_error"].replace("`", "").rstrip(".") in page.replace(" .", ".")
    web.browser("bob").post("/sources/octo/parts/keep")
    assert web.program("bob").get("/sources/octo/parts/status").json["sync_error"] is None


def test_the_default_branch_is_called_by_its_name(added):
    assert "Branch main , the default one" in text_of(
        added.browser("ann").get("/sources/octo/parts"))
    status = added.program("ann").get("/sources/octo/parts/status").json
    assert (status["branch"], status["default_branch"]) == (None, "main")


def test_a_private_repository_that_was_deleted_can_be_removed_by_who_added_it(
        web, github, octo):
    secret = github.world.create(octo, "secret", PARTS, is_private=True)
    ann = web.connected("ann", github.world.classic_token(octo, "repo"))
    add(ann, "octo/secret", use_my_token="1")
    github.world.delete(secret)
    web.services.sources.request_sync("octo/secret")
    web.sync()
    told = web.source("octo/secret").sync_error
    assert "Either the repository was deleted; or" in told and "can remove the source" in told
    with web.engine.begin() as connection:
        connection.execute(db.repo_access.delete())  # as the next question about it does
    assert ann.get("/sources/octo/secret").status_code == 404
    listed = ann.get("/sources").text
    assert "hidden from you" in listed and "/sources/octo/secret/remove" in listed
    assert "octo/secret" not in web.browser("bob").get("/sources").text
    assert web.program("bob").delete("/sources/octo/secret").status_code == 404
    assert web.program("ann").delete("/sources/octo/secret").status_code == 204


def test_only_the_owner_sees_the_webhook_and_its_secret(added):
    secret = added.services.deliveries.secret(added.source().id).reveal()
    assert secret in added.browser("bob").get("/sources/octo/parts").text
    for user in ("ann", "admin"):
        page = added.browser(user).get("/sources/octo/parts").text
        assert secret not in page and "Payload URL" not in page
        assert added.program(user).get("/sources/octo/parts/webhook").status_code == 403
    told = added.program("bob").get("/sources/octo/parts/webhook").json
    assert told == {"secret": secret,
                    "url": f"http://localhost/api/v3/hooks/github/{added.source().id}"}


def test_the_webhook_is_made_on_github_where_the_token_may(web, github, octo, parts):
    bob = web.connected("bob", github.world.classic_token(octo, "repo", "admin:repo_hook"))
    add(bob, "octo/parts")
    assert bob.post("/sources/octo/parts/webhook").status_code == 303
    hook, = parts.hooks
    assert hook.secret == web.services.deliveries.secret(web.source().id).reveal()
    assert set(hook.events) == {"push", "pull_request", "repository", "public"}


def test_where_the_token_may_not_make_the_webhook_the_page_says_what_to_do(
        web, github, parts):
    bob = web.connected("bob", github.world.classic_token(github.world.add_user("b"), "repo"))
    add(bob, "octo/parts")
    answer = bob.post("/sources/octo/parts/webhook")
    assert answer.status_code in (403, 404) and parts.hooks == []
    assert "Your token needs admin:repo_hook" in text_of(answer)
    assert "Payload URL" in answer.text


def test_another_who_reads_it_takes_over_with_their_own_token(web, github, octo):
    secret = github.world.create(octo, "secret", PARTS, is_private=True)
    friend = github.world.add_user("friend")
    secret.grants["friend"] = "read"
    token = github.world.classic_token(octo, "repo")
    add(web.connected("ann", token), "octo/secret", use_my_token="1")
    bob = web.connected("bob", github.world.classic_token(friend, "repo"))
    web.services.repositories.find(3, "octo/secret")  # as the process that asks for access does
    assert bob.post("/sources/octo/secret/sponsor").status_code == 303
    token.is_revoked = True
    web.sync()
    page = text_of(bob.get("/sources/octo/secret"))
    assert "the token of bob" in page and "up to date" in page


def test_nobody_lends_a_token_for_what_it_does_not_read(web, github, octo, parts):
    add(web.browser("ann"), "octo/parts")
    assert web.browser("bob").post("/sources/octo/parts/sponsor").status_code == 400
    assert web.browser("bob").post("/sources/examples/sponsor").status_code == 400
    bob = web.connected("bob", github.world.classic_token(octo, "repo"))
    github.world.delete(parts)
    github.world.create(octo, "parts", PARTS)
    assert bob.post("/sources/octo/parts/sponsor").status_code == 409
    assert web.source().sponsor_id is None


# --- much that goes at once ----------------------------------------------------------------------

@pytest.fixture
def held(added):
    added.set("octo/parts", held_head="e" * 40, held_count=30)
    return added


def test_only_the_owner_decides_about_what_is_held_back(held):
    page = held.browser("ann").get("/sources/octo/parts").text
    assert "would take away 30 versions" in page and "/agree" not in page
    assert held.browser("ann").post("/sources/octo/parts/agree",
                                    held_head="e" * 40).status_code == 403
    assert "/agree" in held.browser("bob").get("/sources/octo/parts").text


def test_the_owner_agrees_to_just_the_commit_that_was_shown(held):
    bob = held.browser("bob")
    stale = bob.post("/sources/octo/parts/agree", held_head="f" * 40)
    assert stale.status_code == 409 and "another commit by now" in text_of(stale)
    assert held.source().confirmed_head is None
    assert bob.post("/sources/octo/parts/agree", held_head="e" * 40).status_code == 303
    assert held.source().confirmed_head == "e" * 40
    assert "octo/parts" in held.services.sources.requested()


def test_what_the_owner_keeps_is_no_longer_asked_about_loudly(held):
    held.browser("bob").post("/sources/octo/parts/keep")
    page = held.browser("bob").get("/sources/octo/parts").text
    assert "Kept as it is" in page and "/agree" in page and "/keep" not in page


def test_much_that_goes_at_once_is_kept_and_then_taken_over_as_its_owner_says(
        web, github, octo):
    many = {f"data/d{number}.yaml": f"type: data\nname: d{number}\nversion: 1.0.0\n"
            "uri: https://host.example/x\n" for number in range(14)}
    parts = github.world.create(octo, "parts", many)
    bob = web.browser("bob")
    add(bob, "octo/parts")
    web.sync()
    shown = web.source().head
    head = github.world.commit(parts, dict.fromkeys(many))
    for do, title in (("sync", "Held back"), ("keep", "Kept as it is")):
        bob.post(f"/sources/octo/parts/{do}")
        web.sync()
        page = text_of(bob.get("/sources/octo/parts"))
        assert title in page and "would take away 14 versions" in page
        assert "The last sync failed" not in page and web.source().head == shown
    bob.post("/sources/octo/parts/agree", held_head=head)
    web.sync()
    assert (web.source().head, web.source().components) == (head, 0)
    assert "Up to date" in text_of(bob.get("/sources/octo/parts"))


def test_a_program_keeps_and_agrees_as_well(held):
    assert held.program("bob").post("/sources/octo/parts/keep").status_code == 202
    assert held.source().confirmed_head == held.source().head
    answer = held.program("bob").post("/sources/octo/parts/agree", {"head": "e" * 40})
    assert answer.status_code == 202 and held.source().confirmed_head == "e" * 40


# --- the API -------------------------------------------------------------------------------------

def test_a_program_adds_shows_syncs_and_removes_a_repository(web, parts):
    bob = web.program("bob")
    made = bob.post("/sources", {"location": "octo/parts", "tag_prefix": "v"})
    assert made.status_code == 201 and made.json["kind"] == "github"
    web.sync()
    status = bob.get("/sources/octo/parts/status").json
    assert (status["state"], status["components"], status["problems"]) == ("ok", 1, 1)
    assert bob.get("/sources/octo/parts/problems").json["problems"][0]["path"] == "job/broken.yaml"
    assert bob.post("/sources/octo/parts/sync").status_code == 202
    assert web.program("ann").delete("/sources/octo/parts").status_code == 403
    assert bob.delete("/sources/octo/parts").status_code == 204
    assert bob.get("/sources/octo/parts/status").status_code == 404


def test_a_repository_may_be_called_like_a_part_of_an_address(web, github, octo):
    bob = web.program("bob")
    for name in ("status", "problems", "sync", "webhook"):
        github.world.create(octo, name, PARTS)
        assert bob.post("/sources", {"location": f"octo/{name}"}).status_code == 201
        assert bob.get(f"/sources/octo/{name}/status").json["name"] == f"octo/{name}"
        assert bob.post(f"/sources/octo/{name}/sync").status_code == 202
        assert web.browser("bob").get(f"/sources/octo/{name}").status_code == 200


def test_a_reference_with_the_source_before_it_names_the_component(added):
    assert added.program("ann").get("/components/job/greet",
                                    source="octo/parts").json["name"] == "greet"
    assert added.browser("ann").get("/c/job/greet?source=octo/parts").status_code == 200


def test_every_page_takes_a_source_whose_name_has_a_slash(added):
    bob = added.browser("bob")
    for path in ("/c/job/greet?source=octo/parts", "/c/job/greet?source=octo%2Fparts",
                 "/use/job/greet?source=octo/parts", "/changelog?of=octo/parts:job/greet",
                 "/compare?a=octo/parts:job/greet@1.0.0&b=octo/parts:job/greet",
                 "/used-by?of=octo/parts:job/greet", "/c/job/greet/feed.atom?source=octo/parts",
                 "/?q=source:octo/parts", "/publish/new?component=octo/parts:job/greet@1.0.0"):
        answer = bob.get(path)
        assert answer.status_code == 200 and "greet" in answer.text, path
