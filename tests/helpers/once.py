"""What several processes of a run of tests need is made by one of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

WORKER = "popen-"  # how pytest-xdist names the folder of a worker


def made_once(folder: Path, name: str, make: Callable[[Path], Path]) -> Path:
    """A file that is made once in a run of tests.

    Args:
        folder: Of this process, from `tmp_path_factory.mktemp`.
        name: Of what is made, the same in every process and of nothing else.
        make: Makes the file in the folder that it is given, and says which it is. If it raises,
            the next process tries again.
    """
    of_worker = folder.parent
    run = of_worker.parent if of_worker.name.startswith(WORKER) else of_worker
    shared, note = run / name, run / f"{name}.made"
    with FileLock(run / f"{name}.lock"):
        if not note.exists():
            shared.mkdir(exist_ok=True)
            note.write_text(str(make(shared)), "utf-8")
        return Path(note.read_text("utf-8"))
