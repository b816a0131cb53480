"""Results preserve the colors, the depth, the EXIF data and the transparency of their picture."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms
from PIL.TiffImagePlugin import IFDRational

from tests.conftest import picture
from tests.helpers.profiles import ADOBE, P3, SRGB, gamma, profile, srgb_curve, table
from tests.helpers.there import there
from utils.images.gain_maps import has_gain_map
from utils.images.metadata import exif_of, kept_exif, read_metadata
from utils.images.profiles import color_profile, srgb_profile
from utils.images.reading import EXIF_LOST, GAIN_MAP_LOST, read_picture
from utils.images.writing import DEEP, KEEPS_ALPHA, SAVED, write_pixels
from utils.opencv import cv2

PROFILES = {
    "Display P3": profile(P3, srgb_curve()),
    "Adobe RGB": profile(ADOBE, gamma(2.2)),
    "a table": profile(P3, table(1024)),
}
EXIF_IFD, GPS_IFD = 0x8769, 0x8825


def colors(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (40, 50, 3), np.uint8)


def by_littlecms(pixels: np.ndarray, data: bytes) -> np.ndarray:
    source, srgb = ImageCms.ImageCmsProfile(io.BytesIO(data)), ImageCms.createProfile("sRGB")
    made = ImageCms.profileToProfile(Image.fromarray(pixels), source, srgb)
    assert made is not None
    return np.asarray(made)


@pytest.mark.parametrize("data", PROFILES.values(), ids=PROFILES)
def test_sixteen_bits_are_converted_as_littlecms_converts_eight(data):
    found = color_profile(data)
    assert found is not None
    assert found.deep
    assert found.data == data
    pixels = colors()
    fine = found.to_srgb(pixels.astype(np.uint16) * 257) / 257
    assert np.abs(fine - by_littlecms(pixels, data)).max() < 2
    assert np.array_equal(found.to_srgb(pixels), by_littlecms(pixels, data))


@pytest.mark.parametrize("data", PROFILES.values(), ids=PROFILES)
def test_colors_of_srgb_come_back_from_a_wider_profile(data):
    found = color_profile(data)
    assert found is not None
    pixels = picture(50, 40)
    deep = pixels.astype(np.uint16) * 257
    assert np.abs(found.to_srgb(found.from_srgb(deep)) - deep.astype(int)).max() <= 257
    eight = found.to_srgb(found.from_srgb(pixels)).astype(int)
    assert np.abs(eight - pixels).mean() < 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no profile",
        srgb_profile(),
        profile(SRGB, srgb_curve()),
        profile(P3, srgb_curve(), space=b"GRAY"),
        PROFILES["Display P3"][:200],
        PROFILES["Display P3"][:-40],
    ],
    ids=["empty", "text", "sRGB", "sRGB by hand", "gray", "cut early", "cut late"],
)
def test_what_is_no_other_rgb_profile_is_none(data):
    assert color_profile(data) is None


def test_a_curve_that_falls_is_not_used_for_sixteen_bits():
    values = np.linspace(65535, 0, 1024).astype(int)
    falling = struct.pack(">4s4xI1024H", b"curv", 1024, *values)
    found = color_profile(profile(P3, falling))
    assert found is None or not found.deep


@pytest.mark.parametrize("ending", [".jpg", ".png", ".tif", ".webp"])
def test_a_profile_is_applied_and_what_is_saved_has_it(tmp_path: Path, ending: str) -> None:
    data, path = PROFILES["Display P3"], tmp_path / f"wide{ending}"
    shown = picture(64, 48)
    Image.fromarray(shown).save(path, icc_profile=data, quality=100, subsampling=0, lossless=True)
    read = read_picture(path)
    assert read.origin.native is not None
    assert read.origin.profile is not None
    assert np.abs(read.origin.native.astype(int) - shown).max() <= (12 if ending == ".jpg" else 0)
    assert np.array_equal(read.pixels, by_littlecms(read.origin.native, data))
    result = read.origin.in_profile(read.pixels, read.pixels, 0.0)
    write_pixels(tmp_path / f"out{ending}", result, profile=read.origin.profile.data, quality=100)
    with Image.open(tmp_path / f"out{ending}") as made:
        assert made.info["icc_profile"] == data


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_colors_beyond_srgb_come_back_where_the_picture_is_kept(tmp_path: Path, dtype) -> None:
    """sRGB clips the most saturated colors of a wide profile."""
    stored: np.ndarray = np.zeros((6, 6, 3), dtype)
    stored[..., 1] = np.iinfo(dtype).max  # a green outside sRGB
    found = color_profile(PROFILES["Adobe RGB"])
    assert found is not None
    path = tmp_path / "green.png"
    write_pixels(path, stored, profile=found.data)
    read = read_picture(path)
    source = read.pixels if dtype == np.uint8 else read.deep
    assert source is not None
    narrow = read.origin.in_profile(source, source, 0.0)
    assert np.abs(narrow[0, 0].astype(int) - stored[0, 0]).max() > np.iinfo(dtype).max // 10
    assert np.array_equal(read.origin.in_profile(source, source, 1.0), stored)
    half = read.origin.in_profile(source, source, 0.5)[0, 0].astype(float)
    assert np.abs(half - (narrow[0, 0].astype(float) + stored[0, 0]) / 2).max() <= 1


@pytest.mark.parametrize("ending", DEEP)
def test_sixteen_bits_are_saved_with_everything_around_them(tmp_path: Path, ending: str) -> None:
    deep = np.arange(40 * 50 * 3, dtype=np.uint32).reshape(40, 50, 3) * 10 % 65536
    deep = deep.astype(np.uint16)
    alpha = np.tile(np.array([0, 90, 255, 255, 255], np.uint8), (40, 10))
    exif = Image.Exif()
    exif[0x0110] = "a camera"
    path = tmp_path / f"deep{ending}"
    about, data = {"Software": "StyleForge", "style": "Große Welle"}, PROFILES["Display P3"]
    write_pixels(path, deep, about, exif=exif.tobytes(), profile=data)
    read = read_picture(path)
    assert read.bits == 16
    assert np.array_equal(there(read.origin.native), deep)
    assert read.loss == ""
    assert read_metadata(path) == about
    with Image.open(path) as made:
        assert made.info["icc_profile"] == data
        assert made.getexif()[0x0110] == "a camera"
    write_pixels(path, deep, alpha=alpha)
    read = read_picture(path)
    assert np.array_equal(there(read.alpha), alpha)
    solid = alpha == 255
    assert np.array_equal(there(read.deep)[solid], deep[solid])
    assert np.all(there(read.deep)[alpha == 0] == 65535)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_other_programs_read_our_tiff_files(tmp_path: Path) -> None:
    pixels = colors()
    for deep in (pixels, pixels.astype(np.uint16) * 257):
        write_pixels(tmp_path / "ours.tif", deep)
        read = cv2.imread(str(tmp_path / "ours.tif"), cv2.IMREAD_UNCHANGED)
        assert np.array_equal(there(read)[..., ::-1], deep)
    with Image.open(tmp_path / "ours.tif") as made:
        assert np.array_equal(np.asarray(made), pixels)


def photograph(path: Path) -> None:
    """Write a photograph held upright, with a camera's metadata."""
    exif = Image.Exif()
    exif[0x0112], exif[0x010F], exif[0x0110] = 6, "Maker", "Model"
    exif[0x010E], exif[0x8298] = "a harbor", "somebody"
    exif[EXIF_IFD] = {
        0x829A: IFDRational(1, 250), 0x8827: 400, 0x9003: "2026:05:04 10:20:30",
        0x927C: b"notes" * 5, 0xA002: 64, 0xA003: 48,
    }  # fmt: skip
    exif[GPS_IFD] = {1: "N", 2: (47.0, 22.0, 11.5)}
    stored = Image.Exif()
    stored.load(exif.tobytes())
    Image.fromarray(picture(64, 48)).save(path, exif=stored)


@pytest.mark.parametrize("taken", [".jpg", ".png", ".tif", ".webp"])
@pytest.mark.parametrize("ending", SAVED)
def test_exif_data_are_kept_upright(tmp_path: Path, taken: str, ending: str) -> None:
    photograph(tmp_path / f"photo{taken}")
    read = read_picture(tmp_path / f"photo{taken}")
    assert read.pixels.shape == (64, 48, 3)
    about = {"Software": "StyleForge 1", "Style": "Candy"}
    path = tmp_path / f"out{ending}"
    write_pixels(path, read.pixels, about, exif=read.origin.exif)
    assert read_metadata(path) == about
    assert read_picture(path).pixels.shape == (64, 48, 3)
    with Image.open(path) as made:
        exif = made.getexif()
        camera, place = exif.get_ifd(EXIF_IFD), exif.get_ifd(GPS_IFD)
        assert exif.get(0x0112, 1) == 1
        assert (exif[0x010F], exif[0x0110], exif[0x8298]) == ("Maker", "Model", "somebody")
        assert exif[0x010E] == "a harbor"
        assert (camera[0x8827], camera[0x9003]) == (400, "2026:05:04 10:20:30")
        assert camera[0x927C] == b"notes" * 5
        assert (camera[0xA002], camera[0xA003]) == (48, 64)
        assert float(camera[0x829A]) == pytest.approx(1 / 250)
        assert place[1] == "N"
        assert [float(number) for number in place[2]] == [47, 22, 11.5]


def test_the_thumbnail_is_not_kept(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0110] = "Model"
    thumbnail = io.BytesIO()
    Image.fromarray(picture(16, 12)).save(thumbnail, "JPEG")
    data = thumbnail.getvalue()
    base = exif.tobytes()  # one directory; a second one is appended
    body = bytearray(base[6:])
    (count,) = struct.unpack_from(">H", body, 8)
    struct.pack_into(">I", body, 10 + 12 * count, len(body))
    second = len(body) + 2 + 2 * 12 + 4
    body += struct.pack(">HHHIIHHIII", 2, 0x0201, 4, 1, second, 0x0202, 4, 1, len(data), 0)
    path = tmp_path / "photo.jpg"
    Image.fromarray(picture(64, 48)).save(path, exif=base[:6] + bytes(body) + data)
    with Image.open(path) as stored:
        assert data in stored.info["exif"]
    read = read_picture(path)
    assert data[20:60] not in read.origin.exif
    assert b"Model" in read.origin.exif


def test_damaged_exif_data_are_left_out_and_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "photo.jpg"
    exif = b"Exif\0\0II*\0\x08\0\0\0\x05\0" + bytes(range(1, 50))
    Image.fromarray(picture(64, 48)).save(path, exif=exif)
    read = read_picture(path)
    assert read.loss in ("", EXIF_LOST)
    write_pixels(tmp_path / "out.jpg", read.pixels, {"Style": "Candy"}, exif=read.origin.exif)
    assert read_metadata(tmp_path / "out.jpg") == {"Style": "Candy"}


def test_of_more_exif_data_than_a_jpeg_holds_the_makers_notes_go_first(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0110] = "Model"
    exif.get_ifd(EXIF_IFD)[0x927C] = bytes(70_000)
    path = tmp_path / "out.jpg"
    write_pixels(path, picture(64, 48), {"Style": "Candy"}, exif=exif.tobytes())
    with Image.open(path) as made:
        assert made.getexif()[0x0110] == "Model"
        assert 0x927C not in made.getexif().get_ifd(EXIF_IFD)
    assert read_metadata(path) == {"Style": "Candy"}
    exif[0x013B] = "x" * 70_000
    write_pixels(path, picture(64, 48), {"Style": "Candy"}, exif=exif.tobytes())
    assert read_metadata(path) == {"Style": "Candy"}


def test_a_picture_without_exif_data_gets_none(tmp_path: Path) -> None:
    Image.fromarray(picture(64, 48)).save(tmp_path / "plain.jpg")
    assert read_picture(tmp_path / "plain.jpg").origin.exif == b""
    assert kept_exif(Image.new("RGB", (4, 4)), (4, 4)) == b""
    assert len(exif_of({})) == 0


HDR_XMP = (
    b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="r"><rdf:Description '
    b'xmlns:hdrgm="http://ns.adobe.com/hdr-gain-map/1.0/" hdrgm:Version="1.0"/>'
    b"</rdf:RDF></x:xmpmeta>"
)


def with_gain_map(path: Path, where: str) -> None:
    image, second = Image.fromarray(picture(64, 48)), Image.fromarray(picture(16, 12))
    if where == "in the picture":
        image.save(path, xmp=HDR_XMP)
    else:
        second.encoderinfo = {"xmp": HDR_XMP} if where == "in the map" else {}
        image.save(path, "MPO", save_all=True, append_images=[second])


@pytest.mark.parametrize("where", ["in the picture", "in the map"])
def test_an_hdr_gain_map_is_dropped_with_a_remark(tmp_path: Path, where: str) -> None:
    path = tmp_path / "bright.jpg"
    with_gain_map(path, where)
    read = read_picture(path)
    assert read.loss == GAIN_MAP_LOST
    assert read.pixels.shape == (48, 64, 3)
    write_pixels(tmp_path / "out.jpg", read.pixels, exif=read.origin.exif)
    assert read_picture(tmp_path / "out.jpg").loss == ""


def test_a_second_picture_is_no_gain_map(tmp_path: Path) -> None:
    with_gain_map(tmp_path / "pair.jpg", "nowhere")
    with Image.open(tmp_path / "pair.jpg") as pair:
        assert getattr(pair, "n_frames", 1) == 2
    assert read_picture(tmp_path / "pair.jpg").loss == ""


def test_apples_and_isos_gain_maps_are_noticed_too(tmp_path: Path) -> None:
    apple = Image.new("RGB", (4, 4))
    assert not has_gain_map(apple)
    apple.info["aux"] = {"urn:com:apple:photo:2020:aux:hdrgainmap": [2]}
    assert has_gain_map(apple)
    heif = pytest.importorskip("pillow_heif")
    heif.register_heif_opener()
    path = tmp_path / "bright.heic"
    Image.fromarray(picture(64, 48)).save(path, format="HEIF")
    assert read_picture(path).loss == ""
    data = path.read_bytes()
    assert b"miaf" in data[16:40]
    path.write_bytes(data.replace(b"miaf", b"tmap", 1))
    assert read_picture(path).loss == GAIN_MAP_LOST


def test_alpha_needs_no_profile(tmp_path: Path) -> None:
    alpha = np.tile(np.arange(64, dtype=np.uint8), (48, 1))
    cut = np.dstack([picture(64, 48), alpha])
    Image.fromarray(cut).save(tmp_path / "cut.png", icc_profile=PROFILES["Adobe RGB"])
    read = read_picture(tmp_path / "cut.png")
    for ending in KEEPS_ALPHA:
        result = read.origin.in_profile(read.pixels, read.pixels, 1.0)
        path = tmp_path / f"out{ending}"
        write_pixels(path, result, alpha=read.alpha, profile=PROFILES["Adobe RGB"])
        again = read_picture(path)
        assert np.array_equal(there(again.alpha), alpha)
        assert again.origin.profile is not None
