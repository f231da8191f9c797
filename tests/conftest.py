import subprocess
import sys

import pytest

from tests.functional import product
from tests.functional.runner_process import ROOT


@pytest.fixture(scope="session")
def digits_image():
    """The image of the bundled jobs, built on the spot where it is missing."""
    built = subprocess.run([sys.executable, "-m", "runner", "build-image"], cwd=ROOT, text=True,
                           capture_output=True)
    assert built.returncode == 0, built.stderr
    return product.IMAGE
