"""Says what a drop or a paste is: something to open, a style to install, or neither."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QMimeData, QMimeDatabase, QUrl

CAN_DROP = "Pictures, videos, folders, network addresses, and .pth or .safetensors styles can."
WEIGHTS = (".pth", ".pt", ".safetensors")
_STREAMS = ("http", "https", "rtsp", "rtsps")


@dataclass(frozen=True, slots=True)
class Drop:
    """What dropping would do, in words, and to what. At most one of `spec` (for session.open)
    and `weights` (for session.install_style) is set; neither when the drop is refused."""

    title: str
    detail: str = ""
    spec: str | list[str] | None = None
    weights: Path | None = None

    @property
    def welcome(self) -> bool:
        return self.spec is not None or self.weights is not None


def understand(data: QMimeData) -> Drop:
    """Judge by names alone, quickly enough for every move of the mouse; what a file really
    is shows when it is opened."""
    urls = data.urls() if data.hasUrls() else []
    if not urls and data.hasText():
        urls = _typed(data.text().strip())
    if not urls:
        return _refused("This")
    if len(urls) == 1 and urls[0].scheme() in _STREAMS:
        return Drop("Drop to open", urls[0].host(), spec=urls[0].toString())
    paths = [Path(url.toLocalFile()) for url in urls if url.isLocalFile()]
    if not paths:
        return _refused(f"'{urls[0].toDisplayString()}'")
    if len(paths) == 1:
        return _one(paths[0])
    return _several(paths)


def _one(path: Path) -> Drop:
    if path.suffix.lower() in WEIGHTS or (path / "style.toml").is_file():
        return Drop("Drop to install this style", path.name, weights=path)
    if path.is_dir() or _kind(path) in ("image", "video"):
        return Drop("Drop to open", path.name, spec=str(path))
    return _refused(f"'{path.name}'")


def _several(paths: list[Path]) -> Drop:
    pictures = [str(path) for path in paths if _kind(path) == "image"]
    if not pictures:
        if all(_kind(path) == "video" for path in paths):
            return Drop("Only one video at a time", "Drop a single video, or several pictures.")
        return _refused(f"'{paths[0].name}'")
    left_out = len(paths) - len(pictures)
    detail = f"{len(pictures)} pictures, as a strip to step through"
    if left_out:
        detail += f"; {left_out} other {'file' if left_out == 1 else 'files'} left out"
    return Drop("Drop to open", detail, spec=pictures)


def _kind(path: Path) -> str:
    """ "image", "video", ... by the file's ending."""
    match = QMimeDatabase.MatchMode.MatchExtension
    return QMimeDatabase().mimeTypeForFile(path.name, match).name().partition("/")[0]


def _typed(text: str) -> list[QUrl]:
    """An address or path given as text, as terminals and browsers do."""
    if not text or "\n" in text:
        return []
    url = QUrl(text)
    if url.scheme() in (*_STREAMS, "file"):
        return [url]
    path = Path(text)
    return [QUrl.fromLocalFile(text)] if path.is_absolute() and path.exists() else []


def _refused(what: str) -> Drop:
    return Drop(f"{what} cannot be opened", CAN_DROP)
