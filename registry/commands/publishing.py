"""The command publish: a component file goes to a repository on GitHub, or to one's own shelf."""
from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Mapping

import click

from registry.api_client import ApiClient
from registry.commands.options import api_command
from registry.component import MAX_BYTES, parse
from registry.error_text import problem_line
from registry.errors import ComponentError, ConflictError, InvalidInputError, Problem
from registry.terminal import Terminal

POLL_S = 0.5
WAIT_S = 120.0
SIGNS = {"done": "✓", "stopped": "✕"}
Found = Mapping[str, Any]


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--to", "repository", metavar="OWNER/REPO",
              help="Propose it to this repository on GitHub, by a pull request.")
@click.option("--path", default="", help="Where in the repository; its usual place if left out.")
@click.option("--message", default="", metavar="TEXT",
              help="Title of the pull request and, after an empty line, its text.")
@click.option("--sign-off", "is_signed_off", is_flag=True, help="Add a Signed-off-by line.")
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask before it is published.")
@api_command
def publish(client: ApiClient, terminal: Terminal, file: Path, repository: str | None, path: str,
            message: str, is_signed_off: bool, is_confirmed: bool) -> None:
    """Propose a component file to GitHub, or put it on your shelf.

    With --to, it is proposed to that repository on GitHub: what changes is shown, and after your
    yes a fork or branch, a commit and a pull request are made with the token that you connected in
    the settings. Where one of this component is open there, that one is changed. Without --to, it
    goes to your shelf on the server, a Git repository of yours there.
    """
    if repository is None:
        if path or message or is_signed_off or is_confirmed:
            raise click.UsageError("--path, --message, --sign-off and --yes belong to --to.")
        _to_shelf(client, terminal, file)
        return
    title, _, body = message.partition("\n")
    wanted = {"yaml": _text(file), "repository": repository, "path": path, "title": title.strip(),
              "body": body.strip(), "is_signed_off": is_signed_off}
    known = _open_one(client, wanted)
    if known and known["state"] == "OPEN" and known["yaml"] == wanted["yaml"] and not message:
        terminal.say("The pull request holds exactly this already.")
        _end(client, terminal, known)
        return
    draft = _draft(client, wanted, known)
    try:
        _show(terminal, draft, file)
        _ask(draft, known, is_confirmed)
    except (click.Abort, InvalidInputError):
        if known:  # the pull request is followed again, as it is
            client.post("publications", draft["id"], "withdraw", body={})
        raise
    client.post("publications", draft["id"], "confirm", body={"seen": draft["seen"]})
    _end(client, terminal, _followed(client, terminal, draft["id"]))


def _open_one(client: ApiClient, wanted: Found) -> Found | None:
    """The open pull request of this component to this repository, which is then changed."""
    try:
        component = parse(wanted["yaml"])
    except ComponentError:
        return None  # the server tells what is wrong with it
    place = wanted["repository"].removesuffix("/").removesuffix(".git").lower()
    return next((each for each in client.get("publications")["publications"]
                 if each["pull"] and each["state"] in ("OPEN", "DRAFT")
                 and each["reference"].partition("@")[0] == f"{component.type}/{component.name}"
                 and f"/{place}".endswith(f"/{each['repository'].lower()}")), None)


def _draft(client: ApiClient, wanted: Found, known: Found | None) -> Found:
    if known is None:
        return client.post("publications", body=wanted)
    client.put("publications", known["id"], body=wanted)
    return client.get("publications", known["id"], "preview")


def _ask(draft: Found, known: Found | None, is_confirmed: bool) -> None:
    what = f"Change the pull request #{known['pull']['number']}" if known else \
        "Create the pull request"
    if not is_confirmed:
        click.confirm(f"{what} in {draft['repository']}?", abort=True, err=True)


def _to_shelf(client: ApiClient, terminal: Terminal, file: Path) -> None:
    """A version that is on it never changes: write a higher one to publish a change."""
    found = client.post("components", body={"yaml": _text(file)})
    _warn(terminal, found["warnings"], file)
    if terminal.is_json:
        terminal.json(found)
        return
    what = "was there already" if found["is_known"] else "is published"
    terminal.result(f"{found['reference']} {what}: {found['source']}, commit "
                    f"{found['commit'][:12]}.")


def _show(terminal: Terminal, draft: Found, file: Path) -> None:
    """What it would change; raises InvalidInputError where it cannot be published so."""
    _warn(terminal, draft["checks"], file)
    if draft["problem"]:
        raise InvalidInputError(f"{_trouble(draft['problem'])} The draft is kept: number "
                                f"{draft['id']}.")
    if not draft["may_confirm"]:
        raise InvalidInputError("It cannot be published as it is; the draft is kept.")
    if not terminal.is_json:
        terminal.result(draft["diff"].rstrip("\n"))
    terminal.say(f"{draft['title']} → {draft['repository']}, {draft['path']}", "bold")
    for sentence in draft["changes"]:
        terminal.say(f"  {sentence}")


def _followed(client: ApiClient, terminal: Terminal, number: int) -> Found:
    """Say each step as it is done, until all are, or something is in the way."""
    said: set[str] = set()
    give_up_at = time.monotonic() + WAIT_S
    while True:
        found = client.get("publications", number)
        for step in found["steps"]:
            sign = SIGNS.get(step["state"])
            if sign and step["name"] not in said:
                said.add(step["name"])
                terminal.say(" ".join(filter(None, [sign, step["name"], step["detail"]])))
        if not found["is_working"] or time.monotonic() > give_up_at or _is_later(found):
            return found
        time.sleep(POLL_S)


def _is_later(found: Found) -> bool:
    return bool(found["problem"]) and found["problem"]["code"] in ("LATER", "FORK_SLOW")


def _end(client: ApiClient, terminal: Terminal, found: Found) -> None:
    """The address of what was made; raises ConflictError where nothing was made yet."""
    page = f"{client.url}/publish/{found['id']}"
    if terminal.is_json:
        terminal.json(found)
    if found["pull"]:
        _result(terminal, found["pull"]["url"])
    elif found["compare_url"]:
        terminal.say("The branch is there, but your token may not open the pull request. Open it "
                     "at this address; it is then found by itself:")
        _result(terminal, found["compare_url"])
    elif found["state"] == "ALREADY_PUBLISHED":
        terminal.say(f"{found['repository']} holds exactly this already.")
    else:
        problem = found["problem"]
        words = _trouble(problem) if problem else "It is not done yet, and goes on by itself."
        raise ConflictError(f"{words} See {page}")


def _trouble(problem: Found) -> str:
    """What happened and what to do, with GitHub's words and where it is mended."""
    said = f" GitHub says: “{problem['detail']}”." if problem["detail"] else ""
    is_said = not problem["link"] or problem["link"] in problem["detail"]
    return f"{problem['title']}. {problem['text']}{said}" + (
        "" if is_said else f" {problem['link']}")


def _result(terminal: Terminal, address: str) -> None:
    if not terminal.is_json:
        terminal.result(address)


def _warn(terminal: Terminal, problems: list[dict[str, Any]], file: Path) -> None:
    for problem in problems:
        style = "red" if problem["severity"] == "error" else "yellow"
        terminal.say(problem_line(Problem(**problem), str(file)), style)


def _text(file: Path) -> str:
    try:
        content = file.read_bytes()
        if len(content) <= MAX_BYTES:
            return content.decode("utf-8-sig")
    except OSError as error:
        raise InvalidInputError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{file} is no UTF-8 text. Save it as UTF-8.") from error
    raise InvalidInputError(f"{file} is larger than a component may be, {MAX_BYTES} bytes.")
