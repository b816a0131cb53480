"""Downloads a whole file and verifies its checksum."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from models.training.errors import TrainingError
from utils.files.atomic import remove_leftovers, temporary_name
from utils.files.locks import LockedError, locked
from utils.translation.texts import tr

CHUNK_BYTES = 1 << 20
TIMEOUT_S = 30.0  # without a byte from the server, or for another process's download


def fetch(
    address: str,
    folder: Path,
    sha256_prefix: str,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Path:
    """Return the path of a file, named as in its URL; download the file if it does not exist.

    Args:
        sha256_prefix: The first hexadecimal digits of its SHA-256.
        progress: Called with the bytes received and in total, 0 if the total is unknown.

    Raises:
        TrainingError: If the file cannot be downloaded, or its checksum is wrong.
    """
    path = folder / address.rpartition("/")[2]
    if path.is_file():
        return path
    with downloading(address, path):
        if not path.is_file():  # another process may just have downloaded it
            _download(address, path, sha256_prefix, progress)
    return path


@contextmanager
def downloading(address: str, path: Path) -> Generator[None]:
    """Hold a file's lock during a download, after removing leftovers.

    Raises:
        TrainingError: If another process holds the lock, or the download fails with an OSError or
            HTTPException.
    """
    try:
        with locked(path, TIMEOUT_S):
            remove_leftovers(path)
            yield
    except LockedError:
        raise TrainingError(
            tr("another process is downloading '{file}'; try again", file=path.name)
        ) from None
    except (OSError, http.client.HTTPException) as exc:
        if isinstance(exc, urllib.error.HTTPError):
            exc.close()  # it owns the server's answer
        reason = getattr(exc, "reason", None) or exc
        raise TrainingError(
            tr(
                "VGG-19 could not be downloaded from {address} ({reason}); pass a file of its "
                "weights with --vgg",
                address=address,
                reason=reason,
            )
        ) from exc


def _download(
    address: str, path: Path, sha256_prefix: str, progress: Callable[[int, int], None]
) -> None:
    temporary = temporary_name(path)
    digest, done = hashlib.sha256(), 0
    try:
        with (
            urllib.request.urlopen(address, timeout=TIMEOUT_S) as answer,
            temporary.open("wb") as file,
        ):
            total = int(answer.headers.get("Content-Length", 0))
            while chunk := answer.read(CHUNK_BYTES):
                file.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                progress(done, total)
            file.flush()
            os.fsync(file.fileno())
        if total and done < total:
            raise TrainingError(
                tr("the download of '{file}' was interrupted; try again", file=path.name)
            )
        if not digest.hexdigest().startswith(sha256_prefix):
            raise TrainingError(
                tr(
                    "the download of '{file}' is damaged: its checksum is wrong; try again",
                    file=path.name,
                )
            )
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
