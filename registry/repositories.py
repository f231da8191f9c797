"""Repositories on GitHub while somebody waits: looked at when one is added, given a webhook."""
from __future__ import annotations

import contextlib
from typing import Iterator

from registry.access import Access, Proof
from registry.config import Secret, Settings
from registry.errors import InvalidInputError, NotFoundError, RegistryError
from registry.github_accounts import GitHubAccounts
from registry.github_api import GitHubApi
from registry.github_errors import Code, GitHubError
from registry.github_records import RepositoryInfo
from registry.repository_name import commit_url, file_url, repository_name, repository_url
from registry.sources import Source
from registry.webhooks import EVENTS
from registry.wording import N_
from runner.sentence import Sentence, joined

_MAY_NOT = Sentence(
    "GitHub does not let you make a webhook there. Your token needs `admin:repo_hook`, and you the "
    "right to administer the repository. Or have somebody who may make it by hand, with the "
    "address and the secret below.")
HOOK_REFUSALS = {
    Code.GONE: _MAY_NOT, Code.FORBIDDEN: _MAY_NOT, Code.SCOPE_MISSING: _MAY_NOT,
    Code.REFUSED: Sentence(
        "GitHub refused to make it. There may be a webhook with this address already, or GitHub "
        "cannot reach the address below from the internet."),
}


class Repositories:
    """One short look at GitHub each, as the user who asks; nothing is asked in the background."""

    def __init__(self, settings: Settings, accounts: GitHubAccounts, access: Access) -> None:
        self._settings = settings
        self._accounts = accounts
        self._access = access

    @property
    def host(self) -> str:
        """The address of the GitHub that this server reads."""
        return self._settings.github_url

    def find(self, user_id: int, text: str) -> RepositoryInfo:
        """The repository that `text` names, as the user sees it; a private one is theirs to see.

        Raises InvalidInputError for what is no repository's name, NotFoundError for one that is
        not there or hidden from the user, and GitHubError where GitHub cannot tell.
        """
        name = repository_name(text, self.host)
        try:
            with self._asking(user_id) as github:
                found = github.repository(name)
        except GitHubError as error:
            raise self._told(error, user_id, name) from error
        if found.is_private:
            self._access.prove(user_id, Proof(repo_id=found.id, level=found.level,
                                              etag=found.etag))
        return found

    def is_connected(self, user_id: int) -> bool:
        """Whether the user has a token that works, as far as is known."""
        account = self._accounts.of(user_id)
        return account is not None and account.problem is None

    def make_webhook(self, user_id: int, source: Source, url: str, secret: Secret) -> None:
        """Have GitHub tell `url` of what happens; raises GitHubError saying what else to do."""
        if source.repo_id is None:
            raise InvalidInputError(Sentence(
                "{name} is no repository on GitHub.", name=source.name))
        try:
            with self._accounts.asking(user_id, is_hurried=True) as github:
                github.create_hook(source.repo_id, url, secret, EVENTS)
        except GitHubError as error:
            if error.code not in HOOK_REFUSALS:
                raise
            raise GitHubError(error.code, HOOK_REFUSALS[error.code], error.retry_at,
                              detail=error.detail, link=error.link) from error

    def url(self, source: Source, commit: str | None = None) -> str:
        """The page of a source on GitHub, or of one commit of it."""
        if commit:
            return commit_url(self.host, source.location, commit)
        return repository_url(self.host, source.location)

    def file_url(self, source: Source, commit: str, path: str, line: int | None = None) -> str:
        return file_url(self.host, source.location, commit, path, line)

    @contextlib.contextmanager
    def _asking(self, user_id: int) -> Iterator[GitHubApi]:
        """With the user's own token; as nobody where there is none that works."""
        if self.is_connected(user_id):
            with self._accounts.asking(user_id, is_hurried=True) as github:
                yield github
        else:
            with GitHubApi(self._settings, None, is_hurried=True) as github:
                yield github

    def _told(self, error: GitHubError, user_id: int, name: str) -> RegistryError:
        """What GitHub says, in words that fit one who adds a source."""
        is_connected = self.is_connected(user_id)
        if error.code is Code.GONE:
            return NotFoundError(Sentence(
                N_("GitHub shows no repository {name} to you. Check its name; if it is private, "
                   "your token must be allowed to read it.") if is_connected else
                N_("GitHub shows no repository {name} to you. Check its name; if it is private, "
                   "connect GitHub on the page Settings first."), name=name))
        if error.code is Code.LATER:
            return GitHubError(error.code, joined(
                Sentence("GitHub does not answer for now, and nothing was added."),
                Sentence("Try again in a moment.") if is_connected else Sentence(
                    "Try again in a moment; or connect GitHub on the page Settings, since it lets "
                    "visitors ask little.")), error.retry_at)
        return GitHubError(error.code, error.message, error.retry_at, link=error.link)
