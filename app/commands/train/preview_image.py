"""The picture in the previews of a training run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.training.run import fit
from utils.images.opening import ImageError
from utils.images.reading import read_pixels


class PreviewImage:
    """The picture for previews: a file that is read again whenever it changes, or `otherwise`.

    Raises:
        ImageError: If the file cannot be read the first time.
    """

    def __init__(self, path: Path | None, otherwise: NDArray[np.uint8], long_side: int) -> None:
        self._path, self._side = path, long_side
        self._stamp = self._stamped()
        self._picture = self._fit(read_pixels(path) if path else otherwise)

    def __call__(self) -> NDArray[np.uint8]:
        """Return the picture as [H, W, 3] uint8 RGB, at most `long_side` pixels long."""
        stamp = self._stamped()
        if self._path is not None and stamp != self._stamp:
            try:
                self._picture = self._fit(read_pixels(self._path))
            except ImageError:
                return self._picture  # missing or being replaced; the next preview tries again
            self._stamp = stamp
        return self._picture

    def _stamped(self) -> tuple[int, int]:
        try:
            stat = self._path.stat() if self._path else None
        except OSError:
            return (0, 0)  # reading it will raise the error
        return (stat.st_mtime_ns, stat.st_size) if stat else (0, 0)

    def _fit(self, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return fit(picture, min(self._side, max(picture.shape[:2])))
