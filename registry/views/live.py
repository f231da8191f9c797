"""Pages that change by themselves: one WebSocket each, which goes on after a break."""
from __future__ import annotations

import json
import time
from typing import Any, Callable, Iterator, Mapping

from flask import Blueprint, Response

from registry.accounts import User
from registry.errors import RunnerUnavailableError, UnauthorizedError
from registry.views import auth
from registry.views.job_access import Task, job_of, shown_jobs, task_of
from registry.views.jobs import live_parts
from registry.views.language import gettext as _
from registry.views.language import said, speak
from registry.views.services import services
from registry.views.sockets import Closed, Connection
from registry.watch import Follower, News
from runner.spec import FINAL_STATES

LOG_BYTES = 1 << 17  # of one message: what a page shows without a pause that is felt
LOG_READS = 16  # in one turn, then the page has its own
LINES = 1000
HELLO_S = 15.0
LOOK_S = 1.0
PAGE_S = 1.0  # between two looks at the same job, however much changes
FRESH_S = 5.0  # a running job's figures and files change without a word
SHOWN_PER_S = 20  # pages, by that and all together
ALIVE_S = 20.0  # then something is said anyway, so that nothing between takes the line for dead

blueprint = Blueprint("live", __name__, url_prefix="/live")


@blueprint.route("/jobs", websocket=True)
def jobs() -> Response:
    """`{type: jobs, jobs}` for each change of jobs that the reader may list; `all` is an admin's.

    `is_all`, also the first message: look at the whole list, anything may have changed.
    """
    return _served(_tell_jobs, "")


@blueprint.route("/jobs/<job_id>", websocket=True)
def job(job_id: str) -> Response:
    """`{type: log, records, offset, is_complete}` and `{type: page, html, is_final}` of one job.

    The first message of the page says which task's log it shows and from which `offset` on.
    """
    return _served(_tell_job, job_id)


@blueprint.route("/jobs/<job_id>/log", websocket=True)
def log(job_id: str) -> Response:
    """`{type: lines, lines, cursor, is_complete}` of all tasks of a job, from a `cursor` on."""
    return _served(_tell_lines, job_id)


class Reader:
    """Who looks at a page through a connection; raises Closed where it has gone or must go.

    `offset`: what is told of the log ends there. `is_behind`: more is there to be told than was
    told in one turn.
    """

    def __init__(self, user: User, connection: Connection, job_id: str) -> None:
        self.user, self.job_id = user, job_id
        self._connection = connection
        self._told_s = time.monotonic()
        self._was_away = self.is_behind = False
        self.hello: Mapping[str, Any] = _hello(connection)
        self.offset = _number(self.hello.get("offset"))
        speak(str(self.hello.get("language")))

    def tell(self, **values: Any) -> None:
        self._connection.tell(**values)
        self._told_s = time.monotonic()

    def news(self, follower: Follower) -> Iterator[News]:
        """What is new, now and then nothing, for as long as somebody looks."""
        while self._connection.is_open:
            news = follower.wait(0 if self.is_behind else LOOK_S)
            self.user = self._still()
            if news.is_away != self._was_away:
                self._was_away = news.is_away
                self.tell(type="away" if news.is_away else "back")
            if time.monotonic() - self._told_s > ALIVE_S:
                self.tell(type="alive")
            if not news.is_away:
                yield news
        raise Closed

    def _still(self) -> User:
        """Who looks, as they are now; raises UnauthorizedError where the login has ended since."""
        found = services().presence.of(self.user.id, self.user.session_epoch)
        if found is None:
            raise UnauthorizedError(_("Your login has ended. Reload the page to log in."))
        return found


def _served(tell: Callable[[Reader, Follower], None], job_id: str) -> Response:
    user = auth.required_user()

    def handle(connection: Connection) -> None:
        if job_id:
            job_of(user, job_id)
        with services().watch.follow(job_id) as follower:
            tell(Reader(user, connection, job_id), follower)

    return services().sockets.serve(handle)


def _hello(connection: Connection) -> Mapping[str, Any]:
    """What the page says first; nothing where it is no JSON object."""
    try:
        found = json.loads(connection.receive(HELLO_S) or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


# -- one job ----------------------------------------------------------------------------------


def _tell_job(reader: Reader, follower: Follower) -> None:
    """The log as it grows and the page as it changes, until both have ended."""
    task = _task(reader)
    is_read = is_final = False
    shown, is_due, looked_s = "", True, 0.0
    for news in reader.news(follower):
        try:
            is_due |= news.is_all or bool(news.jobs)
            if not is_read and (news.is_all or news.has_log or news.jobs or reader.is_behind):
                is_read = _tell_log(reader, task)
            age_s = time.monotonic() - looked_s
            if not is_final and (is_due and age_s > PAGE_S or age_s > _fresh_s()):
                job = job_of(reader.user, reader.job_id)
                html = live_parts(job, task)
                is_final = job["state"] in FINAL_STATES
                if html != shown:
                    reader.tell(type="page", html=html, is_final=is_final)
                shown, is_due, looked_s = html, False, time.monotonic()
                if not task.is_started or (is_final and not is_read):
                    task = _task(reader)
                    is_read = _tell_log(reader, task)
        except RunnerUnavailableError:
            is_due = True  # the follower hears of it as well, and says so
        if is_read and is_final:
            reader.tell(type="end", code="complete", message="")
            return


def _fresh_s() -> float:
    """How long figures are good for: longer where very many look."""
    return max(FRESH_S, services().sockets.count / SHOWN_PER_S)


def _task(reader: Reader) -> Task:
    role, _dash, index = str(reader.hello.get("task", "")).rpartition("-")
    return task_of(job_of(reader.user, reader.job_id), role=role, index=_number(index),
                   attempt=_number(reader.hello.get("attempt")))


def _tell_log(reader: Reader, task: Task) -> bool:
    """What is there from the reader's offset on; True: that was the end."""
    if not task.is_started:
        is_over = job_of(reader.user, reader.job_id)["state"] in FINAL_STATES
        if is_over:
            reader.tell(type="log", records=[], offset=reader.offset, is_complete=True)
        return is_over
    for _turn in range(LOG_READS):
        page = services().runner.log(*task.place, offset=reader.offset, limit=LOG_BYTES)
        reader.is_behind = page["offset"] != reader.offset
        reader.offset = page["offset"]  # at once: the next read may find no runner
        if reader.is_behind or page["is_complete"]:
            reader.tell(type="log", **page)
        if page["is_complete"] or not reader.is_behind:
            reader.is_behind = False
            return bool(page["is_complete"])
    return False


# -- lines of all tasks, and all jobs -----------------------------------------------------------


def _tell_lines(reader: Reader, follower: Follower) -> None:
    cursor = str(reader.hello.get("cursor", ""))
    for news in reader.news(follower):
        is_new = news.is_all or news.has_log or bool(news.jobs)
        while is_new:
            page = services().runner.merged_log(reader.job_id, cursor=cursor, limit=LINES)
            is_new, cursor = page["cursor"] != cursor, page["cursor"]
            if page["lines"] or page["is_complete"]:
                reader.tell(type="lines", **page)
            if page["is_complete"]:
                reader.tell(type="end", code="complete", message="")
                return


def _tell_jobs(reader: Reader, follower: Follower) -> None:
    has_all = reader.user.is_admin and reader.hello.get("all") is True
    for news in reader.news(follower):
        found = [each for each in news.jobs.values() if has_all or each["user"] == reader.user.name]
        if found or news.is_all:
            shown = shown_jobs(reader.user, found)
            reader.tell(type="jobs", is_all=news.is_all, jobs=[
                {**each, "reason": said(each["reason"])} for each in shown])


def _number(value: Any) -> int:
    text = str(value)
    return int(text) if text.isdecimal() and len(text) < 19 else 0
