"""Good and bad files of every kind, to open in the window."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from app.sources.scene import render
from app.styles.catalog import BUILTIN, Catalog
from tests.helpers.fakes import write_video
from utils.images.writing import write_pixels


class Files:
    def __init__(self, folder: Path, *, large: bool) -> None:
        self.folder = folder
        self.pictures = [folder / "small.png", folder / "wide.jpg", folder / "tall.png"]
        sizes = [(64, 48), (1600, 900), (300, 900)]
        if large:
            self.pictures += [folder / "photograph.jpg", folder / "phone.jpg"]
            sizes += [(4000, 3000), (6000, 4000)]
        for path, (width, height) in zip(self.pictures, sizes, strict=True):
            write_pixels(path, pixels(width, height))
        self.films = [
            write_video(folder / "film.mp4", 100),
            write_video(folder / "medium.mp4", 60, size=(640, 480)),
        ]
        if large:
            self.films.append(write_video(folder / "full hd.mp4", 40, size=(1920, 1080)))
            self.films.append(write_video(folder / "4k.mp4", 12, size=(3840, 2160)))
        self.strip = folder / "strip"
        self.strip.mkdir()
        for number in range(6):
            write_pixels(self.strip / f"{number}.png", pixels(200 + 100 * number, 300))
        self.broken = [folder / "missing.png"]
        for name, content in (
            ("empty.png", b""),
            ("cut.jpg", b"\xff\xd8\xff\xe0\x00\x10JFIF"),
            ("page.png", b"<!DOCTYPE html><html></html>"),
            ("broken.mp4", b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"),
        ):
            (folder / name).write_bytes(content)
            self.broken.append(folder / name)
        self.weights = folder / "a_style.safetensors"
        shutil.copy(Catalog(BUILTIN, folder / "none").get("mosaic").weights, self.weights)
        self.no_weights = folder / "no_style.pth"
        self.no_weights.write_bytes(b"no style at all")

    @property
    def every(self) -> list[Path]:
        return [*self.pictures, *self.films, self.strip, *self.broken]


def pixels(width: int, height: int) -> np.ndarray:
    """Return the animated scene, enlarged, [height, width, 3] uint8 RGB."""
    small = render(3.0, 320, 240)
    rows = np.arange(height) * small.shape[0] // height
    columns = np.arange(width) * small.shape[1] // width
    return np.ascontiguousarray(small[rows][:, columns])
