"""Packs of a store: written out, taken in, written anew without one object. Uses dulwich."""
from __future__ import annotations

import io
import os
import tempfile
import zlib
from hashlib import sha1
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Callable, Container, Iterable, Iterator, Sequence

from dulwich.file import GitFile
from dulwich.object_store import PACK_MODE
from dulwich.objects import ObjectID, RawObjectID
from dulwich.pack import (
    Pack,
    PackIndexEntry,
    apply_delta,
    generate_unpacked_objects,
    iter_sha1,
    write_pack_data,
    write_pack_index,
)
from dulwich.repo import Repo

from registry.commits import Small
from registry.git_objects import keep_small
from registry.pack_check import BLOB, COMMIT, TAG, TREE, Limits, Part, Told, check_pack
from registry.trees import Tree

ANY = Limits(objects=1 << 32, blob_bytes=1 << 62, unpacked_bytes=1 << 62, tree_bytes=1 << 62,
             commit_bytes=1 << 62)  # what we packed ourselves
NAMES = {COMMIT: b"commit", TREE: b"tree", BLOB: b"blob", TAG: b"tag"}


def write_pack(repo: Repo, write: Callable[[bytes], object], without: Container[str]) -> int:
    """Every object that is here, but those, whole; returns how many that are."""
    ids = sorted(id for id in set(repo.object_store) if id.decode() not in without)
    wanted: list[tuple[ObjectID, None]] = [(id, None) for id in ids]
    write_pack_data(
        write,  # type: ignore[arg-type]
        generate_unpacked_objects(repo.object_store, wanted, reuse_deltas=False),
        repo.object_format, num_records=len(ids))
    return len(ids)


def take_pack(repo: Repo, chunks: Iterable[bytes], limits: Limits = ANY, *,
              small: Small | None = None, told: Told | None = None) -> list[bytes]:
    """Take in a pack as it comes, all of it at once; nothing of it where an error is raised.

    Gives the ids of what it has, as bytes. `small` gets the short ones of its objects; None:
    nobody reads them soon. `told` is as `check_pack` tells. Raises WireError and what damage
    raises.
    """
    folder = Path(repo.object_store.pack_dir)
    number, name = tempfile.mkstemp(dir=folder, suffix=".pack")  # whose index is not there yet
    try:
        with os.fdopen(number, "w+b") as file:
            parts = check_pack(iter(chunks), file.write, limits, told)
            file.flush()
            with mmap(file.fileno(), 0, access=ACCESS_READ) as data, memoryview(data) as pack:
                entries = sorted(_entry(pack, *each, small) for each in _objects(pack, parts))
                checksum = _checksum(pack)
        path = folder / f"pack-{iter_sha1(id for id, *_ in entries).decode()}.pack"
        index = path.with_suffix(".idx")
        if not index.exists():
            os.chmod(name, PACK_MODE)
            os.replace(name, path)
            content = io.BytesIO()  # it is written in a hundred thousand pieces
            write_pack_index(content, entries, checksum)
            with GitFile(index, "wb", mask=PACK_MODE, fsync=False) as stream:
                stream.write(content.getbuffer())
    finally:
        Path(name).unlink(missing_ok=True)
    return [id for id, *_ in entries]


def _checksum(pack: memoryview) -> bytes:
    """What stands at the pack's end; raises ValueError where the pack is another."""
    found = bytes(pack[-20:])
    if sha1(pack[:-20]).digest() != found:
        raise ValueError("the checksum of the pack is another")
    return found


def _objects(pack: memoryview,
             parts: Sequence[Part]) -> Iterator[tuple[Part, bytes, int, bytes]]:
    """Each object once: where it lies, its id, its kind and what it holds.

    One that others are deltas of comes before these, which come next, so that it need not be kept.
    Raises ValueError for a delta of nothing.
    """
    deltas: dict[int | bytes, list[Part]] = {}
    for part in parts:
        if part.base is not None:
            deltas.setdefault(part.base, []).append(part)
    for whole in parts:
        todo = [(whole, b"")] if whole.base is None else []
        while todo:
            part, base = todo.pop()
            content = zlib.decompress(pack[part.packed:part.end])
            if part.base is not None:
                content = b"".join(apply_delta(base, content))
            id = sha1(b"%s %d\0%s" % (NAMES[whole.kind], len(content), content)).digest()
            yield part, id, whole.kind, content
            todo += [(each, content) for key in (part.start, id) for each in deltas.pop(key, ())]
    if deltas:
        raise ValueError("it has changes of objects that it does not have")


def _entry(pack: memoryview, part: Part, id: bytes, kind: int, content: bytes,
           small: Small | None) -> PackIndexEntry:
    """Of one object; raises ValueError for a folder that is none."""
    if kind == TREE:
        Tree(content).check()
    if small is not None:
        keep_small(small, id.hex().encode(), kind, content)
    return RawObjectID(id), part.start, zlib.crc32(pack[part.start:part.end])


def pack_without(repo: Repo, pack: Pack, id: ObjectID) -> None:
    """Write a pack anew but for one object, whole objects all, then delete the old one."""
    wanted: list[tuple[ObjectID, None]] = [(each, None) for each in pack if each != id]
    if wanted:
        repo.object_store.add_pack_data(len(wanted), generate_unpacked_objects(
            repo.object_store, wanted, reuse_deltas=False))
    pack.close()
    for path in Path(repo.object_store.pack_dir).glob(f"{Path(pack.data.path).stem}.*"):
        path.unlink()
    repo.object_store._update_pack_cache()


def remove_leftovers(repo: Repo) -> None:
    """What a writer that was killed left behind; there is never more than one."""
    repo.object_store.prune(grace_period=0)
    for lock in Path(repo.path).rglob("*.lock"):
        lock.unlink()
