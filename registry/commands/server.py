"""Commands that run a whole server: serve and demo."""
from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
import threading
from typing import Mapping

import click

from registry.config import Settings
from registry.demo import Demo
from registry.errors import RegistryError
from registry.server import Server, running
from registry.terminal import Terminal

host_option = click.option("--host", help="Address to listen on; HOST, else 127.0.0.1.")
port_option = click.option("--port", help="Port to listen on; PORT, else 8080.")


@click.command()
@host_option
@port_option
def serve(host: str | None, port: str | None) -> int:
    """Serve registry, sync and runner.

    Keeps its state under PAISHARE_HOME (~/.paishare). The first start creates the user admin and
    prints its password once. Processes that die are started again. Ctrl-C or SIGTERM stops them;
    containers go on and are taken up again at the next start.
    """
    terminal = Terminal()
    try:
        with running(_settings(os.environ, host, port), say=terminal.say) as server:
            _greet(terminal, server)
            _warn_without_runner(terminal, server)
            threading.Event().wait()
    except KeyboardInterrupt:
        terminal.say("Stopped. Containers go on and are taken up again at the next start.")
    return 0


@click.command()
@host_option
@port_option
def demo(host: str | None, port: str | None) -> int:
    """Serve, and train a first model on the bundled digits.

    Submits job/digits_classifier through the public HTTP API and follows it to its end. On a
    terminal it then serves until Ctrl-C; otherwise it stops everything and exits with 0, or with
    1 if the job did not succeed.
    """
    terminal = Terminal()
    with running(_settings(os.environ, host, port), say=terminal.say) as server:
        try:
            has_succeeded = Demo(server, terminal).run()
        finally:
            _say_login(terminal, server)
        if sys.stdout.isatty():
            _wait_for_interrupt()
    return 0 if has_succeeded else 1


def _settings(environ: Mapping[str, str], host: str | None, port: str | None) -> Settings:
    """The options win over the environment. From here on SIGTERM ends as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    given = {"HOST": host, "PORT": port}
    return Settings.from_environ(
        {**environ, **{name: value for name, value in given.items() if value}})


def _greet(terminal: Terminal, server: Server) -> None:
    try:
        server.wait_for_web()
        terminal.result(f"PAIShare serves at {server.url}. State and logs: {server.settings.home}")
    finally:
        _say_login(terminal, server)


def _say_login(terminal: Terminal, server: Server) -> None:
    """The first password is known only now: it is said whatever else went wrong."""
    if server.password:
        terminal.result(f"Log in at {server.url}/login as admin, password: {server.password}\n"
                        "It is shown only this once; change it under Settings.")
    else:
        found = shutil.which(sys.argv[0])
        command = [os.path.abspath(found)] if found else [sys.executable, "-m", "registry.cli"]
        terminal.result(f"Log in at {server.url}/login as admin. Password lost? PAISHARE_HOME="
                        f"{shlex.quote(str(server.settings.home))} "
                        f"{shlex.join([*command, 'passwd', 'admin'])}")


def _wait_for_interrupt() -> None:
    try:
        click.echo("Serving until Ctrl-C.")
        threading.Event().wait()
    except KeyboardInterrupt:
        click.echo("Stopped.")


def _warn_without_runner(terminal: Terminal, server: Server) -> None:
    """The pages work without a runner, so this is no reason to end."""
    try:
        server.wait_for_runner()
    except RegistryError as error:
        terminal.say(f"Jobs cannot run yet. {error.message}", "yellow")
