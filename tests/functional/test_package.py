"""The wheel as a user installs it: everything is in it, and it serves from an empty folder."""
import ast
import configparser
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import zipfile
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
import requests
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.functional.product import free_port
from tests.functional.runner_process import ROOT, wait_for


def project_files(*folders: str) -> list[str]:
    """What belongs to the project: every file that Git does not ignore."""
    answer = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *folders],
        cwd=ROOT, capture_output=True, check=True, text=True)
    return [name for name in answer.stdout.split("\0") if name and (ROOT / name).exists()]


def imports_of(path: Path) -> set[str]:
    """The top names of everything that a module imports."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    return {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import)
            for alias in node.names} | {
        node.module.split(".")[0] for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module}


def libraries_of(requirements: list[str]) -> set[str]:
    """What pip would install for them, by the metadata of what is installed here."""
    found: set[str] = set()
    queue = [Requirement(text) for text in requirements]
    while queue:
        wanted = queue.pop()
        name = canonicalize_name(wanted.name)
        if name not in found and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
            found.add(name)
            queue += [Requirement(text) for text in requires(name) or ()]
    return found


def build(folder: Path) -> Path:
    """A wheel, made aside so that the checkout stays as it is."""
    for name in project_files():
        target = folder / "source" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    litter = folder / "source" / "marketplace" / "scripts" / "__pycache__" / "train.pyc"
    litter.parent.mkdir()
    litter.touch()
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps",
                    "--no-build-isolation", "-w", folder, folder / "source"], check=True)
    return next(folder.glob("paishare-*.whl"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def command(wheel, tmp_path_factory):
    """`paishare` installed from the wheel; its dependencies are those of this environment."""
    venv = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    packages = next(venv.glob("lib/python*/site-packages"))
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    subprocess.run([sys.executable, "-m", "pip", "--python", venv / "bin" / "python", "install",
                    "--quiet", "--no-deps", "--no-index", wheel], check=True)
    return venv / "bin" / "paishare"


@pytest.fixture(scope="module")
def served(command, tmp_path_factory):
    """The URL of a server that runs in an empty folder, and what it said."""
    folder, port = tmp_path_factory.mktemp("empty"), free_port()
    environ = {**os.environ, "PAISHARE_HOME": str(folder / "home"), "PORT": str(port)}
    with (folder / "said.txt").open("wb") as said:
        process = subprocess.Popen([command, "serve"], cwd=folder, env=environ, stdout=said,
                                   stderr=subprocess.STDOUT)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: "Log in" in (folder / "said.txt").read_text() or process.poll(),
                 "the server greets", 60)
        yield url, folder / "said.txt"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def test_pages_schemas_migrations_and_marketplace_are_in_the_wheel(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder, target in (("templates", "registry/templates"),
                           ("marketplace", "registry/marketplace"),
                           ("registry", "registry"), ("runner", "runner")):
        expected = {target + name.removeprefix(folder) for name in project_files(folder)}
        assert expected - names == set()


def test_the_wheel_holds_no_tests_and_no_state(wheel):
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert tops == {"registry", "runner", next(top for top in tops if top.endswith(".dist-info"))}


def test_the_wheel_holds_nothing_that_python_compiled(wheel):
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if "__pycache__" in name]


def test_every_library_that_is_imported_comes_with_the_package():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    installed = libraries_of(config["options"]["install_requires"].split())
    for path in (*ROOT.glob("registry/**/*.py"), *ROOT.glob("runner/**/*.py")):
        for name in imports_of(path) - sys.stdlib_module_names - {"registry", "runner"}:
            owners = {canonicalize_name(each) for each in packages_distributions()[name]}
            assert owners & installed, f"{path} imports {name}, which setup.cfg does not name"


def test_the_installed_command_knows_its_version(command):
    answer = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert answer.stdout == "paishare, version 0.1.0\n"


def test_the_installed_server_shows_its_pages_and_tells_the_first_password(served):
    url, said = served
    front = requests.get(url, timeout=60)
    assert front.status_code == 200 and "PAIShare" in front.text
    assert re.search(r"password: \S{8,}", said.read_text())


def test_the_installed_server_indexes_the_bundled_marketplace(served):
    url, _ = served
    path = f"{url}/api/v3/components/job/digits_classifier"
    wait_for(lambda: requests.get(path, timeout=60).ok, "the classifier is indexed", 60)


def test_the_installed_server_serves_its_static_files(served):
    url, _ = served
    front = requests.get(url, timeout=60).text
    paths = re.findall(r'(?:href|src)="(/static/[^"]+)"', front)
    assert paths and all(requests.get(url + path, timeout=60).ok for path in paths)
