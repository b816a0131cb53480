"""The previews of a training run: their picture, their file, and a first impression."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from app.commands.train.output import Output
from app.commands.train.reporters import Reporter
from app.styles.any_style_networks import AnyStyleNetworks
from app.styles.catalog import Catalog
from models.checkpoints import CheckpointError
from models.families.any_style import StylePainter
from models.training.run import fit
from utils.images.opening import ImageError
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

IMPRESSION_SIDE = 384  # long side in pixels of the first preview, which should come early


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


def show_impression(
    style: NDArray[np.uint8], picture: Path | None, output: Output, report: Reporter
) -> None:
    """Show the picture as the any-style network paints it; the run's own has its old style."""
    if picture is None:
        return
    try:
        shown = PreviewImage(picture, style, IMPRESSION_SIDE)()
        painted = first_impression(Catalog.default().networks, style, shown)
    except (CheckpointError, ValueError) as exc:
        report.note(f"Cannot paint a first impression: {exc}")
        return
    if painted is not None:
        report.impression(save_preview(output.preview, painted, report))


def save_preview(path: Path, preview: NDArray[np.uint8], report: Reporter) -> Path | None:
    """Save a preview; a failure is reported and does not end the run."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_pixels(path, preview)
    except (ImageError, OSError) as exc:
        report.note(f"Cannot save the preview: {exc}")
        return None
    return path


def first_impression(
    networks: AnyStyleNetworks, style: NDArray[np.uint8], picture: NDArray[np.uint8]
) -> NDArray[np.uint8] | None:
    """Paint one picture, [H, W, 3] uint8 RGB, in the style of another, on the CPU, uncompiled.

    Returns:
        [H, W, 3] uint8, RGB; None if there is no network.

    Raises:
        CheckpointError: If the network's file is damaged.
        ValueError: If the style picture is too narrow.
    """
    network = networks.default()
    if network is None:
        return None
    painter = StylePainter(network.module(fused=False), fused=False)
    painter.code.copy_(network.encode(style).values)
    pixels = torch.from_numpy(picture.copy()).permute(2, 0, 1)[None].float()
    with torch.no_grad():
        painted = painter(pixels)[0]
    return painted.clamp(0, 255).round().to(torch.uint8).permute(1, 2, 0).numpy()
