"""The wheels that exist, and the images of native libraries in each of them.

An image in `kernels/images` is either for the CPU of one system and processor, or for NVIDIA's GPUs
on every system that has a driver for them. `python -m tools.prebuild` makes the images and lists
them in a manifest; a wheel's manifest lists the wheel's content.
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
# The first words of the images that only the wheel `kernel-fusion` contains: the program runs none
# of their operations, and its wheel has no room for them.
FOR_ANY_MODEL = (
    *("elementwise", "general"),
    *("fusion", "fusion_cuda", "group_norm", "reduction", "reduction_cuda"),
    *("loss", "loss_cuda", "optim", "optim_cuda"),
    *("attention_parts", "attention_parts_cuda", "model_inputs", "model_inputs_cuda"),
    *("split_products", "split_products_cuda", "relu_mask", "relu_mask_cuda"),
)


@dataclass(frozen=True, slots=True)
class Platform:
    """One of the wheels.

    Attributes:
        tag: The last part of the wheel's name. Its versions of glibc and macOS are the targets of
            tools/prebuild/cpu.py.
        images: The prefix of the targets of its CPU images.
        has_cuda: Whether an NVIDIA driver exists for this system.
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
    """Return the key in PLATFORMS of the building machine; ANY if it has no wheel."""
    system = _SYSTEMS.get(sys.platform, "")
    if system == "linux" and platform.libc_ver()[0] != "glibc":
        return ANY
    key = f"{system}-{_MACHINES.get(platform.machine().lower(), '')}"
    return key if key in PLATFORMS else ANY


def choose(asked: str | None, folder: Path) -> str:
    """Return the key of the wheel to build.

    Args:
        asked: A key of PLATFORMS, ANY, or None for this machine's wheel if it has images, else ANY.

    Raises:
        ValueError: If the wheel is unknown, or has no image.
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
    """Return the last part of the name of the wheel `key`, such as "win_amd64"."""
    return ANY if key == ANY else PLATFORMS[key].tag


def selected(key: str, folder: Path, left_out: Collection[str] = ()) -> dict[str, str]:
    """Return the images in the wheel `key`: the sha256 of each, by its name.

    Empty if the folder has none for the wheel's processors, even if it has some for its GPUs.

    Args:
        left_out: The first words of the names of images to leave out.

    Raises:
        ValueError: If the manifest is damaged.
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
    # A CPU image is named <library>-<digest>-<target>, see kernels/jit/prebuilt.py; an image for
    # GPUs, and their list, has no "-" in its name.
    cpu = {name for name in made if f"-{wanted.images}" in name}
    gpu = {name for name in made if "-" not in name} if wanted.has_cuda else set[str]()
    return {name: sha256 for name, sha256 in made.items() if name in cpu | gpu} if cpu else {}


def _first_word(image: str) -> str:
    """Return the first word of an image's name: the library on a CPU, the source, or the listed
    library.
    """
    return re.split(r"[-.]", image, maxsplit=1)[0]


def copy_images(key: str, folder: Path, target: Path, left_out: Collection[str] = ()) -> None:
    """Copy the images of the wheel `key`, and a manifest of them, into the new folder `target`.

    Does nothing if the wheel contains no image. The arguments are as for `selected`.

    Raises:
        ValueError: If the manifest is damaged, or lists an image that the folder lacks.
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
