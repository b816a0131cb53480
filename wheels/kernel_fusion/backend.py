"""Builds the wheel `kernel-fusion` (PEP 517) from the checkout that this folder lies in.

It holds the same files under the same names as the wheel `styleforge`, which needs it not.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from setuptools import build_meta

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

from arrange import CHECKOUT, KERNELS, arrange  # noqa: E402  (its folder is on the path now)


def build_wheel(
    wheel_directory: str,
    config_settings: Mapping[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel into `wheel_directory`; its name."""
    target = str(Path(wheel_directory).resolve())
    with _arranged():
        return build_meta.build_wheel(target, config_settings)


@contextlib.contextmanager
def _arranged() -> Iterator[None]:
    """The working directory is the part of the checkout that the wheel holds."""
    settings = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder)
        arrange(target, KERNELS)
        shutil.copy(HERE / "pyproject.toml", target)
        (target / "VERSION").write_text(settings["project"]["version"], "utf-8")
        with contextlib.chdir(target):
            yield
