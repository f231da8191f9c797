"""The stand-in as a server of its own: REST under /api/v3, Git beside it."""
from __future__ import annotations

import logging
import threading
from pathlib import Path

from flask import Flask
from werkzeug.serving import WSGIRequestHandler, make_server

from tests.fakes.github import (
    answers,
    commits,
    contents,
    git_data,
    pulls,
    repositories,
    smart_http,
    users,
)
from tests.fakes.github.bodies import PREFIX, Bodies
from tests.fakes.github.contract import Contract
from tests.fakes.github.records import Repository, Token
from tests.fakes.github.webhooks import Webhooks
from tests.fakes.github.world import World


class GitHubServer:
    """Serves until `close`; every answer is held to `contract`, which may be None."""

    def __init__(self, folder: Path, contract: Contract | None = None) -> None:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.world = World(folder)
        app = Flask(__name__, static_folder=None)
        app.config["PROPAGATE_EXCEPTIONS"] = True
        self._server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.api_url = self.url + PREFIX
        bodies = Bodies(self.world, self.url)
        self.hooks = Webhooks(bodies)
        self.world.on_push, self.world.on_pull = self.hooks.pushed, self.hooks.pull_changed
        self.world.on_event = self.hooks.happened
        answers.register(app, self.world)
        if contract:
            contract.watch(app)
        for part in (users, repositories, commits, git_data, contents, pulls):
            app.register_blueprint(part.blueprint(self.world, bodies))
        app.register_blueprint(smart_http.blueprint(self.world))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def reset(self, folder: Path) -> None:
        """A new and empty world at the same address."""
        self.world.reset(folder)
        self.hooks.reset()

    def clone_url(self, repository: Repository, token: Token | None = None) -> str:
        """For the git command of a test; with a token, that stands in it as the password."""
        user = f"x:{token.value}@" if token else ""
        return f"{self.url.replace('://', f'://{user}')}/{repository.full_name}.git"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(WSGIRequestHandler):
    """Keeps connections open, as GitHub does."""

    protocol_version = "HTTP/1.1"

    def connection_dropped(self, error: BaseException, environ: object = None) -> None:
        self.close_connection = True
