"""parameter_server.py and worker.py: together they train one model."""
import json
import runpy
import socket
from types import SimpleNamespace

import numpy as np
import pytest

from tests.marketplace.programs import DATA, PROGRAMS, free_ports, run, start, stop

wire = SimpleNamespace(**runpy.run_path(str(PROGRAMS / "wire.py")))


@pytest.fixture
def peers():
    """The variables by which the tasks of one job find each other."""
    ports = free_ports(3)
    hosts = [f"127.0.0.1:{port}" for port in ports]
    return {"PAI_TASK_ROLE_ps_server_HOST_LIST": hosts[0],
            "PAI_TASK_ROLE_worker_HOST_LIST": ",".join(hosts[1:])}


@pytest.fixture
def server(peers):
    with start("parameter_server.py", PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX=0,
               **peers) as process:
        yield process
        process.kill()


def start_worker(index, peers, output, *options):
    return start("worker.py", "--data", DATA, *options, output=output,
                 PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX=index, **peers)


def test_two_workers_and_a_server_learn_to_read_digits(peers, tmp_path):
    with start_worker(0, peers, tmp_path / "0") as first, \
            start_worker(1, peers, tmp_path / "1") as second, \
            start("parameter_server.py", PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX=0,
                  **peers) as server:
        log, _ = first.communicate(timeout=120)
        second.communicate(timeout=20)
        assert (first.returncode, second.returncode) == (0, 0)
        assert server.poll() is None
        assert stop(server)[0] == 0
    assert float(log.split()[-1]) >= 0.95
    figures = json.loads((tmp_path / "0" / "metrics.json").read_text())
    assert figures["train_images"] == 1438
    assert not (tmp_path / "1").exists()


def test_strangers_are_turned_away_and_the_next_group_is_served(peers, server, tmp_path):
    assert "waiting for 2 workers" in server.stdout.readline()
    port = int(peers["PAI_TASK_ROLE_ps_server_HOST_LIST"].rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert server.stdout.readline() == "turned away a connection from 127.0.0.1\n"
    for _ in range(2):
        with start_worker(0, peers, tmp_path, "--epochs", 1) as first, \
                start_worker(1, peers, tmp_path, "--epochs", 1) as second:
            assert (first.wait(60), second.wait(60)) == (0, 0)
            first.communicate(), second.communicate()


def test_a_worker_that_is_left_alone_says_where_to_look(peers, server, tmp_path):
    with start_worker(0, peers, tmp_path, "--epochs", 1000) as first, \
            start_worker(1, peers, tmp_path, "--epochs", 1000) as second:
        assert "images to train on" in second.stdout.readline()
        assert second.stdout.readline().startswith("epoch 1/1000")
        second.kill()
        second.communicate()
        _, err = first.communicate(timeout=60)
    assert first.returncode == 1
    assert "Lost the parameter server" in err and "see their logs" in err


def test_outside_of_a_job_it_says_what_is_missing():
    code, _, err = run("worker.py", "--data", DATA)
    assert code == 1
    assert "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX is not set. PAIShare sets it" in err


def test_arrays_arrive_as_they_were_sent():
    here, there = socket.socketpair()
    with here, there:
        arrays = {"w": np.arange(6.0).reshape(2, 3), "empty": np.zeros(0)}
        wire.send(here, arrays)
        received = wire.receive(there)
    assert received.keys() == arrays.keys()
    assert all((received[name] == arrays[name]).all() for name in arrays)


@pytest.mark.parametrize("data, reason", [
    (b"\x00" * 4, "closed the connection"),
    (b"\xff" * 8, "longer than"),
    (wire.LENGTH.pack(4) + b"abcd", "no .npz file"),
    (wire.LENGTH.pack(9) + b"\x80\x04cos\nfn.", "no .npz file"),
    (wire.LENGTH.pack(4) + b"PK\x03\x04", "no .npz file"),
])
def test_anything_else_on_the_wire_is_refused(data, reason):
    here, there = socket.socketpair()
    with there:
        with here:
            here.sendall(data)
        with pytest.raises(ConnectionError, match=reason):
            wire.receive(there)
