"""Masks painted by hand: in memory until their files are written, then in files."""

from __future__ import annotations

import time
from pathlib import Path

import platformdirs

from app.engine.matting.brushing import Mask
from app.engine.matting.files import MASK, read_mask
from utils.files.atomic import replacing
from utils.opencv import cv2

KEPT = 110  # files: more than the changes that can be undone

_held: dict[Path, Mask] = {}  # by the names of their files; the engine's thread reads it too
_newest = 0  # number in the newest name


def masks_folder() -> Path:
    """Return the folder of masks painted by hand, which may not exist yet."""
    return platformdirs.user_cache_path("styleforge", appauthor=False) / "masks"


def hold_mask(mask: Mask, folder: Path) -> Path:
    """Keep a copy of a mask, [h, w], in memory; return the name of the file that it may get.

    Only one thread may call it. Names are in the order of the calls.
    """
    global _newest
    _newest = max(time.time_ns(), _newest + 1)  # some clocks tick seldom
    path = folder / f"{_newest}{MASK}"
    _held[path] = mask.copy()
    return path


def drop_mask(path: Path) -> None:
    """Forget a mask that is in memory only."""
    _held.pop(path, None)


def write_mask(path: Path, kept: int = KEPT) -> None:
    """Write a mask in memory to its file, a gray PNG, and keep it only there.

    The file is not flushed to the disk: it serves the running program and its processes only.

    Args:
        kept: How many of the newest masks stay in the folder.

    Raises:
        OSError: If it cannot be written; the mask then stays in memory.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _, encoded = cv2.imencode(".png", _held[path])
    with replacing(path) as temporary:
        temporary.write_bytes(encoded.tobytes())
    drop_mask(path)
    for old in sorted(path.parent.glob(f"*{MASK}"))[:-kept]:
        old.unlink(missing_ok=True)


def mask_at(path: Path) -> Mask:
    """Return a mask, [h, w], from memory or from its file: 255 where the brush painted.

    Raises:
        MatteError: If it is in neither, or the file is damaged or no gray picture.
    """
    held = _held.get(path)
    return read_mask(path) if held is None else held.copy()
