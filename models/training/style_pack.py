"""Writes a trained style as a style pack: a folder with weights, pictures and `style.toml`."""

from __future__ import annotations

import glob
import hashlib
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from models.checkpoints import save_checkpoint
from models.training.data import square
from models.training.errors import TrainingError
from utils.files import toml
from utils.files.atomic import sync
from utils.images.opening import ImageError
from utils.images.writing import write_pixels
from utils.translation.texts import tr

# A pack "wave" is written to ".wave.new-x1y2z3ab" next to it. An older pack is named
# ".wave.replaced" until the new one has its name. Libraries ignore names that begin with a dot.
_STAGING, _REPLACED = ".new-", ".replaced"
THUMBNAIL = 192  # pixels per side: twice the size in the gallery, for high-DPI screens

Spec = Mapping[str, toml.Value | Mapping[str, toml.Value]]  # of style.toml


@dataclass(frozen=True, slots=True)
class PackTexts:
    """The texts in `style.toml`: the title, the artist, and the licence of the style picture."""

    title: str
    credit: str = ""
    licence: str = ""


def check_free(folder: Path, *, overwrite: bool) -> None:
    """Raise TrainingError if the folder exists and is not a pack, or must not be replaced."""
    if not folder.exists():
        return
    if not (folder / "style.toml").is_file():
        raise TrainingError(
            tr("'{folder}' exists and is not a style pack; choose another --name", folder=folder)
        )
    if not overwrite:
        raise TrainingError(
            tr(
                "the style pack '{folder}' exists; choose another --name, or pass --overwrite",
                folder=folder,
            )
        )


def write_pack(
    folder: Path,
    texts: PackTexts,
    state: Mapping[str, Tensor],
    preview: NDArray[np.uint8],
    training: Mapping[str, toml.Value],
) -> None:
    """Write a pack atomically; an older pack is replaced once everything is written.

    `preview` is a picture in the style, [H, W, 3] uint8, RGB, whose center becomes the thumbnail,
    and `training` a table of `style.toml`.

    Raises:
        TrainingError: If the pack cannot be written.
    """
    with _staged(folder) as staging:
        weights = staging / "weights.safetensors"
        save_checkpoint(weights, dict(state), {"title": texts.title})
        write_pixels(staging / "thumbnail.png", square(preview, THUMBNAIL))
        write_pixels(staging / "preview.jpg", preview)
        spec = {
            "title": texts.title,
            "credit": texts.credit,
            "licence": texts.licence,
            "weights": weights.name,
            "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
            "thumbnail": "thumbnail.png",
            "preview": "preview.jpg",
        }
        _write_spec(staging, {**spec, "training": dict(training)})


def check_lite_free(folder: Path, *, overwrite: bool) -> None:
    """Raise TrainingError if the pack does not exist, or its lite network must not be replaced."""
    if "lite_weights" in _read_spec(folder) and not overwrite:
        raise TrainingError(
            tr(
                "the style pack '{folder}' already has a lite network; pass --overwrite",
                folder=folder,
            )
        )


def add_lite(folder: Path, state: Mapping[str, Tensor], training: Mapping[str, toml.Value]) -> None:
    """Add a lite network, or replace the existing one.

    `training` is the table `lite_training` of `style.toml`.

    Raises:
        TrainingError: If the pack cannot be read or written.
    """
    spec = _read_spec(folder)
    with _staged(folder) as staging:
        shutil.copytree(folder, staging, dirs_exist_ok=True)
        weights = staging / "lite.safetensors"
        save_checkpoint(weights, dict(state), {"title": f"{spec['title']}, lite"})
        spec["lite_weights"] = weights.name
        spec["lite_sha256"] = hashlib.sha256(weights.read_bytes()).hexdigest()
        spec["lite_training"] = dict(training)
        _write_spec(staging, spec)


def _read_spec(folder: Path) -> dict[str, Any]:
    try:
        return toml.load(folder / "style.toml")
    except (OSError, ValueError) as exc:
        raise TrainingError(
            tr("'{file}' cannot be read ({error})", file=f"{folder}/style.toml", error=exc)
        ) from exc


def _write_spec(folder: Path, spec: Spec) -> None:
    """Write `style.toml`: plain values first, as TOML requires, then the tables."""
    plain = {name: value for name, value in spec.items() if not isinstance(value, Mapping)}
    tables = {name: value for name, value in spec.items() if isinstance(value, Mapping)}
    parts = [toml.dumps(plain)]
    parts += [f"\n[{name}]\n{toml.dumps(table)}" for name, table in tables.items()]
    (folder / "style.toml").write_text("".join(parts), "utf-8", newline="\n")


def put_back(folder: Path) -> None:
    """Restore the pack at `folder` if a process was killed while replacing it."""
    old = folder.with_name(f".{folder.name}{_REPLACED}")
    if old.is_dir() and not folder.exists():
        old.rename(folder)


def clear_staging(folder: Path) -> None:
    """Remove the temporary folders of killed processes; the caller must hold the run's lock."""
    put_back(folder)
    for left in folder.parent.glob(f".{glob.escape(folder.name)}{_STAGING}*"):
        shutil.rmtree(left, ignore_errors=True)
    old = folder.with_name(f".{folder.name}{_REPLACED}")
    if old.is_dir():
        shutil.rmtree(old, ignore_errors=True)


@contextmanager
def _staged(folder: Path) -> Generator[Path]:
    """Yield a temporary folder, which replaces `folder` if the block ends without an exception."""
    staging = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        prefix = f".{folder.name}{_STAGING}"
        staging = Path(tempfile.mkdtemp(prefix=prefix, dir=folder.parent))
        yield staging
        staging.chmod(0o755)  # mkdtemp makes it private
        # otherwise the renaming could reach the disk before the contents
        for file in staging.iterdir():
            sync(file)
        sync(staging)
        if folder.exists():
            old = staging.with_name(f".{folder.name}{_REPLACED}")
            folder.rename(old)
            try:
                staging.rename(folder)
            except BaseException:
                old.rename(folder)
                raise
            sync(folder.parent)
            shutil.rmtree(old, ignore_errors=True)
        else:
            staging.rename(folder)
            sync(folder.parent)
    except (OSError, ImageError) as exc:
        reason = getattr(exc, "strerror", None) or exc
        raise TrainingError(
            tr(
                "the style pack '{folder}' could not be written ({reason})",
                folder=folder,
                reason=reason,
            )
        ) from exc
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)
