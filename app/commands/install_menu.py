"""`styleforge install-menu`: an entry in the applications menu of a Linux desktop."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import sysconfig
import unicodedata
from pathlib import Path

import platformdirs

from app.errors import StyleForgeError
from app.exit_status import DONE
from utils.files.atomic import atomic_write, temporary_name
from utils.text import printable

ASSETS = Path(__file__).resolve().parents[2] / "assets" / "icons"
# Wayland matches windows with entries by this name; QGuiApplication.setDesktopFileName sets it too.
NAME = "styleforge"
# X11 matches them by the window class, which Qt derives from the application's name.
WINDOW_CLASS = "StyleForge"

# By the folder of the icon theme "hicolor": an SVG, and pixels for desktops that do not show SVGs.
ICONS = {
    "scalable/apps": "styleforge.svg",
    "48x48/apps": "styleforge-48.png",
    "256x256/apps": "styleforge-256.png",
}

# File types for "Open with"; the program itself looks at contents, not at types.
MIME_TYPES = (
    "image/png",
    "image/jpeg",
    "image/webp",
    "image/avif",
    "image/heic",
    "image/heif",
    "image/gif",
    "image/bmp",
    "image/tiff",
    "image/jp2",
    "image/x-tga",
    "image/x-portable-pixmap",
    "video/mp4",
    "video/quicktime",
    "video/x-matroska",
    "video/webm",
    "video/x-msvideo",
    "video/mpeg",
    "video/x-ms-wmv",
    "video/x-flv",
    "video/ogg",
    "video/mp2t",
    "video/3gpp",
    "inode/directory",
)

_QUOTED = '\\"`$'  # characters that need an escape inside a quoted argument of Exec


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser(
        "install-menu",
        help="add StyleForge to the applications menu (Linux)",
        description="Writes a menu entry and an icon into your own folders. StyleForge then "
        'appears in the applications menu, and under "Open with" for pictures, '
        "videos and folders.",
    )
    parser.add_argument("--remove", action="store_true", help="remove the entry and the icon")


def run(args: argparse.Namespace) -> int:
    """Install or remove the menu entry.

    Raises:
        StyleForgeError: If this is not Linux, the program's path is not allowed in an entry, or the
            entry is invalid.
    """
    if not sys.platform.startswith("linux"):
        raise StyleForgeError(
            "install-menu is for Linux desktops only; "
            "on Windows the setup program adds StyleForge to the Start menu"
        )
    folder = platformdirs.user_data_path()
    if args.remove:
        return _remove(folder)
    program = Path(sysconfig.get_path("scripts")) / "styleforge"
    if not program.is_file():
        raise StyleForgeError(
            f"the program '{printable(str(program))}' does not exist; "
            "install StyleForge into this environment first"
        )
    install(folder, program)
    sys.stdout.write(f"Added StyleForge to the menu: {printable(str(entry_path(folder)))}\n")
    return DONE


def entry_path(folder: Path) -> Path:
    """Return the menu entry below the user's data folder, `$XDG_DATA_HOME`."""
    return folder / "applications" / f"{NAME}.desktop"


def icon_paths(folder: Path) -> dict[Path, Path]:
    """Return the icons below the user's data folder, each with its original file."""
    theme = folder / "icons" / "hicolor"
    return {
        theme / size / f"{NAME}{Path(icon).suffix}": ASSETS / icon for size, icon in ICONS.items()
    }


def install(folder: Path, program: Path) -> None:
    """Write the entry and its icons below the user's data folder.

    Raises:
        StyleForgeError: If the path is not allowed, or desktop-file-validate refuses the entry.
        OSError: If a file cannot be written.
    """
    entry = entry_path(folder)
    data = desktop_entry(program).encode()
    entry.parent.mkdir(parents=True, exist_ok=True)
    _validate(entry, data)
    for path, icon in icon_paths(folder).items():
        atomic_write(path, icon.read_bytes())
    atomic_write(entry, data)  # last, because it names the icon
    _update_database(entry.parent)


def _remove(folder: Path) -> int:
    entry = entry_path(folder)
    found = [path for path in (entry, *icon_paths(folder)) if path.is_file()]
    for path in found:
        path.unlink()
    if entry in found:
        _update_database(entry.parent)
    says = "Removed StyleForge from the menu" if found else "StyleForge was not in the menu"
    sys.stdout.write(f"{says}\n")
    return DONE


def desktop_entry(program: Path) -> str:
    """Return the text of the entry, following freedesktop.org's Desktop Entry Specification 1.5.

    Raises:
        StyleForgeError: If the path contains an equal sign, a control character or bytes that are
            not UTF-8, which an entry does not allow.
    """
    path = str(program)
    if bad := {c for c in path if c == "=" or unicodedata.category(c) in ("Cc", "Cs")}:
        raise StyleForgeError(
            f"a menu entry cannot start '{printable(path)}': its path contains "
            f"'{printable(min(bad))}'"
        )
    # GLib looks up the first word on disk before it replaces "%%" by "%".
    runner = "env " if "%" in path else ""
    return "\n".join(
        (
            "[Desktop Entry]",
            "Type=Application",
            "Name=StyleForge",
            "GenericName=Neural Style Transfer",
            "Comment=Paint your camera, videos and pictures in the style of a painting",
            f"TryExec={_escaped(path)}",
            f"Exec={runner}{_escaped(_quoted(path))} --open %F",
            f"Icon={NAME}",
            "Terminal=false",
            "StartupNotify=true",
            f"StartupWMClass={WINDOW_CLASS}",
            "Categories=Graphics;2DGraphics;RasterGraphics;Photography;",
            "Keywords=style;painting;webcam;filter;neural;",
            f"MimeType={''.join(f'{name};' for name in MIME_TYPES)}",
            "",
        )
    )


def _quoted(argument: str) -> str:
    """Quote an argument of Exec, with doubled percent signs."""
    covered = "".join(f"\\{letter}" if letter in _QUOTED else letter for letter in argument)
    return f'"{covered}"'.replace("%", "%%")


def _escaped(value: str) -> str:
    """Escape the backslashes of a value, which begin an escape in every key."""
    return value.replace("\\", "\\\\")


def _validate(entry: Path, data: bytes) -> None:
    """Check an entry with desktop-file-validate, if available, before it is installed."""
    validator = shutil.which("desktop-file-validate")
    if not validator:
        return
    draft = temporary_name(entry, ".desktop")
    try:
        draft.write_bytes(data)
        done = subprocess.run([validator, draft], capture_output=True, text=True, check=False)
    finally:
        draft.unlink(missing_ok=True)
    if done.returncode:
        told = (done.stdout + done.stderr).replace(f"{draft}: ", "").splitlines()
        faults = "; ".join(printable(line) for line in told if line.startswith("error: "))
        raise StyleForgeError(f"desktop-file-validate refuses the menu entry: {faults}")


def _update_database(folder: Path) -> None:
    """Update the desktop's database of the file types that the entries in `folder` open."""
    updater = shutil.which("update-desktop-database")
    if not updater:
        sys.stderr.write(
            'styleforge: "Open with" needs update-desktop-database, which is not installed; '
            "on Debian or Ubuntu: sudo apt-get install desktop-file-utils\n"
        )
        return
    done = subprocess.run([updater, folder], capture_output=True, text=True, check=False)
    if done.returncode:
        raise StyleForgeError(
            f"update-desktop-database failed in '{printable(str(folder))}': "
            f"{printable((done.stderr or done.stdout).strip())}"
        )
