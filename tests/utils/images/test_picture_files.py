"""Pictures are read from any file the way a person sees them, and never half written."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms

from tests.helpers.errors import mentions, refused
from tests.helpers.fakes import numbered
from tests.helpers.there import there
from utils.files.signatures import what_is
from utils.images import conversion, opening
from utils.images.metadata import read_metadata
from utils.images.opening import ImageError, kind_of
from utils.images.reading import read_picture, read_pixels
from utils.images.writing import KEEPS_ALPHA, SAVED, write_pixels
from utils.opencv import cv2

ASYMMETRIC = numbered(0b1011, 48, 24)
ORIENTED = {  # the pixels that a camera stores when held in this orientation
    1: ASYMMETRIC,
    2: ASYMMETRIC[:, ::-1],
    3: ASYMMETRIC[::-1, ::-1],
    4: ASYMMETRIC[::-1],
    5: ASYMMETRIC.swapaxes(0, 1),
    6: np.rot90(ASYMMETRIC, 1),
    7: ASYMMETRIC[::-1, ::-1].swapaxes(0, 1),
    8: np.rot90(ASYMMETRIC, -1),
}


def close(actual: np.ndarray, expected: object, within: float = 1.0) -> bool:
    return float(np.abs(actual.astype(float) - np.asarray(expected, float)).max()) <= within


@pytest.mark.parametrize("orientation", ORIENTED)
@pytest.mark.parametrize("ending", [".jpg", ".png", ".webp", ".tif"])
def test_a_picture_is_turned_upright(tmp_path: Path, orientation: int, ending: str) -> None:
    path = tmp_path / f"turned{ending}"
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = Image.fromarray(np.ascontiguousarray(ORIENTED[orientation]))
    stored.save(path, exif=exif, quality=100, subsampling=0, lossless=True)
    assert close(read_pixels(path), ASYMMETRIC, 8 if ending == ".jpg" else 0)


def test_sixteen_bit_grey_uses_its_full_range(tmp_path: Path) -> None:
    values = np.array([[0, 257, 32896, 65535]], np.uint16)
    Image.fromarray(values).save(tmp_path / "deep.png")
    deep = read_pixels(tmp_path / "deep.png")[0]
    assert deep.tolist() == [
        [0] * 3,
        [1] * 3,
        [128] * 3,
        [255] * 3,
    ]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([[0.0, 0.5, 1.0]], np.float32), [0, 128, 255]),
        (np.array([[0.0, 100.0, 255.0]], np.float32), [0, 100, 255]),
        (np.array([[-1000.0, 0.0, 1000.0]], np.float32), [0, 128, 255]),
        (np.array([[np.nan, 0.5, 1.0]], np.float32), [0, 128, 255]),
        (np.array([[0, 32768, 65535]], np.int32), [0, 128, 255]),
        (np.array([[0, 10, 20]], np.int32), [0, 10, 20]),
        (np.array([[7, 7, 7]], np.int32), [7, 7, 7]),
    ],
)
def test_numbers_beyond_eight_bits_are_scaled(
    tmp_path: Path, values: np.ndarray, expected: list[int]
) -> None:
    Image.fromarray(values).save(tmp_path / "values.tif")
    pixels = read_pixels(tmp_path / "values.tif")
    assert pixels.shape == (1, 3, 3)
    assert close(pixels[0, :, 0], expected)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "PA"])
def test_transparency_is_laid_over_white(tmp_path: Path, mode: str) -> None:
    image = Image.new("RGBA", (2, 1), (0, 0, 0, 0))
    image.putpixel((1, 0), (0, 0, 0, 255))
    if mode == "PA":
        image = image.convert("P")
        image.info["transparency"] = image.getpixel((0, 0))
    image.save(tmp_path / "cut.png")
    if mode == "LA":
        image.convert("LA").save(tmp_path / "cut.png")
    pixels = read_pixels(tmp_path / "cut.png")
    assert pixels[0, 0].tolist() == [255, 255, 255]
    if mode != "PA":
        assert pixels[0, 1].tolist() == [0, 0, 0]


def test_half_transparent_is_half_white(tmp_path: Path) -> None:
    Image.new("RGBA", (1, 1), (0, 0, 0, 128)).save(tmp_path / "half.png")
    assert close(read_pixels(tmp_path / "half.png"), [[[127, 127, 127]]])


@pytest.mark.parametrize("ending", KEEPS_ALPHA)
def test_saved_with_its_alpha_a_picture_looks_the_same_over_white(
    tmp_path: Path, ending: str
) -> None:
    alpha = np.tile(np.linspace(0, 255, 48).round().astype(np.uint8), (24, 1))
    cut = Image.fromarray(np.dstack([ASYMMETRIC, alpha]))
    cut.save(tmp_path / "cut.png")
    read = read_picture(tmp_path / "cut.png")
    assert read.alpha is not None
    assert np.array_equal(read.alpha, alpha)
    write_pixels(tmp_path / f"out{ending}", read.pixels, alpha=read.alpha, quality=100)
    again = read_picture(tmp_path / f"out{ending}")
    assert again.alpha is not None
    assert np.array_equal(again.alpha, alpha)
    difference = np.abs(again.pixels.astype(int) - read.pixels)
    assert difference.mean() < 8 if ending == ".webp" else difference.max() <= 1
    write_pixels(tmp_path / "out.jpg", read.pixels, alpha=read.alpha)
    assert read_picture(tmp_path / "out.jpg").alpha is None


def test_alpha_is_turned_with_the_picture_and_none_where_all_is_opaque(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    alpha = np.arange(24 * 48, dtype=np.uint16).reshape(24, 48).astype(np.uint8)
    Image.fromarray(np.dstack([ASYMMETRIC, alpha])).save(tmp_path / "turned.png", exif=exif)
    read = read_picture(tmp_path / "turned.png")
    assert read.alpha is not None
    assert np.array_equal(read.alpha, np.rot90(alpha, -1))
    assert read.pixels.shape[:2] == read.alpha.shape
    Image.fromarray(ASYMMETRIC).convert("RGBA").save(tmp_path / "opaque.png")
    assert read_picture(tmp_path / "opaque.png").alpha is None


def test_more_than_eight_bits_per_channel_are_kept_or_told(tmp_path: Path) -> None:
    deep = np.full((4, 5, 3), 30000, np.uint16)
    for name in ("deep.png", "deep.tif"):
        cv2.imwrite(str(tmp_path / name), deep)
        read = read_picture(tmp_path / name)
        assert (read.bits, read.loss) == (16, "")
        assert np.array_equal(there(read.deep), deep)
    cv2.imwrite(str(tmp_path / "deep.ppm"), deep)
    assert mentions(read_picture(tmp_path / "deep.ppm").loss, "16 bits", "8")
    Image.fromarray(deep[..., 0]).save(tmp_path / "gray.png")
    assert np.array_equal(there(read_picture(tmp_path / "gray.png").deep), deep)
    Image.fromarray(deep[..., 0].astype(np.float32)).save(tmp_path / "float.tif")
    assert read_picture(tmp_path / "float.tif").bits == 32
    for mode in ("1", "L", "P", "RGB", "RGBA"):
        Image.new(mode, (4, 4)).save(tmp_path / "plain.png")
        assert read_picture(tmp_path / "plain.png").loss == ""
        assert read_picture(tmp_path / "plain.png").deep is None


@pytest.mark.parametrize("mode", ["1", "L", "P", "CMYK", "YCbCr", "LAB", "RGB"])
def test_every_color_model_becomes_rgb(tmp_path: Path, mode: str) -> None:
    ending = {"CMYK": "jpg", "YCbCr": "jpg", "LAB": "tif"}.get(mode, "png")
    path = tmp_path / f"mode.{ending}"
    white = Image.new("RGB", (16, 16), "white")
    if mode == "LAB":
        profiles = [ImageCms.createProfile(name) for name in ("sRGB", "LAB")]
        converted = ImageCms.profileToProfile(white, *profiles, outputMode="LAB")
        assert converted is not None
        converted.save(path)
    else:
        white.convert(mode).save(path)
    pixels = read_pixels(path)
    assert pixels.shape == (16, 16, 3)
    assert close(pixels, 255, 2)


def test_a_cmyk_jpeg_keeps_its_colors(tmp_path: Path) -> None:
    Image.new("RGB", (16, 16), (220, 40, 30)).convert("CMYK").save(tmp_path / "c.jpg", quality=100)
    assert close(read_pixels(tmp_path / "c.jpg"), (220, 40, 30), 6)


def test_a_damaged_color_profile_costs_only_itself(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4), (10, 200, 30)).save(tmp_path / "p.png", icc_profile=b"not a profile")
    assert close(read_pixels(tmp_path / "p.png"), (10, 200, 30), 0)


def test_the_first_frame_stands_for_an_animation(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (8, 8), color) for color in ("red", "blue")]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:], duration=50)
    assert kind_of(tmp_path / "a.gif") == "animation"
    assert close(read_pixels(tmp_path / "a.gif"), (255, 0, 0), 0)


def test_the_first_bytes_decide_not_the_name(tmp_path: Path) -> None:
    write_pixels(tmp_path / "real.png", ASYMMETRIC)
    (tmp_path / "real.png").rename(tmp_path / "called.mp4")
    assert kind_of(tmp_path / "called.mp4") == "picture"
    pixels = read_pixels(tmp_path / "called.mp4")
    assert close(pixels, ASYMMETRIC, 0)
    assert pixels.flags.writeable


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "is empty"),
        (b"<!DOCTYPE html><html>...", "is not a picture but an HTML page"),
        (b"\n  <html lang='en'>", "is not a picture but an HTML page"),
        (b"<?xml version='1.0'?><svg xmlns='...'>", "is not a picture but an SVG drawing"),
        (b"%PDF-1.7", "is not a picture but a PDF document"),
        (b"PK\x03\x04" + bytes(40), "is not a picture but a ZIP archive"),
        ("Grüße".encode() * 200, "is not a picture but a text file"),
        (b"\0\0\0\x18ftypheic" + bytes(40), "is a HEIC photo"),
        (b"\0\0\0\x18ftypisom" + bytes(40), "is not a picture but an MP4 or QuickTime file"),
        (bytes(range(200, 256)) * 9, "is not a picture"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "is a PNG picture that is truncated or damaged"),
        (b"\xff\xd8\xff\xe0" + bytes(50), "is a JPEG picture that is truncated or damaged"),
    ],
)
def test_what_is_no_picture_is_named(tmp_path: Path, content: bytes, fault: str) -> None:
    (tmp_path / "odd.jpg").write_bytes(content)
    with pytest.raises(ImageError) as caught:
        read_pixels(tmp_path / "odd.jpg")
    assert f"'odd.jpg' {fault}" in str(caught.value)


@pytest.mark.parametrize("ending", [".jpg", ".png", ".webp", ".gif", ".tif", ".bmp"])
def test_a_truncated_picture_says_so(tmp_path: Path, ending: str) -> None:
    noisy = np.random.default_rng(1).integers(0, 255, (64, 64, 3), np.uint8)
    path = tmp_path / f"cut{ending}"
    Image.fromarray(noisy).save(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(ImageError, match=f"'cut{ending}' is a .*(truncated|damaged)"):
        read_pixels(path)


def test_a_missing_picture_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    with refused(ImageError, "does not exist", file=str(tmp_path / "nothing.png")):
        read_pixels(tmp_path / "nothing.png")
    with pytest.raises(ImageError, match="is a folder"):
        read_pixels(tmp_path)


def test_a_picture_too_large_for_memory_is_refused_by_its_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = b"IHDR" + struct.pack(">IIBBBBB", 30000, 30000, 8, 2, 0, 0, 0)
    chunks = struct.pack(">I", 13) + size + struct.pack(">I", zlib.crc32(size)) + b"\0\0\1\0IDAT"
    (tmp_path / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunks + bytes(260))
    with refused(ImageError, file="bomb.png", n="200"):
        read_pixels(tmp_path / "bomb.png")
    monkeypatch.setattr(opening, "MAX_PIXELS", 99)
    Image.new("RGB", (10, 10)).save(tmp_path / "small.png")
    with pytest.raises(ImageError, match="too large"):
        read_pixels(tmp_path / "small.png")


@pytest.mark.parametrize("ending", SAVED)
def test_what_is_saved_comes_back_with_its_metadata(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out{ending}"
    metadata = {"Software": "StyleForge", "style": "Große Welle 浪", "strength": "0.8"}
    write_pixels(path, ASYMMETRIC, metadata)
    difference = np.abs(read_pixels(path).astype(int) - ASYMMETRIC)
    lossless = ending in (".png", ".tif", ".tiff")
    assert difference.mean() <= (0 if lossless else 6)  # WebP subsamples the chroma
    assert read_metadata(path) == metadata
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", SAVED)
def test_a_picture_without_metadata_has_none(tmp_path: Path, ending: str) -> None:
    write_pixels(tmp_path / f"plain{ending}", ASYMMETRIC)
    assert read_metadata(tmp_path / f"plain{ending}") == {}


def test_somebody_elses_comment_is_not_ours(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif.get_ifd(0x8769)[0x9286] = b"ASCII\0\0\0hello"
    Image.new("RGB", (4, 4)).save(tmp_path / "theirs.jpg", exif=exif)
    assert read_metadata(tmp_path / "theirs.jpg") == {}


def test_a_view_of_a_larger_array_can_be_saved(tmp_path: Path) -> None:
    write_pixels(tmp_path / "view.png", ASYMMETRIC[::-1, ::2])
    assert close(read_pixels(tmp_path / "view.png"), ASYMMETRIC[::-1, ::2], 0)


def test_saving_fails_in_one_sentence_and_leaves_the_old_file(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"must end in \.png, \.jpg, \.jpeg, \.webp"):
        write_pixels(tmp_path / "out.gif", ASYMMETRIC)
    with pytest.raises(ImageError, match=r"cannot save '.*missing.*out\.png'"):
        write_pixels(tmp_path / "missing" / "out.png", ASYMMETRIC)
    with pytest.raises(ImageError, match="16383"):
        write_pixels(tmp_path / "long.webp", np.zeros((1, 20000, 3), np.uint8))
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(ImageError, match=r"folder\.png"):
        write_pixels(tmp_path / "folder.png", ASYMMETRIC)
    assert [p.name for p in tmp_path.iterdir()] == ["folder.png"]


def test_a_character_cut_in_two_does_not_hide_a_text() -> None:
    for end in range(40, 60):
        assert what_is(("ä" * 30).encode()[:end]) == "a text file"
    assert what_is(b"") == ""


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "LA", "P", "L", "CMYK", "I;16"])
def test_pillow_is_never_asked_for_more_than_a_band_at_once(tmp_path, monkeypatch, mode):
    """Pillow blocks all other threads meanwhile, the window's included."""
    whole = Image.fromarray(numbered(0b1011, 60, 50))
    if mode == "I;16":
        picture = Image.fromarray(np.asarray(whole.convert("L")).astype(np.uint16) * 257)
    else:
        picture = whole.convert(mode)
    picture.save(tmp_path / "picture.tif")
    expected = read_pixels(tmp_path / "picture.tif")
    asked: list[int] = []
    convert, tobytes = Image.Image.convert, Image.Image.tobytes

    def note(original):
        def noted(image: Image.Image, *args, **kwargs):
            asked.append(image.width * image.height)
            return original(image, *args, **kwargs)

        return noted

    monkeypatch.setattr(conversion, "BAND", 60 * 7)  # the last band is narrower
    monkeypatch.setattr(Image.Image, "convert", note(convert))
    monkeypatch.setattr(Image.Image, "tobytes", note(tobytes))
    np.testing.assert_array_equal(read_pixels(tmp_path / "picture.tif"), expected)
    assert asked
    assert max(asked) <= conversion.BAND
