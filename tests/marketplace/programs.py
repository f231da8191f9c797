"""Run the bundled programs as a task would: own process, PAI_ variables, an output folder."""
import os
import socket
import subprocess
import sys
from pathlib import Path

MARKETPLACE = Path(__file__).parents[2] / "marketplace"
PROGRAMS = MARKETPLACE / "scripts" / "digits"
DATA = MARKETPLACE / "files" / "digits.csv.gz"


def start(program, *options, output=Path("unused"), **environ):
    environ = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1",
               "PAI_OUTPUT_DIR": output, **environ}
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(PROGRAMS / program), *map(str, options)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={name: str(value) for name, value in environ.items()})


def run(program, *options, **settings):
    """Exit code, stdout and stderr."""
    with start(program, *options, **settings) as process:
        out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def stop(process):
    """SIGTERM, then its exit code; what it wrote is in `process.communicate()`."""
    process.terminate()
    out, _ = process.communicate(timeout=20)
    return process.returncode, out


def free_ports(count):
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports
