"""Packs of a store: written out, taken in, written anew without one object. Uses dulwich."""
from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import BinaryIO, Callable, Container, Iterator

from dulwich.objects import ObjectID
from dulwich.pack import Pack, generate_unpacked_objects, write_pack_data
from dulwich.repo import Repo


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
def receive_pack(repo: Repo) -> Iterator[BinaryIO]:
    """A file to write a pack to, which is taken in at the end unless an error is raised."""
    stream, commit, abort = repo.object_store.add_pack()
    try:
        yield stream
    except BaseException:
        abort()
        raise
    commit()


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
