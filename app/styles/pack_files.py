"""Functions that write, move and copy folders of style packs, so that none is incomplete."""

from __future__ import annotations

import contextlib
import errno
import re
import shutil
import tempfile
import time
from pathlib import Path

from app.styles.pack import StyleError
from utils.files import toml
from utils.files.atomic import atomic_write, sync
from utils.files.regular import read_regular
from utils.text import printable
from utils.translation.texts import tr

ABANDONED_AFTER_S = 3600.0  # seconds after which an incomplete pack counts as abandoned
_STAGING_PREFIX = ".installing-"


def set_title(spec: Path, title: str) -> None:
    """Change the title in a `style.toml`; its other lines stay unchanged.

    Raises:
        StyleError: If the title is not on a line of its own.
        OSError: If the file cannot be read or written.
    """
    line = toml.dumps({"title": title})
    text, count = re.subn(
        r"^title[ \t]*=.*$",
        lambda _: line.rstrip("\n"),
        read_regular(spec, toml.MAX_BYTES).decode("utf-8"),
        count=1,
        flags=re.M,
    )
    try:
        changed = count == 1 and toml.loads(text).get("title") == title
    except ValueError:  # the title has several lines
        changed = False
    if not changed:
        raise StyleError(tr("'{file}' has no line with only the title", file=printable(str(spec))))
    atomic_write(spec, text.encode("utf-8"))


def make_staging(folder: Path) -> Path:
    """Make a temporary folder in `folder` for a new pack; remove old ones of killed processes."""
    for left in folder.glob(f"{_STAGING_PREFIX}*"):
        with contextlib.suppress(FileNotFoundError):
            if left.stat().st_mtime < time.time() - ABANDONED_AFTER_S:
                shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=_STAGING_PREFIX, dir=folder))


def move(folder: Path, target: Path) -> None:
    """Move a pack with a single rename, even across file systems: it is never incomplete."""
    try:
        folder.rename(target)
        return
    except OSError as exc:
        if exc.errno != errno.EXDEV:
            raise
    staging = make_staging(target.parent)
    try:
        for file in folder.iterdir():
            shutil.copyfile(file, staging / file.name)
            sync(staging / file.name)
        staging.chmod(0o755)
        staging.rename(target)
        sync(target.parent)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def copy_pack(folder: Path, target: Path) -> Path:
    """Copy the files of a pack; return `target`, which is either complete or missing.

    Raises:
        OSError: If a file cannot be read or written, or `target` exists.
    """
    if target.exists():
        said = tr("that folder already contains '{name}'", name=target.name)
        raise FileExistsError(errno.EEXIST, said)
    staging = make_staging(target.parent)
    try:
        for file in folder.iterdir():
            if file.is_file():
                shutil.copyfile(file, staging / file.name)
        staging.chmod(0o755)
        staging.rename(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return target
