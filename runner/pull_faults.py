"""Why an image could not be pulled: Docker's words → a sentence with the next step. Pure."""
from __future__ import annotations

import re

from runner.errors import EngineError
from runner.spec import Login

BUNDLED = "localhost/paishare/"  # images that no registry has
BUILD_IT = "The operator of this machine builds it once: python -m runner build-image"
# Passing ones come first: Docker's text of a refusal may hold the text of another below it.
_FULL = re.compile("no space left on device|disk quota exceeded", re.IGNORECASE)
_IS_FULL = "the disk of this machine is full"
_LIMITED = re.compile("toomanyrequests|429 too many", re.IGNORECASE)
_BAD_TLS = re.compile("server gave HTTP response to HTTPS|x509|certificate", re.IGNORECASE)
_NO_HOST = re.compile("no such host", re.IGNORECASE)
_REFUSED = re.compile("denied|unauthorized|no basic auth credentials|authentication required"
                      r"|status: 40[13]", re.IGNORECASE)
_MISSING = re.compile("manifest unknown|manifest for .* not found|name unknown"
                      "|not known to registry|no manifest found", re.IGNORECASE)
_PLATFORM = re.compile("no matching manifest", re.IGNORECASE)
_BAD_NAME = re.compile("invalid reference format|invalid repository name|invalid tag format"
                       "|must be lowercase", re.IGNORECASE)
_AWAY = re.compile("timeout|timed out|connection refused|connection reset|unreachable|no route to"
                   "|temporary failure|server misbehaving|deadline exceeded|request canceled"
                   r"|unexpected EOF|: EOF|broken pipe|status: 5\d\d|does not answer",
                   re.IGNORECASE)


def explained(uri: str, server: str, said: str, *, login: Login | None) -> EngineError:
    """What Docker said of a pull as our error; `login` None: nobody was logged in.

    Only what may pass by itself is the platform's and tried again.
    """
    what, is_passing = _what(server, said, login)
    return EngineError(f"Image {uri} is not on this machine and cannot be pulled: {what}",
                       is_platform=is_passing)


def refused_to_share(uri: str, server: str, said: str, *, login: Login | None) -> EngineError:
    """Why an image that another user's login brought here is not given to this one."""
    what, is_passing = _what(server, said, login)
    return EngineError(f"Image {uri} is on this machine, but came with another user's login, so "
                       f"{server} was asked whether you may have it, too: {what}",
                       is_platform=is_passing)


def is_disk_full(message: str) -> bool:
    return _IS_FULL in message


def not_built(uri: str) -> EngineError:
    return EngineError(f"Image {uri} is not on this machine, and no registry has it. {BUILD_IT}",
                       is_platform=False)


def _what(server: str, said: str, login: Login | None) -> tuple[str, bool]:
    who = f"the login {login.username}" if login else "nobody logged in"
    for pattern, text, is_passing in (
            (_FULL, f"{_IS_FULL}. Images that nobody uses are removed, and it is tried again; the "
                    "operator makes more room.", True),
            (_LIMITED, f"{server} gets too many requests from here. It is tried again; a login of "
                       "your own, on the page Settings, may have a higher limit.", True),
            (_BAD_NAME, "this is no name of an image. Write it as server/name:tag.", False),
            (_PLATFORM, f"{server} has it only for other kinds of machines. Docker says: {said}",
             False),
            (_REFUSED, f"{server} refuses it with {who}. Either it is private, or it is not "
                       f"there. {_advice(server, login)}", False),
            (_MISSING, f"{server} has no image of that name and tag. Check both; perhaps the tag "
                       "was deleted.", False),
            (_BAD_TLS, f"{server} is not trusted by Docker on this machine. The operator sets that "
                       f"up in /etc/docker. Docker says: {said}", False),
            (_NO_HOST, f"no machine is called {server}. Check the name of the image, and the "
                       "network of this machine.", False),
            (_AWAY, f"{server} does not answer. It is tried again. Docker says: {said}", True)):
        if pattern.search(said):
            return text, is_passing
    return f"Docker says: {said}", False


def _advice(server: str, login: Login | None) -> str:
    if login:
        return (f"Look whether {login.username} may read it, and replace the login on the page "
                f"Settings or with `paishare registry add {server}`.")
    return ("If it is private, add your login on the page Settings or with `paishare registry add "
            f"{server}`, and submit the job again.")
