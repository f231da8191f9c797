"""Hold the weights of a distributed training: average the workers' gradients, send back weights.

Runs until it is stopped. When one group of workers has gone, it waits for the next.
"""
from __future__ import annotations

import signal
import socket
import sys

import network
import numpy as np
import options
import peers
import wire

HELLO_TIMEOUT_S = 10  # a worker says hello at once; anything else that connects is turned away
STEP_TIMEOUT_S = 120


def greet(connection: socket.socket, worker_count: int) -> int | None:
    """Return the index of the worker that has connected; None if it is no worker of this job."""
    connection.settimeout(HELLO_TIMEOUT_S)
    try:
        index = int(wire.receive(connection)["index"])
    except (OSError, KeyError, TypeError, ValueError):
        return None
    connection.settimeout(STEP_TIMEOUT_S)
    return index if 0 <= index < worker_count else None


def gather(listener: socket.socket, worker_count: int) -> list[socket.socket]:
    """Wait until each worker has connected; their connections, in the order of their index."""
    workers: dict[int, socket.socket] = {}
    while len(workers) < worker_count:
        connection, (ip, _) = listener.accept()
        index = greet(connection, worker_count)
        if index is None:
            print(f"turned away a connection from {ip}", flush=True)
            connection.close()
            continue
        if index in workers:  # it has started again
            workers[index].close()
        workers[index] = connection
        print(f"worker {index} is here, {len(workers)} of {worker_count}", flush=True)
    return [workers[index] for index in sorted(workers)]


def serve(workers: list[socket.socket], weights: network.Weights, lr: float) -> int:
    """Do one step after the other until a worker leaves; return the number of steps done."""
    steps = 0
    try:
        while True:
            for worker in workers:
                wire.send(worker, weights)
            # Synchronous: no step is done before every worker's gradient is there. The mean over
            # the workers is the gradient of one large batch, made of all their batches.
            slopes = [wire.receive(worker) for worker in workers]
            mean = {name: np.mean([slope[name] for slope in slopes], axis=0) for name in weights}
            network.descend(weights, mean, lr)
            steps += 1
    except (OSError, KeyError, ValueError) as error:
        print(f"{steps} steps done; a worker has left ({error})", flush=True)
        return steps


def main() -> None:
    arguments = options.parse(__doc__, lr=0.1, seed=1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    worker_count = len(peers.hosts("worker"))
    _, port = peers.hosts("ps_server")[peers.index()]
    with socket.create_server(("", port)) as listener:
        while True:
            print(f"waiting for {worker_count} workers on port {port}", flush=True)
            workers = gather(listener, worker_count)
            serve(workers, network.create(arguments.seed), arguments.lr)
            for worker in workers:
                worker.close()


if __name__ == "__main__":
    main()
