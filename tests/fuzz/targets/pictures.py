"""Picture files of every format that Pillow reads."""

from __future__ import annotations

import functools
import io
import struct
import tempfile
import warnings
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from PIL import Image, ImageCms

from app.sources import open_source
from tests.fuzz.case import Case
from tests.fuzz.judging import check_shown
from tests.fuzz.mutations import damaged, damaged_png
from tests.fuzz.targets.base import Basis, attempt, named, special
from tests.helpers.profiles import P3, gamma, profile
from utils.images.opening import kind_of
from utils.images.reading import read_picture
from utils.images.writing import DEEP, write_pixels
from utils.opencv import cv2

WIDTH, HEIGHT = 24, 16
# Format, mode, options for the writer.
WRITTEN: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("PNG", "RGB", {}), ("PNG", "RGBA", {}), ("PNG", "P", {}), ("PNG", "I;16", {}),
    ("PNG", "1", {}), ("PNG", "LA", {}), ("PNG", "P", {"transparency": 0}),
    ("JPEG", "RGB", {}), ("JPEG", "L", {}), ("JPEG", "CMYK", {}),
    ("JPEG", "RGB", {"progressive": True}), ("JPEG", "RGB", {"restart_marker_blocks": 1}),
    ("WEBP", "RGB", {}), ("WEBP", "RGBA", {"lossless": True}),
    ("AVIF", "RGB", {"speed": 10}), ("AVIF", "RGBA", {"speed": 10, "subsampling": "4:4:4"}),
    ("TIFF", "RGB", {}), ("TIFF", "I;16", {}), ("TIFF", "F", {}), ("TIFF", "CMYK", {}),
    ("TIFF", "1", {"compression": "group4"}), ("TIFF", "1", {"compression": "group3"}),
    ("TIFF", "LAB", {}), ("TIFF", "YCbCr", {"compression": "jpeg"}),
    *(("TIFF", "RGB", {"compression": f"tiff_{name}"}) for name in ("lzw", "adobe_deflate")),
    ("TIFF", "RGB", {"compression": "packbits"}), ("TIFF", "RGB", {"compression": "jpeg"}),
    ("BMP", "RGB", {}), ("BMP", "P", {}), ("BMP", "RGBA", {}), ("DIB", "RGB", {}),
    ("GIF", "P", {}), ("GIF", "P", {"transparency": 1}),
    ("PPM", "RGB", {}), ("PPM", "L", {}), ("PPM", "1", {}), ("PPM", "I", {}), ("PPM", "F", {}),
    *(("DDS", "RGBA", {"pixel_format": name}) for name in ("DXT1", "DXT3", "DXT5", "BC2", "BC3")),
    ("DDS", "RGB", {"pixel_format": "BC5"}), ("DDS", "RGBA", {}), ("DDS", "L", {}),
    ("ICO", "RGBA", {}), ("ICO", "RGBA", {"bitmap_format": "bmp"}), ("ICNS", "RGBA", {}),
    ("TGA", "RGB", {}), ("TGA", "RGBA", {"compression": "tga_rle"}), ("TGA", "P", {}),
    ("JPEG2000", "RGB", {}), ("JPEG2000", "RGBA", {"num_resolutions": 2}),
    ("JPEG2000", "L", {"no_jp2": True}), ("QOI", "RGBA", {}), ("SGI", "RGB", {}),
    ("SGI", "L", {"bpc": 2}), ("PCX", "RGB", {}), ("PCX", "P", {}), ("IM", "RGB", {}),
    ("IM", "P", {}), ("MSP", "1", {}), ("XBM", "1", {}), ("SPIDER", "F", {}), ("BLP", "P", {}),
)  # fmt: skip


class PictureFiles(Basis):
    name = "pictures"
    memory = 2 << 30
    sample = 120

    def prepare(self) -> None:
        self._seeds = seeds()

    def make(self, rng: Random) -> Case:
        name, data = rng.choice(self._seeds)
        if rng.random() < 0.01:
            return named(rng, special(rng), "picture", Path(name).suffix)
        if name.endswith(".png") and rng.random() < 0.7:
            data = damaged_png(rng, data)
        else:
            data = damaged(rng, data, [rng.choice(self._seeds)[1]])
        return named(rng, data, "picture", Path(name).suffix)

    def run(self, folder: Path) -> list[str]:
        (path,) = folder.iterdir()
        said: list[str] = []
        attempt(lambda: _load(path), said)
        attempt(lambda: _open(path), said)
        return said


def _load(path: Path) -> None:
    kind_of(path)
    picture = read_picture(path)
    pixels = picture.pixels
    assert pixels.dtype == np.uint8
    assert pixels.ndim == 3
    assert pixels.shape[2] == 3
    assert pixels.size
    assert pixels.flags.c_contiguous
    found = picture.origin.profile
    for ending in (".jpg", ".tif") if max(pixels.shape) < 65_000 else (".tif",):
        again = path.with_name(f"again{ending}")
        data = found.data if found else None
        write_pixels(again, pixels, {"style": "x"}, exif=picture.origin.exif, profile=data)
        again.unlink()


def _open(path: Path) -> None:
    source = open_source(str(path))
    try:
        check_shown(source.info.title)
        assert source.info.width > 0
        assert source.info.height > 0
        source.read(0.05)
        check_shown(source.status)
    finally:
        source.close()


def seeds() -> tuple[tuple[str, bytes], ...]:
    """Return names and contents: a small picture of every format and variant, and animations."""
    return (*_saved(), *animations(), *_by_hand(), *_deep())


@functools.cache
def _saved() -> tuple[tuple[str, bytes], ...]:
    noise = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 4), np.uint8)
    picture = Image.fromarray(noise)
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "a description"
    exif.get_ifd(0x8769)[0x9286] = b"ASCII\0\0\0a comment"
    more = {
        "exif": exif,
        "icc_profile": ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes(),
    }
    made = []
    for kind, mode, options in WRITTEN:
        source = _in_mode(picture, mode)
        made.append((kind, _encoded(source, kind, **options)))
        if kind in ("PNG", "JPEG", "WEBP", "TIFF", "AVIF") and mode == "RGB":
            made.append((kind, _encoded(source, kind, **options, **more)))
    endings = {kind: ending for ending, kind in Image.registered_extensions().items()}
    endings |= {"PNG": ".png", "JPEG": ".jpg", "TIFF": ".tif", "PPM": ".ppm", "DIB": ".dib"}
    return tuple((f"picture{endings.get(kind, '.bin')}", data) for kind, data in made)


@functools.cache
def animations() -> tuple[tuple[str, bytes], ...]:
    """Return an animated GIF, WebP, PNG and AVIF."""
    rng = np.random.default_rng(1)
    first, *rest = (
        Image.fromarray(rng.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)) for _ in range(4)
    )
    endings = {"GIF": ".gif", "WEBP": ".webp", "PNG": ".png", "AVIF": ".avif"}
    return tuple(
        (f"moving{ending}", _encoded(first, kind, save_all=True, append_images=rest, duration=20))
        for kind, ending in endings.items()
    )


@functools.cache
def _deep() -> tuple[tuple[str, bytes], ...]:
    """Return pictures of 16 bits per channel, some with a wide profile, and one with a gain map."""
    rng = np.random.default_rng(3)
    pixels = rng.integers(0, 65536, (HEIGHT, WIDTH, 4)).astype(np.uint16)
    made: list[tuple[str, bytes]] = []
    for ending in (".png", ".tif"):
        for channels in (3, 4):
            done, data = cv2.imencode(ending, pixels[..., :channels])
            assert done
            made.append((f"picture{ending}", data.tobytes()))
    with tempfile.TemporaryDirectory() as folder:
        for ending in DEEP:
            path = Path(folder) / f"picture{ending}"
            write_pixels(path, pixels[..., :3], {"style": "x"}, profile=profile(P3, gamma(2.2)))
            made.append((path.name, path.read_bytes()))
    eight = Image.fromarray((pixels[..., :3] >> 8).astype(np.uint8))
    pair = _encoded(eight, "MPO", save_all=True, append_images=[eight], xmp=b"hdrgm:Version")
    return (*made, ("picture.jpg", pair))


def _in_mode(picture: Image.Image, mode: str) -> Image.Image:
    if mode == "I;16":
        return Image.fromarray(np.asarray(picture.convert("L")).astype(np.uint16) * 257)
    if mode == "LAB":
        profiles = ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB")
        made = ImageCms.profileToProfile(picture.convert("RGB"), *profiles, outputMode="LAB")
        assert made is not None
        return made
    if mode in ("F", "I"):
        return picture.convert("L").convert(mode)
    return picture.convert("RGB").convert(mode) if "A" not in mode else picture.convert(mode)


def _encoded(picture: Image.Image, kind: str, **options: Any) -> bytes:
    made = io.BytesIO()
    # deprecated formats
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        picture.save(made, kind, **options)
    return made.getvalue()


@functools.cache
def _by_hand() -> tuple[tuple[str, bytes], ...]:
    """Return formats that Pillow reads but cannot write."""
    pixels = np.random.default_rng(2).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
    raw, gray = pixels.tobytes(), pixels[..., 0].tobytes()
    planes = pixels.transpose(2, 0, 1).tobytes()
    palette = bytes(range(256)) * 3
    icon = bytearray(_encoded(Image.fromarray(pixels), "ICO", bitmap_format="bmp"))
    icon[2] = 2
    pcx = _encoded(Image.fromarray(pixels), "PCX")
    cards = "SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 2", f"NAXIS1  = {WIDTH}", f"NAXIS2  = {HEIGHT}"
    fits = "".join(f"{card[:10]}{card[10:].strip():>20}".ljust(80) for card in (*cards, "END"))
    rows = "".join(f'"{"ab" * (WIDTH // 2)}",\n' for _ in range(HEIGHT))
    colors = f'"{WIDTH} {HEIGHT} 2 1",\n"a c #ff0000",\n"b c #00ff00",\n'
    xpm = f"/* XPM */\nstatic char *x[] = {{\n{colors}{rows}}};\n"
    plain = " ".join(map(str, pixels.ravel()))
    made = {
        ".psd": b"8BPS" + struct.pack(">H6xHIIHHIII", 1, 3, HEIGHT, WIDTH, 8, 3, 0, 0, 0)
        + b"\0\0" + planes,
        ".ras": struct.pack(">8I", 0x59A66A95, WIDTH, HEIGHT, 24, len(raw), 1, 0, 0) + raw,
        ".cur": bytes(icon),
        ".dcx": struct.pack("<3I", 987654321, 12, 0) + pcx,
        ".fits": fits.ljust(2880).encode() + gray.ljust(2880, b"\0"),
        ".xpm": xpm.encode(),
        ".ftc": b"FTEX" + struct.pack("<8I", 0, WIDTH, HEIGHT, 1, 1, 1, 32, len(raw)) + raw,
        ".gbr": struct.pack(">5I", 28, 2, WIDTH, HEIGHT, 1) + b"GIMP" + struct.pack(">I", 10)
        + gray,
        ".fli": _fli(gray, palette),
        ".thumb": f"P7 332\n#END_OF_COMMENTS\n{WIDTH} {HEIGHT} 255\n".encode() + gray,
        ".pxr": b"\x80\xe8\0\0".ljust(416, b"\0")
        + struct.pack("<6H", HEIGHT, WIDTH, 0, 0, 14, 2).ljust(608, b"\0") + raw,
        ".ppm": f"P3\n# plain\n{WIDTH} {HEIGHT}\n255\n{plain}\n".encode(),
        ".pbm": f"P1\n{WIDTH} {HEIGHT}\n{' '.join('01' * (WIDTH * HEIGHT // 2))}\n".encode(),
        ".iptc": b"\x1c\x03\x3c\0\x02\x01\x01\x1c\x03\x14\0\x02" + struct.pack(">H", WIDTH)
        + b"\x1c\x03\x1e\0\x02" + struct.pack(">H", HEIGHT) + b"\x1c\x03\x78\0\x01\x01"
        + b"\x1c\x08\x0a\x01\x80" + gray,
        ".mcidas": struct.pack(">64i", 0, 4, 0, 0, 0, 0, 0, 0, HEIGHT, WIDTH, 1, *([0] * 22), 256,
                               *([0] * 30)) + gray,
        ".pcd": bytes(2048) + b"PCD_IPI" + bytes(96 * 2048 + 768 * 512 * 3 // 2),
    }  # fmt: skip
    return tuple((f"picture{ending}", data) for ending, data in made.items())


def _fli(gray: bytes, palette: bytes) -> bytes:
    """Return one frame: a palette and uncompressed pixels."""
    colors = struct.pack("<IHH", 6 + 4 + len(palette), 4, 1) + b"\0\0" + palette
    copied = struct.pack("<IH", 6 + len(gray), 16) + gray
    body = struct.pack("<IHH8x", 16 + len(colors + copied), 0xF1FA, 2) + colors + copied
    head = struct.pack("<IHHHHHHI", 128 + len(body), 0xAF12, 1, WIDTH, HEIGHT, 8, 3, 50)
    return head.ljust(128, b"\0") + body
