"""What a registry says of an image's size: asked as nobody, and never an error."""
import json
import platform

import pytest

from runner.image_sizes import ARCHITECTURES, ImageSizes
from runner.network import Network
from runner.spec import Image
from tests.runner.web_server import WebServer

OURS = ARCHITECTURES.get(platform.machine(), platform.machine())
LAYERS = {"config": {"size": 9}, "layers": [{"size": 1000}, {"size": 24}]}
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
    sizes = sizes or ImageSizes(Network(allow_loopback=True))
    return sizes.of(Image(uri=f"127.0.0.1:{web.port}/{name}"))


def test_the_layers_of_a_manifest_are_counted(web):
    put(web, "1", LAYERS)
    assert size(web) == 1024


def test_of_several_machines_the_image_for_this_one_counts(web):
    put(web, "latest", INDEX)
    put(web, "sha256:ours", LAYERS)
    assert size(web, "team/tool") == 1024 and size(web, "team/tool@sha256:ours") == 1024


def test_a_registry_that_asks_for_a_token_of_nobody_gets_one(web):
    put(web, "1", LAYERS)
    web.challenges["/v2/team/tool/manifests/1"] = (
        f'Bearer realm="{web.url}/token",service="x",scope="repository:team/tool:pull"')
    web.files["/token?service=x&scope=repository%3Ateam%2Ftool%3Apull"] = b'{"token": "t"}'
    assert size(web) == 1024
    assert web.requests[-1][1]["Authorization"] == "Bearer t"


@pytest.mark.parametrize("value", [[], {}, {"layers": [{}]}, {"layers": 5}, {"manifests": []}])
def test_what_is_no_manifest_says_nothing(web, value):
    put(web, "1", value)
    assert size(web) is None and size(web, "team/none:1") is None


def test_what_was_said_is_remembered_for_a_while(web):
    now = [0.0]
    sizes = ImageSizes(Network(allow_loopback=True), clock=lambda: now[0])
    put(web, "1", LAYERS)
    assert [size(web, sizes=sizes) for _ in range(3)] == [1024] * 3 and len(web.requests) == 1
    now[0] = 301.0
    web.files.clear()
    assert size(web, sizes=sizes) is None


def test_this_machine_is_not_asked(web):
    put(web, "1", LAYERS)
    assert size(web, sizes=ImageSizes(Network())) is None and web.requests == []
