"""Limits, faults and webhooks of the stand-in for GitHub, as clients and listeners meet them."""
import json
import threading

import pytest
import requests

from tests.fakes.github.limits import SECONDARY
from tests.fakes.scripted_server import Answer, ScriptedServer
from tests.github.places import wait_for

# --- limits and faults --------------------------------------------------------------------------


def test_the_hourly_limit_tells_when_it_ends_and_ends_then(world, classic):
    world.limit = 1
    assert classic.ask("GET", "/user").headers["X-RateLimit-Remaining"] == "0"
    refused = classic.ask("GET", "/user")
    assert refused.status_code == 403 and "API rate limit exceeded" in refused.json()["message"]
    assert classic.ask("GET", "/rate_limit").json()["resources"]["core"]["remaining"] == 0
    assert int(refused.headers["X-RateLimit-Reset"]) > world.now.timestamp()
    world.advance(hours=1)
    assert classic.ask("GET", "/user").status_code == 200


def test_an_enterprise_server_may_have_no_limits(world, classic):
    world.limit = None
    assert not any(name.startswith("X-RateLimit") for name in classic.ask("GET", "/user").headers)
    assert classic.told("GET", "/rate_limit") == (404, "Rate limiting is not enabled.")


def test_the_secondary_limit_says_how_long_or_does_not(world, classic):
    world.fault("*", "/user$", 403, SECONDARY, Retry_After="60")
    world.fault("*", "/user$", 429, "Too Many Requests")
    first, second = classic.ask("GET", "/user"), classic.ask("GET", "/user")
    assert first.headers["Retry-After"] == "60" and "secondary" in first.json()["message"]
    assert second.status_code == 429 and "Retry-After" not in second.headers
    assert classic.ask("GET", "/user").status_code == 200


def test_a_connection_may_end_before_or_after_the_deed(world, classic, parts):
    for is_done in (False, True):
        world.fault("POST", "/forks$", 0, is_done=is_done)
        with pytest.raises(requests.ConnectionError):
            classic.ask("POST", "/repos/ann/parts/forks")
        assert (world.find("bob", "parts") is not None) == is_done
    assert [each.status for each in world.rest()] == [0, 0]


def test_the_most_requests_at_one_time_are_counted(world, classic):
    gate = threading.Event()
    world.fault("GET", "/user$", None, gate=gate, times=2)
    threads = [threading.Thread(target=classic.ask, args=("GET", "/user")) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_for(lambda: world.peaks.get("bob") == 2)
    gate.set()
    for thread in threads:
        thread.join()
    assert (world.peaks, world.flying) == ({"bob": 2}, {"bob": 0})


def test_a_list_may_lead_to_another_host(world, classic):
    world.fault("GET", "/user/repos$", None, Link='<http://elsewhere/>; rel="next"')
    assert classic.ask("GET", "/user/repos").links["next"]["url"] == "http://elsewhere/"


# --- webhooks -----------------------------------------------------------------------------------


def test_a_delivery_can_be_sent_again_with_the_same_id_or_be_lost(github, world, parts):
    with ScriptedServer() as listener:
        listener.answers["POST /hook"] = [Answer({}, 202)]
        world.add_hook(parts, f"{listener.url}/hook", "hush")
        world.commit(parts, {"b": "b"})
        sent, = github.hooks.deliveries
        assert github.hooks.redeliver(sent).status == sent.status == 202
        ids = [each.headers["X-GitHub-Delivery"] for each in listener.requests]
        assert len(ids) == 2 and len(set(ids)) == 1
        github.hooks.is_lost = True
        world.commit(parts, {"c": "c"}, parent=None)
        assert len(listener.requests) == 2 and github.hooks.deliveries[-1].status is None
        assert b'"forced": true' in github.hooks.deliveries[-1].raw


def test_hooks_hear_of_pulls_and_of_what_becomes_of_a_repository(github, world, classic, parts,
                                                                 pull):
    github.hooks.is_lost = True
    world.add_hook(parts, "http://127.0.0.1:9/", "x", ["pull_request", "repository"])
    world.commit(pull.head, {"b.yaml": "more"}, branch="new")
    classic.ask("PATCH", "/repos/ann/parts/pulls/1", state="closed")
    world.move(parts, name="newer")
    world.show(parts, is_private=True)
    world.delete(parts)
    told = [json.loads(each.raw) for each in github.hooks.deliveries]
    assert [each["action"] for each in told] == [
        "synchronize", "closed", "renamed", "privatized", "deleted"]
    assert {each["repository"]["id"] for each in told} == {parts.id}
    assert told[0]["pull_request"]["head"]["sha"] == pull.head.git.branch("new")
