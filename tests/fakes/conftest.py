import pytest

from tests.fakes.callers import Caller, branch, change


@pytest.fixture
def world(github):
    return github.world


@pytest.fixture
def ann(world):
    return world.add_user("ann")


@pytest.fixture
def bob(world):
    return world.add_user("bob")


@pytest.fixture
def parts(world, ann):
    return world.create(ann, "parts", {"a.yaml": "a\n"})


@pytest.fixture
def classic(github, world, bob):
    return Caller(github, world.classic_token(bob, "public_repo"))


@pytest.fixture
def fork(world, parts, bob):
    return world.fork(parts, bob)


@pytest.fixture
def pull(world, classic, fork):
    branch(classic, fork, change(classic, fork))
    assert classic.ask("POST", "/repos/ann/parts/pulls", head="bob:new", base="main",
                       title="Add").status_code == 201
    return world.pulls[0]
