"""How long logs and files of finished jobs are kept: by age, and by how much they take together."""
from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from runner.artifacts import JobFolders
from runner.job_store import JobStore
from runner.sentence import Sentence

log = logging.getLogger(__name__)

MB = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Rules:
    """None: without a limit. `size_mb` counts logs and outputs of finished jobs together."""

    days: int | None = None
    size_mb: int | None = None


class Retention:
    """Removes logs and outputs of finished jobs by the rules, those first that ended first.

    What goes says so: in the place of each log, in the list of files, and as an event of the job.
    Jobs, receipts and metrics stay. A job that waits or runs loses nothing.
    """

    def __init__(self, rules: Rules, folders: JobFolders, store: JobStore) -> None:
        self._rules, self._folders, self._store = rules, folders, store
        self._sizes: dict[str, int] = {}  # the files of a finished job do not change any more

    def apply(self, now: datetime) -> int:
        """Remove what the rules do not keep; returns how many bytes that were."""
        if self._rules == Rules():
            return 0
        ended, freed = self._store.ended_jobs(), 0
        if self._rules.days is not None:
            oldest = now - timedelta(days=self._rules.days)
            for job_id, finished_at in ended:
                if datetime.fromisoformat(finished_at) < oldest and self._size(job_id):
                    freed += self._remove(job_id, now, Sentence(
                        "after {days} days (RUNNER_KEEP_DAYS)", days=self._rules.days))
        if self._rules.size_mb is not None:
            over = sum(self._size(job_id) for job_id, _ in ended) - self._rules.size_mb * MB
            for job_id, _ in ended:
                if over <= 0:
                    break
                if self._size(job_id):
                    gone = self._remove(job_id, now, Sentence(
                        "for finished jobs may take {most} MiB together (RUNNER_KEEP_MB)",
                        most=self._rules.size_mb))
                    over, freed = over - gone, freed + gone
        return freed

    def _size(self, job_id: str) -> int:
        if job_id not in self._sizes:
            self._sizes[job_id] = self._folders.kept_bytes(job_id)
        return self._sizes[job_id]

    def _remove(self, job_id: str, now: datetime, rule: str) -> int:
        """First said, then done: what a kill cuts short is done the next time."""
        text = self._folders.notice(job_id) or Sentence(
            "Logs and files of this job were removed on {day} {rule}. Its receipts stay.",
            day=now.date(), rule=rule)
        self._folders.leave_notice(job_id, text)
        self._store.remark(job_id, text)
        self._folders.drop_kept(job_id, text)
        log.info("job %s: %s", job_id, text)
        freed, self._sizes[job_id] = self._sizes[job_id], 0
        return freed
