"""Train a classifier of handwritten digits and write the model, its figures and a picture."""
from __future__ import annotations

import dataset
import network
import options
import report
import training


def main() -> None:
    arguments = options.parse(
        __doc__, data=None, epochs=50, lr=0.1, batchsize=32, seed=1)
    digits = dataset.read(arguments.data)
    print(f"{len(digits.train_labels)} images to train on, {len(digits.test_labels)} to test on",
          flush=True)
    epochs = training.train(digits, epochs=arguments.epochs, lr=arguments.lr,
                            batchsize=arguments.batchsize, seed=arguments.seed)
    for epoch, loss, weights in epochs:
        train = network.accuracy(weights, digits.train_images, digits.train_labels)
        test = network.accuracy(weights, digits.test_images, digits.test_labels)
        # flush=True: without it a container's output waits in a buffer, and no log moves.
        print(f"epoch {epoch}/{arguments.epochs}  loss {loss:.4f}  "
              f"train accuracy {train:.4f}  test accuracy {test:.4f}", flush=True)
    report.finish(weights, digits, arguments)


if __name__ == "__main__":
    main()
