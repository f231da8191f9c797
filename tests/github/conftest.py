import pytest

from registry.config import Secret
from tests.github import places


@pytest.fixture(params=["stand-in", "real"])
def place(request):
    """The stand-in, and the real GitHub of the environment; what a flow made is removed again."""
    found = stand_in(request.getfixturevalue("github")) if request.param == "stand-in" \
        else places.from_environment()
    if found is None:
        pytest.skip("GITHUB_TOKEN and GITHUB_ORG are not set: nothing is tried on the real GitHub")
    yield found
    found.clean()


def stand_in(github):
    ann = github.world.add_user("ann")
    github.world.add_organisation("acme", {"ann": "admin"})
    token = github.world.classic_token(ann, "repo", "delete_repo")
    return places.Place(settings=places.settings(github.url), organisation="acme",
                        token=Secret(token.value), pause_s=0)
