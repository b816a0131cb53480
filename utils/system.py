"""Finds missing system libraries and tools that pip cannot install, and their Debian packages.

Needs only the standard library: `python -m utils.system` runs before any package is installed. As
root on Debian it installs the missing packages; elsewhere it prints them.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# Libraries that Qt's xcb and offscreen plug-ins need (by ldd) and the wheel does not contain, and
# their packages.
QT_LIBRARIES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libX11.so.6": "libx11-6",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-glx.so.0": "libxcb-glx0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxcb.so.1": "libxcb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libzstd.so.1": "libzstd1",
}
# elsewhere, sounddevice's wheels contain it
SOUND_LIBRARIES = {"libportaudio.so.2": "libportaudio2"}
FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")
WINDOW = "the window"
SOUND = "the sound of films"
# Names of browsers; a browser and its driver test the web page.
BROWSERS = ("chromium", "google-chrome", "chromium-browser")
DRIVER = "chromedriver"
PAGE = "testing the web page"
X11 = "testing the window on X11"
# WebGPU computes on the processor by Mesa's llvmpipe, where Vulkan's loader finds its description.
VULKAN = "libvulkan.so.1"
VULKAN_FOLDERS = ("/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d")
LLVMPIPE = "lvp_icd*.json"
SHADERS = "testing WebGPU's shaders"


@dataclass(frozen=True, slots=True)
class Missing:
    """A library, by file name, or tool that is missing, its Debian package and its purpose."""

    name: str
    package: str
    purpose: str


def has_display() -> bool:
    """Return whether Qt can open a display; without one it aborts the process."""
    if not sys.platform.startswith("linux"):
        return True
    platform = os.environ.get("QT_QPA_PLATFORM", "")
    if (platform and not platform.startswith("xcb")) or os.environ.get("WAYLAND_DISPLAY"):
        return True
    return bool(os.environ.get("DISPLAY")) and _x_answers()


def missing(
    *, compiler: bool = False, tests: bool = False, sound: bool = False
) -> tuple[Missing, ...]:
    """Find missing libraries and tools; nothing on systems other than Linux.

    Args:
        compiler: Look for a C++ compiler, needed without images of the native kernels.
        tests: Look for additional needs of the test suite, including a compiler.
        sound: Look for libraries for sound, without which films are silent.
    """
    if not sys.platform.startswith("linux"):
        return ()
    found = [
        Missing(library, package, WINDOW)
        for library, package in QT_LIBRARIES.items()
        if not _loads(library)
    ]
    if sound:
        found += [
            Missing(library, package, SOUND)
            for library, package in SOUND_LIBRARIES.items()
            if not _loads(library)
        ]
    if not any(_has_fonts(Path(folder).expanduser()) for folder in FONT_FOLDERS):
        found.append(Missing("a font", "fonts-dejavu-core", "text in the window"))
    compilers = ("c++", "g++", "clang++")
    if (compiler or tests) and not any(shutil.which(name) for name in compilers):
        found.append(Missing("a C++ compiler", "g++", "native kernels"))
    if tests and not shutil.which("Xvfb"):
        found.append(Missing("Xvfb", "xvfb", X11))
    if tests and not shutil.which("openbox"):
        found.append(Missing("Openbox", "openbox", X11))
    if tests and not any(shutil.which(name) for name in BROWSERS):
        found.append(Missing("Chromium", "chromium", PAGE))
    if tests and not shutil.which(DRIVER):
        found.append(Missing(DRIVER, "chromium-driver", PAGE))
    if tests and not _loads(VULKAN):
        found.append(Missing(VULKAN, "libvulkan1", SHADERS))
    if tests and not any(any(Path(folder).glob(LLVMPIPE)) for folder in VULKAN_FOLDERS):
        found.append(Missing("llvmpipe", "mesa-vulkan-drivers", SHADERS))
    return tuple(found)


def sentence(found: Sequence[Missing]) -> str:
    """Return a sentence with the missing items, their purposes and the command to install them."""
    names = ", ".join(f"{item.name} (for {item.purpose})" for item in found)
    packages = " ".join(dict.fromkeys(item.package for item in found))
    return f"This system lacks {names}. On Debian or Ubuntu: sudo apt-get install {packages}"


def install(found: Sequence[Missing]) -> bool:
    """Install packages with apt-get, as root; return whether it succeeded each time.

    The packages for one purpose go together: apt-get installs nothing if it does not know one of
    them, and Ubuntu has no browser among them.
    """
    apt = ["apt-get", "-o", "DPkg::Lock::Timeout=120"]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    purposes: dict[str, dict[str, None]] = {}
    for item in found:
        purposes.setdefault(item.purpose, {})[item.package] = None
    steps = [[*apt, "update"]]
    steps += [[*apt, "install", "-y", "--no-install-recommends", *p] for p in purposes.values()]
    done = [subprocess.run(step, env=environment, check=False) for step in steps]
    return all(step.returncode == 0 for step in done)


def main(argv: Sequence[str] | None = None) -> int:
    """Install or print the missing packages; return 0, as the program itself reports its needs."""
    parser = argparse.ArgumentParser(prog="python -m utils.system", description=__doc__)
    parser.add_argument("--compiler", action="store_true", help="also what compiles the kernels")
    parser.add_argument("--tests", action="store_true", help="also what the test suite needs")
    args = parser.parse_args(argv)
    found = missing(compiler=args.compiler, tests=args.tests, sound=True)
    if found and sys.platform.startswith("linux") and shutil.which("apt-get") and os.geteuid() == 0:
        names = ", ".join(item.name for item in found)
        sys.stderr.write(f"Installing what this system lacks: {names}\n")
        if install(found):
            return 0
        sys.stderr.write("apt-get could not install it; see its message above.\n")
    if found:
        sys.stderr.write(sentence(found) + "\n")
    return 0


def _x_answers() -> bool:
    """Return whether the X server of $DISPLAY, which may be out of date, accepts a connection."""
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return True  # unknown; `missing` names the library
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(None, None))
    refused = bool(xcb.xcb_connection_has_error(connection))
    # A server resets itself when its last client disconnects, and would refuse Qt meanwhile, so the
    # newest connection stays open.
    spent = connection if refused else _kept.pop(os.environ["DISPLAY"], None)
    if spent is not None:
        xcb.xcb_disconnect(spent)
    if not refused:
        _kept[os.environ["DISPLAY"]] = connection
    return not refused


_kept: dict[str, ctypes.c_void_p] = {}  # connections to X servers, by display


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _has_fonts(folder: Path) -> bool:
    return any(path.suffix.lower() in {".ttf", ".otf", ".ttc"} for path in folder.rglob("*"))


if __name__ == "__main__":
    sys.exit(main())
