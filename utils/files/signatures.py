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
JPEG = "a JPEG picture"
VIDEO = "a video"

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
    (b"\xff\xd8\xff", JPEG),
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
    (b"FLV\x01", VIDEO),
    (b".RMF\0\0\0", VIDEO),  # RealMedia
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", VIDEO),  # ASF, WMV
    (b"\0\0\1\xba", VIDEO),  # an MPEG program stream
    (b"\0\0\1\xb3", VIDEO),  # MPEG-1 and MPEG-2 without a container
    (b"\x06\x0e\x2b\x34\x02\x05\x01\x01\x0d\x01\x02", VIDEO),  # MXF
    (b"\x1f\x07\0\x3f", VIDEO),  # DV of 60 fields
    (b"\x1f\x07\0\xbf", VIDEO),  # DV of 50 fields
    (b"YUV4MPEG2 ", VIDEO),
    (b"DKIF\0\0", VIDEO),  # IVF
    (b"nut/multimedia container", VIDEO),
    (b"\xb7\xd8\0\x20\x37\x49\xda\x11\xa6\x4e\0\x07\xe9\x5e\xad\x8d", VIDEO),  # WTV
    (b"\0\0\0\0\x01\xbc\0\0", VIDEO),  # GXF
    (b"\x12\0\x0a", VIDEO),  # AV1 without a container
)
# Start codes of H.264 and HEVC without a container, and the first bytes that may follow: parameters
# of a sequence, a delimiter, or supplemental information.
_START_CODES = (b"\0\0\0\1", b"\0\0\1")
_FIRST_UNITS = (b"\x67", b"\x47", b"\x27", b"\x09", b"\x06", b"\x40\1", b"\x42\1", b"\x46\1")
# MPEG transport streams: the offset of the first packet, and the length of each.
_PACKETS, _SYNC = ((0, 188), (4, 192), (0, 204)), 0x47
# Every type that `what_is` can return.
KINDS = (
    *dict.fromkeys(name for _, name in _SIGNATURES),
    *(HEIC, AVIF, WEBP, AVI, RIFF, HTML, SVG, TEXT, MP4),
)
_HEIC_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs"}
_AVIF_BRANDS = {b"avif", b"avis"}


def what_is(head: bytes) -> str:
    """Name a file's type by its first bytes, about 512, such as "an HTML page"; "" if unknown."""
    for signature, name in _SIGNATURES:
        if head.startswith(signature):
            return name
    if head[4:8] == b"ftyp":
        return _box_file(head)
    if head[:4] == b"RIFF":
        kinds = {b"WEBP": WEBP, b"AVI ": AVI, b"WAVE": SOUND, b"AMV ": VIDEO, b"CDXA": VIDEO}
        return kinds.get(head[8:12], RIFF)
    if any(head.startswith(code + unit) for code in _START_CODES for unit in _FIRST_UNITS):
        return VIDEO
    try:  # incrementally: a multi-byte character may be truncated at the end of `head`
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return _unprintable(head)
    if not text or not all(c.isprintable() or c in "\t\r\n\f\x1b\ufeff" for c in text):
        return _unprintable(head)
    start = text.lstrip("\ufeff \t\r\n").lower()
    if start.startswith(("<!doctype html", "<html", "<head", "<body")):
        return HTML
    if "<svg" in start:
        return SVG
    return TEXT


def holds_pictures_in_motion(name: str) -> bool:
    """Return whether files of a type named by `what_is` are films, or may be."""
    return name.endswith("video") or name in (MP4, OGG)


def _unprintable(head: bytes) -> str:
    """Name the type of a file without a signature: a transport stream, by its packets."""
    for start, length in _PACKETS:
        packets = head[start::length]
        if len(packets) > 1 and set(packets) == {_SYNC}:
            return VIDEO
    return ""


def _box_file(head: bytes) -> str:
    """Name an ISO media file's type, by its major brand or, if generic, its compatible brands."""
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
