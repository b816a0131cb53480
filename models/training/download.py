"""Fetches torchvision's VGG-19 once, checked, into the per-user cache."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.request
from collections.abc import Callable
from pathlib import Path

from models.training.errors import TrainingError
from utils.files.atomic import remove_leftovers, temporary_name
from utils.files.locks import LockedError, locked

TORCHVISION_PREFIX = "dcbb9e9d"  # the first digits of the file's sha256, as torchvision states
ADDRESS = f"https://download.pytorch.org/models/vgg19-{TORCHVISION_PREFIX}.pth"
SIZE_MB = 548
PIECE = 1 << 20
PATIENCE = 30.0  # seconds without a byte


def cached_vgg(progress: Callable[[int, int], None] = lambda done, total: None) -> Path:
    """The VGG-19 of torchvision (548 MB), downloaded if it is not in the cache yet.

    `progress` is told bytes done and in total. TrainingError where there is no network.
    """
    path = vgg_cache()
    return fetch(ADDRESS, path.parent, TORCHVISION_PREFIX, progress)


def vgg_cache() -> Path:
    """Where torchvision's VGG-19 is kept once it is downloaded; need not exist yet."""
    name = ADDRESS.rpartition("/")[2]
    folder = os.environ.get("STYLEFORGE_CACHE")
    if folder:
        return Path(folder) / name
    import platformdirs  # only here, so that training with a file of one's own needs it not

    return platformdirs.user_cache_path("styleforge", appauthor=False) / name


def fetch(
    address: str,
    folder: Path,
    sha256_prefix: str,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Path:
    """The file of `address` in `folder`, downloaded if it is not there, its sha256 checked."""
    path = folder / address.rpartition("/")[2]
    if path.is_file():
        return path
    try:
        with locked(path, PATIENCE):
            remove_leftovers(path)
            if not path.is_file():  # another process may just have downloaded it
                _download(address, path, sha256_prefix, progress)
    except LockedError:
        raise TrainingError(f"another process is downloading '{path.name}'; try again") from None
    except (OSError, http.client.HTTPException) as exc:
        reason = getattr(exc, "reason", None) or exc
        raise TrainingError(
            f"VGG-19 could not be downloaded from {address} ({reason}); "
            "pass a file of its weights with --vgg"
        ) from exc
    return path


def _download(
    address: str, path: Path, sha256_prefix: str, progress: Callable[[int, int], None]
) -> None:
    temporary = temporary_name(path)
    digest, done = hashlib.sha256(), 0
    try:
        with (
            urllib.request.urlopen(address, timeout=PATIENCE) as answer,
            temporary.open("wb") as file,
        ):
            total = int(answer.headers.get("Content-Length", 0))
            while piece := answer.read(PIECE):
                file.write(piece)
                digest.update(piece)
                done += len(piece)
                progress(done, total)
            file.flush()
            os.fsync(file.fileno())
        if total and done < total:
            raise TrainingError(f"the download of '{path.name}' broke off; try again")
        if not digest.hexdigest().startswith(sha256_prefix):
            raise TrainingError(
                f"the download of '{path.name}' is damaged: its checksum is wrong; try again"
            )
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
