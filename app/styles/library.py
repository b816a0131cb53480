"""The library of style packs: the built-in ones, and those the user installs and removes."""

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

from app.settings import APP_NAME
from app.styles.pack import (
    MAX_NAME_LENGTH,
    MAX_TEXT_LENGTH,
    Style,
    StyleError,
    check_all_weights,
    load_pack,
    one_line,
)
from utils.files import toml
from utils.files.atomic import atomic_write, sync
from utils.text import printable

if TYPE_CHECKING:  # PyTorch and Pillow are imported only when a style is installed
    import numpy as np
    from numpy.typing import NDArray

    from models.checkpoints import State

BUILTIN = Path(__file__).resolve().parents[2] / "assets" / "styles"

# The six named styles first, in the order of the number keys; the rest by title.
ORDER = ("candy", "mosaic", "udnie", "rain_princess", "starry_night", "great_wave")
MAX_KEY_LENGTH = 64  # of a new pack's folder; file systems allow 255, and snapshots add the time
ABANDONED_AFTER_S = 3600.0  # seconds after which an incomplete pack counts as abandoned
_STAGING_PREFIX = ".installing-"


def user_folder() -> Path:
    """Folder of this user's own packs; it may not exist yet."""
    return platformdirs.user_data_path(APP_NAME, appauthor=False) / "styles"


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
        check_all_weights(spec)
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
        check_all_weights(spec)
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
