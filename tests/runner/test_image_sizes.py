"""What a registry says of an image's layers: asked as nobody or as its user, never an error."""
import base64
import json
import platform

import pytest

from runner.image_sizes import ARCHITECTURES, ImageSizes
from runner.network import Network
from runner.spec import Image, Login
from tests.runner.web_server import WebServer

OURS = ARCHITECTURES.get(platform.machine(), platform.machine())
LAYERS = {"config": {"size": 9, "digest": "sha256:about"},
          "layers": [{"size": 1000}, {"size": 24}]}
ANN = Login(server="127.0.0.1", username="ann", secret="Kanarienvogel7")
BASIC = "Basic " + base64.b64encode(b"ann:Kanarienvogel7").decode()
INDEX = {"manifests": [
    {"digest": "sha256:other", "platform": {"os": "linux", "architecture": "z80"}},
    {"digest": "sha256:ours", "platform": {"os": "linux", "architecture": OURS}}]}


@pytest.fixture
def web():
    with WebServer() as server:
        yield server


def put(web, path, value):
    web.files[f"/v2/team/tool/manifests/{path}"] = json.dumps(value).encode()


def size(web, name="team/tool:1", sizes=None):
    found = layers(web, name, sizes)
    return found and sum(layer.size for layer in found)


def layers(web, name="team/tool:1", sizes=None, login=None):
    sizes = sizes or ImageSizes(Network(allow_loopback=True))
    return sizes.of(Image(uri=f"127.0.0.1:{web.port}/{name}"), login)


def test_the_layers_of_a_manifest_are_counted_and_what_describes_them(web):
    put(web, "1", LAYERS)
    assert [(each.diff_id, each.size) for each in layers(web)] == [("", 1000), ("", 24), ("", 9)]


@pytest.mark.parametrize("said, known", [
    ({"rootfs": {"diff_ids": ["sha256:a", "sha256:b"]}}, ["sha256:a", "sha256:b", ""]),
    ({"rootfs": {"diff_ids": ["sha256:a"]}}, ["", "", ""]), ({"rootfs": 5}, ["", "", ""])])
def test_what_each_layer_unpacks_to_is_told_where_all_are(web, said, known):
    put(web, "1", LAYERS)
    web.files["/v2/team/tool/blobs/sha256:about"] = json.dumps(said).encode()
    assert [each.diff_id for each in layers(web)] == known


def test_a_registry_that_asks_for_a_password_gets_the_users(web):
    put(web, "1", LAYERS)
    web.challenges["/v2/team/tool/manifests/1"] = 'Basic realm="x"'
    sizes = ImageSizes(Network(allow_loopback=True))
    assert layers(web, sizes=sizes) is None
    assert len(layers(web, sizes=sizes, login=ANN)) == 3
    assert web.requests[-1][1]["Authorization"] == BASIC
    assert layers(web, sizes=sizes) is None, "what one user was told is no other's"


def test_a_token_is_asked_for_with_the_users_password(web):
    put(web, "1", LAYERS)
    web.challenges["/v2/team/tool/manifests/1"] = f'Bearer realm="{web.url}/token",service="x"'
    web.files["/token?service=x"] = b'{"token": "t"}'
    assert len(layers(web, login=ANN)) == 3
    asked = {path: headers.get("Authorization") for path, headers in web.requests}
    assert asked["/token?service=x"] == BASIC
    assert asked["/v2/team/tool/manifests/1"] == "Bearer t"


def test_of_several_machines_the_image_for_this_one_counts(web):
    put(web, "latest", INDEX)
    put(web, "sha256:ours", LAYERS)
    assert size(web, "team/tool") == 1033 and size(web, "team/tool@sha256:ours") == 1033


def test_a_registry_that_asks_for_a_token_of_nobody_gets_one(web):
    put(web, "1", LAYERS)
    web.challenges["/v2/team/tool/manifests/1"] = (
        f'Bearer realm="{web.url}/token",service="x",scope="repository:team/tool:pull"')
    web.files["/token?service=x&scope=repository%3Ateam%2Ftool%3Apull"] = b'{"token": "t"}'
    assert size(web) == 1033
    assert web.requests[-1][1]["Authorization"] == "Bearer t"


@pytest.mark.parametrize("value", [[], {}, {"layers": [{}]}, {"layers": 5}, {"manifests": []}])
def test_what_is_no_manifest_says_nothing(web, value):
    put(web, "1", value)
    assert size(web) is None and size(web, "team/none:1") is None


def test_what_was_said_is_remembered_for_a_while(web):
    now = [0.0]
    sizes = ImageSizes(Network(allow_loopback=True), clock=lambda: now[0])
    put(web, "1", LAYERS)
    assert [size(web, sizes=sizes) for _ in range(3)] == [1033] * 3 and len(web.requests) == 2
    now[0] = 301.0
    web.files.clear()
    assert size(web, sizes=sizes) is None


def test_this_machine_is_not_asked(web):
    put(web, "1", LAYERS)
    assert size(web, sizes=ImageSizes(Network())) is None and web.requests == []
