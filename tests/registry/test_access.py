"""Who may read what is asked of GitHub with each one's own token, kept for a while, and closes."""
import threading
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from registry import access, db, visibility
from registry.access import Access, AccessTask, Proof
from registry.accounts import Accounts
from registry.config import Secret, Settings
from registry.db import github_tokens, repo_access, search_outbox, sources, versions
from registry.github_accounts import GitHubAccounts
from registry.github_errors import GitHubError
from registry.visibility import Audiences
from tests.fakes.github.limits import SECONDARY

MINUTES = {"fresh": 5, "soft": 15, "hard": 61}


class Circle:
    """A registry without sync: users who connected GitHub, and rows of sources."""

    def __init__(self, home, github, database_url=""):
        self.github, self.world = github, github.world
        settings = Settings.from_environ({
            "PAISHARE_HOME": str(home), "PAISHARE_GITHUB_URL": github.url,
            "PAISHARE_DATABASE_URL": database_url})
        home.mkdir()
        self.engine = db.create_engine(settings.database_url)
        db.upgrade(self.engine)
        self.accounts = GitHubAccounts(self.engine, settings)
        self.access, self.task = Access(self.engine), AccessTask(self.engine, self.accounts)
        self.users, self.tokens = {}, {}

    def connect(self, name, *scopes, token=None):
        if name not in self.users:
            self.users[name] = Accounts(self.engine).create_user(name, "a password").id
        person = self.person(name)
        self.tokens[name] = token or self.world.classic_token(person, *(scopes or ("repo",)))
        self.accounts.connect(self.users[name], Secret(self.tokens[name].value))
        return self.users[name]

    def person(self, name):
        return self.world.users.get(name) or self.world.add_user(name)

    def index(self, repository):
        with self.engine.begin() as connection:
            return connection.execute(sources.insert().values(
                name=repository.full_name, kind="github", location=repository.full_name,
                repo_id=repository.id, is_private=repository.is_private, commits=0,
                sub_paths=[], created_at=now())).inserted_primary_key[0]

    def work(self):
        """What the process does now, until nothing is due."""
        for _ in range(20):
            due = self.task.due(now())
            for user_id in due:
                self.task.step(user_id, threading.Event())
            if not due:
                return
        raise AssertionError("There is always something due.")

    def seen(self, name):
        """The names of the repositories that a user sees."""
        with self.engine.connect() as connection:
            return set(connection.scalars(sa.select(sources.c.location).where(
                visibility.is_visible(self.users.get(name)))))

    def passes(self, minutes):
        """As if that time had gone by since everything that is written down."""
        past = timedelta(minutes=minutes)
        self.access = Access(self.engine)
        with self.engine.begin() as connection:
            for table, names in ((repo_access, ["checked_at"]), (
                    github_tokens, ["verified_at", "access_wanted_at", "access_checked_at"])):
                for row in connection.execute(sa.select(table)).all():
                    changes = {name: row._mapping[name] - past for name in names
                               if row._mapping[name]}
                    key = [column == row._mapping[column.name] for column in table.primary_key]
                    connection.execute(table.update().where(*key).values(changes))

    def level(self, name, repository):
        with self.engine.connect() as connection:
            return connection.scalar(sa.select(repo_access.c.level).where(
                repo_access.c.user_id == self.users[name],
                repo_access.c.repo_id == repository.id))

    def asked(self):
        """What was asked since the last look, without who asks."""
        found = [request.path for request in self.world.rest()]
        self.world.seen.clear()
        return found


def now():
    return datetime.now(UTC).replace(tzinfo=None)


@pytest.fixture
def circle(github, tmp_path):
    circle = Circle(tmp_path / "home", github)
    yield circle
    circle.engine.dispose()


@pytest.fixture
def hidden(circle):
    """A private repository of ann's, which is indexed."""
    repository = circle.world.create(circle.person("ann"), "hidden", is_private=True)
    circle.index(repository)
    return repository


def test_a_private_repository_is_seen_by_those_whose_token_reads_it_and_nobody_else(
        circle, hidden):
    circle.index(circle.world.create(circle.person("ann"), "open"))
    for name in ("ann", "bob"):
        circle.connect(name)
    assert circle.seen("ann") == circle.seen("bob") == circle.seen(None) == {"ann/open"}
    circle.work()
    assert circle.seen("ann") == {"ann/open", "ann/hidden"}
    assert circle.seen("bob") == circle.seen(None) == {"ann/open"}


def test_the_index_is_asked_with_the_same_rule(circle, hidden):
    ann = circle.connect("ann")
    circle.work()
    audiences = Audiences(circle.engine)
    assert audiences.of(ann) == {"public", "source 1"}
    assert audiences.of(None) == audiences.of(ann + 1) == {"public"}


def test_both_databases_know_the_rule(github, tmp_path, database_url):
    circle = Circle(tmp_path / "home", github, database_url)
    hidden = circle.world.create(circle.person("ann"), "hidden", is_private=True)
    circle.index(hidden)
    ann, _ = circle.connect("ann"), circle.connect("bob")
    circle.work()
    assert (circle.seen("ann"), circle.seen("bob"), circle.seen(None)) == (
        {"ann/hidden"}, set(), set())
    circle.passes(MINUTES["hard"])
    assert (circle.seen("ann"), circle.access.expired(ann)) == (set(), 1)
    circle.access.want(ann)
    circle.work()
    assert circle.seen("ann") == {"ann/hidden"}
    circle.engine.dispose()


def test_an_admin_sees_no_more_than_others(circle, hidden):
    admin = Accounts(circle.engine).create_user("root", "a password", is_admin=True).id
    circle.users["root"] = admin
    assert circle.seen("root") == set()


def test_a_token_without_the_scope_opens_nothing(circle, hidden):
    circle.connect("ann", "public_repo")
    circle.work()
    assert circle.seen("ann") == set()


def test_a_fine_grained_token_opens_what_it_was_given(circle, hidden):
    other = circle.world.create(circle.person("ann"), "other", is_private=True)
    circle.index(other)
    circle.connect("ann", token=circle.world.fine_grained_token(
        circle.person("ann"), [other], contents="read"))
    circle.work()
    assert circle.seen("ann") == {"ann/other"}


def test_nothing_is_asked_while_it_is_fresh_or_nobody_looks(circle, hidden):
    ann = circle.connect("ann")
    circle.work()
    circle.asked()
    circle.passes(MINUTES["hard"])
    circle.work()
    assert circle.asked() == []
    circle.access.want(ann)
    circle.work()
    circle.asked()
    circle.passes(MINUTES["fresh"])
    circle.access.want(ann)
    circle.work()
    assert circle.asked() == []


def test_after_ten_minutes_a_look_has_it_asked_again(circle, hidden):
    ann = circle.connect("ann")
    circle.work()
    circle.passes(MINUTES["soft"])
    assert circle.seen("ann") == {"ann/hidden"}
    circle.access.want(ann)
    circle.asked()
    circle.work()
    assert circle.asked() == ["/api/v3/user/repos"]


def test_after_an_hour_without_an_answer_it_closes_and_opens_with_the_next(circle, hidden):
    ann = circle.connect("ann")
    circle.work()
    assert circle.access.expired(ann) == 0
    circle.passes(MINUTES["hard"])
    assert (circle.seen("ann"), circle.access.expired(ann)) == (set(), 1)
    circle.access.want(ann)
    circle.work()
    assert (circle.seen("ann"), circle.access.expired(ann)) == ({"ann/hidden"}, 0)


def test_who_is_let_in_sees_it_and_who_is_put_out_does_not(circle, hidden):
    bob = circle.connect("bob")
    circle.work()
    hidden.grants["bob"] = "read"
    circle.passes(MINUTES["soft"])
    circle.access.want(bob)
    circle.work()
    assert (circle.seen("bob"), circle.level("bob", hidden)) == ({"ann/hidden"}, "read")
    del hidden.grants["bob"]
    circle.passes(MINUTES["soft"])
    circle.access.want(bob)
    circle.work()
    assert (circle.seen("bob"), circle.level("bob", hidden)) == (set(), "none")


def test_what_is_not_listed_is_asked_for_by_its_number_and_later_with_its_etag(circle, hidden):
    hidden.is_private = False  # the sync has not heard of it
    bob = circle.connect("bob")
    circle.asked()
    circle.work()
    by_number = "/api/v3/repos/ann/hidden"  # as the stand-in writes down /repositories/ID
    assert circle.asked() == ["/api/v3/user/repos", by_number]
    assert circle.seen("bob") == {"ann/hidden"}
    circle.passes(MINUTES["soft"])
    circle.access.want(bob)
    circle.work()
    last = circle.world.rest()[-1]
    assert (last.path, last.status, circle.seen("bob")) == (by_number, 304, {"ann/hidden"})


def test_a_refusal_is_not_asked_for_again_at_each_look(circle, hidden):
    bob = circle.connect("bob")
    circle.work()
    circle.passes(MINUTES["soft"])
    circle.access.want(bob)
    circle.asked()
    circle.work()
    assert circle.asked() == ["/api/v3/user/repos"]


def opened_unlisted(circle, hidden):
    """bob sees a repository that GitHub does not list for him, and looks again later."""
    hidden.is_private = False
    bob = circle.connect("bob")
    circle.work()
    assert circle.seen("bob") == {"ann/hidden"}
    circle.passes(MINUTES["soft"])
    circle.access.want(bob)
    return bob


@pytest.mark.parametrize(("status", "words", "headers"), [
    (404, "Not Found", {}),
    (403, "Resource not accessible by personal access token", {}),
    (403, "Resource protected by organization SAML enforcement.",
     {"X_GitHub_SSO": "required; url=https://github.com/orgs/acme/sso"})])
def test_a_refusal_closes_at_once(circle, hidden, status, words, headers):
    opened_unlisted(circle, hidden)
    circle.world.fault("GET", "/repos/ann/hidden$", status, words, **headers)
    circle.work()
    assert (circle.seen("bob"), circle.level("bob", hidden)) == (set(), "none")


@pytest.mark.parametrize("status", [500, 502, 0])
def test_while_github_is_in_trouble_what_was_known_lasts_its_hour(circle, hidden, status):
    bob = opened_unlisted(circle, hidden)
    circle.world.fault("GET", "/repos/ann/hidden$", status, times=1000)
    circle.work()
    assert circle.seen("bob") == {"ann/hidden"}
    circle.passes(MINUTES["hard"] - MINUTES["soft"])
    assert (circle.seen("bob"), circle.access.expired(bob)) == (set(), 1)


@pytest.mark.parametrize(("status", "words", "headers"), [
    (403, SECONDARY, {"Retry_After": "60"}), (429, "Too many", {}), (503, "Down", {})])
def test_where_the_list_itself_is_not_given_nothing_changes_and_it_is_tried_later(
        circle, hidden, status, words, headers):
    ann = circle.connect("ann")
    circle.work()
    circle.passes(MINUTES["soft"])
    circle.access.want(ann)
    circle.world.fault("GET", "/user/repos", status, words, times=1000, **headers)
    with pytest.raises(GitHubError):
        circle.task.step(ann, threading.Event())
    assert circle.seen("ann") == {"ann/hidden"}
    assert circle.task.due(now()) == []
    assert circle.task.due(now() + timedelta(hours=1)) == [ann]


def test_a_token_that_was_revoked_closes_everything(circle, hidden):
    ann = circle.connect("ann")
    circle.work()
    circle.tokens["ann"].is_revoked = True
    circle.passes(MINUTES["soft"])
    circle.access.want(ann)
    with pytest.raises(GitHubError):
        circle.work()
    assert circle.seen("ann") == set()
    assert circle.task.due(now() + timedelta(days=1)) == []


def test_a_token_that_has_ended_opens_nothing_even_before_anybody_asks(circle, hidden):
    circle.connect("ann")
    circle.work()
    with circle.engine.begin() as connection:
        connection.execute(github_tokens.update().values(expires_at=now()))
    assert circle.seen("ann") == set()


def test_who_disconnects_sees_what_is_public(circle, hidden):
    ann = circle.connect("ann")
    circle.work()
    circle.accounts.disconnect(ann)
    assert circle.seen("ann") == set()


def test_what_an_older_token_proved_does_not_count_for_the_next(circle, hidden):
    ann = circle.connect("ann")
    circle.work()
    circle.connect("ann", "public_repo")
    assert circle.seen("ann") == set()
    old = access._Asker(engine=circle.engine, user_id=ann, verified_at=now() - timedelta(hours=1),
                        began=now())
    old.keep([Proof(repo_id=hidden.id, level="read")], is_whole=True)  # an answer under way
    assert circle.seen("ann") == set()
    circle.work()
    assert circle.seen("ann") == set()


def test_a_repository_that_github_blocked_is_hidden_from_everyone(circle, hidden):
    circle.connect("ann")
    opened_unlisted(circle, hidden)
    assert circle.seen("ann") == {"ann/hidden"}
    hidden.is_blocked = True
    circle.work()
    assert circle.seen("ann") == circle.seen("bob") == set()


def test_a_public_repository_that_a_member_finds_private_is_hidden_first(circle):
    repository = circle.world.create(circle.person("ann"), "turned")
    source_id = circle.index(repository)
    with circle.engine.begin() as connection:
        connection.execute(versions.insert().values(
            source_id=source_id, type="data", name="points", version="1", commit="c" * 40,
            committed_at=now(), path="data/points.yaml", blob="b" * 40, position=0, text="",
            contributor="", description="", warnings=[], is_latest=True, is_present=True))
    circle.connect("bob")
    circle.work()
    assert circle.seen("bob") == {"ann/turned"}
    repository.is_private = True
    circle.connect("ann")
    circle.work()
    assert circle.seen("ann") == {"ann/turned"}
    assert circle.seen("bob") == circle.seen(None) == set()
    with circle.engine.connect() as connection:
        listed = connection.execute(sa.select(search_outbox)).all()
    assert [(row.type, row.name, row.source_id) for row in listed] == [
        ("data", "points", source_id)]


def test_what_is_indexed_later_is_asked_about_at_once(circle, hidden):
    circle.connect("ann")
    circle.work()
    circle.index(circle.world.create(circle.person("ann"), "second", is_private=True))
    circle.work()
    assert circle.seen("ann") == {"ann/hidden", "ann/second"}


def test_who_adds_a_repository_sees_it_at_once(circle):
    ann = circle.connect("ann")
    repository = circle.world.create(circle.person("ann"), "new", is_private=True)
    circle.index(repository)
    circle.access.prove(ann, Proof(repo_id=repository.id, level="admin"))
    assert circle.seen("ann") == {"ann/new"}


def test_where_nothing_of_github_is_indexed_nothing_is_asked(circle):
    circle.connect("ann")
    assert circle.task.due(now()) == []


def test_a_look_is_noted_once_a_minute_and_only_of_those_with_a_token(circle, hidden):
    ann = circle.connect("ann")
    stranger = Accounts(circle.engine).create_user("cy", "a password").id
    circle.passes(2)
    for user_id in (ann, stranger):
        circle.access.want(user_id)
    first = wanted_at(circle, ann)
    assert now() - first < timedelta(minutes=1)
    circle.access.want(ann)
    assert wanted_at(circle, ann) == first and wanted_at(circle, stranger) is None


def wanted_at(circle, user_id):
    with circle.engine.connect() as connection:
        return connection.scalar(sa.select(github_tokens.c.access_wanted_at).where(
            github_tokens.c.user_id == user_id))
