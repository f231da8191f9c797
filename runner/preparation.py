"""Brings the images and inputs of a job here while it waits for its turn, and pins them."""
from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Sequence

from runner.artifacts import JobFolders
from runner.engine import Errand
from runner.errors import Cancelled
from runner.housekeeping import Housekeeper
from runner.image_sizes import ImageSizes
from runner.images import Images, Want
from runner.sentence import plural
from runner.spec import Image, Input, JobSpec, Login
from runner.staging import Owner, Stager
from runner.supplies import Supply

LOOKS_AT_ONCE = 8


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """Keeps nothing: what is here already costs nothing, so it may be done again any time."""

    images: Images
    image_sizes: ImageSizes
    stager: Stager
    housekeeper: Housekeeper
    folders: JobFolders

    def run(self, errand: Errand) -> JobSpec:
        """The spec with everything pinned; raises EngineError, StagingError or Cancelled."""
        roles = errand.spec.task_roles
        images = {role.image: self._image(errand, role.image) for role in roles}
        inputs = dict.fromkeys(item for role in roles for item in role.inputs)
        if inputs:
            errand.say("data", plural("Fetching {count} input.", "Fetching {count} inputs.",
                                      len(inputs)))
        pinned = {item: self._input(errand, item) for item in inputs}
        return dataclasses.replace(errand.spec, task_roles=tuple(dataclasses.replace(
            role, image=images[role.image],
            data=tuple(pinned[item] for item in role.data),
            script=tuple(pinned[item] for item in role.script),
            storage=tuple(pinned[item] for item in role.storage)) for role in roles))

    def supplies(self, spec: JobSpec, logins: Sequence[Login]) -> list[Supply]:
        """What `run` would have to bring now; each image and input once."""
        login_to = {each.server: each for each in reversed(logins)}
        images = dict.fromkeys(role.image for role in spec.task_roles)
        inputs = dict.fromkeys(item for role in spec.task_roles for item in role.inputs)
        with ThreadPoolExecutor(LOOKS_AT_ONCE) as pool:
            looks = pool.map(self.stager.supply, inputs)
            return [*pool.map(lambda image: self._supply(
                image, spec.user, login_to.get(image.server)), images), *looks]

    def _supply(self, image: Image, user: str, login: Login | None) -> Supply:
        found = self.images.supply(image, user)
        if found.missing == 0:
            return found
        layers = self.image_sizes.of(image, login)
        return dataclasses.replace(
            found, missing=None if layers is None else self.images.missing(layers))

    def _image(self, errand: Errand, image: Image) -> Image:
        brought = self.images.bring(image, Want(
            job_id=errand.job, user=errand.spec.user, login=errand.login(image.server),
            is_cancelled=errand.is_cancelled, report=errand.report,
            say=lambda text: errand.say("image", text)))
        self.housekeeper.note_image(brought.digest, is_pulled=brought.is_pulled)
        return dataclasses.replace(image, digest=brought.digest)

    def _input(self, errand: Errand, item: Input) -> Input:
        owner = Owner(user=errand.spec.user, folder=self.folders.storage(errand.job))
        fetched = self.stager.fetch(item, owner, report=errand.report,
                                    is_cancelled=errand.is_cancelled)
        if errand.is_cancelled():
            raise Cancelled
        return fetched
