"""Files that several processes of a test run need and only one of them makes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

WORKER = "popen-"  # pytest-xdist's prefix for a worker's folder


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
