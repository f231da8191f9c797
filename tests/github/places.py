"""Where the flows run: before the stand-in, or with a token in the environment before GitHub."""
from __future__ import annotations

import os
import time
import uuid
from dataclasses import dataclass, field
from typing import Callable, TypeVar

from dulwich.client import HttpGitClient
from github import Auth, Github
from github.Repository import Repository

from registry.config import Secret, Settings
from registry.github_api import GitHubApi

WAIT_S = 60
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Place:
    """A GitHub, an organisation in it, and the token of one who may make repositories there.

    `pause_s` lies between two writes: GitHub asks for a second, the stand-in for none.
    """

    settings: Settings
    organisation: str
    token: Secret = field(repr=False)
    pause_s: float = 1.0
    made: list[str] = field(default_factory=list)

    def api(self) -> GitHubApi:
        """The registry's own gateway."""
        return GitHubApi(self.settings, self.token)

    def client(self) -> Github:
        """PyGithub as it is, for what the registry never does itself."""
        return Github(base_url=self.settings.github_api_url, retry=None,
                      auth=Auth.Token(self.token.reveal()), seconds_between_requests=0,
                      seconds_between_writes=self.pause_s)

    def create(self, files: dict[str, str]) -> Repository:
        """A new repository in the organisation, which `clean` removes again."""
        name = f"paishare-test-{uuid.uuid4().hex[:12]}"
        client = self.client()
        client.requester.requestJsonAndCheck("POST", f"/orgs/{self.organisation}/repos", input={
            "name": name, "auto_init": True, "description": "A test of PAIShare; to be deleted."})
        made = client.get_repo(f"{self.organisation}/{name}")
        self.made.append(made.full_name)
        for path, text in files.items():
            made.create_file(path, f"Add {path}", text, branch=made.default_branch)
        return made

    def will_remove(self, full_name: str) -> None:
        self.made.append(full_name)

    def clean(self) -> None:
        """Forks first, so that none is left without what it came from."""
        for name in reversed(self.made):
            self.client().get_repo(name).delete()

    def git(self) -> HttpGitClient:
        return HttpGitClient(self.settings.github_url, username="x-access-token",
                             password=self.token.reveal())


def from_environment() -> Place | None:
    """The real GitHub of GITHUB_TOKEN and GITHUB_ORG, on GITHUB_URL if that is set."""
    token, organisation = os.environ.get("GITHUB_TOKEN"), os.environ.get("GITHUB_ORG")
    if not token or not organisation:
        return None
    url = os.environ.get("GITHUB_URL", "")
    return Place(settings=settings(url), organisation=organisation, token=Secret(token))


def settings(url: str) -> Settings:
    """Those of a registry for this GitHub; '' is github.com."""
    return Settings.from_environ({"PAISHARE_GITHUB_URL": url} if url else {})


def wait_for(look: Callable[[], T | None]) -> T:
    """What `look` gives as soon as it gives something. Raises TimeoutError."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        found = look()
        if found:
            return found
        time.sleep(0.1)
    raise TimeoutError(f"nothing came in {WAIT_S} s")
