"""Builds the wheel `styleforge-any-style` (PEP 517) from the checkout around this folder.

It contains only weights, in the folder where the wheel `styleforge` looks for them. Without them
that wheel stays below its promised size.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

# Their folder is now on the path.
from arrange import CHECKOUT  # noqa: E402
from building import Settings, build_weights  # noqa: E402


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel into `wheel_directory`; return its name."""
    return build_weights(wheel_directory, config_settings, _project())


def _project() -> dict[str, str]:
    program = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))
    return {
        "pyproject.toml": (HERE / "pyproject.toml").read_text("utf-8"),
        "VERSION": program["project"]["version"],
    }
