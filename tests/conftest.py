import itertools
import subprocess
import sys

import pytest

from tests import postgresql as pg
from tests.fakes import quick_app
from tests.fakes.github.fixtures import github, github_contract, github_server  # noqa: F401
from tests.functional import product
from tests.functional.runner_process import ROOT
from tests.postgresql import database_url, databases, postgresql  # noqa: F401

WAITING = ("browser", "functional", "marketplace")
quick_app.quicken()


def pytest_collection_modifyitems(items):
    """Files that wait for containers and browsers take turns with those that compute.

    So no core is idle, and what takes long is not left for the end.
    """
    files = list(dict.fromkeys(item.path for item in items))
    waiting = [path for path in files if path.parent.name in WAITING]
    computing = [path for path in files if path.parent.name not in WAITING]
    turns = itertools.chain.from_iterable(itertools.zip_longest(waiting, computing))
    places = {path: number for number, path in enumerate(turns)}
    items.sort(key=lambda item: places[item.path])


def pytest_report_header():
    return [] if pg.programs() else [f"{pg.MISSING}. The tests that need it are skipped."]


def pytest_terminal_summary(terminalreporter):
    """Why tests were tried again, which their passing afterwards would hide."""
    for report in terminalreporter.getreports("rerun"):
        terminalreporter.section(f"tried again: {report.nodeid}")
        terminalreporter.write_line(report.longreprtext)


@pytest.fixture(scope="session")
def digits_image():
    """The image of the bundled jobs, built on the spot where it is missing."""
    built = subprocess.run([sys.executable, "-m", "runner", "build-image"], cwd=ROOT, text=True,
                           capture_output=True)
    assert built.returncode == 0, built.stderr
    return product.IMAGE
