"""The stand-in's answers have the shape of real ones that PyGithub recorded from GitHub."""
import copy
import random
from collections import defaultdict

import pytest
import requests

from tests.fakes.github import recordings
from tests.fakes.github.contract import UnreachableError

WAIVERS: dict[tuple[str, str], str] = {}  # (operation, difference): why it may differ


@pytest.fixture(scope="session")
def real(github_contract):
    try:
        found = recordings.load()
    except UnreachableError as error:
        pytest.skip(f"THE STAND-IN IS NOT COMPARED WITH REAL ANSWERS: {error}")
    if github_contract is None:
        pytest.skip("THE STAND-IN IS NOT COMPARED WITH REAL ANSWERS: no description of the routes")
    return recordings.by_operation(found, github_contract.template)


@pytest.fixture
def answers(github):
    """(method, path, answer) of a walk through every route that was recorded."""
    found = []
    walk(github, lambda *asked: found.append(asked))
    return found


@pytest.fixture
def ours(answers, github_contract):
    """Our bodies by operation."""
    found = defaultdict(list)
    for method, path, answer in answers:
        template = github_contract.template(method, path)
        found[f"{method} {template} {answer.status_code}"].append(answer.json())
    return found


def walk(github, note):
    world = github.world
    ann, _ = world.add_user("ann"), world.add_user("bob")
    parts = world.create(ann, "parts", {"job/hello.yaml": "type: job\n", "README.md": "# A\n"})
    first = world.commit(parts, {"job/more.yaml": "type: job\n"})
    world.point(parts, "tags/v1", first)

    def ask(login, method, path, **body):
        token = world.classic_token(world.users[login], "repo")
        answer = requests.request(method, f"{github.api_url}{path}", json=body or None,
                                  headers={"Authorization": f"token {token.value}"},
                                  allow_redirects=False, timeout=60)
        note(method, path.partition("?")[0], answer)
        return answer.json()

    base, fork = "/repos/ann/parts", "/repos/bob/parts"
    ask("bob", "POST", f"{base}/forks", default_branch_only=True)
    newer = world.commit(parts, {"job/new.yaml": "type: job\n"})
    for path in ("/user", "/users/ann", "/rate_limit", base, fork, f"{base}/branches/main",
                 f"{base}/commits", f"{base}/commits/{newer}", f"{base}/tags",
                 f"{base}/compare/{first}...{newer}", f"{base}/contents/job",
                 f"{base}/git/commits/{newer}", f"{base}/git/ref/heads/main",
                 f"{base}/git/trees/{newer}", "/repos/ann/nothing"):
        ask("bob", "GET", path)
    ask("bob", "POST", f"{fork}/merge-upstream", branch="none")
    ask("bob", "POST", f"{fork}/merge-upstream", branch="main")
    ask("bob", "POST", f"{fork}/merge-upstream", branch="main")
    tree = ask("bob", "POST", f"{fork}/git/trees", base_tree=parts.git.commit(newer).tree, tree=[
        {"path": "job/hi.yaml", "mode": "100644", "type": "blob", "content": "type: job\n"}])
    made = ask("bob", "POST", f"{fork}/git/commits", tree=tree["sha"], parents=[newer], message="x")
    ask("bob", "POST", f"{fork}/git/refs", ref="refs/heads/hi", sha=newer)
    ask("bob", "PATCH", f"{fork}/git/refs/heads/hi", sha=made["sha"])
    ask("bob", "POST", f"{base}/pulls", head="bob:hi", base="main", title="Hi", body="x")
    ask("ann", "GET", f"{base}/pulls/1")
    ask("ann", "GET", f"{base}/pulls/1")
    ask("ann", "GET", f"{base}/pulls/1/commits")
    ask("ann", "PUT", f"{base}/pulls/1/merge", merge_method="merge")
    ask("ann", "GET", f"{base}/pulls/1")
    world.commit(world.find("bob", "parts"), {"job/new.yaml": "other\n"})
    world.commit(parts, {"job/new.yaml": "one\n"})
    ask("bob", "POST", f"{fork}/merge-upstream", branch="main")
    world.move(parts, name="renamed")
    ask("ann", "GET", base)


def test_every_recorded_operation_is_answered_in_the_shape_of_real_answers(real, ours):
    assert real.keys() - ours.keys() == set()
    found = {(operation, each) for operation, bodies in real.items()
             for each in recordings.differences(bodies, ours[operation])}
    assert found - WAIVERS.keys() == set()
    assert WAIVERS.keys() - found == set(), "these differ no more"


def test_a_missing_an_added_and_a_changed_field_are_differences(real):
    operation = "GET /repos/{owner}/{repo} 200"
    body = next(each for each in real[operation] if "parent" not in each)
    assert recordings.differences(real[operation], [body]) == []
    ours = {**body, "id": str(body["id"]), "added": 1,
            "owner": {key: each for key, each in body["owner"].items() if key != "type"}}
    assert recordings.differences(real[operation], [ours]) == [
        ".owner.type is missing", ".added is not in real ones",
        ".id is string, in real ones number"]


def without(parent, key):
    del parent[key]


def of_another_type(parent, key):
    parent[key] = 7 if isinstance(parent[key], str) else "seven"


def nulled(parent, key):
    parent[key] = None


def places(value):
    """Every (object, key) in a body."""
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(value, dict):
            yield value, key
        if isinstance(each, (dict, list)):
            yield from places(each)


@pytest.mark.parametrize("spoil, share", [(without, 0.75), (of_another_type, 0.9), (nulled, 0.8)])
def test_the_description_catches_most_spoiled_answers(answers, github_contract, spoil, share):
    if github_contract is None:
        pytest.skip("THE STAND-IN IS NOT HELD TO GITHUB'S DESCRIPTION: no package index")
    chance, caught = random.Random(4), []
    for method, path, answer in answers:
        for _ in range(10 if answer.status_code < 300 else 0):
            body = copy.deepcopy(answer.json())
            spoil(*chance.choice(list(places(body))))
            caught.append(any(github_contract.errors(method, path, answer.status_code, body)))
    assert len(caught) >= 250 and sum(caught) / len(caught) >= share
