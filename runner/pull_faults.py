"""Why an image could not be pulled: Docker's words → a sentence with the next step. Pure."""
from __future__ import annotations

import re

from runner.errors import EngineError
from runner.sentence import Sentence
from runner.spec import Login

BUNDLED = "localhost/paishare/"  # images that no registry has
BUILD_IT = Sentence(
    "The operator of this machine builds it once: python -m runner build-image")
# Passing ones come first: Docker's text of a refusal may hold the text of another below it.
_FULL = re.compile("no space left on device|disk quota exceeded", re.IGNORECASE)
_IS_FULL = Sentence("the disk of this machine is full")
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
    return EngineError(Sentence(
        "Image {uri} is not on this machine and cannot be pulled: {what}", uri=uri, what=what),
                       is_platform=is_passing)


def refused_to_share(uri: str, server: str, said: str, *, login: Login | None) -> EngineError:
    """Why an image that another user's login brought here is not given to this one."""
    what, is_passing = _what(server, said, login)
    return EngineError(Sentence(
        "Image {uri} is on this machine, but came with another user's login, so {server} was asked "
        "whether you may have it, too: {what}", uri=uri, server=server, what=what),
                       is_platform=is_passing)


def is_disk_full(message: str) -> bool:
    return _IS_FULL in message


def not_built(uri: str) -> EngineError:
    return EngineError(Sentence(
        "Image {uri} is not on this machine, and no registry has it. {build_it}", uri=uri,
        build_it=BUILD_IT),
                       is_platform=False)


def _what(server: str, said: str, login: Login | None) -> tuple[str, bool]:
    said = said if said.endswith(".") else f"{said}."
    who = Sentence("the login {name}", name=login.username) if login else \
        Sentence("nobody logged in")
    for pattern, text, is_passing in (
            (_FULL, Sentence(
                "{is_full}, though images that nobody uses are removed. The operator makes more "
                "room.", is_full=_IS_FULL), True),
            (_LIMITED, Sentence(
                "{server} gets too many requests from here. A login of your own, on the page "
                "Settings, may have a higher limit.", server=server), True),
            (_BAD_NAME, Sentence(
                "this is no name of an image. Write it as server/name:tag."), False),
            (_PLATFORM, Sentence(
                "{server} has it only for other kinds of machines. Docker says: {said}",
                server=server, said=said),
             False),
            (_REFUSED, Sentence(
                "{server} refuses it with {who}. Either it is private, or it is not there. "
                "{advice}", server=server, who=who, advice=_advice(server, login)), False),
            (_MISSING, Sentence(
                "{server} has no image of that name and tag. Check both; perhaps the tag was "
                "deleted.", server=server), False),
            (_BAD_TLS, Sentence(
                "{server} is not trusted by Docker on this machine. The operator sets that up in "
                "/etc/docker. Docker says: {said}", server=server, said=said), False),
            (_NO_HOST, Sentence(
                "no machine is called {server}. Check the name of the image, and the network of "
                "this machine.", server=server), False),
            (_AWAY, Sentence(
                "{server} does not answer. Docker says: {said}", server=server, said=said), True)):
        if pattern.search(said):
            return text, is_passing
    return Sentence("Docker says: {said}", said=said), False


def _advice(server: str, login: Login | None) -> str:
    if login:
        return Sentence(
            "Look whether {username} may read it, and replace the login on the page Settings or "
            "with `paishare registry add {server}`.", username=login.username, server=server)
    return Sentence(
        "If it is private, add your login on the page Settings or with `paishare registry add "
        "{server}`, and submit the job again.", server=server)
