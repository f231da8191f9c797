"""The command `paishare`: which words there are, and how it ends."""
from __future__ import annotations

import contextlib
import importlib
import keyword
import logging
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

import click

from registry.error_text import error_lines
from registry.errors import RegistryError

OK, FAILED, USAGE, NOT_LOGGED_IN, NOT_FOUND, UNREACHABLE, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
EXIT_CODES = {"Unauthorized": NOT_LOGGED_IN, "NotFound": NOT_FOUND,
              "Gone": NOT_FOUND, "ServerUnreachable": UNREACHABLE,
              "RunnerUnavailable": UNREACHABLE}


@dataclass(frozen=True, kw_only=True)
class Word:
    """One command: its module under registry.commands and its line in the list."""

    module: str
    help: str
    group: str


WORDS = {
    "search": Word(module="search", group="Marketplace",
                   help="Find components by words and filters."),
    "show": Word(module="marketplace", group="Marketplace",
                 help="Show one component: description, parameters, versions."),
    "diff": Word(module="versions", group="Marketplace",
                 help="Compare two versions of a component, in words."),
    "changelog": Word(module="versions", group="Marketplace",
                      help="Tell what each version of a component changed, newest first."),
    "uses": Word(module="versions", group="Marketplace",
                 help="Tell what a version uses, who uses it, and what a yank would change."),
    "validate": Word(module="validation", group="Marketplace",
                     help="Check component files on this machine."),
    "convert": Word(module="conversion", group="Marketplace",
                    help="Turn a job of OpenPAI's other forms into one that runs here."),
    "yank": Word(module="marks", group="Marketplace",
                 help="Hide a version from `latest`, ranges and lists."),
    "deprecate": Word(module="marks", group="Marketplace",
                      help="Advise against a component or version."),
    "purge": Word(module="marks", group="Marketplace",
                  help="Delete the text of one version for good."),
    "publish": Word(module="publishing", group="Marketplace",
                    help="Propose a component file to GitHub, or put it on your shelf."),
    "submit": Word(module="jobs", group="Jobs",
                   help="Submit a job, from a file or from the marketplace."),
    "jobs": Word(module="jobs", group="Jobs", help="List jobs, newest first."),
    "job": Word(module="jobs", group="Jobs", help="Show one job: state, reason, tasks, events."),
    "logs": Word(module="jobs", group="Jobs", help="Print what a job's tasks wrote."),
    "receipt": Word(module="receipts", group="Jobs",
                    help="Show what an attempt truly ran with, or compare two."),
    "again": Word(module="receipts", group="Jobs",
                  help="Run exactly what a job ran: the same images and inputs."),
    "stop": Word(module="jobs", group="Jobs", help="Ask jobs to stop."),
    "shell": Word(module="shell", group="Jobs",
                  help="Open a shell in a running task of one of your jobs."),
    "release": Word(module="jobs", group="Jobs",
                    help="Remove the failed containers that a job with isDebug has kept."),
    "queue": Word(module="queueing", group="Jobs",
                  help="See the machine's queue; as an admin, pause it."),
    "artifacts": Word(module="artifacts", group="Jobs",
                      help="List the files that a job wrote, or download them."),
    "source": Word(module="sources", group="Sources",
                   help="Add, list, show or remove the repositories and folders that are indexed."),
    "sync": Word(module="sources", group="Sources",
                 help="Bring the catalog to a source's newest commit."),
    "login": Word(module="account", group="Account", help="Log in and keep a token."),
    "logout": Word(module="account", group="Account", help="Revoke and forget the token."),
    "passwd": Word(module="password", group="Account", help="Change a password."),
    "github": Word(module="github", group="Account",
                   help="Your access to GitHub: private repositories, and pull requests."),
    "registry": Word(module="registries", group="Account",
                     help="Your logins to image registries, for jobs whose images are private."),
    "serve": Word(module="server", group="Server", help="Serve registry, sync and runner."),
    "export": Word(module="dump", group="Server",
                   help="Write the whole catalog into one signed file."),
    "import": Word(module="dump", group="Server",
                   help="Restore a catalog that `paishare export` wrote."),
    "catalog": Word(module="catalog", group="Server",
                    help="The catalog as a whole, for the operator, on the server's machine."),
    "rotate-keys": Word(module="keys", group="Server",
                        help="Seal every GitHub token and registry login with a new key."),
    "demo": Word(module="server", group="Server",
                 help="Serve, and train a first model on the bundled digits."),
}


class LazyGroup(click.Group):
    """Imports a command's module when the command is used, so that --help is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(WORDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in WORDS:
            return None
        module = importlib.import_module(f"registry.commands.{WORDS[cmd_name].module}")
        name = cmd_name.replace("-", "_")
        return getattr(module, f"{name}_" if keyword.iskeyword(name) else name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group in dict.fromkeys(word.group for word in WORDS.values()):
            with formatter.section(group):
                formatter.write_dl([(name, word.help) for name, word in WORDS.items()
                                    if word.group == group])


@click.command(cls=LazyGroup, epilog=(
    "Exit codes: 0 done, 1 the job failed or the file is invalid, 2 wrong usage, 3 not logged in, "
    "4 not found, 5 server out of reach, 130 interrupted."))
@click.version_option(package_name="paishare")
def paishare() -> None:
    """A marketplace of machine-learning jobs that live in Git, run again with one command.

    Start everything on this machine with `paishare serve`, then `paishare login`.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code and never raises but SystemExit."""
    try:
        return paishare.main(arguments, prog_name="paishare", standalone_mode=False) or OK
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except RegistryError as error:
        click.secho("\n".join(error_lines(error)), fg="red", err=True)
        return EXIT_CODES.get(error.code, FAILED)
    except BrokenPipeError:
        # The reader of a pipe has gone; point stdout elsewhere so that the exit stays silent.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        return _unexpected(error)


def _unexpected(error: Exception) -> int:
    """Say it in one line, keep the rest in a file that can be sent along."""
    folder = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser() / "paishare"
    handler: logging.Handler = logging.StreamHandler()
    place = ""
    with contextlib.suppress(OSError):  # a full disk is often what went wrong before
        folder.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(folder / "error.log")
        place = f" (details in {folder / 'error.log'})"
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log = logging.getLogger("paishare")
    log.addHandler(handler)
    log.error("%s", " ".join(sys.argv[:2]), exc_info=error)
    handler.close()
    click.echo(f"paishare: this should not have happened: {error}{place}", err=True)
    return FAILED


if __name__ == "__main__":
    sys.exit(main())
