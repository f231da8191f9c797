"""Train a classifier of digits, then answer questions about images over HTTP until stopped.

GET /          a page with test images and what the model says about them
POST /predict  {"pixels": [64 numbers from 0 to 16]} -> {"digit": 7, "probabilities": [...]}
GET /healthz   {"status": "ok"}
"""
from __future__ import annotations

import base64
import io
import json
import signal
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import dataset
import network
import numpy as np
import options
import peers
import training
from PIL import Image

MAX_BODY_BYTES = 65536
SAMPLES = 40
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Digits service</title>
<style>
body {{ font: 16px/1.5 sans-serif; margin: 2rem auto; max-width: 50rem; padding: 0 1rem }}
ul {{ display: flex; flex-wrap: wrap; gap: .75rem; list-style: none; padding: 0 }}
li {{ border: 2px solid #2166ac; border-radius: 6px; padding: .4rem; text-align: center }}
li.wrong {{ border-color: #d6604d }}
img {{ display: block; height: 64px; image-rendering: pixelated; width: 64px }}
pre {{ background: #f3f3f3; overflow-x: auto; padding: .75rem }}
</style>
<h1>Digits service</h1>
<p>Test accuracy {accuracy:.1%}. Below each image: what the model says, and how sure it is.
A red frame marks a mistake.</p>
<ul>{samples}</ul>
<p>Ask for yourself (64 numbers, 8 rows from the top; 0 is paper, 16 is ink):</p>
<pre>curl -d '{{"pixels": {pixels}}}' http://{address}/predict</pre>
"""
SAMPLE = """<li class="{kind}"><img alt="image of a {label}" src="{source}">
{digit} ({chance:.0%})</li>"""


class BadRequest(Exception):
    """The request cannot be answered; the text says what to send instead."""


def picture(image: np.ndarray) -> str:
    """A data: URL of one image, dark ink on white paper."""
    shades = (255 * (1 - image.reshape(8, 8))).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(shades).save(buffer, "png")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def sample(image: np.ndarray, label: int, chances: np.ndarray) -> str:
    digit = int(chances.argmax())
    return SAMPLE.format(kind="right" if digit == label else "wrong", label=label, digit=digit,
                         source=picture(image), chance=chances[digit])


def page(weights: network.Weights, digits: dataset.Digits, address: str) -> str:
    images, labels = digits.test_images[:SAMPLES], digits.test_labels[:SAMPLES]
    chances = network.probabilities(weights, images)
    pixels = (images[0] * dataset.MAX_PIXEL).astype(int).tolist()
    return PAGE.format(
        accuracy=network.accuracy(weights, digits.test_images, digits.test_labels),
        samples="".join(map(sample, images, labels, chances)), pixels=pixels, address=address)


def pixels_of(body: bytes) -> np.ndarray:
    """The image in a request; raises BadRequest when there is none."""
    try:
        value = json.loads(body)["pixels"]
        image = np.array(value, dtype=float)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise BadRequest('Send JSON such as {"pixels": [0, 0, 5, …]}.') from None
    if image.shape != (dataset.PIXELS,) or not ((0 <= image) & (image <= dataset.MAX_PIXEL)).all():
        raise BadRequest("`pixels` must be 64 numbers from 0 (paper) to 16 (ink).")
    return image[np.newaxis] / dataset.MAX_PIXEL


def predict(weights: network.Weights, body: bytes) -> dict[str, Any]:
    chances = network.probabilities(weights, pixels_of(body))[0]
    return {"digit": int(chances.argmax()),
            "probabilities": [round(float(chance), 4) for chance in chances]}


class Handler(BaseHTTPRequestHandler):
    """Answers one request; `Server` holds the model."""

    server: Server
    timeout = 30  # seconds a silent client may hold a thread

    def do_GET(self) -> None:
        if self.path == "/":
            self._answer(HTTPStatus.OK, "text/html; charset=utf-8", self.server.page)
        elif self.path == "/healthz":
            self._answer_json(HTTPStatus.OK, {"status": "ok"})
        else:
            self._answer_json(HTTPStatus.NOT_FOUND, {
                "message": "There are GET /, GET /healthz and POST /predict."})

    def do_POST(self) -> None:
        try:
            if self.path != "/predict":
                raise BadRequest("Only /predict takes POST.")
            self._answer_json(HTTPStatus.OK, predict(self.server.weights, self._body()))
        except BadRequest as error:
            self._answer_json(HTTPStatus.BAD_REQUEST, {"message": str(error)})

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            self.close_connection = True
            raise BadRequest(f"Send a Content-Length of at most {MAX_BODY_BYTES} bytes.")
        return self.rfile.read(int(length))

    def _answer_json(self, status: HTTPStatus, value: Any) -> None:
        self._answer(status, "application/json", json.dumps(value, ensure_ascii=False) + "\n")

    def _answer(self, status: HTTPStatus, content_type: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        print(self.address_string(), format % args, flush=True)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, weights: network.Weights, page: str) -> None:
        super().__init__(("", port), Handler)
        self.weights, self.page = weights, page


def main() -> None:
    arguments = options.parse(__doc__, data=None, epochs=50, lr=0.1, batchsize=32, seed=1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    digits = dataset.read(arguments.data)
    print("training …", flush=True)
    for _, _, weights in training.train(digits, epochs=arguments.epochs, lr=arguments.lr,
                                        batchsize=arguments.batchsize, seed=arguments.seed):
        pass
    port = peers.port("http")
    address = f"{peers.host_ip()}:{port}"
    with Server(port, weights, page(weights, digits, address)) as server:
        print(f"serving at http://{address}/ until stopped", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
