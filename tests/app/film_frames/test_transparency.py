"""Transparent films are painted and played over white, with a remark."""

from __future__ import annotations

from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from app.export.film.reader import FilmReading, film_info, read_frames
from app.film_frames.planes import over_white
from app.sources.video_decoder import VideoReader
from utils.pyav import av

KINDS = [
    ("libvpx-vp9", "yuva420p", "webm"),
    ("libvpx", "yuva420p", "webm"),
    ("prores_ks", "yuva444p10le", "mov"),
    ("qtrle", "argb", "mov"),
    ("png", "rgba", "mov"),
    ("png", "ya8", "mov"),
    ("ffv1", "bgra", "mkv"),
    ("ffv1", "gbrap10le", "mkv"),
    ("utvideo", "gbrap", "avi"),
]
HIDDEN = (0, 255, 0)
REMARK = "its transparency is not kept"


def sheet(opaque: bool = False) -> np.ndarray:
    """Return a red sheet; half of it is transparent over a hidden green."""
    pixels = np.full((48, 64, 4), (200, 40, 40, 255), np.uint8)
    pixels[:, :32] = (*HIDDEN, 255 if opaque else 0)
    return pixels


def write(path: Path, codec: str, pixels: str, opaque: bool = False) -> Path:
    with av.open(str(path), "w") as film:
        stream: Any = film.add_stream(codec, 25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, pixels
        if "vpx" in codec:
            stream.options = {"auto-alt-ref": "0", "crf": "4", "b": "9M"}
        for number in range(3):
            frame = av.VideoFrame.from_ndarray(sheet(opaque), format="rgba")
            frame.pts, frame.time_base = number, Fraction(1, 25)
            film.mux(stream.encode(frame.reformat(format=pixels)))
        film.mux(stream.encode(None))
    return path


def painted(path: Path) -> np.ndarray:
    frames = list(read_frames(film_info(path), FilmReading()))
    assert len(frames) == 3
    return frames[-1].frame.pixels


def played(path: Path) -> np.ndarray:
    reader = VideoReader(path)
    reader.seek(0.08)
    _, pixels = next(iter(reader))
    reader.close()
    return pixels


@pytest.mark.parametrize(("codec", "pixels", "ending"), KINDS)
def test_hidden_colors_become_white_and_the_transparency_is_remarked(
    tmp_path, codec, pixels, ending
):
    film = write(tmp_path / f"film.{ending}", codec, pixels)
    assert film_info(film).remarks == (REMARK,)
    red = (200, 40, 40) if pixels != "ya8" else (88, 88, 88)
    for shown in (painted(film), played(film)):
        assert np.abs(shown[24, 8].astype(int) - 255).max() <= 2
        assert np.abs(shown[24, 56].astype(int) - red).max() <= 5


@pytest.mark.parametrize("codec", ["libvpx-vp9", "libvpx"])
def test_a_web_film_without_transparency_has_no_remark(tmp_path, codec):
    film = write(tmp_path / "film.webm", codec, "yuv420p", opaque=True)
    assert film_info(film).remarks == ()
    assert painted(film)[24, 8, 1] > 230


@pytest.mark.parametrize("transparent", [True, False])
def test_a_palette_is_transparent_where_a_color_of_it_is(tmp_path, transparent):
    image = Image.new("P", (64, 48), 1)
    image.putpalette([*HIDDEN, 200, 40, 40])
    image.paste(0, (0, 0, 32, 48))
    file = BytesIO()
    image.save(file, "PNG", **({"transparency": 0} if transparent else {}))
    path = tmp_path / "film.mov"
    with av.open(str(path), "w") as film:
        stream: Any = film.add_stream("png", 25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "pal8"
        for number in range(3):
            packet = av.Packet(file.getvalue())
            packet.stream, packet.time_base = stream, Fraction(1, 25)
            packet.pts = packet.dts = number
            packet.is_keyframe = True
            film.mux(packet)
    assert film_info(path).remarks == ((REMARK,) if transparent else ())
    shown = painted(path)
    assert tuple(shown[24, 8]) == ((255, 255, 255) if transparent else HIDDEN)
    assert tuple(shown[24, 56]) == (200, 40, 40)


def test_soft_edges_are_mixed_with_white():
    pixels = np.array([[[0, 100, 255, 128], [10, 20, 30, 255], [10, 20, 30, 0]]], np.uint8)
    assert over_white(pixels).tolist() == [[[127, 177, 255], [10, 20, 30], [255, 255, 255]]]
