"""When an attempt has ended: what its tasks changed in copies of storage goes back, tried again."""
from __future__ import annotations

import dataclasses
import logging
import time
from dataclasses import dataclass
from typing import Callable, Iterator

from runner import outcome
from runner import spec as states
from runner.artifacts import JobFolders
from runner.cache import FetchCancelled, Report, Watch
from runner.errors import StagingError
from runner.job_store import Job, JobStore
from runner.outcome import Decision
from runner.sentence import Sentence, joined, plural
from runner.spec import Input
from runner.staging import Owner, Sent, Stager
from runner.uris import mask

log = logging.getLogger(__name__)

TRY_FOR_S = 900.0
MAX_PAUSE_S = 30.0


@dataclass(frozen=True, kw_only=True)
class StorageReturn:
    """`report` makes of a job what is told how far a transfer of it is."""

    stager: Stager
    store: JobStore
    folders: JobFolders
    report: Callable[[Job], Report]
    is_closed: Callable[[], bool]

    def has_copies(self, job: Job) -> bool:
        return any(self._copies(job))

    def send(self, job: Job, decision: Decision) -> Decision:
        """Send all that changed; returns how the attempt ended, which a failure here may change.

        It may be called again after a kill. A stop that is asked for meanwhile ends it; copies
        with something that did not arrive stay in the job's folder.
        """
        try:
            for item in self._copies(job):
                self.store.note(job.id, "run", Sentence(
                    "Sending storage to {uri}.", uri=mask(item.uri)))
                self._tell(job, item, self._persistently(job, item, decision))
        except FetchCancelled:
            if self.is_closed():
                raise
            return dataclasses.replace(outcome.STOPPED_BY_REQUEST, reason=joined(
                Sentence("The job was stopped while its storage was sent."), self._where(job)))
        except StagingError as error:
            return self._failed(job, decision, error)
        return decision

    def _copies(self, job: Job) -> Iterator[Input]:
        seen = set()
        for role in job.spec.task_roles:
            for item in role.storage:
                if item.uri not in seen and self.stager.is_copied(item):
                    seen.add(item.uri)
                    yield item

    def _persistently(self, job: Job, item: Input, decision: Decision) -> Sent | None:
        """Wait for a server that is away, but not for ever: the machine waits with it."""
        ends_s, pause_s = time.monotonic() + TRY_FOR_S, 0.5
        owner = Owner(user=job.user, folder=self.folders.storage(job.id))

        def is_cancelled() -> bool:
            return self.is_closed() or (decision.cause != outcome.STOPPED
                                        and self.store.get(job.id).stop_requested)

        while True:
            try:
                return self.stager.send_back(item, owner, report=self.report(job),
                                             is_cancelled=is_cancelled)
            except StagingError as error:
                if not error.is_platform or time.monotonic() > ends_s:
                    raise
                log.warning("job %s: %s It is tried again.", job.id, error.message)
                self.store.note(job.id, "run", Sentence(
                    "{message} Trying again.", message=error.message), is_event=False)
                Watch(report=lambda *_: None, is_cancelled=is_cancelled).wait(pause_s)
                pause_s = min(MAX_PAUSE_S, pause_s * 2)

    def _tell(self, job: Job, item: Input, sent: Sent | None) -> None:
        if sent is None:
            return
        text: str = plural("Sent {count} file to {uri}.", "Sent {count} files to {uri}.",
                           sent.files, uri=mask(item.uri))
        if sent.overwritten:
            names = ", ".join(sent.overwritten[:3])
            text = joined(text, plural(
                "{count} file had been changed there meanwhile and is replaced: {names}.",
                "{count} files had been changed there meanwhile and are replaced: {names}.",
                len(sent.overwritten), names=names if len(sent.overwritten) <= 3
                else Sentence("{names} and others", names=names)))
        self.store.note(job.id, "run", text)

    def _failed(self, job: Job, decision: Decision, error: StagingError) -> Decision:
        text = joined(Sentence("Its storage could not be sent: {message}", message=error.message),
                      self._where(job))
        if decision.state == states.SUCCEEDED:
            return Decision(state=states.FAILED, cause=outcome.STAGING,
                            reason=Sentence("The tasks have ended well. {text}", text=text))
        return dataclasses.replace(decision, reason=joined(decision.reason, text))

    def _where(self, job: Job) -> str:
        return Sentence(
            "What did not arrive stays on this machine in {folder}.",
            folder=self.folders.storage(job.id))
