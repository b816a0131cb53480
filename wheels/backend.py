"""Builds the wheel `styleforge` (PEP 517): setuptools, on the checkout arranged as a wheel.

An editable install and the source distribution are setuptools' own, of the checkout as it is.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from arrange import CHECKOUT, PACKAGE, arrange
from setuptools import build_meta
from setuptools.build_meta import build_editable as build_editable
from setuptools.build_meta import build_sdist as build_sdist
from setuptools.build_meta import get_requires_for_build_editable as get_requires_for_build_editable
from setuptools.build_meta import get_requires_for_build_sdist as get_requires_for_build_sdist
from setuptools.build_meta import (
    prepare_metadata_for_build_editable as prepare_metadata_for_build_editable,
)

Settings = Mapping[str, Any] | None
SCRIPT = '"app.__main__:main"'  # in pyproject.toml, of the checkout


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel into `wheel_directory`; its name."""
    target = str(Path(wheel_directory).resolve())
    with _arranged():
        return build_meta.build_wheel(target, config_settings)


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: Settings = None
) -> str:
    """Write the wheel's metadata into `metadata_directory`; the name of their folder."""
    target = str(Path(metadata_directory).resolve())
    with _arranged():
        return build_meta.prepare_metadata_for_build_wheel(target, config_settings)


@contextlib.contextmanager
def _arranged() -> Iterator[None]:
    """The working directory is the checkout as the wheel holds it."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder)
        arrange(target)
        settings = (CHECKOUT / "pyproject.toml").read_text("utf-8")
        if SCRIPT not in settings:
            raise ValueError(f"pyproject.toml names no script {SCRIPT}")
        settings = settings.replace(SCRIPT, SCRIPT.replace('"', f'"{PACKAGE}.', 1))
        (target / "pyproject.toml").write_text(settings, "utf-8")
        with contextlib.chdir(target):
            yield
