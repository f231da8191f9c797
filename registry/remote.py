"""A repository on GitHub, asked over HTTP in Git's own protocol: bounded in time and bytes."""
from __future__ import annotations

import contextlib
import time
from base64 import b64encode
from dataclasses import dataclass
from enum import StrEnum
from typing import Callable, Iterable, Iterator, TypeVar

import requests
from urllib3.exceptions import HTTPError, TimeoutError

from registry.config import Secret
from registry.errors import RegistryError
from registry.git_wire import (
    Refs,
    Stream,
    WireError,
    pack_data,
    pack_request,
    read_refs,
    refs_request,
)
from registry.github_api import check_name
from registry.wording import N_
from runner.sentence import Sentence

IDLE_S = 20
CHUNK_BYTES = 1 << 16
MAX_REFS_BYTES = 8 << 20
USER = "x-access-token"
T = TypeVar("T")


class Reason(StrEnum):
    """Why a repository was not read."""

    MOVED = "moved"
    ABSENT = "absent"
    REFUSED = "refused"
    BLOCKED = "blocked"
    LATER = "later"
    TOO_SLOW = "too slow"


class RemoteError(RegistryError):
    """GitHub did not let the repository be read; `wait_s` is how long it wants to be left alone."""

    def __init__(self, reason: Reason, message: str, wait_s: int | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.wait_s = wait_s


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How much one look at a repository may take; `give_up_at` is of the monotonic clock."""

    give_up_at: float
    pack_bytes: int


class Remote:
    """One repository, `owner/name` at the server `url`. No redirect is followed.

    The token is sent to this server alone, in a header, and only where there is one. Raises
    InvalidInputError for what is no name of a repository.
    """

    def __init__(self, session: requests.Session, url: str, name: str, token: Secret | None,
                 patience: Patience) -> None:
        self._session = session
        self._name = check_name(name)
        self._url = f"{url}/{name}.git/git-upload-pack"
        self._token = token
        self._patience = patience

    def refs(self, branch: str | None, tag_prefix: str | None) -> Refs:
        """Where a branch is, None: the default one, and the tags that begin so, None: none."""
        names = [f"refs/heads/{branch}" if branch else "HEAD"]
        names += [] if tag_prefix is None else [f"refs/tags/{tag_prefix}"]
        with self._answer(refs_request(names), MAX_REFS_BYTES) as stream:
            return read_refs(stream, branch, tag_prefix)

    def pack(self, wants: Iterable[str], haves: Iterable[str],
             take: Callable[[Iterator[bytes]], T], *, filter: str | None = None) -> T:
        """What becomes of a pack of what is wanted; it comes as it was sent, not looked at."""
        request = pack_request(wants, haves, filter=filter)
        with self._answer(request, self._patience.pack_bytes) as stream:
            return take(pack_data(stream))

    @contextlib.contextmanager
    def _answer(self, body: bytes, limit: int) -> Iterator[Stream]:
        """Raises RemoteError and WireError."""
        try:
            with self._session.post(
                    self._url, data=body, headers=_HEADERS, auth=self._sign, stream=True,
                    allow_redirects=False, timeout=self._time_left(IDLE_S)) as response:
                self._check(response)
                yield Stream(self._chunks(response), limit)
                response.raw.read1(1, decode_content=False)  # its end, so that it is used again
        except (requests.RequestException, HTTPError, OSError) as error:
            raise self._unreachable(error) from error
        except WireError as error:
            raise type(error)(Sentence(
                "{name} could not be read. {message}", name=self._name,
                message=error.message)) from error

    def _sign(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Also without a token, so that no file of this machine's user gives one."""
        if self._token:
            word = b64encode(f"{USER}:{self._token.reveal()}".encode()).decode()
            request.headers["Authorization"] = f"Basic {word}"
        return request

    def _chunks(self, response: requests.Response) -> Iterator[bytes]:
        """As they come, so that a slow drip ends in time as well."""
        while True:
            self._time_left(IDLE_S)
            chunk = response.raw.read1(CHUNK_BYTES, decode_content=False)
            if not chunk:
                return
            yield chunk

    def _time_left(self, most: float) -> float:
        left = self._patience.give_up_at - time.monotonic()
        if left <= 0:
            raise RemoteError(Reason.TOO_SLOW, Sentence(
                "GitHub took too long to send {name}, so the look at it was given up. It is tried "
                "again.", name=self._name))
        return min(left, most)

    def _check(self, response: requests.Response) -> None:
        status = response.status_code
        if status == 200:
            if "git-upload-pack-result" not in response.headers.get("Content-Type", ""):
                raise WireError(Sentence("The answer is none of Git's."))
            return
        if 300 <= status < 400:
            raise RemoteError(Reason.MOVED, Sentence(
                "GitHub says that {name} is elsewhere now.", name=self._name))
        if status == 404:
            raise RemoteError(Reason.ABSENT, Sentence(
                "GitHub shows no repository {name}.", name=self._name))
        if status in (401, 403):
            raise RemoteError(Reason.REFUSED, Sentence(
                "GitHub does not show {name} to who asks.", name=self._name))
        if status == 451:
            raise RemoteError(Reason.BLOCKED, Sentence(
                "GitHub has blocked {name}.", name=self._name))
        wait = response.headers.get("Retry-After", "")
        raise RemoteError(Reason.LATER, Sentence(
            "GitHub answered {status} when asked for {name}. It is asked again later.",
            status=status, name=self._name),
                          int(wait[:6]) if wait.isdigit() else None)

    def _unreachable(self, error: Exception) -> RemoteError:
        is_slow = isinstance(error, (requests.Timeout, TimeoutError))
        return RemoteError(Reason.TOO_SLOW if is_slow else Reason.LATER, Sentence(
            N_("GitHub fell silent when asked for {name}. It is asked again later; if this stays, "
               "check PAISHARE_GITHUB_URL and the network.") if is_slow else
            N_("GitHub could not be reached when asked for {name}. It is asked again later; if "
               "this stays, check PAISHARE_GITHUB_URL and the network."), name=self._name))


_HEADERS = {
    "Git-Protocol": "version=2", "User-Agent": "git/paishare", "Accept-Encoding": "identity",
    "Content-Type": "application/x-git-upload-pack-request",
    "Accept": "application/x-git-upload-pack-result"}
