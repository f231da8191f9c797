"""Commands about jobs: submit, jobs, job, logs, stop."""
from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping, Sequence

import click

from registry.api_client import ApiClient
from registry.commands.options import api_command
from registry.error_text import error_lines
from registry.errors import InvalidInputError
from registry.job_stream import JobStream, TaskChoice
from registry.log_printer import LogPrinter, follow
from registry.terminal import Terminal, local_time, size
from runner.spec import JOB_STATES, SUCCEEDED

# When a job starts that fits so; None: the runner says when.
FIT_STARTS = {"now": "as soon as all of it is here", "later": None,
              "never": "never on this machine"}


@click.command()
@click.argument("job", metavar="FILE|REFERENCE")
@click.option("-p", "--parameter", "parameters", multiple=True, metavar="NAME=VALUE",
              help="Give a parameter of the job a value; may be given more than once.")
@click.option("--name", help="Name of this run; the job's own name when left out.")
@click.option("--follow", "is_followed", is_flag=True,
              help="Print the logs until the job ends; exit with 1 unless it succeeded.")
@click.option("--dry-run", "is_dry", is_flag=True,
              help="Run nothing: say whether it fits, what must be brought here, when it starts.")
@api_command
def submit(client: ApiClient, terminal: Terminal, job: str, parameters: tuple[str, ...],
           name: str | None, is_followed: bool, is_dry: bool) -> int:
    """Submit a job, from a file or from the marketplace.

    A file is a path that exists or ends in .yaml or .yml, or - for standard input. A reference
    is [SOURCE:][TYPE/]NAME[@VERSION]. Values are taken as written. A connection that breaks does
    not submit the job twice. --dry-run ends with 1 for a job that this machine can never run.
    """
    if is_dry and is_followed:
        raise click.UsageError("--dry-run runs nothing, so there is nothing to --follow.")
    body = {**_what(job), "parameters": dict(map(_parameter, parameters))}
    if name:
        body["name"] = name
    try:
        made = client.post("outlook", body=body) if is_dry else client.submit(body)
    except InvalidInputError as error:
        file = job if "yaml" in body else ""
        click.secho("\n".join(error_lines(error, file)), fg="red", err=True)
        return 1
    for warning in made["warnings"]:
        terminal.say(f"warning: {warning['message']}", "yellow")
    if is_dry:
        return _print_outlook(terminal, made)
    if is_followed:
        terminal.say(f"Job {made['id']}: {made['url']}")
        return _follow(JobStream(client, made["id"]), terminal)
    if terminal.is_json:
        terminal.json(made)
    else:
        terminal.result(made["id"])
        terminal.say(f"{made['url']}\nFollow it with: paishare logs -f {made['id']}")
    return 0


@click.command()
@click.option("--state", type=click.Choice(JOB_STATES, case_sensitive=False),
              help="Only jobs in this state.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 100))
@click.option("--all", "is_all", is_flag=True, help="Everyone's jobs; for an admin.")
@api_command
def jobs(client: ApiClient, terminal: Terminal, state: str | None, limit: int,
         is_all: bool) -> None:
    """List jobs, newest first."""
    found = client.get("jobs", state=state, limit=limit, all="true" if is_all else None)
    if terminal.is_json:
        terminal.json(found)
        return
    terminal.table(["id", "name", "user", "state", "created", "reason"], [
        (each["id"], each["name"], each["user"], each["state"], local_time(each["created_at"]),
         each["reason"]) for each in found["jobs"]])


@click.command()
@click.argument("id_", metavar="ID")
@api_command
def job(client: ApiClient, terminal: Terminal, id_: str) -> None:
    """Show one job: state, reason, tasks, events."""
    found = client.get("jobs", id_)
    if terminal.is_json:
        terminal.json(found)
        return
    terminal.fields([
        ("id", found["id"]), ("name", found["name"]), ("user", found["user"]),
        ("state", found["state"]), ("reason", found["reason"]),
        *_place(found), ("created", local_time(found["created_at"])),
        ("started", local_time(found["started_at"])),
        ("finished", local_time(found["finished_at"]))])
    for pull in found["pulls"]:
        terminal.result(f"\n{pull['uri']} is being pulled:")
        terminal.table(["layer", "state", "here", "of"], [
            (layer["id"], layer["state"], size(layer["current"]),
             "" if layer["total"] is None else size(layer["total"])) for layer in pull["layers"]])
    terminal.result("")
    terminal.table(["attempt", "task", "state", "exit", "ip", "ports", "what happened"], [
        (attempt["number"], f"{task['role']}-{task['index']}", task["state"], task["exit_code"],
         task["ip"], _ports(task["ports"]), task["exit_text"])
        for attempt in found["attempts"] for task in attempt["tasks"]])
    for kept in filter(None, (attempt.get("kept") for attempt in found["attempts"])):
        names = ", ".join(task["container"] for task in kept["tasks"])
        terminal.say(f"Kept for debugging until {local_time(kept['until'])}: {names}")
    terminal.result("")
    terminal.table(["time", "stage", "event"], [
        (local_time(event["time"]), event["stage"], event["text"]) for event in found["events"]])


@click.command()
@click.argument("id_", metavar="ID")
@click.option("-f", "--follow", "is_followed", is_flag=True,
              help="Go on until the job ends; exit with 1 unless it succeeded.")
@click.option("--role", help="Only tasks of this role.")
@click.option("--index", type=click.IntRange(0), help="Only the task with this number.")
@click.option("--attempt", type=click.IntRange(1), help="This attempt, else the newest.")
@click.option("--stream", type=click.Choice(["stdout", "stderr"]), default=None,
              help="Only this stream, else both in order.")
@click.option("--all", "is_all", is_flag=True, help="Every attempt, not only the newest.")
@click.option("--times", "has_times", is_flag=True, help="The time before each line.")
@click.option("--search", "text", metavar="TEXT", help="Only lines of one task with this text.")
@api_command
def logs(client: ApiClient, terminal: Terminal, id_: str, is_followed: bool, role: str | None,
         index: int | None, attempt: int | None, stream: str | None, is_all: bool,
         has_times: bool, text: str | None) -> int:
    """Print what a job's tasks wrote.

    Where a job has several tasks, their lines come in the order of time, each with its task
    before it. With --json, each piece is one JSON object on one line. --search looks through the
    first task, or the one that --role and --index name.
    """
    if text:
        _print_found(terminal, client.get(
            "jobs", id_, "log", "search", text=text, role=role or "", index=index or 0,
            attempt=attempt or 0))
        return 0
    found = JobStream(client, id_, TaskChoice(role=role, index=index, attempt=attempt,
                                              has_all_attempts=is_all, stream=stream or ""))
    if is_followed:
        return _follow(found, terminal, has_times=has_times)
    printer = LogPrinter(is_json=terminal.is_json, is_prefixed=len(found.chosen) > 1,
                         has_times=has_times)
    for record in found.read():
        printer.print(record)
    printer.finish()
    return 0


@click.command()
@click.argument("ids", metavar="ID", nargs=-1, required=True)
@api_command
def stop(client: ApiClient, terminal: Terminal, ids: tuple[str, ...]) -> None:
    """Ask jobs to stop.

    Each task gets a signal to end and, after the runner's grace period, is killed. Logs and
    artifacts stay.
    """
    stopped = [client.post("jobs", id_, "stop") for id_ in ids]
    if terminal.is_json:
        terminal.json({"jobs": stopped})
        return
    for each in stopped:
        terminal.result(f"{each['id']}\t{each['state']}")


@click.command()
@click.argument("id_", metavar="ID")
@api_command
def release(client: ApiClient, terminal: Terminal, id_: str) -> None:
    """Remove the failed containers that a job with isDebug has kept."""
    found = client.post("jobs", id_, "release")
    if terminal.is_json:
        terminal.json(found)
    terminal.say(f"Nothing of job {id_} is kept any more; its logs and artifacts stay.")


def _print_outlook(terminal: Terminal, found: dict[str, Any]) -> int:
    """What a job would find; 1 where it never fits."""
    if terminal.is_json:
        terminal.json(found)
    else:
        starts = FIT_STARTS[found["fit"]] or local_time(found["expected_start"])
        terminal.fields([
            ("fit", f"{found['fit']}: {found['reason']}"), ("free", _amounts(found["free"])),
            ("of", _amounts(found["whole"])), ("to bring", _to_bring(found["supplies"])),
            ("starts", starts or "nobody knows: a job before it has no time limit")])
        terminal.result("")
        terminal.table(["kind", "missing", "uri"], [
            (each["kind"], _missing(each["missing"]), each["uri"]) for each in found["supplies"]])
    return 1 if found["fit"] == "never" else 0


def _amounts(amount: Mapping[str, int]) -> str:
    return f"{amount['cpus']} CPU, {amount['memory_mb']} MiB, {amount['gpus']} GPU"


def _to_bring(supplies: Sequence[Mapping[str, Any]]) -> str:
    """The sum over what is not here; what nobody knows is counted."""
    known = sum(each["missing"] or 0 for each in supplies)
    unknown = sum(each["missing"] is None for each in supplies)
    parts = [size(known)] if known else []
    parts += [f"{unknown} of unknown size"] if unknown else []
    return " + ".join(parts) or "nothing"


def _missing(count: int | None) -> str:
    return "unknown" if count is None else size(count) if count else "here"


def _print_found(terminal: Terminal, found: dict[str, Any]) -> None:
    if terminal.is_json:
        terminal.json(found)
        return
    for line in found["lines"]:
        terminal.result(f"{line['number']}: {line['text']}")
    if found["has_more"]:
        terminal.say(f"There are more than these {len(found['lines'])} lines. Search for more of "
                     "the text, or read the whole log.")


def _what(job: str) -> dict[str, Any]:
    """The part of a submission that names the job or holds its text."""
    if job == "-" or Path(job).is_file() or job.endswith((".yaml", ".yml")):
        try:
            with click.open_file(job, encoding="utf-8") as file:
                return {"yaml": file.read()}
        except OSError as error:
            raise InvalidInputError(f"{job} cannot be read: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"{job} cannot be read: {error}.") from error
    return {"reference": job}


def _parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.BadParameter(f"{text!r} is no parameter; write it as name=value.")
    return name, value


def _follow(followed: JobStream, terminal: Terminal, *, has_times: bool = False) -> int:
    job = follow(followed, terminal, lambda event: terminal.say(
        f"[{event.stage}] {event.text}", "dim"), has_times=has_times)
    is_good = job["state"] == SUCCEEDED
    terminal.say(f"Job {job['id']} {job['state']}: {job['reason']}", "green" if is_good else "red")
    return 0 if is_good else 1


def _place(job: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Where a waiting job stands in the queue."""
    if not job.get("position"):
        return []
    return [("place", str(job["position"])),
            ("starts", local_time(job["expected_start"]) or "nobody knows")]


def _ports(ports: dict[str, list[int]]) -> str:
    return " ".join(f"{label}={','.join(map(str, numbers))}" for label, numbers in ports.items())
