"""Tells what a system still needs before it has a virtual camera."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from app.virtual_camera.device import DEVICES, INSTALL, MODPROBE
from utils.translation.texts import mark, tr

OBS_ADDRESS = "https://obsproject.com"
EXTRA_COMMAND = 'pip install "styleforge[camera]"'
NEEDS_EXTRA = mark("StyleForge needs one more package for its camera:")
NEEDS_DRIVER = mark("Linux needs the driver v4l2loopback:")
NO_EXTRA = mark(
    "The camera cannot start yet: run this line in a terminal, then start StyleForge again"
)
NO_DRIVER = mark(
    "The camera cannot start yet: run this line in a terminal, then press Start the camera"
)
READY = mark("Everything is installed.")
# The command that installs the driver, by the ID or a word of ID_LIKE in os-release.
DRIVERS = {
    "debian": "sudo apt install v4l2loopback-dkms",
    "ubuntu": "sudo apt install v4l2loopback-dkms",
    "arch": "sudo pacman -S v4l2loopback-dkms",
    "fedora": "sudo dnf install akmod-v4l2loopback",
}


@dataclass(frozen=True, slots=True)
class Needed:
    """The next thing to install.

    Attributes:
        sentence: For the user.
        command: To be copied into a terminal, or an address for a browser; empty if nothing is
            left to install.
        missing: Why the camera cannot start without it, as a sentence; "" if it may start.
    """

    sentence: str
    command: str = ""
    missing: str = ""


def needed(
    system: str = sys.platform,
    devices: Path = DEVICES,
    release: Mapping[str, str] | None = None,
    *,
    has_extra: bool | None = None,
) -> Needed:
    """Return the next thing to install.

    Args:
        system: As `sys.platform`.
        devices: Where Linux lists devices without hardware.
        release: As `platform.freedesktop_os_release()`, which is read by default.
        has_extra: Whether pyvirtualcam is installed; found out by default.
    """
    if has_extra is None:
        has_extra = find_spec("pyvirtualcam") is not None
    if not has_extra:
        return Needed(tr(NEEDS_EXTRA), EXTRA_COMMAND, tr(NO_EXTRA))
    if system == "linux":
        if any(devices.glob("video*")):
            return Needed(tr(READY))
        return Needed(tr(NEEDS_DRIVER), _driver_command(release), tr(NO_DRIVER))
    # OBS brings the camera, and nothing tells whether it did.
    sentence = tr(INSTALL[system]) if system in INSTALL else tr(READY)
    return Needed(sentence[:1].upper() + sentence[1:] + ".", OBS_ADDRESS)


def _driver_command(release: Mapping[str, str] | None) -> str:
    """Return the command for this distribution; for an unknown one, only what loads the driver."""
    if release is None:
        try:
            release = platform.freedesktop_os_release()
        except OSError:
            release = {}
    names = [release.get("ID", ""), *release.get("ID_LIKE", "").split()]
    install = next((DRIVERS[name] for name in names if name in DRIVERS), "")
    return f"{install} && {MODPROBE}" if install else MODPROBE
