"""The catalog of style packs: built-in ones, and the ones that the user installs and removes."""

from __future__ import annotations

import difflib
import logging
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from app.settings import APP_NAME
from app.styles.any_style_networks import AnyStyleNetworks
from app.styles.installable import Installable, installable_of_picture, read_installable
from app.styles.pack import (
    MAX_NAME_LENGTH,
    MAX_TEXT_LENGTH,
    Style,
    StyleError,
    check_all_weights,
    load_pack,
    one_line,
    style_errors,
)
from app.styles.pack_files import copy_pack, make_staging, move, set_title
from app.styles.style_file import ENDING, SPEC, unpacked, write_style_file
from models.families.keys import ANY_STYLE, FEED_FORWARD
from utils.files.names import is_device
from utils.text import printable
from utils.translation.joints import either, enumerated, labeled
from utils.translation.texts import mark, tr

log = logging.getLogger(__name__)

BUILTIN = Path(__file__).resolve().parents[2] / "assets" / "styles"

# The six named styles first, in the order of the number keys; the rest by title.
ORDER = ("candy", "mosaic", "udnie", "rain_princess", "starry_night", "great_wave")
MAX_KEY_LENGTH = 64  # of a new pack's folder; file systems allow 255, and snapshots append the time
NETWORKS_FOLDER = "any_style"
_NOT_RENAMED = mark("'{style}' is built in and cannot be renamed")
_NOT_REMOVED = mark("'{style}' is built in and cannot be removed")
_NOT_MOVED = mark("the style '{style}' could not be moved to '{folder}': {error}")
_TITLE_NOT_SET = mark("the style '{style}' could not be renamed: {error}")
_NOT_COPIED = mark("the style '{style}' could not be exported: {error}")
_NOT_EXPORTED = mark("the style '{style}' could not be exported to '{file}': {error}")


def user_folder() -> Path:
    return platformdirs.user_data_path(APP_NAME, appauthor=False) / "styles"


class Catalog:
    """The built-in packs and the user's; a user's pack never hides a built-in one.

    `networks` are the any-style networks, next to the folders of the packs.
    """

    def __init__(self, builtin: Path, user: Path) -> None:
        self._builtin, self._user = builtin, user
        self.networks = AnyStyleNetworks(
            builtin.parent / NETWORKS_FOLDER, user.parent / NETWORKS_FOLDER
        )
        self._included: list[Path] = []  # folders of packs that only this process has
        self._styles: dict[str, Style] = {}
        self._broken: tuple[str, ...] = ()
        self._lock = threading.Lock()  # otherwise two jobs could choose the same name
        self.reload()

    @classmethod
    def default(cls) -> Catalog:
        return cls(BUILTIN, user_folder())

    def __reduce__(self) -> tuple[Callable[..., Catalog], tuple[object, ...]]:
        """Make another process read the same folders."""
        return _read_again, (self._builtin, self._user, tuple(self._included))

    @property
    def user(self) -> Path:
        return self._user

    @property
    def styles(self) -> tuple[Style, ...]:
        """All styles in gallery order."""
        return tuple(self._styles.values())

    @property
    def titles(self) -> dict[str, str]:
        """The titles of all styles by key."""
        return {style.key: style.title for style in self.styles}

    @property
    def broken(self) -> tuple[str, ...]:
        return self._broken

    def reload(self) -> None:
        found: list[Style] = []
        broken: list[str] = []
        for root, builtin in ((self._builtin, True), (self._user, False), (None, False)):
            if root is None:
                folders = self._included
            else:
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
                    broken.append(
                        tr(
                            "'{folder}' has the name of a built-in style; rename its folder",
                            folder=folder,
                        )
                    )
                else:
                    found.append(style)
        found.sort(key=lambda s: (not s.builtin, _rank(s.key), s.title.casefold()))
        self._styles = {style.key: style for style in found}
        self._broken = tuple(broken)

    def get(self, key: str) -> Style:
        """Return the style.

        Raises:
            StyleError: If there is no such style. The message names similar keys.
        """
        try:
            return self._styles[key]
        except KeyError:
            raise StyleError(_unknown_style_message(key, list(self._styles))) from None

    def find(self, key: str) -> Style | None:
        return self._styles.get(key)

    def family_of(self, key: str) -> str:
        """Return the family of a style; FEED_FORWARD if `key` is unknown."""
        style = self._styles.get(key)
        return style.family if style else FEED_FORWARD

    def mixable_with(self, key: str) -> tuple[Style, ...]:
        """Return the other styles of the same family as `key`, in gallery order.

        If `key` is unknown, return all styles.
        """
        chosen = self._styles.get(key)
        others = (style for style in self.styles if style.key != key)
        return tuple(o for o in others if chosen is None or o.family == chosen.family)

    def installable_title(self, path: Path) -> str:
        """Return the title that a checkpoint or pack gets when installed.

        Raises:
            StyleError: If `path` cannot be installed.
        """
        if path.suffix.lower() != ENDING or path.is_dir():
            return self._free_title(read_installable(path).title)
        with _naming(path), unpacked(path) as folder:
            return self._free_title(read_installable(folder).title)

    def install(self, path: Path, title: str = "") -> Style:
        """Copy a checkpoint, a pack or the file of a style into the user's folder.

        Any checkpoint layout that models.checkpoints reads is stored as safetensors. The pack is
        written under a temporary name and renamed, so a failure leaves nothing behind.

        Args:
            path: a checkpoint, the folder of a pack, or a file of `export_file`; left unchanged.
            title: empty for the pack's or the file's; a number is appended if it is taken.

        Raises:
            StyleError: If the style cannot be read or written.
        """
        if path.suffix.lower() == ENDING and not path.is_dir():
            return self._install_file(path, one_line(title))
        found = read_installable(path)
        with self._lock:
            return self._write_pack(found, self._free_title(one_line(title) or found.title))

    def _install_file(self, path: Path, title: str) -> Style:
        with _naming(path):
            self._user.mkdir(parents=True, exist_ok=True)
            with unpacked(path, self._user) as folder:
                read_installable(folder)  # checked as strictly as a checkpoint
                if title:
                    set_title(folder / SPEC, title)
                return self.move_in(folder)

    def install_picture(
        self,
        path: Path,
        network: Path | None = None,
        title: str = "",
        *,
        progress: Callable[[str], object] = log.debug,
    ) -> Style:
        """Make a pack from a style picture, painted by an any-style network, in the user's folder.

        Args:
            network: A file of `styleforge train-vit`, which is copied; None for the shipped one.
            title: See `install`.
            progress: Called with the name of each slow step before it. An exception it raises is
                passed on, and nothing is installed.

        Raises:
            StyleError: If the picture or the network cannot be used, or the pack cannot be written.
        """
        with self._lock:
            progress("Reading the network")
            shared = self.networks.give(network)
            found = installable_of_picture(path, shared, progress)
            progress("Saving the style")
            self.networks.keep(shared)
            return self._write_pack(found, self._free_title(one_line(title) or found.title))

    def include_picture(self, path: Path, folder: Path, network: Path | None = None) -> Style:
        """Make a pack from a style picture that belongs to this catalog only, not to the user's.

        Args:
            folder: The pack, whose name becomes the key. It must not exist, and has to stay until
                the style is chosen.
            network: See `install_picture`, but it is not copied.

        Raises:
            StyleError: If the picture or the network cannot be used, or the pack cannot be written.
        """
        from utils.images.opening import ImageError

        with self._lock:
            found = installable_of_picture(path, self.networks.give(network), log.debug)
            try:
                folder.mkdir()
                found.write(folder, found.title)
            except (OSError, ImageError) as exc:
                raise _not_written(found.title, exc) from exc
            self._included.append(folder)
            self.reload()
            return self.get(folder.name)

    def _write_pack(self, found: Installable, title: str) -> Style:
        from utils.images.opening import ImageError

        staging: Path | None = None
        try:
            self._user.mkdir(parents=True, exist_ok=True)
            staging = make_staging(self._user)
            found.write(staging, title)
            key = self._free_key(title)
            staging.chmod(0o755)
            staging.rename(self._user / key)
        except (OSError, ImageError) as exc:
            raise _not_written(title, exc) from exc
        finally:
            if staging is not None:
                shutil.rmtree(staging, ignore_errors=True)
        self.reload()
        return self.get(key)

    def prepare(self, key: str, progress: Callable[[str], object] = log.debug) -> None:
        """Make any missing codes of a style for the networks that paint it, full and lite.

        A style with its own network needs none. See `install_picture` for `progress`.

        Raises:
            StyleError: If there is no such style, or its code cannot be made.
        """
        from models.checkpoints import CheckpointError
        from models.families.family import StyleFiles
        from models.families.table import FAMILIES

        style = self.get(key)
        if style.family == ANY_STYLE:
            family, files = FAMILIES[ANY_STYLE], StyleFiles(style.weights, picture=style.picture)
            try:
                family.load(files, self.networks, progress=progress)
                if family.has_lite(files, self.networks):
                    family.load(files, self.networks, lite=True, progress=progress)
            except CheckpointError as exc:
                raise StyleError(str(exc)) from exc

    def has_lite(self, key: str) -> bool:
        """Return whether a style has a lite network; this may read its files.

        Raises:
            StyleError: If there is no such style, or its files cannot be read.
        """
        from models.checkpoints import CheckpointError
        from models.families.family import StyleFiles
        from models.families.table import FAMILIES

        style = self.get(key)
        files = StyleFiles(style.weights, style.lite, style.picture)
        try:
            return FAMILIES[style.family].has_lite(files, self.networks)
        except CheckpointError as exc:
            raise StyleError(str(exc)) from exc

    def move_in(self, folder: Path) -> Style:
        """Move a finished pack, as written by training, into the user's folder with all its files.

        A number is appended to its title if another style has it.

        Raises:
            StyleError: If the pack is invalid or cannot be moved.
        """
        spec = load_pack(folder)
        check_all_weights(spec)
        with self._lock:
            with style_errors(_NOT_MOVED, style=spec.title, folder=self._user):
                title = self._free_title(spec.title)
                if title != spec.title:
                    set_title(folder / "style.toml", title)
                self._user.mkdir(parents=True, exist_ok=True)
                key = self._free_key(title)
                move(folder, self._user / key)
            self.reload()
            return self.get(key)

    def rename(self, key: str, title: str) -> Style:
        """Change the title of one of the user's own packs; its key stays.

        Raises:
            StyleError: If the style is unknown or built in, another one has this title, or its
                style.toml cannot be changed.
        """
        style = self._own(key, _NOT_RENAMED)
        wanted = one_line(title)
        with self._lock:
            if not wanted:
                raise StyleError(tr("the style '{style}' needs a title", style=style.title))
            if any(s.title.casefold() == wanted.casefold() for s in self.styles if s.key != key):
                raise StyleError(tr("another style is already named '{style}'", style=wanted))
            with style_errors(_TITLE_NOT_SET, style=style.title):
                set_title(style.weights.parent / "style.toml", wanted)
            self.reload()
            return self.get(key)

    def export(self, key: str, folder: Path) -> Path:
        """Copy a pack into `folder` for another machine; return the folder of the copy.

        Raises:
            StyleError: If the style is unknown, or the copy cannot be written; nothing of it
                remains.
        """
        style = self.get(key)
        with style_errors(_NOT_COPIED, style=style.title):
            return copy_pack(style.weights.parent, folder / key)

    def export_file(self, key: str, target: Path) -> Path:
        """Write a style as one file for another machine; return its path.

        See app.styles.style_file. The folder is created if necessary.

        Raises:
            StyleError: If the style is unknown, or the file, left unchanged, cannot be written.
        """
        style = self.get(key)
        name = printable(target.name, MAX_NAME_LENGTH)
        with style_errors(_NOT_EXPORTED, style=style.title, file=name):
            target.parent.mkdir(parents=True, exist_ok=True)
            return write_style_file(style, target)

    def remove(self, key: str) -> None:
        """Delete one of the user's own packs.

        Raises:
            StyleError: If the style is unknown or built in, or cannot be deleted.
        """
        style = self._own(key, _NOT_REMOVED)
        with self._lock:
            try:
                shutil.rmtree(self._user / key)
            except OSError as exc:
                raise StyleError(
                    tr(
                        "the style '{style}' could not be removed: {error}",
                        style=style.title,
                        error=exc,
                    )
                ) from exc
            self.reload()
            if style.family == ANY_STYLE:
                self._drop_unused_networks()

    def _own(self, key: str, refusal: str) -> Style:
        """Return one of the user's styles.

        Raises:
            StyleError: If the style is missing, or built in. The message about a built-in style is
                the translation of the English text `refusal`.
        """
        style = self.get(key)
        if style.builtin:
            raise StyleError(tr(refusal, style=style.title))
        return style

    def _drop_unused_networks(self) -> None:
        from models.checkpoints import CheckpointError
        from models.families.style_codes import header_texts

        try:
            headers = [header_texts(s.weights) for s in self.styles if s.family == ANY_STYLE]
            self.networks.drop_unused({header.get("network", "") for header in headers})
        except (OSError, CheckpointError) as exc:
            log.warning("an any-style network that is not needed any more stays: %s", exc)

    def _free_title(self, title: str) -> str:
        taken = {style.title.casefold() for style in self._styles.values()}
        numbered = (f"{title[: MAX_TEXT_LENGTH - 8]} {n}" for n in range(2, len(taken) + 3))
        return next(free for free in (title, *numbered) if free.casefold() not in taken)

    def _free_key(self, title: str) -> str:
        words = re.sub(r"[^a-z0-9]+", "_", title.casefold())
        base = words.strip("_")[:MAX_KEY_LENGTH].strip("_") or "style"
        if is_device(base):
            base = f"style_{base}"
        taken = {*self._styles, *(p.name for p in self._user.iterdir())}
        candidates = (base if n == 1 else f"{base}_{n}" for n in range(1, len(taken) + 2))
        return next(key for key in candidates if key not in taken)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Make errors about the contents of a file name the file."""
    name = printable(path.name, MAX_NAME_LENGTH)
    try:
        yield
    except StyleError as exc:
        said = str(exc)  # a translation may begin differently, and have other quotation marks
        raise StyleError(said if name in said else labeled(f"'{name}'", said)) from exc
    except OSError as exc:
        fault = exc.strerror or exc
        raise StyleError(
            tr("'{file}' cannot be installed: {error}", file=name, error=fault)
        ) from exc
    except ValueError:  # no file can have this name
        raise StyleError(tr("'{file}' does not exist", file=name)) from None


def _read_again(builtin: Path, user: Path, included: Sequence[Path]) -> Catalog:
    catalog = Catalog(builtin, user)
    catalog._included += included
    catalog.reload()
    return catalog


def _not_written(title: str, exc: Exception) -> StyleError:
    reason = getattr(exc, "strerror", None) or exc
    return StyleError(
        tr("the style '{style}' could not be written: {error}", style=title, error=reason)
    )


def _rank(key: str) -> int:
    return ORDER.index(key) if key in ORDER else len(ORDER)


def _unknown_style_message(key: str, known: Sequence[str]) -> str:
    if not known:
        return tr("there is no style '{style}': no style is installed", style=key)
    near = difflib.get_close_matches(key, known, n=2)
    if near:
        return tr(
            "there is no style '{style}'; did you mean {others}?", style=key, others=either(near)
        )
    return tr(
        "there is no style '{style}'; there are: {others}", style=key, others=enumerated(known)
    )
