"""Style packs: folders with a `style.toml`, weights and a thumbnail."""

from __future__ import annotations

import contextlib
import difflib
import errno
import hashlib
import re
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from app.errors import StyleForgeError
from app.settings import APP_NAME
from utils.files import toml
from utils.files.atomic import atomic_write, sync
from utils.files.regular import check_regular, read_regular
from utils.text import printable

if TYPE_CHECKING:  # PyTorch and Pillow are imported only when a style is installed
    import numpy as np
    from numpy.typing import NDArray

    from models.checkpoints import State

BUILTIN = Path(__file__).resolve().parents[2] / "assets" / "styles"

# The six named styles first, in the order of the number keys; the rest by title.
ORDER = ("candy", "mosaic", "udnie", "rain_princess", "starry_night", "great_wave")
MAX_KEY_LENGTH = 64  # of a new pack's folder; file systems allow 255, and snapshots add the time
MAX_TEXT_LENGTH = 300  # of a title and other texts of a pack; longer ones are truncated
MAX_NAME_LENGTH = 100  # characters of a file's name in a message
ABANDONED_AFTER_S = 3600.0  # seconds after which an incomplete pack counts as abandoned
_STAGING_PREFIX = ".installing-"


class StyleError(StyleForgeError):
    """A style pack that cannot be used."""


@dataclass(frozen=True, slots=True)
class Style:
    """One validated pack. `key` is the folder's name; `builtin` packs cannot be removed.

    `sha256` and `lite_sha256` are the hashes of the weight files, empty where the pack states none;
    `lite` is None for a pack without a lite network.
    """

    key: str
    title: str
    weights: Path
    credit: str = ""
    licence: str = ""
    sha256: str = ""
    thumbnail: Path | None = None
    builtin: bool = False
    lite: Path | None = None
    lite_sha256: str = ""


def user_folder() -> Path:
    """Folder of this user's own packs; it may not exist yet."""
    return platformdirs.user_data_path(APP_NAME, appauthor=False) / "styles"


def load_pack(folder: Path, *, builtin: bool = False) -> Style:
    """Read and validate the pack in `folder`.

    Raises:
        StyleError: the pack is invalid; the message is one sentence.
    """
    pack = printable(folder.name, MAX_NAME_LENGTH)
    try:
        spec = toml.load(folder / "style.toml")
    except FileNotFoundError:
        raise StyleError(f"'{pack}' has no style.toml") from None
    except OSError as exc:
        raise StyleError(f"'{pack}/style.toml' cannot be read: {exc.strerror}") from exc
    except ValueError as exc:
        raise StyleError(f"'{pack}/style.toml' is not valid: {printable(str(exc))}") from exc
    try:
        title, weights = _text(spec, "title"), _text(spec, "weights")
        credit, licence = _text(spec, "credit", ""), _text(spec, "licence", "")
        sha256, thumbnail = _text(spec, "sha256", ""), _text(spec, "thumbnail", "")
        lite, lite_sha256 = _text(spec, "lite_weights", ""), _text(spec, "lite_sha256", "")
        if not weights:
            raise KeyError("'weights' is empty")
    except (KeyError, TypeError) as exc:
        raise StyleError(f"'{pack}/style.toml' is not valid: {exc.args[0]}") from exc
    for name in filter(None, (weights, lite)):
        if not _has_file(folder, name, "weights"):
            raise StyleError(
                f"'{pack}' names weights that are missing: {printable(name, MAX_NAME_LENGTH)}"
            )
    # Without a thumbnail, the gallery shows a color.
    picture = thumbnail and _has_file(folder, thumbnail, "a thumbnail")
    title, credit, licence = one_line(title) or pack, one_line(credit), one_line(licence)
    return Style(
        folder.name,
        title,
        folder / weights,
        credit,
        licence,
        sha256,
        folder / thumbnail if picture else None,
        builtin,
        folder / lite if lite else None,
        lite_sha256,
    )


def _has_file(folder: Path, name: str, what: str) -> bool:
    """Whether the pack contains the file `name`.

    Raises:
        StyleError: the name points outside of the pack, or not to a regular file.
    """
    pack, shown = printable(folder.name, MAX_NAME_LENGTH), printable(name, MAX_NAME_LENGTH)
    if Path(name).name != name:
        raise StyleError(f"'{pack}' names a file outside its own folder: {shown}")
    try:
        check_regular(folder / name)
    except FileNotFoundError:
        return False
    except OSError as exc:
        raise StyleError(
            f"'{pack}' names {what} that cannot be read: {shown}: {exc.strerror}"
        ) from exc
    return True


def _text(spec: dict[str, object], name: str, default: str | None = None) -> str:
    value = spec.get(name, default)
    if value is None:
        raise KeyError(f"'{name}' is missing")
    if not isinstance(value, str):
        raise TypeError(f"'{name}' should be text, not {printable(repr(value), MAX_NAME_LENGTH)}")
    return value


def one_line(text: str) -> str:
    """Return `text` cut to MAX_TEXT_LENGTH, without line breaks and control characters.

    Control characters could overwrite a terminal.
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[
        :MAX_TEXT_LENGTH
    ].strip()


def check_weights(style: Style, *, lite: bool = False) -> None:
    """Compare the hash of the weights, or of the lite weights, with the one in the pack.

    Raises:
        StyleError: the hashes differ.
        OSError: the file cannot be read.
    """
    from models.checkpoints import MOST

    path, sha256 = (style.lite, style.lite_sha256) if lite else (style.weights, style.sha256)
    if path and sha256 and hashlib.sha256(read_regular(path, MOST)).hexdigest() != sha256:
        raise StyleError(
            f"'{path.name}' of the style '{style.title}' is not the file "
            "its style.toml describes (the sha256 differs)"
        )


def _check_all(style: Style) -> None:
    check_weights(style)
    if style.lite:
        check_weights(style, lite=True)


@dataclass(frozen=True, slots=True)
class _Installable:
    """A checkpoint or a pack that was read and validated; `spec` is None for a checkpoint."""

    title: str
    state: State
    spec: Style | None = None
    lite: State | None = None
    picture: NDArray[np.uint8] | None = None


def _read_installable(path: Path) -> _Installable:
    """Read a checkpoint or a pack; StyleError if `path` is neither."""
    from models.checkpoints import CheckpointError, load_checkpoint
    from utils.images.opening import ImageError
    from utils.images.reading import read_pixels

    name = printable(path.name, MAX_NAME_LENGTH)
    try:
        is_pack = stat.S_ISDIR(path.stat().st_mode)
        if not is_pack:
            title = one_line(path.stem.replace("_", " ").title()) or "Style"
            return _Installable(title, load_checkpoint(path))
        spec = load_pack(path)
        _check_all(spec)
        return _Installable(
            spec.title,
            load_checkpoint(spec.weights),
            spec,
            load_checkpoint(spec.lite) if spec.lite else None,
            read_pixels(spec.thumbnail) if spec.thumbnail else None,
        )
    except FileNotFoundError:
        raise StyleError(f"'{name}' does not exist") from None
    except (CheckpointError, ImageError) as exc:
        raise StyleError(str(exc)) from exc
    except OSError as exc:
        raise StyleError(f"'{name}' cannot be read: {exc.strerror or exc}") from exc
    except ValueError:  # no file can have this name
        raise StyleError(f"'{name}' does not exist") from None


class Library:
    """The built-in packs and the user's; a user's pack never hides a built-in one."""

    def __init__(self, builtin: Path, user: Path) -> None:
        self._builtin, self._user = builtin, user
        self._styles: dict[str, Style] = {}
        self._broken: tuple[str, ...] = ()
        self._lock = threading.Lock()  # or two jobs could choose the same name
        self.reload()

    @classmethod
    def default(cls) -> Library:
        """The library of the built-in packs and those in the user's folder."""
        return cls(BUILTIN, user_folder())

    @property
    def user(self) -> Path:
        """The user's own folder; it may not exist yet."""
        return self._user

    @property
    def styles(self) -> tuple[Style, ...]:
        """All styles in gallery order."""
        return tuple(self._styles.values())

    @property
    def broken(self) -> tuple[str, ...]:
        """One sentence for each pack that could not be read."""
        return self._broken

    def reload(self) -> None:
        """Read both folders again."""
        found: list[Style] = []
        broken: list[str] = []
        for root, builtin in ((self._builtin, True), (self._user, False)):
            folders = sorted(root.iterdir()) if root.is_dir() else []
            for folder in folders:
                if not folder.is_dir() or folder.name.startswith((".", "_")):
                    continue
                try:
                    style = load_pack(folder, builtin=builtin)
                except StyleError as exc:
                    broken.append(str(exc))
                    continue
                if any(style.key == other.key for other in found):
                    broken.append(f"'{folder}' has the name of a built-in style; rename its folder")
                else:
                    found.append(style)
        found.sort(key=lambda s: (not s.builtin, _rank(s.key), s.title.casefold()))
        self._styles = {style.key: style for style in found}
        self._broken = tuple(broken)

    def get(self, key: str) -> Style:
        """Return the style with this key.

        Raises:
            StyleError: there is none; the message suggests similar keys.
        """
        try:
            return self._styles[key]
        except KeyError:
            raise StyleError(_unknown_style_message(key, list(self._styles))) from None

    def installable_title(self, path: Path) -> str:
        """Return the title under which the checkpoint or pack at `path` would be installed.

        Raises:
            StyleError: it cannot be installed.
        """
        return self._free_title(_read_installable(path).title)

    def install(self, path: Path, title: str = "") -> Style:
        """Copy a checkpoint or a pack into the user's folder.

        Any checkpoint layout that models.checkpoints reads is stored as safetensors. The pack is
        written under a temporary name and renamed, so a failure leaves nothing behind.

        Args:
            path: a checkpoint file, or the folder of a pack.
            title: its title; empty for the pack's or the file's. A number is appended if it is
                taken.

        Returns:
            The installed style.

        Raises:
            StyleError: it cannot be read or written.
        """
        found = _read_installable(path)
        with self._lock:
            return self._write_pack(found, self._free_title(one_line(title) or found.title))

    def _write_pack(self, found: _Installable, title: str) -> Style:
        from models.checkpoints import save_checkpoint
        from utils.images.opening import ImageError
        from utils.images.writing import write_pixels

        spec = found.spec
        staging: Path | None = None
        try:
            self._user.mkdir(parents=True, exist_ok=True)
            staging = _make_staging(self._user)
            weights = staging / "weights.safetensors"
            save_checkpoint(weights, found.state, {"title": title})
            thumbnail = ""
            if found.picture is not None:
                thumbnail = "thumbnail.png"
                write_pixels(staging / thumbnail, found.picture)
            lines = {
                "title": title,
                "credit": spec.credit if spec else "",
                "licence": spec.licence if spec else "",
                "weights": weights.name,
                "thumbnail": thumbnail,
                "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
            }
            if found.lite is not None:
                weights = staging / "lite.safetensors"
                save_checkpoint(weights, found.lite, {"title": f"{title}, lite"})
                lines["lite_weights"] = weights.name
                lines["lite_sha256"] = hashlib.sha256(weights.read_bytes()).hexdigest()
            (staging / "style.toml").write_text(toml.dumps(lines), "utf-8", newline="\n")
            key = self._free_key(title)
            staging.chmod(0o755)
            staging.rename(self._user / key)
        except (OSError, ImageError) as exc:
            raise StyleError(
                f"the style '{title}' could not be written: {getattr(exc, 'strerror', None) or exc}"
            ) from exc
        finally:
            if staging is not None:
                shutil.rmtree(staging, ignore_errors=True)
        self.reload()
        return self.get(key)

    def move_in(self, folder: Path) -> Style:
        """Move a finished pack, as written by training, into the user's folder with all its files.

        Args:
            folder: the pack. A number is appended to its title if another style has it.

        Returns:
            The installed style.

        Raises:
            StyleError: the pack is invalid or cannot be moved.
        """
        spec = load_pack(folder)
        _check_all(spec)
        with self._lock:
            try:
                title = self._free_title(spec.title)
                if title != spec.title:
                    _set_title(folder / "style.toml", title)
                self._user.mkdir(parents=True, exist_ok=True)
                key = self._free_key(title)
                _move(folder, self._user / key)
            except OSError as exc:
                raise StyleError(
                    f"the style '{spec.title}' could not be moved to '{self._user}': "
                    f"{exc.strerror or exc}"
                ) from exc
            self.reload()
            return self.get(key)

    def remove(self, key: str) -> None:
        """Delete one of the user's own packs.

        Raises:
            StyleError: the style is unknown or built in, or cannot be deleted.
        """
        style = self.get(key)
        if style.builtin:
            raise StyleError(f"'{style.title}' is built in and cannot be removed")
        with self._lock:
            try:
                shutil.rmtree(self._user / key)
            except OSError as exc:
                raise StyleError(f"the style '{style.title}' could not be removed: {exc}") from exc
            self.reload()

    def _free_title(self, title: str) -> str:
        taken = {style.title.casefold() for style in self._styles.values()}
        numbered = (f"{title[: MAX_TEXT_LENGTH - 8]} {n}" for n in range(2, len(taken) + 3))
        return next(free for free in (title, *numbered) if free.casefold() not in taken)

    def _free_key(self, title: str) -> str:
        words = re.sub(r"[^a-z0-9]+", "_", title.casefold())
        base = words.strip("_")[:MAX_KEY_LENGTH].strip("_") or "style"
        taken = {*self._styles, *(p.name for p in self._user.iterdir())}
        candidates = (base if n == 1 else f"{base}_{n}" for n in range(1, len(taken) + 2))
        return next(key for key in candidates if key not in taken)


def _set_title(spec: Path, title: str) -> None:
    """Change the title in a `style.toml` written by training, where it is on its own line."""
    line = toml.dumps({"title": title})
    text = re.sub(r"^title = .*\n", lambda _: line, spec.read_text("utf-8"), count=1, flags=re.M)
    atomic_write(spec, text.encode("utf-8"))


def _make_staging(folder: Path) -> Path:
    """Make a temporary folder in `folder` for a new pack; old ones from killed processes are
    removed.
    """
    for left in folder.glob(f"{_STAGING_PREFIX}*"):
        with contextlib.suppress(FileNotFoundError):
            if left.stat().st_mtime < time.time() - ABANDONED_AFTER_S:
                shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=_STAGING_PREFIX, dir=folder))


def _move(folder: Path, target: Path) -> None:
    """Move a pack with a single rename, even across file systems: it is never incomplete."""
    try:
        folder.rename(target)
        return
    except OSError as exc:
        if exc.errno != errno.EXDEV:
            raise
    staging = _make_staging(target.parent)
    try:
        for file in folder.iterdir():
            shutil.copyfile(file, staging / file.name)
            sync(staging / file.name)
        staging.chmod(0o755)
        staging.rename(target)
        sync(target.parent)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def _rank(key: str) -> int:
    return ORDER.index(key) if key in ORDER else len(ORDER)


def _unknown_style_message(key: str, known: Sequence[str]) -> str:
    if not known:
        return f"there is no style '{key}': no style is installed"
    near = difflib.get_close_matches(key, known, n=2)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(known)}"
    return f"there is no style '{key}'; {hint}"
