"""Style packs: folders holding a `style.toml`, its weights and a thumbnail."""

from __future__ import annotations

import difflib
import hashlib
import re
import shutil
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from app.problems import StyleForgeError
from app.settings import APP
from utils import toml

BUILTIN = Path(__file__).resolve().parent.parent / "assets" / "styles"

# The six named styles first, in the order of the number keys; the rest by title.
ORDER = ("candy", "mosaic", "udnie", "rain_princess", "starry_night", "great_wave")
KEY_LETTERS = 64  # of a new pack's folder; file systems allow 255, snapshots add the time


class StyleError(StyleForgeError):
    """A style pack that cannot be used."""


@dataclass(frozen=True, slots=True)
class Style:
    """One pack, read and checked. `key` is the folder's name; `builtin` packs cannot be removed.

    `sha256` and `lite_sha256` are of the files of weights, empty where the pack states none;
    `lite` is None in a pack without a lite network.
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
    """Where this user's own packs live; need not exist yet."""
    return platformdirs.user_data_path(APP, appauthor=False) / "styles"


def load(folder: Path, *, builtin: bool = False) -> Style:
    """Read one pack, or say in one sentence what is wrong with it."""
    try:
        spec = tomllib.loads((folder / "style.toml").read_text("utf-8"))
    except FileNotFoundError:
        raise StyleError(f"'{folder.name}' has no style.toml") from None
    except (OSError, ValueError, RecursionError) as exc:
        raise StyleError(f"'{folder.name}/style.toml' is not valid: {exc}") from exc
    try:
        title, weights = _text(spec, "title"), _text(spec, "weights")
        credit, licence = _text(spec, "credit", ""), _text(spec, "licence", "")
        sha256, thumbnail = _text(spec, "sha256", ""), _text(spec, "thumbnail", "")
        lite, lite_sha256 = _text(spec, "lite_weights", ""), _text(spec, "lite_sha256", "")
    except (KeyError, TypeError) as exc:
        raise StyleError(f"'{folder.name}/style.toml' is not valid: {exc.args[0]}") from exc
    for name in filter(None, (weights, thumbnail, lite)):
        if Path(name).name != name:
            raise StyleError(f"'{folder.name}' names a file outside its own folder: {name}")
    for name in filter(None, (weights, lite)):
        if not (folder / name).is_file():
            raise StyleError(f"'{folder.name}' names weights that are missing: {name}")
    picture = folder / thumbnail if thumbnail and (folder / thumbnail).is_file() else None
    title, credit, licence = one_line(title) or folder.name, one_line(credit), one_line(licence)
    return Style(
        folder.name,
        title,
        folder / weights,
        credit,
        licence,
        sha256,
        picture,
        builtin,
        folder / lite if lite else None,
        lite_sha256,
    )


def _text(spec: dict[str, object], name: str, default: str | None = None) -> str:
    value = spec.get(name, default)
    if value is None:
        raise KeyError(f"'{name}' is missing")
    if not isinstance(value, str):
        raise TypeError(f"'{name}' should be text, not {value!r}")
    return value


def one_line(text: str) -> str:
    """`text` without line breaks and control characters, which could write over a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def check_weights(style: Style, *, lite: bool = False) -> None:
    """StyleError if the weights (or the lite ones) are not the file the pack describes; OSError
    if there is none."""
    path, sha256 = (style.lite, style.lite_sha256) if lite else (style.weights, style.sha256)
    if path and sha256 and hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
        raise StyleError(
            f"'{path.name}' of the style '{style.title}' is not the file "
            "its style.toml describes (the sha256 differs)"
        )


def _check_all(style: Style) -> None:
    check_weights(style)
    if style.lite:
        check_weights(style, lite=True)


class Library:
    """The packs of the program and of the user; a user's pack never hides one of the program's."""

    def __init__(self, builtin: Path, user: Path) -> None:
        self._builtin, self._user = builtin, user
        self._styles: dict[str, Style] = {}
        self._broken: tuple[str, ...] = ()
        self.reload()

    @classmethod
    def default(cls) -> Library:
        """The packs shipped with the program and those in the user's folder."""
        return cls(BUILTIN, user_folder())

    @property
    def user(self) -> Path:
        """The user's own folder; need not exist yet."""
        return self._user

    @property
    def styles(self) -> tuple[Style, ...]:
        """In gallery order."""
        return tuple(self._styles.values())

    @property
    def broken(self) -> tuple[str, ...]:
        """One sentence for each pack that could not be read."""
        return self._broken

    def reload(self) -> None:
        found: list[Style] = []
        broken: list[str] = []
        for root, builtin in ((self._builtin, True), (self._user, False)):
            folders = sorted(root.iterdir()) if root.is_dir() else []
            for folder in folders:
                if not folder.is_dir() or folder.name.startswith((".", "_")):
                    continue
                try:
                    style = load(folder, builtin=builtin)
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
        """The pack named `key`; StyleError, suggesting near names, if there is none."""
        try:
            return self._styles[key]
        except KeyError:
            raise StyleError(_unknown(key, list(self._styles))) from None

    def install(self, path: Path, title: str = "") -> Style:
        """Copy a checkpoint, or a pack's folder, into the user's folder and return its style.

        A checkpoint in any layout models.checkpoints reads is stored as safetensors. The pack
        is written beside its final place and renamed, so a failure leaves nothing behind.
        """
        from models.checkpoints import CheckpointError, load_checkpoint, save_checkpoint
        from utils.image_utils import ImageError, load_image, save_image

        if not path.exists():
            raise StyleError(f"'{path.name}' does not exist")
        spec = load(path) if path.is_dir() else None
        try:
            if spec:
                _check_all(spec)
            state = load_checkpoint(spec.weights if spec else path)
            lite = load_checkpoint(spec.lite) if spec and spec.lite else None
            picture = load_image(spec.thumbnail) if spec and spec.thumbnail else None
        except (CheckpointError, ImageError) as exc:
            raise StyleError(str(exc)) from exc
        except OSError as exc:
            raise StyleError(f"'{path.name}' cannot be read: {exc.strerror or exc}") from exc
        title = one_line(title) or (spec.title if spec else "")
        title = title or one_line(path.stem.replace("_", " ").title()) or "Style"
        staging: Path | None = None
        try:
            self._user.mkdir(parents=True, exist_ok=True)
            staging = Path(tempfile.mkdtemp(prefix=".installing-", dir=self._user))
            weights = staging / "weights.safetensors"
            save_checkpoint(weights, state, {"title": title})
            thumbnail = ""
            if picture is not None:
                thumbnail = "thumbnail.png"
                save_image(staging / thumbnail, picture)
            lines = {
                "title": title,
                "credit": spec.credit if spec else "",
                "licence": spec.licence if spec else "",
                "weights": weights.name,
                "thumbnail": thumbnail,
                "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
            }
            if lite is not None:
                weights = staging / "lite.safetensors"
                save_checkpoint(weights, lite, {"title": f"{title}, lite"})
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

    def adopt(self, folder: Path) -> Style:
        """Move a finished pack, as training leaves it, into the user's folder and return its
        style; whatever else the pack holds stays in it."""
        spec = load(folder)
        _check_all(spec)
        try:
            self._user.mkdir(parents=True, exist_ok=True)
            key = self._free_key(spec.title)
            shutil.move(folder, self._user / key)  # one renaming on one file system
        except OSError as exc:
            raise StyleError(
                f"the style '{spec.title}' could not be moved to '{self._user}': {exc}"
            ) from exc
        self.reload()
        return self.get(key)

    def remove(self, key: str) -> None:
        """Delete one of the user's own packs."""
        style = self.get(key)
        if style.builtin:
            raise StyleError(f"'{style.title}' is built in and cannot be removed")
        try:
            shutil.rmtree(self._user / key)
        except OSError as exc:
            raise StyleError(f"the style '{style.title}' could not be removed: {exc}") from exc
        self.reload()

    def _free_key(self, title: str) -> str:
        words = re.sub(r"[^a-z0-9]+", "_", title.casefold())
        base = words.strip("_")[:KEY_LETTERS].strip("_") or "style"
        taken = {*self._styles, *(p.name for p in self._user.iterdir())}
        candidates = (base if n == 1 else f"{base}_{n}" for n in range(1, len(taken) + 2))
        return next(key for key in candidates if key not in taken)


def _rank(key: str) -> int:
    return ORDER.index(key) if key in ORDER else len(ORDER)


def _unknown(key: str, known: Sequence[str]) -> str:
    if not known:
        return f"there is no style '{key}': no style is installed"
    near = difflib.get_close_matches(key, known, n=2)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(known)}"
    return f"there is no style '{key}'; {hint}"
