"""A style as one file, NAME.styleforge: a ZIP archive with only the files of its pack."""

from __future__ import annotations

import re
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from app.styles.pack import MAX_NAME_LENGTH, Style, StyleError
from utils.files import toml
from utils.files.atomic import replacing, sync
from utils.files.names import portable_name
from utils.files.regular import open_regular
from utils.text import printable
from utils.translation.joints import either
from utils.translation.texts import tr

ENDING = ".styleforge"
SPEC = "style.toml"
MAX_WEIGHTS = 100 << 20  # bytes; the same as in models.checkpoints, which imports PyTorch
# The files that a style.toml may name, by its field, with their endings and size limits in bytes.
NAMED = {
    "weights": ((".safetensors",), MAX_WEIGHTS),
    "lite_weights": ((".safetensors",), MAX_WEIGHTS),
    "thumbnail": ((".png", ".jpg", ".jpeg", ".webp"), 16 << 20),
    "picture": ((".png", ".jpg", ".jpeg", ".webp"), 16 << 20),
}
MAX_BYTES = sum(most for _, most in NAMED.values()) + toml.MAX_BYTES  # of the whole file
MAX_DIRECTORY = 4096  # bytes of the archive's list of files: ours has five short names
_END = struct.Struct("<4s4H2LH")  # of an archive: its signature, disks, counts, size and position
_LOCATOR = 20  # bytes before the end of an archive with 64-bit sizes
_PIECE = 1 << 20  # bytes
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_SINCE = (1980, 1, 1, 0, 0, 0)  # the date of every file, so that equal styles are equal files


def write_style_file(style: Style, target: Path) -> Path:
    """Write a style as one file, and return its path; `target` is complete or unchanged.

    An existing file is replaced; ENDING is appended if it is missing.

    Raises:
        StyleError: If the pack has a name that is not allowed in such a file.
        OSError: If a file cannot be read or written.
    """
    if target.suffix.lower() != ENDING:
        target = target.with_name(target.name + ENDING)
    folder = style.weights.parent
    spec = toml.load(folder / SPEC)
    names = _names(spec, printable(style.title, MAX_NAME_LENGTH))
    with replacing(target) as temporary:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
            for name in (SPEC, *names):
                if not (folder / name).is_file():
                    continue  # a thumbnail may be missing from a pack
                most = toml.MAX_BYTES if name == SPEC else names[name]
                info = zipfile.ZipInfo(name, _SINCE)
                info.external_attr = (stat.S_IFREG | 0o644) << 16
                with open_regular(folder / name, most) as source, archive.open(info, "w") as out:
                    shutil.copyfileobj(source, out, _PIECE)
        sync(temporary)
    return target


@contextmanager
def unpacked(path: Path, parent: Path | None = None) -> Iterator[Path]:
    """Unpack a style file, after all checks that are possible without unpacking.

    Yield the folder of a pack in `parent` (None: the system's temporary folder), which is deleted
    at the end of the block; its contents are not checked.

    Raises:
        StyleError: If the file is not a style file, or has contents that are not allowed.
        OSError: If the file cannot be read, or the folder cannot be written.
    """
    name = printable(path.name, MAX_NAME_LENGTH)
    words = re.sub(r"\W+", "_", path.stem, flags=re.ASCII).strip("_")[:40]
    with tempfile.TemporaryDirectory(prefix=".installing-", dir=parent) as temporary:
        folder = Path(temporary) / (portable_name(words) or "style")
        folder.mkdir()
        with open_regular(path, MAX_BYTES) as file:
            _check_end(file, name)
            try:
                with zipfile.ZipFile(file) as archive:
                    _unpack(archive, folder, name)
            except (zipfile.BadZipFile, NotImplementedError, EOFError, UnicodeError) as exc:
                raise StyleError(
                    tr("'{file}' is damaged: {fault}", file=name, fault=printable(str(exc)))
                ) from exc
            except (zlib.error, RuntimeError, struct.error) as exc:
                raise StyleError(
                    tr("'{file}' is damaged: its contents cannot be unpacked", file=name)
                ) from exc
        yield folder


def _names(spec: dict[str, object], shown: str) -> dict[str, int]:
    """Return the files in a style.toml with their size limits in bytes, or raise StyleError."""
    found: dict[str, int] = {}
    for field, (endings, most) in NAMED.items():
        value = spec.get(field, "")
        if value == "":
            continue
        plain = isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", value)
        if not plain or not str(value).lower().endswith(endings) or value in found:
            raise StyleError(
                tr(
                    "'{name}' has a wrong '{field}' in its style.toml: it must name a separate "
                    "file that ends in {endings}, not {value}",
                    name=shown,
                    field=field,
                    endings=either(endings),
                    value=printable(repr(value), MAX_NAME_LENGTH),
                )
            )
        found[str(value)] = most
    return found


def _check_end(file: BinaryIO, name: str) -> None:
    """Check the end of the archive, so that a list of millions of files is never read."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _END.size - _LOCATOR))
    tail = file.read()
    file.seek(0)
    if size < _END.size or not tail[-_END.size :].startswith(b"PK\5\6"):
        raise StyleError(
            tr("'{file}' is not a style file: it is not a ZIP archive, or is truncated", file=name)
        )
    *_, count, directory, _, comment = _END.unpack(tail[-_END.size :])
    if comment or tail.startswith(b"PK\6\7"):
        raise StyleError(
            tr("'{file}' is not a style file: it is another kind of archive", file=name)
        )
    if count > 1 + len(NAMED) or directory > MAX_DIRECTORY:
        raise StyleError(tr("'{file}' is not a style file: it contains too many files", file=name))


def _unpack(archive: zipfile.ZipFile, folder: Path, name: str) -> None:
    infos = {info.filename: info for info in archive.infolist()}
    if len(infos) != len(archive.infolist()):
        raise StyleError(tr("'{file}' contains two files with the same name", file=name))
    if SPEC not in infos:
        raise StyleError(tr("'{file}' is not a style file: it has no {part}", file=name, part=SPEC))
    for info in infos.values():
        kind = stat.S_IFMT(info.external_attr >> 16)
        # This flag bit means encrypted.
        plain = info.compress_type in _METHODS and not info.flag_bits & 1
        if not plain or kind not in (0, stat.S_IFREG):
            shown = printable(info.filename, MAX_NAME_LENGTH)
            raise StyleError(
                tr(
                    "'{file}' contains an entry that style files may not have: {part}",
                    file=name,
                    part=shown,
                )
            )
    _extract(archive, infos.pop(SPEC), folder, toml.MAX_BYTES, name)
    try:
        spec = toml.load(folder / SPEC)
    except ValueError as exc:
        fault = printable(str(exc))
        raise StyleError(
            tr("'{file}' has an invalid {part}: {fault}", file=name, part=SPEC, fault=fault)
        ) from exc
    names = _names(spec, name)
    for each in infos:  # compared exactly: no name in `names` leaves the folder
        if each not in names:
            shown = printable(each, MAX_NAME_LENGTH)
            raise StyleError(
                tr(
                    "'{file}' contains a file that its {part} does not list: {name}",
                    file=name,
                    part=SPEC,
                    name=shown,
                )
            )
    for each, info in infos.items():
        _extract(archive, info, folder, names[each], name)


def _extract(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, folder: Path, most: int, name: str
) -> None:
    """Write one file, and unpack no more than its declared size, which is limited."""
    if info.file_size > most:
        raise StyleError(
            tr("'{file}' contains a file that is too large: {name}", file=name, name=info.filename)
        )
    with archive.open(info) as source, (folder / info.filename).open("xb") as out:
        shutil.copyfileobj(source, out, _PIECE)
