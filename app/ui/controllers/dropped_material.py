"""Reads a drag or the clipboard: files, an address, or the picture itself."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QFileInfo, QMimeData, QSysInfo, QUrl

from utils.text import printable

NAME = 100  # characters of a file's name in the hint
_STREAMS = ("http", "https", "rtsp", "rtsps")
_NAMELESS = ("data", "blob")  # schemes whose addresses contain no name
_THIS_MACHINE = ("", "localhost", "127.0.0.1", "::1")
_LONGEST_TEXT = 1 << 20  # characters of a list of files


@dataclass(frozen=True, slots=True)
class Material:
    """The content of a drag or the clipboard.

    Attributes:
        paths: Local files and folders, which may not exist.
        address: The only address, if a source can open it; otherwise "".
        image: Whether the data contains a picture, used if nothing else can be.
        name: A printable name for the refusal; "" without a name.
    """

    paths: tuple[Path, ...] = ()
    address: str = ""
    host: str = ""
    image: bool = False
    name: str = ""


def material_of(data: QMimeData) -> Material:
    """Read a drag or the clipboard; a picture in the data outweighs missing files and text."""
    image = data.hasImage()
    urls = data.urls() if data.hasUrls() else []
    if not urls and data.hasText() and not image:
        urls = _typed(data.text())
    if len(urls) == 1 and urls[0].scheme() in _STREAMS:
        encoded = urls[0].toString(QUrl.ComponentFormattingOption.FullyEncoded)
        return Material((), encoded, printable(urls[0].host(), NAME), image)
    paths = tuple(dict.fromkeys(path for url in urls if (path := _local(url)) is not None))
    if image:
        paths = tuple(path for path in paths if QFileInfo(path).exists())
    name = "" if not urls or urls[0].scheme() in _NAMELESS else urls[0].toDisplayString()
    return Material(paths, image=image, name=printable(name, NAME))


def _local(url: QUrl) -> Path | None:
    """Return the path of a file address (RFC 8089) on this machine, or None.

    On Windows, an address with another host is the path of a share.
    """
    if url.scheme() != "file":
        return None
    host, here = url.host().lower(), QSysInfo.machineHostName().lower()
    if host in (*_THIS_MACHINE, here, here.partition(".")[0]):
        url = QUrl(url)
        url.setHost("")
    elif os.name != "nt":  # on Windows, a host names a share
        return None
    name = url.toLocalFile()
    # A file name cannot contain NUL, and Qt would print a warning.
    return Path(name) if name and "\0" not in name else None


def _typed(text: str) -> list[QUrl]:
    """Return the URLs in text, one per line as terminals and browsers do; [] if a line is none."""
    if len(text) > _LONGEST_TEXT or "\0" in text:
        return []
    found: list[QUrl] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        urls = _named(line)
        if not urls:
            return []
        found += urls
    return found


def _named(line: str) -> list[QUrl]:
    """Return the URLs of a line: an address or path, or several words as a shell splits them."""
    quoted = len(line) > 1 and line[0] == line[-1] and line[0] in "\"'"
    if url := _url(line[1:-1] if quoted else line):
        return [url]
    try:
        words = shlex.split(line) if os.name != "nt" else []
    except ValueError:  # an open quotation
        return []
    urls = [url for word in words if (url := _url(word))]
    return urls if len(urls) == len(words) else []


def _url(text: str) -> QUrl | None:
    """Return the URL of an address or of an existing path.

    For a text too long for a path, Qt reports a missing file; Python would raise.
    """
    url = QUrl(text)
    if url.scheme() in (*_STREAMS, "file"):
        return url
    try:
        path = Path(text).expanduser()
    except RuntimeError:  # no such user
        return None
    there = path.is_absolute() and QFileInfo(path).exists()
    return QUrl.fromLocalFile(str(path)) if there else None
