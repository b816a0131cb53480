"""HEIC photos are readable if pillow-heif is installed; otherwise a sentence says what to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from app.errors import StyleForgeError
from app.sources import open_source, pictures_in
from tests.conftest import picture
from tests.helpers.errors import refused
from utils.files.signatures import what_is
from utils.images.opening import ImageError, kind_of
from utils.images.reading import read_picture

ROOT = Path(__file__).resolve().parents[3]
NEEDS = "'photo.heic' is a HEIC photo, which needs the extra \"heif\": pip install"


def box(main: bytes, *compatible: bytes) -> bytes:
    brands = main + bytes(4) + b"".join(compatible)
    return (8 + len(brands)).to_bytes(4, "big") + b"ftyp" + brands + bytes(100)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (box(b"heic", b"mif1"), "a HEIC photo"),
        (box(b"mif1", b"heic"), "a HEIC photo"),
        (box(b"mif1", b"avif", b"miaf"), "an AVIF picture"),
        (box(b"avif"), "an AVIF picture"),
        (box(b"isom", b"mp42"), "an MP4 or QuickTime file"),
    ],
)
def test_the_brands_of_a_file_of_boxes_tell_what_it_is(head: bytes, name: str) -> None:
    assert what_is(head) == name


def test_without_the_extra_a_sentence_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    path = tmp_path / "photo.heic"
    path.write_bytes(box(b"heic"))
    assert kind_of(path) == "picture"
    assert pictures_in(tmp_path) == (path,)
    with pytest.raises(ImageError, match=NEEDS):
        read_picture(path)
    with pytest.raises(StyleForgeError, match=NEEDS):
        open_source(str(path))


def test_the_extra_is_loaded_only_for_a_heic_photo(tmp_path: Path) -> None:
    Image.fromarray(picture()).save(tmp_path / "a.png")
    check = (
        "import sys; from utils.images.reading import read_pixels; read_pixels(sys.argv[1]); "
        "sys.exit('pillow_heif' in sys.modules)"
    )
    command = [sys.executable, "-c", check, str(tmp_path / "a.png")]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def test_a_heic_photo_is_read_upright_with_its_transparency(tmp_path: Path) -> None:
    pillow_heif = pytest.importorskip("pillow_heif")
    pillow_heif.register_heif_opener()
    path = tmp_path / "photo.heic"
    pixels = picture(64, 48)
    exif = Image.Exif()
    exif[0x0112] = 6  # held upright: displaying it swaps width and height
    Image.fromarray(pixels).save(path, format="HEIF", quality=-1, chroma=444, exif=exif.tobytes())
    read = read_picture(path)
    assert read.pixels.shape == (64, 48, 3)
    assert np.abs(read.pixels.astype(int) - np.rot90(pixels, -1)).mean() < 3
    assert (read.alpha, read.bits, read.loss) == (None, 8, "")
    alpha = np.full((48, 64), 255, np.uint8)
    alpha[:, :32] = 0
    Image.fromarray(np.dstack([pixels, alpha])).save(path, format="HEIF", quality=-1)
    cut_out = read_picture(path)
    assert cut_out.alpha is not None
    assert np.array_equal(cut_out.alpha, alpha)
    source = open_source(str(path))
    frame = source.read(1.0)
    assert frame is not None
    assert frame.alpha is not None
    source.close()


def test_a_damaged_heic_photo_says_so(tmp_path: Path) -> None:
    pytest.importorskip("pillow_heif")
    path = tmp_path / "photo.heic"
    path.write_bytes(box(b"heic", b"mif1"))
    with refused(ImageError, "truncated", file="photo.heic"):
        read_picture(path)
