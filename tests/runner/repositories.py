"""Real repositories, made with git itself."""
import os
import subprocess

ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
           "GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.org",
           "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.org"}


def git(folder, *arguments):
    done = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(folder), *arguments],
                          env=ENVIRON, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def make_repository(folder):
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    return folder


def commit(folder, files, message="change"):
    """Commit `files` (name to text; None removes) and return the commit."""
    for name, text in files.items():
        path = folder / name
        if text is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if text.startswith("#!"):
            path.chmod(0o755)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)
    return git(folder, "rev-parse", "HEAD")
