"""Debian's docker-registry on this machine, behind a gate that holds back what is large."""
from __future__ import annotations

import re
import shutil
import socket
import subprocess
import tarfile
import threading
import time
from io import BytesIO
from pathlib import Path
from random import Random

import docker

from tests.functional.runner_process import IMAGE, wait_for

SECRETS = {"ann": "Kanarienvogel7+=ann", "bob": "Zaunkoenig7+=bob"}
HASHES = (  # of these, by htpasswd -B
    "ann:$2y$05$yV5fNonKIsLGqYO30vx8mONpQo9ViYq7PMQ0khZy7Lb3jDsduyCB6\n"
    "bob:$2y$05$ixg7BjOaSU2Y233PdCzc.u1eAAcUCWQCA8ryUn1uCQegOHW1YLzhu\n")
FREE_BYTES = 64 << 10  # of one connection, which pass a closed gate: manifests, but no layer
CONFIG = """version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {folder}/data}}, delete: {{enabled: true}}}}
http: {{net: unix, addr: {folder}/socket}}
"""
ACCESS = "auth: {{htpasswd: {{realm: paishare, path: {folder}/passwords}}}}\n"


class Registry:
    """`name` is what images of it begin with; `asked` the paths that it was asked for.

    A closed `gate` holds back every large answer; `held` counts those.
    """

    def __init__(self, folder: Path, *, is_private: bool = True) -> None:
        assert shutil.which("docker-registry"), "run tools/setup.sh image-tools"
        folder.mkdir(parents=True)
        (folder / "passwords").write_text(HASHES)
        text = CONFIG + (ACCESS if is_private else "")
        (folder / "config.yml").write_text(text.format(folder=folder))
        self.asked: list[str] = []
        self.held = 0
        self._left_closed: list[threading.Event] = []
        self.gate = threading.Event()
        self.gate.set()
        self._folder = folder
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.name = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.docker = docker.from_env()
        self.start()
        threading.Thread(target=self._accept, daemon=True).start()

    def start(self) -> None:
        (self._folder / "socket").unlink(missing_ok=True)
        self._process = subprocess.Popen(
            ["docker-registry", "serve", str(self._folder / "config.yml")],
            stdout=subprocess.DEVNULL, stderr=(self._folder / "log").open("ab"))
        wait_for((self._folder / "socket").exists, "the registry listens", 60)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def open_for_new(self) -> None:
        """Hold back no more answers; what is held back stays so."""
        self._left_closed.append(self.gate)
        self.gate = threading.Event()
        self.gate.set()
        self.held = 0

    def close(self) -> None:
        for gate in (*self._left_closed, self.gate):
            gate.set()
        self.stop()
        self._listener.close()
        for image in self.docker.api.images():  # those of a tag that has moved have none
            names = (*(image["RepoTags"] or ()), *(image["RepoDigests"] or ()))
            if any(name.startswith(self.name) for name in names):
                self.docker.images.remove(image["Id"], force=True)
        self.docker.close()

    def login(self, user: str) -> dict[str, str]:
        return {"server": self.name, "username": user, "secret": SECRETS[user]}

    def push(self, image: str, layers: int = 1, layer_bytes: int = 1000) -> str:
        """An image that nobody has yet, of busybox and layers of noise; here it is no more."""
        uri, noise = f"{self.name}/{image}", Random(f"{image} {time.time_ns()}")
        base = IMAGE
        for number in range(layers):
            container = self.docker.containers.create(base, command=["true"])
            container.put_archive("/", _packed(f"noise-{number}", noise.randbytes(layer_bytes)))
            base = container.commit().id
            container.remove()
        self.docker.api.tag(base, *uri.rsplit(":", 1))
        said = self.docker.images.push(uri, auth_config={
            "username": "ann", "password": SECRETS["ann"]})
        assert "error" not in said, said
        self.docker.images.remove(uri, force=True)
        self.asked.clear()
        return uri

    def has_it(self, uri: str) -> bool:
        """Whether the image is on this machine."""
        return bool(self.docker.images.list(uri))

    def layers_fetched(self) -> int:
        return sum("/blobs/" in path for path in self.asked)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(str(self._folder / "socket"))
            except OSError:
                client.close()
                continue
            for way in (self._to_registry, self._to_docker):
                threading.Thread(target=way, args=(client, server), daemon=True).start()

    def _to_registry(self, client: socket.socket, server: socket.socket) -> None:
        with client, server:
            for data in _chunks(client):
                self.asked += [each.decode() for each in re.findall(rb"GET (/v2/\S+) HTTP", data)]
                server.sendall(data)
            _shut(server)

    def _to_docker(self, client: socket.socket, server: socket.socket) -> None:
        passed = 0
        for data in _chunks(server):
            passed += len(data)
            if passed > FREE_BYTES and not self.gate.is_set():
                self.held += 1
                self.gate.wait()
            try:
                client.sendall(data)
            except OSError:
                break
        _shut(client)


def _chunks(source: socket.socket):
    try:
        while data := source.recv(1 << 15):
            yield data
    except OSError:
        return


def _shut(each: socket.socket) -> None:
    try:
        each.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def _packed(name: str, content: bytes) -> bytes:
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        archive.addfile(entry, BytesIO(content))
    return packed.getvalue()
