"""A file's numbers mean the same in 8 and 16 bits: transparency, white, and colors."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from tests.helpers.errors import mentions
from tests.helpers.profiles import SRGB, gamma, profile
from utils.images.conversion import to_rgb
from utils.images.opening import ImageError, opened
from utils.images.reading import Picture, read_picture

GRAY_LINEAR = profile(SRGB, gamma(1), space=b"GRAY", further={b"kTRC": gamma(1)})
RGB_LINEAR = profile(SRGB, gamma(1))
FIFTH = 124  # of 255: light of 20 % in sRGB
P3_COLOR, P3_IN_SRGB = (180, 90, 60), (193, 83, 51)
ADOBE_COLOR, ADOBE_IN_SRGB = (150, 110, 90), (164, 110, 89)
GAMMA_1 = (b"gAMA", struct.pack(">I", 100_000))


def png(
    path: Path, pixel: tuple[int, ...], bits: int, kind: int, *chunks: tuple[bytes, bytes]
) -> Picture:
    """Write a PNG of 8x8 equal pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    row = b"\0" + struct.pack(f">{len(pixel)}{'H' if bits == 16 else 'B'}", *pixel) * 8
    head = struct.pack(">IIBBBBB", 8, 8, bits, kind, 0, 0, 0)
    body = b"".join(chunk(*each) for each in chunks) + chunk(b"IDAT", zlib.compress(row * 8))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + body + chunk(b"IEND", b""))
    return read_picture(path)


def tiff(path: Path, pixel: np.ndarray, photometric: int, **tags: Any) -> Picture:
    """Write a TIFF of 8x8 equal pixels; "extra" sets its ExtraSamples, "profile" its profile."""
    data, samples = np.tile(pixel, (8, 8, 1)).tobytes(), len(pixel)
    directory = ImageFileDirectory_v2()
    directory[256], directory[257], directory[278], directory[277] = 8, 8, 8, samples
    directory[258] = (tags.get("bits", 8 * pixel.itemsize),) * samples
    directory[259], directory[262], directory[273], directory[279] = 1, photometric, 0, len(data)
    if pixel.dtype.kind == "f":
        directory[339] = (3,) * samples
    if "extra" in tags:
        directory[338] = tags["extra"]
    if "profile" in tags:
        directory.tagtype[34675] = 7
        directory[34675] = tags["profile"]
    path.write_bytes(b"II*\0\x08\0\0\0" + directory.tobytes(8) + data)
    return read_picture(path)


def shown(read: Picture) -> list[int]:
    """Return the color of equal pixels and check that the 16-bit version agrees."""
    assert (read.pixels == read.pixels[0, 0]).all()
    if read.deep is not None:
        assert np.abs(read.deep / 257 - read.pixels).max() <= 0.51
    return read.pixels[0, 0].tolist()


def near(color: list[int], wanted: object, within: int = 1) -> bool:
    return bool(np.abs(np.array(color) - np.array(wanted)).max() <= within)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize(("kind", "key"), [(0, (258,)), (2, (2571, 5141, 7711))])
def test_a_transparent_color_is_transparent_in_eight_and_in_sixteen_bits(
    tmp_path: Path, bits: int, kind: int, key: tuple[int, ...]
) -> None:
    pixel = key if bits == 16 else tuple(n >> 8 for n in key)
    named = (b"tRNS", struct.pack(f">{len(key)}H", *pixel))
    read = png(tmp_path / "keyed.png", pixel, bits, kind, named)
    assert read.alpha is not None
    assert not read.alpha.any()
    assert shown(read) == [255] * 3
    one_off = (pixel[0] + 1, *pixel[1:])
    read = png(tmp_path / "opaque.png", one_off, bits, kind, named)
    assert read.alpha is None
    assert near(shown(read), [n / 257 if bits == 16 else n for n in one_off] * (3 // len(key)))


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize(
    ("extra", "pixel", "color", "alpha"),
    [
        (0, (200, 40, 40, 0), (200, 40, 40), None),
        (0, (200, 40, 40, 128), (200, 40, 40), None),
        (1, (100, 20, 20, 128), (227, 147, 147), 128),
        (2, (200, 40, 40, 128), (227, 147, 147), 128),
    ],
)
def test_a_fourth_channel_of_a_tiff_is_alpha_only_where_the_file_says_so(
    tmp_path: Path,
    bits: int,
    extra: int,
    pixel: tuple[int, ...],
    color: tuple[int, ...],
    alpha: int | None,
) -> None:
    scaled = np.array(pixel, np.uint8) if bits == 8 else np.array(pixel, np.uint16) * 257
    read = tiff(tmp_path / "four.tif", scaled, 2, extra=extra)
    assert near(shown(read), color)
    assert (None if read.alpha is None else int(read.alpha[0, 0])) == alpha
    assert (read.deep is not None) == (bits == 16)


@pytest.mark.parametrize("extra", [1, 2])
def test_gray_with_alpha_of_a_tiff_is_read(tmp_path: Path, extra: int) -> None:
    gray = 50 if extra == 1 else 100
    read = tiff(tmp_path / "gray.tif", np.array([gray, 128], np.uint8), 1, extra=extra)
    assert near(shown(read), [177] * 3)


@pytest.mark.parametrize("value", [np.uint8(240), np.uint16(61680)])
def test_zero_is_white_where_a_tiff_says_so(tmp_path: Path, value: Any) -> None:
    assert shown(tiff(tmp_path / "white.tif", np.array([value]), 0)) == [15] * 3
    assert shown(tiff(tmp_path / "black.tif", np.array([value]), 1)) == [240] * 3


def test_twelve_bits_reach_white(tmp_path: Path) -> None:
    full = np.full(12, 255, np.uint8)  # eight pixels of 4095
    directory = ImageFileDirectory_v2()
    directory[256], directory[257], directory[278], directory[277] = 8, 1, 1, 1
    directory[258], directory[259], directory[262] = 12, 1, 1
    directory[273], directory[279] = 0, 12
    path = tmp_path / "twelve.tif"
    path.write_bytes(b"II*\0\x08\0\0\0" + directory.tobytes(8) + full.tobytes())
    assert shown(read_picture(path)) == [255] * 3


def test_a_gray_profile_is_applied_to_every_kind_of_gray(tmp_path: Path) -> None:
    icc = (b"iCCP", b"x\0\0" + zlib.compress(GRAY_LINEAR))
    eight, sixteen = np.array([51], np.uint8), np.array([13107], np.uint16)
    white_is_zero = np.array([65535 - 13107], np.uint16)
    grays = [
        png(tmp_path / "a.png", (51,), 8, 0, icc),
        png(tmp_path / "b.png", (51, 255), 8, 4, icc),
        png(tmp_path / "c.png", (13107,), 16, 0, icc),
        png(tmp_path / "d.png", (13107, 65535), 16, 4, icc),
        tiff(tmp_path / "e.tif", eight, 1, profile=GRAY_LINEAR),
        tiff(tmp_path / "f.tif", sixteen, 1, profile=GRAY_LINEAR),
        tiff(tmp_path / "g.tif", white_is_zero, 0, profile=GRAY_LINEAR),
    ]
    for read in grays:
        assert near(shown(read), [FIFTH] * 3)
        assert read.origin.tagged
        assert read.origin.profile is None
    half = png(tmp_path / "half.png", (51, 128), 8, 4, icc)
    assert near(shown(half), shown(png(tmp_path / "h.png", (13107, 32896), 16, 4, icc)))


@pytest.mark.parametrize("bits", [8, 16])
def test_statements_of_colors_in_a_png_go_before_each_other_as_its_specification_says(
    tmp_path: Path, bits: int
) -> None:
    linear, srgb = (b"iCCP", b"x\0\0" + zlib.compress(RGB_LINEAR)), (b"sRGB", b"\0")
    p3, adobe = (b"cICP", bytes([12, 13, 0, 1])), (0.64, 0.33, 0.21, 0.71, 0.15, 0.06)
    corners = (0.3127, 0.3290, *adobe)
    wide = (b"cHRM", struct.pack(">8I", *(round(n * 100_000) for n in corners)))
    usual = (b"gAMA", struct.pack(">I", 45455))
    scale, path = (257 if bits == 16 else 1), tmp_path / "told.png"

    def read(color: tuple[int, ...], *chunks: tuple[bytes, bytes]) -> list[int]:
        return shown(png(path, tuple(n * scale for n in color), bits, 2, *chunks))

    fifth = (51, 51, 51)
    assert near(read(P3_COLOR, p3), P3_IN_SRGB)
    assert near(read(P3_COLOR, p3, linear, srgb, GAMMA_1), P3_IN_SRGB)
    assert near(read(fifth, linear, GAMMA_1), [FIFTH] * 3)
    assert near(read(fifth, GAMMA_1), [FIFTH] * 3)
    assert near(read(fifth, srgb, GAMMA_1), fifth, 0)
    assert near(read(fifth, (b"cICP", bytes([1, 13, 0, 1])), linear), fifth, 0)
    assert near(read(fifth, usual), fifth, 0)
    assert near(read(ADOBE_COLOR, usual, wide), ADOBE_IN_SRGB, 2)
    assert near(read(fifth, (b"gAMA", bytes(4)), (b"cHRM", bytes(32))), fifth, 0)


def test_gamma_and_code_points_hold_for_gray_and_for_palettes(tmp_path: Path) -> None:
    assert near(shown(png(tmp_path / "8.png", (51,), 8, 0, GAMMA_1)), [FIFTH] * 3)
    assert near(shown(png(tmp_path / "16.png", (13107,), 16, 0, GAMMA_1)), [FIFTH] * 3)
    chunks = (b"cICP", bytes([12, 13, 0, 1])), (b"PLTE", bytes(P3_COLOR))
    read = png(tmp_path / "palette.png", (0,), 8, 3, *chunks)
    assert near(shown(read), P3_IN_SRGB)
    assert read.origin.profile is not None


@pytest.mark.parametrize(
    ("ending", "space"),  # Pillow writes no interoperability index into TIFF files
    [*((ending, 0xFFFF) for ending in (".jpg", ".png", ".webp")), (".jpg", 2), (".tif", 2)],
)
def test_adobe_rgb_is_told_by_exif(tmp_path: Path, ending: str, space: int) -> None:
    path = tmp_path / f"wide{ending}"

    def read(stated: int) -> Picture:
        exif = Image.Exif()
        exif[0x010F] = "Maker"
        exif.get_ifd(0x8769).update({0xA001: stated, 0xA005: {1: "R03"}})
        kept = {"quality": 100, "subsampling": 0, "lossless": True}
        Image.new("RGB", (16, 16), ADOBE_COLOR).save(path, exif=exif.tobytes(), **kept)
        return read_picture(path)

    wide = read(space)
    assert near(wide.pixels[8, 8].tolist(), ADOBE_IN_SRGB, 3)
    assert wide.origin.profile is not None
    assert near(read(1).pixels[8, 8].tolist(), ADOBE_COLOR, 3)


def test_code_points_of_an_avif_go_before_its_exif_unless_they_name_nothing(tmp_path: Path) -> None:
    exif, path = Image.Exif(), tmp_path / "wide.avif"
    exif[0x010F] = "Maker"
    exif.get_ifd(0x8769)[0xA001] = 2
    avif(path, 1, 13, ADOBE_COLOR, exif.tobytes())
    assert near(read_picture(path).pixels[8, 8].tolist(), ADOBE_COLOR, 3)
    avif(path, 2, 2, ADOBE_COLOR, exif.tobytes())
    assert near(read_picture(path).pixels[8, 8].tolist(), ADOBE_IN_SRGB, 3)


def avif(
    path: Path,
    primaries: int,
    transfer: int,
    color: tuple[int, int, int] = P3_COLOR,
    exif: bytes = b"",
) -> None:
    stored = io.BytesIO()
    image = Image.new("RGB", (64, 64), color)
    image.save(stored, "AVIF", quality=100, subsampling="4:4:4", exif=exif)
    before, _, after = stored.getvalue().partition(b"nclx")
    path.write_bytes(before + b"nclx" + struct.pack(">HH", primaries, transfer) + after[4:])


def heic(path: Path, primaries: int, transfer: int) -> None:
    heif = pytest.importorskip("pillow_heif")
    image = heif.from_pillow(Image.new("RGB", (64, 64), P3_COLOR))
    points = {"color_primaries": primaries, "transfer_characteristics": transfer}
    image.save(
        path, quality=100, chroma=444, save_nclx_profile=True, matrix_coefficients=6,
        full_range_flag=1, **points,
    )  # fmt: skip


@pytest.mark.parametrize("write", [avif, heic])
def test_code_points_of_avif_and_heic_are_colors(tmp_path: Path, write: Any) -> None:
    path = tmp_path / f"photo.{write.__name__}"
    write(path, 12, 13)
    read = read_picture(path)
    assert near(read.pixels[9, 9].tolist(), P3_IN_SRGB, 3)
    assert read.loss == ""
    with opened(path) as image:  # as thumbnails read it
        image.thumbnail((8, 8))
        assert near(to_rgb(image)[4, 4].tolist(), P3_IN_SRGB, 3)
    for transfer in (16, 18):
        write(path, 9, transfer)
        read = read_picture(path)
        assert near(read.pixels[9, 9].tolist(), P3_COLOR, 3)
        assert "HDR" in read.loss


def test_hdr_of_a_png_is_reported(tmp_path: Path) -> None:
    read = png(tmp_path / "pq.png", (30000,) * 3, 16, 2, (b"cICP", bytes([9, 16, 0, 1])))
    assert near(shown(read), [117] * 3)
    assert "HDR" in read.loss


@pytest.mark.parametrize(
    "pixel",
    [np.full(3, 0.5, np.float32), np.full(1, 0.5, np.float16), np.full(5, 9, np.uint16)],
    ids=["float colors", "half floats", "five channels"],
)
def test_a_sound_tiff_of_an_unknown_kind_is_not_called_damaged(
    tmp_path: Path, pixel: np.ndarray
) -> None:
    path = tmp_path / "kind.tif"
    photometric = 1 if len(pixel) == 1 else 2
    with pytest.raises(ImageError, match=r"TIFF .*unsupported"):
        tiff(path, pixel, photometric)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ImageError, match=r"TIFF .*damaged"):
        read_picture(path)


def test_a_gray_float_tiff_keeps_its_range(tmp_path: Path) -> None:
    read = tiff(tmp_path / "float.tif", np.full(1, 0.5, np.float32), 1)
    assert near(shown(read), [128] * 3)
    assert mentions(read.loss, "32 bits", "8")
