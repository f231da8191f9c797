"""What one machine does for gangs: hold ports, make containers, follow, stop and remove them."""
from __future__ import annotations

import logging
import os
import threading
from dataclasses import replace
from itertools import chain
from typing import Collection, Iterable, Iterator, Mapping

from runner.artifacts import JobFolders, remove_tree
from runner.config import Settings
from runner.console import Consoles
from runner.container import Bind, Container
from runner.devices import ForeignGpus, Machine, gpu_driver, gpu_usage
from runner.docker_driver import DockerDriver
from runner.docker_frames import Piece
from runner.ending import Endings
from runner.engine import CREATED, ENDED, RUNNING, Console, Gang, GangKey, Listener, Slot
from runner.errors import EngineError
from runner.follower import Follower
from runner.housekeeping import Housekeeper
from runner.image_access import ImageAccess
from runner.image_sizes import ImageSizes
from runner.images import Images
from runner.launch import (
    DEFAULT_WORK_DIR,
    binds_of,
    chown_spec,
    container_name,
    launch_spec,
    owner_of,
    role_of,
)
from runner.metrics import Sampler, Watched
from runner.network import Network
from runner.ports import Ports
from runner.preparation import Preparation
from runner.sentence import Sentence
from runner.staging import Owner, Stager
from runner.task_log import LogQuota

log = logging.getLogger(__name__)

STARTS_AT_ONCE = 6
RECLAIM_S = 60.0


class NodeAgent:
    """Keeps nothing that Docker, the job's folder or the kernel would not tell it again."""

    def __init__(self, settings: Settings, driver: DockerDriver, stager: Stager, machine: Machine,
                 housekeeper: Housekeeper) -> None:
        self.driver, self.ports = driver, Ports(*settings.port_range)
        self._settings, self._stager, self._machine = settings, stager, machine
        self._folders = JobFolders(settings.home / "jobs")
        self._endings = Endings(driver)
        self._sampler = Sampler(pid_of=self._endings.pid, gpu_usage=gpu_usage)
        self._foreign, self._housekeeper = ForeignGpus(), housekeeper
        self.shortage = housekeeper.shortage
        self.preparation = Preparation(
            stager=stager, housekeeper=housekeeper, folders=self._folders, images=Images(
                driver, ImageAccess(settings.home / "image-access.json"),
                make_room=housekeeper.tidy), image_sizes=ImageSizes(Network()))
        self._consoles = Consoles(driver, settings.home / "terminals")
        self._starts = threading.Semaphore(STARTS_AT_ONCE)
        self._lock = threading.Lock()
        self._followers: dict[tuple[GangKey, Slot], Follower] = {}
        self._quotas: dict[str, LogQuota] = {}
        self._sampler.start()
        housekeeper.start()

    def close(self) -> None:
        """Let go of everything; containers run on."""
        self._sampler.close()
        self._housekeeper.close()
        with self._lock:
            for each in self._followers.values():
                each.let_go()

    def describe(self, promised: Collection[str]) -> Machine:
        """This machine, and which of the GPUs that are not promised other programs use."""
        return replace(self._machine, foreign=self._foreign.among(frozenset(
            gpu for gpu in self._machine.gpus if gpu.uuid not in promised)))

    def versions(self) -> Mapping[str, str | None]:
        return {**self.driver.versions(), "gpu_driver": gpu_driver()}

    # -- one slot, from its container's creation to its removal ---------------------------------

    def create(self, gang: Gang, slot: Slot) -> Container:
        """The slot's container, which is made if there is none yet."""
        name, found = container_name(gang, slot), self._find(gang, slot)
        if found is None:
            image, work_dir = self._image(gang, slot)
            id_ = self.driver.create(launch_spec(
                gang, slot, machine=self._machine, image=image, work_dir=work_dir,
                binds=self._binds(gang, slot, work_dir), pids_limit=self._settings.pids_limit))
            found = Container(id=id_, name=name, status="created", exit_code=0, oom_killed=False,
                              error="")
        return found

    def start(self, gang: Gang, slot: Slot, made: Container, listener: Listener) -> None:
        """Start what `create` gave, unless it was started before, and follow it."""
        lives = self.driver.lives()
        stream: Iterator[Piece] | None = None
        if made.status == "created":
            stream = self.driver.attach(made.id)
            with self._starts:
                blocks = gang.placement.task(*slot).ports.values()
                self.ports.release(gang.key, chain.from_iterable(blocks))
                self.driver.start(made.id)
        self._follow(gang, slot, made.id, stream, listener, lives)

    def adopt(self, gang: Gang, slot: Slot, listener: Listener) -> None:
        """Follow the slot's container; one that is gone has nothing more to say."""
        lives, found = self.driver.lives(), self._find(gang, slot)
        if found:
            self._consoles.end_left(found.id)
        self._follow(gang, slot, found.id if found else "", None if found else iter(()), listener,
                     lives)

    def look(self, gang: Gang, slot: Slot) -> str | None:
        """How far the slot's container is; None where there is none."""
        found = self._find(gang, slot)
        if found is None:
            return None
        return {"created": CREATED, "exited": ENDED, "dead": ENDED}.get(found.status, RUNNING)

    def stop(self, key: GangKey, slot: Slot, grace_s: float) -> None:
        """Where the slot is followed, end it; returns without waiting."""
        with self._lock:
            follower = self._followers.get((key, slot))
        if follower:
            follower.stop(grace_s)

    def open_console(self, gang: Gang, slot: Slot, columns: int, rows: int) -> Console:
        """A shell in the slot's container; raises EngineError where that does not run."""
        found = self._find(gang, slot)
        if found is None or found.status != "running":
            raise EngineError(Sentence("The container does not run."), is_platform=False)
        return self._consoles.open(found.id, columns, rows)

    def clear(self, gang: Gang, slots: Iterable[Slot]) -> None:
        """Remove containers and work folders; what is left behind is the runner's own."""
        for slot in slots:
            if os.getuid() != 0:
                self._reclaim(gang, slot)
            found = self._find(gang, slot)
            if found:
                self.driver.remove(found.id)
                self._consoles.forget(found.id)
            self._folders.drop_work(*gang.key, *slot)
        self._forget(gang.key)

    def _find(self, gang: Gang, slot: Slot) -> Container | None:
        """The slot's container, None where there is none; one of others is not taken for it."""
        found = self.driver.find(container_name(gang, slot))
        if found and not self.driver.is_own(found):
            raise EngineError(Sentence(
                "A container that is not this runner's has the name {name}. Remove it; the job "
                "goes on then.", name=found.name))
        return found

    def _follow(self, gang: Gang, slot: Slot, container: str,
                stream: Iterator[Piece] | None, listener: Listener, lives: int) -> None:
        listener.started(slot, container)
        where, place = (*gang.key, *slot), gang.placement.task(*slot)
        with self._lock:
            known = self._followers.get((gang.key, slot))
            if known and known.tell(listener):
                return
            made = self._followers[gang.key, slot] = Follower(
                driver=self.driver, endings=self._endings, lives=lives,
                sampler=self._sampler, slot=slot,
                name=container_name(gang, slot), listener=listener, quota=self._quota(gang.key[0]),
                log_path=self._folders.log(*where), metrics_path=self._folders.metrics(*where),
                watched=Watched(container=container, gpus=place.gpus,
                                has_own_network=not gang.placement.host_network))
        made.begin(stream)

    def _quota(self, job: str) -> LogQuota:
        """One for all attempts and tasks of a job."""
        limit = self._settings.log_quota_mb << 20
        return self._quotas.setdefault(job, LogQuota(limit, self._folders.log_bytes(job)))

    def _image(self, gang: Gang, slot: Slot) -> tuple[str, str]:
        """What the job was pinned to, and where tasks of it work."""
        image = role_of(gang, slot).image
        found = self.driver.image(image.digest or image.uri)
        if found is None:
            raise EngineError(Sentence("Image {uri} was here but is gone again.", uri=image.uri))
        return found[0], found[1] or DEFAULT_WORK_DIR

    def _binds(self, gang: Gang, slot: Slot, work_dir: str) -> tuple[Bind, ...]:
        """Lay out what the task will see."""
        where, role = (*gang.key, *slot), role_of(gang, slot)
        output, work = self._folders.output(*where), self._folders.work(*where)
        for made in (output, work):
            made.mkdir(parents=True, exist_ok=True)
        output.chmod(0o777)
        commands = self._folders.task(*where) / "commands"
        commands.write_text("\n".join(role.commands) + "\n")
        return binds_of(output, commands,
                        self._stager.mount(role.inputs, work, self._owner(gang)), work_dir)

    def _owner(self, gang: Gang) -> Owner:
        return Owner(user=gang.spec.user, folder=self._folders.storage(gang.key[0]))

    def _reclaim(self, gang: Gang, slot: Slot) -> None:
        """Make files that the container wrote as root our own, by a container of the same image."""
        digest, where = role_of(gang, slot).image.digest, (*gang.key, *slot)
        if not digest or not self.driver.image(digest):
            return
        helper = chown_spec(gang, slot, digest,
                            (self._folders.output(*where), self._folders.work(*where),
                             self._folders.storage(gang.key[0])))
        self.driver.remove(helper.name)
        container = self.driver.create(helper)
        try:
            self.driver.start(container)
            self.driver.wait(container, RECLAIM_S)
        except EngineError as error:
            if error.is_platform:
                raise
            log.warning("files of %s stay root's, for its image has no chown: %s",
                        container_name(gang, slot), error)
        self.driver.remove(container)

    # -- what an earlier run left ---------------------------------------------------------------

    def found(self) -> set[GangKey]:
        """Every gang of this runner that has a container or a work folder here."""
        return ({owner_of(labels) for _, _, labels in self.driver.own()}
                | {(work.parts[-4], int(work.parts[-3]))
                   for work in self._folders.root.glob("*/[0-9]*/*/work")})

    def fence(self, key: GangKey) -> None:
        """Remove a gang's containers and work folders, whatever they do."""
        self._forget(key)
        for container, name, labels in self.driver.own():
            if owner_of(labels) == key:
                log.warning("removing container %s, which no running job owns", name)
                self.driver.remove(container)
                self._consoles.forget(container)
        for work in self._folders.root.glob(f"{key[0]}/{key[1]}/*/work"):
            remove_tree(work)

    def _forget(self, key: GangKey) -> None:
        with self._lock:
            self._quotas.pop(key[0], None)
            for each in [each for each in self._followers if each[0] == key]:
                self._followers.pop(each).let_go()
