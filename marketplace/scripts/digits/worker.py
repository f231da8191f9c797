"""Train on one share of the digits, together with other workers through the parameter server."""
from __future__ import annotations

import socket
import time

import dataset
import network
import numpy as np
import options
import peers
import report
import training
import wire

CONNECT_WITHIN_S = 120
STEP_TIMEOUT_S = 120


def connect(address: tuple[str, int]) -> socket.socket:
    """Connect to the server, which may start later than this worker."""
    deadline = time.monotonic() + CONNECT_WITHIN_S
    while True:
        try:
            return socket.create_connection(address, timeout=STEP_TIMEOUT_S)
        except OSError as error:
            if time.monotonic() > deadline:
                raise SystemExit(f"The parameter server at {address[0]}:{address[1]} did not "
                                 f"answer for {CONNECT_WITHIN_S} s ({error}). See its log.")
        time.sleep(0.2)


def share(digits: dataset.Digits, index: int, count: int) -> dataset.Digits:
    """Every `count`-th training image from `index` on; all shares have the same size."""
    size = len(digits.train_labels) // count
    return digits._replace(train_images=digits.train_images[index::count][:size],
                           train_labels=digits.train_labels[index::count][:size])


def train(server: socket.socket, digits: dataset.Digits, *, epochs: int, batchsize: int,
          rng: np.random.Generator) -> network.Weights:
    """Send a gradient for each batch, get the new weights for it; return the last weights."""
    weights = wire.receive(server)
    for epoch in range(1, epochs + 1):
        losses = []
        for batch in training.batches(len(digits.train_labels), batchsize, rng):
            loss, slopes = network.gradients(
                weights, digits.train_images[batch], digits.train_labels[batch])
            wire.send(server, slopes)
            weights = wire.receive(server)
            losses.append(loss)
        test = network.accuracy(weights, digits.test_images, digits.test_labels)
        print(f"epoch {epoch}/{epochs}  loss of my share {np.mean(losses):.4f}  "
              f"test accuracy {test:.4f}", flush=True)
    return weights


def main() -> None:
    arguments = options.parse(__doc__, data=None, epochs=50, batchsize=16, seed=1)
    index, count = peers.index(), len(peers.hosts("worker"))
    ip, port = peers.hosts("ps_server")[0]
    digits = dataset.read(arguments.data)
    mine = share(digits, index, count)
    print(f"worker {index} of {count}: {len(mine.train_labels)} images to train on, "
          f"parameter server at {ip}:{port}", flush=True)
    with connect((ip, port)) as server:
        wire.send(server, {"index": np.array(index)})
        try:
            weights = train(server, mine, epochs=arguments.epochs, batchsize=arguments.batchsize,
                            rng=np.random.default_rng([arguments.seed, index]))
        except OSError as error:
            raise SystemExit(f"Lost the parameter server: {error}. Either it or another worker "
                             "has ended; see their logs.")
    if index == 0:  # all workers hold the same weights, so one of them writes the artifacts
        report.finish(weights, digits, arguments)


if __name__ == "__main__":
    main()
