"""What a repository on GitHub would bring, tried out on the stand-in before it is added."""
import pytest

from tests.fakes.github_web import OnGitHub
from tests.fakes.web_home import HELLO

PARTS = {"job/hello.yaml": HELLO, "team/data/x.yaml": "type: data\nname: x\nuri: x.csv\n",
         "job/broken.yaml": "type: job\nname: broken\ntasks: 5\n", "README.md": "# Parts\n"}


@pytest.fixture
def web(github, home_template, tmp_path, monkeypatch):
    monkeypatch.setenv("PAISHARE_GITHUB_URL", github.url)
    web = OnGitHub(home_template, tmp_path)
    yield web
    web.close()


@pytest.fixture
def octo(github):
    return github.world.add_user("octo")


def test_a_public_repository_is_tried_out_without_being_added(web, github, octo):
    github.world.create(octo, "parts", PARTS)
    page = web.browser("admin").post("/admin/sources", location="octo/parts").text
    assert "data/x, job/hello" in page and "job/broken.yaml:3" in page
    assert [each.name for each in web.services.sources.all()] == ["examples"]
    part = web.browser("admin").post("/admin/sources", location="octo/parts", sub_paths="team")
    assert "1 component<" in part.text and "job/broken.yaml:3" not in part.text.partition(
        'id="live"')[0]


def test_a_private_one_is_read_with_the_token_of_who_asks_alone(web, github, octo):
    github.world.create(octo, "secret", PARTS, is_private=True)
    stranger = web.browser("admin").post("/admin/sources", location="octo/secret")
    assert stranger.status_code == 404 and "shows no repository octo/secret" in stranger.text
    admin = web.connected("admin", github.world.classic_token(octo, "repo"))
    page = admin.post("/admin/sources", location="octo/secret").text
    assert "data/x, job/hello" in page and "private" in page


def test_what_cannot_be_read_says_why(web, github, octo):
    github.world.create(octo, "parts", PARTS)
    admin = web.browser("admin")
    wrong = admin.post("/admin/sources", location="octo/parts", branch="nowhere")
    assert wrong.status_code == 404 and "has no such branch" in wrong.text
    missing = admin.post("/admin/sources", location="octo/nothing")
    assert missing.status_code == 404 and "octo/nothing" in missing.text
