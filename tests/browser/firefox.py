"""A stock Firefox, spoken to by WebDriver BiDi: enough of it to open pages and to type."""
from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import simple_websocket

from tests.functional.runner_process import wait_for

FOUND = shutil.which("firefox-esr") or shutil.which("firefox")
PREFERENCES = 'user_pref("intl.accept_languages", "en-US");\n'
WAIT_S = 60


class _Socket(simple_websocket.Client):
    def handshake(self) -> None:
        self.host = f"{self.host}:{self.port}"  # as Firefox wants to be called
        super().handshake()


class Firefox:
    """One window; `errors` are what its console told, violations of the policy among them."""

    def __init__(self, folder: Path) -> None:
        (folder / "user.js").write_text(PREFERENCES)
        said = folder / "said.txt"
        with said.open("wb") as stream:
            self._process = subprocess.Popen(
                [str(FOUND), "--headless", "--remote-debugging-port=0", "--profile", folder],
                stdout=stream, stderr=stream)
        try:
            wait_for(lambda: "BiDi listening on" in said.read_text(), "Firefox listens", WAIT_S)
            address = re.search(r"BiDi listening on (ws://\S+)", said.read_text())[1]
            self._socket = _Socket(f"{address}/session")
        except BaseException:
            self._process.kill()
            raise
        self._number = 0
        self.errors: list[str] = []
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded"])
        self._window = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def close(self) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait(WAIT_S)

    def call(self, method: str, **params: Any) -> Any:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            told = json.loads(self._socket.receive(WAIT_S) or '{"error": "Firefox is silent"}')
            if told.get("method") == "log.entryAdded" and told["params"]["level"] != "info":
                self.errors.append(told["params"]["text"])
            if "error" in told:
                raise AssertionError(f"{method}: {told}")
            if told.get("id") == self._number:
                return told["result"]

    def open(self, url: str) -> None:
        self.call("browsingContext.navigate", context=self._window, url=url, wait="complete")

    def run(self, expression: str) -> Any:
        """What the expression gives as JSON, promises waited for."""
        result = self.call("script.evaluate", target={"context": self._window}, awaitPromise=True,
                           expression=f"Promise.resolve({expression}).then(JSON.stringify)")
        assert result["type"] == "success", result["exceptionDetails"]["text"]
        return json.loads(result["result"].get("value", "null"))

    def wait(self, expression: str) -> None:
        wait_for(lambda: self.run(f"Boolean({expression})"), expression, WAIT_S)

    def type(self, selector: str, text: str) -> None:
        """Press the keys of the text, where the selector leads."""
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        keys = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        self.call("input.performActions", context=self._window,
                  actions=[{"type": "key", "id": "keyboard", "actions": keys}])
