"""Connections end at an address that was checked, and nowhere else."""
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import StagingError
from runner.network import Network
from tests.runner.web_server import WebServer

FORBIDDEN = ("169.254.169.254", "fe80::1", "fe80::1%eth0", "224.0.0.1", "ff02::1", "0.0.0.0", "::",
             "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "240.0.0.1",
             "255.255.255.255", "fd00:ec2::254", "100.100.100.200", "127.0.0.1", "::1",
             "::ffff:127.0.0.1")
ALLOWED = ("93.184.216.34", "10.0.0.5", "192.168.1.1", "2606:2800:220:1::1", "64:ff9b::808:808")


@pytest.fixture
def web():
    with WebServer() as server:
        yield server


def answer_of(network, uri):
    with network.session() as session, network.get(session, uri, {}) as response:
        return response.raw.read()


@pytest.mark.parametrize("address", FORBIDDEN)
def test_addresses_that_jobs_may_not_reach(address):
    assert not Network().is_allowed(address)


@pytest.mark.parametrize("address", ALLOWED)
def test_addresses_that_jobs_may_reach(address):
    assert Network().is_allowed(address)


@given(st.ip_addresses())
def test_loopback_is_the_only_difference_that_the_setting_makes(address):
    open_, closed = Network(allow_loopback=True), Network()
    assert closed.is_allowed(str(address)) <= open_.is_allowed(str(address))


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f.1", "localhost", "0"])
def test_other_spellings_of_forbidden_addresses_are_seen_through(host):
    with pytest.raises(StagingError, match="an address that jobs may not reach"):
        Network().addresses(host, 80)


def test_a_name_that_nobody_knows_is_a_fault_of_the_network(monkeypatch):
    def fail(*_, **__):
        raise socket.gaierror("Name or service not known")
    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(StagingError, match="The host no.such is not known") as caught:
        Network().addresses("no.such", 80)
    assert caught.value.is_platform


def test_a_host_with_one_forbidden_address_is_forbidden(monkeypatch):
    found = [(2, 1, 6, "", (address, 80)) for address in ("93.184.216.34", "169.254.169.254")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with pytest.raises(StagingError, match="is at 169.254.169.254"):
        Network().addresses("two.faced", 80)


def test_loopback_is_refused_unless_allowed(web):
    web.files["/x"] = b"content"
    with pytest.raises(StagingError, match="is at 127.0.0.1"):
        answer_of(Network(), f"{web.url}/x")
    assert not web.requests
    assert answer_of(Network(allow_loopback=True), f"{web.url}/x") == b"content"


def test_each_redirect_is_checked(web):
    web.redirects["/x"] = "http://169.254.169.254/latest/meta-data"
    with pytest.raises(StagingError, match="is at 169.254.169.254"):
        answer_of(Network(allow_loopback=True), f"{web.url}/x")


def test_a_redirect_to_another_protocol_is_refused(web):
    web.redirects["/x"] = "file:///etc/passwd"
    with pytest.raises(StagingError, match="cannot be fetched") as caught:
        answer_of(Network(allow_loopback=True), f"{web.url}/x")
    assert not caught.value.is_platform


def test_a_name_that_changes_its_address_is_not_asked_again(web, monkeypatch):
    web.files["/x"] = b"content"
    answers = ["127.0.0.1", "169.254.169.254"]
    real = socket.getaddrinfo

    def rebind(host, port, *rest, **named):
        return real(answers.pop(0) if host == "rebind.test" else host, port, *rest, **named)
    monkeypatch.setattr(socket, "getaddrinfo", rebind)
    network = Network(allow_loopback=True)
    assert answer_of(network, f"http://rebind.test:{web.port}/x") == b"content"
    assert answers == ["169.254.169.254"]


def test_a_server_that_is_down_is_a_fault_of_the_platform():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        with pytest.raises(StagingError, match="is out of reach.*refused") as caught:
            answer_of(Network(allow_loopback=True), f"http://127.0.0.1:{port}/x")
    assert caught.value.is_platform


def test_the_surroundings_of_the_runner_give_no_proxy(web, monkeypatch):
    web.files["/x"] = b"content"
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert answer_of(Network(allow_loopback=True), f"{web.url}/x") == b"content"
