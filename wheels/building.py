"""Builds a wheel for the requested platform: the common part of the backends."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from arrange import CHECKOUT, IMAGES, PACKAGE, WEIGHTS, arrange, copy_texts
from packing import pack_styles
from platforms import ANY, FOR_ANY_MODEL, choose, copy_images, tag
from setuptools import build_meta

Settings = Mapping[str, Any] | None
WITHOUT_IMAGES = (
    "this wheel holds no images of native libraries: its kernels are compiled where they are used, "
    "or PyTorch's run instead; `make prebuild` makes the images"
)

# The images tie the wheel to one platform, but are not extension modules of one Python.
SETUP = """
from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel

class PlatformDistribution(Distribution):
    def has_ext_modules(self):
        return True

class PlatformWheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", "{tag}"

setup(distclass=PlatformDistribution, cmdclass={{"bdist_wheel": PlatformWheel}})
"""


def build(
    wheel_directory: str,
    config_settings: Settings,
    parts: Collection[str],
    project: Mapping[str, str],
) -> str:
    """Build a wheel of the checkout; return its name.

    Args:
        config_settings: May have `platform`, see `choose`.
        parts: The parts of the checkout in the wheel, see `arrange`.
        project: The files that describe it: their text by name.

    Raises:
        ValueError: If the setting or the platform is unknown, or the platform has no image.
    """
    asked = dict(config_settings or {})
    platform = choose(asked.pop("platform", None), IMAGES)
    if asked:
        raise ValueError(f"no such setting: {', '.join(asked)}; there is `platform` alone")
    if platform == ANY:
        sys.stderr.write(f"{WITHOUT_IMAGES}\n")
    directory = str(Path(wheel_directory).resolve())
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder)
        arrange(target, parts)
        pack_styles(target / PACKAGE / "assets" / "styles")
        left_out = FOR_ANY_MODEL if "app" in parts else ()
        held = target / PACKAGE / IMAGES.relative_to(CHECKOUT)
        copy_images(platform, IMAGES, held, left_out)
        script = {} if platform == ANY else {"setup.py": SETUP.format(tag=tag(platform))}
        _write({**project, **script}, target)
        with contextlib.chdir(target):
            return build_meta.build_wheel(directory)


def build_weights(
    wheel_directory: str, config_settings: Settings, project: Mapping[str, str]
) -> str:
    """Build the wheel of the weights that are too large for the program's; return its name.

    Args:
        config_settings: May have `platform`, which is ANY.
        project: The files that describe it: their text by name.

    Raises:
        ValueError: If the setting or the platform is unknown, or the checkout has no weights.
    """
    asked = dict(config_settings or {})
    if asked.pop("platform", ANY) != ANY or asked:
        raise ValueError(f"the weights are for any machine; there is `platform={ANY}` alone")
    weights = sorted(WEIGHTS.glob("*.safetensors"))
    if not weights:
        raise ValueError(f"{WEIGHTS} holds no weights")
    directory = str(Path(wheel_directory).resolve())
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder)
        held = target / PACKAGE / WEIGHTS.relative_to(CHECKOUT)
        held.mkdir(parents=True)
        for path in weights:
            shutil.copy(path, held)
        copy_texts(target)
        _write(project, target)
        with contextlib.chdir(target):
            return build_meta.build_wheel(directory)


def write_metadata(metadata_directory: str, project: Mapping[str, str]) -> str:
    """Write the metadata of a wheel, without its content; return the name of their folder."""
    directory = str(Path(metadata_directory).resolve())
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder)
        copy_texts(target)
        _write(project, target)
        with contextlib.chdir(target):
            return build_meta.prepare_metadata_for_build_wheel(directory)


def _write(project: Mapping[str, str], target: Path) -> None:
    for name, text in project.items():
        (target / name).write_text(text, "utf-8")
