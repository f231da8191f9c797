"""Nobody learns of a private repository but by an access of their own, whatever they ask."""
import random

import pytest

from tests.registry.circles import (
    ENDPOINTS,
    NOT_TRIED,
    OPENPAI,
    REPOSITORIES,
    Asked,
    Circles,
    State,
    random_state,
)

STATES, CASES = 4, 60


@pytest.fixture(scope="module")
def circles(tmp_path_factory):
    circles = Circles(tmp_path_factory.mktemp("circles"))
    yield circles
    circles.close()


def test_every_route_is_tried_or_says_why_not(circles):
    known = {*ENDPOINTS, *NOT_TRIED}
    there = {name for name in circles.endpoints() if not name.startswith(OPENPAI)}
    assert there - known == set(), "Add the new route to circles.py."
    assert known - there == set(), "These routes are gone."


@pytest.mark.parametrize("seed", range(STATES))
def test_whoever_may_not_see_a_repository_is_answered_as_if_it_never_existed(circles, seed):
    chance = random.Random(seed)
    state = random_state(chance)
    circles.registry.become(state)
    for _ in range(CASES):
        assert not circles.difference(state, *circles.choose(chance, state))


def test_whoever_may_see_a_repository_finds_it_everywhere(circles):
    state = State(private=frozenset(REPOSITORIES), tokens={"ann": "works"},
                  grants={("ann", "acme/alpha"): "fresh"})
    circles.registry.become(state)
    for path in ("/?q=quorvex", "/c/data/quorvex", "/api/v3/components?q=quorvex",
                 "/api/v3/complete?q=quor", "/feed.atom?q=quorvex", "/changelog?of=data/quorvex",
                 "/sources", "/api/v3/sources", "/api/v2/template?query=quorvex"):
        asked = Asked(endpoint="", path=path)
        assert b"quorvex" in found_by(circles, "ann", asked) or b"acme/alpha" in found_by(
            circles, "ann", asked), path
        assert b"acme/beta" not in found_by(circles, "ann", asked), path


def found_by(circles, user, asked):
    return circles.registry.ask(asked, circles.headers[user]).body


def test_an_answer_that_depends_on_who_asks_is_kept_by_no_cache(circles):
    asked = Asked(endpoint="", path="/api/v3/components?q=quorvex")
    headers = dict(circles.registry.ask(asked, circles.headers["ann"]).headers)
    assert headers["Cache-Control"] == "private, no-store"
    assert {"Cookie", "Authorization"} <= set(headers["Vary"].split(", "))
    assert dict(circles.registry.ask(asked, {}).headers)["Cache-Control"] == "private, no-cache"


def test_an_admin_is_told_the_names_of_what_is_hidden_and_no_more(circles):
    circles.registry.become(State(private=frozenset(REPOSITORIES), tokens={}, grants={}))
    page = found_by(circles, "admin", Asked(endpoint="", path="/sources")).decode()
    assert "acme/alpha" in page and 'action="/sources/acme/alpha/remove"' in page
    assert not any(word in page for word in REPOSITORIES.values())
    assert b"acme/alpha" not in found_by(circles, "bob", Asked(endpoint="", path="/sources"))


def test_no_store_becomes_a_folder_that_everybody_sees(circles):
    home = circles.registry.web.home
    for path in (home / "git/2.git", home, f"{home}/../{home.name}/git/2.git"):
        answer = circles.registry.ask(
            Asked(endpoint="", path="/api/v3/sources", method="POST", body={"location": str(path)}),
            circles.headers["admin"])
        assert answer.status == 400 and b"keeps for itself" in answer.body
