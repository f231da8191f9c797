"""Virtual clusters and limits of users: who may use how much of the machine at once."""
from __future__ import annotations

import json
import logging
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping

from runner.errors import RunnerError
from runner.room import Bounds
from runner.sentence import Sentence, plural
from runner.spec import MAX_LIMIT_S, JobSpec

log = logging.getLogger(__name__)

DEFAULT = "default"
_BOUNDS = {"jobs": "jobs", "cpus": "cpus", "memoryMB": "memory_mb", "gpus": "gpus"}
_CLUSTER_FIELDS = (*_BOUNDS, "members", "maxPriority", "timeLimitMinutes")
_FIELDS = ("clusters", "perUser", "users")


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A named part of the machine; `members` None: everybody.

    `max_priority` is the highest that a job may ask for. `time_limit_s`: the longest that a job
    may run here, and what one that says nothing gets; None: no end.
    """

    bounds: Bounds = Bounds()
    members: frozenset[str] | None = None
    max_priority: int = 0
    time_limit_s: int | None = None


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Virtual clusters by name, and what one user may have at once in all of them together."""

    clusters: Mapping[str, Cluster] = field(default_factory=lambda: {DEFAULT: Cluster()})
    per_user: Bounds = Bounds()
    users: Mapping[str, Bounds] = field(default_factory=dict)

    def quota(self, name: str) -> Bounds:
        """The bounds of a quota of that name; none where nobody set any."""
        kind, _, rest = name.rpartition(" ")
        if kind == "user":
            return self.users.get(rest, self.per_user)
        return self.clusters[rest].bounds if rest in self.clusters else Bounds()

    def limit_s(self, spec: JobSpec) -> int | None:
        """How long one attempt of a job may run, in seconds."""
        cluster = self.clusters.get(spec.virtual_cluster)
        return spec.time_limit_s or (cluster.time_limit_s if cluster else None)

    def objections(self, spec: JobSpec) -> list[str]:
        """Why a job may never run, in whole sentences."""
        cluster = self.clusters.get(spec.virtual_cluster)
        if cluster is None:
            return [Sentence(
                "There is no virtual cluster {name!r} on this machine; there are: {names}. Name "
                "one of them as virtualCluster.", name=spec.virtual_cluster,
                names=", ".join(self.clusters))]
        name, said = spec.virtual_cluster, list[str]()
        if cluster.members is not None and spec.user not in cluster.members:
            said.append(Sentence(
                "User {user} is no member of virtual cluster {name}. Ask the operator of this "
                "machine, or take another one: {names}.", user=spec.user, name=name,
                names=", ".join(self.clusters)))
        if spec.priority > cluster.max_priority:
            said.append(Sentence(
                "Priority {priority} is higher than virtual cluster {name} allows: at most {most}.",
                priority=spec.priority, name=name, most=cluster.max_priority))
        if cluster.time_limit_s and (spec.time_limit_s or 0) > cluster.time_limit_s:
            said.append(Sentence(
                "A time limit of {minutes} is longer than virtual cluster {name} allows: at most "
                "{most}.", minutes=_minutes(spec.time_limit_s), name=name,
                most=_minutes(cluster.time_limit_s)))
        return said


class RulesFile:
    """The rules as their file says them now; a file that is not there sets none."""

    def __init__(self, path: Path) -> None:
        """Raises RunnerError where the file is wrong."""
        self.path = path
        self._seen = self._stamp()
        self._rules = self._read()

    def rules(self) -> Rules:
        """The rules; a change of the file counts from the next call on, unless it is wrong."""
        stamp = self._stamp()
        if stamp != self._seen:
            self._seen = stamp
            try:
                self._rules = self._read()
                log.info("%s was read again", self.path)
            except RunnerError as error:
                log.error("%s The rules from before stay.", error.message)
        return self._rules

    def text(self) -> str:
        """What is in the file; empty where it is not there."""
        return self.path.read_text() if self._stamp() else ""

    def write(self, text: str) -> None:
        """Put other rules into the file, which count from now on.

        Raises RunnerError where they are wrong, or the file cannot be written; nothing has changed.
        """
        try:
            rules_from_json(json.loads(text))
        except ValueError as error:
            raise RunnerError(Sentence("This is not JSON: {error}.", error=error)) from error
        path = self.path.resolve()
        aside = path.with_name(f".{path.name}.new")
        try:
            aside.write_text(text)
            os.replace(aside, path)
        except OSError as error:
            aside.unlink(missing_ok=True)
            raise RunnerError(Sentence(
                "{path} cannot be written: {cause}. Whoever operates the machine can change it.",
                path=self.path, cause=error.strerror)) from error

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    def _read(self) -> Rules:
        if self._seen is None:
            return Rules()
        try:
            return rules_from_json(json.loads(self.path.read_text()))
        except OSError as error:
            raise RunnerError(Sentence(
                "{path} cannot be read: {strerror}.", path=self.path,
                strerror=error.strerror)) from error
        except ValueError as error:
            raise RunnerError(Sentence(
                "{path} is not JSON: {error}.", path=self.path, error=error)) from error
        except RunnerError as error:
            raise RunnerError(Sentence(
                "{what}: {said}", what=self.path, said=error.message)) from error


def rules_from_json(value: Any) -> Rules:
    """Read the file's content; raises RunnerError with the place of the first mistake."""
    top = _object(value, Sentence("the file"), _FIELDS)
    clusters = {DEFAULT: Cluster()} | {
        name: _cluster(each, f"clusters.{name}")
        for name, each in _object(top.get("clusters", {}), "clusters").items()}
    users = {name: _bounds(_object(each, f"users.{name}", tuple(_BOUNDS)), f"users.{name}")
             for name, each in _object(top.get("users", {}), "users").items()}
    per_user = _object(top.get("perUser", {}), "perUser", tuple(_BOUNDS))
    return Rules(clusters=clusters, users=users, per_user=_bounds(per_user, "perUser"))


def quotas_of(spec: JobSpec) -> tuple[str, ...]:
    """The names of the quotas that a job counts in."""
    return cluster_name(spec.virtual_cluster), user_name(spec.user)


def cluster_name(name: str) -> str:
    """What sentences call a virtual cluster."""
    return Sentence("virtual cluster {name}", name=name)


def user_name(name: str) -> str:
    """What sentences call a user."""
    return Sentence("user {name}", name=name)


def _cluster(value: Any, place: str) -> Cluster:
    found = _object(value, place, _CLUSTER_FIELDS)
    members = found.get("members")
    if members is not None and not (isinstance(members, list)
                                    and all(isinstance(name, str) for name in members)):
        raise RunnerError(Sentence(
            "{place}.members must be a list of names of users.", place=place))
    minutes = _number(found, "timeLimitMinutes", place, least=1, most=MAX_LIMIT_S // 60)
    return Cluster(
        bounds=_bounds(found, place), members=None if members is None else frozenset(members),
        max_priority=_number(found, "maxPriority", place, least=-1000, most=1000) or 0,
        time_limit_s=None if minutes is None else minutes * 60)


def _bounds(value: Mapping[str, Any], place: str) -> Bounds:
    return Bounds(**{ours: _number(value, name, place) for name, ours in _BOUNDS.items()})


def _number(value: Mapping[str, Any], name: str, place: str, *, least: int = 0,
            most: int = 2**40) -> int | None:
    number = value.get(name)
    if number is None:
        return None
    if type(number) is not int or not least <= number <= most:
        raise RunnerError(Sentence(
            "{place}.{name} must be a whole number from {least} to {most}, not {number}.",
            place=place, name=name, least=least, most=most, number=json.dumps(number)))
    return number


def _object(value: Any, place: str, names: tuple[str, ...] | None = None) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise RunnerError(Sentence(
            "{place} must be an object in braces, not {value}.", place=place,
            value=json.dumps(value)[:80]))
    for name in value:
        if names is not None and name not in names:
            raise RunnerError(Sentence(
                "{place} has an unknown field {name!r}; it takes {names}.", place=place, name=name,
                names=", ".join(names)))
    return value


def _minutes(seconds: int | None) -> str:
    minutes = -(-(seconds or 0) // 60)
    return plural("{count} minute", "{count} minutes", minutes)
