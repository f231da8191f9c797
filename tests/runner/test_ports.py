"""Ports are held until the containers have them."""
import socket

import pytest

from runner.ports import Ports, overlap


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def test_candidates_are_every_port_of_the_range_once():
    assert sorted(Ports(20000, 20009).candidates()) == list(range(20000, 20010))


def test_a_held_port_is_free_for_nobody_until_it_is_released():
    ports, port = Ports(1024, 1024), free_port()
    assert ports.is_free(port)
    assert ports.hold("job", [port])
    assert not ports.is_free(port) and not ports.hold("other", [port])
    ports.release("other")
    assert not ports.is_free(port)
    ports.release("job", [port])
    assert ports.is_free(port)


def test_all_ports_are_held_or_none():
    ports, port = Ports(1024, 1024), free_port()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert not ports.hold("job", [port, taken.getsockname()[1]])
    assert ports.is_free(port)


@pytest.mark.parametrize("reserved, shared", [("\n", 2232), ("30000-32800\n", 2199),
                                              ("32768,32770-34999", 1), ("20000-35000", 0)])
def test_a_range_that_the_kernel_gives_away_is_warned_of(reserved, shared):
    said = overlap(30000, 34999, ephemeral="32768\t60999\n", reserved=reserved)
    assert (said is None) if shared == 0 else f"shares {shared} ports" in said


def test_a_range_outside_of_the_kernels_needs_no_warning():
    assert overlap(20000, 29999, ephemeral="32768\t60999\n", reserved="\n") is None
