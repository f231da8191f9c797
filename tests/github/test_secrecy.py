"""The token of `make test-github` is neither printed nor an argument of anything that it starts."""
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOKEN = "ghp_thisTokenMustNeverShowAnywhere0000000"


def test_a_failing_run_on_the_real_github_does_not_print_the_token(github):
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/github/test_flows.py", "--tb=native", "-rs",
         "-p", "no:cacheprovider", "-k", "real and (token or name)"], cwd=ROOT, text=True,
        capture_output=True, env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"],
                                  "GITHUB_TOKEN": TOKEN, "GITHUB_ORG": "acme",
                                  "GITHUB_URL": github.url})
    assert "Bad credentials" in run.stdout or "GitHub does not accept" in run.stdout, run.stdout
    assert run.returncode == 1 and TOKEN not in run.stdout + run.stderr


def test_make_passes_the_token_on_by_the_environment_alone():
    shown = subprocess.run(["make", "-n", "test-github"], cwd=ROOT, capture_output=True, text=True,
                           env={**os.environ, "GITHUB_TOKEN": TOKEN, "GITHUB_ORG": "acme"},
                           check=True).stdout
    assert "pytest tests/github" in shown and TOKEN not in shown
    assert not re.search(r"\$[({]GITHUB_TOKEN", (ROOT / "Makefile").read_text())
