"""Connecting GitHub: whose token, sealed how, used for whom, and how much in the background."""
import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from registry import db
from registry.accounts import Accounts
from registry.config import Secret, Settings
from registry.db import github_tokens, repo_access
from registry.errors import InvalidInputError
from registry.github_accounts import BACKGROUND_LIMIT, HOUR, GitHubAccounts
from registry.github_errors import Code, GitHubError
from registry.rotation import rotate_keys


@pytest.fixture
def settings(github, tmp_path):
    return Settings.from_environ({"PAISHARE_HOME": str(tmp_path / "home"),
                                  "PAISHARE_GITHUB_URL": github.url})


@pytest.fixture
def engine(settings):
    settings.home.mkdir()
    engine = db.create_engine(settings.database_url)
    db.upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def user(engine):
    return Accounts(engine).create_user("ann", "a password").id


@pytest.fixture
def accounts(engine, settings, github):
    return GitHubAccounts(engine, settings, lambda: github.world.now.replace(tzinfo=None))


@pytest.fixture
def ann(github):
    return github.world.add_user("ann-on-github")


def test_a_token_is_verified_and_kept_sealed(github, accounts, engine, user, ann):
    token = github.world.classic_token(ann, "repo")
    account = accounts.connect(user, Secret(token.value))
    assert (account.login, account.kind, account.scopes) == ("ann-on-github", "classic", ("repo",))
    assert account.last_four == token.value[-4:] and account.problem is None
    assert accounts.token_of(user) == Secret(token.value)
    with engine.connect() as connection:
        row = connection.execute(sa.select(github_tokens)).one()
    assert token.value.encode() not in row.sealed and token.value not in repr(row)


def test_a_wrong_token_is_refused_and_the_old_one_stays(github, accounts, user, ann):
    good = github.world.classic_token(ann, "repo")
    accounts.connect(user, Secret(good.value))
    for wrong in ("ghp_" + "x" * 36, "two words", ""):
        with pytest.raises(InvalidInputError) as refused:
            accounts.connect(user, Secret(wrong))
        assert refused.value.problems[0].path == "token" and "x" * 36 not in str(refused.value)
    assert accounts.token_of(user) == Secret(good.value)


def test_what_is_disconnected_is_forgotten(github, accounts, engine, user, ann):
    accounts.connect(user, Secret(github.world.classic_token(ann, "repo").value))
    accounts.disconnect(user)
    assert accounts.of(user) is None and accounts.token_of(user) is None
    with engine.connect() as connection:
        assert connection.execute(sa.select(github_tokens)).all() == []


def prove(engine, user):
    """As if the user's token had been seen to read a repository."""
    with engine.begin() as connection:
        connection.execute(repo_access.insert().values(
            user_id=user, repo_id=5, level="read", checked_at=sa.func.current_timestamp()))


def proven(engine):
    with engine.connect() as connection:
        return connection.scalars(sa.select(repo_access.c.repo_id)).all()


def test_a_token_that_github_refuses_is_forgotten_with_all_that_it_proved(
        github, accounts, engine, user, ann):
    token = github.world.classic_token(ann, "repo")
    accounts.connect(user, Secret(token.value))
    prove(engine, user)
    token.is_revoked = True
    with pytest.raises(GitHubError), accounts.asking(user) as api:
        api.whoami()
    assert accounts.of(user).problem is Code.TOKEN_DEAD and accounts.token_of(user) is None
    assert proven(engine) == []
    with engine.connect() as connection:
        assert connection.scalar(sa.select(github_tokens.c.sealed)) == b""


def test_a_token_whose_time_is_over_is_not_even_tried(github, accounts, user, ann):
    ends = github.world.now + timedelta(hours=1)
    accounts.connect(user, Secret(github.world.classic_token(ann, "repo", expires_at=ends).value))
    github.world.advance(hours=2)
    github.world.seen.clear()
    assert accounts.of(user).problem is Code.TOKEN_DEAD
    with pytest.raises(GitHubError) as refused, accounts.asking(user):
        pass
    assert refused.value.code is Code.TOKEN_DEAD and github.world.seen == []


def test_the_death_of_an_old_token_does_not_touch_the_one_that_replaced_it(
        github, accounts, user, ann):
    old, new = (github.world.classic_token(ann, "repo") for _ in range(2))
    accounts.connect(user, Secret(old.value))
    with pytest.raises(GitHubError), accounts.asking(user) as api:
        github.world.advance(seconds=1)
        accounts.connect(user, Secret(new.value))
        old.is_revoked = True
        api.whoami()
    assert accounts.token_of(user) == Secret(new.value)


def test_a_new_token_must_prove_everything_anew(github, accounts, engine, user, ann):
    for _ in range(2):
        accounts.connect(user, Secret(github.world.classic_token(ann, "repo").value))
        assert proven(engine) == []
        prove(engine, user)


def test_nobody_gets_the_token_of_another(github, accounts, engine, user, ann):
    bob = Accounts(engine).create_user("bob", "a password").id
    accounts.connect(user, Secret(github.world.classic_token(ann, "repo").value))
    with engine.begin() as connection:  # as if rows were swapped behind our back
        row = connection.execute(sa.select(github_tokens)).mappings().one()
        connection.execute(github_tokens.insert().values({**row, "user_id": bob}))
    assert accounts.token_of(bob) is None and accounts.of(bob).problem is Code.KEY_LOST
    assert accounts.token_of(user) is not None


def test_a_token_goes_to_no_other_server_than_the_one_that_it_was_made_on(
        github, accounts, engine, connected, settings):
    other = replace(settings, github_url="http://127.0.0.1:9", github_api_url="http://127.0.0.1:9")
    assert GitHubAccounts(engine, other).token_of(connected) is None
    assert accounts.of(connected).problem is Code.KEY_LOST
    assert accounts.token_of(connected) is not None


def test_the_last_use_is_kept(github, accounts, user, ann):
    accounts.connect(user, Secret(github.world.classic_token(ann, "repo").value))
    github.world.advance(minutes=5)
    with accounts.asking(user) as api:
        api.whoami()
    assert accounts.of(user).last_used_at == github.world.now.replace(tzinfo=None)


# --- how much may be asked in the background ----------------------------------------------------

@pytest.fixture
def connected(github, accounts, user, ann):
    accounts.connect(user, Secret(github.world.classic_token(ann, "repo").value))
    return user


def ask(accounts, user, times, **how):
    with accounts.asking(user, **how) as api:
        for _ in range(times):
            api.whoami()


def test_a_fifth_of_the_hour_is_for_the_background_and_the_next_hour_begins_anew(
        github, accounts, connected, engine, settings):
    assert BACKGROUND_LIMIT == 1000
    ask(accounts, connected, 3, is_background=True)
    ask(accounts, connected, 2)
    assert accounts.may_ask(connected, BACKGROUND_LIMIT - 3)
    assert not accounts.may_ask(connected, BACKGROUND_LIMIT - 2)
    again = GitHubAccounts(engine, settings, lambda: github.world.now.replace(tzinfo=None))
    assert not again.may_ask(connected, BACKGROUND_LIMIT - 2)  # it is kept in the table
    github.world.advance(minutes=61)
    assert accounts.may_ask(connected, BACKGROUND_LIMIT)


def test_a_share_that_is_used_up_waits_and_asks_nothing(github, accounts, connected, engine):
    with engine.begin() as connection:
        connection.execute(github_tokens.update().values(
            background_used=BACKGROUND_LIMIT,
            background_since=github.world.now.replace(tzinfo=None)))
    github.world.seen.clear()
    with pytest.raises(GitHubError) as refused:
        ask(accounts, connected, 1, is_background=True)
    assert refused.value.code is Code.LATER and github.world.seen == []
    ask(accounts, connected, 1)  # what a user does by hand goes on


def test_the_last_500_requests_of_an_hour_are_left_to_the_user(github, accounts, connected):
    github.world.limit = 502  # one was used to connect
    ask(accounts, connected, 1, is_background=True)
    assert accounts.may_ask(connected)
    ask(accounts, connected, 1, is_background=True)
    assert not accounts.may_ask(connected)
    ask(accounts, connected, 1)
    github.world.advance(minutes=61)
    assert accounts.may_ask(connected)


def test_a_refusal_that_the_work_took_by_itself_counts_as_well(github, accounts, connected):
    github.world.fault("GET", "/user$", 429, Retry_After="120")
    with accounts.asking(connected, is_background=True) as api:
        with pytest.raises(GitHubError):
            api.whoami()
    assert not accounts.may_ask(connected)


def test_when_github_asks_to_wait_the_background_does(github, accounts, connected):
    github.world.fault("GET", "/user$", 429, Retry_After="120")
    with pytest.raises(GitHubError):
        ask(accounts, connected, 1, is_background=True)
    assert not accounts.may_ask(connected)
    github.world.advance(seconds=121)
    assert accounts.may_ask(connected)


# --- other keys ---------------------------------------------------------------------------------

def test_keys_rotate_and_the_old_one_is_gone(accounts, connected, engine, settings, github):
    token, old = accounts.token_of(connected), (settings.home / "sealing.key").read_text()
    done = rotate_keys(engine, settings)
    assert (done.resealed, done.unreadable) == (1, 0)
    assert old.strip() not in (settings.home / "sealing.key").read_text()
    assert accounts.token_of(connected) == token


def test_a_token_whose_key_is_lost_asks_to_connect_again(accounts, connected, settings, github,
                                                         ann):
    (settings.home / "sealing.key").unlink()
    assert accounts.token_of(connected) is None
    assert accounts.of(connected).problem is Code.KEY_LOST
    accounts.connect(connected, Secret(github.world.classic_token(ann, "repo").value))
    assert accounts.of(connected).problem is None


def test_a_key_that_comes_back_opens_again_also_after_a_rotation_without_it(
        accounts, connected, engine, settings):
    token, path = accounts.token_of(connected), settings.home / "sealing.key"
    path.rename(settings.home / "kept")
    assert accounts.token_of(connected) is None and rotate_keys(engine, settings).unreadable == 1
    path.unlink()
    (settings.home / "kept").rename(path)
    assert accounts.token_of(connected) == token and accounts.of(connected).problem is None


def test_a_rotation_needs_no_setting_of_the_server(accounts, connected, engine, settings):
    token = accounts.token_of(connected)
    other = replace(settings, github_url="https://github.com", github_api_url="https://x.org")
    assert rotate_keys(engine, other).resealed == 1
    assert accounts.token_of(connected) == token


KILLED = """
import os, signal, sys
from registry import db, sealing
from registry.config import Settings
from registry.github_accounts import GitHubAccounts
from registry.rotation import rotate_keys
settings = Settings.from_environ(os.environ)
engine = db.create_engine(settings.database_url)
calls, after = [], int(sys.argv[1])
def die(function):
    def call(*args, **kwargs):
        found = function(*args, **kwargs)
        calls.append(1)
        if len(calls) > after:
            os.kill(os.getpid(), signal.SIGKILL)
        return found
    return call
sealing._written_aside = die(sealing._written_aside)
sealing.KeyStore.write = die(sealing.KeyStore.write)
GitHubAccounts._reseal = die(GitHubAccounts._reseal)
rotate_keys(engine, settings)
"""


@pytest.mark.parametrize("after", [1, 2, 4])
def test_a_rotation_that_is_killed_anywhere_loses_no_token(
        accounts, engine, settings, github, ann, after):
    people = [Accounts(engine).create_user(name, "a password").id for name in ("u", "v")]
    tokens = {each: Secret(github.world.classic_token(ann, "repo").value) for each in people}
    for each, token in tokens.items():
        accounts.connect(each, token)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(after)], cwd=Path(__file__).parents[2],
        env={**os.environ, "PAISHARE_HOME": str(settings.home)})
    assert killed.returncode == -signal.SIGKILL
    assert {each: accounts.token_of(each) for each in people} == tokens
    assert rotate_keys(engine, settings).unreadable == 0
    assert {each: accounts.token_of(each) for each in people} == tokens
    assert len((settings.home / "sealing.key").read_text().split()) == 1
    assert not list(settings.home.glob(".sealing-*"))


def test_a_token_lives_rotates_and_dies_alike_in_both_databases(
        github, settings, database_url, ann):
    settings.home.mkdir()
    engine = db.create_engine(database_url)
    db.upgrade(engine)
    user = Accounts(engine).create_user("ann", "a password").id
    accounts = GitHubAccounts(engine, settings, lambda: github.world.now.replace(tzinfo=None))
    token = github.world.classic_token(ann, "repo", expires_at=github.world.now + HOUR)
    for _ in range(2):
        accounts.connect(user, Secret(token.value))
        prove(engine, user)
    ask(accounts, user, 2, is_background=True)
    ask(accounts, user, 1, is_background=True)
    assert not accounts.may_ask(user, BACKGROUND_LIMIT - 2)
    assert accounts.may_ask(user, BACKGROUND_LIMIT - 3)
    assert rotate_keys(engine, settings).resealed == 1 and accounts.token_of(user) is not None
    token.is_revoked = True
    with pytest.raises(GitHubError):
        ask(accounts, user, 1)
    assert accounts.of(user).problem is Code.TOKEN_DEAD and proven(engine) == []
    accounts.disconnect(user)
    assert accounts.of(user) is None
    engine.dispose()
