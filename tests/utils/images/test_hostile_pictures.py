"""Reading any picture file ends soon, with a picture or with one sentence."""

from __future__ import annotations

import io
import os
import random
import struct
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from app.errors import StyleForgeError
from app.sources import open_source
from app.sources.video_decoder import AnimationReader
from tests.conftest import picture
from tests.helpers.daily import some_daily
from tests.helpers.errors import mentions, refused
from utils.images.opening import ImageError, kind_of
from utils.images.reading import read_picture, read_pixels

ROOT = Path(__file__).resolve().parents[3]
LENGTH = 50_000_000  # bytes of a hostile file
SECONDS = 60  # guards against hanging on a busy machine; a refusal takes 1 or 2
MEMORY = 3 << 30

# Code for a child process, so that a file that never finishes does not block the tests.
READ = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]),) * 2)
from utils.images.opening import ImageError, kind_of
from utils.images.reading import read_pixels
kind_of(sys.argv[1])
try:
    print(read_pixels(sys.argv[1]).shape)
except ImageError as exc:
    print(exc)
"""


def read_by_a_child(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", READ, str(path), str(MEMORY)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def encoded(form: str, **options: object) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture(40, 30)).save(file, form, **options)
    return file.getvalue()


def png(before: bytes = b"", after: bytes = b"") -> bytes:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(bytes(8 * 25)))
    return b"\x89PNG\r\n\x1a\n" + header + before + pixels + after + chunk(b"IEND", b"")


def dds(four: bytes, form: int = 0, flags: int = 4) -> bytes:
    """Return a DDS picture of 16x16 in pixel format `four`, or `form` of DirectX 10."""
    header = struct.pack("<7I44x", 124, 0x1007, 16, 16, 0, 0, 0)
    header += struct.pack("<2I4s5I", 32, flags, four, 24, 1, 2, 3, 4) + struct.pack("<5I", *5 * [0])
    if four == b"DX10":
        header += struct.pack("<5I", form, 3, 0, 1, 0)
    return b"DDS " + header + bytes(range(256)) * 8


SLOW: dict[str, Callable[[], bytes]] = {
    "a PPM comment": lambda: b"P6 #" + b"x" * LENGTH,
    "PPM spaces": lambda: b"P6 " + b" " * LENGTH,
    "PNG chunks": lambda: png(before=chunk(b"abCd", b"") * (LENGTH // 12)),
    "PNG chunks after the pixels": lambda: png(after=chunk(b"abCd", b"") * (LENGTH // 12)),
    "JPEG comments": lambda: b"\xff\xd8" + b"\xff\xfe\0\2" * (LENGTH // 4) + encoded("JPEG")[2:],
    "GIF comments": lambda: b"GIF89a\1\0\1\0\0\0\0" + b"\x21\xfe\1a\0" * (LENGTH // 5),
}


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="memory is bounded as on POSIX")
@pytest.mark.parametrize("what", some_daily(SLOW, 0))
def test_fifty_megabytes_of_header_are_refused_in_one_sentence(tmp_path: Path, what: str) -> None:
    path = tmp_path / "slow.picture"
    path.write_bytes(SLOW[what]())
    done = read_by_a_child(path)
    assert "too many pieces" in done.stdout
    assert done.stdout.startswith("'slow.picture' is a")
    assert done.stdout.count("\n") == 1
    assert (done.returncode, done.stderr) == (0, "")


def test_a_length_in_a_file_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "brush.gbr"
    path.write_bytes(struct.pack(">5I", (1 << 30) + 3, 2, 4, 4, 1) + b"GIMP" + bytes(100))
    tracemalloc.start()
    kind_of(path)
    with pytest.raises(ImageError):
        read_pixels(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 << 20


def test_numbers_that_are_none_are_read_without_a_warning(tmp_path: Path) -> None:
    signalling = struct.pack("<I", 0x7F800001) * 16  # a NaN whose conversion warns
    (tmp_path / "odd.pfm").write_bytes(b"Pf\n4 4\n-1.0\n" + signalling)
    assert read_pixels(tmp_path / "odd.pfm").shape == (4, 4, 3)


@pytest.mark.parametrize(
    "content",
    [
        *(dds(four) for four in (b"ABCD", b"DXT2", b"DXT4", b"\x71\0\0\0")),
        *(dds(b"DX10", form) for form in (0, 2, 28, 85, 119, 120, 255)),
        *(dds(b"\0\0\0\0", flags=flags) for flags in (0, 1, 2, 0x40, 0x200, 0x20000)),
        encoded("AVIF")[:300],
        encoded("AVIF").replace(b"av01", b"av0x"),
        encoded("AVIF")[:-400] + bytes(400),
        b"P5 4 4 b'x'\n" + bytes(16),
        b"Pf\n4 4\nnan\n" + bytes(64),
        b"BM" + bytes(200),
        b"qoif" + bytes(20),
    ],
    ids=lambda content: f"{content[:4]!r} {zlib.crc32(content):x}",
)
def test_odd_pictures_end_in_a_picture_or_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "odd.picture"
    path.write_bytes(content)
    assert_readable_or_told(path)


def assert_readable_or_told(path: Path) -> None:
    """Check that the picture in `path` has pixels, or that its error is one sentence for people."""
    fault = ""
    try:
        assert read_picture(path).pixels.dtype == np.uint8
    except ImageError as exc:
        fault = str(exc)
    if fault:
        assert fault.startswith(f"'{path.name}' is")
        assert "b'" not in fault
        assert fault.isprintable()


def test_a_dds_picture_of_an_unknown_kind_says_so(tmp_path: Path) -> None:
    (tmp_path / "odd.dds").write_bytes(dds(b"ABCD"))
    with refused(ImageError, "unsupported", file="odd.dds"):
        read_pixels(tmp_path / "odd.dds")


def test_a_damaged_avif_picture_is_called_one(tmp_path: Path) -> None:
    (tmp_path / "cut.avif").write_bytes(encoded("AVIF")[:300])
    with pytest.raises(StyleForgeError, match=r"cut\.avif.*truncated"):
        open_source(str(tmp_path / "cut.avif"))


FORMATS = ("PNG", "JPEG", "GIF", "TIFF", "WEBP", "AVIF", "BMP", "DDS", "ICO", "TGA", "PPM", "PCX")


@pytest.mark.parametrize("form", FORMATS)
def test_mutated_pictures_end_in_a_picture_or_in_a_sentence(tmp_path: Path, form: str) -> None:
    rng, original = random.Random(form), encoded(form)
    path = tmp_path / "mutated.picture"
    for _ in range(40):
        content = bytearray(original)
        for _ in range(rng.choice((1, 3, 12))):
            place = rng.randrange(min(len(content), rng.choice((32, 200, len(content)))))
            content[place] = rng.randrange(256)
        path.write_bytes(content[: rng.choice((len(content), rng.randrange(len(content))))])
        kind_of(path)
        assert_readable_or_told(path)


def test_an_animation_that_states_billions_of_frames_ends_with_its_last(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (8, 8), color) for color in ("red", "blue", "green")]
    path = tmp_path / "endless.png"
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=50)
    stored = path.read_bytes()
    start = stored.index(b"acTL")
    lying = chunk(b"acTL", struct.pack(">II", 2**31 - 1, 0))
    path.write_bytes(stored[: start - 4] + lying + stored[start + 16 :])
    reader = AnimationReader(path)
    frames_read = []
    while reader.grab() is not None:
        frames_read.append(reader.decode())
        assert len(frames_read) < 100
    reader.close()
    assert [frame is not None for frame in frames_read] == [True, True, True]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in folders")
def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.png"
    os.mkfifo(pipe)
    assert kind_of(pipe) == ""
    for read in (read_pixels, lambda path: open_source(str(path))):
        with pytest.raises((ImageError, StyleForgeError), match="device or"):
            read(pipe)


@pytest.mark.parametrize("name", ["x" * 300, "nul\0"])
def test_a_name_that_cannot_be_is_a_file_that_is_not_there(name: str) -> None:
    with pytest.raises(StyleForgeError, match=r"does not exist|too long"):
        open_source(name)
    with pytest.raises(ImageError, match=r"does not exist|too long"):
        read_pixels(name)


def tiff(entries: dict[int, tuple[int, int]], more: bytes = b"") -> bytes:
    """Return a TIFF of 4x4 gray pixels with additional `entries`: tag -> (type, value)."""
    whole = {
        256: (3, 4), 257: (3, 4), 258: (3, 8), 259: (3, 1), 262: (3, 1), 277: (3, 1), 278: (3, 4),
        279: (4, 16), **entries,
    }  # fmt: skip
    pixels_at = 8 + 2 + 12 * (len(whole) + 1) + 4
    whole[273] = (4, pixels_at)
    table = b"".join(
        struct.pack("<HHII", tag, kind, 1, value) for tag, (kind, value) in sorted(whole.items())
    )
    return b"II*\0\x08\0\0\0" + struct.pack("<H", len(whole)) + table + bytes(4) + bytes(16) + more


RAW = {
    "a DNG": tiff({50706: (4, 0x00000401)}),
    "a NEF, which has a preview in front": tiff({254: (4, 1), 330: (4, 8)}),
    "the mosaic of a sensor": tiff({262: (3, 32803)}),
    "a CR2": b"II*\0\x10\0\0\0CR\2\0" + bytes(200),
    "a CR3": b"\0\0\0\x18ftypcrx \0\0\0\1crx isom" + bytes(200),
    "an ORF": b"IIRO\x08\0\0\0" + bytes(200),
}


@pytest.mark.parametrize("what", RAW)
def test_a_camera_raw_photo_is_refused_in_one_sentence(tmp_path: Path, what: str) -> None:
    path = tmp_path / "shot.raw"
    path.write_bytes(RAW[what])
    for read in (read_pixels, lambda path: open_source(str(path))):
        with pytest.raises((ImageError, StyleForgeError)) as caught:
            read(path)
        assert mentions(str(caught.value), "shot.raw", "JPEG or TIFF first")


def test_an_ordinary_tiff_is_no_raw_photo(tmp_path: Path) -> None:
    (tmp_path / "plain.tif").write_bytes(tiff({}))
    assert read_pixels(tmp_path / "plain.tif").shape == (4, 4, 3)


@pytest.mark.skipif(os.name == "nt", reason="memory is bounded as on POSIX")
def test_pillows_warnings_do_not_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "odd.tif"
    path.write_bytes(tiff({270: (2, 77), 700: (9999, 3), 305: (12, 2**31)}))
    assert read_pixels(path).shape == (4, 4, 3)
    done = read_by_a_child(path)
    assert (done.stdout, done.stderr) == ("(4, 4, 3)\n", "")


def test_a_name_with_escape_codes_is_shown_visibly(tmp_path: Path) -> None:
    path = tmp_path / "red\x1b[31m\nline.png"
    path.write_bytes(b"<html>")
    for read in (read_pixels, lambda path: open_source(str(path))):
        with pytest.raises((ImageError, StyleForgeError)) as caught:
            read(path)
        assert "'red\\x1b[31m\\nline.png' is" in str(caught.value)
        assert str(caught.value).isprintable()
    Image.fromarray(picture()).save(path)
    source = open_source(str(path))
    assert source.info.title == "red\\x1b[31m\\nline.png"
    source.close()
