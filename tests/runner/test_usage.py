import os

import pytest

from runner.usage import Usage, usage_of

CONTAINER = "c0ffee" * 10


@pytest.fixture
def version_2(tmp_path):
    """The files of a machine with cgroups version 2, as its kernel writes them."""
    files = {
        "proc/42/cgroup": f"0::/system.slice/docker-{CONTAINER}.scope\n",
        "proc/42/net/dev": "Inter-| Receive | Transmit\n face |bytes packets|bytes packets\n"
                           "    lo: 9 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n"
                           "  eth0: 1000 4 0 0 0 0 0 0 250 2 0 0 0 0 0 0\n",
        "memory.current": "5000\n", "memory.stat": "anon 3000\ninactive_file 1500\n",
        "cpu.stat": "usage_usec 2500000\nuser_usec 1\n",
        "io.stat": "8:0 rbytes=100 wbytes=20 rios=1\n8:16 rbytes=1 wbytes=2 rios=1\n"}
    for name, text in files.items():
        folder = "" if name.startswith("proc") else \
            f"sys/fs/cgroup/system.slice/docker-{CONTAINER}.scope/"
        path = tmp_path / f"{folder}{name}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_version_2_counts_memory_without_what_the_kernel_could_drop(version_2):
    assert usage_of(42, CONTAINER, has_own_network=True, root=version_2) == Usage(
        cpu_s=2.5, memory=3500, read=101, written=22, received=1000, sent=250)


def test_on_the_machines_network_nobody_counts_by_container(version_2):
    found = usage_of(42, CONTAINER, has_own_network=False, root=version_2)
    assert (found.received, found.sent) == (None, None)


def test_a_process_that_ended_or_is_another_one_has_no_usage(version_2):
    assert usage_of(43, CONTAINER, has_own_network=True, root=version_2) is None
    assert usage_of(42, "another", has_own_network=True, root=version_2) is None
    assert usage_of(os.getpid(), CONTAINER, has_own_network=True) is None
