import subprocess
import sys

import pytest

from tests import postgresql as pg
from tests.fakes import quick_app
from tests.fakes.github.fixtures import github, github_contract, github_server  # noqa: F401
from tests.functional import product
from tests.functional.runner_process import ROOT
from tests.postgresql import database_url, databases, postgresql  # noqa: F401

quick_app.quicken()


def pytest_report_header():
    return [] if pg.programs() else [f"{pg.MISSING}. The tests that need it are skipped."]


@pytest.fixture(scope="session")
def digits_image():
    """The image of the bundled jobs, built on the spot where it is missing."""
    built = subprocess.run([sys.executable, "-m", "runner", "build-image"], cwd=ROOT, text=True,
                           capture_output=True)
    assert built.returncode == 0, built.stderr
    return product.IMAGE
