"""Access to a virtual camera through pyvirtualcam, an extra that only this module imports."""

from __future__ import annotations

import logging
import re
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.virtual_camera.choice import CameraChoice, VirtualCameraError
from app.virtual_camera.formats import FORMATS
from utils.text import printable
from utils.translation.joints import clauses
from utils.translation.texts import mark, tr

log = logging.getLogger(__name__)

LOOPBACK = "v4l2loopback"  # Linux's pyvirtualcam backend and driver
DEVICES = Path("/sys/devices/virtual/video4linux")
MODPROBE = "sudo modprobe v4l2loopback exclusive_caps=1 card_label=StyleForge"
INSTALL = {  # with MODPROBE as {command}
    "linux": mark(
        "install the driver v4l2loopback (package v4l2loopback-dkms on Debian, Ubuntu and Arch, "
        "akmod-v4l2loopback in RPM Fusion) and run `{command}`"
    ),
    "darwin": mark(
        "install OBS Studio 30 or newer from https://obsproject.com, and start and stop its "
        "virtual camera once"
    ),
    "win32": mark(
        "install OBS Studio from https://obsproject.com, which includes a virtual camera"
    ),
}


class Camera(Protocol):
    """The required part of pyvirtualcam.Camera."""

    @property
    def backend(self) -> str: ...

    @property
    def device(self) -> str: ...

    def send(self, frame: NDArray[np.uint8]) -> None: ...

    def close(self) -> None: ...


class Readers(Protocol):
    """The programs that read from a camera."""

    @property
    def reading(self) -> bool | None:
        """Whether a program reads from the camera; None if that is not known yet."""
        ...

    def close(self) -> None: ...


def open_camera(choice: CameraChoice) -> Camera:
    """Open a virtual camera.

    Raises:
        VirtualCameraError: If pyvirtualcam or a camera is missing or in use, with a remedy.
    """
    library = _library()
    format = library.PixelFormat[FORMATS[choice.format].name]
    size = choice.width, choice.height
    try:
        return library.Camera(*size, choice.rate, fmt=format, device=choice.device or None)
    except RuntimeError as exc:  # every backend raises this for every fault
        raise VirtualCameraError(why_not(str(exc))) from exc


def why_not(said: str, system: str = sys.platform, devices: Path = DEVICES) -> str:
    """Return one sentence with the reason why there is no virtual camera, and a remedy.

    Args:
        said: The message of pyvirtualcam: one line per backend, of one sentence or more.
        system: As `sys.platform`.
        devices: Where Linux lists devices without hardware.
    """
    if system == "linux" and not any(devices.glob("video*")):
        advice = tr(INSTALL[system], command=MODPROBE)
        return tr("there is no virtual camera: {advice}", advice=advice)
    lines = [re.sub(r"^'\w+' backend: ", "", line) for line in said.splitlines() if line.strip()]
    sentences = [re.sub(r"[.?!]\s+(?=[A-Z])", "; ", line).rstrip(".?! ") for line in lines]
    reason = printable(clauses(sentences)) or tr(
        "pyvirtualcam has no virtual camera for this system"
    )
    advice = tr(INSTALL[system]) if system in INSTALL and system != "linux" else ""
    return clauses((tr("the virtual camera cannot be opened: {reason}", reason=reason), advice))


def readers_of(camera: Camera) -> Readers | None:
    """Watch the programs that read from a camera.

    None if impossible: on Windows and macOS, and with versions of v4l2loopback below 0.13.
    """
    if sys.platform != "linux" or camera.backend != LOOPBACK:
        return None
    from app.virtual_camera.loopback import LoopbackReaders

    with suppress(OSError):
        return LoopbackReaders(camera.device)
    log.info("%s does not tell who reads from it", camera.device)
    return None


def _library() -> ModuleType:
    try:
        import pyvirtualcam  # pyright: ignore[reportMissingImports]  (an extra)
    except ModuleNotFoundError as exc:
        if exc.name != "pyvirtualcam":
            raise _not_loaded(exc) from exc
        raise VirtualCameraError(
            tr('the virtual camera needs the extra "camera": pip install "styleforge[camera]"')
        ) from exc
    except ImportError as exc:
        raise _not_loaded(exc) from exc
    return pyvirtualcam


def _not_loaded(exc: ImportError) -> VirtualCameraError:
    return VirtualCameraError(tr("pyvirtualcam cannot be loaded: {error}", error=exc))
