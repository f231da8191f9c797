"""One try of a job: its containers from creation to removal, wherever a kill cut it short."""
from __future__ import annotations

import json
import logging
import os
import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import chain
from pathlib import Path
from typing import Any, Callable, Iterator

from runner import outcome, receipt
from runner import spec as states
from runner.artifacts import JobFolders, LogQuota, TaskLog
from runner.config import Settings
from runner.devices import Machine, given, gpu_driver
from runner.docker_driver import Bind, Container, DockerDriver, LaunchSpec
from runner.environment import environment
from runner.errors import EngineError, RunnerError
from runner.job_store import Job, JobStore, now
from runner.metrics import Sampler, Watched
from runner.outcome import Decision, TaskResult
from runner.ports import Ports
from runner.scheduler import Placement
from runner.spec import TaskRoleSpec
from runner.staging import Owner, Stager

log = logging.getLogger(__name__)

OUTPUT_DIR = "/paishare/output"
COMMANDS_FILE = "/paishare/commands"
DEFAULT_WORK_DIR = "/work"
SHELL = ("/bin/sh", "-c", "if command -v bash >/dev/null 2>&1; then exec bash -e {0}; fi; "
                          "exec sh -e {0}".format(COMMANDS_FILE))
LABEL_JOB, LABEL_ATTEMPT, LABEL_TASK = "paishare.job", "paishare.attempt", "paishare.task"
STARTS_AT_ONCE = 6
ENGINE_RETRY_S = 2.0
LIMIT_CHECK_S = 0.2
RECLAIM_S = 60.0


@dataclass(frozen=True, kw_only=True)
class Workshop:
    """What every attempt on this machine shares."""

    settings: Settings
    store: JobStore
    driver: DockerDriver
    stager: Stager
    machine: Machine
    folders: JobFolders
    starts: threading.Semaphore
    sampler: Sampler
    on_log: Callable[[], None]
    ports: Ports


@dataclass(kw_only=True)
class _Task:
    role: TaskRoleSpec
    index: int
    name: str
    container: str = ""
    has_started: bool = False
    is_followed: bool = False
    is_final: bool = False
    is_interrupted: bool = False

    @property
    def key(self) -> tuple[str, int]:
        return self.role.name, self.index


class Attempt:
    """Runs in a thread of its own; `run` returns how it ended.

    Nothing is kept here that the store and Docker do not know: after a kill, a new Attempt for
    the same row creates what is missing, follows what runs and collects what has ended.
    """

    def __init__(self, shop: Workshop, job: Job, number: int, placement: Placement) -> None:
        self.shop, self.job, self.number, self.placement = shop, job, number, placement
        self._messages: queue.SimpleQueue[_Task | Exception | None] = queue.SimpleQueue()
        self._detached = threading.Event()
        self._decision: Decision | None = None
        row = shop.store.attempt(job.id, number)
        self._limit_s = row["limit_s"]
        self._ends_s = _end_of(row["started_at"], row["limit_s"])
        if row["decision"]:
            self._decision = Decision(**json.loads(row["decision"]))
        self._tasks = [self._task(row) for row in shop.store.tasks(job.id, number)]
        self._quota = LogQuota(shop.settings.log_quota_mb << 20, shop.folders.log_bytes(job.id))

    def _task(self, row: Any) -> _Task:
        role = next(role for role in self.job.spec.task_roles if role.name == row["role"])
        ordinal = self.job.spec.task_roles.index(role)
        return _Task(role=role, index=row["idx"], container=row["container"] or "",
                     name=f"paishare-{self.job.id}-{self.number}-{ordinal}-{row['idx']}",
                     has_started=bool(row["started_at"]), is_final=bool(row["finished_at"]))

    def poke(self) -> None:
        """The job's stop was requested: look at the store again."""
        self._messages.put(None)

    def detach(self) -> None:
        """Leave the containers running; whoever comes next adopts them."""
        self._detached.set()

    def run(self) -> Decision:
        self._check_stop()
        if self._decision is None:
            self._launch()
        else:
            self._adopt_what_exists()
        if self._decision:
            self._stop_all()
        while any(not task.is_final for task in self._tasks):
            ended = self._next_message()
            if isinstance(ended, Exception):
                raise ended
            if ended is None:
                self._check_stop()
                self._check_limit()
            elif self._decision is None:
                self._decide(outcome.decide(self.job.spec, self._results()))
        decision = self._decision or outcome.decide(self.job.spec, self._results())
        if decision is None:
            raise RunnerError("All tasks have ended, but no rule says how the job did.")
        self._decide(decision)
        self._leave_receipt(decision)
        self._clean()
        return decision

    def _next_message(self) -> _Task | Exception | None:
        """Who ended or what failed; None where stop and time limit are to be looked at."""
        if self._ends_s is None or self._decision is not None:
            return self._messages.get()
        try:
            return self._messages.get(timeout=max(LIMIT_CHECK_S, self._ends_s - time.monotonic()))
        except queue.Empty:
            return None

    # -- starting -----------------------------------------------------------------------------

    def _launch(self) -> None:
        """Create all containers, then start all; adopt those that a run before had made."""
        live = [task for task in self._tasks if not task.is_final]
        try:
            with ThreadPoolExecutor(STARTS_AT_ONCE) as pool:
                found = list(pool.map(self._create, live))
                list(pool.map(self._start, live, found))
        except RunnerError as error:
            log.warning("job %s attempt %s could not start: %s", self.job.id, self.number, error)
            self._decide(outcome.failed_start(str(error), is_platform=_is_platform(error)))
            self._adopt_what_exists()
            return
        self.shop.store.note(self.job.id, "run", self._running_text(len(live)))

    def _running_text(self, count: int) -> str:
        return "The container is running." if count == 1 else f"{count} containers are running."

    def _create(self, task: _Task) -> Container | None:
        """The task's container if there is one already; else None, and it is there now."""
        found = self.shop.driver.find(task.name)
        if found is None and not task.has_started:
            task.container = self.shop.driver.create(self._launch_spec(task))
        elif found is not None:
            task.container = found.id
        self._update(task, container=task.container)
        return found

    def _start(self, task: _Task, found: Container | None) -> None:
        stream: Iterator[tuple[str, bytes]] | None = None
        if found is None and task.has_started:
            stream = iter(())
        elif found is None or found.status == "created":
            stream = self.shop.driver.attach(task.container)
            ports = self.placement.task(*task.key).ports.values()
            with self.shop.starts:
                self.shop.ports.release(self.job.id, chain.from_iterable(ports))
                self.shop.driver.start(task.container)
        self._begin_following(task, stream)

    def _begin_following(self, task: _Task, stream: Iterator[tuple[str, bytes]] | None) -> None:
        if not task.has_started:
            task.has_started = True
            self._update(task, state=states.RUNNING, started_at=now())
        task.is_followed = True
        where = (self.job.id, self.number, *task.key)
        self.shop.sampler.watch(self.shop.folders.metrics(*where), Watched(
            container=task.container, has_own_network=not self.placement.host_network,
            gpus=self.placement.task(*task.key).gpus))
        threading.Thread(target=self._follow_and_tell, args=(task, stream), name=task.name,
                         daemon=True).start()

    def _adopt_what_exists(self) -> None:
        """After a decision: follow what has started, and count the rest as stopped."""
        for task in self._tasks:
            if task.is_final or task.is_followed:
                continue
            found = self.shop.driver.find(task.name)
            if found is None or found.status == "created":
                self._finish(task, states.STOPPED, None, "never started", False)
            else:
                task.container = found.id
                self._begin_following(task, None)

    def _launch_spec(self, task: _Task) -> LaunchSpec:
        role, place = task.role, self.placement.task(task.role.name, task.index)
        found = self.shop.driver.image(role.image.digest or role.image.uri)
        if found is None:
            raise EngineError(f"Image {role.image.uri} was here but is gone again.")
        digest, work_dir = found[0], found[1] or DEFAULT_WORK_DIR
        ports = self.placement.reachable_ports(self.job.spec, *task.key)
        gpus, devices = given(self.shop.machine, place.gpus)
        return LaunchSpec(
            name=task.name, image=digest, command=SHELL, work_dir=work_dir,
            environment=environment(
                self.job.spec, self.placement, role.name, task.index,
                host_ip=self.shop.machine.host_ip, work_dir=work_dir, output_dir=OUTPUT_DIR),
            labels={LABEL_JOB: self.job.id, LABEL_ATTEMPT: str(self.number),
                    LABEL_TASK: f"{role.name}-{task.index}"},
            cpu=min(role.resources.cpu, os.cpu_count() or 1),
            memory_mb=role.resources.memory_mb, shm_mb=role.resources.shm_mb,
            pids_limit=self.shop.settings.pids_limit, gpus=gpus, devices=devices,
            binds=self._binds(task, work_dir),
            ports=tuple(port for block in ports.values() for port in block),
            host_network=self.placement.host_network)

    def _binds(self, task: _Task, work_dir: str) -> tuple[Bind, ...]:
        where = (self.job.id, self.number, *task.key)
        folders = self.shop.folders
        folder, output, work = folders.task(*where), folders.output(*where), folders.work(*where)
        commands = folder / "commands"
        for made in (output, work):
            made.mkdir(parents=True, exist_ok=True)
        output.chmod(0o777)
        commands.write_text("\n".join(task.role.commands) + "\n")
        owner = Owner(user=self.job.user, folder=folders.storage(self.job.id))
        staged = self.shop.stager.mount(task.role.inputs, work, owner)
        return (Bind(source=output, target=OUTPUT_DIR, read_only=False),
                Bind(source=commands, target=COMMANDS_FILE, read_only=True),
                *(Bind(source=mount.source, target=str(Path(work_dir, mount.target)),
                       read_only=mount.read_only) for mount in staged))

    # -- following ----------------------------------------------------------------------------

    def _follow_and_tell(self, task: _Task, stream: Iterator[tuple[str, bytes]] | None) -> None:
        """Follow in a thread of its own; `run` hears of the end, or of what stood in the way."""
        try:
            self._follow(task, stream)
        except Exception as error:
            log.exception("following %s failed", task.name)
            self._messages.put(error)
        finally:
            self.shop.sampler.forget(self.shop.folders.metrics(self.job.id, self.number, *task.key))

    def _follow(self, task: _Task, stream: Iterator[tuple[str, bytes]] | None) -> None:
        """Keep the output until the container has ended, then write down how."""
        task_log = TaskLog(self.shop.folders.log(self.job.id, self.number, *task.key), self._quota)
        try:
            found = self._keep_output(task, task_log, stream)
        except BaseException:
            task_log.close(is_complete=False)
            raise
        if self._detached.is_set():
            task_log.close(is_complete=False)
            return
        task_log.close(is_complete=True)
        self._record(task, found)
        self.shop.on_log()
        self._messages.put(task)

    def _keep_output(self, task: _Task, task_log: TaskLog,
                     stream: Iterator[tuple[str, bytes]] | None) -> Container | None:
        """Append to the log until the container has ended; returns it, None where it is gone.

        `stream` is the attached output; None, or after it broke off, Docker's own log is read
        instead. That can end early while the container is ending, so it is read until it has
        nothing new.
        """
        driver = self.shop.driver
        while not self._detached.is_set():
            is_new = False
            try:
                for name, data in stream or driver.log(task.container, task_log.resume_at()):
                    task_log.append(name, data)
                    self.shop.on_log()
                    is_new = True
                    if self._detached.is_set():
                        return None
                found = driver.find(task.container)
                if found and found.status == "running":
                    driver.wait(task.container, ENGINE_RETRY_S)
                    found = driver.find(task.container)
                is_whole = stream is not None or not is_new
                if found is None:
                    return None
                if found.status in ("exited", "dead") and is_whole:
                    task.is_interrupted = (self._decision is None and not found.oom_killed
                                           and driver.is_ended_from_outside(found))
                    return found
            except EngineError as error:
                log.warning("following %s: %s", task.name, error)
                self._detached.wait(ENGINE_RETRY_S)
            stream = None
        return None

    def _record(self, task: _Task, found: Container | None) -> None:
        if found is None:
            self._finish(task, states.FAILED, None, "the container was removed from outside", False)
            return
        if task.is_interrupted and self._decision is None:
            self._finish(task, states.FAILED, None, "Docker was restarted, or somebody stopped the "
                         f"container from outside (exit code {found.exit_code})", False)
            return
        ended = states.SUCCEEDED if found.exit_code == 0 else states.FAILED
        if self._decision is not None:
            ended = states.STOPPED
        text = outcome.describe_exit(found.exit_code, found.oom_killed,
                                     memory_mb=task.role.resources.memory_mb)
        self._finish(task, ended, found.exit_code, text, found.oom_killed)

    def _finish(self, task: _Task, state: str, code: int | None, text: str, oom: bool) -> None:
        self._update(task, state=state, exit_code=code, exit_text=text, oom_killed=int(oom),
                     finished_at=now())
        task.is_final = True

    def _update(self, task: _Task, **values: Any) -> None:
        self.shop.store.update_task(self.job.id, self.number, *task.key, **values)

    # -- ending -------------------------------------------------------------------------------

    def _results(self) -> list[TaskResult]:
        return [TaskResult(role=row["role"], index=row["idx"], state=row["state"],
                           exit_code=row["exit_code"], exit_text=row["exit_text"],
                           oom_killed=bool(row["oom_killed"]), finished_at=row["finished_at"])
                for row in self.shop.store.tasks(self.job.id, self.number)]

    def _check_stop(self) -> None:
        if self.shop.store.get(self.job.id).stop_requested:
            self._decide(outcome.STOPPED_BY_REQUEST)

    def _check_limit(self) -> None:
        """Where time is up, end what still runs; what has ended by itself is heard of soon."""
        if self._ends_s is None or time.monotonic() < self._ends_s:
            return
        found = [self.shop.driver.find(task.name) for task in self._tasks if not task.is_final]
        if any(container and container.status == "running" for container in found):
            self._decide(outcome.time_is_up(self._limit_s))

    def _decide(self, decision: Decision | None) -> None:
        """Write the decision down before anything is done about it; the first one stays."""
        if decision is None or self._decision is not None:
            return
        self._decision = decision
        self.shop.store.decide(self.job.id, self.number, decision.as_json())
        self._stop_all()

    def _stop_all(self) -> None:
        for task in self._tasks:
            if task.container and not task.is_final:
                threading.Thread(target=self._stop, args=(task,), daemon=True).start()

    def _stop(self, task: _Task) -> None:
        while not task.is_final:
            try:
                self.shop.driver.stop(task.container, self.shop.settings.grace_s)
                return
            except EngineError as error:
                log.warning("stopping %s: %s", task.name, error)
                if self._detached.wait(ENGINE_RETRY_S):
                    return

    def _leave_receipt(self, decision: Decision) -> None:
        """Once, when all has ended; a kill before it comes back here."""
        shop, where = self.shop, (self.job.id, self.number)
        receipt.leave(shop.folders, *where, receipt.write_out(
            shop.folders, self.job.spec, *where, placement=self.placement, machine=shop.machine,
            started_at=shop.store.attempt(*where)["started_at"], decision=decision,
            versions={**shop.driver.versions(), "gpu_driver": gpu_driver()},
            tasks=[dict(row) for row in shop.store.tasks(*where)]))

    def _clean(self) -> None:
        """Leave nothing behind but logs and output; repeated after a kill, it does no harm."""
        for task in self._tasks:
            if os.getuid() != 0:
                self._reclaim(task)
            found = self.shop.driver.find(task.name)
            if found:
                self.shop.driver.remove(found.id)
            self.shop.folders.drop_work(self.job.id, self.number, *task.key)

    def _reclaim(self, task: _Task) -> None:
        """Make files that the container wrote as root our own, by a container of the same image."""
        where = (self.job.id, self.number, *task.key)
        digest = task.role.image.digest
        if not digest or not self.shop.driver.image(digest):
            return
        targets = (self.shop.folders.output(*where), self.shop.folders.work(*where))
        helper = LaunchSpec(
            name=f"{task.name}-own", image=digest, work_dir="/", environment={}, labels={},
            command=("/bin/chown", "-R", f"{os.getuid()}:{os.getgid()}", "/own"),
            cpu=1, memory_mb=100, shm_mb=1, pids_limit=16, user="0:0",
            binds=tuple(Bind(source=path, target=f"/own/{number}", read_only=False)
                        for number, path in enumerate(targets) if path.exists()))
        left_over = self.shop.driver.find(helper.name)
        if left_over:
            self.shop.driver.remove(left_over.id)
        container = self.shop.driver.create(helper)
        try:
            self.shop.driver.start(container)
            self.shop.driver.wait(container, RECLAIM_S)
        except EngineError as error:
            if error.is_platform:
                raise
            log.warning("files of %s stay root's, for its image has no chown: %s", task.name, error)
        self.shop.driver.remove(container)


def _end_of(started_at: str, limit_s: float | None) -> float | None:
    """When an attempt's time is up, by the clock that nobody sets; None: never."""
    if limit_s is None:
        return None
    past = datetime.now(timezone.utc) - datetime.fromisoformat(started_at)
    return time.monotonic() + limit_s - max(0.0, past.total_seconds())


def _is_platform(error: RunnerError) -> bool:
    return bool(getattr(error, "is_platform", True))
