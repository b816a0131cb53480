"""The version of StyleForge that is running."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def styleforge_version() -> str:
    """The installed package's, "0.0.0" where the files run without having been installed."""
    try:
        return version("styleforge")
    except PackageNotFoundError:
        return "0.0.0"
