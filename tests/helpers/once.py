"""Files that several processes of a test run need and only one of them makes.

Some outlive the run: a later run, whose sources are the same, takes them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import platformdirs
from filelock import FileLock

WORKER = "popen-"  # pytest-xdist's prefix for a worker's folder
KEPT = 100  # files, the last used ones; a run of all tests needs about 40


def made_once(folder: Path, name: str, make: Callable[[Path], Path]) -> Path:
    """Return a file that is made once per test run.

    Args:
        folder: This process's folder, from `tmp_path_factory.mktemp`.
        name: A unique name for the file, the same in every process.
        make: Makes the file in the given folder and returns its path. If it raises, the next
            process tries again.
    """
    of_worker = folder.parent
    run = of_worker.parent if of_worker.name.startswith(WORKER) else of_worker
    shared, note = run / name, run / f"{name}.made"
    with FileLock(run / f"{name}.lock"):
        if not note.exists():
            shared.mkdir(exist_ok=True)
            note.write_text(str(make(shared)), "utf-8")
        return Path(note.read_text("utf-8"))


def made_of(*parts: str | bytes | Path) -> str:
    """Return a digest of texts and of files' contents, of which another file is made."""
    hashed = hashlib.sha256()
    for part in parts:
        read = part.read_bytes() if isinstance(part, Path) else part
        each = read.encode() if isinstance(read, str) else read
        hashed.update(len(each).to_bytes(8, "little") + each)
    return hashed.hexdigest()


def kept(
    folder: Path, name: str, digest: str, make: Callable[[Path], Path], *, store: Path | None = None
) -> Path:
    """Return a file that is made once for all test runs whose digest is the same.

    Args:
        folder: This process's folder, from `tmp_path_factory.mktemp`.
        name: A unique name for the file, the same in every process.
        digest: Covers everything that the file's contents depend on, see `made_of`.
        make: As `made_once` has it; the file does not need others in its folder.
        store: The folder of files that outlive a run; one in the user's cache by default.
    """
    name = name.replace("/", "-")
    store = store or platformdirs.user_cache_path("styleforge-tests", appauthor=False) / "made"
    found = store / f"{name}-{digest[:32]}"

    lock = FileLock(store.with_suffix(".lock"))

    def taken_or_made(to: Path) -> Path:
        store.mkdir(parents=True, exist_ok=True)
        with lock:
            if found.exists():
                os.utime(found)
                return found
        made = make(to)
        part = store.with_suffix(f".{os.getpid()}")
        with lock:
            shutil.copyfile(made, part)
            part.replace(found)  # what is cut off half-way is no file of the store
            _forget(store)
        return found

    return made_once(folder, name, taken_or_made)


def _forget(store: Path) -> None:
    """Remove all but the KEPT files that were used last."""
    used = {path: path.stat().st_mtime for path in store.iterdir()}
    for path in sorted(used, key=used.__getitem__, reverse=True)[KEPT:]:
        path.unlink(missing_ok=True)
