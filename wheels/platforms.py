"""Which wheels there are, and which images of native libraries each of them holds.

An image of `kernels/images` is of the CPU for one system and processor, or of NVIDIA's GPUs for
every system that has a driver for them. `python -m tools.prebuild` makes the images and lists them
in a manifest; a wheel's manifest lists what the wheel holds.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

MANIFEST = "manifest.json"
ANY = "any"  # the wheel without images
# The first words of the images that the wheel `kernel-fusion` alone holds: the program runs none of
# their operations, and its wheel has no room for them.
FOR_ANY_MODEL = (
    *("elementwise", "library"),
    *("fusion", "fusion_cuda", "group_norm", "reduction", "reduction_cuda"),
    *("loss", "loss_cuda", "optim", "optim_cuda"),
    *("attention_parts", "attention_parts_cuda", "model_inputs", "model_inputs_cuda"),
    *("split_products", "split_products_cuda", "relu_mask", "relu_mask_cuda"),
)


@dataclass(frozen=True, slots=True)
class Platform:
    """One of the wheels.

    Attributes:
        tag: The last part of the wheel's name. The glibc and the macOS in it are those for which
            tools/prebuild/cpu.py compiles.
        images: How the targets of its CPU images begin.
        has_cuda: Whether there is an NVIDIA driver for this system.
    """

    tag: str
    images: str
    has_cuda: bool = True


PLATFORMS = {
    "linux-x86_64": Platform("manylinux_2_17_x86_64", "linux-x86_64"),
    "linux-arm64": Platform("manylinux_2_17_aarch64", "linux-arm64"),
    "windows-x86_64": Platform("win_amd64", "windows-x86_64"),
    "macos-arm64": Platform("macosx_11_0_arm64", "macos-arm64", has_cuda=False),
}

_SYSTEMS = {"linux": "linux", "win32": "windows", "darwin": "macos"}
_MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}


def this_platform() -> str:
    """The key in PLATFORMS of the machine that builds; ANY if there is no wheel for it."""
    system = _SYSTEMS.get(sys.platform, "")
    if system == "linux" and platform.libc_ver()[0] != "glibc":
        return ANY
    key = f"{system}-{_MACHINES.get(platform.machine().lower(), '')}"
    return key if key in PLATFORMS else ANY


def choose(asked: str | None, folder: Path) -> str:
    """Which wheel to build.

    Args:
        asked: A key of PLATFORMS, ANY, or None for this machine's wheel where there are images for
            it, else ANY.
        folder: Where the images are.

    Raises:
        ValueError: There is no such wheel, or no image for it.
    """
    if asked is None:
        key = this_platform()
        return key if key != ANY and selected(key, folder) else ANY
    if asked != ANY and asked not in PLATFORMS:
        raise ValueError(f"no wheel is built for '{asked}'; choose {', '.join(PLATFORMS)} or {ANY}")
    if asked != ANY and not selected(asked, folder):
        raise ValueError(f"{folder} holds no image for {asked}: run `make prebuild` first")
    return asked


def tag(key: str) -> str:
    """The last part of the name of the wheel `key`, such as "win_amd64"."""
    return ANY if key == ANY else PLATFORMS[key].tag


def selected(key: str, folder: Path, left_out: Collection[str] = ()) -> dict[str, str]:
    """The images that the wheel `key` holds: the sha256 of each, by its name.

    Empty where the folder has none for its processors, even if there are some for its GPUs.

    Args:
        key: Of the wheel.
        folder: Where the images are.
        left_out: The first words of the names of images that are not for it.

    Raises:
        ValueError: The manifest is damaged.
    """
    path = folder / MANIFEST
    if key == ANY or not path.exists():
        return {}
    try:
        listed: dict[str, str] = json.loads(path.read_text("utf-8"))["images"]
        made = {name: sha for name, sha in listed.items() if _first_word(name) not in left_out}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the manifest of images {path} is damaged: {error}") from error
    wanted = PLATFORMS[key]
    # A CPU image is called <library>-<digest>-<target>, see kernels/jit/prebuilt.py; an image for
    # GPUs, and the list of those, has no "-" in its name.
    cpu = {name for name in made if f"-{wanted.images}" in name}
    gpu = {name for name in made if "-" not in name} if wanted.has_cuda else set[str]()
    return {name: sha256 for name, sha256 in made.items() if name in cpu | gpu} if cpu else {}


def _first_word(image: str) -> str:
    """Of its name: the library on a CPU, the source, or the library of a list of images."""
    return re.split(r"[-.]", image, maxsplit=1)[0]


def copy_images(key: str, folder: Path, target: Path, left_out: Collection[str] = ()) -> None:
    """Put the images of the wheel `key`, and a manifest of these, into the new folder `target`.

    Nothing is made where the wheel holds no image. The arguments are those of `selected`.

    Raises:
        ValueError: The manifest is damaged, or lists an image that the folder lacks.
    """
    images = selected(key, folder, left_out)
    if not images:
        return
    target.mkdir()
    for name in images:
        if not (folder / name).is_file():
            raise ValueError(
                f"{folder} lacks the image {name} of its manifest: run `make prebuild`"
            )
        shutil.copyfile(folder / name, target / name)
    text = json.dumps({"images": images}, indent=1) + "\n"
    (target / MANIFEST).write_text(text, "utf-8")
