"""A new key for every secret in the database: GitHub tokens, and logins to registries of images."""
from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from registry.config import Settings
from registry.github_accounts import GitHubAccounts
from registry.image_logins import ImageLogins
from registry.sealing import KeyStore


@dataclass(frozen=True, kw_only=True)
class Rotation:
    """What a rotation did: the key that seals now, and how many secrets it sealed anew."""

    key_id: str
    resealed: int
    unreadable: int


def rotate_keys(engine: sa.Engine, settings: Settings) -> Rotation:
    """Seal everything with a new key, or with the first one of PAISHARE_SEALING_KEY.

    The old key is deleted after the last secret; killed before that, it is still there.
    """
    store = KeyStore(settings)
    with store.changing() as keys:
        newest = keys if store.is_given else keys.with_new()
        if not store.is_given:
            store.write(newest)
        done = [each.reseal(newest) for each in (GitHubAccounts(engine, settings),
                                                 ImageLogins(engine, settings))]
        if not store.is_given:
            store.write(newest.only_first())
    return Rotation(key_id=newest.ids[0], resealed=sum(each.count for each in done),
                    unreadable=sum(each.unreadable for each in done))
