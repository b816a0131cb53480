"""The training photographs, held in memory as small squares, and the crops of each step."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from models.training.config import SQUARE
from models.training.errors import TrainingError
from utils.images.opening import ImageError, picture_endings
from utils.images.reading import read_pixels
from utils.text import printable
from utils.translation.texts import tr

PORTION = 0.4  # of a GPU's free memory that photographs may fill
DECODERS = 8  # threads


@dataclass(frozen=True, slots=True, eq=False)
class Photographs:
    """Decoded photographs [N, S, S, 3] uint8, RGB, on the CPU; a sentence per `skipped` file."""

    pixels: Tensor
    names: tuple[str, ...]
    skipped: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    @property
    def digest(self) -> str:
        """A hash of the file names, which identifies the set: 16 hexadecimal digits."""
        return hashlib.sha256("\n".join(self.names).encode(errors="replace")).hexdigest()[:16]


def find_photographs(
    folder: Path, exclude: Sequence[str] = (), skip_folder: str = ""
) -> list[Path]:
    """List the pictures in a folder and its subfolders, sorted.

    Args:
        exclude: File names, or paths relative to `folder` with forward slashes, to leave out.
        skip_folder: Name of a direct subfolder to skip; "" for none.

    Raises:
        TrainingError: If none is left, or an excluded picture does not exist.
    """
    shown = printable(str(folder))
    if not folder.is_dir():
        raise TrainingError(tr("the folder of photographs '{folder}' does not exist", folder=shown))
    endings = picture_endings()
    found = [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in endings
        and path.relative_to(folder).parts[:-1][:1] != (skip_folder,)
        and path.is_file()
    ]
    if not found:
        raise TrainingError(tr("the folder '{folder}' holds no photographs", folder=shown))
    known = {name for path in found for name in (path.name, path.relative_to(folder).as_posix())}
    absent = [name for name in exclude if name not in known]
    if absent:
        raise TrainingError(
            tr(
                "a photograph to leave out is not in '{folder}': {name}",
                folder=shown,
                name=printable(absent[0]),
            )
        )
    left_out = set(exclude)
    kept = [
        path
        for path in found
        if path.name not in left_out and path.relative_to(folder).as_posix() not in left_out
    ]
    if not kept:
        raise TrainingError(tr("every photograph of '{folder}' is left out", folder=shown))
    return kept


def load_photographs(
    paths: Sequence[Path],
    side: int,
    limit: int,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Photographs:
    """Decode photographs into memory, so that no training step waits for a decoder.

    A file is skipped if it cannot be read, or if its crops may have one color only.

    Args:
        side: Side of the squares in pixels.
        limit: At most this many are loaded, 1 or more (250 KB each at the default sizes).
        seed: Selects the photographs if there are more.
        progress: Called with the number of files done and in total.

    Raises:
        TrainingError: If no photograph can be used, or the limit is less than 1.
    """
    if limit < 1:
        raise TrainingError(
            tr("the number of photographs to keep should be 1 or more, not {n}", n=limit)
        )
    if len(paths) > limit:
        chosen = np.random.default_rng(seed).choice(len(paths), limit, replace=False)
        paths = [paths[int(n)] for n in sorted(chosen)]
    squares = np.empty((len(paths), side, side, 3), np.uint8)

    def read(place: int) -> str:
        try:
            squares[place] = square(read_pixels(paths[place]), side)
        except (ImageError, OSError) as exc:
            return str(exc)
        name = printable(paths[place].name)
        return tr("'{file}' has only one color", file=name) if _plain(squares[place]) else ""

    faults: list[str] = []
    pool = ThreadPoolExecutor(DECODERS)
    try:
        for fault in pool.map(read, range(len(paths))):
            faults.append(fault)
            progress(len(faults), len(paths))
    finally:
        pool.shutdown(cancel_futures=True)
    skipped = tuple(fault for fault in faults if fault)
    if len(skipped) == len(paths):
        raise TrainingError(tr("no photograph can be used: {fault}", fault=skipped[0]))
    if skipped:
        squares = squares[[not fault for fault in faults]]
    names = tuple(path.name for path, fault in zip(paths, faults, strict=True) if not fault)
    return Photographs(torch.as_tensor(squares), names, skipped)


def square(pixels: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Crop the largest centered square of [H, W, 3] uint8, and resize it to `side` pixels."""
    height, width = pixels.shape[:2]
    short = min(height, width)
    left, top = (width - short) / 2, (height - short) / 2
    return np.asarray(
        Image.fromarray(pixels).resize(
            (side, side), Image.Resampling.BICUBIC, box=(left, top, left + short, top + short)
        )
    )


def _plain(pixels: NDArray[np.uint8]) -> bool:
    """Return whether a crop may have one color only: its gradient overflows in instance norms."""
    edge = math.ceil(len(pixels) * (1 - 1 / SQUARE))
    middle = pixels[edge:-edge, edge:-edge]  # part of every crop
    return bool((middle == middle[0, 0]).all())


class Crops:
    """Random crops, half of them mirrored, as a function of the seed and the step alone.

    A resumed run therefore receives the crops of an uninterrupted run, without the state of a
    generator. Every photograph is used once per epoch. The photographs are moved to `device` if
    they fill at most PORTION of its free memory.
    """

    def __init__(
        self, photographs: Photographs, crop: int, batch: int, seed: int, device: torch.device
    ) -> None:
        pixels = photographs.pixels
        fits = device.type != "cuda" or pixels.nbytes < PORTION * torch.cuda.mem_get_info(device)[0]
        self._pixels = pixels.to(device) if fits else pixels
        self._crop, self._batch, self._seed, self._device = crop, batch, seed, device
        self._epoch = -1
        self._order = torch.empty(0, dtype=torch.long)

    def __call__(self, step: int) -> Tensor:
        """Return the batch of a step: [B, 3, crop, crop] float32, RGB 0-255, channels last."""
        pixels, crop, batch = self._pixels, self._crop, self._batch
        generator = self._generator(1, step)
        room = pixels.shape[1] - crop + 1
        draw = torch.rand(3, batch, generator=generator, device=pixels.device)
        reach = torch.arange(crop, device=pixels.device)
        top, left = (draw[:2] * room).long().clamp_(max=room - 1)
        mirrored = (draw[2] < 0.5)[:, None]
        across = torch.where(mirrored, crop - 1 - reach, reach)  # [B, crop]
        rows = (top[:, None] + reach)[:, :, None]
        columns = (left[:, None] + across)[:, None, :]
        crops = pixels[self._photographs(step)[:, None, None], rows, columns]  # [B, crop, crop, 3]
        return crops.to(self._device, non_blocking=True).permute(0, 3, 1, 2).float()

    def _photographs(self, step: int) -> Tensor:
        """Return the indices of a step's photographs, [B]; a batch may span epochs."""
        count = len(self._pixels)
        start, picked = step * self._batch, 0
        parts: list[Tensor] = []
        while picked < self._batch:
            epoch, offset = divmod(start + picked, count)
            if epoch != self._epoch:
                order = self._generator(0, epoch)
                self._order = torch.randperm(count, generator=order, device=self._pixels.device)
                self._epoch = epoch
            parts.append(self._order[offset : offset + self._batch - picked])
            picked += len(parts[-1])
        return torch.cat(parts)

    def _generator(self, purpose: int, count: int) -> torch.Generator:
        words = np.random.SeedSequence((self._seed, purpose, count)).generate_state(1, np.uint64)
        return torch.Generator(self._pixels.device).manual_seed(int(words[0]) >> 1)
