"""What GitHub tells by webhook: signatures, events, and what each makes happen."""
import json
import uuid

import pytest
import sqlalchemy as sa

from registry import db, deliveries
from registry.config import Secret
from registry.db import (
    github_tokens,
    publications,
    repo_access,
    search_outbox,
    sources,
    versions,
    webhook_deliveries,
)
from registry.deliveries import Deliveries
from registry.errors import InvalidInputError, NotFoundError
from registry.sources import NewRepository, Sources
from registry.webhooks import (
    HIDDEN,
    SHOWN,
    Change,
    Pull,
    Push,
    event_of,
    is_signed,
    secret_of,
)
from tests.fakes.github.webhooks import sign
from tests.registry.marketplace import Marketplace

REPO = 4711
KEY = Secret("the key of this server")


def body(**rest):
    return json.dumps({"repository": {"id": REPO, "default_branch": "main"}, **rest}).encode()


# --- reading -------------------------------------------------------------------------------------

def test_a_signature_is_checked_as_github_documents_it():
    secret, text = Secret("It's a Secret to Everybody"), b"Hello, World!"
    good = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert is_signed(secret, text, good)
    for wrong in ("", good[7:], good.upper(), good[:-1] + "8", "sha1=x", "sha256=ü"):
        assert not is_signed(secret, text, wrong)
    assert not is_signed(secret, text + b"\n", good)


def test_each_source_has_a_secret_of_its_own_that_only_the_key_gives():
    secrets = {secret_of(key, id).reveal() for key in (KEY, Secret("another"))
               for id in range(50)}
    assert len(secrets) == 100 and {len(each) for each in secrets} == {64}
    assert secret_of(KEY, 7) == secret_of(KEY, 7)


@pytest.mark.parametrize("kind, payload, event", [
    ("push", {"ref": "refs/heads/main"}, Push(repo_id=REPO, branch="main", is_default=True)),
    ("push", {"ref": "refs/heads/a/b"}, Push(repo_id=REPO, branch="a/b")),
    ("push", {"ref": "refs/tags/v1"}, Push(repo_id=REPO, tag="v1")),
    ("push", {"ref": "refs/notes/x"}, None),
    ("pull_request", {"action": "closed", "pull_request": {"number": 3, "head": {"ref": "x"}}},
     Pull(repo_id=REPO, number=3, head="x")),
    ("pull_request", {"pull_request": {"number": 3, "head": None}},
     Pull(repo_id=REPO, number=3, head="")),
    ("repository", {"action": "privatized"}, Change(repo_id=REPO, kind=HIDDEN)),
    ("repository", {"action": "edited"}, None),
    ("public", {}, Change(repo_id=REPO, kind=SHOWN)),
    ("ping", {"zen": "…"}, None), ("issues", {}, None)])
def test_an_event_says_what_it_is_about(kind, payload, event):
    assert event_of(kind, body(**payload)) == event


@pytest.mark.parametrize("kind, text", [
    ("push", b""), ("push", b"payload=%7B%7D"), ("push", b"[]"), ("push", b"{}"),
    ("push", b'{"repository": {"id": "1"}, "ref": "refs/heads/x"}'),
    ("push", b'{"repository": {"id": true}, "ref": "refs/heads/x"}'),
    ("push", b'{"repository": {"id": 99999999999999999999}, "ref": "refs/heads/x"}'),
    ("push", b"[" * 200_000), ("push", b"\xff"),
    ("pull_request", b'{"repository": {"id": 1}, "pull_request": 5}')])
def test_what_is_no_event_is_refused(kind, text):
    with pytest.raises(InvalidInputError, match=f"no {kind} event.*application/json"):
        event_of(kind, text)


# --- what they make happen -----------------------------------------------------------------------

@pytest.fixture
def market(tmp_path, database_url):
    market = Marketplace(tmp_path / "home", database_url)
    with market.engine.begin() as connection:
        for name in ("ann", "bob"):
            connection.execute(db.users.insert().values(
                name=name, password_hash="-", is_admin=False, session_epoch=0,
                created_at=sa.func.now()))
    market.deliveries = Deliveries(market.engine, KEY)
    yield market
    market.close()


def add(market, repo_id=REPO, **how):
    source = Sources(market.engine).add_repository(NewRepository(
        repo_id=repo_id, full_name="ann/parts", is_private=False, **how), name=None, owner_id=1,
        sponsor_id=None)
    with market.engine.begin() as connection:
        connection.execute(sources.update().values(sync_requested_at=None))
    return source


def take(market, source, event):
    return market.deliveries.take(source.id, str(uuid.uuid4()), event)


@pytest.mark.parametrize("event, wanted", [
    (Push(repo_id=REPO, branch="main", is_default=True), {"ann/parts", "ann/parts-3"}),
    (Push(repo_id=REPO, branch="team"), {"ann/parts-2"}),
    (Push(repo_id=REPO, branch="other"), set()),
    (Push(repo_id=REPO, tag="v1.0.0"), {"ann/parts-3"}),
    (Push(repo_id=REPO, tag="x"), set()),
    (Push(repo_id=8, branch="main", is_default=True), set()),
    (Change(repo_id=REPO, kind="renamed"), {"ann/parts", "ann/parts-2", "ann/parts-3"})])
def test_the_sources_that_show_what_changed_are_synced(market, event, wanted):
    source = add(market)
    add(market, branch="team")
    add(market, tag_prefix="v")
    add(market, repo_id=8)
    assert take(market, source, event)
    assert set(market.sources.requested()) == wanted


def test_a_delivery_is_taken_once_and_forgotten_after_a_week(market):
    source, push = add(market), Push(repo_id=REPO, branch="main", is_default=True)
    assert market.deliveries.take(source.id, "one", push)
    assert not market.deliveries.take(source.id, "one", push)
    with market.engine.begin() as connection:
        connection.execute(webhook_deliveries.update().values(received_at=sa.text(
            "'2020-01-01 00:00:00'")))
    assert market.deliveries.take(source.id, "two", None)
    with market.engine.connect() as connection:
        assert connection.scalars(sa.select(webhook_deliveries.c.id)).all() == ["two"]


def test_of_a_source_that_is_gone_nothing_is_taken(market):
    source = add(market)
    market.sources.remove(source.name)
    for id in (source.id, 999):
        with pytest.raises(NotFoundError, match="Delete the webhook"):
            market.deliveries.take(id, "one", None)


def test_a_repository_that_became_private_is_hidden_until_each_has_proven_to_read_it(market):
    source = add(market)
    with market.engine.begin() as connection:
        connection.execute(github_tokens.insert().values(
            user_id=2, sealed=b"x", key_id="k", login="bob", github_id=5, kind="classic",
            last_four="abcd", verified_at=sa.func.now()))
        connection.execute(repo_access.insert().values(
            user_id=2, repo_id=REPO, level="read", checked_at=source.created_at))
    assert [each.name for each in market.sources.visible(user_id=2)] == [source.name]
    take(market, source, Change(repo_id=REPO, kind=HIDDEN))
    assert market.sources.visible(user_id=2) == [] == market.sources.visible()
    with market.engine.connect() as connection:
        assert connection.scalar(sa.select(github_tokens.c.access_wanted_at))
    assert market.sources.requested() == [source.name]


def test_what_is_cut_off_while_it_hides_is_taken_whole_when_it_comes_again(market, monkeypatch):
    source = add(market)
    with market.engine.begin() as connection:
        connection.execute(versions.insert().values(
            source_id=source.id, type="job", name="a", version="1", commit="c" * 40, path="a",
            committed_at=source.created_at, blob="b", position=1, is_latest=True, is_present=True,
            is_moved=False, is_tagged=False, head_path="a", tags=[], warnings=[], text="",
            contributor="", description=""))
    whole = deliveries._hide

    def cut_off(*facts):
        whole(*facts)
        raise KeyboardInterrupt  # as the process ends here, nothing is committed
    monkeypatch.setattr(deliveries, "_hide", cut_off)
    told = (source.id, "one", Change(repo_id=REPO, kind=HIDDEN))
    with pytest.raises(KeyboardInterrupt):
        market.deliveries.take(*told)
    assert [each.id for each in market.sources.visible()] == [source.id] and not waiting(market)
    monkeypatch.setattr(deliveries, "_hide", whole)
    assert market.deliveries.take(*told) is True
    assert market.sources.visible() == [] and waiting(market) == 1  # to be counted anew


def waiting(market):
    with market.engine.connect() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(search_outbox))


def test_an_event_never_shows_anything(market):
    source = add(market)
    take(market, source, Change(repo_id=REPO, kind=HIDDEN))
    take(market, source, Change(repo_id=REPO, kind=SHOWN))
    assert market.sources.visible() == []


def test_a_pull_request_wakes_the_publications_that_wait_for_it(market):
    source = add(market)
    far = sa.text("'2100-01-01 00:00:00'")
    with market.engine.begin() as connection:
        for number, (repo_id, branch, pull, next_at) in enumerate([
                (REPO, "x", 3, far), (REPO, "y", None, far), (REPO, "y", 4, far),
                (8, "x", 3, far), (REPO, "x", 3, None)]):
            connection.execute(publications.insert().values(
                id=number, user_id=1, state="OPEN", repo_id=repo_id, repository="ann/parts",
                base_branch="main", type="job", name="a", version="", path="job/a.yaml", text="",
                title="", body="", is_signed_off=False, branch=branch, pull_number=pull,
                next_at=next_at, created_at=source.created_at, updated_at=source.created_at))
    take(market, source, Pull(repo_id=REPO, number=3, head="other"))
    take(market, source, Pull(repo_id=REPO, number=9, head="y"))
    with market.engine.connect() as connection:
        woken = connection.scalars(sa.select(publications.c.id).where(
            publications.c.next_at < sa.text("'2100-01-01'")).order_by("id")).all()
    assert woken == [0, 1]


# --- over HTTP -----------------------------------------------------------------------------------

def deliver(web, source_id, text, *, secret=None, **headers):
    known = secret or web.services.deliveries.secret(source_id).reveal()
    return web.program().call("POST", f"/hooks/github/{source_id}", data=text, headers={
        "X-GitHub-Event": "push", "X-GitHub-Delivery": str(uuid.uuid4()),
        "X-Hub-Signature-256": sign(known, text), "Content-Type": "application/json", **headers})


@pytest.fixture
def source(web):
    return web.services.sources.add_repository(NewRepository(
        repo_id=REPO, full_name="ann/parts", is_private=False), name=None, owner_id=2,
        sponsor_id=None)


def test_a_signed_delivery_is_taken_without_a_login_and_a_second_time_not(web, source):
    text = body(ref="refs/heads/main")
    answer = deliver(web, source.id, text, **{"X-GitHub-Delivery": "a-b"})
    assert (answer.status_code, answer.json) == (202, {"is_new": True})
    again = deliver(web, source.id, text, **{"X-GitHub-Delivery": "a-b"})
    assert (again.status_code, again.json) == (202, {"is_new": False})
    assert "ann/parts" in web.services.sources.requested()


def test_a_wrong_signature_is_refused_alike_whether_there_is_such_a_source_or_not(web, source):
    text = body(ref="refs/heads/main")
    answers = [deliver(web, id, text, secret="wrong") for id in (source.id, 1, 999, 2 ** 70)]
    answers.append(deliver(web, source.id, text, **{"X-Hub-Signature-256": ""}))
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.text for answer in answers}) == 1


def test_a_delivery_that_is_too_large_or_no_delivery_is_refused(web, source):
    assert deliver(web, source.id, b" " * (5 << 20) + b"{}").status_code == 413
    assert deliver(web, source.id, b"payload=x").status_code == 400
    assert deliver(web, source.id, body(ref="refs/heads/x"),
                   **{"X-GitHub-Delivery": ""}).status_code == 400
    assert deliver(web, source.id, b"{}", **{"X-GitHub-Event": "ping"}).status_code == 202


def test_a_delivery_for_a_folder_or_a_removed_source_says_so(web, source):
    web.services.sources.remove(source.name)
    for id in (source.id, 1):
        assert deliver(web, id, body(ref="refs/heads/main")).status_code == 404
