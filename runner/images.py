"""Images of this machine: pulled once for all jobs that want one, and only for who may have it."""
from __future__ import annotations

import logging
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Callable, Collection, Iterator, Sequence

from runner import pull_faults
from runner.docker_driver import DockerDriver, Pull, PullError
from runner.errors import Cancelled, EngineError, RunnerError
from runner.image_access import ImageAccess
from runner.image_sizes import Layer
from runner.pull_progress import PullProgress
from runner.sentence import Sentence
from runner.spec import Image, Login
from runner.supplies import Supply

log = logging.getLogger(__name__)

PULLS_AT_ONCE = 3
STALL_S = 20 * 60.0
LOOK_S = 0.3


@dataclass(frozen=True, kw_only=True)
class Want:
    """Who wants an image: `login` None is nobody.

    `report` hears of progress: text, bytes, and how many there will be or None; `say` a sentence.
    """

    job_id: str
    user: str
    login: Login | None
    is_cancelled: Callable[[], bool]
    report: Callable[[str, int, int | None], None]
    say: Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Brought:
    """`is_pulled`: it was not here before."""

    digest: str
    is_pulled: bool


class Images:
    """Any number of threads may ask; each image is pulled by one of them at a time.

    `make_room` is called where the disk was full; `clock` gives seconds.
    """

    def __init__(self, driver: DockerDriver, access: ImageAccess, *,
                 make_room: Callable[[], None], stall_s: float = STALL_S,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._driver, self._access = driver, access
        self._make_room, self._stall_s, self._clock = make_room, stall_s, clock
        self._lock = threading.Lock()
        self._layers: dict[str, Sequence[str]] = {}
        self._pulls: dict[str, _Pulling] = {}  # in order of arrival; the first ones run

    def of(self, job_id: str) -> list[dict[str, Any]]:
        """How far each pull is that a job waits for."""
        with self._lock:
            pulls = [pull for pull in self._pulls.values() if job_id in pull.waiting]
            return [pull.as_json() for pull in pulls]

    def supply(self, image: Image, user: str) -> Supply:
        """An image as `bring` would find it now; no registry is asked."""
        found = self._driver.image(image.digest or image.uri)
        is_here = found is not None and self._access.may_use(found[0], image.uri, user)
        return Supply(kind="image", uri=image.uri, missing=0 if is_here else None)

    def missing(self, layers: Sequence[Layer]) -> int:
        """Bytes of those layers that are not here; one is, on top of the same ones alone."""
        wanted = [layer.diff_id for layer in layers]
        here = max((_in_common(wanted, each) for each in self._layers_here()), default=0)
        return sum(layer.size for layer in layers[here:])

    def _layers_here(self) -> Collection[Sequence[str]]:
        """The layers of every image; an image is looked at once, for it never changes."""
        ids = self._driver.image_ids()
        known = {id_: self._layers.get(id_) or self._driver.layers(id_) for id_ in ids}
        self._layers = known
        return known.values()

    def bring(self, image: Image, want: Want) -> Brought:
        """Have an image here, and know that this user may use it.

        What is here is used as it is, and no registry is asked, unless it came with a login that
        this user has not. Raises EngineError with a whole sentence, or Cancelled.
        """
        is_pulled = False
        while True:
            found = self._driver.image(image.digest or image.uri)
            if found and self._may_use(found[0], image, want):
                if not is_pulled:
                    want.say(Sentence("Image {uri} is here.", uri=image.uri))
                return Brought(digest=found[0], is_pulled=is_pulled)
            if is_pulled:
                raise EngineError(Sentence(
                    "Image {uri} is no longer the one that the job was pinned to ({digest}). "
                    "Submit the job again to take the present one.", uri=image.uri,
                    digest=image.digest), is_platform=False)
            is_pulled = self._pull(image, want)

    def _may_use(self, digest: str, image: Image, want: Want) -> bool:
        """Whether the user may have an image that is here; False where a newer one must come.

        Raises EngineError where the registry refuses it to them.
        """
        if self._access.may_use(digest, image.uri, want.user):
            return True
        try:
            there = self._driver.ask_registry(image.uri, want.login)
        except PullError as error:
            raise pull_faults.refused_to_share(
                image.uri, image.server, error.message, login=want.login) from error
        if there not in self._driver.registry_digests(digest):
            return False
        self._access.allow(digest, image.uri, want.user)
        return True

    def _pull(self, image: Image, want: Want) -> bool:
        """Pull or wait for who pulls; False where another's pull ended, whatever came of it."""
        if image.uri.startswith(pull_faults.BUNDLED):
            raise pull_faults.not_built(image.uri)
        want.say(Sentence("Pulling image {uri}.", uri=image.uri))
        with self._joined(image, want) as pull:
            while not pull.has_ended.wait(LOOK_S) and pull.error is None:
                if want.is_cancelled():
                    raise Cancelled
                want.report(Sentence(
                    "Pulling image {uri}{progress}", uri=image.uri,
                    progress=pull.progress.in_words()),
                            *pull.progress.so_far())
                pull.check_stall(self._clock(), self._stall_s)
        if pull.login != want.login:
            return False
        if pull.error is not None:
            raise pull.error
        return True

    @contextmanager
    def _joined(self, image: Image, want: Want) -> Iterator[_Pulling]:
        """The pull of an image, begun where nobody pulls it; the last one who leaves ends it."""
        with self._lock:
            pull = self._pulls.get(image.uri)
            if pull is None:
                pull = self._pulls[image.uri] = _Pulling(image, want, self._clock())
                threading.Thread(target=self._run, args=(pull,), daemon=True,
                                 name=f"pull-{image.uri}").start()
            pull.waiting.append(want.job_id)
        try:
            yield pull
        finally:
            with self._lock:
                pull.waiting.remove(want.job_id)
                is_last = not pull.waiting
            if is_last:
                self._drop(pull)
                pull.cancel()

    def _run(self, pull: _Pulling) -> None:
        """In a thread of its own: pull, and leave what came of it where the waiting look."""
        uri, login = pull.image.uri, pull.login
        try:
            self._wait_for_turn(pull)
            before = self._driver.image_ids()
            if login is not None:
                self._access.begin(uri)
            pull.read(self._driver.pull(uri, login, self._stall_s), self._clock)
            if not pull.is_cancelled:
                self._note(pull, before)
        except PullError as error:
            pull.fail(pull_faults.explained(uri, pull.image.server, error.message, login=login))
        except RunnerError as error:
            pull.fail(error)
        except Exception as error:
            log.exception("pulling %s failed", uri)
            pull.fail(EngineError(Sentence(
                "Pulling image {uri} failed: {error}", uri=uri, error=error)))
        finally:
            self._drop(pull)
            pull.has_ended.set()
        if pull.error is not None and pull_faults.is_disk_full(pull.error.message):
            self._make_room()

    def _wait_for_turn(self, pull: _Pulling) -> None:
        while not pull.is_cancelled:
            with self._lock:
                if pull in list(self._pulls.values())[:PULLS_AT_ONCE]:
                    return
            pull.progress.touch(self._clock())
            pull.has_ended.wait(LOOK_S)
        raise RunnerError(Sentence("Nobody waits for this image any more."))

    def _note(self, pull: _Pulling, before: frozenset[str]) -> None:
        """Write down whose it is, before anybody can use it."""
        found = self._driver.image(pull.image.uri)
        if found is None:
            raise EngineError(Sentence(
                "Image {uri} was pulled, but is gone again.", uri=pull.image.uri))
        is_open = pull.login is None or self._is_public(pull.image.uri, found[0])
        self._access.came(found[0], pull.image.uri, pull.user, is_open=is_open,
                          is_new=found[0] not in before)

    def _is_public(self, uri: str, digest: str) -> bool:
        """Whether the registry gives an image that came with a login to everybody, too."""
        try:
            return self._driver.ask_registry(uri, None) in self._driver.registry_digests(digest)
        except PullError:
            return False

    def _drop(self, pull: _Pulling) -> None:
        with self._lock:
            if self._pulls.get(pull.image.uri) is pull:
                del self._pulls[pull.image.uri]


def _in_common(wanted: Sequence[str], found: Sequence[str]) -> int:
    """With how many equal ones both begin."""
    pairs = zip(wanted, found)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1] != "", pairs))


class _Pulling:
    """One pull that runs: who waits for it, how far it is, and what came of it."""

    def __init__(self, image: Image, want: Want, now_s: float) -> None:
        self.image, self.user, self.login = image, want.user, want.login
        self.waiting: list[str] = []
        self.progress = PullProgress(now_s)
        self.has_ended = threading.Event()
        self.error: RunnerError | None = None
        self.is_cancelled = False
        self._stream: Pull | None = None
        self._lock = threading.Lock()

    def read(self, stream: Pull, clock: Callable[[], float]) -> None:
        with self._lock:
            self._stream = stream
            if self.is_cancelled:
                stream.close()
        for line in stream:
            self.progress.take(line, clock())

    def cancel(self) -> None:
        with self._lock:
            self.is_cancelled = True
            if self._stream is not None:
                self._stream.close()

    def fail(self, error: RunnerError) -> None:
        self.error = self.error or error

    def check_stall(self, now_s: float, stall_s: float) -> None:
        """End a pull of which nothing was heard for too long; it is tried again."""
        if self.progress.quiet_s(now_s) > stall_s and not self.has_ended.is_set():
            self.fail(EngineError(Sentence(
                "Image {uri} cannot be pulled: nothing of it came for {minutes} minutes. Look "
                "at the network between this machine and {server}.",
                uri=self.image.uri, minutes=round(stall_s / 60), server=self.image.server)))
            self.cancel()

    def as_json(self) -> dict[str, Any]:
        return {"uri": self.image.uri, "sharing": len(self.waiting), **self.progress.as_json()}
