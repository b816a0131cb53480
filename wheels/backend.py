"""Builds the wheel `styleforge` (PEP 517): setuptools, on the checkout arranged as a wheel.

The setting `platform` selects the machines, see wheels/platforms.py:
`pip wheel . --config-settings platform=windows-x86_64`. For an editable install and the source
distribution, setuptools itself uses the checkout as it is.
"""

from __future__ import annotations

from arrange import CHECKOUT, PACKAGE, PROGRAM
from building import Settings, build, write_metadata
from setuptools.build_meta import build_editable as build_editable
from setuptools.build_meta import build_sdist as build_sdist
from setuptools.build_meta import get_requires_for_build_editable as get_requires_for_build_editable
from setuptools.build_meta import get_requires_for_build_sdist as get_requires_for_build_sdist
from setuptools.build_meta import (
    prepare_metadata_for_build_editable as prepare_metadata_for_build_editable,
)

SCRIPT = '"app.__main__:main"'  # in the checkout's pyproject.toml


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel into `wheel_directory`; return its name."""
    return build(wheel_directory, config_settings, PROGRAM, _project())


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: Settings = None
) -> str:
    """Write the wheel's metadata into `metadata_directory`; return the name of their folder."""
    return write_metadata(metadata_directory, _project())


def _project() -> dict[str, str]:
    settings = (CHECKOUT / "pyproject.toml").read_text("utf-8")
    if SCRIPT not in settings:
        raise ValueError(f"pyproject.toml names no script {SCRIPT}")
    return {"pyproject.toml": settings.replace(SCRIPT, SCRIPT.replace('"', f'"{PACKAGE}.', 1))}
