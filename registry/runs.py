"""Which components took part in submitted jobs: written at submission; of others, counts only."""
from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime
from typing import Collection, Iterable, Iterator

import sqlalchemy as sa

from registry.catalog import Catalog
from registry.component import parse
from registry.db import runs, search_outbox, sources
from registry.entry import Entry
from registry.errors import RegistryError
from registry.reference import LATEST, Reference
from registry.uses import REFERENCE_USE, Use, uses_of
from registry.visibility import IS_PUBLIC, is_visible
from runner.spec import JobSpec

# In a job's origin: it takes something that not everybody may see, so it is its submitter's alone.
PRIVATE = "private"
_log = logging.getLogger(__name__)


class Runs:
    """Notes submissions. Who ran what stays in the table: only to themselves is it told."""

    def __init__(self, engine: sa.Engine, catalog: Catalog) -> None:
        self._engine = engine
        self._catalog = catalog

    def note(self, job_id: str, spec: JobSpec, *, user_id: int) -> None:
        """Count a submitted job for its component and for all that it takes from the marketplace.

        A job that is noted already stays as it is. It runs in any case, so that a database in
        trouble is a line in the log and no more.
        """
        try:
            self._write(job_id, self._parts(spec, user_id), user_id)
        except sa.exc.SQLAlchemyError as error:
            _log.warning("The job %s is not counted: %s", job_id, type(error).__name__)

    def is_private(self, spec: JobSpec, *, user_id: int) -> bool:
        """Whether a job of this user takes something that not everybody may see."""
        ids = {each.source_id for each in self._parts(spec, user_id)}
        with self._engine.connect() as connection:
            return connection.scalar(sa.select(sa.func.count()).where(
                sources.c.id.in_(ids), ~IS_PUBLIC)) != 0

    def hidden(self, job_ids: Collection[str], *, user_id: int | None) -> set[str]:
        """Those of the jobs in which something took part that the user may not see."""
        with self._engine.connect() as connection:
            return set(connection.scalars(sa.select(runs.c.job_id).join(
                sources, sources.c.id == runs.c.source_id).where(
                    runs.c.job_id.in_(job_ids), ~is_visible(user_id))))

    def has_any(self, user_id: int) -> bool:
        """Whether a job of this user took something from the marketplace."""
        with self._engine.connect() as connection:
            return connection.execute(sa.select(runs.c.id).where(
                runs.c.user_id == user_id).limit(1)).first() is not None

    def is_noted(self, job_id: str) -> bool:
        """Whether it is known what took part in a job: not where that was removed since."""
        with self._engine.connect() as connection:
            return connection.scalar(sa.select(sa.func.count()).where(
                runs.c.job_id == job_id)) != 0

    def _parts(self, spec: JobSpec, user_id: int) -> list[Entry]:
        """Each component once: the job's own, and what its references mean at this moment."""
        used = uses_of(parse(spec.yaml), parameters=spec.parameters)
        wanted = [*_origin(spec), *(_reference(use) for use in used if use.kind == REFERENCE_USE)]
        found = (self._meant(reference, user_id) for reference in wanted)
        return list({(each.source_id, each.type, each.name): each
                     for each in found if each}.values())

    def _meant(self, reference: Reference, user_id: int) -> Entry | None:
        try:
            return self._catalog.get(str(reference), user_id=user_id)
        except RegistryError:
            return None  # listed, and needed by no task: the job runs without it

    def _write(self, job_id: str, parts: Iterable[Entry], user_id: int) -> None:
        keys = [{"source_id": each.source_id, "type": each.type, "name": each.name}
                for each in parts]
        versions = [each.version for each in parts]
        now = datetime.now(UTC).replace(tzinfo=None)
        with self._engine.begin() as connection:
            is_known = connection.scalar(sa.select(runs.c.id).where(
                runs.c.job_id == job_id).limit(1)) is not None
            if not keys or is_known:
                return
            connection.execute(runs.insert(), [
                {"job_id": job_id, "user_id": user_id, "created_at": now, **key,
                 "version": version} for key, version in zip(keys, versions)])
            connection.execute(search_outbox.insert(), keys)


def _origin(spec: JobSpec) -> Iterator[Reference]:
    """The component that the text came from, where it came from one."""
    if "reference" in spec.origin:
        own = Reference.parse(spec.origin["reference"])
        yield replace(own, source=spec.origin["source"], selector=spec.origin["commit"])


def _reference(use: Use) -> Reference:
    return Reference(source=use.target_source, type=use.target_type, name=use.target,
                     selector=use.target_version or LATEST)
