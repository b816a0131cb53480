"""Builds the wheel `kernel-fusion` (PEP 517) from the checkout around this folder.

It contains the same files under the same names as the wheel `styleforge`, which does not need it.
The setting `platform` selects the machines, as there.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

# Their folder is now on the path.
from arrange import CHECKOUT, KERNELS  # noqa: E402
from building import Settings, build, write_metadata  # noqa: E402


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel into `wheel_directory`; return its name."""
    return build(wheel_directory, config_settings, KERNELS, _project())


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: Settings = None
) -> str:
    """Write the wheel's metadata into `metadata_directory`; return the name of their folder."""
    return write_metadata(metadata_directory, _project())


def _project() -> dict[str, str]:
    program = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))
    return {
        "pyproject.toml": (HERE / "pyproject.toml").read_text("utf-8"),
        "VERSION": program["project"]["version"],
    }
