"""The file of a dump: a gzipped tar whose first two members say, signed, what the others are."""
from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Mapping, NoReturn, Sequence

from registry.errors import ForbiddenError, InvalidInputError, RegistryError
from registry.signing import SigningKey, is_key, is_signed, key_id

FORMAT = 1
MANIFEST, SIGNATURE = "manifest.json", "manifest.sig"
MAX_MANIFEST = 16 << 20
MAX_MEMBERS = 100_000
BLOCK = tarfile.BLOCKSIZE
CHUNK = 1 << 20
_MEMBER = re.compile(r"tables/[a-z_]{1,40}\.ndjson|git/[0-9]{1,18}\.(?:pack|json)")
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Member:
    """One file inside of a dump."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a dump says of itself.

    `created` is the time of the newest change that it holds, not of its making: the same catalog
    gives the same bytes. `counts` are the rows of each table.
    """

    created: str
    catalog_hash: str
    public_key: str
    counts: Mapping[str, int]
    members: tuple[Member, ...]

    def as_bytes(self) -> bytes:
        facts = {"format": FORMAT, "created": self.created, "catalog_hash": self.catalog_hash,
                 "key_id": key_id(self.public_key), "public_key": self.public_key,
                 "counts": dict(self.counts),
                 "members": [{"name": each.name, "size": each.size, "sha256": each.sha256}
                             for each in self.members]}
        return (json.dumps(facts, indent=1, sort_keys=True) + "\n").encode()


# --- writing ----------------------------------------------------------------------------------

def measured(folder: Path, names: Sequence[str]) -> tuple[Member, ...]:
    """Files of a folder as members, in this order."""
    found = []
    for name in names:
        with open(folder / name, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            found.append(Member(name=name, size=file.tell(), sha256=digest))
    return tuple(found)


def write(path: Path, folder: Path, manifest: Manifest, key: SigningKey) -> None:
    """Put a manifest and its members, which lie in `folder`, into one file.

    It is written aside in `folder`, on the disk of `path`, then moved there. Raises OSError.
    """
    content = manifest.as_bytes()
    signature = key.sign(content).encode()
    aside = folder / "whole"
    # No name and no time in gzip's header: the bytes follow from the content alone.
    with open(aside, "wb") as file:
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
            _write_member(packed, MANIFEST, len(content), io.BytesIO(content))
            _write_member(packed, SIGNATURE, len(signature), io.BytesIO(signature))
            for member in manifest.members:
                with open(folder / member.name, "rb") as source:
                    _write_member(packed, member.name, member.size, source)
            packed.write(bytes(2 * BLOCK))
        file.flush()
        os.fsync(file.fileno())
    os.chmod(aside, 0o600)
    os.replace(aside, path)


def _write_member(target: gzip.GzipFile, name: str, size: int, source: IO[bytes]) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o644
    target.write(info.tobuf(tarfile.GNU_FORMAT))
    shutil.copyfileobj(source, target, CHUNK)
    target.write(bytes(-size % BLOCK))


# --- reading ----------------------------------------------------------------------------------

def unpack(path: Path, folder: Path, *, public_key: str | None) -> Manifest:
    """Check a dump whole and leave its members in `folder`, which is empty.

    The signature is checked before anything else is looked at, every member against its hash.
    `public_key` None: the dump's own, so that nothing is said of who made it. Raises
    InvalidInputError for what is no sound dump, ForbiddenError for one signed by another key,
    OSError where the folder cannot be written.
    """
    try:
        file = open(path, "rb")
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}.") from error
    try:
        with file, gzip.GzipFile(fileobj=file) as packed:
            manifest = _read_manifest(packed, path, public_key)
            _check_room(manifest, folder)
            for member in manifest.members:
                _unpack_member(packed, path, member, folder)
            rest = packed.read(2 * tarfile.RECORDSIZE)  # two empty blocks, and other tars' padding
            if not 2 * BLOCK <= len(rest) < 2 * tarfile.RECORDSIZE or rest.strip(b"\0"):
                _refuse(path, "has more in it than its manifest lists")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        _refuse(path, f"is cut off or damaged ({error})", error)
    return manifest


def _read_manifest(packed: gzip.GzipFile, path: Path, public_key: str | None) -> Manifest:
    content = _small(packed, path, MANIFEST, MAX_MANIFEST)
    signature = _small(packed, path, SIGNATURE, BLOCK).decode("ascii", "replace")
    facts = _facts(content, path)
    own = facts.get("public_key")
    if not isinstance(own, str):
        _refuse(path, "names no public key")
    if public_key is not None and not is_key(public_key.strip()):
        raise InvalidInputError(
            f"What was given with --key, {public_key[:100]!r}, is no public key. `paishare export "
            "--public-key` prints it on the machine that made the dump. Nothing was imported.")
    if public_key is not None and public_key.strip() != own:
        raise ForbiddenError(f"{path} was signed with another key, {key_id(own)}, than the one "
                             f"given, {key_id(public_key.strip())}. Nothing was imported. Ask for "
                             "a dump from the right server, or for that server's key.")
    if not is_signed(content, signature, own):
        _refuse(path, "is not what was signed: its manifest was changed")
    return _manifest(facts, path)


def _facts(content: bytes, path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(content)
    except (ValueError, RecursionError) as error:
        _refuse(path, "has a manifest that is no JSON", error)
    if not isinstance(facts, dict) or not isinstance(facts.get("format"), int):
        _refuse(path, "has a manifest without a format")
    if facts["format"] != FORMAT:
        age = "newer" if facts["format"] > FORMAT else "older"
        raise InvalidInputError(
            f"{path} has the {age} format {facts['format']}; this PAIShare reads format {FORMAT}. "
            "Import it with the version that wrote it, or export it again with this one.")
    return facts


def _manifest(facts: Mapping[str, Any], path: Path) -> Manifest:
    try:
        members = tuple(Member(**each) for each in facts["members"])
        manifest = Manifest(members=members, **{name: facts[name] for name in (
            "created", "catalog_hash", "public_key", "counts")})
    except (KeyError, TypeError) as error:
        _refuse(path, "has a manifest that lacks something", error)
    if not (_are_sound(members) and isinstance(manifest.counts, dict)
            and all(isinstance(count, int) for count in manifest.counts.values())
            and isinstance(manifest.created, str) and isinstance(manifest.catalog_hash, str)):
        _refuse(path, "has a manifest with members or facts that no dump has")
    return manifest


def _are_sound(members: Sequence[Member]) -> bool:
    return len(members) <= MAX_MEMBERS and all(
        isinstance(each.name, str) and _MEMBER.fullmatch(each.name)
        and isinstance(each.size, int) and each.size >= 0
        and isinstance(each.sha256, str) and _DIGEST.fullmatch(each.sha256)
        for each in members) and len({each.name for each in members}) == len(members)


def _check_room(manifest: Manifest, folder: Path) -> None:
    wanted, free = sum(each.size for each in manifest.members), shutil.disk_usage(folder).free
    if 2 * wanted > free:
        raise RegistryError(f"The dump needs {2 * wanted >> 20} MB on the disk of {folder.parent}, "
                            f"and {free >> 20} MB are free. Make room; nothing was imported.")


def _small(packed: gzip.GzipFile, path: Path, name: str, limit: int) -> bytes:
    info = _header(packed, path)
    if info.name != name or not 0 <= info.size <= limit:
        _refuse(path, f"is no dump of PAIShare: {name} is not where it must be")
    return _exactly(packed, info.size + -info.size % BLOCK)[:info.size]


def _unpack_member(packed: gzip.GzipFile, path: Path, member: Member, folder: Path) -> None:
    """Write a member only where its header, its name included, is what the manifest says."""
    info = _header(packed, path)
    if (info.name, info.size) != (member.name, member.size):
        _refuse(path, f"has {info.name[:100]!r} where its manifest lists {member.name}")
    target = folder / member.name
    target.parent.mkdir(exist_ok=True)
    digest, left = hashlib.sha256(), member.size
    with open(target, "wb") as file:
        while left:
            piece = _exactly(packed, min(CHUNK, left))
            digest.update(piece)
            file.write(piece)
            left -= len(piece)
    _exactly(packed, -member.size % BLOCK)
    if digest.hexdigest() != member.sha256:
        _refuse(path, f"is damaged: {member.name} has not the bytes that were signed")


def _header(packed: gzip.GzipFile, path: Path) -> tarfile.TarInfo:
    """The next member's; only plain files are let through, so that no name is ever a link."""
    try:
        info = tarfile.TarInfo.frombuf(_exactly(packed, BLOCK), "utf-8", "strict")
    except (tarfile.HeaderError, UnicodeDecodeError) as error:
        _refuse(path, "is no dump of PAIShare, or damaged", error)
    if info.type != tarfile.REGTYPE:
        _refuse(path, f"has a member that is no plain file: {info.name[:100]!r}")
    return info


def _exactly(packed: gzip.GzipFile, size: int) -> bytes:
    content = packed.read(size) if size else b""
    if len(content) != size:
        raise EOFError("it ends too early")
    return content


def _refuse(path: Path, what: str, cause: BaseException | None = None) -> NoReturn:
    raise InvalidInputError(f"{path} {what}. Nothing was imported; get the file again, and check "
                            "it with the key of the server that made it.") from cause
