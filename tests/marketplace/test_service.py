"""service.py: answers about images until it is stopped."""
import contextlib
import gzip
import http.client
import json

import pytest
import requests

from tests.marketplace.programs import DATA, free_ports, start, stop

GREETING = "serving at "


@pytest.fixture(scope="module")
def service():
    """The address of a service that runs."""
    (port,) = free_ports(1)
    with start("service.py", "--data", DATA, PAI_CONTAINER_HOST_IP="127.0.0.1",
               PAI_CONTAINER_HOST_http_PORT_LIST=f"{port},1") as process:
        lines = iter(process.stdout.readline, "")
        next(line for line in lines if line.startswith(GREETING))
        yield f"http://127.0.0.1:{port}"
        code, log = stop(process)
        assert code == 0
        assert '"GET /healthz HTTP/1.1" 200' in log


def rows():
    return [list(map(int, line.split(b","))) for line in gzip.decompress(DATA.read_bytes()).split()]


def test_it_reads_digits(service):
    right = 0
    for *pixels, label in rows()[:50]:
        answer = requests.post(f"{service}/predict", json={"pixels": pixels}, timeout=60).json()
        right += answer["digit"] == label
        assert sum(answer["probabilities"]) == pytest.approx(1, abs=0.01)
    assert right >= 47


def test_its_page_shows_images_with_what_it_reads(service):
    page = requests.get(f"{service}/", timeout=60)
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.text.count("data:image/png;base64,") == 40
    assert page.text.count('<li class="right">') >= 36


def test_it_says_that_it_is_well(service):
    assert requests.get(f"{service}/healthz", timeout=60).json() == {"status": "ok"}


@pytest.mark.parametrize("body", [
    b"", b"{", b"[]", b'{"pixels": null}', b'{"pixels": [1, 2]}', b'{"pixels": "12"}', b"\xff",
    json.dumps({"pixels": [17] * 64}), json.dumps({"pixels": [float("nan")] * 64}),
    json.dumps({"pixels": [10 ** 400] * 64}), b"[" * 60000])
def test_a_bad_question_is_answered_with_what_to_send(service, body):
    answer = requests.post(f"{service}/predict", data=body, timeout=60)
    assert answer.status_code == 400
    assert answer.json()["message"].endswith(".")


@pytest.mark.parametrize("length", ["70000", "-1", "many"])
def test_a_body_too_long_to_be_an_image_is_not_even_read(service, length):
    connection = http.client.HTTPConnection(service.removeprefix("http://"), timeout=60)
    with contextlib.closing(connection):
        connection.request("POST", "/predict", headers={"Content-Length": length})
        answer = connection.getresponse()
        assert (answer.status, b"Content-Length" in answer.read()) == (400, True)


@pytest.mark.parametrize("method, path, status", [("GET", "/other", 404), ("POST", "/", 400)])
def test_other_addresses_are_answered_with_those_that_exist(service, method, path, status):
    answer = requests.request(method, service + path, data=b"{}", timeout=60)
    assert (answer.status_code, "POST" in answer.json()["message"]) == (status, True)
