"""The fixture `github` for any test: one server for all of them, a new and empty world for each."""
import pytest

from tests.fakes.github import contract as contracts
from tests.fakes.github.server import GitHubServer


@pytest.fixture(scope="session")
def github_contract():
    """GitHub's own description of its API; None where the package index cannot be reached."""
    try:
        return contracts.load()
    except contracts.UnreachableError:
        return None


@pytest.fixture(scope="session")
def github_server(github_contract, tmp_path_factory):
    server = GitHubServer(tmp_path_factory.mktemp("github"), github_contract)
    yield server
    server.close()


@pytest.fixture
def github(github_server, github_contract, tmp_path_factory):
    github_server.reset(tmp_path_factory.mktemp("github"))
    yield github_server
    violations = [] if github_contract is None else github_contract.take_violations()
    told = "\n".join(["the stand-in answered what GitHub never would:", *violations])
    assert not violations, told
