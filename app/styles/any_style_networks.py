"""The available any-style networks: shipped ones, ones for the user's styles, and given ones.

Each file is read once, when needed.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from app.styles.pack import MAX_NAME_LENGTH, StyleError, style_errors
from utils.files.atomic import replacing
from utils.text import printable
from utils.translation.joints import clauses
from utils.translation.texts import mark, tr

if TYPE_CHECKING:  # PyTorch is imported only when a network is read
    from models.families.any_style import AnyStyleNetwork

# The shipped networks: the full one and the lite one, which keeps a stream fluid on a CPU. If only
# one of the files exists, it is the full one.
SHIPPED = ("small.safetensors", "tiny.safetensors")
MISSING = mark("a style picture needs an any-style network, and none is installed")
_NOT_COPIED = mark("the network '{file}' could not be copied to '{folder}': {error}")
_ENDING = ".safetensors"
_KEPT = 2  # networks in memory: a full and a lite one; each further network takes 90 MB


class AnyStyleNetworks:
    """The networks by the digest of their weights; the folders may not exist. Thread-safe.

    `shipped` has the shipped networks, `user` the ones stored for the user's styles.
    """

    def __init__(self, shipped: Path, user: Path) -> None:
        self._shipped, self._user = shipped, user
        self._given: dict[str, Path] = {}  # by digest, for this process
        self._lock = threading.RLock()
        self._newest: dict[str, AnyStyleNetwork] = {}  # by digest; the network read last is last

    @property
    def unavailable_reason(self) -> str:
        """Why no style can be made from a picture, as a clause; "" if there is a network."""
        there = any(path.is_file() for path in self._candidates())
        return "" if there else tr(MISSING)

    def find(self, digest: str) -> AnyStyleNetwork | None:
        """Return the network whose weights have this digest; None if there is none.

        Raises:
            CheckpointError: If the network's file is damaged.
        """
        with self._lock:
            path = self._path(digest)
            return None if path is None else self._read(path)

    def is_there(self, digest: str) -> bool:
        with self._lock:
            return self._path(digest) is not None

    def has_lite(self, digest: str) -> bool:
        """Return whether a lite network can also paint the styles of the network `digest`."""
        with self._lock:
            return len(self._pair(digest)) > 1

    def default(self) -> AnyStyleNetwork | None:
        """Return the network for new styles; None without any.

        It is the last one given in this process, else the shipped full one, else the last one
        stored for a style of the user.

        Raises:
            CheckpointError: If its file is damaged.
        """
        with self._lock:
            path = next((path for path in self._candidates() if path.is_file()), None)
            return None if path is None else self._read(path)

    def for_code(self, digest: str, *, lite: bool) -> AnyStyleNetwork | None:
        """Return the network that paints a style whose code belongs to the weights `digest`.

        It is the network of the style's code or, if that is shipped, the full or (only if
        `has_lite`) lite shipped one. The default replaces a missing network; None without any.

        Raises:
            CheckpointError: If its file is damaged.
        """
        with self._lock:
            if pair := self._pair(digest):
                return self._read(pair[-1 if lite else 0])
            return self.find(digest) or self.default()

    def give(self, path: Path | None) -> AnyStyleNetwork:
        """Read the network for new styles, which stays known in this process.

        `path` is a file of `styleforge train-vit`; None for the default.

        Raises:
            StyleError: If there is none, or the file has no network; one sentence.
        """
        from models.checkpoints import CheckpointError

        try:
            with self._lock:
                network = self.default() if path is None else self._read(path)
        except CheckpointError as exc:
            raise StyleError(str(exc)) from exc
        if network is None:
            advice = tr("pass the file of a network that `styleforge train-vit` wrote")
            raise StyleError(clauses((tr(MISSING), advice)))
        if path is not None:
            with self._lock:
                self._given.pop(network.digest, None)
                self._given[network.digest] = path  # the last one is the default
        return network

    def keep(self, network: AnyStyleNetwork) -> None:
        """Copy a given network to the user's folder, unless it is shipped or already there.

        Raises:
            StyleError: If the file cannot be written.
        """
        source, target = self._given.get(network.digest), self._kept(network.digest)
        if source is None or target.is_file():
            return
        if any(_digest(path) == network.digest for path in self._shipped_files()):
            return
        name = printable(source.name, MAX_NAME_LENGTH)
        with style_errors(_NOT_COPIED, file=name, folder=self._user):
            self._user.mkdir(parents=True, exist_ok=True)
            with replacing(target) as temporary:
                shutil.copyfile(source, temporary)

    def drop_unused(self, needed: set[str]) -> None:
        """Delete the user's networks that no style needs.

        Raises:
            OSError: If a file cannot be deleted.
        """
        for path in self._user.glob(f"*{_ENDING}"):
            if path.stem not in needed:
                path.unlink(missing_ok=True)

    def _candidates(self) -> Iterator[Path]:
        """Yield possible files of the default network; the first that exists counts."""
        yield from reversed(list(self._given.values()))
        yield from self._shipped_files()
        yield from sorted(
            self._user.glob(f"*{_ENDING}"), key=lambda path: path.stat().st_mtime, reverse=True
        )

    def _shipped_files(self) -> list[Path]:
        paths = [self._shipped / name for name in SHIPPED]
        return [path for path in paths if path.is_file()]

    def _pair(self, digest: str) -> list[Path]:
        """Return the shipped networks if one has this digest and was not given; else nothing."""
        shipped = self._shipped_files()
        own = digest not in self._given and any(_digest(path) == digest for path in shipped)
        return shipped if own else []

    def _path(self, digest: str) -> Path | None:
        for path in (self._given.get(digest), *self._shipped_files(), self._kept(digest)):
            if path is not None and path.is_file() and _digest(path) == digest:
                return path
        return None

    def _kept(self, digest: str) -> Path:
        return self._user / f"{digest}{_ENDING}"

    def _read(self, path: Path) -> AnyStyleNetwork:
        from models.families.any_style import AnyStyleNetwork

        found = self._newest.pop(_digest(path), None) or AnyStyleNetwork.load(path)
        self._newest[found.digest] = found
        while len(self._newest) > _KEPT:
            del self._newest[next(iter(self._newest))]
        return found


def _digest(path: Path) -> str:
    """Return the digest in the header of a file, which reading compares with the weights."""
    from models.families.style_codes import header_texts

    return header_texts(path).get("sha256", "")
