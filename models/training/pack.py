"""Writes a trained style as a pack: a folder with weights, pictures and `style.toml`."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from models.checkpoints import save_checkpoint
from models.training.data import square
from models.training.errors import TrainingError
from utils import toml
from utils.image_utils import ImageError, save_image

THUMBNAIL = 256  # pixels a side


@dataclass(frozen=True, slots=True)
class PackTexts:
    """What a pack says of itself: its title, whose picture it is, and its licence."""

    title: str
    credit: str = ""
    licence: str = ""


def check_free(folder: Path, *, overwrite: bool) -> None:
    """TrainingError if a pack cannot go to `folder` without destroying something."""
    if not folder.exists():
        return
    if not (folder / "style.toml").is_file():
        raise TrainingError(f"'{folder}' exists and is not a style pack; choose another --name")
    if not overwrite:
        raise TrainingError(
            f"the style pack '{folder}' exists; choose another --name, or pass --overwrite"
        )


def write_pack(
    folder: Path,
    texts: PackTexts,
    state: Mapping[str, Tensor],
    preview: NDArray[np.uint8],
    training: Mapping[str, toml.Value],
) -> None:
    """Write the pack as `folder`, replacing an older pack there only once all is written.

    `preview` is a picture (H, W, 3) uint8 in the style; its middle becomes the thumbnail.
    `training` becomes the table of that name. TrainingError if it cannot be written.
    """
    staging = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        weights = staging / "weights.safetensors"
        save_checkpoint(weights, dict(state), {"title": texts.title})
        save_image(staging / "thumbnail.png", square(preview, THUMBNAIL))
        save_image(staging / "preview.jpg", preview)
        spec = {
            "title": texts.title,
            "credit": texts.credit,
            "licence": texts.licence,
            "weights": weights.name,
            "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
            "thumbnail": "thumbnail.png",
            "preview": "preview.jpg",
        }
        text = f"{toml.dumps(spec)}\n[training]\n{toml.dumps(training)}"
        (staging / "style.toml").write_text(text, "utf-8", newline="\n")
        staging.chmod(0o755)  # mkdtemp makes it private
        if folder.exists():
            old = staging.with_name(f"{staging.name}-replaced")
            folder.rename(old)
            try:
                staging.rename(folder)
            except OSError:
                old.rename(folder)
                raise
            shutil.rmtree(old, ignore_errors=True)
        else:
            staging.rename(folder)
    except (OSError, ImageError) as exc:
        reason = getattr(exc, "strerror", None) or exc
        raise TrainingError(f"the style pack '{folder}' could not be written ({reason})") from exc
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)
