"""The runner's HTTP routes about terminals: opened, read, typed into, resized, closed."""
from __future__ import annotations

from typing import Any, TypeGuard

from flask import Flask, Response, jsonify, request

from runner.errors import InvalidSpecError
from runner.file_routes import TASK, number
from runner.sentence import Sentence
from runner.worker import Worker

MAX_READ_S = 25.0
WRITE_S = 2.0
MAX_COLUMNS, MAX_ROWS = 1000, 500
ENDED = "Terminal-Ended"  # the header of an answer after which nothing comes any more


def add(app: Flask, worker: Worker) -> None:
    """Join the routes to the runner's API."""
    @app.post(f"{TASK}/terminals")
    def open_terminal(job_id: str, attempt: int, role: str, index: int) -> tuple[Response, int]:
        id_ = worker.terminals.open(job_id, attempt, (role, index), *_size())
        return jsonify(id=id_), 201

    @app.get("/terminals/<id_>/output")
    def output(id_: str) -> Response:
        console = worker.terminals.console(id_)
        data = console.read(min(number("wait_s", 0), MAX_READ_S))
        response = Response(data, mimetype="application/octet-stream")
        if not data and console.is_ended:
            response.headers[ENDED] = "1"
        return response

    @app.post("/terminals/<id_>/input")
    def type_in(id_: str) -> Response:
        return jsonify(taken=worker.terminals.console(id_).write(request.get_data(), WRITE_S))

    @app.post("/terminals/<id_>/size")
    def resize(id_: str) -> Response:
        worker.terminals.console(id_).resize(*_size())
        return jsonify({})

    @app.delete("/terminals/<id_>")
    def close(id_: str) -> Response:
        worker.terminals.close(id_)
        return jsonify({})


def _size() -> tuple[int, int]:
    """Columns and rows of the request's body; raises InvalidSpecError."""
    body: Any = request.get_json()
    given = body if isinstance(body, dict) else {}
    columns, rows = given.get("columns"), given.get("rows")
    if not (_is_within(columns, MAX_COLUMNS) and _is_within(rows, MAX_ROWS)):
        raise InvalidSpecError(Sentence(
            "columns must be a whole number from 1 to {columns}, rows one from 1 to {rows}.",
            columns=MAX_COLUMNS, rows=MAX_ROWS))
    return columns, rows


def _is_within(value: object, most: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= most
