"""The connection to GitHub's API: one origin, no redirect, bounded in time and size."""
from __future__ import annotations

import time
from typing import Any, ItemsView
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3 import Retry
from urllib3.exceptions import HTTPError

MAX_BODY_BYTES = 32 << 20
CHUNK_BYTES = 1 << 16
MOVED_TO = "x-moved-to"
PAUSES = Retry(total=2, backoff_factor=0.5, status_forcelist=(500, 502, 503, 504), redirect=0,
               allowed_methods=frozenset({"GET", "HEAD"}), raise_on_status=False,
               respect_retry_after_header=False)
AT_ONCE = Retry(total=0, redirect=0, raise_on_status=False)


class SlowError(requests.RequestException):
    """The answer took longer than there was time for."""


class TooLargeError(requests.RequestException):
    """The answer is larger than any that is wanted."""


class Connection:
    """What PyGithub sends its requests over, in the place of its own connection.

    Reads are tried three times within a second or two, writes once; with `is_hurried` everything
    is tried once. `timeout_s` bounds one request as a whole. A session of this kind has an adapter
    for the one origin and none for anything else, so no request with the token goes elsewhere.
    """

    def __init__(self, api_url: str, *, timeout_s: float, is_hurried: bool) -> None:
        parts = urlsplit(api_url)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._timeout_s = timeout_s
        self.sent = 0
        self._session = requests.Session()
        self._session.auth = _unchanged  # else ~/.netrc would take the place of the token
        self._session.adapters.clear()
        self._session.mount(f"{self._origin}/",
                            HTTPAdapter(max_retries=AT_ONCE if is_hurried else PAUSES))

    def request(self, verb: str, url: str, input: str | None, headers: dict[str, str],
                stream: bool = False) -> None:
        """Note what `getresponse` sends, as PyGithub calls it; `url` is a path."""
        self._wanted = (verb, url, input, headers)

    def getresponse(self) -> Answer:
        """Send it; raises requests.RequestException where there is no whole answer."""
        verb, path, body, headers = self._wanted
        give_up_at = time.monotonic() + self._timeout_s
        self.sent += 1
        with self._session.request(
                verb, self._origin + path, data=body.encode() if body else None, headers=headers,
                timeout=(self._timeout_s / 2, self._timeout_s / 2), allow_redirects=False,
                stream=True) as response:
            self.sent += len(response.raw.retries.history) if response.raw.retries else 0
            if response.status_code == 202 and verb in ("GET", "HEAD"):
                raise SlowError("202")  # PyGithub would ask again for ever
            return Answer(response, _read(response, give_up_at))

    def close(self) -> None:
        self._session.close()


class Answer:
    """A whole answer as PyGithub reads it; it sees no Location, so it follows none."""

    def __init__(self, response: requests.Response, body: str) -> None:
        self.status = response.status_code
        self.headers: dict[str, Any] = {
            MOVED_TO if name.lower() == "location" else name: value
            for name, value in response.headers.items()}
        self._body = body

    def getheaders(self) -> ItemsView[str, str]:
        return self.headers.items()

    def read(self) -> str:
        return self._body


def _unchanged(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _read(response: requests.Response, give_up_at: float) -> str:
    """What comes is looked at piece by piece, so a slow drip ends in time as well."""
    parts, size = [], 0
    try:
        while chunk := response.raw.read1(CHUNK_BYTES, decode_content=True):
            size += len(chunk)
            if size > MAX_BODY_BYTES:
                raise TooLargeError(f"more than {MAX_BODY_BYTES} bytes")
            if time.monotonic() > give_up_at:
                raise SlowError("the answer does not end")
            parts.append(chunk)
    except HTTPError as error:
        raise requests.ConnectionError("the answer broke off") from error
    return b"".join(parts).decode("utf-8", "replace")
