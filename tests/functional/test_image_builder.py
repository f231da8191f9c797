"""The image of the bundled jobs, with a real engine; built first where it is missing."""
import contextlib
import socket
import subprocess

import docker
import pytest

from runner import image_builder
from runner.docker_driver import DockerDriver
from runner.errors import EngineError


@pytest.fixture
def api():
    with contextlib.closing(docker.APIClient(version="auto")) as client:
        yield client


@pytest.fixture(scope="module")
def image():
    return image_builder.ensure_image(print)


def test_an_image_that_is_there_is_found_without_a_word(image, api):
    lines = []
    assert image_builder.ensure_image(lines.append) == image
    assert lines == []
    assert image_builder.IMAGE in api.inspect_image(image)["RepoTags"]


def test_the_command_says_which_image_is_there(image, capsys):
    assert image_builder.main([]) == 0
    assert capsys.readouterr().out == f"Image {image_builder.IMAGE} is here: {image[:19]}.\n"


def test_the_engine_that_docker_host_names_is_asked(image, tmp_path, monkeypatch, capsys):
    link = tmp_path / "docker.sock"
    link.symlink_to("/var/run/docker.sock")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{link}")
    assert image_builder.main([]) == 0 and DockerDriver("test-image").image(image_builder.IMAGE)
    link.unlink()
    assert image_builder.main([]) == 1 and "does not answer" in capsys.readouterr().err
    with pytest.raises(EngineError, match="Start the Docker engine"):
        DockerDriver("test-image")


def test_the_image_has_what_the_programs_need_and_little_else(image, api):
    out = subprocess.run(
        ["docker", "run", "--rm", "--network=none", "--label=paishare.runner=test-image", image,
         "python3", "-c", "import numpy, PIL; print(numpy.__version__, PIL.__version__)"],
        capture_output=True, text=True, timeout=60, check=True).stdout
    assert out == "1.24.2 9.4.0\n"
    assert api.inspect_image(image)["Size"] < 250e6


def test_a_registry_that_says_nothing_is_given_up_in_time(api):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        name = f"127.0.0.1:{silent.getsockname()[1]}/debian:bookworm-slim"
        assert "no answer within 1 s" in image_builder.pull(api, name, silence_s=1)


def test_a_registry_that_is_not_there_is_told_in_its_own_words(api):
    assert "connection refused" in image_builder.pull(api, "127.0.0.1:9/debian:bookworm-slim")
