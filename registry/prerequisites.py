"""The prerequisites of one job: written out in it, or found in the marketplace by reference."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Mapping

from registry.catalog import Catalog, Entry
from registry.component import Component, parse
from registry.component_rules import type_of
from registry.errors import ConflictError, GoneError, InvalidInputError, NotFoundError
from registry.inputs import Base
from registry.reference import REFERENCE
from registry.yaml_nodes import Path


@dataclass(frozen=True, kw_only=True)
class Prerequisite:
    """One found prerequisite.

    `base` is where its relative URIs begin, None for a text that is in no source; `path` is its
    place in the job, None where it came from the marketplace; `advice` is what its owner says.
    """

    document: Mapping[str, Any]
    base: Base | None
    path: Path | None
    advice: tuple[str, ...] = ()


class Prerequisites:
    """Looks up what the tasks of one job name; each lookup in the catalog is made once.

    `entry` None: the job is in no source. `user_id` is who reads the catalog, None a visitor.
    """

    def __init__(self, job: Component, catalog: Catalog, entry: Entry | None,
                 user_id: int | None) -> None:
        items = job.document.get("prerequisites") or []
        self._inline = {(item["type"], item["name"]): (item, index)
                        for index, item in enumerate(items) if isinstance(item, dict)}
        self._listed = [item for item in items if isinstance(item, str)]
        self._catalog = catalog
        self.home = catalog.home
        self._entry = entry
        self._user_id = user_id
        self._found: dict[tuple[str, str], Prerequisite] = {}

    def get(self, kind: str, wanted: str) -> Prerequisite:
        """The prerequisite that a task's field names: inline, listed, or in the marketplace.

        Raises InvalidInputError, NotFoundError, ConflictError or GoneError as the catalog does.
        """
        key = (kind, wanted)
        if key in self._inline:
            item, index = self._inline[key]
            return Prerequisite(document=item, base=self._base(self._entry),
                                path=("prerequisites", index))
        if key not in self._found:
            entry = self._catalog.get(self._reference(kind, wanted), type=kind,
                                      user_id=self._user_id)
            self._found[key] = Prerequisite(document=parse(entry.text, types=(kind,)).document,
                                            base=self._base(entry), path=None,
                                            advice=entry.advice)
        return self._found[key]

    @cached_property
    def only_image(self) -> str | None:
        """What a task that names no image runs in; None where that is not exactly one."""
        images = [name for kind, name in self._inline if kind == "dockerimage"]
        images += [reference for reference in self._listed if self._is_image(reference)]
        return images[0] if len(images) == 1 else None

    def _reference(self, kind: str, wanted: str) -> str:
        """The listed reference that a name stands for, which may say the version."""
        for reference in self._listed:
            parts = REFERENCE.fullmatch(reference)
            if parts and parts["name"] == wanted and parts["type"] in (kind, None):
                return reference
        return wanted

    def _is_image(self, reference: str) -> bool:
        if type_of(reference):
            return type_of(reference) == "dockerimage"
        try:
            return bool(self._catalog.get(reference, type="dockerimage", user_id=self._user_id))
        except NotFoundError:
            return False
        except (ConflictError, GoneError, InvalidInputError):
            return True

    def _base(self, entry: Entry | None) -> Base | None:
        if entry is None:
            return None
        return Base(self._catalog.store(entry.source_id), entry.files_commit, entry.path)
