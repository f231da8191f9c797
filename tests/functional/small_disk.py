"""A disk of a test's own that can be filled to the last byte and emptied again."""
import errno
import subprocess
from pathlib import Path


class SmallDisk:
    """`folder` is a file system in memory, or lies on one, with nothing else on it."""

    def __init__(self, folder: Path, size_mb: int | None = None) -> None:
        self.folder, self._ballast = folder, folder / "ballast"
        if size_mb:
            folder.mkdir(parents=True, exist_ok=True)
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", folder],
                           check=True)

    def fill(self) -> None:
        """Take what is left, and what was freed since."""
        with open(self._ballast, "ab", buffering=0) as file:
            for size in (1 << 20, 1 << 12):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError as error:
                    assert error.errno == errno.ENOSPC, error

    def empty(self) -> None:
        self._ballast.unlink(missing_ok=True)

    def close(self) -> None:
        subprocess.run(["umount", "--lazy", self.folder], check=True)
