"""Docker, one method a call: images, containers, streams. Its exceptions become EngineError."""
from __future__ import annotations

import json
import re
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, Iterator, Mapping, Sequence

import docker
import requests
import urllib3
from docker import errors as docker_errors
from docker import types
from docker.utils import kwargs_from_env

from runner.container import LABEL, LABEL_NETWORK, Container, LaunchSpec
from runner.docker_frames import Piece, unchunked, unframed, unframed_log
from runner.errors import EngineAwayError, EngineError, RunnerError
from runner.lifeline import Lifeline
from runner.sentence import Sentence
from runner.spec import Login

READ_BYTES = 1 << 18
LOG_CONFIG = types.LogConfig(type="local", config={
    "max-size": "4g", "max-file": "2", "compress": "false"})
# What Docker calls a fault of its own, and would say again.
IMAGE_FAULTS = re.compile("unable to find (user|group)|no matching entries in (passwd|group)|"
                          "executable file not found|not a directory|exec format error")
NAMESPACES = {  # what Docker says of its own among its security options
    "userns": (Sentence(
        "Docker gives users other numbers (userns-remap) and then refuses the machine's network: "
        "jobs of several tasks cannot run. Take it out of /etc/docker/daemon.json."),),
    "rootless": (Sentence(
        "Docker runs rootless: its containers have a network apart from this machine's. Tasks of a "
        "job reach each other; ports of such jobs are not reached from here."),)}
REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]*")
ASK_S = 60.0
# Docker swallows the first of the keys that detach: one that nobody types, and never all of them.
DETACH_KEYS = "ctrl-^,ctrl-_,ctrl-^,ctrl-_,ctrl-^"


class PullError(RunnerError):
    """Docker could not bring an image here; the message is Docker's own."""


@contextmanager
def _translated(what: str) -> Iterator[None]:
    try:
        yield
    except docker_errors.NotFound as error:
        raise EngineError(Sentence("{what}: {said}", what=what, said=error.explanation),
                          is_platform=False) from error
    except docker_errors.APIError as error:
        is_platform = error.status_code is None or error.status_code >= 500
        raise EngineError(Sentence("{what}: {said}", what=what, said=error.explanation),
                          is_platform=is_platform) from error
    except (docker_errors.DockerException, requests.RequestException,
            urllib3.exceptions.HTTPError, OSError) as error:
        raise EngineAwayError(Sentence(
            "{what}: Docker does not answer ({kind}). Start the Docker engine; the job goes on "
            "then.", what=what, kind=type(error).__name__)) from error


@contextmanager
def _in_its_words() -> Iterator[None]:
    """What Docker refuses stays as Docker says it; where Docker itself is away: EngineError."""
    try:
        with _translated(Sentence("Asking for an image")):
            yield
    except EngineError as error:
        if isinstance(error.__cause__, docker_errors.APIError):
            raise PullError(error.__cause__.explanation or str(error.__cause__)) from error
        raise


class Pull:
    """A pull under way: Docker's lines about it; closing it, from any thread, cancels it."""

    def __init__(self, response: requests.Response) -> None:
        self._response = response
        self._is_closed = False

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Ends early when it is closed; raises PullError with Docker's words."""
        try:
            with _in_its_words(), self._response:
                for line in filter(None, self._response.iter_lines()):
                    if "error" in (said := json.loads(line)):
                        raise PullError(said["error"])
                    yield said
        except (EngineError, ValueError):
            if not self._is_closed:
                raise

    def close(self) -> None:
        self._is_closed = True
        with suppress(OSError, ValueError, RuntimeError):  # it may have ended just now
            self._response.raw.shutdown()


class DockerDriver:
    """Thin: no state but the connections. Containers of other runners are never touched."""

    def __init__(self, runner_id: str) -> None:
        self.runner_id = runner_id
        with _translated(Sentence("Connecting to Docker")):
            where = kwargs_from_env()
            self._api = docker.APIClient(version="auto", timeout=120, max_pool_size=64, **where)
            self._streams = docker.APIClient(version="auto", timeout=None, max_pool_size=512,
                                             **where)
        self._lifeline, self._network = Lifeline(lambda: _lasting(self._streams)), (0, "")

    def info(self) -> dict[str, Any]:
        with _translated(Sentence("Asking Docker")):
            return self._api.info()

    def advice(self) -> Iterator[str]:
        """What the operator could set so that fewer jobs are lost."""
        info = self.info()
        if not info["LiveRestoreEnabled"]:
            yield Sentence(
                "Docker's live-restore is off: a restart of Docker ends the running jobs, which "
                "are then tried again. Set \"live-restore\": true in /etc/docker/daemon.json.")
        for option in info["SecurityOptions"] or ():
            yield from NAMESPACES.get(option.removeprefix("name=").partition(",")[0], ())

    def versions(self) -> dict[str, str]:
        """Of Docker and the kernel below it, and how this drives containers' limits."""
        found = self.info()
        return {"docker": found["ServerVersion"], "kernel": found["KernelVersion"],
                "cgroups": found.get("CgroupVersion") or "1"}

    # -- images -------------------------------------------------------------------------------

    def image(self, uri: str) -> tuple[str, str] | None:
        """Content digest (`sha256:…`) and WORKDIR of an image; None when it is not here."""
        try:
            with _translated(Sentence("Looking for image {uri}", uri=uri)):
                found = self._api.inspect_image(uri)
        except EngineError as error:
            if isinstance(error.__cause__, docker_errors.NotFound):
                return None
            raise
        return found["Id"], found["Config"].get("WorkingDir") or ""

    def layers(self, digest: str) -> tuple[str, ...]:
        """What an image's layers unpack to, from the lowest on; none where it is not here."""
        try:
            with _translated(Sentence("Looking for image {uri}", uri=digest)):
                return tuple(self._api.inspect_image(digest)["RootFS"].get("Layers") or ())
        except EngineError as error:
            if isinstance(error.__cause__, docker_errors.NotFound):
                return ()
            raise

    def image_ids(self) -> frozenset[str]:
        """The content digest of every image that is here."""
        with _translated(Sentence("Listing images")):
            return frozenset(row["Id"] for row in self._api.images(all=True))

    def registry_digests(self, digest: str) -> frozenset[str]:
        """By which digests registries have an image that is here: those of its manifests."""
        with _translated(Sentence("Looking for image {digest}", digest=digest[:19])):
            found = self._api.inspect_image(digest)["RepoDigests"] or ()
        return frozenset(name.rpartition("@")[2] for name in found)

    def ask_registry(self, uri: str, login: Login | None) -> str:
        """The digest by which the registry has an image; Docker logs in for this one call.

        Raises PullError with Docker's words where it is refused.
        """
        if not REFERENCE.fullmatch(uri) or ".." in uri:  # it becomes a part of an address
            raise PullError("invalid reference format")
        url = f"{self._api.base_url}/v{self._api.api_version}/distribution/{uri}/json"
        with _in_its_words():
            response = self._api.get(url, headers=_auth(login), timeout=ASK_S)
            _raise_for_status(response)
            return response.json()["Descriptor"]["digest"]

    def pull(self, uri: str, login: Login | None, silence_s: float) -> Pull:
        """Begin to pull an image; Docker logs in for this one call, else asks as nobody.

        It breaks off where Docker says nothing for `silence_s`.
        Raises PullError with Docker's words where it is refused at once.
        """
        repository, tag = docker.utils.parse_repository_tag(uri)
        url = f"{self._streams.base_url}/v{self._streams.api_version}/images/create"
        with _in_its_words():
            response = self._streams.post(url, headers=_auth(login), stream=True,
                                          timeout=silence_s, params={
                                              "fromImage": repository, "tag": tag or "latest"})
            _raise_for_status(response)
        return Pull(response)

    def remove_image(self, digest: str) -> None:
        """Raises EngineError where a container uses it, or it is somebody's parent."""
        with _translated(Sentence("Removing image {digest}", digest=digest[:19])):
            self._api.remove_image(digest)

    # -- containers ---------------------------------------------------------------------------

    def create(self, launch: LaunchSpec) -> str:
        """Create the container and return its id; one of that name is removed if it never ran."""
        published = () if launch.host_network else launch.ports
        with _translated(Sentence("Creating container {name}", name=launch.name)):
            config = self._api.create_host_config(
                mounts=[types.Mount(bind.target, str(bind.source), type="bind",
                                    read_only=bind.read_only) for bind in launch.binds],
                network_mode="host" if launch.host_network else "bridge",
                port_bindings={port: port for port in published} or None,
                init=True, security_opt=["no-new-privileges"], pids_limit=launch.pids_limit,
                nano_cpus=int(launch.cpu * 1e9), mem_limit=f"{launch.memory_mb}m",
                memswap_limit=f"{launch.memory_mb}m", shm_size=f"{launch.shm_mb}m",
                log_config=LOG_CONFIG, device_requests=_device_requests(launch.gpus),
                devices=[f"{path}:{path}:rwm" for path in launch.devices])
            created = self._api.create_container(
                launch.image, name=launch.name, entrypoint=list(launch.command), command=[],
                environment=dict(launch.environment), working_dir=launch.work_dir, user=launch.user,
                labels={**launch.labels, LABEL: self.runner_id,
                        LABEL_NETWORK: self.own_network()},
                ports=list(published) or None, host_config=config)
        return created["Id"]

    def start(self, container: str) -> None:
        """Raises EngineError; where the image is to blame, it is none of the platform's."""
        try:
            with _translated(Sentence("Starting the container")):
                self._api.start(container)
        except EngineAwayError:
            raise
        except EngineError as error:
            is_platform = error.is_platform and not IMAGE_FAULTS.search(error.message)
            raise EngineError(error.message, is_platform=is_platform) from error

    def find(self, name: str) -> Container | None:
        """The container of that name or id, None when there is none."""
        try:
            with _translated(Sentence("Looking for container {name}", name=name)):
                found = self._api.inspect_container(name)
        except EngineError as error:
            if isinstance(error.__cause__, docker_errors.NotFound):
                return None
            raise
        state = found["State"]
        return Container(id=found["Id"], name=found["Name"].lstrip("/"), status=state["Status"],
                         exit_code=state["ExitCode"], oom_killed=state["OOMKilled"],
                         error=state.get("Error", ""), labels=found["Config"]["Labels"] or {},
                         started_at=state["StartedAt"])

    def was_killed(self, container: str) -> bool:
        """Whether that was asked of Docker, which remembers it until it is restarted."""
        until = datetime.fromisoformat(self.info()["SystemTime"]).timestamp()  # by Docker's clock
        with _translated(Sentence("Asking how the container ended")):
            kills = self._api.events(
                since=0, until=f"{until:.9f}", decode=True,
                filters={"container": container, "event": "kill", "type": "container"})
            return next(iter(kills), None) is not None

    def lives(self) -> int:
        """Grows whenever this Docker has ended and another one answers; see Lifeline."""
        with _translated(Sentence("Asking Docker")):
            return self._lifeline.lives()

    def own_network(self) -> str:
        """The bridge's id; empty where Docker has been told to make none."""
        lives = self.lives()
        if self._network[0] != lives:
            with _translated(Sentence("Asking Docker")):
                found = self._api.networks(names=["bridge"])
            self._network = lives, next(
                (each["Id"] for each in found if each["Name"] == "bridge"), "")
        return self._network[1]

    def pid(self, container: str) -> int | None:
        """The first process of a running container as this machine numbers it; else None."""
        try:
            with _translated(Sentence("Looking at the container")):
                return self._api.inspect_container(container)["State"]["Pid"] or None
        except EngineError as error:
            if isinstance(error.__cause__, docker_errors.NotFound):
                return None
            raise

    def has_processes(self, container: str) -> bool:
        """Whether a container has any that Docker finds; True also where Docker cannot look."""
        try:
            with _translated(Sentence("Looking at the container")):
                return bool(self._api.top(container)["Processes"])
        except EngineError as error:
            return "is not running" not in error.message

    def kill(self, container: str) -> None:
        with _translated(Sentence("Killing the container")):
            self._api.kill(container)

    def is_own(self, container: Container) -> bool:
        """Whether this runner made it."""
        return container.labels.get(LABEL) == self.runner_id

    def own(self) -> list[tuple[str, str, dict[str, str]]]:
        """Id, name and labels of every container that this runner made."""
        with _translated(Sentence("Listing containers")):
            rows = self._api.containers(all=True, filters={"label": f"{LABEL}={self.runner_id}"})
        return [(row["Id"], row["Names"][0].lstrip("/"), row["Labels"]) for row in rows]

    def wait(self, container: str, timeout_s: float) -> None:
        """Return when the container has ended, at the latest after `timeout_s`."""
        try:
            self._api.wait(container, timeout=timeout_s)
        except (docker_errors.DockerException, requests.RequestException,
                urllib3.exceptions.HTTPError, OSError):
            return

    def stop(self, container: str, grace_s: float) -> None:
        """SIGTERM, then SIGKILL after `grace_s`; an ended or missing container is no error."""
        try:
            with _translated(Sentence("Stopping the container")):
                self._streams.stop(container, timeout=int(grace_s))
        except EngineError as error:
            if not isinstance(error.__cause__, docker_errors.NotFound):
                raise

    def remove(self, container: str) -> None:
        """Remove the container and its anonymous volumes; a missing one is no error."""
        try:
            with _translated(Sentence("Removing the container")):
                self._api.remove_container(container, force=True, v=True)
        except EngineError as error:
            if not isinstance(error.__cause__, docker_errors.NotFound):
                raise

    # -- programs beside a container's own ------------------------------------------------------

    def run(self, container: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Run a short program in a container; returns when it has ended, however it did."""
        with _translated(Sentence("Running a command in the container")):
            self._api.exec_start(self._api.exec_create(
                container, list(command), environment=dict(environment))["Id"])

    def open_terminal(self, container: str, command: Sequence[str],
                      environment: Mapping[str, str]) -> tuple[str, requests.Response]:
        """Run a program on a terminal: its id, and the connection that reads and types."""
        with _translated(Sentence("Opening a terminal in the container")):
            id_ = self._api.exec_create(
                container, list(command), stdin=True, tty=True, environment=dict(environment),
                detach_keys=DETACH_KEYS)["Id"]
            response = self._streams.post(
                f"{self._streams.base_url}/v{self._streams.api_version}/exec/{id_}/start",
                json={"Tty": True, "Detach": False}, stream=True,
                headers={"Connection": "Upgrade", "Upgrade": "tcp"})
            _raise_for_status(response)
        return id_, response

    def resize_terminal(self, id_: str, columns: int, rows: int) -> None:
        with _translated(Sentence("Resizing a terminal")):
            self._api.exec_resize(id_, height=rows, width=columns)

    def terminal_state(self, id_: str) -> tuple[bool, int | None]:
        """Whether the program of a terminal was ever started, and its exit code; None: it runs."""
        with _translated(Sentence("Looking at a terminal")):
            found = self._api.exec_inspect(id_)
        return bool(found["Pid"]), found["ExitCode"]

    # -- streams ------------------------------------------------------------------------------

    def attach(self, container: str) -> Iterator[Piece]:
        """Connect to the output of a container that has not started; yields until it ends."""
        with _translated(Sentence("Attaching to the container")):
            connection = self._streams.attach_socket(
                container, params={"stdout": 1, "stderr": 1, "stream": 1})
        return self._attached(connection)

    def _attached(self, connection: Any) -> Iterator[Piece]:
        with _translated(Sentence("Reading the container's output")), connection:
            yield from unframed(iter(lambda: connection.read(READ_BYTES), b""))

    def log(self, container: str, skip: Mapping[str, int]) -> Iterator[Piece]:
        """The output of a started container from its first byte, less `skip` bytes a stream.

        Nothing where the container is gone.
        """
        left = dict(skip)
        with _translated(Sentence("Reading the container's log")):
            api = self._streams
            url = f"{api.base_url}/v{api.api_version}/containers/{container}/logs"
            with api.get(url, stream=True, params={
                    "stdout": 1, "stderr": 1, "follow": 1, "timestamps": 1}) as response:
                if response.status_code == requests.codes.not_found:
                    return
                response.raise_for_status()
                for piece in unframed_log(_body(response)):
                    dropped = min(left[piece.stream], len(piece.data))
                    left[piece.stream] -= dropped
                    if piece.data[dropped:]:
                        yield piece._replace(data=piece.data[dropped:])


def _lasting(api: docker.APIClient) -> Any:
    """A connection that hears of nothing and ends with Docker."""
    response = api.get(f"{api.base_url}/v{api.api_version}/events", stream=True,
                       params={"filters": '{"container": ["none"]}'})
    _raise_for_status(response)
    return response.raw


def _auth(login: Login | None) -> dict[str, str]:
    """The header that carries a login; nothing of it is kept, here or by Docker."""
    if login is None:
        return {}
    return {"X-Registry-Auth": docker.auth.encode_header({
        "username": login.username, "password": login.secret, "serveraddress": login.server})}


def _raise_for_status(response: requests.Response) -> None:
    try:
        response.raise_for_status()
    except requests.HTTPError as error:
        docker_errors.create_api_error_from_http_exception(error)


def _device_requests(gpus: tuple[str, ...]) -> list[types.DeviceRequest] | None:
    if not gpus:
        return None
    return [types.DeviceRequest(device_ids=list(gpus), capabilities=[["gpu"]])]


def _body(response: requests.Response) -> Iterator[bytes]:
    """A body as it comes; the libraries below would take it apart chunk by chunk, slowly."""
    raw: Any = response.raw
    connection = raw._fp.fp
    return unchunked(iter(lambda: connection.read1(READ_BYTES), b""))
