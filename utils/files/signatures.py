"""Recognizes the type of a file by its first bytes."""

from __future__ import annotations

import codecs

HEIC = "a HEIC photo"
RAW = "a camera raw photo"
TIFF = "a TIFF picture"
OGG = "an Ogg file"
AVIF = "an AVIF picture"
WEBP = "a WebP picture"
AVI = "an AVI video"
SOUND = "a sound file"
RIFF = "a RIFF file"
HTML = "an HTML page"
SVG = "an SVG drawing"
TEXT = "a text file"
MP4 = "an MP4 or QuickTime file"

_SIGNATURES = (
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive (or an office document or checkpoint)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"%!PS", "a PostScript document"),
    (b"ID3", SOUND),
    (b"fLaC", SOUND),
    (b"OggS\x00\x02", OGG),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"\x80\x02", "a Python pickle"),
    (b"SQLite format 3", "a database"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"DDS ", "a DDS picture"),
    (b"II*\x00\x10\x00\x00\x00CR", RAW),  # Canon's CR2
    (b"FUJIFILMCCD-RAW", RAW),
    (b"IIRO", RAW),  # Olympus
    (b"IIRS", RAW),
    (b"MMOR", RAW),
    (b"IIU\x00", RAW),  # Panasonic
    (b"FOVb", RAW),  # Sigma
    (b"\x00MRM", RAW),  # Minolta
    (b"II*\x00", TIFF),
    (b"MM\x00*", TIFF),
    (b"II+\x00", TIFF),  # BigTIFF
    (b"MM\x00+", TIFF),
    (b"\x1aE\xdf\xa3", "a Matroska or WebM video"),
)
# Every type that `what_is` names.
KINDS = (
    *dict.fromkeys(name for _, name in _SIGNATURES),
    *(HEIC, AVIF, WEBP, AVI, RIFF, HTML, SVG, TEXT, MP4),
)
_HEIC_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs"}
_AVIF_BRANDS = {b"avif", b"avis"}


def what_is(head: bytes) -> str:
    """Name the type of a file.

    Args:
        head: The first bytes, about 512.

    Returns:
        The type with an article, such as "an HTML page"; "" if it is not known.
    """
    for signature, name in _SIGNATURES:
        if head.startswith(signature):
            return name
    if head[4:8] == b"ftyp":
        return _box_file(head)
    if head[:4] == b"RIFF":
        return {b"WEBP": WEBP, b"AVI ": AVI, b"WAVE": SOUND}.get(head[8:12], RIFF)
    try:  # incrementally: a multi-byte character may be truncated at the end of `head`
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return ""
    if not text or not all(c.isprintable() or c in "\t\r\n\f\x1b\ufeff" for c in text):
        return ""
    start = text.lstrip("\ufeff \t\r\n").lower()
    if start.startswith(("<!doctype html", "<html", "<head", "<body")):
        return HTML
    if "<svg" in start:
        return SVG
    return TEXT


def _box_file(head: bytes) -> str:
    """Name the type of an ISO base media file by its major brand or, if that is generic, by its
    compatible brands."""
    end = min(int.from_bytes(head[:4]), len(head))
    main = head[8:12]
    brands = {main}
    if main in (b"mif1", b"msf1"):
        brands |= {head[n : n + 4] for n in range(16, end - 3, 4)}
    if brands & _AVIF_BRANDS:
        return AVIF
    if brands & _HEIC_BRANDS or main in (b"mif1", b"msf1"):
        return HEIC
    return RAW if main == b"crx " else MP4
