"""A whole registry below one folder: a real repository, synced for real, users, and its pages."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from registry import db
from registry.accounts import Accounts
from registry.app import create_app
from registry.catalog import Catalog
from registry.config import Settings
from registry.search import SearchIndex
from registry.sources import Sources
from registry.sync import Sync
from registry.views.api_docs import APIS, openapi
from tests.fakes.fake_runner import FakeRunner

PASSWORD = "correct horse"
HELLO = """\
type: job
name: hello
version: 1.0.0
contributor: Ann
description: |
  Says **hello** to `points`.
parameters:
  epochs: 3
  lr: 0.1
  shuffle: true
  note: a text
  nothing: null
prerequisites:
  - {name: busybox, type: dockerimage, version: 1.0.0, uri: "busybox:1"}
tasks:
  - role: main
    dockerimage: busybox
    data: points
    resource:
      instances: 1
      resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
      portList: [{label: web, beginAt: 0, portNumber: 2}]
    command:
      - echo $$epochs$$ $$lr$$ $$shuffle$$ $$note$$
"""
POINTS = """\
type: data
name: points
version: 1.0.0
contributor: Ann
description: Three points.
uri: ../files/points.csv
"""
FILES = {"job/hello.yaml": HELLO, "data/points.yaml": POINTS, "files/points.csv": "1,2\n3,4\n",
         "job/broken.yaml": "type: job\nname: broken\ntasks: 5\n"}


def write_repository(folder: Path, *commits: dict[str, str]) -> None:
    """A Git repository with one commit for each set of files."""
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True, env=environ)
    for files in commits:
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        subprocess.run(["git", "-C", folder, "add", "-A"], check=True, env=environ)
        subprocess.run(["git", "-C", folder, *identity, "commit", "-q", "-m", "x"], check=True,
                       env=environ)


def write_home(home: Path, *commits: dict[str, str], database_url: str = "") -> None:
    """Users admin, ann and bob, and the source `examples`, which is ann's."""
    write_repository(home.parent / "examples", *commits)
    found = Settings.from_environ({"PAISHARE_HOME": str(home),
                                   "PAISHARE_DATABASE_URL": database_url})
    home.mkdir()
    engine = db.create_engine(found.database_url)
    db.upgrade(engine)
    accounts = Accounts(engine)
    accounts.create_user("admin", PASSWORD, is_admin=True)
    ann = accounts.create_user("ann", PASSWORD)
    accounts.create_user("bob", PASSWORD)
    catalog = Catalog(engine, found.git_dir)
    Sources(engine).add_folder(str(home.parent / "examples"), name="examples", owner_id=ann.id)
    Sync(engine, catalog, SearchIndex(found.search_dir)).run_once()
    engine.dispose()


class WebHome:
    """The web application on a copy of a home, with a runner of its own.

    `database_url` empty: the copy's SQLite.
    """

    def __init__(self, template: Path, folder: Path, database_url: str = "") -> None:
        self.home = folder / "home"
        shutil.copytree(template, self.home, symlinks=True)
        self.environ = {"PAISHARE_HOME": str(self.home), "PAISHARE_DATABASE_URL": database_url,
                        "PAISHARE_RUNNER_URL": f"unix:{folder}/runner.sock"}
        self.runner = FakeRunner(folder)
        self.app = create_app(self.environ)
        self.services = self.app.extensions["paishare"]
        self.engine = self.services.accounts._engine

    def close(self) -> None:
        self.engine.dispose()
        self.runner.close()

    def browser(self, user: str | None = None) -> Browser:
        """A browser with its cookies, logged in as `user`; None: a visitor."""
        browser = Browser(self.app)
        if user:
            answer = browser.post("/login", username=user, password=PASSWORD)
            assert answer.status_code == 303, answer.text
        return browser

    def program(self, user: str | None = None) -> Program:
        """A program with a token of `user`; None: without one."""
        accounts = self.services.accounts
        token = accounts.create_token(accounts.user_named(user), "test") if user else None
        return Program(self.app, token)

    def sync(self) -> None:
        """What the sync process would do now."""
        found = Settings.from_environ(self.environ)
        engine = db.create_engine(found.database_url)
        catalog = Catalog(engine, found.git_dir)
        Sync(engine, catalog, SearchIndex(found.search_dir)).step(False)
        engine.dispose()


class Browser:
    """A client that keeps cookies and sends the form's token along."""

    def __init__(self, app: Any) -> None:
        self._client = app.test_client()
        self.cookie = self._client.get_cookie
        self.get = self._client.get

    def token(self) -> str:
        """The token that the forms of this session carry."""
        for path in ("/login", "/settings/profile"):
            found = re.search(r'name="csrf_token" value="([^"]+)"', self.get(path).text)
            if found:
                return found[1]
        raise AssertionError("No page has a form.")

    def post(self, path: str, /, **fields: Any) -> Any:
        """Send a form with its token; a field's value may be a file."""
        return self.send(path, {"csrf_token": self.token(), **fields})

    def send(self, path: str, fields: dict[str, Any], **rest: Any) -> Any:
        """Send exactly these fields."""
        return self._client.post(path, data=fields, **rest)

    def json(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Call the API as a page's script would, with the cookie."""
        return self._client.open(path, method=method, json=body, headers=headers)


class Program:
    """A client of /api/v3 whose every answer is held against the OpenAPI document."""

    def __init__(self, app: Any, token: str | None) -> None:
        self._app = app
        self._client = app.test_client(use_cookies=False)
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def get(self, path: str, **query: Any) -> Any:
        return self.call("GET", path, query_string=query)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.call("POST", path, json=body, headers=headers)

    def put(self, path: str, body: Any = None) -> Any:
        return self.call("PUT", path, json=body)

    def delete(self, path: str) -> Any:
        return self.call("DELETE", path)

    def call(self, method: str, path: str, *, headers: dict[str, str] | None = None,
             **rest: Any) -> Any:
        answer = self._client.open(f"/api/v3{path}", method=method,
                                   headers={**self.headers, **(headers or {})}, **rest)
        self._check(method, path, answer)
        return answer

    def _check(self, method: str, path: str, answer: Any) -> None:
        """The status is one that the document knows, and the body has the form it says."""
        endpoint, _ = self._app.url_map.bind("").match(f"/api/v3{path}", method=method)
        rules = {f"{api.blueprint.name}.{each.handler.__name__}": each
                 for api in APIS for each in api.operations}
        known = rules[endpoint].as_openapi()["responses"]
        assert str(answer.status_code) in known, (answer.status_code, answer.text)
        content = known[str(answer.status_code)].get("content", {})
        schema = content.get("application/json", {}).get("schema")
        if schema:
            whole = {**schema, "components": openapi()["components"]}
            Draft202012Validator(whole).validate(answer.get_json())
