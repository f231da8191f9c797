"""A real S3 server, SeaweedFS, on free ports of 127.0.0.1."""
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

WEED = Path(sys.executable).with_name("weed")
START_S = 60
PORTS = ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port",
         "filer.port.grpc", "s3.port", "s3.port.grpc")


class S3Server:
    """Who has the two keys may do everything."""

    access_key, secret_key = "the-access-key", "the-very-secret-key"

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="paishare-s3-"))
        while not self._starts():  # somebody was quicker to take one of its ports
            pass
        return self

    def _starts(self):
        ports = dict(zip(PORTS, free_ports(len(PORTS))))
        self.port = ports["s3.port"]
        rights = self.folder / "rights.json"
        rights.write_text(json.dumps({"identities": [{
            "name": "all", "actions": ["Admin", "Read", "Write", "List"],
            "credentials": [{"accessKey": self.access_key, "secretKey": self.secret_key}]}]}))
        with open(self.folder / "log", "wb") as log:
            self._process = subprocess.Popen(
                [WEED, "-logtostderr=true", "server", f"-dir={self.folder}", "-ip=127.0.0.1",
                 "-ip.bind=127.0.0.1", "-s3", f"-s3.config={rights}", "-volume.max=20",
                 "-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false",
                 "-master.volumeSizeLimitMB=64", "-volume.preStopSeconds=0",
                 *(f"-{name}={port}" for name, port in ports.items())],
                stdout=log, stderr=log)
        deadline = time.monotonic() + START_S
        while not self._answers():
            said = (self.folder / "log").read_text()
            assert time.monotonic() < deadline, said[-2000:]
            if self._process.poll() is not None:
                assert "address already in use" in said, said[-2000:]
                return False
            time.sleep(0.05)
        return True

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self.folder)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def _answers(self):
        try:
            urllib.request.urlopen(self.url).close()
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
