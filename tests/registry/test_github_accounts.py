"""Connecting GitHub: whose token, sealed how, used for whom, and how much in the background."""
import pytest
import sqlalchemy as sa

from registry import db
from registry.accounts import Accounts
from registry.config import Secret, Settings
from registry.db import github_tokens
from registry.errors import InvalidInputError
from registry.github_accounts import GitHubAccounts


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
