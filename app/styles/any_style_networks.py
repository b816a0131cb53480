"""The any-style networks there are: those that ship, those the user's styles need, those given.

Their files are read when they are needed, and a network is read once.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from app.styles.pack import MAX_NAME_LENGTH, StyleError
from utils.files.atomic import replacing
from utils.text import printable

if TYPE_CHECKING:  # PyTorch is imported only when a network is read
    from models.families.any_style import AnyStyleNetwork

# The networks that ship, by the kind of device that they are for: a narrow one keeps a stream
# fluid on a CPU. Where only one of the files is there, it runs on every device.
SHIPPED = {"cpu": "tiny.safetensors", "cuda": "small.safetensors"}
MISSING = "a style picture needs an any-style network, and none is installed"
_ENDING = ".safetensors"


class AnyStyleNetworks:
    """Finds networks by the digest of their weights and by device, on any thread.

    Args:
        shipped: The folder of the networks that ship; it may not exist.
        user: The folder of the networks that were kept for the user's styles; it may not exist.
    """

    def __init__(self, shipped: Path, user: Path) -> None:
        self._shipped, self._user = shipped, user
        self._given: dict[str, Path] = {}  # by digest, for this process
        self._lock = threading.RLock()
        self._newest: AnyStyleNetwork | None = None  # the one read last: others take 90 MB each

    @property
    def unavailable_reason(self) -> str:
        """Why no style can be made of a picture, as a clause; "" where there is a network."""
        there = any(path.is_file() for path in self._candidates("cpu"))
        return "" if there else MISSING

    def find(self, digest: str) -> AnyStyleNetwork | None:
        """The network whose weights have this digest; None where it is not there.

        Raises:
            CheckpointError: Its file is damaged.
        """
        with self._lock:
            if self._newest is not None and self._newest.digest == digest:
                return self._newest
            for path in (self._given.get(digest), *self._shipped_for("cpu"), self._kept(digest)):
                if path is not None and path.is_file() and _digest(path) == digest:
                    return self._read(path)
            return None

    def default(self, kind: str) -> AnyStyleNetwork | None:
        """The network for new styles: the one given last in this process, else the one that ships
        for this kind of device, else another one that ships, else the one that was kept last for a
        style of the user; None without any.

        Args:
            kind: Of the device, as torch.device.type.

        Raises:
            CheckpointError: Its file is damaged.
        """
        with self._lock:
            there = (path for path in self._candidates(kind) if path.is_file())
            path = next(there, None)
            return None if path is None else self._read(path)

    def for_code(self, digest: str, kind: str) -> AnyStyleNetwork | None:
        """The network that paints a style on a device: that of its code, unless it is one that
        ships for another kind of device, or is not there; then the default.

        Args:
            digest: Of the weights of the network that the style's code belongs to.
            kind: Of the device, as torch.device.type.

        Returns:
            None where there is no network.

        Raises:
            CheckpointError: Its file is damaged.
        """
        with self._lock:
            if digest not in self._given:
                shipped = [path for path in self._shipped_for(kind) if path.is_file()]
                if any(_digest(path) == digest for path in shipped):
                    return self._read(shipped[0])
            return self.find(digest) or self.default(kind)

    def give(self, path: Path | None, kind: str) -> AnyStyleNetwork:
        """Read the network for new styles, which stays known in this process.

        Args:
            path: A file of `styleforge train-vit`; None for the default.
            kind: Of the device that the styles are for, as torch.device.type.

        Raises:
            StyleError: There is none, or the file is none; one sentence.
        """
        from models.checkpoints import CheckpointError

        try:
            with self._lock:
                network = self.default(kind) if path is None else self._read(path)
        except CheckpointError as exc:
            raise StyleError(str(exc)) from exc
        if network is None:
            raise StyleError(f"{MISSING}; name the file of one that `styleforge train-vit` wrote")
        if path is not None:
            with self._lock:
                self._given.pop(network.digest, None)
                self._given[network.digest] = path  # the last one is the default
        return network

    def keep(self, network: AnyStyleNetwork) -> None:
        """Copy a given network to the user's folder, unless it ships or is there already.

        Raises:
            StyleError: The file cannot be written.
        """
        source, target = self._given.get(network.digest), self._kept(network.digest)
        if source is None or target.is_file():
            return
        shipped = [path for path in self._shipped_for("cpu") if path.is_file()]
        if any(_digest(path) == network.digest for path in shipped):
            return
        try:
            self._user.mkdir(parents=True, exist_ok=True)
            with replacing(target) as temporary:
                shutil.copyfile(source, temporary)
        except OSError as exc:
            raise StyleError(
                f"the network '{printable(source.name, MAX_NAME_LENGTH)}' could not be copied to "
                f"'{self._user}': {exc.strerror or exc}"
            ) from exc

    def drop_unused(self, needed: set[str]) -> None:
        """Delete the user's networks that no style needs.

        Args:
            needed: The digests of those that one needs.

        Raises:
            OSError: A file cannot be deleted.
        """
        for path in self._user.glob(f"*{_ENDING}"):
            if path.stem not in needed:
                path.unlink(missing_ok=True)

    def _candidates(self, kind: str) -> Iterator[Path]:
        """The files from which the default is taken, the first that is there."""
        yield from reversed(list(self._given.values()))
        yield from self._shipped_for(kind)
        yield from sorted(
            self._user.glob(f"*{_ENDING}"), key=lambda path: path.stat().st_mtime, reverse=True
        )

    def _shipped_for(self, kind: str) -> list[Path]:
        """The files of all networks that ship, that of this kind of device first."""
        kinds = sorted(SHIPPED, key=lambda other: other != kind)
        return [self._shipped / SHIPPED[each] for each in kinds]

    def _kept(self, digest: str) -> Path:
        return self._user / f"{digest}{_ENDING}"

    def _read(self, path: Path) -> AnyStyleNetwork:
        from models.families.any_style import AnyStyleNetwork

        if self._newest is None or _digest(path) != self._newest.digest:
            self._newest = AnyStyleNetwork.load(path)
        return self._newest


def _digest(path: Path) -> str:
    """The digest in the header of a file; it is compared with the weights when they are read."""
    from models.families.style_codes import header_texts

    return header_texts(path).get("sha256", "")
