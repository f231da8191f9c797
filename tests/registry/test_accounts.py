"""Users, passwords and tokens, on both databases."""
import importlib.util

import pytest
import sqlalchemy as sa

from registry import accounts as module
from registry import db
from registry.accounts import Accounts
from registry.errors import ConflictError, InvalidInputError, NotFoundError

PASSWORD = "correct horse"


@pytest.fixture
def engine(database_url):
    engine = db.create_engine(database_url)
    db.upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def accounts(engine):
    return Accounts(engine)


@pytest.fixture
def ann(accounts):
    return accounts.create_user("ann", PASSWORD)


def test_the_right_password_finds_its_user(accounts, ann):
    assert accounts.verify_password("ann", PASSWORD) == ann


@pytest.mark.parametrize("name, password", [
    ("ann", "wrong"), ("ann", ""), ("bob", PASSWORD), ("ann", "x" * 5000), ("ann\0", PASSWORD)])
def test_any_other_pair_finds_nobody(accounts, ann, name, password):
    assert accounts.verify_password(name, password) is None


def test_passwords_and_tokens_are_kept_as_hashes(accounts, ann, engine):
    token = accounts.create_token(ann, "laptop")
    with engine.connect() as connection:
        rows = [connection.execute(sa.select(table)).all() for table in (db.users, db.api_tokens)]
    text = str(rows)
    assert "$argon2id$" in text
    assert PASSWORD not in text and token not in text


def test_each_guess_at_a_password_costs_19_mib_and_two_passes():
    as_it_is = importlib.util.module_from_spec(module.__spec__)
    module.__spec__.loader.exec_module(as_it_is)
    hashed = as_it_is._HASHER.hash(PASSWORD)
    assert "$argon2id$" in hashed and "m=19456,t=2,p=1" in hashed
    assert "m=19456,t=2,p=1" in as_it_is._NOBODY


def test_the_first_start_makes_an_admin_with_a_password_and_the_second_does_not(accounts):
    password = accounts.ensure_admin()
    assert accounts.verify_password("admin", password).is_admin
    assert accounts.ensure_admin() is None


def test_no_admin_is_made_where_there_are_users(accounts, ann):
    assert accounts.ensure_admin() is None
    with pytest.raises(NotFoundError):
        accounts.user_named("admin")


def test_a_new_password_ends_the_sessions_and_the_old_password(accounts, ann):
    changed = accounts.set_password(ann, "another horse")
    assert changed.session_epoch == ann.session_epoch + 1
    assert accounts.verify_password("ann", PASSWORD) is None
    assert accounts.verify_password("ann", "another horse") == changed


@pytest.mark.parametrize("password", ["short", "x" * 1025, ""])
def test_a_password_has_a_sensible_length(accounts, ann, password):
    with pytest.raises(InvalidInputError, match="8 to 1024 characters"):
        accounts.set_password(ann, password)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "ann smith", "x" * 65, "ann\n"])
def test_a_name_that_cannot_be_a_folder_is_refused(accounts, name):
    with pytest.raises(InvalidInputError, match="letters, digits"):
        accounts.create_user(name, PASSWORD)


def test_a_name_is_given_once(accounts, ann):
    with pytest.raises(ConflictError, match="already a user called ann"):
        accounts.create_user("ann", PASSWORD)


def test_a_token_stands_for_its_user_until_it_is_revoked(accounts, ann):
    token = accounts.create_token(ann, "laptop")
    assert token.startswith("pai_") and accounts.user_of_token(token) == ann
    accounts.revoke_token(token)
    assert accounts.user_of_token(token) is None


@pytest.mark.parametrize("token", ["", "pai_", "pai_unknown", "\ud800"])
def test_an_unknown_token_stands_for_nobody(accounts, token):
    assert accounts.user_of_token(token) is None


def test_using_a_token_is_noted(accounts, ann):
    token = accounts.create_token(ann, "laptop")
    assert accounts.tokens(ann)[0].last_used_at is None
    accounts.user_of_token(token)
    assert accounts.tokens(ann)[0].last_used_at is not None


def test_nobody_revokes_the_token_of_another(accounts, ann):
    bob = accounts.create_user("bob", PASSWORD)
    token = accounts.create_token(ann, "laptop")
    with pytest.raises(NotFoundError):
        accounts.revoke_token_numbered(bob, accounts.tokens(ann)[0].id)
    assert accounts.user_of_token(token) == ann
    accounts.revoke_token_numbered(ann, accounts.tokens(ann)[0].id)
    assert accounts.tokens(ann) == []
