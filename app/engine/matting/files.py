"""The files that mattes come from: a picture of the empty scene, a scene, a network, a mask."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import platformdirs
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from app.engine.matting.scene import Scene
from app.errors import StyleForgeError
from utils.files.atomic import atomic_write
from utils.files.regular import read_regular
from utils.images.opening import ImageError, opened
from utils.images.reading import read_pixels
from utils.translation.texts import tr

NETWORK, LEARNED, MASK = ".onnx", ".scene", ".mask"  # endings; every other file is a picture
LARGEST_SCENE = 4_000_000  # bytes
LARGEST_MASK = 4096  # pixels of the long side
KEPT = 8  # learned scenes, which exports may still need
DEPTH = 64  # steps per level of the noise


class MatteError(StyleForgeError):
    """Raised if a file cannot tell a person from the background."""


def is_network(path: Path) -> bool:
    return path.suffix.lower() == NETWORK


def is_learned(path: Path) -> bool:
    """Return whether `keep_scene` wrote a file."""
    return path.suffix.lower() == LEARNED


def is_mask(path: Path) -> bool:
    """Return whether a file is a mask painted by hand."""
    return path.suffix.lower() == MASK


def is_of_source(path: Path) -> bool:
    """Return whether a file is of use for one source only: a learned scene, or a mask."""
    return is_learned(path) or is_mask(path)


def read_scene(path: Path) -> Scene:
    """Read a picture of the empty scene, or a scene that `keep_scene` wrote.

    Raises:
        MatteError: If the file is missing, damaged or neither. The message is one sentence.
    """
    if not is_learned(path):
        try:
            return Scene.of_picture(read_pixels(path))
        except (OSError, ImageError) as exc:
            raise MatteError(str(exc)) from exc
    try:
        kept = load(read_regular(path, LARGEST_SCENE))
        colors, noise = kept["colors"], kept["noise"]
        fits = colors.dtype == np.uint8 and noise.dtype == np.uint16 and noise.ndim == 2
        if not fits or colors.shape != (*noise.shape, 3) or not noise.size:
            raise ValueError(path)
    except FileNotFoundError as exc:
        raise MatteError(tr("the learned scene {name} is gone", name=path.name)) from exc
    except (OSError, SafetensorError, KeyError, ValueError) as exc:
        raise MatteError(tr("the learned scene {name} is damaged", name=path.name)) from exc
    return Scene(colors.astype(np.float32), (noise / DEPTH).astype(np.float32))


def scenes_folder() -> Path:
    """Return the folder of learned scenes, which may not exist yet."""
    return platformdirs.user_cache_path("styleforge", appauthor=False) / "scenes"


def keep_scene(scene: Scene, folder: Path) -> Path:
    """Write a learned scene into a folder, and delete the oldest ones; return its file.

    Raises:
        OSError: If it cannot be written.
    """
    path = folder / f"{time.time_ns()}{LEARNED}"
    noise = np.minimum(scene.noise * DEPTH, 65535).astype(np.uint16)
    tensors = {"colors": scene.colors.astype(np.uint8), "noise": noise}
    atomic_write(path, save(tensors))
    for old in sorted(folder.glob(f"*{LEARNED}"))[:-KEPT]:
        old.unlink(missing_ok=True)
    return path


def read_mask(path: Path) -> NDArray[np.uint8]:
    """Read a mask painted by hand, [h, w]: 255 where the brush painted.

    Raises:
        MatteError: If the file is missing, damaged or no gray picture. The message is one sentence.
    """
    if not path.exists():
        raise MatteError(tr("the painted mask {name} is gone", name=path.name))
    try:
        with opened(path) as image:
            if image.mode != "L" or max(image.size) > LARGEST_MASK:
                raise MatteError(
                    tr(
                        "the painted mask {name} is no gray picture of at most {n} pixels a side",
                        name=path.name,
                        n=LARGEST_MASK,
                    )
                )
            return np.array(image, np.uint8)
    except ImageError as exc:
        raise MatteError(tr("the painted mask {name} is damaged", name=path.name)) from exc
