"""Packs of a store: written out, taken in, written anew without one object. Uses dulwich."""
from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
from pathlib import Path
from typing import IO, BinaryIO, Callable, Container, Iterator

from dulwich.file import GitFile
from dulwich.object_store import PACK_MODE
from dulwich.objects import ObjectID
from dulwich.objects import Tree as GitTree
from dulwich.objects import sha_to_hex
from dulwich.pack import (
    Pack,
    PackData,
    PackIndexEntry,
    UnpackedObject,
    UnpackedObjectIterator,
    generate_unpacked_objects,
    iter_sha1,
    write_pack_data,
    write_pack_index,
)
from dulwich.repo import Repo

from registry.commits import Small
from registry.git_objects import keep_small
from registry.trees import Tree


def write_pack(repo: Repo, write: Callable[[bytes], object], without: Container[str]) -> int:
    """Every object that is here, but those, whole; returns how many that are."""
    ids = sorted(id for id in set(repo.object_store) if id.decode() not in without)
    wanted: list[tuple[ObjectID, None]] = [(id, None) for id in ids]
    write_pack_data(
        write,  # type: ignore[arg-type]
        generate_unpacked_objects(repo.object_store, wanted, reuse_deltas=False),
        repo.object_format, num_records=len(ids))
    return len(ids)


@contextlib.contextmanager
def receive_pack(repo: Repo, small: Small | None = None) -> Iterator[BinaryIO]:
    """A file to write a pack to, which is taken in at the end unless an error is raised.

    `small` gets the short ones of its objects; None: nobody reads them soon.
    """
    folder = Path(repo.object_store.pack_dir)
    number, name = tempfile.mkstemp(dir=folder, suffix=".pack")  # whose index is not there yet
    try:
        with os.fdopen(number, "w+b") as file:
            yield file
            file.flush()
            entries, checksum = _indexed(name, file, repo, small)
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


def _indexed(name: str, file: IO[bytes], repo: Repo,
             small: Small | None) -> tuple[list[PackIndexEntry], bytes]:
    """What an index of the pack says, and the pack's checksum; raises what damage raises."""
    with PackData(name, repo.object_format, file) as data:
        data.check()
        entries = sorted(_entry(each, small) for each in _Unpacked.for_pack_data(data))
        return entries, data.get_stored_checksum()


class _Unpacked(UnpackedObjectIterator):
    """The objects of a pack, each unpacked once."""

    _compute_crc32 = True


def _entry(each: UnpackedObject, small: Small | None) -> PackIndexEntry:
    """Of one object; raises ValueError for a folder that is none."""
    assert each.obj_type_num is not None and each.offset is not None
    content = b"".join(each.obj_chunks or ())
    if each.obj_type_num == GitTree.type_num:
        Tree(content).check()
    if small is not None:
        keep_small(small, sha_to_hex(each.sha()), each.obj_type_num, content)
    return each.sha(), each.offset, each.crc32


def take_pack(repo: Repo, pack: BinaryIO) -> None:
    with receive_pack(repo) as stream:
        shutil.copyfileobj(pack, stream)


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
